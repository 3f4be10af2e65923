"""What a stream is about to release, judged before anyone sees it, by the verifier and not by what methods go by.

Classes are measured when they are formed, against their window, which is all at hand only then. What is released of
them, at once or later, is compared with the rows that went in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import VerificationError
from tclose.schema.schema import Schema
from tclose.stream.items import ExactDistances, Released
from tclose.stream.window_measure import measure_window
from tclose.table.source import Source
from tclose.verification.released_classes import ClassCounts, Grouping, count_values
from tclose.verification.sensitive_domains import place_values
from tclose.verification.truth import truth_problems

Integers = NDArray[np.int64]
NEAR = 1e-8  # logarithms may differ in the last bits
NOTHING = "so nothing is released. Please report this."


def check_formed(
    window: pl.DataFrame, labels: Integers, distances: Mapping[str, ExactDistances], schema: Schema
) -> None:
    """Classes of a window keep what is asked of it, and are as far from it as methods say.

    Parameters
    ----------
    window
        The sensitive columns of its rows, as they stand.
    labels
        The class of each row, from 0 up; -1 where it is in none.
    distances
        How far the classes are by what methods go by, of each attribute and joint with a t.
    schema
        What is asked.

    Raises
    ------
    VerificationError
        Something is broken, or both disagree; the message names the attribute.
    """
    rows = np.flatnonzero(labels >= 0)
    found = measure_window(window, rows, labels[rows], schema, told=False)
    asked = {each.column: each.t for each in schema.sensitive} | {each.name: each.t for each in schema.joint}
    for name, each in found.distances.items():
        t, told = asked[name], distances.get(name)
        if told is None or any(told.exact(place) != distance for place, distance in enumerate(each)):
            raise VerificationError(
                f"'{name}': classes are at other distances from their window by what methods go by than by the "
                f"verifier. One of them is wrong, {NOTHING}"
            )
        if t is not None and max(each, default=0) > t:
            raise VerificationError(f"'{name}': a class is farther than t from its window, {NOTHING}")
    for name, broken in (*found.not_diverse.items(), *found.above_caps.items()):
        if broken:
            raise VerificationError(f"'{name}': a class does not keep {' and '.join(broken)}, {NOTHING}")


def check_kept_back(labels: Integers, formed: Integers) -> None:
    """Classes that are released later have the rows they were formed of, all of them: so what was measured holds.

    Parameters
    ----------
    labels
        The class of each of the first rows at hand that is about to be released; -1 elsewhere.
    formed
        The class of each row at hand when classes were measured; -1 where it is in none.

    Raises
    ------
    VerificationError
        A row has joined or left one of them.

    Examples
    --------
    >>> check_kept_back(np.array([0, 0, -1]), np.array([0, 0, 1]))
    >>> check_kept_back(np.array([0, -1, -1]), np.array([0, 0, 1]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tclose.errors.VerificationError: A class that was kept back has other rows than when it was measured, so ...
    """
    now = np.full(len(formed), -1)
    now[: len(labels)] = labels
    rows = now >= 0
    if (now[rows] != formed[rows]).any() or np.isin(formed[~rows], now[rows]).any():
        raise VerificationError(f"A class that was kept back has other rows than when it was measured, {NOTHING}")


def check_shown(released: Released, original: pl.DataFrame, schema: Schema) -> None:
    """What is released is true of the rows that it was made of, in classes of k that are as diverse as is told.

    Parameters
    ----------
    released
        What is about to be released.
    original
        The rows that it was made of, in the same order.
    schema
        What is asked.

    Raises
    ------
    VerificationError
        It is not so.
    """
    labels, sizes = np.unique(released.classes, return_inverse=True, return_counts=True)[1:]
    groups = Grouping(labels.astype(np.int64), sizes.astype(np.int64))
    if sizes.min() < schema.k:
        raise VerificationError(f"A class has {sizes.min()} rows, and k is {schema.k}, {NOTHING}")
    if (np.diff(released.classes) < 0).any():
        raise VerificationError(f"The rows of a class do not stand together, {NOTHING}")
    inside = pl.Series(np.diff(labels) == 0)
    for name in schema.released_quasi:
        cells = released.frame[name]
        if (cells[1:].ne_missing(cells[:-1]) & inside).any():
            raise VerificationError(f"The rows of a class do not agree on '{name}', {NOTHING}")
    problems = truth_problems(Source.of(original), Source.of(released.frame), schema, groups=groups)
    if problems:
        raise VerificationError(" ".join(["What would be released is not true of the input.", *problems]))
    for sensitive in schema.sensitive:
        if sensitive.bins is None or released.is_whole_window:  # else certificates do not tell it
            told: Any = released.diversity.get(sensitive.column)
            placed = place_values(released.frame[sensitive.column], sensitive, schema)
            blocks = count_values(groups, placed.codes, placed.ground.size)
            if told is None or not all(_is_as_diverse(told, block) for block in blocks):
                raise VerificationError(
                    f"'{sensitive.column}': a certificate would not say how diverse its class is, {NOTHING}"
                )


def _is_as_diverse(told: Any, block: ClassCounts) -> bool:
    """Whether classes are as diverse as is told: arrays of distinct values, e to the entropy, and frequency."""
    here = slice(block.first, block.first + len(block.sizes))
    owners = np.repeat(np.arange(len(block.sizes)), block.kinds)
    falling = block.counts[np.lexsort((-block.counts, owners))]
    most = falling[block.starts]
    logs = np.bincount(owners, block.counts * np.log(block.counts), len(block.sizes))
    entropy = np.exp(np.maximum(np.log(block.sizes) - logs / block.sizes, 0.0))
    same = [
        np.array_equal(told.distinct[here], block.kinds),
        np.allclose(told.entropy[here], entropy, rtol=NEAR, atol=NEAR),
        np.allclose(told.frequency[here], block.sizes / most, rtol=NEAR, atol=NEAR),
    ]
    if told.recursive is not None:
        first, above = told.recursive
        rank = np.arange(len(falling)) - np.repeat(block.starts, block.kinds)
        tails = np.bincount(owners, np.where(rank >= first - 1, falling, 0), len(block.sizes))
        expected = np.where(tails > 0, most / np.maximum(tails, 1), np.nan)
        same.append(np.allclose(above[here], expected, rtol=NEAR, atol=NEAR, equal_nan=True))
    return all(same)
