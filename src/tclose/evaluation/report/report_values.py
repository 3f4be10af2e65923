"""Sensitive values for a report: frequent ones by name, the others together, measured ones by tenths of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.evaluation.utility.reading_back import ReadBack
from tclose.release.release import Release
from tclose.schema.columns import Sensitive

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


def distributions(release: Release, both: ReadBack) -> Iterator[Distribution]:
    """One for each sensitive attribute."""
    measured, labels, sizes = release.measured, release.measured.grouping.labels, release.measured.grouping.sizes
    for sensitive, codes in zip(release.schema.sensitive, both.codes, strict=True):
        least = max(release.schema.k, FEW)
        by_name = not sensitive.is_measured and len(np.unique(codes)) <= MOST_NAMES
        if by_name or sensitive.distance not in ("ordered", "numeric"):
            groups, names, note = _by_name(both, sensitive, codes, least)
        else:
            groups, names = by_tenths(codes)
            note = f"The values of '{sensitive.column}' in tenths of the table, from the lowest to the highest."
        distances = measured.distances(sensitive.column).floats
        farthest = np.lexsort((sizes, -distances))[:WORST]
        yield Distribution(
            sensitive.column,
            names,
            _shares(groups, len(names)),
            tuple(
                (
                    int(sizes[each]),
                    float(distances[each]),
                    _shares(groups[labels == each], len(names)),
                )
                for each in farthest.tolist()
            ),
            note,
        )


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
    both: ReadBack, sensitive: Sensitive, codes: NDArray[np.int32], least: int
) -> tuple[Integers, tuple[str, ...], str]:
    """Values that enough rows have, in their order or the most frequent first; all others together."""
    present, first, counts = np.unique(codes, return_index=True, return_counts=True)
    order = np.arange(len(present)) if sensitive.distance == "ordered" else np.argsort(-counts, kind="stable")
    chosen = [place for place in order.tolist() if counts[place] >= least][:MOST_NAMES]
    column = both.source.column(sensitive.column).cast(pl.String)
    texts = column.gather(first).to_list()
    names = ["missing" if texts[place] is None else str(texts[place]) for place in chosen]
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


def _shares(groups: Integers, n: int) -> tuple[float, ...]:
    return tuple(float(share) for share in np.bincount(groups, minlength=n) / len(groups))
