"""Rows left out where that saves most, together as close and diverse as a class must be (`suppress_rows`).

A row that is left out loses 1, more than it would in any class. It pays where the row makes the class of others wide.
So rows are looked for without which their classes would lose much less, and of these that many are taken of each
sensitive value that what is missing tells no more than a class does: k rows, t, l and caps, against what is released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.distances import Line, Tree
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

if TYPE_CHECKING:
    from tclose.algorithms import Algorithm

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

PEELED = 3  # rows of one class that are looked at together: two that are alike hide each other
SLACKS = (1.0, 0.4, 0.2, 0.1, 0.05, 0.02, 0.0)  # by how much a share may be above that of the table, loosest first
GROUPS = (2, 4, 8)  # of neighbouring values, whose shares are watched on an ordered domain
TURNS = 4  # runs of the method, at most
TRIED = 5  # times as many candidates as rows allowed are looked at
ROUNDING = 1e-12


def most_left_out(requirement: Requirement, n: int) -> int:
    """How many of n rows may be left out: none, where fewer than k are allowed."""
    if requirement.left_out is None:
        return 0
    most = floor(requirement.left_out * n)
    return most if most >= max(requirement.k, 1) and n - most >= requirement.k else 0


def against_rest(requirement: Requirement, table: EncodedTable, kept: Flags) -> Requirement:
    """The same requirement against the rows that are kept."""
    attributes = tuple(
        replace(attribute, reference=np.bincount(codes[kept], minlength=attribute.domain.size).astype(np.int64))
        for attribute, codes in zip(requirement.attributes, table.codes, strict=True)
    )
    return replace(requirement, attributes=attributes, n=int(kept.sum()), left_out=None)


def may_be_left_out(requirement: Requirement, table: EncodedTable, left: Flags) -> bool:
    """Whether rows can be left out together: as many as allowed, and a class beside those that are kept; exact.

    None may take all rows of a value with it where ranks are counted among the values there are: the domain of the
    release would be another one.
    """
    n_left = int(left.sum())
    if not n_left:
        return True
    if not max(requirement.k, 1) <= n_left <= most_left_out(requirement, len(table)):
        return False
    if not all(_keeps_domain(*each, left) for each in zip(requirement.attributes, table.codes, strict=True)):
        return False
    return against_rest(requirement, table, ~left).holds([codes[left] for codes in table.codes])


def holds_with_left_out(requirement: Requirement, table: EncodedTable, labels: Integers) -> bool:
    """Whether every class, and the rows left out together, meet all that is asked; exact."""
    left = labels < 0
    if not left.any():
        return replace(requirement, left_out=None).holds_in_all(table, labels)
    kept = np.flatnonzero(~left)
    return may_be_left_out(requirement, table, left) and against_rest(requirement, table, ~left).holds_in_all(
        table.take(kept), labels[kept]
    )


def leave_rows_out(
    algorithm: Algorithm,
    table: EncodedTable,
    requirement: Requirement,
    *,
    rng: np.random.Generator,
    control: Control,
    start: Partition | None,
) -> Partition:
    """The best found of a method's classes of all rows, and of those without some; labels of these are -1.

    Rows that are far from all others are tried first, all that are allowed and then a quarter of them; then, in
    addition, rows that make their classes wide.
    """
    if start is not None and (start.labels < 0).any():
        start = None  # the caller takes it if nothing better is found
    most = most_left_out(requirement, len(table))
    alone = replace(requirement, left_out=None)
    best = algorithm.partition(table, alone, rng=rng, control=_turn(control, 0) if most else control, start=start)
    least = table.loss(best.labels)
    for turn, (proposal, size) in enumerate(((_isolated, most), (_isolated, most // 4), (_peeled, most)), 1):
        tried = turn == 2 and (best.labels < 0).any()
        if size < max(requirement.k, 1) or tried or control.stop:
            continue
        left = _choose(table, requirement, best.labels < 0, proposal(table, best.labels, requirement.k), size)
        if left is None or np.array_equal(left, best.labels < 0):
            continue
        kept = np.flatnonzero(~left)
        asked = against_rest(requirement, table, ~left)
        found = algorithm.partition(table.take(kept), asked, rng=rng, control=_turn(control, turn), start=None)
        labels = np.full(len(table), -1, np.int64)
        labels[kept] = found.labels
        loss = table.loss(labels)
        if loss < least - ROUNDING:
            best, least = replace(found, labels=labels), loss
        control.report(loss=least)
    return best


def _turn(control: Control, number: int) -> Control:
    """What one of the runs may take of the time, and how it reports."""

    def report(loss: float | None, done: float | None) -> None:
        control.report(done=None if done is None else (number + done) / TURNS)

    seconds, uncounted = control.seconds, control.uncounted
    before = 0.0 if uncounted is None else uncounted()
    return Control(
        None if seconds is None else seconds / TURNS,
        report,
        control,
        None if uncounted is None else lambda: uncounted() - before,
    )


def _choose(table: EncodedTable, requirement: Requirement, gone: Flags, gains: Floats, most: int) -> Flags | None:
    """Which rows to leave out, those first that are left out already; None where no choice is allowed that saves.

    `gains` are what leaving out each row would save, beside what it loses by that.
    """
    order = np.argsort(-np.where(gone, np.inf, gains), kind="stable")[: TRIED * most]
    strata = [stratum for each in zip(requirement.attributes, table.codes, strict=True) for stratum in _strata(*each)]
    gainful = int((gone | (gains > 0)).sum())
    best, saved = None, 0.0
    for size in {min(max(size, requirement.k), most) for size in (gainful, most, most // 2)}:
        for slack in SLACKS:  # rows that save nothing may be needed beside those that do, for their values
            taken = _taken(order, strata, size, slack)
            left = np.zeros(len(table), bool)
            left[taken] = True
            gain = float(gains[taken].sum())
            if gain > saved and may_be_left_out(requirement, table, left):
                best, saved = left, gain
    return best


def _isolated(table: EncodedTable, labels: Integers, k: int) -> Floats:
    """What each row would save by being left out, judged by how far it is from others: those near it are left alone.

    On each axis the narrowest span of k rows around a row is what these lose at least if they are one class there.
    """
    n = len(table)
    width, total = min(k, n), np.zeros(n)
    for axis, places in zip(table.axes, table.places, strict=True):
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        cost = axis.cost(ordered[: n - width + 1], ordered[width - 1 :])  # of width rows from each one on
        least = np.full(n, np.inf)
        for back in range(width):  # the span that begins so many rows before
            inside = slice(back, back + len(cost))
            least[inside] = np.minimum(least[inside], cost)
        total[order] += axis.weight * np.minimum(least, 1.0)
    gains: Floats = k * total - 1
    return gains


def _peeled(table: EncodedTable, labels: Integers, k: int) -> Floats:
    """What each row would save by being left out, judged by the others of its class; nothing for those left out.

    The rows of a class are peeled off one by one, each time the one without which the others lose least. What the first
    few save together is shared out among them.
    """
    gains = np.zeros(len(table))
    rows = np.flatnonzero(labels >= 0)
    own, table = labels[rows].copy(), table.take(rows)
    n_classes = int(own.max(initial=-1)) + 1
    sizes = np.bincount(own, minlength=n_classes)
    before = _class_losses(table, own, n_classes) * sizes
    typical = float(before.sum() / max(len(rows), 1))
    peeled: list[Integers] = []  # of each class, the row that goes first, second, ...
    saved = []
    alive = np.ones(len(rows), bool)
    for number in range(1, PEELED + 1):
        without = _losses_without(table, own, alive, n_classes)
        row = _least_of_class(without, own, alive, n_classes)
        found = row >= 0
        rest = np.where(found, without[np.maximum(row, 0)], 0.0)
        rest = np.where(sizes - number < k, np.maximum(rest, typical), rest)  # they have to join others
        gain = np.where(found, before - rest * (sizes - number) - number, -np.inf)
        peeled.append(row)
        saved.append(gain / number)
        alive[row[found]] = False
    best = np.argmax(np.stack(saved), axis=0)
    for number, row in enumerate(peeled):
        chosen = np.flatnonzero((number <= best) & (row >= 0))
        gains[rows[row[chosen]]] = np.stack(saved)[best[chosen], chosen]
    return gains


def _class_losses(table: EncodedTable, labels: Integers, n_classes: int) -> Floats:
    """What a row of each class loses."""
    cost = np.zeros(n_classes)
    for axis, span in zip(table.axes, table.spans(labels, n_classes), strict=True):
        cost += axis.weight * axis.cost(*span)
    return cost


def _losses_without(table: EncodedTable, labels: Integers, alive: Flags, n_classes: int) -> Floats:
    """What the other rows of its class would lose, each, without this one; infinite for the last one and those gone."""
    total = np.zeros(len(table))
    rows = np.flatnonzero(alive)
    sizes = np.bincount(labels[rows], minlength=n_classes)
    for axis, places in zip(table.axes, table.places, strict=True):
        order = rows[np.lexsort((places[rows], labels[rows]))]
        first = np.cumsum(sizes) - sizes
        ends = [np.minimum(first + step, len(order) - 1) for step in (0, 1)]
        lasts = [np.maximum(first + sizes - 1 - step, 0) for step in (0, 1)]
        low, second = (places[order[each]] for each in ends)
        high, before_last = (places[order[each]] for each in lasts)
        is_low = np.zeros(len(table), bool)
        is_high = np.zeros(len(table), bool)
        present = sizes > 0
        is_low[order[ends[0][present]]], is_high[order[lasts[0][present]]] = True, True
        left = np.where(is_low, second[labels], low[labels]).astype(np.int32)
        right = np.where(is_high, before_last[labels], high[labels]).astype(np.int32)
        single = sizes[labels] < 2
        left[single] = right[single] = 0
        total += axis.weight * axis.cost(left, right)
    total[~alive | (sizes[labels] < 2)] = np.inf
    return total


def _least_of_class(values: Floats, labels: Integers, alive: Flags, n_classes: int) -> Integers:
    """The row of the least value in each class, -1 where there is none."""
    found = np.full(n_classes, -1, np.int64)
    rows = np.flatnonzero(alive & np.isfinite(values))
    order = rows[np.lexsort((values[rows], labels[rows]))]
    first = np.flatnonzero(np.diff(labels[order], prepend=-1))
    found[labels[order[first]]] = order[first]
    return found


@dataclass(frozen=True, eq=False)
class _Stratum:
    """A way to sort all rows, of which those left out should have no more of any sort than the table: by value, say."""

    of_row: Integers

    @cached_property
    def shares(self) -> Floats:
        """How many of all rows each has."""
        counts = np.bincount(self.of_row)
        return np.asarray(counts / counts.sum())


def _strata(attribute: Attribute, codes: NDArray[np.int32]) -> Iterator[_Stratum]:
    """By value; on an ordered domain also by groups of neighbours, in a hierarchy also by its inner nodes."""
    if attribute.t is None and not attribute.asks_beyond_t:
        return
    yield _Stratum(codes.astype(np.int64))
    form = attribute.domain.form
    if isinstance(form, Line):
        below = np.cumsum(attribute.reference) - attribute.reference / 2
        for groups in GROUPS:
            yield _Stratum((below / max(attribute.reference.sum(), 1) * groups).astype(np.int64)[codes])
    elif isinstance(form, Tree):
        for level in range(form.paths.shape[1]):
            yield _Stratum(np.maximum(form.paths[codes, level], 0).astype(np.int64))


def _taken(candidates: Integers, strata: Sequence[_Stratum], size: int, slack: float) -> Integers:
    """That many candidates, in their order as long as no stratum has more than its share of them and the slack."""
    room = [np.floor((stratum.shares + slack) * size + 0.5).astype(np.int64).tolist() for stratum in strata]
    sorts = [stratum.of_row[candidates].tolist() for stratum in strata]
    taken: list[int] = []
    for place, row in enumerate(candidates.tolist()):
        if len(taken) == size:
            break
        if all(left[own[place]] > 0 for left, own in zip(room, sorts, strict=True)):
            taken.append(row)
            for left, own in zip(room, sorts, strict=True):
                left[own[place]] -= 1
    return np.array(taken, np.int64)


def _keeps_domain(attribute: Attribute, codes: NDArray[np.int32], left: Flags) -> bool:
    """Whether the domain is the same without these rows: of numbers the ends matter, of all else every value."""
    counts = np.bincount(codes[~left], minlength=attribute.domain.size)
    used = np.flatnonzero(np.bincount(codes, minlength=attribute.domain.size))
    form = attribute.domain.form
    if isinstance(form, Line) and (np.diff(form.positions) != 1).any():
        used = used[[0, -1]]
    return bool((counts[used] > 0).all())
