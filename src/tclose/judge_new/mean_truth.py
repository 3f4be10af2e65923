"""Means of classes, recomputed from the originals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.judge_new.covering import HIDDEN, Originals, limits_of
from tclose.judge_new.distinct_values import Factored
from tclose.judge_new.exact_numbers import Integers, Scaled, aligned, read_numbers, scaled_fractions
from tclose.judge_new.released_classes import group_rows
from tclose.schema.columns import Quasi
from tclose.schema.schema import Schema
from tclose.table.source import Source

EXTRA_PLACES = 2


def wrong_means(
    release: Source,
    schema: Schema,
    quasi: Quasi,
    released: Factored,
    names: list[str],
    values: Factored,
    originals: Originals,
) -> NDArray[np.int64]:
    """The rows whose released mean is not that of the originals of their class, or that should have none.

    Originals beyond bottom and top count as bottom and top. A mean is published with two decimals more
    than the numbers have, so it may be off by half of the last one, and by what a double cannot hold.
    """
    groups = group_rows(release, schema.released_quasi)
    hidden = np.array([*(name == HIDDEN for name in names), False], bool)[released.codes]
    no_value = np.append(originals.missing, True)[values.codes]
    unread = ~np.append(originals.readable, True)[values.codes] & ~no_value
    empty = released.codes == -1
    wrong = ~hidden & ((empty != no_value) | unread)
    counted = ~(hidden | empty | no_value | unread)

    means, known = read_numbers(names)
    points, means = aligned(_clamped(originals, quasi), means)
    wide = points.integers.dtype == object or means.integers.dtype == object
    largest = max((abs(int(number)) for each in (points, means) for number in each.integers), default=0)
    kind = object if wide or largest * 10**EXTRA_PLACES * 4 * max(len(values.codes), 1) >= 2**62 else np.int64
    sums = np.zeros(len(groups.sizes), kind)
    rows = np.flatnonzero(counted)
    labels = groups.labels[rows]
    np.add.at(sums, labels, points.integers.astype(kind)[values.codes[rows]])
    counts = np.bincount(labels, minlength=len(groups.sizes)).astype(kind)
    first = np.zeros(len(groups.sizes), np.int64)
    first[labels] = released.codes[rows]
    off = _is_off(sums, counts, means.integers.astype(kind)[first], points.places, originals.points.places)
    off |= ~known[first]
    wrong[rows] |= off[labels]
    return np.flatnonzero(wrong)


def _clamped(originals: Originals, quasi: Quasi) -> Scaled:
    """The numbers of the originals, those beyond bottom and top as these."""
    points = originals.points
    for limit, bound in zip(limits_of(quasi), (np.maximum, np.minimum), strict=True):
        if limit is not None:
            points, scaled = aligned(points, scaled_fractions([limit]))
            points = Scaled(bound(points.integers, scaled.integers[0]), points.places)
    return points


def _is_off(sums: Integers, counts: Integers, means: Integers, places: int, own: int) -> NDArray[np.bool_]:
    """Whether |sum / count - mean| is above half a unit of the last published place.

    Let u be that unit in units of all these integers, 10^(places - own - 2), or a part of one. Then the test
    is 2 |sum - mean count| > u count, with the denominator of u multiplied out.
    """
    finer, coarser = 10 ** max(own + EXTRA_PLACES - places, 0), 10 ** max(places - own - EXTRA_PLACES, 0)
    beyond = 2 * finer * abs(sums - means * counts)
    doubles = 2 * finer * (abs(means) * counts // 2**52)
    return np.asarray(beyond > coarser * counts + doubles, bool)
