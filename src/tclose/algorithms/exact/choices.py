"""Choices of an attribute's values that no kernel can decide: their numbers are too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Attribute

Integers = NDArray[np.int64]
Kinds = NDArray[np.uint8]

AT_A_TIME = 200
PARTS_TRIED = 4096  # of a choice, to see whether it is a union


@dataclass(frozen=True, eq=False)
class Choices:
    """How many rows of each value: a choice's number is the sum of count times stride.

    Attributes
    ----------
    values, most, strides
        The codes of the values, how many rows each has, and its stride.
    attribute
        What is asked.
    """

    values: Integers
    most: Integers
    strides: Integers
    attribute: Attribute

    def decide(self, asked: Integers, kinds: Kinds, go: Callable[[float], bool]) -> bool:
        """Write down the kinds of those asked; whether it was not stopped.

        The distance of a class from a reference is convex: a union of close classes is close. So the
        smallest choices are measured first, and what falls into two that are close need not be.
        """
        from tclose.algorithms.exact.subsets_loops import CLASS, NEVER

        close, n_done = np.zeros_like(kinds), 0
        for numbers in self._by_size(asked):
            unions = self._are_unions(numbers, close)
            kinds[numbers[unions]] = close[numbers[unions]] = CLASS
            measured = numbers[~unions]
            for start in range(0, len(measured), AT_A_TIME):
                for number in measured[start : start + AT_A_TIME].tolist():
                    kinds[number] = CLASS if self._holds(number) else NEVER
                    close[number] = kinds[number] if self.attribute.l is None else 0
                if not go(0.1 * (n_done + start) / len(asked)):
                    return False
            n_done += len(numbers)
        return True

    def _by_size(self, numbers: Integers) -> Iterator[Integers]:
        """The choices of the fewest rows first; all at once where nothing can be learnt from them."""
        if self.attribute.l is not None:
            yield numbers
            return
        sizes = np.zeros(len(numbers), np.int64)
        for most, stride in zip(self.most, self.strides, strict=True):
            sizes += numbers // stride % (most + 1)
        for size in np.unique(sizes):
            yield numbers[sizes == size]

    def _are_unions(self, numbers: Integers, close: Kinds) -> NDArray[np.bool_]:
        """Which of them fall into two that are close."""
        from tclose.algorithms.exact.subsets_loops import Shape, find_splits

        unions = np.zeros(len(numbers), np.bool_)
        if close.any():
            none = np.zeros(0, np.int64)
            shape = Shape(self.most, self.strides, (none, none), 0)
            find_splits(shape, numbers.astype(np.int32), close, PARTS_TRIED, unions)
        return unions

    def _holds(self, number: int) -> bool:
        """Whether a choice is close and diverse, by the definition."""
        counts = np.zeros(self.attribute.domain.size, np.int64)
        counts[self.values] = number // self.strides % (self.most + 1)
        return self.attribute.holds(counts)
