"""Rows on lines: from standard input or a file, JSON objects or CSV."""

from __future__ import annotations

import hashlib
import os
import select
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.stream.feeds.feed import Batch, Position
from tclose.stream.feeds.parse import LONGEST, check_encoding, csv_header, csv_rows, json_rows
from tclose.stream.feeds.places import RowRun

Format = Literal["jsonl", "csv"]
AtEnd = Literal["stop", "wait", "tell"]
HeaderCheck = Callable[[Sequence[str], Schema], None]
MOST_ROWS = 4096  # of a batch
CHUNK = 1 << 18
PATIENCE = 0.2  # seconds to wait for a row before asking whether to stop
GATHERING = 0.05  # seconds to wait for more rows to come together
CHANGED = "The input does not hold the rows that the checkpoint was made after. Give the same input"


class Chunks(Protocol):
    """Bytes as they come."""

    @property
    def name(self) -> str | None:
        """What a person calls them."""

    def more(self) -> bytes | None:
        """Some bytes, none if none came within a moment, or None at the end."""

    def close(self) -> None:
        """No more are wanted."""


class Pipe:
    """Standard input, or another file descriptor that cannot be rewound."""

    name = None

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor

    def more(self) -> bytes | None:
        """See `Chunks`."""
        if not select.select([self._descriptor], [], [], PATIENCE)[0]:
            return b""
        return os.read(self._descriptor, CHUNK) or None

    def close(self) -> None:
        """See `Chunks`."""


class GrowingFile:
    """A file to which whole lines are appended, and nothing else is done.

    Parameters
    ----------
    path
        The file.
    offset
        Where to begin.
    at_end
        What to do at its end: `stop`, `wait` a moment for more, or only `tell` that there is none now.
    """

    def __init__(self, path: Path, offset: int, at_end: AtEnd) -> None:
        self._path, self._offset, self._at_end = path, offset, at_end
        self._file = path.open("rb")
        self.name = path.name
        self._file.seek(offset)

    def more(self) -> bytes | None:
        """See `Chunks`."""
        data = self._file.read(CHUNK)
        self._offset += len(data)
        if data:
            return data
        if os.fstat(self._file.fileno()).st_size < self._offset:
            raise TableError(f"'{self.name}' has become shorter while it was read. Rows may only be appended to it.")
        if self._at_end == "wait":
            self._check_there()
            time.sleep(PATIENCE)
        return None if self._at_end == "stop" else b""

    def _check_there(self) -> None:
        try:
            same = os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except FileNotFoundError:
            same = False
        if not same:
            raise TableError(
                f"'{self.name}' was replaced while it was read. Put new files into a folder, and read that."
            )

    def before(self, start: int, stop: int) -> bytes:
        """Some bytes that were read earlier."""
        here = self._file.tell()
        self._file.seek(start)
        data = self._file.read(min(stop - start, LONGEST + 2))
        self._file.seek(here)
        return data

    def close(self) -> None:
        """See `Chunks`."""
        self._file.close()


class Cutter:
    """Cuts bytes into lines, and keeps only the beginning of one that is far too long.

    Examples
    --------
    >>> cutter = Cutter()
    >>> cutter.push(b"a\\nb"), cutter.push(b"c\\nd")
    (None, None)
    >>> list(cutter.ready)
    [(b'a', 2), (b'bc', 3)]
    """

    def __init__(self) -> None:
        self.ready: deque[tuple[bytes, int]] = deque()  # lines, and how many bytes each takes in the input
        self._rest, self._dropped = b"", 0

    def push(self, chunk: bytes) -> None:
        """Bytes that come next."""
        *whole, rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            self.ready.append((line, len(line) + 1 + self._dropped))
            self._dropped = 0
        self._dropped += max(len(rest) - LONGEST - 1, 0)
        self._rest = rest[: LONGEST + 1]

    def end(self) -> None:
        """No more bytes come: what is left is a line."""
        if self._rest:
            self.ready.append((self._rest, len(self._rest) + self._dropped))
            self._rest, self._dropped = b"", 0


