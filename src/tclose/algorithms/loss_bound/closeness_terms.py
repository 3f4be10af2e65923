"""What closeness asks of a class, in whole numbers for loops; and the fewest rows that a close class can have."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Attribute, Requirement
from tclose.distances import Transport, Tree
from tclose.distances.line import Line
from tclose.distances.transport_form import ground_distances

Integers = NDArray[np.int64]
DISTANCE_BITS = 20  # ground distances are rounded downwards to so many
T_BITS = 20  # and t upwards
MOST_VALUES = 512  # of an attribute; more are joined
MOST_ROWS = 512  # sizes of classes that are tried


class CloseTerms(NamedTuple):
    """All attributes side by side, for loops.

    Attributes
    ----------
    attributes
        One row an attribute: the number of its values; where these begin in `values`; the rows of the reference; where
        its ground distances begin; t in parts of 2^-20, rounded upwards; the fewest rows of a class; whether its values
        are all as far from each other (1), lie on a line in their order (2), or neither (0).
    values
        One row a value: how often it occurs in the reference, and the first of its rows that exceeds its share, if a
        class has the fewest rows.
    grounds
        The ground distances of all pairs of values of an attribute, in parts of 2^-20, rounded downwards.
    """

    attributes: Integers
    values: Integers
    grounds: Integers

    @property
    def smallest(self) -> int:
        """The fewest rows of a class."""
        return int(self.attributes[0, 5])


@dataclass(frozen=True, eq=False)
class JoinedValues:
    """An attribute with few values: those of the domain that occur, joined where they are many.

    Attributes
    ----------
    group
        The group of each code of the domain; 0 for codes that do not occur.
    reference
        How often each group occurs in the reference.
    grounds, denominator
        The ground distance of each group from each other: integers, and what to divide them by.
    t
        Within what distance a close class is, in groups.
    shape
        1 if all groups are as far from each other, 2 if they lie on a line in their order, 0 if neither.
    """

    group: NDArray[np.int32]
    reference: Integers
    grounds: Integers
    denominator: int
    t: Fraction
    shape: int = 0


def joined_values(attribute: Attribute) -> JoinedValues | None:
    """The values of an attribute that occur, joined into few; None where they are too many and cannot be.

    Under the equal distance rare values are joined into one: that shrinks distances, so a class that is close stays so.
    On a line neighbours are, and each goes to the middle of its group: that moves no mass farther than some d, so that
    a class within t is within t + 2 d.
    """
    assert attribute.t is not None
    form, reference = attribute.domain.form, attribute.reference
    used = np.flatnonzero(reference)
    t = attribute.t
    heads = used
    is_star = isinstance(form, Tree) and form.paths.shape[1] == 1
    of_used = np.arange(len(used))
    if len(used) > MOST_VALUES:
        if is_star:
            often = np.argsort(-reference[used], kind="stable")
            of_used[often] = np.minimum(np.arange(len(used)), MOST_VALUES - 1)
            heads = used[often[:MOST_VALUES]]
        elif isinstance(form, Line):
            of_used, places = _stretches(form.positions[used], reference[used])
            heads = used[places]
            far = abs(form.positions[used] - form.positions[heads[of_used]]).max()
            t += Fraction(2 * int(far), form.span)
        else:
            return None
    group = np.zeros(len(reference), np.int32)
    group[used] = of_used
    counts = np.bincount(of_used, weights=reference[used], minlength=len(heads)).astype(np.int64)
    over, under = ground_distances(form, heads)
    shape = 1 if is_star else 2 if isinstance(form, Line) else 0
    return JoinedValues(group, counts, over, under, t, shape)


def _stretches(positions: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Neighbours on a line in groups of like many rows; the group of each, and a value in the middle of each group."""
    before = np.cumsum(counts) - counts
    rough = before * MOST_VALUES // int(counts.sum())
    group = np.cumsum(np.concatenate([[0], rough[1:] != rough[:-1]]))
    begins = np.searchsorted(group, np.arange(group[-1] + 1))
    ends = np.append(begins[1:], len(group)) - 1
    middles = (positions[begins] + positions[ends]) // 2
    places = [
        begin + int(np.argmin(abs(positions[begin : end + 1] - middle)))
        for begin, end, middle in zip(begins.tolist(), ends.tolist(), middles.tolist(), strict=True)
    ]
    return group, np.array(places, np.int64)


