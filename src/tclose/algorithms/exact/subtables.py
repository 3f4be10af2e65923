"""All sub-tables of a small table: rows that are alike are counted, and the rest is arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.exact.choices import Choices
from tclose.algorithms.packing import costs_of, pace_of, rules_of, scratch_of
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.table.axes import TOO_WIDE
from tclose.table.encode import EncodedTable

if TYPE_CHECKING:
    from tclose.algorithms.exact.subsets_loops import Shape

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Halves = tuple[NDArray[Any], NDArray[Any]]
Go = Callable[[float], bool]

AT_A_TIME = 400_000  # sub-tables between two looks at the clock


@dataclass(frozen=True, eq=False)
class SubtableTypes:
    """The rows of a table, those alike taken together.

    Attributes
    ----------
    table
        One row a type: those far from the others first.
    most
        The number of rows of each.
    of_row
        The type of each row.
    """

    table: EncodedTable
    most: Integers
    of_row: Integers

    @classmethod
    def of(cls, table: EncodedTable) -> SubtableTypes:
        """Rows with the same places and codes are of one type."""
        columns = np.stack([*table.places, *table.codes, np.zeros(len(table), np.int32)], axis=1)
        _, first, of_row, most = np.unique(columns, axis=0, return_index=True, return_inverse=True, return_counts=True)
        return cls(table.take(first), most.astype(np.int64), of_row.ravel().astype(np.int64))

    @property
    def n_subtables(self) -> int:
        """In how many ways some of the rows can be chosen; Python's integers do not overflow."""
        return prod(most + 1 for most in self.most.tolist())

    def ordered(self) -> SubtableTypes:
        """The same, those first that cost most together with others: their classes are soon settled."""
        n = len(self.table)
        pairs = np.arange(n * n)
        both = self.table.take(np.stack([pairs // n, pairs % n], axis=1).ravel())
        far = np.zeros(n * n)
        for axis, span in zip(both.axes, both.spans(np.repeat(pairs, 2), n * n), strict=True):
            far += axis.weight * axis.cost(*span)
        order = np.argsort(-(far.reshape(n, n) @ self.most), kind="stable")
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
        return SubtableTypes(self.table.take(order), self.most[order], place[self.of_row])

    @cached_property
    def cut(self) -> int:
        """The number of types in front, so that both halves have about as many sub-tables."""
        logs = np.cumsum(np.log(self.most + 1.0))
        return int(np.argmin(np.abs(logs - logs[-1] / 2))) + 1

    def halves(self, own: Callable[[int], NDArray[Any]], empty: NDArray[Any], add: Any = np.add) -> Halves:
        """What each choice among the types in front, and among those behind, comes to.

        `own(i)` is what 0, 1, 2, ... rows of type i come to, `empty` what none do, and `add` takes two together.
        """
        found = []
        for places in (range(self.cut), range(self.cut, len(self.most))):
            sums = empty[None]
            for place in places:
                sums = add(sums[:, None], own(place)[None]).reshape(-1, *empty.shape)
            found.append(sums)
        return found[0], found[1]

    def sums(self, values: NDArray[Any]) -> Halves:
        """The sums of a number a row."""
        return self.halves(lambda place: np.arange(self.most[place] + 1) * values[place], np.zeros((), values.dtype))

    @cached_property
    def sizes(self) -> Halves:
        """How many rows."""
        return self.sums(np.ones(len(self.most), np.int64))

    @cached_property
    def shape(self) -> Shape:
        """How kernels number sub-tables."""
        from tclose.algorithms.exact.subsets_loops import Shape

        strides = np.append(np.cumprod(self.most[:0:-1] + 1)[::-1], 1)
        bits = np.array([int(most).bit_length() for most in self.most])
        shifts = np.concatenate([[0], np.cumsum(bits + 1)[:-1]])
        guards = int(np.sum(1 << (shifts + bits)))
        return Shape(self.most, strides, self.sums(1 << shifts), guards)

    @cached_property
    def boxes(self) -> Halves:
        """Lows and highs of all axes; kept as lows and negative highs while they are joined, so that both are least."""
        n_axes = len(self.table.axes)
        places = np.stack(self.table.places, axis=1)
        ends = np.concatenate([places, -places], axis=1)
        empty = np.array([axis.size for axis in self.table.axes] + [1] * n_axes, np.int32)
        found = self.halves(
            lambda place: np.concatenate([empty[None], np.repeat(ends[place, None], self.most[place], axis=0)]),
            empty,
            np.minimum,
        )
        for half in found:
            half[:, n_axes:] *= -1
        return found

    def counts(self, numbers: Integers) -> Integers:
        """How many rows of each type some sub-tables have."""
        return numbers[:, None] // self.shape.strides % (self.most + 1)

    def labels(self, numbers: list[int]) -> Integers:
        """A label for each row of the table that was given, if these sub-tables are its classes."""
        counts = self.counts(np.array(numbers, np.int64))
        order = np.argsort(self.of_row, kind="stable")
        labels = np.empty(len(self.of_row), np.int64)
        labels[order] = np.concatenate([np.repeat(np.arange(len(numbers)), of_type) for of_type in counts.T])
        return labels


def find_kinds(types: SubtableTypes, requirement: Requirement, go: Go) -> NDArray[np.uint8] | None:
    """Which sub-tables may be classes, and which only unions of some; None where it was stopped.

    Each attribute is decided once for every choice of its values, and sub-tables look that up.
    """
    from tclose.algorithms.exact.subsets_loops import CLASS, NEVER, UNION

    by_size = np.full(int(types.most.sum()) + 1, CLASS, np.uint8)
    by_size[: requirement.k] = NEVER
    tables = [(types.sizes, by_size)]
    for place, attribute in enumerate(requirement.attributes):
        values, of_type = np.unique(types.table.codes[place], return_inverse=True)
        most = np.bincount(of_type, weights=types.most).astype(np.int64)
        strides = np.append(np.cumprod(most[:0:-1] + 1)[::-1], 1)
        table = _decide(values.astype(np.int64), most, strides, place, attribute, requirement, go)
        if table is None:
            return None
        tables.append((types.sums(strides[of_type]), table))
    front, behind = types.sizes
    kinds = np.full((len(front), len(behind)), CLASS, np.uint8)
    for start, stop in _pieces(len(front), max(AT_A_TIME // len(behind), 1)):
        for (own_front, own_behind), table in tables:
            part = kinds[start:stop]
            np.minimum(part, table[own_front[start:stop, None] + own_behind], out=part)
        if not go(0.1 + 0.1 * stop / len(front)):
            return None
    kinds[0, 0] = UNION
    return kinds.ravel()


def _decide(
    values: Integers, most: Integers, strides: Integers, place: int, attribute: Attribute, requirement: Requirement,
    go: Go,
) -> NDArray[np.uint8] | None:  # fmt: skip
    """The kind of every choice of an attribute's values, by kernels where they can; None where it was stopped."""
    from tclose.algorithms.exact.subsets_loops import CLASS, NEVER, judge_counts
    from tclose.kernels.closeness import ASK, YES

    verdicts = np.empty(prod((most + 1).tolist()), np.int8)
    rules, scratch = rules_of(requirement), scratch_of(requirement)
    for start, stop in _pieces(len(verdicts), max(AT_A_TIME // 4 // pace_of(requirement), 100)):
        judge_counts(values, most, place, requirement.k, start, rules, scratch, verdicts[start:stop])
        if not go(0.0):
            return None
    kinds = np.where(verdicts == YES, CLASS, NEVER).astype(np.uint8)
    choices = Choices(values, most, strides, attribute)
    return kinds if choices.decide(np.flatnonzero(verdicts == ASK), kinds, go) else None


def find_costs(types: SubtableTypes, kinds: NDArray[np.uint8], go: Go) -> Floats | None:
    """What each class costs: rows times loss, infinite for what is no class; None where it was stopped.

    What is too wide to be a class becomes a union at most.
    """
    from tclose.algorithms.exact.subsets_loops import UNION, HalfTables, fill_costs

    costs, prices = np.empty(len(kinds)), costs_of(types.table)
    weights = np.array([axis.weight for axis in types.table.axes])
    front, behind = types.boxes
    halves = HalfTables(front=front, behind=behind, sizes=types.sizes)
    for start, stop in _pieces(len(front), max(AT_A_TIME // len(behind), 1)):
        fill_costs(start, stop, halves, weights, prices, kinds, costs)
        if not go(0.2 + 0.1 * stop / len(front)):
            return None
    too_wide = (costs >= TOO_WIDE) & np.isfinite(costs)  # a class that `coarsest` forbids may still be a union of some
    kinds[too_wide], costs[too_wide] = UNION, np.inf
    return costs


def _pieces(n: int, size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n, size):
        yield start, min(start + size, n)
