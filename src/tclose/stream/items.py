"""What comes out of a stream: released classes, rejected rows and withheld rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.table.class_distances import Distances
from tclose.verification.measure_release import exact_and_float

Integers = NDArray[np.int64]
Case = Literal["direct", "indirect"]


@dataclass(frozen=True)
class Window:
    """A stretch of the input that classes are close to.

    Attributes
    ----------
    first, last
        The input numbers of its first and last row.
    rows
        How many it has; rejected rows between first and last are none of them.
    """

    first: int
    last: int
    rows: int

    def as_dict(self) -> dict[str, int]:
        """As JSON has it."""
        return {"first": self.first, "last": self.last, "rows": self.rows}


@dataclass(frozen=True, eq=False)
class ReleasedClass:
    """One class.

    Attributes
    ----------
    number
        Classes are numbered from 0 in the order of release.
    frame
        Its rows as they are released.
    numbers
        The input number of each row; never to be published.
    window
        What it is close to.
    certificate
        What may be published about it.
    """

    number: int
    frame: pl.DataFrame
    numbers: Integers
    window: Window
    certificate: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Released:
    """Classes that are released together, all close to one window.

    Rows of a class stand by their sensitive values, and the classes in random order: neither tells
    in which order they came in.

    Attributes
    ----------
    frame
        The released columns, a class after the other.
    classes
        The class number of each row.
    numbers
        The input number of each row; never to be published.
    window
        What the classes are close to.
    case
        `direct`: formed from the window that advances. `indirect`: formed, and kept back, when an
        earlier window advanced, to which they are close.
    method
        The name of the method that formed them.
    loss
        The general loss metric of 004 section 3.2 of these rows; not for publication, as ranges
        may be those of rows that are not out.
    distances
        How far each class is from the window, by attribute.
    """

    frame: pl.DataFrame
    classes: Integers
    numbers: Integers
    window: Window
    case: Case
    method: str
    loss: float
    distances: dict[str, Distances] = field(repr=False)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @cached_property
    def _starts(self) -> Integers:
        """Where each class begins, and after the last of them."""
        first = np.concatenate([[True], self.classes[1:] != self.classes[:-1], [True]])
        return np.flatnonzero(first)

    def certificate(self, place: int) -> dict[str, Any]:
        """What may be published about one of the classes, counted from 0."""
        start, stop = self._starts[place : place + 2].tolist()
        return {
            "class": int(self.classes[start]),
            "rows": stop - start,
            "t": {name: exact_and_float(found.exact(place)) for name, found in self.distances.items()},
            "window": self.window.as_dict(),
            "case": self.case,
            "method": self.method,
        }

    def __iter__(self) -> Iterator[ReleasedClass]:
        for place, (start, stop) in enumerate(pairwise(self._starts.tolist())):
            yield ReleasedClass(
                int(self.classes[start]),
                self.frame.slice(start, stop - start),
                self.numbers[start:stop],
                self.window,
                self.certificate(place),
            )


def claimed(certificates: Sequence[Mapping[str, Any]]) -> dict[str, Distances]:
    """The distances that certificates tell, in their order: for who reads a `Released` back from where it was written.

    Examples
    --------
    >>> told = [{"exact": "1/6", "value": 1 / 6}, {"exact": "0", "value": 0.0}]
    >>> found = claimed([{"t": {"pay": each}} for each in told])
    >>> found["pay"].exact(0), found["pay"].exact(1)
    (Fraction(1, 6), Fraction(0, 1))
    """
    distances = {}
    for name in certificates[0]["t"] if certificates else ():
        told = [each["t"][name] for each in certificates]
        floats, ones = np.array([each["value"] for each in told], float), np.ones(len(told), np.int64)
        exact = [Fraction(each["exact"]) for each in told]
        under = lcm(*(each.denominator for each in exact))
        over = np.array([int(each * under) for each in exact], object)
        distances[name] = Distances(over, np.zeros(len(told), object), ones, 1, under, floats)
    return distances


@dataclass(frozen=True, eq=False)
class Rejected:
    """Rows that do not fit the schema.

    Attributes
    ----------
    numbers
        Their input numbers.
    column
        Where they do not fit; None if it is not about one column.
    reason
        Why, without any value.
    """

    numbers: Integers
    column: str | None
    reason: str


@dataclass(frozen=True, eq=False)
class Withheld:
    """Rows that cannot be released under the guarantee.

    Attributes
    ----------
    numbers
        Their input numbers.
    reason
        Why.
    """

    numbers: Integers
    reason: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out at once: the state after it knows all of it, the state before none.

    Attributes
    ----------
    released, rejected, withheld
        Each may be empty.
    """

    released: tuple[Released, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    withheld: tuple[Withheld, ...] = ()