def close_terms(attributes: list[JoinedValues], n: int, smallest: int) -> CloseTerms:
    """The numbers of some attributes; without any, of one that has a single value, which is always close."""
    asked = attributes or [
        JoinedValues(np.zeros(1, np.int32), np.array([n]), np.zeros((1, 1), np.int64), 1, Fraction(0))
    ]
    rows: list[tuple[int, ...]] = []
    values: list[tuple[int, int]] = []
    grounds: list[int] = []
    for each in asked:
        total = int(each.reference.sum())
        t = ceil(min(each.t, Fraction(1)) * (1 << T_BITS))
        rows.append((len(each.reference), len(values), total, len(grounds), t, smallest, each.shape))
        values += [(count, smallest * count // total + 1) for count in each.reference.tolist()]
        grounds += [(way << DISTANCE_BITS) // each.denominator for way in each.grounds.ravel().tolist()]
    return CloseTerms(np.array(rows, np.int64), np.array(values, np.int64), np.array(grounds, np.int64))


def smallest_class(requirement: Requirement) -> int:
    """A number of rows that no class falls below: the first from k on that can be close to the reference.

    Sizes beyond `MOST_ROWS` are not tried: what is returned then is too low rather than too high.

    Examples
    --------
    >>> import tclose
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> frame, schema = tclose.datasets.census(300, seed=1)
    >>> smallest_class(Requirement.of(schema, encode(read(frame), schema))) >= schema.k
    True
    """
    least = max(requirement.k, *(_least_diverse(attribute) for attribute in requirement.attributes), 1)
    asked = [attribute for attribute in requirement.attributes if attribute.t is not None]
    size = least
    while size < max(MOST_ROWS, least) and not all(_can_be_close(attribute, size) for attribute in asked):
        size += 1
    return size


def _least_diverse(attribute: Attribute) -> int:
    """The rows without which a class is not as diverse as asked: a value has a row, and none more than its share."""
    asked = attribute.l
    if asked is None:
        return 1
    return max(
        asked.distinct or 1,
        ceil(asked.frequency) if asked.frequency is not None else 1,
        ceil(asked.entropy) if asked.entropy is not None else 1,
    )


def _can_be_close(attribute: Attribute, size: int) -> bool:
    """Whether whole rows, so many, can be within t of the reference; True where that is not known."""
    assert attribute.t is not None
    form, reference = attribute.domain.form, attribute.reference
    n = int(reference.sum())
    if isinstance(form, Transport):
        ways = form.costs[~np.eye(form.size, dtype=bool)]
        nearest = Fraction(int(ways.min()), form.denominator) if len(ways) else Fraction(0)
        return not nearest or _least_of_equal(reference, size) * nearest <= attribute.t
    if isinstance(form, Line):
        # The cumulative count of a class at each place is a whole number, and so differs from its share by so much.
        shares = np.cumsum(reference)[:-1] * size % n
        work = sum(
            gap * min(rest, n - rest)
            for gap, rest in zip(np.diff(form.positions).tolist(), shares.tolist(), strict=True)
        )
        return Fraction(work, n * size * form.span) <= attribute.t
    if form.paths.shape[1] == 1:
        return _least_of_equal(reference, size) <= attribute.t
    # The same for the rows below each node of a tree.
    below = np.zeros(len(form.parents), np.int64)
    for path, count in zip(form.paths.tolist(), reference.tolist(), strict=True):
        for node in path:
            if node > 0:
                below[node] += count
    rests = (below * size % n).tolist()
    work = sum(weight * min(rest, n - rest) for weight, rest in zip(form.weights.tolist(), rests, strict=True))
    return Fraction(work, n * size * form.denominator) <= attribute.t


def _least_of_equal(reference: Integers, size: int) -> Fraction:
    """The least equal distance of so many whole rows: floors of all shares, and the rest where most is lacking."""
    n = int(reference.sum())
    floors = reference * size // n
    lacking = reference * size - floors * n
    rest = size - int(floors.sum())
    filled = int(np.sort(lacking)[::-1][:rest].sum())
    return Fraction(n * rest - filled, n * size)
