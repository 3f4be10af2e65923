"""Feed: where rows of a stream come from and where what becomes of them goes, made durable together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tclose.errors import TableError, TcloseError
from tclose.stream.feeds.places import Run
from tclose.stream.items import Released

Position = dict[str, Any]
Letter = dict[str, Any]
MAGIC = b"tclose feed 1\n"
DIGEST = 32


class LostError(TcloseError):
    """The other side went away, or what was told it may not be known to it: open the feed again."""


class StoppedError(TcloseError):
    """It was asked to stop while it waited, with nothing to commit."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows in the order they came.

    Attributes
    ----------
    rows
        As mappings; empty where a row could not be read.
    broken
        Why not, by the place of the row in the batch.
    after
        Where to go on after the row at a place: what JSON can hold.
    run
        How a person finds the rows again, when the first of them has this number.
    text
        A row as it was given, by its place.
    ended
        Whether no further row will come.
    """

    rows: list[Mapping[str, Any]]
    broken: dict[int, str]
    after: Callable[[int], Position]
    run: Callable[[int], Run]
    text: Callable[[int], str]
    ended: bool = False

    @classmethod
    def empty(cls, ended: bool) -> Batch:
        """No rows: now, or ever."""
        return cls([], {}, lambda _: {}, lambda number: Run(number, 0), lambda _: "", ended)


@dataclass(eq=False)
class Pending:
    """What came out and is not durable yet.

    Attributes
    ----------
    released
        Classes.
    letters
        Dead letters: what was rejected or withheld, where it stood, and why.
    certificates
        What may be published of the stream, once, and of each class.
    """

    released: list[Released] = field(default_factory=list)
    letters: list[Letter] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.released or self.letters or self.certificates)


class Feed(Protocol):
    """One way in and one way out.

    `open` tells what was committed last, and lets everything after it be as if it had never been.
    `read` waits a moment at most; a batch without rows that has not ended means: ask again. `commit`
    makes what came out durable together with the checkpoint, or neither. `LostError` means that the
    feed must be opened again.
    """

    @property
    def promise(self) -> str:
        """What a restart does."""

    def open(self) -> bytes | None:
        """What `commit` was given last; None if nothing yet."""

    def begin(self, position: Position | None) -> None:
        """The next row to read is the one at this position; the first of all if None."""

    def read(self) -> Batch:
        """The next rows."""

    def commit(self, pending: Pending, checkpoint: bytes, position: Position | None) -> None:
        """Make all of it durable at once."""

    def close(self) -> None:
        """Let go of files and connections."""


def pack(head: dict[str, Any], parts: Mapping[str, bytes]) -> bytes:
    """A head and named parts as bytes, with a digest.

    Examples
    --------
    >>> unpack(pack({"a": 1}, {"b": b"c"}))
    ({'a': 1}, {'b': b'c'})
    """
    told = json.dumps({**head, "": [[name, len(part)] for name, part in parts.items()]}).encode()
    body = len(told).to_bytes(8, "big") + told + b"".join(parts.values())
    return MAGIC + hashlib.sha256(body).digest() + body


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The inverse of `pack`.

    Raises
    ------
    TableError
        It is something else, or damaged.
    """
    if not data.startswith(MAGIC):
        raise TableError("The checkpoint is none of `tclose stream`, or of another version of it.")
    digest, body = data[len(MAGIC) : len(MAGIC) + DIGEST], data[len(MAGIC) + DIGEST :]
    if hashlib.sha256(body).digest() != digest:
        raise TableError("The checkpoint is damaged.")
    start = 8 + int.from_bytes(body[:8], "big")
    head = json.loads(body[8:start])
    parts = {}
    for name, length in head.pop(""):
        parts[name] = body[start : start + length]
        start += length
    return head, parts
