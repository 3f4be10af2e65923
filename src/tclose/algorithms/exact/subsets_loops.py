"""All sub-tables of a small table: which may be classes, what each costs, and the cheapest way to part the whole.

Rows that are alike are a type, and a sub-table is how many it has of each. Its number is the sum
of count times stride; the last type has stride 1, and every other the product of (rows + 1) over the
types behind it. Whatever adds up over rows is kept in two short arrays, one for the types in front and one
for those behind: the sub-table of number high * len(behind) + low has front[high] + behind[low].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.closeness import NO, Rules, Scratch, judge
from tclose.kernels.compile import inner, kernel
from tclose.kernels.costs import Costs, span_cost

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Kinds = NDArray[np.uint8]

NEVER, UNION, CLASS = 0, 1, 2  # kinds: neither a class nor a union of some, a union at most, a class


class Shape(NamedTuple):
    """How sub-tables are numbered."""

    most: Integers  # rows of each type
    strides: Integers
    words: tuple[Integers, Integers]  # counts side by side in one word, in front and behind
    guards: int  # a bit above each count: one word is within another if their difference leaves all guards


class HalfTables(NamedTuple):
    """Of all sub-tables of the types in front, and of those behind."""

    front: NDArray[np.int32]  # lows and then highs of all axes
    behind: NDArray[np.int32]
    sizes: tuple[Integers, Integers]  # rows


class Ways(NamedTuple):
    """The cheapest ways found so far from all rows down to each rest."""

    least: Floats  # what the classes taken cost
    last: NDArray[np.int32]  # the class taken last
    limit: float  # what all classes together must cost less than


class Offers(NamedTuple):
    """Classes to choose from: those whose first type is i from starts[i] on, the least reduced cost first."""

    listed: bool  # otherwise they are too many, and every part of a rest is looked at
    starts: Integers
    words: Integers
    numbers: NDArray[np.int32]
    reduced: Floats  # cost less the prices of its rows


@kernel
def judge_counts(
    values: Integers, most: Integers, attribute: int, least: int, first: int, rules: Rules, scratch: Scratch,
    verdicts: NDArray[np.int8],
) -> None:  # fmt: skip
    """NO, YES or ASK for count vectors of an attribute, from number `first` on; NO below `least` rows."""
    counts = np.zeros(len(most), np.int64)
    left = first
    for place in range(len(most) - 1, -1, -1):
        counts[place] = left % (most[place] + 1)
        left //= most[place] + 1
    for each in range(len(verdicts)):
        size, distinct = 0, 0
        for place in range(len(most)):
            size += counts[place]
        if size < max(least, 1):
            verdicts[each] = NO
        else:
            for place in range(len(most)):
                if counts[place]:
                    scratch.counts[values[place]] = counts[place]
                    scratch.touched[distinct] = values[place]
                    distinct += 1
            verdicts[each] = judge(rules, attribute, scratch, distinct, size)
        place = len(most) - 1
        while place >= 0 and counts[place] == most[place]:
            counts[place] = 0
            place -= 1
        if place >= 0:
            counts[place] += 1


@kernel
def fill_costs(
    start: int, stop: int, halves: HalfTables, weights: Floats, prices: Costs, kinds: Kinds, costs: Floats
) -> None:
    """cost = rows times sum over axes of weight times the loss of the span, infinite where it is no class.

    It goes through the front from start to stop.
    """
    front, behind, sizes = halves
    n_axes, width = len(weights), len(behind)
    for high in range(start, stop):
        for low in range(width):
            number = high * width + low
            costs[number] = np.inf
            if kinds[number] != CLASS:
                continue
            loss = 0.0
            for axis in range(n_axes):
                left = min(front[high, axis], behind[low, axis])
                right = max(front[high, n_axes + axis], behind[low, n_axes + axis])
                loss += weights[axis] * span_cost(prices, axis, left, right)
            costs[number] = loss * (sizes[0][high] + sizes[1][low])


@kernel
def price(
    costs: Floats, prices: tuple[Floats, Floats], sizes: tuple[Integers, Integers], found: Integers, least: Floats
) -> None:
    """Of each front, the class whose (cost - prices of its rows) / rows is least; infinite where there is none."""
    front, behind = prices
    size_front, size_behind = sizes
    width = len(behind)
    for high in range(len(front)):
        best, best_at = np.inf, -1
        for low in range(width):
            if costs[high * width + low] == np.inf:
                continue
            reduced = (costs[high * width + low] - front[high] - behind[low]) / (size_front[high] + size_behind[low])
            if reduced < best:
                best, best_at = reduced, high * width + low
        least[high], found[high] = best, best_at


@inner
def unpack(shape: Shape, number: int, counts: Integers) -> int:
    """The counts of a sub-table; returns how many parts it has."""
    parts = 1
    for place in range(len(counts)):
        counts[place] = number // shape.strides[place]
        number -= counts[place] * shape.strides[place]
        parts *= counts[place] + 1
    return parts


@inner
def next_part(shape: Shape, counts: Integers, part: Integers, number: int) -> int:
    """The part after this one, in the order of numbers; -1 after the last."""
    for place in range(len(counts) - 1, -1, -1):
        if part[place] < counts[place]:
            part[place] += 1
            return int(number + shape.strides[place])
        number -= part[place] * shape.strides[place]
        part[place] = 0
    return -1


@inner
def begin(shape: Shape, counts: Integers, part: Integers) -> int:
    """The least part that has the first row: one row of the first type there is."""
    part[:] = 0
    first = 0
    while counts[first] == 0:
        first += 1
    part[first] = 1
    return int(shape.strides[first])


@kernel
def find_splits(shape: Shape, numbers: NDArray[np.int32], kinds: Kinds, most: int, is_split: NDArray[np.bool_]) -> None:
    """Which classes fall into two; after `most` parts tried it is taken that they do not.

    Of two parts one has at most half the number.
    """
    counts, part = np.empty(len(shape.most), np.int64), np.empty(len(shape.most), np.int64)
    for each in range(len(numbers)):
        whole = numbers[each]
        unpack(shape, whole, counts)
        part[:] = 0
        number, tried = next_part(shape, counts, part, 0), 0
        is_split[each] = False
        while 2 * number <= whole and tried < most:
            if kinds[number] == CLASS and kinds[whole - number] == CLASS:
                is_split[each] = True
                break
            number = next_part(shape, counts, part, number)
            tried += 1


@kernel
def best_class(shape: Shape, prices: tuple[Floats, Floats], kinds: Kinds, costs: Floats, whole: int) -> int:
    """Of a rest, the class of least reduced cost that has its first row, and whose own rest may be parted; -1 if none.

    The reduced cost is what it costs beyond the prices of its rows.
    """
    counts, part = np.empty(len(shape.most), np.int64), np.empty(len(shape.most), np.int64)
    width = len(prices[1])
    unpack(shape, whole, counts)
    number, least, found = begin(shape, counts, part), np.inf, -1
    while number >= 0:
        if kinds[number] == CLASS and kinds[whole - number] != NEVER:
            reduced = costs[number] - prices[0][number // width] - prices[1][number % width]
            if reduced < least:
                least, found = reduced, number
        number = next_part(shape, counts, part, number)
    return found


@kernel
def advance(
    shape: Shape,
    prices: tuple[Floats, Floats],
    offers: Offers,
    kinds: Kinds,
    costs: Floats,
    ways: Ways,
    whole: int,
    budget: int,
) -> int:
    """least[rest] = min over classes C that have the first row of rest + C, of least[rest + C] + cost(C).

    From all rows down to none. A rest is left alone if least + prices of its rows reach the
    limit, for no class costs less than its prices. Returns the next rest, -1 at the end.
    """
    least, last, limit = ways
    counts, part = np.empty(len(shape.most), np.int64), np.empty(len(shape.most), np.int64)
    width, guards = len(prices[1]), shape.guards
    front, behind, words_front, words_behind = prices[0], prices[1], shape.words[0], shape.words[1]
    starts, words, numbers, reduced = offers.starts, offers.words, offers.numbers, offers.reduced
    while whole > 0 and budget > 0:
        budget -= 1
        slack = limit - least[whole] - front[whole // width] - behind[whole % width]
        if not slack > 0:
            whole -= 1
            continue
        n_parts = unpack(shape, whole, counts)
        first = 0
        while counts[first] == 0:
            first += 1
        n_parts = n_parts // (counts[first] + 1) * counts[first]
        start, stop = starts[first], starts[first + 1]
        end = start
        while end < stop:  # the first offer that costs too much
            middle = (end + stop) // 2
            if reduced[middle] < slack:
                end = middle + 1
            else:
                stop = middle
        if offers.listed and end - start <= 2 * n_parts:
            word = (words_front[whole // width] + words_behind[whole % width]) | guards
            for offer in range(start, end):
                if (word - words[offer]) & guards == guards:
                    number = numbers[offer]
                    rest, reached = whole - number, least[whole] + costs[number]
                    if reached < least[rest] and kinds[rest] != NEVER:
                        least[rest], last[rest] = reached, number
            budget -= end - start
        else:
            number = begin(shape, counts, part)
            while number >= 0:
                rest, reached = whole - number, least[whole] + costs[number]
                if reached < least[rest] and kinds[rest] != NEVER:
                    least[rest], last[rest] = reached, number
                number = next_part(shape, counts, part, number)
            budget -= n_parts
        whole -= 1
    return whole if whole > 0 else -1
