"""The most that a close class can be worth, of rows that have prices: an upper bound, in whole numbers.

A class takes each of its rows in equal parts, at most 1 / K of it if it has K rows or more. Let q be these parts, v(r)
the sensitive value of row r, p the reference, and f any function of values that nowhere rises faster than L times the
ground distance. If the class is within t,

    sum of q(r) f(v(r)) <= sum of p(v) f(v) + L t,

since a plan that carries q to p moves each part over its ground distance. So for any number h

    sum of q(r) price(r) <= h + L t + sum of p(v) f(v) + sum over rows of max(price(r) - h - f(v(r)), 0) / K.

Whatever f, L and h are, that is a bound; the loops look for some that make it low. f has the form

    f(v) = max over values w of min(mark(w) - h, L) - L d(v, w), or 0 if that is more,

where mark(w) is the price of the first row of w beyond its share of K rows. For the equal distance this is the optimum
of the linear program: its derivative by f(w) is p(w) less the rows of w above h + f(w) over K.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.loss_bound.closeness_terms import CloseTerms
from tclose.kernels.compile import inner

Integers = NDArray[np.int64]

NOTHING = -(1 << 60)  # what a class is worth that cannot be
STEEPEST = 1 << 38  # no L is larger, and no h lower than its negative, so that products fit 64 bits
SIZE, START, TOTAL, GROUNDS, T, SMALLEST, SHAPE = 0, 1, 2, 3, 4, 5, 6  # columns of `attributes`
STAR, LINE = 1, 2  # shapes of a distance
COUNT, RANK = 0, 1  # columns of `values`
VALUE, PRICE, MANY, KIND = 0, 1, 2, 3  # columns of `entries`
SEEN, MARK, MARKED, HEIGHT, SOURCE, RISE = 0, 1, 2, 3, 4, 5  # columns of `notes`


class PricedKinds(NamedTuple):
    """Kinds of rows by falling price."""

    places: NDArray[np.int32]  # one row an axis: the place of each kind
    prices: Integers
    counts: Integers  # how many rows are of each kind
    codes: NDArray[np.int32]  # one row an attribute: the value of each kind


class WorthRoom(NamedTuple):
    """Room to find what a class is worth."""

    entries: Integers  # one row a kind that can matter, its columns named above
    notes: Integers  # one row a value
    slopes: NDArray[np.float64]  # how the bound changes with h and with L; then the same of f for each value


@inner
def worth_room(n_kinds: int, terms: CloseTerms) -> WorthRoom:
    """Room for classes of so many kinds, in any attribute."""
    m = 1
    for which in range(len(terms.attributes)):
        m = max(m, terms.attributes[which, SIZE])
    return WorthRoom(
        entries=np.empty((n_kinds, 4), np.int64), notes=np.empty((m, 6), np.int64), slopes=np.empty(2 * m + 2)
    )


@inner
def gather(kinds: Any, size: int, priced_kinds: PricedKinds, which: int, terms: CloseTerms, room: WorthRoom) -> Any:
    """The rows that can matter, by falling price: of each value as many as a class of K rows can take.

    Fills in the entries, and of each value its mark and the kind it is the price of; -1 where a value has no mark.
    Returns the number of entries, and how many rows there are in all.
    """
    prices, counts, codes = priced_kinds.prices, priced_kinds.counts, priced_kinds.codes[which]
    attribute, values, entries, notes = terms.attributes[which], terms.values, room.entries, room.notes
    smallest, start = attribute[SMALLEST], attribute[START]
    for v in range(attribute[SIZE]):
        notes[v, SEEN] = 0
        notes[v, MARKED] = -1
    n_entries = 0
    rows = 0
    for i in range(size):
        kind = kinds[i]
        v, count = codes[kind], counts[kind]
        rows += count
        seen = notes[v, SEEN]
        if seen < smallest:
            entries[n_entries, VALUE] = v
            entries[n_entries, PRICE] = prices[kind]
            entries[n_entries, MANY] = min(count, smallest - seen)
            entries[n_entries, KIND] = kind
            n_entries += 1
            rank = values[start + v, RANK]
            if seen < rank <= seen + count:
                notes[v, MARK] = prices[kind]
                notes[v, MARKED] = kind
            notes[v, SEEN] = seen + count
    return n_entries, rows


@inner
def mean_of_best(n_entries: int, smallest: int, entries: Any) -> Any:
    """The mean of the K highest prices, rounded upwards, and the K-th of them."""
    left = smallest
    total = 0
    last = entries[0, PRICE]
    for entry in range(n_entries):
        take = min(left, entries[entry, MANY])
        total += take * entries[entry, PRICE]
        left -= take
        last = entries[entry, PRICE]
        if left == 0:
            break
    return -(-total // smallest), last


@inner
def heights_of_star(steep: int, m: int, ground: int, notes: Any) -> None:
    """f where all values are as far from each other: the own rise, or the largest of all less L times that distance."""
    top = 0
    for w in range(m):
        if notes[w, RISE] > notes[top, RISE]:
            top = w
    falls = notes[top, RISE] - ((steep * ground) >> 20)
    for v in range(m):
        notes[v, HEIGHT], notes[v, SOURCE] = notes[v, RISE], v
        if falls > notes[v, RISE]:
            notes[v, HEIGHT], notes[v, SOURCE] = falls, top


@inner
def heights_on_line(steep: int, m: int, at: int, grounds: Any, notes: Any) -> None:
    """f where values lie on a line: from one to the next it falls by L times their distance at most, in both ways."""
    height, source = notes[0, RISE], 0
    for v in range(m):
        if v > 0:
            height -= (steep * grounds[at + (v - 1) * m + v]) >> 20
        if notes[v, RISE] >= height:
            height, source = notes[v, RISE], v
        notes[v, HEIGHT], notes[v, SOURCE] = height, source
    height, source = notes[m - 1, RISE], m - 1
    for v in range(m - 1, -1, -1):
        if v < m - 1:
            height -= (steep * grounds[at + v * m + v + 1]) >> 20
        if notes[v, RISE] >= height:
            height, source = notes[v, RISE], v
        if height > notes[v, HEIGHT]:
            notes[v, HEIGHT], notes[v, SOURCE] = height, source


@inner
def heights_of_pairs(steep: int, m: int, at: int, grounds: Any, notes: Any) -> None:
    """f for any distance."""
    for v in range(m):
        notes[v, HEIGHT], notes[v, SOURCE] = notes[v, RISE], v
        for w in range(m):
            if notes[w, RISE] > notes[v, HEIGHT]:
                height = notes[w, RISE] - ((steep * grounds[at + v * m + w]) >> 20)
                if height > notes[v, HEIGHT]:
                    notes[v, HEIGHT], notes[v, SOURCE] = height, w


@inner
def priced(h: int, steep: int, n_entries: int, attribute: Any, terms: CloseTerms, room: WorthRoom) -> Any:
    """The bound of this module for h and L, rounded upwards; the first two slopes say how it changes with h and with L.

    Ground distances are rounded downwards to 2^-20 and products too, so that f may rise by L 2^-20 + 2 more than it
    should, and the bound is raised by as much. Every quotient is rounded upwards.
    """
    values, grounds, entries, notes, slopes = terms.values, terms.grounds, room.entries, room.notes, room.slopes
    m, smallest, n = attribute[SIZE], attribute[SMALLEST], attribute[TOTAL]
    start, at = attribute[START], attribute[GROUNDS]
    for w in range(m):
        has_rise = notes[w, MARKED] >= 0 and notes[w, MARK] > h
        notes[w, RISE] = min(notes[w, MARK] - h, steep) if has_rise else 0
    if attribute[SHAPE] == STAR:
        heights_of_star(steep, m, grounds[at + 1], notes)
    elif attribute[SHAPE] == LINE:
        heights_on_line(steep, m, at, grounds, notes)
    else:
        heights_of_pairs(steep, m, at, grounds, notes)
    base = 0
    by_h, by_steep = 1.0, attribute[T] / (1 << 20)
    for v in range(m):
        moves, tilts, height = 0.0, 0.0, notes[v, HEIGHT]
        if height > 0:
            w = notes[v, SOURCE]
            tilts = -grounds[at + v * m + w] / (1 << 20)
            if notes[w, RISE] >= steep:
                tilts += 1.0
            else:
                moves = 1.0
            share = values[start + v, COUNT]
            base += height * share
            by_h -= moves * share / n
            by_steep += tilts * share / n
        slopes[2 + 2 * v], slopes[3 + 2 * v] = moves, tilts
    over = 0
    for entry in range(n_entries):
        if entries[entry, PRICE] <= h:
            break
        v = entries[entry, VALUE]
        more = entries[entry, PRICE] - h - notes[v, HEIGHT]
        if more > 0:
            many = entries[entry, MANY]
            over += more * many
            by_h -= (1.0 - slopes[2 + 2 * v]) * many / smallest
            by_steep -= slopes[3 + 2 * v] * many / smallest
    slopes[0], slopes[1] = by_h, by_steep
    return h + ((steep * attribute[T]) >> 20) + base // n + over // smallest + (steep >> 20) + 5


@inner
def without_marks(
    h: int, steep: int, best: int, n_entries: int, attribute: Any, terms: CloseTerms, room: WorthRoom
) -> Any:
    """The bound without the marks of some values, each left out if that makes it lower: f need not cover all."""
    notes = room.notes
    for w in range(attribute[SIZE]):
        marked = notes[w, MARKED]
        if marked >= 0 and notes[w, MARK] > h:
            notes[w, MARKED] = -1
            value = priced(h, steep, n_entries, attribute, terms, room)
            if value < best:
                best = value
            else:
                notes[w, MARKED] = marked
    return best


@inner
def worth_of(
    kinds: Any, size: int, priced_kinds: PricedKinds, which: int, terms: CloseTerms, enough: int, room: WorthRoom,
    chosen: Any,
) -> Any:  # fmt: skip
    """At most so much is a class worth, of these kinds of rows and close in one attribute; the search ends at `enough`.

    `chosen` holds h and L of the lowest bound; L = 0 stands for the mean of the K highest prices. What it holds before
    is tried first, if its L is above 0.
    """
    attribute, entries, slopes = terms.attributes[which], room.entries, room.slopes
    n_entries, rows = gather(kinds, size, priced_kinds, which, terms, room)
    if rows < attribute[SMALLEST]:
        return NOTHING
    best, last = mean_of_best(n_entries, attribute[SMALLEST], entries)
    tried_h, tried_steep = int(chosen[0]), int(chosen[1])
    chosen[0], chosen[1] = last, 0
    if best <= enough or attribute[SIZE] == 1:
        return best
    lowest = entries[n_entries - 1, PRICE]
    wide = max(entries[0, PRICE] - lowest, 1 << 24)
    steepest = min(STEEPEST, (1 << 61) // attribute[TOTAL])
    low_steep, high_steep = 0, steepest
    steep = min(tried_steep if tried_steep > 0 else wide >> 1, steepest)
    near_h = tried_h if tried_steep > 0 else last
    for _ in range(12):
        low, high = max(lowest - steep, -steepest), entries[0, PRICE]
        h, step = min(max(near_h, low), high), wide >> 4
        lowest_here = 1 << 60
        low_h, low_steepness, high_h, high_steepness = 0.0, 0.0, 0.0, 0.0  # slopes at both ends; 0 where not known
        for _ in range(12):
            value = priced(h, steep, n_entries, attribute, terms, room)
            if value < lowest_here:
                lowest_here, near_h = value, h
            if value < best:
                best = value
                chosen[0], chosen[1] = h, steep
            if best <= enough:
                return best
            if slopes[0] > 0:
                high, high_h, high_steepness = h, slopes[0], slopes[1]
            else:
                low, low_h, low_steepness = h, min(slopes[0], -1e-9), slopes[1]
            if high - low <= wide >> 9:
                break
            if low_h < 0 < high_h:
                h = (low + high) // 2
            else:
                h = max(low, h - step) if high_h > 0 else min(high, h + step)
                step *= 4
        # Where the bound has a kink, its slope by L is that of both sides, mixed so that the slope by h is 0.
        if low_h < 0 < high_h:
            slope = (low_steepness * high_h - high_steepness * low_h) / (high_h - low_h)
        else:
            slope = high_steepness if high_h > 0 else low_steepness
        if slope > 0:
            high_steep = steep
        else:
            low_steep = steep
        if high_steep - low_steep <= wide >> 7:
            break
        # An L that is too small is made larger by steps that grow: where nothing is close, the more the lower.
        steep = min((low_steep + high_steep) // 2, 4 * steep + 1)
    if attribute[SHAPE] != STAR and chosen[1] > 0:
        best = without_marks(int(chosen[0]), int(chosen[1]), best, n_entries, attribute, terms, room)
    return best
