"""Feed: where rows of a stream come from and where what becomes of them goes, made durable together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Protocol

from tclose.errors import TcloseError
from tclose.stream.feeds.places import RowRun
from tclose.stream.items import Released

Position = dict[str, Any]
Letter = dict[str, Any]


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
    runs
        How a person finds the rows again, when the first of them has this number.
    text
        A row as it was given, by its place.
    ended
        Whether no further row will come.
    """

    rows: list[Mapping[str, Any]]
    broken: dict[int, str]
    after: Callable[[int], Position]
    runs: Callable[[int], list[RowRun]]
    text: Callable[[int], str]
    ended: bool = False

    @classmethod
    def empty(cls, ended: bool) -> Batch:
        """No rows: now, or ever."""
        return cls([], {}, lambda _: {}, lambda _: [], lambda _: "", ended)

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """Batches that follow each other, none without rows, as one."""
        starts = [0, *accumulate(len(each.rows) for each in batches)][:-1]
        parts = list(zip(starts, batches, strict=True))

        def at(place: int) -> tuple[Batch, int]:
            start, batch = parts[bisect_right(starts, place) - 1]
            return batch, place - start

        def after(place: int) -> Position:
            batch, inside = at(place)
            return batch.after(inside)

        def text(place: int) -> str:
            batch, inside = at(place)
            return batch.text(inside)

        return cls(
            [row for each in batches for row in each.rows],
            {start + place: why for start, each in parts for place, why in each.broken.items()},
            after,
            lambda number: [run for start, each in parts for run in each.runs(number + start)],
            text,
            batches[-1].ended,
        )


@dataclass(eq=False)
class PendingOutcome:
    """What came out and is not durable yet.

    Attributes
    ----------
    released
        Classes.
    letters
        Dead letters: what was rejected or withheld, where it stood, and why.
    certificates
        What may be published of the stream, once, and of each class.
    entries
        The ids of those entries whose rows are out with this, where rows come as entries.
    """

    released: list[Released] = field(default_factory=list)
    letters: list[Letter] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)


class Feed(Protocol):
    """One way in and one way out.

    `open` tells what was committed last, and lets everything after it be as if it had never been.
    `read` waits a moment at most; a batch without rows that has not ended means: ask again. After `end`
    it waits for nothing any more. `commit` makes what came out durable together with the checkpoint, or
    neither. `LostError` means that the feed must be opened again.
    """

    @property
    def promise(self) -> str:
        """What a restart does."""

    @property
    def fixed(self) -> dict[str, Any]:
        """What must stay as it is for as long as the stream goes on, by the names of options."""

    def open(self) -> bytes | None:
        """What `commit` was given last; None if nothing yet."""

    def begin(self, position: Position | None, pauses: bool = False) -> None:
        """The next row to read is the one at this position; the first of all if None.

        If it pauses, a later run goes on at the end: what is incomplete there is left to it.
        """

    def read(self) -> Batch:
        """The next rows."""

    def end(self) -> None:
        """Take what is there as all there is."""

    def commit(self, pending: PendingOutcome, checkpoint: bytes) -> None:
        """Make all of it durable at once."""

    def close(self) -> None:
        """Let go of files and connections."""
