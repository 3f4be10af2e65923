"""The cheapest partition, once all classes have a cost and all rows a price."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.exact.prices import Prices
from tclose.algorithms.exact.subtables import Go, SubtableTypes
from tclose.algorithms.shared.whole_costs import WholeCosts, cheapest_way

if TYPE_CHECKING:
    from tclose.algorithms.exact.subsets_loops import Offers

Floats = NDArray[np.float64]
Kinds = NDArray[np.uint8]
ClassNumbers = list[int]

MOST_LISTED = 2**21
PARTS_TRIED = 4096  # of a class, to see whether it falls into two
BUDGET = 3_000_000  # steps between two looks at the clock, some 0.05 s
AT_A_TIME, SPLIT_AT_A_TIME = 2**19, 2000
MOST_SETTLED, MOST_STEPS = 20_000, 500_000  # classes, and steps, for choosing in whole numbers: some seconds


@dataclass(eq=False)
class Cover:
    """All classes of a table with what they cost, and the bounds known so far.

    Attributes
    ----------
    at_least, at_most
        No partition costs less; and one that is known costs so much.
    classes
        Those of the known one, or None where it is not of this search.
    """

    types: SubtableTypes
    kinds: Kinds
    costs: Floats
    step: float
    trifle: float
    at_least: float
    at_most: float
    classes: ClassNumbers | None = None

    @cached_property
    def room(self) -> tuple[Floats, NDArray[np.int32]]:
        """For every rest, the least cost of a way to it and the class taken last; the same room for all rounds."""
        return np.empty(len(self.kinds)), np.empty(len(self.kinds), np.int32)

    @property
    def closed(self) -> bool:
        """Whether nothing better than what is known can be there."""
        return self.at_least >= self._next_better

    @property
    def _next_better(self) -> float:
        """What a partition must cost at most, to be better than the known one."""
        return self.at_most - (self.step / 2 or self.trifle)

    def raise_bound(self, cost: float) -> None:
        """No partition costs less than this; where costs come in steps, than the next step."""
        if self.step:
            cost = self.step * np.ceil((cost - self.trifle) / self.step)
        self.at_least = min(max(self.at_least, float(cost)), self.at_most)

    def dive(self, prices: Prices, go: Go) -> bool:
        """Take one good class after the other; what comes of it may be the best known. Whether it was not stopped."""
        from tclose.algorithms.exact.subsets_loops import best_class

        halves, rest = self.types.sums(prices.of_type), len(self.kinds) - 1
        classes: ClassNumbers = []
        looks = 8 * rest  # where many rows are alike it would take long
        while 0 < rest <= looks and (number := best_class(self.types.shape, halves, self.kinds, self.costs, rest)) > 0:
            classes.append(number)
            looks -= rest
            rest -= number
            if not go(0.6):
                return False
        if rest == 0:
            self.learn(classes)
        return True

    def learn(self, classes: ClassNumbers) -> None:
        """A partition was found."""
        cost = float(self.costs[classes].sum())
        if cost < self.at_most - self.trifle:
            self.at_most, self.classes = cost, classes

    def search(self, prices: Prices, go: Go) -> bool:
        """Find the best of all; whether it was not stopped.

        The first rounds only look for partitions that cost little more than the bound, with the few classes that
        cost little more than their prices. Where there is none, the bound rises, and so does the limit.
        """
        gap = (self.at_most - self.at_least) / 16
        while not self.closed:
            limit = min(self.at_least + max(gap, self.step / 2, 2 * self.trifle), self._next_better)
            found = self._cheapest(prices, limit, go)
            if found is None:
                return False
            if found:
                self.learn(found)
                self.at_least = self.at_most
            else:
                self.raise_bound(limit)
            gap *= 2
        return True

    def settle(self, prices: Prices, whole: WholeCosts, go: Go) -> bool:
        """Choose, in whole numbers, among all partitions that cost as much as the best as far as floats can tell.

        Those have no class that costs much more than its prices. Whether it came to an end: where such classes
        are many, or it was stopped, it does not.
        """
        offers = self._offers(prices, self.at_most + 2 * self.trifle - prices.total, go)
        if offers is None or not offers.listed or len(offers.numbers) > MOST_SETTLED:
            return False
        counts = self.types.counts(offers.numbers.astype(np.int64))
        lost = whole.of_rows([np.flatnonzero(line).tolist() for line in counts])
        costs = [each * int(line.sum()) for each, line in zip(lost, counts, strict=True)]
        shape, width = self.types.shape, len(self.types.sizes[1])
        strides = shape.strides.tolist()

        def options(left: int) -> list[tuple[int, int]]:
            first = next(place for place, stride in enumerate(strides) if stride <= left)
            inside = slice(int(offers.starts[first]), int(offers.starts[first + 1]))
            word = (int(shape.words[0][left // width]) + int(shape.words[1][left % width])) | shape.guards
            fits = ((word - offers.words[inside]) & shape.guards) == shape.guards
            return [(int(offers.numbers[at]), costs[at]) for at in (np.flatnonzero(fits) + inside.start).tolist()]

        found = cheapest_way(len(self.kinds) - 1, options, MOST_STEPS, lambda: go(0.9))
        if found is None:
            return False
        self.classes = found[1]
        return True

    def _cheapest(self, prices: Prices, limit: float, go: Go) -> ClassNumbers | None:
        """The cheapest partition below the limit, none where there is none; None where it was stopped."""
        from tclose.algorithms.exact.subsets_loops import Ways, advance

        types, n = self.types, len(self.kinds)
        offers = self._offers(prices, limit - prices.total, go)
        if offers is None:
            return None
        least, last = self.room
        for start in range(0, n, BUDGET):
            least[start : start + BUDGET] = np.inf
            if not go(0.6):
                return None
        least[-1] = 0.0
        ways = Ways(least=least, last=last, limit=limit)
        whole, halves = n - 1, types.sums(prices.of_type)
        while whole >= 0:
            whole = advance(types.shape, halves, offers, self.kinds, self.costs, ways, whole, BUDGET)
            if not go(0.6):
                return None
        classes, rest = [], 0
        while rest < n - 1 and least[0] < limit:
            classes.append(int(last[rest]))
            rest += classes[-1]
        return classes

    def _offers(self, prices: Prices, slack: float, go: Go) -> Offers | None:
        """The classes that cost less than this beyond their prices, without those that fall into two."""
        from tclose.algorithms.exact.subsets_loops import Offers

        found = self._within(prices, slack, go)
        if found is None:
            return None
        numbers, reduced = found
        shape, front = self.types.shape, self.types.shape.words[0]
        starts, orders = [0], []
        for stride in shape.strides.tolist():  # those whose first type it is have at least its stride
            stop = int(np.searchsorted(-numbers, -stride, side="right"))
            orders.append(starts[-1] + np.argsort(reduced[starts[-1] : stop], kind="stable"))
            starts.append(stop)
            if not go(0.6):
                return None
        order = np.concatenate(orders)
        numbers, reduced = numbers[order], reduced[order]
        width = len(self.types.sizes[1])
        words = front[numbers // width] + shape.words[1][numbers % width]
        return Offers(len(numbers) < MOST_LISTED, np.array(starts), words, numbers, reduced)

    def _within(self, prices: Prices, slack: float, go: Go) -> tuple[NDArray[np.int32], Floats] | None:
        """The classes of reduced cost below this, the largest number first, and those costs.

        Those that fall into two are crossed out for good. None where it was stopped.
        """
        from tclose.algorithms.exact.subsets_loops import find_splits

        front, behind = self.types.sums(prices.of_type)
        by_front = self.costs.reshape(len(front), len(behind))
        found, costs, n = [np.zeros(0, np.int32)], [np.zeros(0)], 0
        for start in range(0, len(front), size := max(AT_A_TIME // len(behind), 1)):
            beyond = by_front[start : start + size] - front[start : start + size, None] - behind
            inside = np.flatnonzero(beyond < slack)
            numbers = (inside + start * len(behind)).astype(np.int32)
            is_split = np.empty(len(numbers), np.bool_)
            for first in range(0, len(numbers), SPLIT_AT_A_TIME):
                piece = slice(first, first + SPLIT_AT_A_TIME)
                find_splits(self.types.shape, numbers[piece], self.kinds, PARTS_TRIED, is_split[piece])
                if not go(0.6):
                    return None
            self.costs[numbers[is_split]] = np.inf
            found.append(numbers[~is_split])
            costs.append(beyond.ravel()[inside[~is_split]])
            n += len(found[-1])
            if n >= MOST_LISTED:
                break
        return np.concatenate(found)[::-1][:MOST_LISTED], np.concatenate(costs)[::-1][:MOST_LISTED]
