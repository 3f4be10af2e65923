"""A window as the methods see it, and its classes as they are released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.release.certificate import promise
from tclose.release.recode import recode
from tclose.schema.schema import Schema
from tclose.stream.checkpoint import EngineState
from tclose.stream.diversity_by_class import diversity_by_class
from tclose.stream.intake import CodedColumns
from tclose.stream.items import ReleaseCase, Released, Window
from tclose.stream.reached import some
from tclose.table.class_distances import Distances
from tclose.table.coded import as_text
from tclose.table.encode import EncodedTable, encode_rows
from tclose.table.partition import Partition
from tclose.table.source import Source

Integers = NDArray[np.int64]
About = tuple[Window, ReleaseCase, str]


@dataclass(frozen=True, eq=False)
class StreamView:
    """The first rows at hand, encoded when they are first asked for.

    Attributes
    ----------
    schema
        What each column is.
    state
        All rows at hand.
    size
        How many of them are the window.
    """

    schema: Schema
    state: EngineState
    size: int

    @property
    def window(self) -> Window:
        """Where it lies in the input."""
        numbers = self.state.numbers[: self.size]
        return Window(int(numbers[0]), int(numbers[-1]), len(numbers))

    @cached_property
    def columns(self) -> CodedColumns:
        """Its columns, with no value that only other rows have."""
        rows = slice(self.size)
        return {name: column.take(rows) for name, column in self.state.columns.items()}

    @cached_property
    def source(self) -> Source:
        """Where `recode` finds kept columns and the order of all."""
        empty = Source.of(pl.DataFrame())
        return replace(empty, names=tuple(self.state.types), n_rows=self.size, column=self._column)

    def _column(self, name: str) -> pl.Series:
        return self.columns[name].values.gather(self.columns[name].codes).alias(name)

    def original(self, names: Sequence[str], numbers: Integers | None = None) -> pl.DataFrame:
        """Some columns as they came in, of all rows or of those with these input numbers."""
        rows = slice(None) if numbers is None else np.searchsorted(self.state.numbers, numbers)
        columns = ((name, self.columns[name]) for name in names)
        return pl.DataFrame([column.values.gather(column.codes[rows]).alias(name) for name, column in columns])

    @cached_property
    def table(self) -> EncodedTable:
        """Its rows as arrays."""
        return encode_rows(self.source, self.columns, np.arange(self.size), self.schema)

    def release(
        self,
        labels: Integers,
        about: About,
        distances: dict[str, Distances],
        first: int,
        rng: np.random.Generator,
    ) -> Released:
        """The classes 0, 1, 2, ..., in an order that tells nothing.

        Parameters
        ----------
        labels
            The class of each row of the window, -1 where it is not released.
        about
            The window the classes are close to, the case, and the name of the method.
        distances
            How far each is from that window.
        first
            The number of the first class.
        rng
            For the order of classes, and of rows with equal sensitive values.
        """
        rows = np.flatnonzero(labels >= 0)
        turn = rng.permutation(int(labels.max()) + 1)
        places = turn[labels[rows]]
        # By the values themselves: bins depend on rows that are not out, and would be told by the order.
        sensitive = [self.columns[each.column].codes[rows] for each in self.schema.sensitive]
        keys: list[NDArray[Any]] = [rng.permutation(len(rows)), *sensitive[::-1], places]
        order = np.lexsort(keys)
        rows, places = rows[order], places[order]
        part = self.table.take(rows)
        taken = {each.column: self.columns[each.column].take(rows) for each in self.schema.sensitive}
        spans = part.spans(places, len(turn))
        frame = as_text(recode(part, Partition(places), self.source, taken, self.schema, spans, texts=True))
        frame = frame.cast(dict.fromkeys(self.schema.released_quasi, pl.String))
        back = np.argsort(turn)
        return Released(
            frame,
            first + places,
            self.state.numbers[rows],
            *about,
            part.loss(places, spans),
            {name: some(found, back) for name, found in distances.items()},
            {
                each.column: diversity_by_class(codes, places, each.l)
                for each, codes in zip(self.schema.sensitive, part.codes, strict=False)  # joints come after
            },
            frozenset(each.column for each in self.schema.sensitive if each.bins is not None),
            promise(self.schema)["required"],
        )
