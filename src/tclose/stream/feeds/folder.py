"""A folder that grows: its files are read one after the other, by name."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from tclose.errors import TableError
from tclose.schema import Schema
from tclose.stream.feeds.feed import Batch, Position
from tclose.stream.feeds.lines import MOST_ROWS, PATIENCE, Format, GrowingFile, LineInput, check_same


class FolderInput:
    """The rows of all files of a folder that end in `.jsonl` or `.csv` and are not hidden.

    A file may grow until one whose name comes after its own is there; who writes a file at once puts
    it under a hidden name, and renames it. A file that comes late, under a name before those that
    were read, is read next.

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
    """

    def __init__(self, path: Path, schema: Schema, format: Format, position: Position | None, follow: bool) -> None:
        self._path, self._schema, self._format, self._follow = path, schema, format, follow
        self._done: dict[str, int] = dict(position["done"]) if position else {}
        self._name: str | None = None
        self._lines: LineInput | None = None
        if position:
            self._begin(position["file"], position)

    def read(self, most: int = MOST_ROWS) -> Batch:
        """The next rows, all of one file; waits a moment at most."""
        while True:
            names = self._names()  # before reading: a file is complete when a later one is there
            if self._lines is not None and (batch := self._lines.read(most)).rows:
                return self._told(batch)
            following = self._next(names)
            if following is None and self._follow:
                time.sleep(PATIENCE)
                return Batch.empty(ended=False)
            if self._lines is not None:
                self._lines.end()
                if (batch := self._lines.read(most)).rows:
                    return self._told(batch)
            if following is None:
                return Batch.empty(ended=True)
            self._turn_to(following)

    def close(self) -> None:
        """No more rows are wanted."""
        if self._lines is not None:
            self._lines.close()

    def _told(self, batch: Batch) -> Batch:
        """The batch with positions that say which files are done."""
        name, done = self._name, dict(self._done)
        return replace(batch, after=lambda place: {**batch.after(place), "file": name, "done": done}, ended=False)

    def _turn_to(self, name: str) -> None:
        if self._name is not None and self._lines is not None:
            self._done[self._name] = self._lines.offset
        self._begin(name, None)

    def _begin(self, name: str, position: Position | None) -> None:
        self.close()
        file = GrowingFile(self._path / name, position["offset"] if position else 0, "tell")
        check_same(file, position)
        self._name, self._lines = name, LineInput(file, self._schema, self._format, position, lenient=True)

    def _names(self) -> dict[str, int]:
        """The files there are, and their sizes."""
        found = {}
        for path in self._path.iterdir():
            if path.suffix == f".{self._format}" and not path.name.startswith(".") and path.is_file():
                found[path.name] = path.stat().st_size
        for name, size in list(self._done.items()):
            if name not in found:
                del self._done[name]
            elif found[name] != size:
                raise TableError(f"'{name}' has changed after a later file was begun, and rows in it may be lost.")
        return found

    def _next(self, names: dict[str, int]) -> str | None:
        """The file to read when the one at hand has come to its end; None if it may still grow."""
        others = sorted(name for name in names if name not in self._done and name != self._name)
        later = self._name is None or not self._follow or any(name > self._name for name in others)
        return others[0] if others and later else None
