"""The COUNT queries of a user, from a comma-separated file: a column for each attribute, a query on each line."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tclose.errors import SchemaError, TableError
from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.decimals import is_bounded
from tclose.schema.guarding import guarded, read_small
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.table.axes import Axis, SpanAxis, TreeAxis
from tclose.table.coded import CodedColumn
from tclose.table.line_cells import cells
from tclose.table.reading import Reader, texts
from tclose.table.workload import Bound, Mask, Part, Workload

Wanted = NDArray[np.bool_]
ParsePoint = Callable[[str], Fraction]
MOST_QUERIES, MOST_PARTS = 10_000, 50_000


class UnreadCellError(Exception):
    """A cell of the file; its text says what is expected, and never what stands there."""


@dataclass(frozen=True, eq=False)
class AskedColumn:
    """How the cells of a column are read.

    Attributes
    ----------
    bounds
        Of a quasi-identifier: the bounds of each alternative that a cell names; no two of them overlap.
    wanted
        Of a sensitive attribute: which of its distinct values a cell names.
    """

    name: str
    bounds: Callable[[str], list[list[Bound]]] | None = None
    wanted: Callable[[str], Wanted] | None = None


def read_workload(
    path: Path, schema: Schema, axes: Sequence[Axis], reader: Reader, columns: Mapping[str, CodedColumn]
) -> Workload:
    """The queries of a file, on the axes of a table.

    Raises
    ------
    SchemaError
        The file is not there, is no table, or names a column that cannot be asked about.
    TableError
        A cell is not understood. The message names the file, the line and the column.
    """
    lines = _lines(path)
    names = lines[0][1]
    asked = [_column(name, schema, axes, reader, columns) for name in _checked(names, path, schema)]
    sensitive = [column.name for column in asked if column.wanted is not None]
    queries = [list(_parts(line, number, asked, sensitive, path)) for number, line in lines[1:]]
    if (n_parts := sum(map(len, queries))) > MOST_PARTS:
        raise TableError(
            f"Workload '{path.name}': its queries fall into {n_parts:,} intervals, and {MOST_PARTS:,} can be taken. "
            "Take fewer queries, or name groups of a hierarchy instead of many values."
        )
    codes = np.empty((len(reader.rows), len(sensitive)), np.int32)
    for column, name in zip(codes.T, sensitive, strict=True):
        column[:] = columns[name].codes
    return Workload.of(queries, codes)


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """The lines that are not empty, with their numbers; the first has the names."""
    text = read_small(path, "Workload")
    reader = csv.reader(io.StringIO(text), strict=True)
    lines = guarded(
        f"Workload '{path.name}' is not readable as comma-separated text",
        lambda: [(reader.line_num, [cell.strip() for cell in line]) for line in reader if any(map(str.strip, line))],
        SchemaError,
    )
    if len(lines) < 2:
        raise SchemaError(f"Workload '{path.name}' has no query: the first line names columns, each other is a query.")
    if len(lines) > MOST_QUERIES + 1:
        raise SchemaError(
            f"Workload '{path.name}' has {len(lines) - 1:,} queries, and {MOST_QUERIES:,} can be taken. Take some."
        )
    width = len(lines[0][1])
    for number, line in lines:
        if len(line) != width:
            raise SchemaError(
                f"Workload '{path.name}', line {number}: it has {len(line)} cells, and the first line {width}."
            )
    return lines


def _checked(names: list[str], path: Path, schema: Schema) -> list[str]:
    """The names of the first line, each a column that can be asked about, named once."""
    for name in names:
        if schema.columns.get(name) not in ("quasi", "sensitive"):
            raise SchemaError(
                f"Workload '{path.name}': '{name}' is no quasi-identifier and no sensitive attribute of the schema."
            )
        if names.count(name) > 1:
            raise SchemaError(f"Workload '{path.name}': the column '{name}' is there twice.")
    return names


def _parts(line: list[str], number: int, asked: list[AskedColumn], sensitive: list[str], path: Path) -> Iterator[Part]:
    """The parts of a query: every combination of what its cells name."""
    bounds: list[list[list[Bound]]] = []
    masks: list[Mask] = []
    for cell, column in zip(line, asked, strict=True):
        if not cell:
            continue
        try:
            if column.wanted is not None:
                masks.append((sensitive.index(column.name), column.wanted(cell)))
            elif column.bounds is not None:
                bounds.append(column.bounds(cell))
        except UnreadCellError as error:
            raise TableError(f"Workload '{path.name}', line {number}, column '{column.name}': {error}") from None
    if math.prod(map(len, bounds)) > MOST_PARTS:
        raise TableError(f"Workload '{path.name}', line {number}: it names too many combinations of values.")
    for combination in product(*bounds):
        yield [bound for of_column in combination for bound in of_column], masks


def _column(
    name: str, schema: Schema, axes: Sequence[Axis], reader: Reader, columns: Mapping[str, CodedColumn]
) -> AskedColumn:
    sensitive = next((each for each in schema.sensitive if each.column == name), None)
    if sensitive is not None:
        return AskedColumn(name, wanted=_of_values(sensitive, schema, reader, columns[name]))
    quasi = next(each for each in schema.quasi if each.column == name)
    own = [(place, axis) for place, axis in enumerate(axes) if axis.column == name]
    return AskedColumn(name, bounds=_of_axes(quasi, own, schema))


def _of_axes(quasi: Quasi, own: list[tuple[int, Axis]], schema: Schema) -> Callable[[str], list[list[Bound]]]:
    """Reads the cells of a quasi-identifier."""
    place, axis = own[0]
    if isinstance(axis, SpanAxis):
        point = _day if quasi.kind == "date" else _number(schema)
        return lambda cell: [[(place, *_cells_within(axis, *ends))] for ends in _disjoint(cell, point)]
    if axis.position is not None:
        return lambda cell: [_digits(cell, own)]
    if quasi.kind in ("numeric", "date"):  # under suppression, where every value is a leaf
        read = _number(schema) if quasi.kind == "numeric" else _day
        plain = _plain_number if quasi.kind == "numeric" else _day
        points = [plain(axis.hierarchy.labels[node]) for node in axis.leaves.tolist()]
        return lambda cell: _runs(place, _among(points, cell, read))
    return lambda cell: _runs(place, _below(axis, cell, quasi))


def _of_values(sensitive: Sensitive, schema: Schema, reader: Reader, column: CodedColumn) -> Callable[[str], Wanted]:
    """Reads the cells of a sensitive attribute."""
    labels = texts(column.values).to_list()
    tree = sensitive.hierarchy
    if isinstance(tree, Hierarchy):
        return lambda cell: _which(labels, _leaves_below(tree, cell))
    if sensitive.is_measured:
        numbers = reader.numbers(column)
        points: list[Fraction | None] = [None] * len(labels)
        unit = 10**numbers.known.places
        for place, each in zip(np.flatnonzero(~numbers.missing).tolist(), numbers.known.integers.tolist(), strict=True):
            points[place] = Fraction(each, unit)
        return lambda cell: _among(points, cell, _number(schema))
    return lambda cell: _which(labels, _named(cell, labels))


def _which(labels: Sequence[str | None], named: set[str]) -> Wanted:
    return np.array([label in named for label in labels], bool)


def _disjoint(cell: str, point: ParsePoint) -> list[tuple[Fraction | None, Fraction | None]]:
    """The intervals that a cell names, those that meet being one; None is an open end."""
    ends = sorted(
        (_interval(each, point) for each in cell.split("|")), key=lambda each: (each[0] is not None, each[0] or 0)
    )
    found = ends[:1]
    for low, high in ends[1:]:
        last_low, last_high = found[-1]
        if last_high is None or low is None or low <= last_high:
            found[-1] = (last_low, None if last_high is None or high is None else max(last_high, high))
        else:
            found.append((low, high))
    return found


def _interval(text: str, point: ParsePoint) -> tuple[Fraction | None, Fraction | None]:
    """`20..45`, `20..`, `..45`, or one value."""
    first, dots, last = (part.strip() for part in text.partition(".."))
    if not dots:
        return point(first), point(first)
    low, high = point(first) if first else None, point(last) if last else None
    if low is not None and high is not None and low > high:
        raise UnreadCellError("the interval ends before it begins.")
    return low, high


def _number(schema: Schema) -> ParsePoint:
    """Reads a number with the signs of the schema."""

    def read(text: str) -> Fraction:
        if schema.thousands:
            text = text.replace(schema.thousands, "")
        if schema.decimal == ",":
            text = text.replace(".", "?").replace(",", ".")
        return _plain_number(text)

    return read


def _plain_number(text: str) -> Fraction:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or not is_bounded(number):
        raise UnreadCellError("a number or an interval such as 20..45 is expected.")
    return Fraction(number)


def _day(text: str) -> Fraction:
    try:
        return Fraction((date.fromisoformat(text) - date(1970, 1, 1)).days)
    except ValueError:
        raise UnreadCellError("a date such as 2021-03-31, or two with .. between, are expected.") from None


def _cells_within(axis: SpanAxis, low: Fraction | None, high: Fraction | None) -> tuple[float, float]:
    """The cells of a line from `low` to `high`, both included."""
    if not len(axis.numbers):
        return 0.0, 0.0
    unit, begin = 10**axis.decimals, int(axis.numbers[0])
    last = int(cells(axis)[len(axis.numbers) - 1])
    first = 0 if low is None else min(max(math.ceil(low * unit) - begin, 0), last + 1)
    after = last + 1 if high is None else min(max(math.floor(high * unit) - begin + 1, 0), last + 1)
    return float(first), float(max(after, first))


def _among(points: Sequence[Fraction | None], cell: str, point: ParsePoint) -> Wanted:
    """Which values lie within one of the intervals of a cell; a missing one never does."""
    ends = _disjoint(cell, point)

    def inside(value: Fraction | None) -> bool:
        return value is not None and any(
            (low is None or low <= value) and (high is None or value <= high) for low, high in ends
        )

    return np.array([inside(value) for value in points], bool)


def _below(axis: TreeAxis, cell: str, quasi: Quasi) -> Wanted:
    """Which leaves lie below what a cell names."""
    nodes, (first, last) = axis.hierarchy.labels, axis.below
    form = axis.form.relabel if axis.form is not None else str
    wanted = np.zeros(len(axis.leaves), bool)
    for label in _alternatives(cell, {*nodes, *map(form, nodes), *_groups(quasi)}):
        found = [node for node, name in enumerate(nodes) if label in (name, form(name))]
        for node in found:
            wanted[first[node] : last[node] + 1] = True
        if found:
            continue
        leaves = [nodes[node] for node in axis.leaves.tolist()]
        if isinstance(quasi.hierarchy, Hierarchy) and label in _groups(quasi):  # under suppression the axis has none
            wanted |= _which(leaves, _leaves_below(quasi.hierarchy, label))
        elif quasi.kind == "text" and any(leaf.startswith(label.rstrip("*")) for leaf in leaves if label[-1:] == "*"):
            wanted |= np.array([leaf.startswith(label.rstrip("*")) for leaf in leaves], bool)
        else:
            raise UnreadCellError("no value and no group of the column has this name.")
    return wanted


def _groups(quasi: Quasi) -> tuple[str, ...]:
    """The labels of its hierarchy, if it is given and not built."""
    return quasi.hierarchy.labels if isinstance(quasi.hierarchy, Hierarchy) else ()


def _alternatives(cell: str, known: set[str]) -> list[str]:
    """The labels of a cell: itself, if it is one, else those between its bars."""
    return [cell] if cell in known else [label.strip() for label in cell.split("|")]


def _leaves_below(tree: Hierarchy, cell: str) -> set[str]:
    """The leaves of a hierarchy below what a cell names."""
    found: set[str] = set()
    for label in _alternatives(cell, set(tree.labels)):
        inside = np.array([name == label for name in tree.labels])
        if not inside.any():
            raise UnreadCellError("no value and no group of its hierarchy has this name.")
        for node in range(1, len(inside)):  # in pre-order: parents come before
            inside[node] |= inside[tree.parents[node]]
        found |= {tree.labels[node] for node in tree.leaf_nodes.tolist() if inside[node]}
    return found


def _named(cell: str, labels: list[str | None]) -> set[str]:
    """The values that a cell names."""
    known = {label for label in labels if label is not None}
    named = set(_alternatives(cell, known))
    if not named <= known:
        raise UnreadCellError("no value of the column has this name.")
    return named


def _digits(cell: str, own: list[tuple[int, Axis]]) -> list[Bound]:
    """Position by position, a star being any."""
    if len(cell) != len(own):
        raise UnreadCellError(f"{len(own)} characters are expected, a * for each that may be any.")
    bounds: list[Bound] = []
    for character, (place, axis) in zip(cell, own, strict=True):
        if character != "*":
            assert isinstance(axis, TreeAxis)
            leaves = [axis.hierarchy.labels[node] for node in axis.leaves.tolist()]
            found = leaves.index(character) if character in leaves else -1
            bounds.append((place, float(found), float(found + 1)) if found >= 0 else (place, 0.0, 0.0))
    return bounds


def _runs(place: int, wanted: Wanted) -> list[list[Bound]]:
    """The stretches of leaves that are wanted, each an alternative."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]]).astype(np.int8)))
    return [[(place, float(low), float(high))] for low, high in zip(edges[::2], edges[1::2], strict=True)]
