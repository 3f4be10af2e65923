"""What keeps classes from being cut in two: k, the demands on one attribute alone, or several together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Attribute, Requirement, is_diverse
from tclose.distances import Transport
from tclose.table.class_distances import class_distances
from tclose.table.classes import Tally
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
MOST_ROWS, MOST_CLASSES = 20_000, 500  # looked at; few enough for a moment's work
MOST_SOLVED = 20  # classes, where distances are transport problems


@dataclass(frozen=True)
class HeldClasses:
    """What keeps classes from being cut in two, as shares of the rows looked at.

    A class is cut along each quasi-identifier next to its median. A demand holds the class if every cut breaks it:
    alone it would keep the class whole. Several may hold one class.

    Attributes
    ----------
    rows, classes
        How many were looked at: some of the classes, drawn at random, and the smallest.
    k
        The share that k holds.
    attributes
        By sensitive attribute and joint, the share that its t, l and caps hold.
    together
        Held by none alone, but each cut breaks something.
    free
        Some cut breaks nothing: the method found nothing better by it.
    alike
        All rows of the class are alike, and there is nothing to cut.
    smallest
        What holds the smallest class: names of attributes, None for k.
    """

    rows: int
    classes: int
    k: float
    attributes: dict[str, float]
    together: float
    free: float
    alike: float
    smallest: tuple[str | None, ...]


def held_classes(table: EncodedTable, requirement: Requirement, labels: Integers) -> HeldClasses:
    """Cut classes along each axis, and see which demands forbid it; t, l and caps are decided exactly.

    Parameters
    ----------
    table, requirement
        The rows, and what is asked of classes.
    labels
        The class of each row: 0, 1, 2, ...
    """
    asked = [
        (attribute, codes)
        for attribute, codes in zip(requirement.attributes, table.codes, strict=True)
        if attribute.t is not None or attribute.asks_beyond_t
    ]
    chosen, smallest = _some_classes(np.bincount(labels), asked)
    rows = np.flatnonzero(chosen[labels])
    own = (np.cumsum(chosen) - 1)[labels[rows]]
    n_classes, n_demands = int(chosen.sum()), 1 + len(asked)
    held = np.ones((n_demands, n_classes), bool)
    free, alike = np.zeros(n_classes, bool), np.ones(n_classes, bool)
    for places in table.places:
        order, halves, cut = _halves(own, places[rows])
        if not cut.any():
            continue
        alike &= ~cut
        broken = np.zeros((n_demands, n_classes), bool)
        broken[0] = _in_either(halves, np.bincount(halves) < requirement.k, cut)
        for place, (attribute, codes) in enumerate(asked, 1):
            broken[place] = _in_either(halves, _breaks(attribute, halves, codes[rows[order]]), cut)
        held &= broken | ~cut
        free |= cut & ~broken.any(axis=0)
    held &= ~alike
    weight = np.bincount(own) / len(rows)
    shares = [float(weight[each].sum()) for each in held]
    names = [attribute.domain.column for attribute, _ in asked]
    place = int(np.count_nonzero(chosen[:smallest]))
    return HeldClasses(
        len(rows),
        n_classes,
        shares[0],
        dict(zip(names, shares[1:], strict=True)),
        float(weight[~held.any(axis=0) & ~free & ~alike].sum()),
        float(weight[free].sum()),
        float(weight[alike].sum()),
        tuple(name for name, holds in zip([None, *names], held[:, place], strict=True) if holds),
    )


def _some_classes(sizes: Integers, asked: list[tuple[Attribute, NDArray[np.int32]]]) -> tuple[Flags, int]:
    """Which classes are looked at, and which is the smallest: that one, then others at random while they are few."""
    solved = any(isinstance(attribute.domain.form, Transport) for attribute, _ in asked)
    smallest = int(sizes.argmin())
    order = np.random.default_rng(0).permutation(len(sizes))
    order = np.concatenate([[smallest], order[order != smallest]])[: MOST_SOLVED if solved else MOST_CLASSES]
    few = np.cumsum(sizes[order]) <= MOST_ROWS
    few[0] = True
    chosen = np.zeros(len(sizes), bool)
    chosen[order[few]] = True
    return chosen, smallest


def _halves(own: Integers, places: NDArray[np.int32]) -> tuple[Integers, Integers, Flags]:
    """The rows by class and place, their half (2 c or 2 c + 1 of class c), and which classes are cut.

    Rows at one place stay together: the cut is next to the place of the median, on the side that is nearer to it.
    """
    order = np.lexsort((places, own))
    own, places = own[order], places[order]
    start = np.flatnonzero(np.diff(own, prepend=-1))
    end = np.append(start[1:], len(own))
    begins = np.flatnonzero((np.diff(own, prepend=-1) != 0) | (np.diff(places, prepend=-1) != 0))
    median = (start + end) // 2
    at = np.searchsorted(begins, median, "right") - 1
    low, high = begins[at], np.append(begins, len(own))[at + 1]
    take_low = (low > start) & ((high >= end) | (median - low <= high - median))
    cut_at = np.where(take_low, low, np.minimum(high, end))
    cut = (cut_at > start) & (cut_at < end)
    half = 2 * own + (np.arange(len(own)) >= cut_at[own])
    return order, half, cut


def _in_either(halves: Integers, broken: Flags, cut: Flags) -> Flags:
    """Which of the classes that are cut have a half that breaks a demand."""
    found = np.zeros(2 * len(cut), bool)
    found[: len(broken)] = broken
    return found.reshape(-1, 2).any(axis=1) & cut


def _breaks(attribute: Attribute, halves: Integers, codes: NDArray[np.int32]) -> Flags:
    """Which halves break t, l or a cap; halves without rows break nothing."""
    present, dense = np.unique(halves, return_inverse=True)
    tally = Tally.of(dense.astype(np.int64), codes, attribute.domain.size)
    against = Tally(tally.code, tally.count, tally.start, tally.sizes, attribute.reference)
    broken = np.zeros(int(present[-1]) + 1, bool)
    if attribute.t is not None:
        distances = class_distances(attribute.domain.form, against)
        far = distances.floats > float(attribute.t)
        for place in np.flatnonzero(np.abs(distances.floats - float(attribute.t)) < 1e-9).tolist():
            far[place] = distances.exact(place) > attribute.t
        broken[present] = far
    if attribute.limits is not None:
        code, count = tally.code.astype(np.int64), tally.count.astype(np.int64)
        broken[present] |= attribute.limits.broken(tally.owner, code, count, tally.sizes)
    if attribute.person_limits is not None:
        broken[present] |= attribute.person_limits.broken(tally.owner, tally.code, tally.count, tally.sizes)
    if attribute.l is not None:
        ends = np.append(tally.start[1:], len(tally.code))
        for each, first, last in zip(present.tolist(), tally.start.tolist(), ends.tolist(), strict=True):
            broken[each] |= not is_diverse(tally.count[first:last].astype(np.int64), attribute.l)
    return broken
