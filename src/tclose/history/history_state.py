"""The state of a history: who was released when, in which class and with which values; and as bytes.

It is as confidential as the table: it holds the released rows as they were before they were generalized.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table.source import file_digest

Integers = NDArray[np.int64]
MAGIC = b"tclose history 2\n"
DIGEST = 32
RELEASED, AWAY, WITHDRAWN = 0, 1, 2  # where a person is
PERSON = "\0person"  # no column has such a name


@dataclass(frozen=True)
class ReleaseEntry:
    """What is kept of one release.

    Attributes
    ----------
    number
        From 1 up.
    schema
        What was promised, as TOML that needs no other file.
    method, loss, rows, classes
        How it was made, and what came of it; the loss is the exact one.
    counts
        How many persons were added, changed, deleted and so on, and how many wait.
    reference
        How often each value of each sensitive attribute was released.
    certificate
        Its certificate as it was written.
    certificate_sha256
        The digest of that file, which the next certificate names.
    outputs
        The files that were written: temporary name, name and digest, the certificate last.
    """

    number: int
    schema: str
    method: str
    loss: float
    rows: int
    classes: int
    counts: dict[str, int]
    reference: dict[str, list[tuple[str | None, int]]]
    certificate: dict[str, Any] = field(default_factory=dict)
    certificate_sha256: str = ""
    outputs: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def is_as_written(self) -> bool:
        """Whether the file of the release is where it was written, and has not been changed since."""
        if not self.outputs:
            return False
        _, path, digest = self.outputs[0]
        return Path(path).is_file() and file_digest(Path(path)) == digest


@dataclass(frozen=True, eq=False, repr=False)
class HistoryState:
    """What all releases of a table have told.

    A person is a number from 0 up. A version is a set of sensitive values a person was released with, from the release
    of its origin on, until another version takes its place.

    Attributes
    ----------
    hashes
        The keyed hash of each person.
    atoms
        The atom of each person: those of one atom were released in the same releases, in the same classes.
    places
        Where each person is: RELEASED, AWAY or WITHDRAWN.
    left
        The release without the person, after one with; 0 for those who are released.
    quasi
        The quasi-identifiers of the released row of each person; empty for all others.
    member_person, member_release, member_class
        The class of each person in each release that has the person.
    version_person, version_origin, sensitive
        The versions: whose they are, their origin, and their values.
    releases
        One entry a release.
    """

    hashes: pl.Series
    atoms: Integers
    places: Integers
    left: Integers
    quasi: pl.DataFrame
    member_person: Integers
    member_release: Integers
    member_class: Integers
    version_person: Integers
    version_origin: Integers
    sensitive: pl.DataFrame
    releases: tuple[ReleaseEntry, ...]

    @classmethod
    def empty(cls) -> HistoryState:
        """Of a table that was not released yet."""
        none, nothing = np.zeros(0, np.int64), pl.DataFrame()
        return cls(
            pl.Series([], dtype=pl.String), none, none, none, nothing, none, none, none, none, none, nothing, ()
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def number(self) -> int:
        """The number of the last release; 0 if there is none."""
        return len(self.releases)

    @cached_property
    def class_of(self) -> Integers:
        """For each person, a row of classes, one a release; -1 where the person is not in it."""
        found = np.full((len(self), self.number), -1, np.int64)
        found[self.member_person, self.member_release - 1] = self.member_class
        return found

    @cached_property
    def version_of(self) -> Integers:
        """For each person, a row of versions, one a release; -1 where the person is not in it.

        The version of a release is the last one whose origin is not after it.
        """
        order = np.lexsort((self.version_origin, self.version_person))
        width = self.number + 1
        keys = self.version_person[order] * width + self.version_origin[order]
        wanted = self.member_person * width + self.member_release
        at = np.searchsorted(keys, wanted, "right") - 1
        found = np.full((len(self), self.number), -1, np.int64)
        found[self.member_person, self.member_release - 1] = order[at]
        return found

    @cached_property
    def current_version(self) -> Integers:
        """The last version of each person."""
        found = np.full(len(self), -1, np.int64)
        order = np.argsort(self.version_origin, kind="stable")
        found[self.version_person[order]] = order
        return found


def pack_state(state: HistoryState, key: bytes) -> bytes:
    """The state as bytes that know whether they are whole, and by which key they name persons."""
    numbers = {
        "persons": pl.DataFrame({"hash": state.hashes, "atom": state.atoms, "place": state.places, "left": state.left}),
        "quasi": _with_height(state.quasi, len(state)),
        "members": pl.DataFrame(
            {"person": state.member_person, "release": state.member_release, "class": state.member_class}
        ),
        "versions": pl.DataFrame({"person": state.version_person, "origin": state.version_origin}),
        "sensitive": _with_height(state.sensitive, len(state.version_person)),
    }
    parts = {name: _as_bytes(frame) for name, frame in numbers.items()}
    head = {"releases": [asdict(each) for each in state.releases]}
    told = json.dumps({**head, "": [[name, len(part)] for name, part in parts.items()]}).encode()
    body = len(told).to_bytes(8, "big") + told + b"".join(parts.values())
    digest = hashlib.sha256(body).digest()
    return MAGIC + digest + _sealed(digest, key) + body


def unpack_state(data: bytes, key: bytes) -> HistoryState:
    """The inverse of `pack_state`.

    Raises
    ------
    TableError
        It is something else, of another version of tclose, damaged, or was written with another key: by this one nobody
        would be recognized.
    """
    if not data.startswith(MAGIC):
        raise TableError("This is not the state of a history, or one of another version of tclose.")
    digest, seal, body = (
        data[len(MAGIC) + first : last]
        for first, last in ((0, len(MAGIC) + DIGEST), (DIGEST, len(MAGIC) + 2 * DIGEST), (2 * DIGEST, None))
    )
    if hashlib.sha256(body).digest() != digest:
        raise TableError("The state of the history is damaged. Put back a copy of it as it was written last.")
    if not hmac.compare_digest(seal, _sealed(digest, key)):
        raise TableError(
            "The state of the history was written with another key, by which nobody would be recognized. The key or "
            "the state is that of another history: put both back as they were written."
        )
    return guarded("The state of the history is damaged", lambda: _opened(body), silent=True)


def _sealed(digest: bytes, key: bytes) -> bytes:
    """What nobody without the key can make of a digest."""
    return hashlib.blake2b(digest, key=key, digest_size=DIGEST).digest()


def _opened(body: bytes) -> HistoryState:
    start = 8 + int.from_bytes(body[:8], "big")
    head, frames = json.loads(body[8:start]), {}
    for name, length in head[""]:
        frames[name] = pl.read_ipc(io.BytesIO(body[start : start + length]), use_pyarrow=False)
        start += length
    persons, members, versions = frames["persons"], frames["members"], frames["versions"]
    releases = tuple(ReleaseEntry(**{**each, "reference": _counts(each["reference"])}) for each in head["releases"])
    return HistoryState(
        persons["hash"], _integers(persons["atom"]), _integers(persons["place"]), _integers(persons["left"]),
        frames["quasi"].drop(PERSON), _integers(members["person"]), _integers(members["release"]),
        _integers(members["class"]), _integers(versions["person"]), _integers(versions["origin"]),
        frames["sensitive"].drop(PERSON), releases,
    )  # fmt: skip


def _counts(told: dict[str, list[list[Any]]]) -> dict[str, list[tuple[str | None, int]]]:
    return {column: [(value, count) for value, count in counts] for column, counts in told.items()}


def _with_height(frame: pl.DataFrame, height: int) -> pl.DataFrame:
    """The frame with a column of ours, so that one without columns of its own keeps its rows."""
    return frame.with_columns(pl.Series(PERSON, np.zeros(height, np.int8)))


def _as_bytes(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_ipc(file, compression="zstd")
    return file.getvalue()


def _integers(column: pl.Series) -> Integers:
    found: Integers = column.cast(pl.Int64).to_numpy().copy()
    return found
