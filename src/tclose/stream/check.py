"""The replay checker: does what came out of a stream keep its promise, and is it true of what went in?

It shares no code with the methods, their kernels and the engine, but for reading values. It sees the
input and what was released, and goes along with both in bounded memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import VerificationError
from tclose.schema.builders import Dates, Intervals
from tclose.schema.columns import Quasi
from tclose.schema.schema import Schema
from tclose.stream.covers_text import covers
from tclose.stream.intake import opened
from tclose.stream.items import Outcome, Released
from tclose.table.class_distances import Distances, class_distances
from tclose.table.classes import Tally
from tclose.table.coded import CodedColumn
from tclose.table.encode import encode_sensitive
from tclose.table.joint_distances import joint_distances
from tclose.table.reading import Reader, clean, code, texts
from tclose.table.source import Source
from tclose.verification.class_diversity import DiversitySearch
from tclose.verification.released_classes import Grouping, count_values

Integers = NDArray[np.int64]
WAITING, RELEASED, WITHHELD, REJECTED = range(4)
MOST_PAIRS = 20_000  # of a released and an original value that are remembered, of each column


class Checker:
    """Replays a stream: give it input and outcomes in the order they came, and then the end.

    That every class is within t of its window and has k rows is counted again from the values; that
    a row is released, rejected or withheld once, unchanged or truly generalized, is looked up in the
    input. Rows must be accounted for when the window of a released class has left them behind.

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
        self._pairs: dict[str, dict[tuple[Any, ...], bool]] = {}
        self.counts = dict.fromkeys(("rows", "released", "withheld", "rejected", "classes"), 0)

    def take_in(self, batch: pl.DataFrame | Sequence[Mapping[str, Any]]) -> None:
        """The next rows of the input, as they were fed."""
        if self._ended:
            raise VerificationError("A class was released for a window shorter than promised before the stream ended.")
        given = opened(batch, self._schema, self._types).frame
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
        for released in outcome.released:
            self._check_released(released)
        for withheld in outcome.withheld:
            self._account(withheld.numbers, WITHHELD, "withheld")

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

    def _check_released(self, released: Released) -> None:
        first, last = released.window.first - self._begin, released.window.last - self._begin
        self._check_window(released, first, last)
        if released.numbers.min() < released.window.first or released.numbers.max() > released.window.last:
            raise VerificationError("A class has rows that do not lie in the window it is said to be close to.")
        self._account(released.numbers, RELEASED, "released")
        places = released.numbers - self._begin
        labels = self._check_classes(released)
        self._check_truth(released.frame, places)
        self._check_closeness(released, labels, places, first, last)
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

    def _check_classes(self, released: Released) -> Integers:
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
            codes = CodedColumn.of(frame[name]).codes.astype(np.int64)
            least, most = np.full(len(numbers), codes.max()), np.zeros(len(numbers), np.int64)
            np.minimum.at(least, labels, codes)
            np.maximum.at(most, labels, codes)
            if (least < most).any():
                wrong = numbers[np.argmax(least < most)]
                raise VerificationError(f"The rows of class {wrong} do not agree on '{name}'.")
        self._last_class = int(numbers[-1])
        self.counts["classes"] += len(numbers)
        return labels.astype(np.int64)

    def _check_truth(self, frame: pl.DataFrame, places: Integers) -> None:
        """Sensitive and kept values are those of the input, and every generalized value covers its own."""
        assert self._frame is not None
        schema = self._schema
        for name in (*(each.column for each in schema.sensitive), *schema.keep):
            column = self._frame[name].gather(places)
            measured = {each.column: each.is_measured for each in schema.sensitive}
            if name in measured:
                column = clean(column, schema.missing_values, measured[name])
            if not texts(frame[name]).equals(texts(column)):
                raise VerificationError(f"A released value of '{name}' is not that of the input.")
        for quasi in schema.quasi:
            self._check_covers(quasi, frame, self._frame[quasi.column].gather(places))

    def _check_covers(self, quasi: Quasi, frame: pl.DataFrame, given: pl.Series) -> None:
        """Each pair of what is released and what was given is looked at once."""
        schema = self._schema
        original = code(given, schema.missing_values, quasi.is_measured)
        reader = Reader(Source.of(pl.DataFrame()), np.arange(len(given)), schema.decimal)
        if quasi.kind == "numeric" or isinstance(quasi.hierarchy, Intervals):
            values = reader.numbers(original).texts().to_list()
        elif quasi.kind == "date" or isinstance(quasi.hierarchy, Dates):
            values = texts(reader.dates(original, quasi.format)).to_list()
        else:
            values = texts(original.values).to_list()
        released = [CodedColumn.of(frame[name]) for name in quasi.released]
        keys = original.codes.astype(np.int64)
        for column in released:
            keys = keys * len(column.values) + column.codes
        known = self._pairs.setdefault(quasi.column, {})
        if len(known) > MOST_PAIRS:
            known.clear()
        suppress = schema.recode == "suppress"
        for row in np.unique(keys, return_index=True)[1].tolist():
            shown = [column.values[int(column.codes[row])] for column in released]
            pair = (*shown, values[int(original.codes[row])])
            if pair not in known:
                known[pair] = covers(quasi, shown, pair[-1], suppress)
            if not known[pair]:
                raise VerificationError(f"A released value of '{quasi.column}' does not cover that of the input.")

    def _check_closeness(self, released: Released, labels: Integers, places: Integers, first: int, last: int) -> None:
        """Every class against its window, in integers, and its certificate against that."""
        assert self._frame is not None
        schema = self._schema
        inside = np.arange(first, last + 1)
        inside = inside[self._state[first : last + 1] != REJECTED]
        window = self._frame[inside]
        n_classes = int(labels.max()) + 1
        keys = np.full(len(self._state), n_classes)
        keys[places] = labels
        keys = keys[inside]
        asked = {each.column: (each.t, each.l) for each in schema.sensitive}
        columns = {
            each.column: code(window[each.column], schema.missing_values, each.is_measured) for each in schema.sensitive
        }
        reader = Reader(Source.of(window), np.arange(len(window)), schema.decimal)
        parts = {}
        for domain, codes in encode_sensitive(reader, columns, schema):
            parts[domain.column] = domain, codes
            tally = Tally.of(keys, codes, domain.size)
            t, diversity = asked[domain.column]
            if t is not None:
                self._check_distances(released, domain.column, class_distances(domain.form, tally), n_classes, t)
            if diversity is not None:
                own = codes[np.searchsorted(inside, places)]
                search = DiversitySearch(diversity)
                for block in count_values(Grouping(labels, np.bincount(labels)), own, domain.size):
                    search.look(block)
                broken = [kind for kind, met in search.result().meets.items() if not met]
                if broken:
                    raise VerificationError(f"l of '{domain.column}': a class breaks its {' and '.join(broken)}.")
        for joint in schema.joint:
            found = joint_distances(joint, [parts[column] for column in joint.columns], keys)
            self._check_distances(released, joint.name, found, n_classes, joint.t)

    def _check_distances(self, released: Released, name: str, found: Distances, n_classes: int, t: Any) -> None:
        """None is beyond t, and each is what its certificate says."""
        near = np.flatnonzero(found.floats[:n_classes] >= float(t) - 1e-9)
        for place in near.tolist():
            if found.exact(place) > t:
                wrong = int(np.unique(released.classes)[place])
                raise VerificationError(f"Class {wrong} is farther than t from its window in '{name}'.")
        claimed = released.distances.get(name)
        if claimed is None or any(claimed.exact(place) != found.exact(place) for place in range(n_classes)):
            raise VerificationError(f"A certificate does not say how far its class is from its window in '{name}'.")
