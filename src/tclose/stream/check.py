"""The replay checker: does what came out of a stream keep its promise, and is it true of what went in?

It sees the input and what was released, and goes along with both in bounded memory. Values are read and measured by
the verifier (`verification/`), which shares nothing with the methods, the encoder and the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import VerificationError
from tclose.schema.schema import Schema
from tclose.stream.items import Outcome, Released
from tclose.stream.replayed_rows import read_rows
from tclose.stream.stream_certificate_check import check_certificates
from tclose.stream.window_measure import WindowMeasure, measure_window
from tclose.table.source import Source
from tclose.verification.released_classes import Grouping
from tclose.verification.sensitive_domains import factored_column
from tclose.verification.truth import truth_problems

Integers = NDArray[np.int64]
WAITING, RELEASED, WITHHELD, REJECTED = range(4)


class Checker:
    """Checks a stream by replaying it: give it input and outcomes in the order they came, and then the end.

    That every class is within t and the caps of its window and has k rows is counted again from the values; that
    a row is released, rejected or withheld once, unchanged or truly generalized, is looked up in the
    input; that certificates say what is so, and no more than may be published, is compared. Rows must be
    accounted for when the window of a released class has left them behind.

    Parameters
    ----------
    schema
        What was promised.
    window
        How many rows a window has.

    Attributes
    ----------
    counts
        Rows taken in, and by what became of them; classes.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(2000, seed=1)
    >>> engine, checker = tclose.stream.Engine(schema, window=1000, step=500, seed=7), Checker(schema, 1000)
    >>> checker.take_in(frame)
    >>> for outcome in [*engine.feed(frame), *engine.finish()]:
    ...     checker.check(outcome)
    >>> checker.finish()["released"]
    2000
    """

    def __init__(self, schema: Schema, window: int) -> None:
        self._schema, self._window = schema, window
        self._types: dict[str, pl.DataType] = {}
        self._frame: pl.DataFrame | None = None
        self._begin = 0  # the number of the first row remembered
        self._state = np.zeros(0, np.int8)
        self._first_accepted: int | None = None
        self._last_class, self._ended = -1, False
        self.counts = dict.fromkeys(("rows", "released", "withheld", "rejected", "classes"), 0)

    def take_in(self, batch: pl.DataFrame | Sequence[Mapping[str, Any]]) -> None:
        """The next rows of the input, as they were fed."""
        if self._ended:
            raise VerificationError("A class was released for a window shorter than promised before the stream ended.")
        given = read_rows(batch, self._schema, self._types)
        self._types = self._types or dict(given.schema)
        self._frame = given if self._frame is None else self._frame.vstack(given)
        self._state = np.append(self._state, np.zeros(len(given), np.int8))
        self.counts["rows"] += len(given)

    def check(self, outcome: Outcome) -> None:
        """What came out next.

        Raises
        ------
        VerificationError
            It does not keep the promise, or is not true of the input.
        """
        for rejected in outcome.rejected:
            self._account(rejected.numbers, REJECTED, "rejected")
        for withheld in outcome.withheld:  # some may have left the window of what is released at the same time
            self._account(withheld.numbers, WITHHELD, "withheld")
        for released in outcome.released:
            self.check_released(released, [released.certificate(place) for place in range(len(released))])

    def finish(self) -> dict[str, int]:
        """The end: every row is accounted for. Returns the counts."""
        waiting = int((self._state == WAITING).sum())
        if waiting:
            raise VerificationError(f"{waiting} rows were neither released nor rejected nor withheld.")
        return self.counts

    def _account(self, numbers: Integers, state: int, what: str) -> None:
        places = numbers - self._begin
        if len(places) and (places.min() < 0 or places.max() >= len(self._state)):
            raise VerificationError(f"A row was {what} that is not in the input, or left the window long ago.")
        if len(np.unique(places)) < len(places) or (self._state[places] != WAITING).any():
            raise VerificationError(f"A row was {what} that was released, rejected or withheld before.")
        self._state[places] = state
        self.counts[what] += len(places)

    def check_released(self, released: Released, certificates: Sequence[Mapping[str, Any]]) -> None:
        """Classes that came out next, and the certificates that were published with them.

        Raises
        ------
        VerificationError
            As for `check`.
        """
        first, last = released.window.first - self._begin, released.window.last - self._begin
        self._check_window(released, first, last)
        if released.numbers.min() < released.window.first or released.numbers.max() > released.window.last:
            raise VerificationError("A class has rows that do not lie in the window it is said to be close to.")
        self._account(released.numbers, RELEASED, "released")
        places = released.numbers - self._begin
        groups = self._check_classes(released)
        self._check_truth(released.frame, places, groups)
        measured = self._check_closeness(released, groups, places, first, last)
        check_certificates(certificates, released, groups.sizes.tolist(), measured, self._schema)
        if (self._state[:first] == WAITING).any():
            raise VerificationError("Rows left the window and were neither released nor rejected nor withheld.")
        assert self._frame is not None
        self._frame, self._state = self._frame.slice(first), self._state[first:]
        self._begin += first

    def _check_window(self, released: Released, first: int, last: int) -> None:
        """It is one of the input, of the promised length; or all of it, if that is shorter and the end is near."""
        if not 0 <= first <= last < len(self._state):
            raise VerificationError("A class names a window that is not in the input, or was left long ago.")
        accepted = np.flatnonzero(self._state != REJECTED)
        if self._first_accepted is None:
            self._first_accepted = int(accepted[0]) + self._begin
        inside = accepted[(accepted >= first) & (accepted <= last)]
        whole = released.window.first == self._first_accepted and last == accepted[-1]
        if first not in inside or last not in inside or len(inside) != released.window.rows:
            raise VerificationError("A class names a window that has not as many rows as is said.")
        if len(inside) != self._window and not (whole and len(inside) < self._window):
            raise VerificationError(f"A class names a window that has not {self._window} rows.")
        self._ended |= len(inside) < self._window

    def _check_classes(self, released: Released) -> Grouping:
        """Classes have new numbers, k rows, and agree on what is released; they come back as 0, 1, 2, ..."""
        schema, frame = self._schema, released.frame
        expected = {*schema.released_quasi, *(each.column for each in schema.sensitive), *schema.keep}
        if set(frame.columns) != expected:
            raise VerificationError("The released columns are not those of the schema.")
        numbers, labels, sizes = np.unique(released.classes, return_inverse=True, return_counts=True)
        if numbers[0] <= self._last_class:
            raise VerificationError("A class has a number that another had before.")
        if sizes.min() < schema.k:
            raise VerificationError(f"Class {numbers[sizes.argmin()]} has {sizes.min()} rows, and k is {schema.k}.")
        for name in schema.released_quasi:
            codes = factored_column(frame[name]).codes
            least, most = np.full(len(numbers), codes.max()), np.full(len(numbers), -1, np.int32)
            np.minimum.at(least, labels, codes)
            np.maximum.at(most, labels, codes)
            if (least < most).any():
                wrong = numbers[np.argmax(least < most)]
                raise VerificationError(f"The rows of class {wrong} do not agree on '{name}'.")
        self._last_class = int(numbers[-1])
        self.counts["classes"] += len(numbers)
        return Grouping(labels.astype(np.int64), sizes.astype(np.int64))

    def _check_truth(self, frame: pl.DataFrame, places: Integers, groups: Grouping) -> None:
        """Sensitive and kept values are those of the input, and every generalized value covers its own."""
        assert self._frame is not None
        original = Source.of(self._frame[places])
        problems = truth_problems(original, Source.of(frame), self._schema, groups=groups)
        if problems:
            raise VerificationError(" ".join(["What is released is not true of the input.", *problems]))

    def _check_closeness(
        self, released: Released, groups: Grouping, places: Integers, first: int, last: int
    ) -> WindowMeasure:
        """Every class against its window, in integers, and what the ledger says against that."""
        assert self._frame is not None
        schema = self._schema
        inside = first + np.flatnonzero(self._state[first : last + 1] != REJECTED)
        window = pl.DataFrame([self._frame[each.column].gather(inside) for each in schema.sensitive])
        measured = measure_window(window, np.searchsorted(inside, places), groups.labels, schema)
        asked = {each.column: each.t for each in schema.sensitive} | {each.name: each.t for each in schema.joint}
        for name, found in measured.distances.items():
            t = asked[name]
            assert t is not None
            if max(found) > t:
                wrong = int(np.unique(released.classes)[int(np.argmax([each > t for each in found]))])
                raise VerificationError(f"Class {wrong} is farther than t from its window in '{name}'.")
            told = released.distances.get(name)
            if told is None or any(told.exact(place) != each for place, each in enumerate(found)):
                raise VerificationError(f"The ledger does not say how far a class is from its window in '{name}'.")
        for name, broken in measured.not_diverse.items():
            if broken:
                raise VerificationError(f"l of '{name}': a class breaks its {' and '.join(broken)}.")
        for name, broken in measured.above_caps.items():
            if broken:
                raise VerificationError(
                    f"'{name}': the share of a value in a class is farther above that in its window than "
                    f"{' and '.join(broken)} allows."
                )
        return measured
