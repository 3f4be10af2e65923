"""Sensitive values for a report: frequent ones by name, the others together, measured ones by groups or by tenths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.schema.columns import Sensitive
from tclose.schema.schema import Schema
from tclose.table.reading import texts as texts_of
from tclose.verification.measure_release import Measured
from tclose.verification.sensitive_domains import PlacedValues

WORST = 3
MOST_NAMES = 12
FEW = 10  # a value of fewer rows, or of fewer than k, is not named
TENTHS = (
    "lowest tenth", "2nd tenth", "3rd tenth", *(f"{number}th tenth" for number in range(4, 10)), "highest tenth",
)  # fmt: skip
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Distribution:
    """A sensitive attribute in the whole table and in the classes farthest from it.

    Attributes
    ----------
    column
        Its name.
    names, whole
        Groups of values, and their shares of the table.
    classes
        Rows and distance of each class, and the shares of its rows; the farthest first.
    note
        What the names stand for.
    """

    column: str
    names: tuple[str, ...]
    whole: tuple[float, ...]
    classes: tuple[tuple[int, float, tuple[float, ...]], ...]
    note: str


def distributions(schema: Schema, measured: Measured) -> Iterator[Distribution]:
    """One for each sensitive attribute, from the released values."""
    labels, sizes = measured.grouping.labels, measured.grouping.sizes
    for sensitive in schema.sensitive:
        placed = measured.placed(sensitive.column)
        groups, names, note = group_values(schema, measured, sensitive, placed)
        distances = measured.distances_of(placed).floats
        farthest = np.lexsort((sizes, -distances))[:WORST].tolist()
        in_classes = (
            (int(sizes[each]), float(distances[each]), shares_of(groups[labels == each], len(names)))
            for each in farthest
        )
        yield Distribution(sensitive.column, names, shares_of(groups, len(names)), tuple(in_classes), note)


def group_values(
    schema: Schema, measured: Measured, sensitive: Sensitive, placed: PlacedValues
) -> tuple[Integers, tuple[str, ...], str]:
    """The group of each row's value, the names of the groups, and what they stand for.

    A column of numbers or dates is shown by tenths of the table, or by its own groups where there are few: bins that
    the promise is on, or values. Rows without a value are a group of their own.
    """
    codes = placed.codes
    by_name = not sensitive.is_measured and len(np.unique(codes)) <= MOST_NAMES
    if by_name or sensitive.distance not in ("ordered", "numeric"):
        return _by_name(measured.column(sensitive.column), sensitive, codes, max(schema.k, FEW))
    is_missing = codes == placed.ground.size - 1 if placed.n_missing else np.zeros(len(codes), bool)
    filled = codes[~is_missing]
    n_values = len(np.unique(filled))
    some, names = in_order(filled) if n_values <= len(TENTHS) else by_tenths(filled)
    manner = f"in {n_values} groups" if n_values <= len(TENTHS) else "in tenths of the table"
    groups = np.full(len(codes), len(names), np.int64)
    groups[~is_missing] = some
    note = f"The values of '{sensitive.column}' {manner}, from the lowest to the highest."
    return groups, (*names, "missing") if placed.n_missing else names, note


def in_order(codes: NDArray[np.int32]) -> tuple[Integers, tuple[str, ...]]:
    """Each of a few values as a group of its own, named by its place in the order.

    Examples
    --------
    >>> groups, names = in_order(np.array([7, 2, 2, 4], np.int32))
    >>> groups.tolist(), names
    ([2, 0, 0, 1], ('lowest group', '2nd group', 'highest group'))
    """
    present, groups = np.unique(codes, return_inverse=True)
    last = len(present) - 1
    ends = {0: "lowest group", last: "highest group"} if last > 0 else {0: "all values"}
    ordinals = {1: "2nd group", 2: "3rd group"}
    names = (ends.get(place) or ordinals.get(place) or f"{place + 1}th group" for place in range(last + 1))
    return groups.astype(np.int64), tuple(names)


def by_tenths(codes: NDArray[np.int32]) -> tuple[Integers, tuple[str, ...]]:
    """The group of each row along an order, and their names; values that fill several tenths are in the middle one.

    Examples
    --------
    >>> groups, names = by_tenths(np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 8], np.int32))
    >>> groups.tolist(), names[:2]
    ([0, 0, 1, 2, 3, 4, 5, 6, 7, 8], ('2nd tenth', '3rd tenth'))
    """
    counts = np.bincount(codes)
    middle = np.cumsum(counts) - counts / 2
    tenth = np.minimum((middle * 10 / len(codes)).astype(np.int64), 9)[codes]
    present, groups = np.unique(tenth, return_inverse=True)
    return groups.astype(np.int64), tuple(TENTHS[each] for each in present.tolist())


def _by_name(
    column: pl.Series, sensitive: Sensitive, codes: NDArray[np.int32], least: int
) -> tuple[Integers, tuple[str, ...], str]:
    """Values that enough rows have, in their order or the most frequent first; all others together."""
    present, first, counts = np.unique(codes, return_index=True, return_counts=True)
    texts = ["missing" if text is None else str(text) for text in texts_of(column.gather(first)).to_list()]
    order = list(range(len(present)))
    if sensitive.distance != "ordered":
        order.sort(key=lambda place: (-counts[place], texts[place]))
    chosen = [place for place in order if counts[place] >= least][:MOST_NAMES]
    names = [texts[place] for place in chosen]
    group_of = np.full(int(present.max()) + 1, len(chosen), np.int64)
    group_of[present[chosen]] = np.arange(len(chosen))
    others = len(present) - len(chosen)
    if others:
        names.append(f"other values ({others})")
    note = (
        f"Values of '{sensitive.column}' that fewer than {least} rows of the table have, or that are not among the "
        f"{MOST_NAMES} most frequent, are together."
        if others
        else ""
    )
    return group_of[codes], tuple(names), note


def shares_of(groups: Integers, n: int) -> tuple[float, ...]:
    """The share of each of n groups."""
    return tuple(float(share) for share in np.bincount(groups, minlength=n) / len(groups))