class LineInput:
    """The rows of one file or of standard input.

    Parameters
    ----------
    chunks
        Its bytes, from `offset` of the position on; from the beginning if `rewound`.
    schema, format
        How lines are read.
    position
        Where to go on; None to begin.
    rewound
        Whether the bytes begin again at the very first, so that those before the position are skipped.
    pauses
        Whether a last line without an end is left for another time, when there may be more of it.
    check_header
        Refuses names of columns that do not fit; None if rows are rejected instead.
    """

    def __init__(
        self,
        chunks: Chunks,
        schema: Schema,
        format: Format,
        position: Position | None = None,
        *,
        rewound: bool = False,
        pauses: bool = False,
        check_header: HeaderCheck | None = None,
    ) -> None:
        check_encoding(schema)
        self._chunks, self._schema, self._format, self._check_header = chunks, schema, format, check_header
        self._pauses = pauses
        self._header: list[str] | None = position["header"] if position else None
        self._skip = position if rewound else None
        at = None if rewound else position
        self._offset: int = at["offset"] if at else 0
        self._line: int = at["line"] if at else 1
        self._cutter, self._ended = Cutter(), False

    @property
    def offset(self) -> int:
        """How many bytes were taken in."""
        return self._offset

    def read(self, most: int = MOST_ROWS) -> Batch:
        """The next rows; waits a moment at most."""
        self._gather(most)
        if self._skip is not None:
            self._skip_some()
        if self._skip is None and self._format == "csv" and self._line == 1 and self._cutter.ready:
            self._read_header()
        if self._skip is not None:
            return self._batch([], [], self._ended)
        taken = [self._cutter.ready.popleft() for _ in range(min(most, len(self._cutter.ready)))]
        lines, sizes = [line for line, _ in taken], [size for _, size in taken]
        return self._batch(lines, sizes, self._ended and not self._cutter.ready)

    def _gather(self, most: int) -> None:
        until = None
        while not self._ended and len(self._cutter.ready) < most:
            chunk = self._chunks.more()
            if chunk is None:
                self.end(torn=not self._pauses)
                return
            self._cutter.push(chunk)
            now = time.monotonic()
            until = until or (now + GATHERING if self._cutter.ready else None)
            if not chunk or (until is not None and now >= until):
                return

    def end(self, torn: bool = True) -> None:
        """No more will come; a last line without an end is one, if `torn` says so."""
        if torn:
            self._cutter.end()
        self._ended = True

    def _skip_some(self) -> None:
        """Lines that were taken in before, up to one that must be the one that was."""
        assert self._skip is not None
        while self._offset < self._skip["offset"] and self._cutter.ready:
            line, size = self._cutter.ready.popleft()
            self._offset, self._line = self._offset + size, self._line + 1
            if self._offset == self._skip["offset"]:
                check_last(line, self._skip)
        if self._offset == self._skip["offset"]:
            self._skip = None
        elif self._offset > self._skip["offset"] or self._ended:
            raise TableError(f"{CHANGED}, from its beginning.")

    def _read_header(self) -> None:
        line, size = self._cutter.ready.popleft()
        self._offset, self._line = self._offset + size, 2
        try:
            self._header = csv_header(line, self._schema)
            if self._check_header is not None:
                self._check_header([*self._header, *(set(self._schema.identifiers) - {*self._header})], self._schema)
        except TableError:
            if self._check_header is not None:
                raise
            self._header = []

    def _batch(self, lines: list[bytes], sizes: Sequence[int], ended: bool) -> Batch:
        schema, header = self._schema, self._header
        rows, broken = json_rows(lines) if self._format == "jsonl" else csv_rows(lines, header or [], schema)
        ends, first = [self._offset], self._line
        for size in sizes:
            ends.append(ends[-1] + size)
        self._offset, self._line = ends[-1], first + len(lines)
        encoding = "utf-8" if self._format == "jsonl" else schema.encoding
        return Batch(
            rows,
            broken,
            after=lambda place: {
                "offset": ends[place + 1],
                "from": ends[place],
                "last": _digest(lines[place]),
                "line": first + place + 1,
                "header": header,
            },
            runs=lambda number: [RowRun(number, len(lines), self._chunks.name, first)],
            text=lambda place: lines[place][:LONGEST].decode(encoding, "backslashreplace"),
            ended=ended,
        )

    def close(self) -> None:
        """No more rows are wanted."""
        self._chunks.close()


def refuse_device(path: Path) -> None:
    """Raise TableError for a device, such as `/dev/zero`, which may never end."""
    if path.is_char_device() or path.is_block_device():
        raise TableError(f"'{path}' is a device, whose end nobody knows. Give a file or a folder, or pipe it in.")


def open_file(
    path: Path,
    schema: Schema,
    format: Format,
    position: Position | None,
    *,
    follow: bool = False,
    pauses: bool = False,
    check_header: HeaderCheck | None = None,
) -> LineInput:
    """The rows of a file from a position on."""
    file = GrowingFile(path, position["offset"] if position else 0, "wait" if follow else "stop")
    check_same(file, position)
    return LineInput(file, schema, format, position, pauses=pauses, check_header=check_header)


def check_same(file: GrowingFile, position: Position | None) -> None:
    """Refuse a file that does not hold the last row before the position."""
    try:
        if position:
            check_last(file.before(position["from"], position["offset"]).removesuffix(b"\n"), position)
    except TableError:
        file.close()
        raise


def check_last(line: bytes, position: Position) -> None:
    """Refuse a line that is not the last one before the position."""
    if _digest(line) != position["last"]:
        raise TableError(f"{CHANGED}.")


def _digest(line: bytes) -> str:
    return hashlib.sha256(line[: LONGEST + 1]).hexdigest()
