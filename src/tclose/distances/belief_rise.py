"""How far a belief can rise within t: what a threshold means for one value.

Someone who knows that a person is in a class believes that the person has a value v with the share of v in the class,
and without the release with its share in the table. The rise is the difference. A class whose share of v is x above
that of the table needs mass x moved to v from other values, of which u can give no more than its own share; taking it
from the nearest first is cheapest, and that class is at exactly this distance. So the largest x that t pays for is the
largest rise, and no class within t goes beyond it. All is decided in fractions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.distances.line import Line
from tclose.distances.transport_form import Transport
from tclose.distances.tree import Tree

RiseOffers = list[tuple[Fraction, Fraction]]


def largest_rise(form: Line | Tree | Transport, counts: Sequence[int], t: Fraction) -> Fraction:
    """The most that the share of any value in a class within `t` can be above its share in the table.

    Parameters
    ----------
    form
        The ground distance between values.
    counts
        The rows of each value in the table.
    t
        The largest distance of a class from the table.

    Examples
    --------
    >>> from tclose.distances import Equal, Ordered
    >>> largest_rise(Equal().form(3), [5, 3, 2], Fraction(1, 5))
    Fraction(1, 5)
    >>> largest_rise(Ordered().form(5), [2, 2, 2, 2, 2], Fraction(1, 5))
    Fraction(3, 5)
    """
    return max((_affordable(offers, t) for _, offers in _targets(form, counts)), default=Fraction(0))


def largest_t(form: Line | Tree | Transport, counts: Sequence[int], rise: Fraction) -> Fraction:
    """The largest t at which no value's share can rise by more than `rise`; 1 where none could anyway.

    Examples
    --------
    >>> from tclose.distances import Ordered
    >>> largest_t(Ordered().form(5), [2, 2, 2, 2, 2], Fraction(1, 5))
    Fraction(1, 20)
    """
    able = [offers for share, offers in _targets(form, counts) if 1 - share > rise]
    return min((_price(offers, rise) for offers in able), default=Fraction(1))


def _targets(form: Line | Tree | Transport, counts: Sequence[int]) -> Iterator[tuple[Fraction, RiseOffers]]:
    """For each value that occurs, its share, and what the others can give at what distance, nearest first."""
    total = sum(counts)
    occurring = [value for value, count in enumerate(counts) if count]
    if isinstance(form, Tree) and form.paths.shape[1] == 1:  # all values are at distance 1: the rarest can rise most
        occurring = sorted(occurring, key=lambda value: counts[value])[:1]
    for value in occurring:
        distances, denominator = _distances(form, value)
        given: dict[int, int] = {}
        for other, distance in enumerate(distances.tolist()):
            if other != value and counts[other]:
                given[distance] = given.get(distance, 0) + counts[other]
        offers = [(Fraction(far, denominator), Fraction(mass, total)) for far, mass in sorted(given.items())]
        yield Fraction(counts[value], total), offers


def _distances(form: Line | Tree | Transport, value: int) -> tuple[NDArray[np.int64], int]:
    """The ground distance of a value from each, times a denominator."""
    if isinstance(form, Line):
        return np.abs(form.positions - form.positions[value]), form.span
    if isinstance(form, Transport):
        return np.asarray(form.costs[value], np.int64), form.denominator
    # Up to the lowest common ancestor both paths have the same length: twice what one does not share.
    own = set(form.paths[value].tolist())
    weights = np.append(form.weights, 0)  # at -1, which fills paths up
    apart = np.array([[node >= 0 and node not in own for node in path] for path in form.paths.tolist()], bool)
    return 2 * np.where(apart, weights[form.paths], 0).sum(axis=1), form.denominator


def _affordable(offers: RiseOffers, t: Fraction) -> Fraction:
    rise = Fraction(0)
    for distance, mass in offers:
        taken = min(mass, t / distance)
        rise, t = rise + taken, t - taken * distance
    return rise


def _price(offers: RiseOffers, rise: Fraction) -> Fraction:
    work = Fraction(0)
    for distance, mass in offers:
        taken = min(mass, rise)
        work, rise = work + taken * distance, rise - taken
    return work
