"""Where the rows at hand stood: a file and line, or the id of an entry."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RowRun:
    """Rows that follow each other.

    Attributes
    ----------
    first
        The number of the first.
    size
        How many there are.
    file
        The file they stand in; None for standard input.
    line
        The line of the first, counted from 1.
    entries
        Instead of file and line: the id of each.
    """

    first: int
    size: int
    file: str | None = None
    line: int = 0
    entries: Sequence[str] = ()

    def place(self, number: int) -> dict[str, Any]:
        """How a person finds a row."""
        if self.entries:
            return {"entry": self.entries[number - self.first]}
        place = {"line": self.line + number - self.first}
        return place if self.file is None else {"file": self.file, **place}

    def goes_on_with(self, other: RowRun) -> bool:
        """Whether both are one run."""
        same = not self.entries and not other.entries and self.file == other.file
        return same and self.first + self.size == other.first and self.line + self.size == other.line


@dataclass(eq=False)
class RowPlaces:
    """Where each row stood that is at hand.

    Examples
    --------
    >>> places = RowPlaces()
    >>> places.add(RowRun(0, 10, "a.csv", 2))
    >>> places.add(RowRun(10, 5, "b.csv", 2))
    >>> places.find(11)
    {'file': 'b.csv', 'line': 3}
    """

    runs: list[RowRun] = field(default_factory=list)

    def add(self, run: RowRun) -> None:
        """Rows that come next."""
        if self.runs and self.runs[-1].goes_on_with(run):
            last = self.runs.pop()
            run = RowRun(last.first, last.size + run.size, run.file, last.line)
        self.runs.append(run)

    def find(self, number: int) -> dict[str, Any]:
        """How a person finds a row; nothing if it was forgotten."""
        after = bisect_right(self.runs, number, key=lambda run: run.first)
        if after and number < self.runs[after - 1].first + self.runs[after - 1].size:
            return self.runs[after - 1].place(number)
        return {}

    def entries(self, numbers: Iterable[int]) -> list[str]:
        """The ids of these rows, where rows come as entries."""
        if not any(run.entries for run in self.runs):
            return []
        return [place["entry"] for place in map(self.find, numbers) if "entry" in place]

    def forget(self, before: int) -> None:
        """Rows with smaller numbers are asked for no more."""
        after = bisect_right(self.runs, before, key=lambda run: run.first)
        del self.runs[: max(after - 1, 0)]

    def between(self, first: int, stop: int) -> list[list[Any]]:
        """The rows with these numbers, as JSON has them."""
        kept = []
        for run in self.runs:
            start, end = max(run.first, first), min(run.first + run.size, stop)
            if start < end:
                skipped = start - run.first
                entries = list(run.entries[skipped : end - run.first])
                kept.append([start, end - start, run.file, run.line + skipped, entries])
        return kept

    @classmethod
    def of(cls, told: list[list[Any]]) -> RowPlaces:
        """The inverse of `between`."""
        return cls([RowRun(*each) for each in told])
