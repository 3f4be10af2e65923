"""The cheapest partition, once all classes have a cost and all rows a price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tclose.exact.prices import Prices
from tclose.exact.subtables import Go, Types

if TYPE_CHECKING:
    from tclose.kernels.subsets import Offers

Floats = NDArray[np.float64]
Kinds = NDArray[np.uint8]
Classes = list[int]

MOST_LISTED = 2**23
PARTS_TRIED = 4096  # of a class, to see whether it falls into two
BUDGET = 20_000_000  # steps between two looks at the clock, about 0.1 s
AT_A_TIME = 2**20


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

    types: Types
    kinds: Kinds
    costs: Floats
    step: float
    trifle: float
    at_least: float
    at_most: float
    classes: Classes | None = None

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

    def dive(self, prices: Prices) -> None:
        """Take one good class after the other; what comes of it may be the best known."""
        from tclose.kernels.subsets import dive

        chosen = np.empty(int(self.types.most.sum()), np.int64)
        n = dive(self.types.shape, self.types.sums(prices.of_type), self.kinds, self.costs, chosen)
        if n > 0:
            self.learn(chosen[:n].tolist())

    def learn(self, classes: Classes) -> None:
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

    def _cheapest(self, prices: Prices, limit: float, go: Go) -> Classes | None:
        """The cheapest partition below the limit, none where there is none; None where it was stopped."""
        from tclose.kernels.subsets import advance

        types, n = self.types, len(self.kinds)
        offers = self._offers(prices, limit - prices.total)
        least, last = np.full(n, np.inf), np.zeros(n, np.int32)
        least[-1] = 0.0
        whole, halves = n - 1, types.sums(prices.of_type)
        while whole >= 0:
            whole = advance(
                types.shape, halves, offers, self.kinds, self.costs, limit, least, last, whole, BUDGET
            )  # fmt: skip
            if not go(0.6):
                return None
        classes, rest = [], 0
        while rest < n - 1 and least[0] < limit:
            classes.append(int(last[rest]))
            rest += classes[-1]
        return classes

    def _offers(self, prices: Prices, slack: float) -> Offers:
        """The classes that cost less than this beyond their prices, without those that fall into two."""
        from tclose.kernels.subsets import Offers, find_splits

        types = self.types
        numbers, reduced = self._within(prices, slack)
        listed = len(numbers) <= MOST_LISTED
        if not listed:
            numbers, reduced = numbers[:0], reduced[:0]
        is_split = np.empty(len(numbers), np.bool_)
        find_splits(types.shape, numbers, self.kinds, PARTS_TRIED, is_split)
        self.costs[numbers[is_split]] = np.inf
        numbers, reduced = numbers[~is_split], reduced[~is_split]
        strides = types.shape.strides
        first = np.searchsorted(-strides, -numbers.astype(np.int64))
        order = np.lexsort((numbers, reduced, first))
        starts = np.searchsorted(first[order], np.arange(len(strides) + 1))
        front, behind = types.shape.words
        words = front[numbers // len(behind)] + behind[numbers % len(behind)]
        return Offers(listed, starts, words[order], numbers[order], reduced[order])

    def _within(self, prices: Prices, slack: float) -> tuple[NDArray[np.int32], Floats]:
        """The classes of reduced cost below this, and those costs."""
        front, behind = self.types.sums(prices.of_type)
        by_front = self.costs.reshape(len(front), len(behind))
        numbers, reduced, n = [np.zeros(0, np.int32)], [np.zeros(0)], 0
        for start in range(0, len(front), size := max(AT_A_TIME // len(behind), 1)):
            beyond = by_front[start : start + size] - front[start : start + size, None] - behind
            inside = np.flatnonzero(beyond < slack)
            numbers.append((inside + start * len(behind)).astype(np.int32))
            reduced.append(beyond.ravel()[inside])
            n += len(inside)
            if n > MOST_LISTED:
                break
        return np.concatenate(numbers), np.concatenate(reduced)
