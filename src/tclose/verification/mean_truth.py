"""Means of classes, recomputed from the originals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.schema.columns import Quasi
from tclose.verification.covering import HIDDEN, Originals, limits_of
from tclose.verification.distinct_values import FactoredColumn
from tclose.verification.exact_numbers import ExactIntegers, ScaledDecimals, aligned, read_numbers, scaled_fractions
from tclose.verification.released_classes import Grouping
from tclose.verification.released_forms import ReleasedForm

EXTRA_PLACES = 2


def wrong_means(
    groups: Grouping,
    quasi: Quasi,
    released: FactoredColumn,
    names: list[str],
    values: FactoredColumn,
    originals: Originals,
    form: ReleasedForm,
) -> NDArray[np.int64]:
    """The rows whose released mean is not that of the originals of their class, or that should have none.

    Originals beyond bottom and top count as bottom and top. A mean is published with two decimals more
    than the numbers of its class have, so it may be off by half of the last one, and by what a double cannot hold.
    """
    hidden = np.array([*(name == HIDDEN for name in names), False], bool)[released.codes]
    no_value = np.append(originals.missing, True)[values.codes]
    unread = ~np.append(originals.readable, True)[values.codes] & ~no_value
    empty = released.codes == -1
    wrong = ~hidden & ((empty != no_value) | unread)
    rows = np.flatnonzero(~(hidden | empty | no_value | unread))
    if len(rows):
        labels = groups.labels[rows]
        mean_of = np.zeros(len(groups.sizes), np.int64)
        mean_of[labels] = released.codes[rows]
        numbers, numbers_at = _clamped(originals, quasi), values.codes[rows]
        off = _are_off(names, mean_of, numbers, numbers_at, labels, form)
        wrong[rows] |= off[labels]
    return np.flatnonzero(wrong)


def own_places(numbers: ScaledDecimals) -> NDArray[np.int64]:
    """The decimal places that each number needs.

    Examples
    --------
    >>> own_places(ScaledDecimals(np.array([150, 0, 7]), 2)).tolist()
    [1, 0, 2]
    """
    found = np.zeros(len(numbers.integers), np.int64)
    if not numbers.places:
        return found
    for place, integer in enumerate(numbers.integers.tolist()):
        digits = str(abs(integer))
        zeros = len(digits) - len(digits.rstrip("0"))
        found[place] = max(numbers.places - zeros, 0) if integer else 0
    return found


def _clamped(originals: Originals, quasi: Quasi) -> ScaledDecimals:
    """The numbers of the originals, those beyond bottom and top as these."""
    points = originals.points
    for limit, bound in zip(limits_of(quasi), (np.maximum, np.minimum), strict=True):
        if limit is not None:
            points, scaled = aligned(points, scaled_fractions([limit]))
            points = ScaledDecimals(bound(points.integers, scaled.integers[0]), points.places)
    return points


def _are_off(
    names: list[str],
    mean_of: NDArray[np.int64],
    numbers: ScaledDecimals,
    numbers_at: NDArray[np.int32],
    labels: NDArray[np.int64],
    form: ReleasedForm,
) -> NDArray[np.bool_]:
    """For each class, whether |sum / count - mean| is above half a unit of the last published place.

    Let all be integers over 10^p, and the unit of the last published place 10^(p - own - 2) of them, where own is
    what the numbers of the class need, or a part of one. Then the test is 2 |sum - mean count| > unit count, with
    the denominator of the unit multiplied out.
    """
    own = np.zeros(len(mean_of), np.int64)
    np.maximum.at(own, labels, own_places(numbers)[numbers_at])
    means, known = read_numbers(names, form.mark, form.thousands)
    numbers, means = aligned(numbers, means)
    behind = own + EXTRA_PLACES - numbers.places  # places of the unit beyond those of the integers
    most = int(abs(behind).max(initial=0))
    largest = max(int(abs(each.integers).max(initial=0)) for each in (numbers, means))
    wide = object in (numbers.integers.dtype, means.integers.dtype)
    kind = object if wide or max(4 * largest, 1) * 10**most * len(labels) >= 2**62 else np.int64
    powers = np.array([10**power for power in range(most + 1)], kind)
    finer, coarser = powers[np.maximum(behind, 0)], powers[np.maximum(-behind, 0)]
    sums: ExactIntegers = np.zeros(len(mean_of), kind)
    np.add.at(sums, labels, numbers.integers.astype(kind)[numbers_at])
    counts = np.bincount(labels, minlength=len(mean_of)).astype(kind)
    shown = means.integers.astype(kind)[mean_of]
    doubles = np.array([_is_double(name, form) for name in names], bool)[mean_of]
    rounding = finer * 2 * (abs(shown) * counts // 2**52) * doubles
    beyond = finer * 2 * abs(sums - shown * counts)
    return np.asarray(beyond > coarser * counts + rounding, bool) | ~known[mean_of]


def _is_double(name: str, form: ReleasedForm) -> bool:
    """Whether a text is what a double prints as, and so may stand for a mean that no double holds."""
    number = form.number(name)
    try:
        return number is not None and Fraction(repr(float(number))) == number
    except (ValueError, OverflowError):
        return False
