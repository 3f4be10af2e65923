"""What comes out of a stream: released classes, rejected rows and withheld rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.verification.measure_release import exact_and_float

Integers = NDArray[np.int64]
ReleaseCase = Literal["direct", "indirect"]


class ExactDistances(Protocol):
    """How far each class is from its window."""

    def exact(self, place: int) -> Fraction:
        """The distance of one class."""


class DiversityByClass(Protocol):
    """How diverse the values of each class are."""

    def __getitem__(self, place: int) -> dict[str, Any]:
        """The diversity of one class, as JSON has it."""


@dataclass(frozen=True)
class Window:
    """The part of the input that classes are compared with; never publish it, as it counts rejected rows too.

    Attributes
    ----------
    first, last
        The input numbers of its first and last row.
    rows
        How many it has; rejected rows between first and last are none of them.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(1000, seed=1)
    >>> engine = tclose.stream.Engine(schema, window=1000, step=500, seed=7)
    >>> outcomes = [*engine.feed(frame), *engine.finish()]
    >>> released = next(released for outcome in outcomes for released in outcome.released)
    >>> released.window
    Window(first=0, last=999, rows=1000)
    """

    first: int
    last: int
    rows: int

    def as_dict(self) -> dict[str, int]:
        """As JSON has it."""
        return {"first": self.first, "last": self.last, "rows": self.rows}


@dataclass(frozen=True, eq=False)
class ReleasedClass:
    """One released class of a stream.

    Attributes
    ----------
    number
        Classes are numbered from 0 in the order of release.
    frame
        Its rows as they are released.
    numbers
        The input number of each row; never to be published.
    window
        What it is close to; never to be published.
    certificate
        What may be published about it.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(1000, seed=1)
    >>> engine = tclose.stream.Engine(schema, window=1000, step=500, seed=7)
    >>> outcomes = [*engine.feed(frame), *engine.finish()]
    >>> released = next(released for outcome in outcomes for released in outcome.released)
    >>> one = next(iter(released))
    >>> len(one.frame) >= schema.k, one.certificate["k"] == len(one.frame)
    (True, True)
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
    in which order they came in. `frame`, `classes` and the certificates are for publication, and nothing else is.

    Attributes
    ----------
    frame
        The released columns, a class after the other.
    classes
        The class number of each row.
    numbers
        The input number of each row; never to be published.
    window
        What the classes are close to; never to be published.
    case
        `direct`: formed from the window that advances. `indirect`: formed, and kept back, when an
        earlier window advanced, to which they are close. Never to be published.
    method
        The name of the method that formed them.
    loss
        The general loss metric of 004 section 3.2 of these rows; not for publication, as ranges
        may be those of rows that are not out.
    distances
        How far each class is from the window, by attribute; certificates tell it where `is_whole_window`.
    diversity
        How diverse each class is, by attribute.
    binned
        The attributes whose bins depend on the window: their diversity is told as distances are.
    required
        What is asked of every class.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(1000, seed=1)
    >>> engine = tclose.stream.Engine(schema, window=1000, step=500, seed=7)
    >>> outcomes = [*engine.feed(frame), *engine.finish()]
    >>> released = next(released for outcome in outcomes for released in outcome.released)
    >>> released.case, released.window.rows, len(released.frame) == len(released.classes)
    ('direct', 1000, True)
    """

    frame: pl.DataFrame
    classes: Integers
    numbers: Integers
    window: Window
    case: ReleaseCase
    method: str
    loss: float
    distances: Mapping[str, ExactDistances] = field(repr=False)
    diversity: Mapping[str, DiversityByClass] = field(default_factory=dict, repr=False)
    binned: frozenset[str] = frozenset()
    required: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @cached_property
    def _starts(self) -> Integers:
        """Where each class begins, and after the last of them."""
        first = np.concatenate([[True], self.classes[1:] != self.classes[:-1], [True]])
        return np.flatnonzero(first)

    @property
    def is_whole_window(self) -> bool:
        """Whether these rows are all of their window, so that distances from it follow from what is published."""
        return len(self.classes) == self.window.rows

    def certificate(self, place: int) -> dict[str, Any]:
        """What may be published about one of the classes, counted from 0.

        It follows from the released rows, the schema and the method. How far the class is from its window does so
        only where all rows of the window are released together: else some of them are out earlier, later or never.
        That it is told says that none of them was withheld.
        """
        start, stop = self._starts[place : place + 2].tolist()
        whole = self.is_whole_window
        told = {name: each[place] for name, each in self.diversity.items() if whole or name not in self.binned}
        certificate: dict[str, Any] = {"class": int(self.classes[start]), "k": stop - start, "l": told}
        if whole:
            certificate["t"] = self._reached(place)
            certificate["window"] = {
                "classes": [int(self.classes[0]), int(self.classes[-1])],
                "rows": len(self.classes),
            }
        return {**certificate, "required": dict(self.required), "method": self.method}

    def entry(self, place: int) -> dict[str, Any]:
        """What the ledger says about one of the classes, counted from 0: its rows, its window and its distances.

        Never to be published.
        """
        start, stop = self._starts[place : place + 2].tolist()
        return {
            "class": int(self.classes[start]),
            "rows": self.numbers[start:stop].tolist(),
            "t": self._reached(place),
            "window": self.window.as_dict(),
            "case": self.case,
        }

    def _reached(self, place: int) -> dict[str, Any]:
        return {name: exact_and_float(found.exact(place)) for name, found in self.distances.items()}

    def __iter__(self) -> Iterator[ReleasedClass]:
        for place, (start, stop) in enumerate(pairwise(self._starts.tolist())):
            yield ReleasedClass(
                int(self.classes[start]),
                self.frame.slice(start, stop - start),
                self.numbers[start:stop],
                self.window,
                self.certificate(place),
            )


@dataclass(frozen=True)
class Claimed:
    """Distances as they were written.

    Attributes
    ----------
    distances
        One a class.
    """

    distances: tuple[Fraction, ...]

    def exact(self, place: int) -> Fraction:
        """The distance of one class."""
        return self.distances[place]


def claimed(entries: Sequence[Mapping[str, Any]]) -> dict[str, Claimed]:
    """The distances that entries of a ledger claim, in their order.

    It is for whoever reads a `Released` back from where it was written.

    Examples
    --------
    >>> told = [{"exact": "1/6", "value": 1 / 6}, {"exact": "0", "value": 0.0}]
    >>> found = claimed([{"t": {"pay": each}} for each in told])
    >>> found["pay"].exact(0), found["pay"].exact(1)
    (Fraction(1, 6), Fraction(0, 1))
    """
    names = entries[0]["t"] if entries else ()
    return {name: Claimed(tuple(Fraction(each["t"][name]["exact"]) for each in entries)) for name in names}


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

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(1000, seed=1)
    >>> engine = tclose.stream.Engine(schema, window=1000, step=500, seed=7)
    >>> wrong = frame.head(3).with_columns(age=frame["age"].head(3).cast(str).replace_strict({}, default="old"))
    >>> rejected = next(one for outcome in engine.feed(wrong) for one in outcome.rejected)
    >>> rejected.numbers.tolist(), rejected.column
    ([0, 1, 2], 'age')
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

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(1000, seed=1)
    >>> engine = tclose.stream.Engine(schema, window=1000, step=500, seed=7)
    >>> outcomes = [*engine.feed(frame.head(3)), *engine.finish()]  # k is 6
    >>> [one.numbers.tolist() for outcome in outcomes for one in outcome.withheld]
    [[0, 1, 2]]
    """

    numbers: Integers
    reason: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out in one step: a checkpoint made after it knows all of it, one made before knows nothing of it.

    Attributes
    ----------
    released, rejected, withheld
        Each may be empty.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(1000, seed=1)
    >>> engine = tclose.stream.Engine(schema, window=1000, step=500, seed=7)
    >>> outcomes = [*engine.feed(frame), *engine.finish()]
    >>> sum(len(released.frame) for outcome in outcomes for released in outcome.released)
    1000
    >>> any(outcome.rejected or outcome.withheld for outcome in outcomes)
    False
    """

    released: tuple[Released, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    withheld: tuple[Withheld, ...] = ()
