"""A table that is open: where it is, how it is read, and what its columns seem to be."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tclose.algorithms.control import Control
from tclose.errors import TableError
from tclose.pipeline import Listener
from tclose.table.formats.file_formats import BY_NAME, format_of
from tclose.table.proposing.found_reading import read_and_find
from tclose.table.proposing.table_proposal import TableProposal, check_formats
from tclose.table.source import Source
from tclose.table.table_location import TableLocation

MOST_LISTED = 200
OPTIONS = ("format", "sheet", "codes", "table")


@dataclass(frozen=True, eq=False)
class OpenTable:
    """A table as the pages show it.

    Attributes
    ----------
    location
        Where it is.
    name
        What it is called on the pages; a dropped file keeps its own name there.
    source
        Its columns.
    proposal
        What they seem to be.
    digest
        Of its file.
    told
        How the file was read, if it is a text file that needed guessing.
    """

    location: TableLocation
    name: str
    source: Source
    proposal: TableProposal
    digest: str
    told: str = ""

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return list(self.proposal.guesses)

    def with_missing(self, spelled: Sequence[str]) -> OpenTable:
        """The same, where these spellings mean missing."""
        before = self.proposal
        formats = [form for guess in before.guesses.values() for form in guess.evidence.formats[:1]]
        found = TableProposal.of(self.source, self.name, before.reading, missing_values=spelled, formats=formats)
        return replace(self, proposal=found)

    def sample(self, n: int, seed: int = 0) -> Source:
        """That many of its rows at random, in their order; all if there are no more."""
        if self.source.n_rows <= n:
            return self.source
        rows = np.sort(np.random.default_rng(seed).choice(self.source.n_rows, n, replace=False))
        return replace(self.source, n_rows=n, column=lambda name: self.source.column(name).gather(rows))


@dataclass(frozen=True)
class TableRequest:
    """Which table to open, and how.

    Attributes
    ----------
    location, name
        Where it is and what it is called.
    reading
        What a person said of how a text file is read.
    formats
        How dates are written, of which someone said so.
    """

    location: TableLocation
    name: str
    reading: Mapping[str, Any]
    formats: Sequence[str] = ()

    def open(self, listen: Listener, control: Control) -> OpenTable:
        """Read it and look at every column."""
        listen("read", None, None)
        found = read_and_find(self.location, self.reading)
        _check_going_on(control)
        listen("digest", None, None)
        digest = found.source.digest()
        _check_going_on(control)
        listen("columns", None, None)
        proposal = TableProposal.of(found.source, self.name, found.reading, formats=self.formats)
        check_formats(proposal, self.formats)
        return OpenTable(self.location, self.name, found.source, proposal, digest, found.told)

    def as_dict(self) -> dict[str, Any]:
        """For the file of a project."""
        options = {key: getattr(self.location, key) for key in OPTIONS if getattr(self.location, key)}
        return {"place": self.location.place, **options, "reading": dict(self.reading), "formats": list(self.formats)}

    @classmethod
    def from_dict(cls, held: Mapping[str, Any], name: str) -> TableRequest:
        """The inverse of `as_dict`."""
        options = {key: held[key] for key in OPTIONS if key in held}
        location = TableLocation(held["place"], **options)
        return cls(location, name, held.get("reading", {}), tuple(held.get("formats", ())))


def _check_going_on(control: Control) -> None:
    if control.stop:
        raise TableError("It was stopped before the table was open.")


@dataclass(frozen=True)
class AllowedFolder:
    """The folder below which tables may be opened: no path leads out of it, by dots or by links."""

    folder: Path

    def locate(self, given: str) -> Path:
        """The file that a path names, if it lies below.

        Raises
        ------
        TableError
            It does not, or is no file.
        """
        if not given or "\0" in given or len(given) > 4096:
            raise TableError("Give the path of a file.")
        root = os.path.realpath(self.folder)
        found = os.path.realpath(os.path.join(root, os.path.expanduser(given)))
        if os.path.commonpath([root, found]) != root:
            raise TableError(
                "Only files below the folder that the app was started in can be opened. Start it there, or with "
                "--folder, or drop the file here."
            )
        if not os.path.isfile(found):
            raise TableError("There is no such file below the folder that the app was started in.")
        return Path(found)

    def tables(self) -> list[str]:
        """The tables that lie in it, and one folder deeper, as paths from it."""
        suffixes = tuple(suffix for each in BY_NAME.values() for suffix in each)
        found = []
        for pattern in ("*", "*/*"):
            for each in sorted(self.folder.glob(pattern)):
                shown = each.relative_to(self.folder)
                is_hidden = any(part.startswith(".") for part in shown.parts)
                if not is_hidden and each.name.lower().endswith(suffixes) and each.is_file():
                    found.append(shown.as_posix())
                if len(found) >= MOST_LISTED:
                    return found
        return found


def check_name(name: str) -> str:
    """The name of a dropped file without its folders, if its suffix is one of a table.

    Examples
    --------
    >>> check_name("C:\\\\data\\\\people.CSV")
    'people.CSV'
    """
    plain = name.replace("\\", "/").rpartition("/")[2].strip()
    if not plain or len(plain) > 200 or not plain.isprintable():
        raise TableError("The file's name cannot be read. Rename it.")
    format_of(Path(plain))
    return plain
