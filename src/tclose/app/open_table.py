"""A table that is open: where it is, how it is read, and what its columns seem to be."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tclose.algorithms.control import Control
from tclose.app.database_addresses import without_password
from tclose.app.texts import said
from tclose.errors import TableError
from tclose.pipeline import Listener
from tclose.table.formats.database_urls import POSTGRESQL, database_of
from tclose.table.formats.file_formats import BY_NAME, format_of
from tclose.table.proposing.found_reading import read_and_find
from tclose.table.proposing.table_proposal import TableProposal, check_formats
from tclose.table.source import Source
from tclose.table.table_location import TableLocation

MOST_LISTED = 200
MOST_SEEN = 5000  # entries of a folder that are looked at for its list of tables
OPTIONS = ("format", "sheet", "codes", "table", "query")


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
    spelled
        The spellings that were read as missing.
    """

    location: TableLocation
    name: str
    source: Source
    proposal: TableProposal
    digest: str
    told: str = ""
    spelled: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return list(self.proposal.guesses)

    def with_missing(self, spelled: Sequence[str]) -> OpenTable:
        """The same, where these spellings mean missing."""
        before = self.proposal
        # A column that can be read in two ways is still to be asked about.
        known = [guess.evidence.formats for guess in before.guesses.values() if len(guess.evidence.formats) == 1]
        formats = [form for (form,) in known]
        found = TableProposal.of(self.source, self.name, before.reading, missing_values=spelled, formats=formats)
        return replace(self, proposal=found, spelled=tuple(spelled))

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
    is_kept
        Somebody asked to keep the dropped file in the project.
    """

    location: TableLocation
    name: str
    reading: Mapping[str, Any]
    formats: Sequence[str] = ()
    is_kept: bool = False

    @property
    def is_file(self) -> bool:
        """Whether it is a file and no database."""
        return self.location.database is None

    def open(self, listen: Listener, control: Control) -> OpenTable:
        """Read it and look at every column."""
        listen("read", None, None)
        found = read_and_find(self.location, self.reading)
        check_going_on(control)
        listen("digest", None, None)
        digest = found.source.digest()
        check_going_on(control)
        listen("columns", None, None)
        proposal = TableProposal.of(found.source, self.name, found.reading, formats=self.formats)
        check_formats(proposal, self.formats)
        spelled = proposal.spellings.sure
        return OpenTable(self.location, self.name, found.source, proposal, digest, found.told, spelled)

    @property
    def kept_place(self) -> str:
        """Where the table is, as projects, commands and pages have it: without a password."""
        is_url = database_of(self.location.place) == POSTGRESQL
        return without_password(self.location.place) if is_url else self.location.place

    def as_dict(self) -> dict[str, Any]:
        """For the file of a project."""
        options = {key: getattr(self.location, key) for key in OPTIONS if getattr(self.location, key)}
        return {"place": self.kept_place, **options, "reading": dict(self.reading), "formats": list(self.formats)}

    @classmethod
    def from_dict(cls, held: Mapping[str, Any], name: str) -> TableRequest:
        """The inverse of `as_dict`."""
        options = {key: held[key] for key in OPTIONS if key in held}
        location = TableLocation(held["place"], **options)
        return cls(location, name, held.get("reading", {}), tuple(held.get("formats", ())))


def check_going_on(control: Control) -> None:
    """Refuse to go on if somebody stopped it."""
    if control.stop:
        raise TableError(said("stopped_opening"))


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
            raise TableError(said("no_path"))
        root = os.path.realpath(self.folder)
        found = os.path.realpath(os.path.join(root, os.path.expanduser(given)))
        if os.path.commonpath([root, found]) != root:
            raise TableError(said("outside"))
        if not os.path.isfile(found):
            raise TableError(said("no_file"))
        return Path(found)

    def tables(self) -> list[str]:
        """The tables that lie in it, and one folder deeper, as paths from it."""
        return self._ending(tuple(suffix for each in BY_NAME.values() for suffix in each))

    def schemas(self) -> list[str]:
        """The files of TOML that lie in it, and one folder deeper, as paths from it."""
        return self._ending((".toml",))

    def _ending(self, suffixes: tuple[str, ...]) -> list[str]:
        own = _entries(self.folder, MOST_SEEN)
        seen = list(own)
        for each in own:
            if each.is_dir(follow_symlinks=False) and len(seen) < MOST_SEEN:
                seen += _entries(each, MOST_SEEN - len(seen))
        named = [each for each in seen if each.name.lower().endswith(suffixes) and each.is_file(follow_symlinks=False)]
        return [Path(each.path).relative_to(self.folder).as_posix() for each in named[:MOST_LISTED]]


def _entries(folder: Path | os.DirEntry[str], most: int) -> list[os.DirEntry[str]]:
    """The entries of a folder by name, hidden ones left out; none if it cannot be read. Some of them, if it is huge."""
    try:
        with os.scandir(folder) as found:
            some = [each for each in itertools.islice(found, most) if not each.name.startswith(".")]
    except OSError:
        return []
    return sorted(some, key=lambda each: each.name)


def check_name(name: str) -> str:
    """The name of a dropped file without its folders, if its suffix is one of a table.

    Examples
    --------
    >>> check_name("C:\\\\data\\\\people.CSV")
    'people.CSV'
    """
    plain = name.replace("\\", "/").rpartition("/")[2].strip()
    if not plain or len(plain) > 200 or not plain.isprintable():
        raise TableError(said("no_name"))
    format_of(Path(plain))
    return plain
