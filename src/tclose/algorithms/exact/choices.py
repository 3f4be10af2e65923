"""Choices of an attribute's values that no kernel can decide: mostly those of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Attribute, is_diverse
from tclose.distances import Matrix
from tclose.distances.matrix import GAP

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

        The distance of a class from a reference is convex: a union of close classes is close. So of
        a matrix, which takes long, the smallest choices are measured first, and what falls into
        two that are close beyond doubt need not be.
        """
        from tclose.algorithms.exact.subsets_loops import CLASS

        sure, n_done = np.zeros_like(kinds), 0
        for numbers in self._by_size(asked):
            unions = self._are_unions(numbers, sure)
            kinds[numbers[unions]] = sure[numbers[unions]] = CLASS
            measured = numbers[~unions]
            for start in range(0, len(measured), AT_A_TIME):
                for number in measured[start : start + AT_A_TIME].tolist():
                    kinds[number], is_sure = self._measure(number)
                    sure[number] = CLASS if is_sure else 0
                if not go(0.1 * (n_done + start) / len(asked)):
                    return False
            n_done += len(numbers)
        return True

    def _by_size(self, numbers: Integers) -> Iterator[Integers]:
        """The choices of the fewest rows first; all at once where nothing can be learnt from them."""
        if not isinstance(self.attribute.domain.form, Matrix) or self.attribute.l is not None:
            yield numbers
            return
        sizes = np.zeros(len(numbers), np.int64)
        for most, stride in zip(self.most, self.strides, strict=True):
            sizes += numbers // stride % (most + 1)
        for size in np.unique(sizes):
            yield numbers[sizes == size]

    def _are_unions(self, numbers: Integers, sure: Kinds) -> NDArray[np.bool_]:
        """Which of them fall into two that are close beyond doubt."""
        from tclose.algorithms.exact.subsets_loops import Shape, find_splits

        unions = np.zeros(len(numbers), np.bool_)
        if sure.any():
            none = np.zeros(0, np.int64)
            shape = Shape(self.most, self.strides, (none, none), 0)
            find_splits(shape, numbers.astype(np.int32), sure, PARTS_TRIED, unions)
        return unions

    def _measure(self, number: int) -> tuple[int, bool]:
        """The kind of a choice by the definition, and whether it is close beyond doubt.

        A matrix is measured in floats: classes that just are within t may have a union that seems to be just beyond.
        """
        from tclose.algorithms.exact.subsets_loops import CLASS, NEVER, UNION

        attribute, counts = self.attribute, np.zeros(self.attribute.domain.size, np.int64)
        counts[self.values] = number // self.strides % (self.most + 1)
        if attribute.l is not None and not is_diverse(counts, attribute.l):
            return NEVER, False
        if attribute.t is None:
            return CLASS, False
        if self._is_far(counts):
            return NEVER, False
        distance = attribute.distance(counts)
        if distance <= attribute.t:
            return CLASS, bool(distance <= attribute.t - 2 * GAP)
        doubtful = isinstance(attribute.domain.form, Matrix) and distance <= attribute.t + 2 * GAP
        return UNION if doubtful else NEVER, False

    def _is_far(self, counts: Integers) -> bool:
        """Whether they are clearly not within t: at best all mass of the reference goes to the nearest value."""
        form, reference, t = self.attribute.domain.form, self.attribute.reference, self.attribute.t
        if t is None or not isinstance(form, Matrix):
            return False
        return bool(reference @ form.distances[:, counts > 0].min(axis=1) > (float(t) + 4 * GAP) * reference.sum())
