"""The class that is farthest from the whole table, exactly: floats find the few that may be, integers decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.verification.class_work import ClassWork, shares_of
from tclose.verification.exact_numbers import ExactIntegers
from tclose.verification.released_classes import ClassCounts

MARGIN = 2.0**-48  # far above the few roundings of a quotient of integers that is at most 1


@dataclass
class Farthest:
    """The search over the blocks of a table, one after the other.

    Examples
    --------
    >>> from tclose.verification.class_work import StarWork, one_class
    >>> search = Farthest(StarWork(np.array([2, 2]), 4))
    >>> search.look(one_class(2, np.array([0]), np.array([2])))
    >>> search.result()
    Fraction(1, 2)
    """

    measure: ClassWork
    best: Fraction = Fraction(0)
    floor: float = 0.0
    doubtful: list[tuple[float, int, bytes, bytes]] = field(default_factory=list)

    def look(self, block: ClassCounts) -> None:
        """Take in the classes of a block."""
        if not len(block.sizes):
            return
        work = self.measure.work(block)
        if work is not None:
            self.best = max(self.best, largest_share(work, block.sizes, self.measure.unit))
            return
        low, high = self.measure.bounds(block)
        self.floor = max(self.floor, float(low.max()))
        seen = {each[1:] for each in self.doubtful}
        for place in np.flatnonzero(high >= self.floor).tolist():
            codes, counts = block.of(place)
            found = (int(block.sizes[place]), codes.tobytes(), counts.tobytes())
            if found not in seen:
                seen.add(found)
                self.doubtful.append((float(high[place]), *found))

    def result(self) -> Fraction:
        """The largest distance: the doubtful classes are measured until no other can be farther."""
        for high, size, codes, counts in sorted(self.doubtful, key=lambda each: -each[0]):
            if high < self.floor or high < self.best:
                break
            distance = self.measure.exact(size, np.frombuffer(codes, np.int64), np.frombuffer(counts, np.int64))
            self.best = max(self.best, distance)
        self.doubtful.clear()
        return self.best


def largest_share(work: ExactIntegers, sizes: NDArray[np.int64], unit: int) -> Fraction:
    """The largest of work over rows and unit; only those next to the largest float are compared as fractions.

    Examples
    --------
    >>> largest_share(np.array([1, 3]), np.array([2, 4]), 5)
    Fraction(3, 20)
    """
    shares = shares_of(work, sizes, 1)
    near = np.flatnonzero(shares >= shares.max() * (1 - MARGIN))
    if work.dtype == object:
        pairs = {(int(one), int(size)) for one, size in zip(work[near], sizes[near], strict=True)}
    else:
        pairs = set(pl.DataFrame({"work": work[near], "size": sizes[near]}).unique().rows())
    return max(Fraction(one, size * unit) for one, size in pairs)


def all_distances(blocks: Iterator[ClassCounts], measure: ClassWork) -> NDArray[np.float64]:
    """The distance of each class as a float; those without a closed form are solved, equal ones once."""
    found: list[NDArray[np.float64]] = []
    known: dict[tuple[int, bytes, bytes], float] = {}
    for block in blocks:
        work = measure.work(block)
        if work is not None:
            found.append(shares_of(work, block.sizes, measure.unit))
            continue
        distances = np.empty(len(block.sizes))
        for place, size in enumerate(block.sizes.tolist()):
            codes, counts = block.of(place)
            key = (size, codes.tobytes(), counts.tobytes())
            if key not in known:
                known[key] = float(measure.exact(size, codes, counts))
            distances[place] = known[key]
        found.append(distances)
    return np.concatenate(found) if found else np.zeros(0)
