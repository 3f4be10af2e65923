"""A folder that grows: its files are read one after the other, by name."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.stream.envelope import unpack
from tclose.stream.feeds.feed import Batch, Position
from tclose.stream.feeds.lines import MOST_ROWS, PATIENCE, Format, GrowingFile, LineInput, check_same


class FolderInput:
    """The rows of all files of a folder that end in `.jsonl` or `.csv` and are not hidden.

    A file may grow until one whose name comes after its own is there; who writes a file at once puts
    it under a hidden name, and renames it. A file that comes late, under a name before those that
    were read, is read when those that were there are done.

    Parameters
    ----------
    path
        The folder.
    schema, format
        How lines are read; the format is the suffix.
    position
        Where to go on; None to begin.
    follow
        Whether to wait for more.
    pauses
        Whether the last line of the last file is left for another time, if it has no end.
    order
        Names that come before all others, in this order.
    """

    def __init__(
        self,
        path: Path,
        schema: Schema,
        format: Format,
        position: Position | None = None,
        *,
        follow: bool = False,
        pauses: bool = False,
        order: Sequence[str] = (),
    ) -> None:
        self._path, self._schema, self._format = path, schema, format
        self._follow, self._pauses = follow, pauses
        self._order = {name: place for place, name in enumerate(order)}
        self._done: dict[str, int] = dict(position["done"]) if position else {}
        self._done_since: list[tuple[str, int]] = []  # in the read at work
        self._waiting: deque[str] = deque()
        self._name: str | None = None
        self._lines: LineInput | None = None
        if position:
            self._begin(position["file"], position)

    def read(self, most: int = MOST_ROWS) -> Batch:
        """The next rows, of as many files as have so many; waits a moment at most."""
        batches: list[Batch] = []
        before, self._done_since = dict(self._done), []
        while most > 0 and (batch := self._some(most)) is not None:
            batches.append(self._told(batch, before))
            most -= len(batch.rows)
        if batches:
            return Batch.joined(batches)
        if self._follow:
            time.sleep(PATIENCE)
        return Batch.empty(ended=not self._follow)

    def end(self) -> None:
        """Wait for no further rows."""
        self._follow = False

    def close(self) -> None:
        """No more rows are wanted."""
        if self._lines is not None:
            self._lines.close()

    def _some(self, most: int) -> Batch | None:
        """Rows of one file; None if there are none now."""
        while (batch := self._rows(most)) is None:
            if not self._waiting:
                self._look()
                if (batch := self._rows(most)) is not None:  # those that came before a later file
                    return batch
            if not self._waiting and self._follow:
                return None
            if self._lines is not None:
                self._lines.end(torn=bool(self._waiting) or not self._pauses)
                if (batch := self._rows(most)) is not None:
                    return batch
            if not self._waiting:
                return None
            self._turn_to(self._waiting.popleft())
        return batch

    def _rows(self, most: int) -> Batch | None:
        batch = None if self._lines is None else self._lines.read(most)
        return batch if batch is not None and batch.rows else None

    def _told(self, batch: Batch, before: dict[str, int]) -> Batch:
        """The batch with positions that say which files are done: those `before` this read, and since."""
        name, since, n_since = self._name, self._done_since, len(self._done_since)

        def after(place: int) -> Position:
            return {**batch.after(place), "file": name, "done": before | dict(since[:n_since])}

        return replace(batch, after=after, ended=False)

    def _turn_to(self, name: str) -> None:
        if self._name is not None and self._lines is not None:
            self._done[self._name] = self._lines.offset
            self._done_since.append((self._name, self._lines.offset))
        self._begin(name, None)

    def _begin(self, name: str, position: Position | None) -> None:
        self.close()
        file = GrowingFile(self._path / name, position["offset"] if position else 0, "tell")
        check_same(file, position)
        self._name, self._lines = name, LineInput(file, self._schema, self._format, position)

    def _look(self) -> None:
        """See which files are there, and which of them come next: all but the last are complete."""
        sizes = {}
        for path in self._path.iterdir():
            if path.suffix == f".{self._format}" and not path.name.startswith(".") and path.is_file():
                sizes[path.name] = path.stat().st_size
        for name, size in list(self._done.items()):
            if name not in sizes:
                del self._done[name]
            elif sizes[name] != size:
                raise TableError(f"'{name}' has changed after a later file was begun, and rows in it may be lost.")
        new = [name for name in sizes if name not in self._done and name != self._name]
        grows = self._follow and self._name is not None and not any(name > self._name for name in new)
        if not grows:
            self._waiting.extend(sorted(new, key=lambda name: (self._order.get(name, len(self._order)), name)))


def files_read(checkpoint: bytes) -> list[str]:
    """The files of a folder that a stream has begun to read, in that order; none if it read no folder."""
    position = unpack(unpack(checkpoint)[1][""])[0]["position"] or {}
    return [*position.get("done", ()), *([position["file"]] if "file" in position else [])]
