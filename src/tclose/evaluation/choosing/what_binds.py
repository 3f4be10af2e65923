"""what_binds: what loosening a demand or dropping a quasi-identifier would gain, measured on some rows."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms import Algorithm, find
from tclose.algorithms.capable import check_capable
from tclose.algorithms.control import Control, check_watching
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight.tight import Tight
from tclose.errors import SchemaError, TableError, TcloseError
from tclose.evaluation.attacks.shown_boxes import shown_classes
from tclose.evaluation.choosing.trials import label
from tclose.pipeline import Listener
from tclose.release.binding import Binding, Gain, MeasuredGains
from tclose.release.release import Release
from tclose.table.arguments import check_order, check_run, check_seconds
from tclose.table.axes import Axis, SpanAxis
from tclose.table.encode import EncodedTable, encode_rows
from tclose.table.row_selection import select_rows
from tclose.table.source import read

METHOD = Tight("fast")
ROWS = 5000
SECONDS = 30.0
LOOSER = Fraction(3, 2)  # times t


def what_binds(
    df: Any,
    release: Release,
    *,
    method: str | Algorithm = METHOD,
    rows: int = ROWS,
    seconds: float = SECONDS,
    seed: int = 0,
    progress: Listener | None = None,
    control: Control | None = None,
) -> Binding:
    """Which requirements bind a release, and what is gained if a quasi-identifier is dropped, or t, l or k loosened.

    Every change is tried by itself, on the same rows and by the same method as what was asked. Loss and classes are
    others on a sample than on the table, and by another method; what matters is which change lowers the loss. None of
    this is to be published.

    Parameters
    ----------
    df
        The table it was made of, as `anonymize` took it.
    release
        What `anonymize` gave.
    method
        A fast one.
    rows
        The table if it has no more rows, else that many at random.
    seconds
        For all changes together; those for which no time is left are listed.
    seed
        For the method, and for the rows.
    progress
        Called with the change, None and the share done.
    control
        After `control.end()` no further change is tried.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(500, seed=1)
    >>> release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    >>> found = tclose.what_binds(frame, release, method="mondrian")
    >>> len(found.measured.gains) == len(schema.quasi) + 2  # and t, and k
    True
    """
    check_order(df, release, "what_binds", "release")
    if not isinstance(release, Release) or release.binding is None:
        raise TableError("what_binds takes the table and its release: (df, release), as `anonymize` gave it.")
    check_watching(progress, control)
    check_run(seed, rows=rows)
    check_seconds("seconds", seconds)
    if rows < 1:
        raise SchemaError("what_binds: rows must be 1 at least.")
    algorithm, schema = find(method), release.schema
    check_capable(algorithm, schema)
    source = read(df, schema.delimiter, schema.encoding, header=schema.header)
    is_part = schema.unit_rows == "one" or release.record.left_out_rows > 0
    picked = np.flatnonzero(release.classes >= 0) if is_part else None
    if picked is not None and len(release.classes) != source.n_rows:
        raise TableError("The release has other rows than the table. Give the table it was made of.")
    table = encode_rows(source, *select_rows(source, schema, picked), schema)
    if len(table) != release.measured.rows:
        raise TableError("The release has other rows than the table. Give the table it was made of.")
    n = len(table)
    if n > rows:
        table = table.take(np.sort(np.random.default_rng(seed).choice(n, rows, replace=False)))
    trials = _LooseningTrials(algorithm, seed, clock.monotonic() + seconds, control or Control(), progress or _quiet)
    found = trials.measure(table, Requirement.of(schema, table), list(release.binding.losses))
    return release.binding.with_gains(MeasuredGains(len(table), n, label(algorithm), *found))


@dataclass(frozen=True, eq=False)
class _Change:
    """One change: its words, and the table and requirement it leads to."""

    words: str
    table: EncodedTable
    requirement: Requirement


def _changes(table: EncodedTable, asked: Requirement, columns: list[str]) -> Iterator[_Change]:
    for column in columns if len(columns) > 1 else ():
        yield _Change(f"without '{column}'", _without(table, column), asked)
    for column in dict.fromkeys(axis.column for axis in table.axes if axis.blocks is not None):
        yield _Change(f"without `coarsest` of '{column}'", _unlimited(table, column), asked)
    for place, attribute in enumerate(asked.attributes):
        name = attribute.domain.column
        looser = []
        if attribute.t is not None and attribute.t < 1:
            t = min(attribute.t * LOOSER, Fraction(1)) if attribute.t else Fraction(1, 100)
            words = f"t of '{name}' {float(t):g} instead of {float(attribute.t):g}"
            looser.append((words, replace(attribute, t=t)))
        if attribute.l is not None and not attribute.domain.of_persons:  # that of persons is k
            looser.append((f"without l of '{name}'", replace(attribute, l=None)))
        if attribute.caps is not None:
            asked_of = " and ".join(key for key, _ in attribute.caps.items())
            looser.append((f"without {asked_of} of '{name}'", replace(attribute, caps=None)))
        for words, one in looser:
            attributes = (*asked.attributes[:place], one, *asked.attributes[place + 1 :])
            yield _Change(words, table, replace(asked, attributes=attributes))
    if asked.k > 1:
        k = (asked.k + 1) // 2
        yield _Change(f"k = {k} instead of {asked.k}", table, asked.with_k(k))


def _unlimited(table: EncodedTable, column: str) -> EncodedTable:
    """The table with nothing kept apart by the `coarsest` of a quasi-identifier."""
    axes: list[Axis] = []
    for axis in table.axes:
        if axis.column == column:
            axis = replace(axis, blocks=None, reach=None) if isinstance(axis, SpanAxis) else replace(axis, blocks=None)
        axes.append(axis)
    return replace(table, axes=tuple(axes))


def _without(table: EncodedTable, column: str) -> EncodedTable:
    """The table without a quasi-identifier; the weights of the others add up to 1."""
    kept = [place for place, axis in enumerate(table.axes) if axis.column != column]
    whole = sum((table.axes[place].share for place in kept), Fraction(0))
    axes = tuple(replace(table.axes[place], share=table.axes[place].share / whole) for place in kept)
    return replace(table, axes=axes, places=tuple(table.places[place] for place in kept))


@dataclass(frozen=True, eq=False)
class _LooseningTrials:
    """Runs of one method until a deadline."""

    algorithm: Algorithm
    seed: int
    deadline: float
    control: Control
    tell: Listener

    def measure(
        self, table: EncodedTable, asked: Requirement, columns: list[str]
    ) -> tuple[tuple[Gain, ...], tuple[str, ...]]:
        """What each change gains, the largest first, and the changes for which no time was left."""
        changes = list(_changes(table, asked, columns))
        self.tell("what binds", None, 0.0)
        before = self._labels(table, asked, len(changes) + 1)
        gains, untried = [], []
        for place, change in enumerate(changes):
            self.tell(f"what binds: {change.words}", None, (place + 1) / (len(changes) + 1))
            after = None
            if before is not None and not self._over:
                after = self._labels(change.table, change.requirement, len(changes) - place)
            if before is None or after is None:
                untried.append(change.words)
            else:
                gains.append(_gain(change, table, before, after))
        gains.sort(key=lambda gain: gain.loss_after - gain.loss_before)
        return tuple(gains), tuple(untried)

    @property
    def _over(self) -> bool:
        return self.control.stop or clock.monotonic() >= self.deadline

    def _labels(self, table: EncodedTable, asked: Requirement, left: int) -> NDArray[np.int64] | None:
        """The classes found within a fair share of the time left; None where there are none."""
        watch = Control(max(self.deadline - clock.monotonic(), 0.0) / left, whole=self.control)
        try:
            found = self.algorithm.partition(table, asked, rng=np.random.default_rng(self.seed), control=watch)
        except TcloseError:
            return None
        return found.labels


def _gain(change: _Change, table: EncodedTable, before: NDArray[np.int64], after: NDArray[np.int64]) -> Gain:
    """The loss of both on the quasi-identifiers that both have, and the classes that each would show."""
    was, would = np.bincount(shown_classes(table, before)), np.bincount(shown_classes(change.table, after))
    return Gain(
        change.words,
        change.table.loss(before),
        change.table.loss(after),
        len(was),
        len(would),
        int(was.min()),
        int(would.min()),
    )


def _quiet(stage: str, loss: float | None, done: float | None) -> None:
    """Tell nobody."""
