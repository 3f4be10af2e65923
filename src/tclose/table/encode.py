"""From a dataframe to arrays: the only way in.

Every column is read by its role and kind alone, one at a time: quasi-identifiers become places
on axes, sensitive attributes codes into their domains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Equal, Form, Tree
from tclose.schema.schema import Schema
from tclose.table.axes import Axis
from tclose.table.coded import CodedColumn
from tclose.table.joint_codes import build_joint
from tclose.table.objective import LOSS, Objective, label_rows, read_queries
from tclose.table.person_codes import Holders, code_holders
from tclose.table.quasi import build_axes
from tclose.table.reading import Reader, one_spelling
from tclose.table.row_selection import select_rows
from tclose.table.sensitive import build_domain
from tclose.table.source import Source
from tclose.table.unit_rows import read_persons

Spans = list[tuple[NDArray[np.int32], NDArray[np.int32]]]


@dataclass(frozen=True, eq=False)
class Domain:
    """The values a sensitive attribute, or a joint of several, can have, and the distance between them.

    Attributes
    ----------
    column
        Its name.
    form
        The distance over codes 0 to size - 1.
    missing
        Whether the last code stands for missing values.
    is_joint
        Whether its values are combinations of several attributes, which come before it.
    of_persons
        Whether its codes are persons, or persons with a value, and no values: they come last, and only where the
        promise is made in persons.
    holders
        Which persons have which values, if its codes are persons with a value.
    """

    column: str
    form: Form
    missing: bool
    is_joint: bool = False
    of_persons: bool = False
    holders: Holders | None = None

    @property
    def size(self) -> int:
        """The number of values."""
        return self.form.size


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """The rows as arrays.

    Attributes
    ----------
    axes
        One a quasi-identifier (several for kind digits).
    places
        For each axis, the place of every row.
    domains
        One a sensitive attribute, then one a joint; then those of persons, where these are counted.
    codes
        For each domain, the code of every row.
    rows
        The row of the input each row came from; dropped ones are missing from it.
    objective
        What is optimized, beside keeping the promise.
    """

    axes: tuple[Axis, ...]
    places: tuple[NDArray[np.int32], ...] = field(repr=False)
    domains: tuple[Domain, ...]
    codes: tuple[NDArray[np.int32], ...] = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    objective: Objective = field(default=LOSS, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: NDArray[np.int64]) -> EncodedTable:
        """Some of the rows, over the same axes and domains."""
        return replace(
            self,
            places=tuple(places[rows] for places in self.places),
            codes=tuple(codes[rows] for codes in self.codes),
            rows=self.rows[rows],
            objective=self.objective.take(rows),
        )

    def spans(self, labels: NDArray[np.int64], n_classes: int) -> Spans:
        """For each axis, the lowest and highest place of every class."""
        spans = []
        for axis, places in zip(self.axes, self.places, strict=True):
            low, high = np.full(n_classes, axis.size, np.int32), np.full(n_classes, -1, np.int32)
            np.minimum.at(low, labels, places)
            np.maximum.at(high, labels, places)
            spans.append((low, high))
        return spans

    def loss(self, labels: NDArray[np.int64], spans: Spans | None = None) -> float:
        """The general loss metric of 004 section 3.2 of a partition with labels 0, 1, 2, ...

        A row whose label is -1 is left out, and loses 1. `spans` are those of the classes, where they are known already
        and no row is left out.
        """
        left_out = int((labels < 0).sum())
        if left_out:
            kept = np.flatnonzero(labels >= 0)
            return (self.take(kept).loss(labels[kept]) * len(kept) + left_out) / len(labels) if len(kept) else 1.0
        sizes = np.bincount(labels)
        cost = np.zeros(len(sizes))
        for axis, span in zip(self.axes, spans or self.spans(labels, len(sizes)), strict=True):
            cost += axis.weight * axis.cost(*span)
        return float(np.sum(cost * sizes) / len(labels))

    @property
    def cell_weights(self) -> list[int]:
        """What a cell of each axis counts under suppression: the smallest whole numbers in the ratio of the weights."""
        weights = [axis.column_weight for axis in self.axes]
        common = lcm(*(weight.denominator for weight in weights))
        whole = [int(weight * common) for weight in weights]
        return [each // gcd(*whole) for each in whole]

    def hidden_cells(self, labels: NDArray[np.int64], spans: Spans | None = None) -> int:
        """The cells that a partition hides under suppression, each position of digits being one.

        Where columns have weights, a cell counts as often as `cell_weights` says.
        """
        sizes = np.bincount(labels)
        spans = spans or self.spans(labels, len(sizes))
        hidden = (int(sizes[low != high].sum()) for low, high in spans)
        return sum(weight * cells for weight, cells in zip(self.cell_weights, hidden, strict=True))


def encode(source: Source, schema: Schema, show_values: bool = False, seed: int | None = None) -> EncodedTable:
    """Read a table by its schema.

    Parameters
    ----------
    source
        The table.
    schema
        Its schema.
    show_values
        Let errors quote the values they are about.
    seed
        Draws a row of each person, where the schema asks for that.

    Raises
    ------
    TableError
        The table does not fit the schema; the message names columns, counts and line numbers.
    """
    columns, rows = select_rows(source, schema, seed=seed)
    return with_objective(encode_rows(source, columns, rows, schema, show_values), source, columns, schema)


def encode_rows(
    source: Source,
    columns: Mapping[str, CodedColumn],
    rows: NDArray[np.int64],
    schema: Schema,
    show_values: bool = False,
) -> EncodedTable:
    """Encode what `select_rows` chose."""
    reader = Reader.of(source, rows, schema, show_values)
    axes, places = encode_quasi(reader, columns, schema)
    sensitive = list(encode_sensitive(reader, columns, schema))
    sensitive += list(_encode_joints(sensitive, schema))
    if schema.counts_persons:
        sensitive += list(_encode_persons(read_persons(source, schema, rows), sensitive, schema))
    domains, codes = tuple(domain for domain, _ in sensitive), tuple(column for _, column in sensitive)
    return EncodedTable(tuple(axes), tuple(places), domains, codes, rows)


def encode_quasi(
    reader: Reader, columns: Mapping[str, CodedColumn], schema: Schema
) -> tuple[list[Axis], list[NDArray[np.int32]]]:
    """The axes of all quasi-identifiers, and for each axis the place of every row."""
    axes: list[Axis] = []
    places: list[NDArray[np.int32]] = []
    for quasi in schema.quasi:
        for axis, place in build_axes(reader, columns[quasi.column], quasi, schema):
            axes.append(axis)
            places.append(place)
    if schema.recode == "suppress":  # the loss is the share of hidden cells, each position of digits being one
        whole = sum((axis.column_weight for axis in axes), Fraction(0))
        axes = [replace(axis, share=axis.column_weight / whole) for axis in axes]
    return axes, places


def with_objective(
    table: EncodedTable, source: Source, columns: Mapping[str, CodedColumn], schema: Schema
) -> EncodedTable:
    """The table with what the schema has optimized: for methods alone, as the file of queries may be read by few."""
    if schema.objective == "queries":
        reader = Reader.of(source, table.rows, schema)
        return replace(table, objective=read_queries(schema, table.axes, reader, columns))
    if schema.target is None:
        return table
    names = [domain.column for domain in table.domains]
    if schema.columns[schema.target] == "sensitive":
        given = table.codes[names.index(schema.target)]
    else:
        given = CodedColumn.of(one_spelling(source.column(schema.target).gather(table.rows))).codes
    return replace(table, objective=label_rows(schema.target, given))


def encode_sensitive(
    reader: Reader, columns: Mapping[str, CodedColumn], schema: Schema
) -> Iterator[tuple[Domain, NDArray[np.int32]]]:
    """The domain of each sensitive attribute, and the code of every row."""
    for sensitive in schema.sensitive:
        form, codes, missing = build_domain(reader, columns[sensitive.column], sensitive)
        yield Domain(sensitive.column, form, missing), codes


def _encode_joints(
    sensitive: Sequence[tuple[Domain, NDArray[np.int32]]], schema: Schema
) -> Iterator[tuple[Domain, NDArray[np.int32]]]:
    """The domain of each joint, and the code of every row, from those of the sensitive attributes."""
    known = {domain.column: (domain.form, codes) for domain, codes in sensitive}
    for joint in schema.joint:
        forms, codes = zip(*(known[column] for column in joint.columns), strict=True)
        form, combined = build_joint(joint, forms, codes)
        yield Domain(joint.name, form, False, is_joint=True), combined


def _encode_persons(
    persons: NDArray[np.int32], sensitive: Sequence[tuple[Domain, NDArray[np.int32]]], schema: Schema
) -> Iterator[tuple[Domain, NDArray[np.int32]]]:
    """The persons, and for each capped attribute the persons with its values; the code of every row."""
    assert schema.unit is not None
    yield Domain(schema.unit, Equal().form(int(persons.max()) + 1), False, of_persons=True), persons
    for asked, (domain, codes) in zip(schema.sensitive, sensitive, strict=False):
        if asked.caps is not None:
            paths = domain.form.paths if asked.caps.levels and isinstance(domain.form, Tree) else None
            found, holders = code_holders(persons, codes, domain.size, paths)
            form = Equal().form(len(holders.paths))
            yield Domain(f"{asked.column} in persons", form, False, of_persons=True, holders=holders), found
