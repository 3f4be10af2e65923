"""A release beside its original: what every released row covers on the axes of the original.

Only the values of the release are read, so that it may come from any tool, in any order and with
rows left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.evaluation.utility.covered_spans import ReadPoint, TreeCovers, day_reader, line_covers, number_reader
from tclose.release.formulas import read_released
from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.schema.written_forms import DateForm
from tclose.table.axes import Axis, SpanAxis, TreeAxis
from tclose.table.coded import CodedColumn, codes_of
from tclose.table.encode import EncodedTable, Spans, encode_rows
from tclose.table.reading import Reader, code, float_texts, texts
from tclose.table.row_selection import select_rows
from tclose.table.source import Source, read

Integers = NDArray[np.int64]
Places = NDArray[np.int32]
UNKNOWN = "A release of another kind cannot be measured; see docs/utility.md for what is understood."


@dataclass(frozen=True, eq=False)
class ReadBack:
    """A release and its original as arrays.

    Attributes
    ----------
    schema
        The schema of both.
    table
        The original.
    labels
        The class of each released row; a class is a distinct combination of released quasi-identifiers.
    spans
        For each axis of `table`, the first and last place that each class covers.
    codes
        For each sensitive attribute, the code of each released row in the domain of the original.
    source
        The release as it was given.
    original
        The original as it was given.
    aligned
        Whether row i of the release is row i of `table`.
    """

    schema: Schema
    table: EncodedTable = field(repr=False)
    labels: Integers = field(repr=False)
    spans: Spans = field(repr=False)
    codes: tuple[NDArray[np.int32], ...] = field(repr=False)
    source: Source = field(repr=False)
    original: Source = field(repr=False)
    aligned: bool = False

    @property
    def n_dropped(self) -> int:
        """Rows of the original that are not in the release."""
        return len(self.table) - len(self.labels)

    @cached_property
    def sizes(self) -> Integers:
        """The rows of each class."""
        return np.bincount(self.labels, minlength=len(self.spans[0][0]))

    @cached_property
    def hidden(self) -> NDArray[np.bool_]:
        """For each axis and class, whether it tells nothing: it covers every place, and there are several."""
        return np.array(
            [
                (low == 0) & (high == axis.size - 1) & (axis.size > 1)
                for axis, (low, high) in zip(self.table.axes, self.spans, strict=True)
            ]
        )

    @property
    def n_suppressed(self) -> int:
        """Rows that are left out, or in which every quasi-identifier is hidden."""
        return self.n_dropped + int(self.sizes[self.hidden.all(axis=0)].sum())


def read_release(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    aligned: bool = False,
    classes: Integers | None = None,
    picked: Integers | None = None,
) -> ReadBack:
    """Read a release beside its original.

    Parameters
    ----------
    original, released
        Dataframes or paths.
    schema
        The schema of the original; columns of the release that it does not name are passed over.
    aligned
        The rows of the release stand in the order of the original.
    classes
        The class of each row of the original that is not dropped, where it is known: then means can
        be measured too.
    picked
        The rows of the original that `unit_rows = "one"` kept, where that is known.

    Raises
    ------
    TableError
        A released value is not understood, or covers nothing of the original; the message names
        the column and counts rows.

    Examples
    --------
    >>> import polars as pl
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}})
    >>> table = pl.DataFrame({"age": [21, 24, 30, 38]})
    >>> found = read_release(table, pl.DataFrame({"age": ["[30, 40[", "<30", "<30", "[30, 40["]}), schema)
    >>> [ends.tolist() for ends in found.spans[0]], found.sizes.tolist()
    ([[0, 2], [1, 3]], [2, 2])
    """
    source = read(original, schema.delimiter, schema.encoding, header=schema.header)
    other = read_released(released, schema, None)
    schema = schema.resolve(source.names)
    columns, rows = select_rows(source, schema, picked)
    table = encode_rows(source, columns, rows, schema)
    _check_rows(table, other, aligned)
    reader = Reader.of(other, np.arange(other.n_rows), schema)
    covers = _Covers(schema, Reader.of(source, rows, schema), reader, columns, table, classes)
    keys, spans = np.zeros(other.n_rows, np.int64), []
    for quasi in schema.quasi:
        of_rows, by_row = covers.read(quasi)
        keys = np.unique(keys * (int(of_rows.max()) + 1) + of_rows, return_inverse=True)[1].astype(np.int64)
        spans += by_row
    first = np.unique(keys, return_index=True)[1]
    if aligned:
        _check_covered(table, spans)
    return ReadBack(
        schema,
        table,
        keys,
        [(low[first], high[first]) for low, high in spans],
        _sensitive_codes(reader, columns, table, schema),
        other,
        source,
        aligned,
    )


def _check_rows(table: EncodedTable, other: Source, aligned: bool) -> None:
    if not other.n_rows:
        raise TableError("The release has no rows.")
    if other.n_rows > len(table):
        raise TableError(f"The release has {other.n_rows} rows, more than the {len(table)} of its original.")
    if aligned and other.n_rows < len(table):
        raise TableError(
            f"The release has {other.n_rows} rows and its original {len(table)}: they cannot stand in one order. "
            "Leave `aligned` out."
        )


def _check_covered(table: EncodedTable, spans: Spans) -> None:
    """An aligned release covers what stood in each row."""
    for axis, places, (low, high) in zip(table.axes, table.places, spans, strict=True):
        outside = int(((places < low) | (places > high)).sum())
        if outside:
            raise TableError(
                f"Column '{axis.column}': in {outside} rows what is released does not cover the original. "
                "Are the rows in the order of the original? If not, leave `aligned` out."
            )


@dataclass(frozen=True, eq=False)
class _Covers:
    """What each row of the release covers, one quasi-identifier after the other."""

    schema: Schema
    before: Reader  # of the original
    reader: Reader  # of the release
    columns: Mapping[str, CodedColumn]  # of the original
    table: EncodedTable
    classes: Integers | None
    written: dict[str, dict[str, str]] = field(default_factory=dict)  # labels by how they are released

    def read(self, quasi: Quasi) -> tuple[Integers, Spans]:
        """A number for what each row shows, and on each axis of the column the span of each row."""
        places = [place for place, axis in enumerate(self.table.axes) if axis.column == quasi.column]
        axes = [self.table.axes[place] for place in places]
        names = self.reader.source.names
        bounds = tuple(f"{quasi.column}_{end}" for end in ("low", "high"))
        if quasi.column not in names and all(name in names for name in bounds) and isinstance(axes[0], SpanAxis):
            return self._bounds(quasi, axes[0], bounds, places[0])
        if quasi.column not in names:
            raise TableError(f"The release has no column '{quasi.column}', a quasi-identifier of the schema.")
        shown = code(self.reader.source.column(quasi.column), (), numeric=False)
        if quasi.publish == "mean" and self.schema.recode == "generalize":
            return shown.codes.astype(np.int64), self._means(quasi, places)
        labels = self._labels(shown, quasi)
        if isinstance(axes[0], TreeAxis) and axes[0].position is not None:
            spans = self._digits(labels.values.to_list(), axes)
        else:
            spans = [self._one(labels.values.to_list(), axes[0], quasi)]
        for place, found in zip(places, spans, strict=True):
            self._check(labels, found, place)
        rows = [(labels.spread(found[:, 0].copy()), labels.spread(found[:, 1].copy())) for found in spans]
        return labels.codes.astype(np.int64), rows

    def _labels(self, shown: CodedColumn, quasi: Quasi) -> CodedColumn:
        """The released values as a text file has them; a spelling of missing that is no label is missing."""
        values, form = shown.values, self.schema.written_form(quasi)
        is_typed = values.dtype != pl.String and form is not None
        if quasi.kind == "date" and isinstance(values.dtype, pl.Datetime):
            values = values.dt.date()
        values = texts(values.alias(quasi.column))
        if is_typed and form is not None:
            written = [None if value is None else form.relabel(value) for value in values]
            values = pl.Series(quasi.column, written, dtype=pl.String)
        spelled = [value for value in self.schema.missing_values if value != "*"]
        return shown.with_values(values.set(values.is_in(spelled), None) if spelled else values)

    def _one(self, labels: list[str | None], axis: Axis, quasi: Quasi) -> Places:
        if isinstance(axis, TreeAxis):
            plain = [self._plain(label, axis) for label in labels]
            return TreeCovers(axis, prefixes=quasi.kind == "text").spans(plain)
        between = DateForm(quasi.format).between
        return line_covers(labels, self._values(quasi), axis.missing, self._point(quasi), between)

    def _plain(self, label: str | None, axis: TreeAxis) -> str | None:
        """A label of numbers or days, perhaps written in the form of the schema, as the tree has it."""
        if label is None or axis.form is None:
            return label
        return self._relabelled(axis).get(label, label)

    def _relabelled(self, axis: TreeAxis) -> dict[str, str]:
        if axis.column not in self.written:
            assert axis.form is not None
            self.written[axis.column] = {axis.form.relabel(label): label for label in axis.hierarchy.labels}
        return self.written[axis.column]

    def _digits(self, labels: list[str | None], axes: list[Axis]) -> list[Places]:
        """Position by position; a star for the whole text hides all of them."""
        trees = [TreeCovers(axis) for axis in axes if isinstance(axis, TreeAxis)]
        width = len(trees)
        spread = ["*" * width if label == "*" else label for label in labels]
        wrong = np.array([label is not None and len(label) != width for label in spread])
        found = []
        for position, tree in enumerate(trees):
            spans = tree.spans([label and (label[position : position + 1] or "*") for label in spread])
            spans[wrong] = -1
            found.append(spans)
        return found

    def _values(self, quasi: Quasi) -> NDArray[np.float64]:
        """The values of the original at each place of a line."""
        column = self.columns[quasi.column]
        if quasi.kind == "date":
            days = self.before.dates(column, quasi.format).drop_nulls().to_physical()
            return np.unique(days.to_numpy().astype(np.float64))
        known = self.before.numbers(column).known
        power = 10**known.places
        return np.array([number / power for number in np.unique(known.integers).tolist()])

    def _point(self, quasi: Quasi) -> ReadPoint:
        if quasi.kind == "date":
            return day_reader(quasi.format)
        return number_reader(self.schema.decimal, self.schema.thousands if quasi.grouped else "")

    def _bounds(self, quasi: Quasi, axis: SpanAxis, names: tuple[str, ...], place: int) -> tuple[Integers, Spans]:
        """Two columns: an end that is empty is open, two are a missing value, or the whole if there are none."""
        point = self._point(quasi)
        low, high = (self._labels(code(self.reader.source.column(name), (), numeric=False), quasi) for name in names)
        pairs, back = np.unique(np.stack([low.codes, high.codes]), axis=1, return_inverse=True)
        labels: list[str | None] = []
        for first, last in pairs.T.tolist():
            left, right = low.values[first], high.values[last]
            alike = left == right and left in (None, "*")
            labels.append(left if alike else f"[{left or '<'}; {right or '>'}]")
        spans = line_covers(labels, self._values(quasi), axis.missing, point)
        of_pairs = CodedColumn(pl.Series(names[0], np.arange(len(labels))), back)
        self._check(of_pairs, spans, place)
        return back.astype(np.int64), [(spans[back, 0], spans[back, 1])]

    def _means(self, quasi: Quasi, places: list[int]) -> Spans:
        """A mean does not tell what it stands for; the rows of its class do."""
        if self.classes is None:
            raise TableError(
                f"Column '{quasi.column}' is published as means, which do not tell what they cover. Give the Release "
                "itself, or publish intervals."
            )
        labels = np.unique(self.classes, return_inverse=True)[1]
        spans = self.table.spans(labels.astype(np.int64), int(labels.max()) + 1)
        return [(spans[place][0][labels], spans[place][1][labels]) for place in places]

    def _check(self, labels: CodedColumn, spans: Places, place: int) -> None:
        """Every value is understood and covers some value of the original."""
        bad = spans[:, 0] == -1
        if bad.any():
            raise self.reader.refuse(labels, bad, "are not understood", UNKNOWN)
        below = np.append(0, np.cumsum(np.bincount(self.table.places[place], minlength=self.table.axes[place].size)))
        empty = (spans[:, 0] < 0) | (below[spans[:, 1] + 1] == below[np.maximum(spans[:, 0], 0)])
        if empty.any():
            fix = "Is it a release of this table?"
            raise self.reader.refuse(labels, empty, "cover no value of the original", fix)


def _sensitive_codes(
    reader: Reader, columns: Mapping[str, CodedColumn], table: EncodedTable, schema: Schema
) -> tuple[NDArray[np.int32], ...]:
    """The codes of the released sensitive attributes; those of joints come after these in a table."""
    found = []
    for sensitive, codes in zip(schema.sensitive, table.codes, strict=False):
        if sensitive.column not in reader.source.names:
            raise TableError(f"The release has no column '{sensitive.column}', a sensitive attribute of the schema.")
        given = reader.source.column(sensitive.column)
        after = code(given, schema.missing_values, sensitive.is_measured, schema.decimal)
        found.append(_as_before(reader, columns[sensitive.column], codes, after, sensitive))
    return tuple(found)


def _as_before(
    reader: Reader, before: CodedColumn, codes: NDArray[np.int32], after: CodedColumn, sensitive: Sensitive
) -> NDArray[np.int32]:
    """The codes that the values have in the original, whatever their type there."""
    of_values = np.zeros(len(before.values), np.int32)
    of_values[before.codes] = codes
    keys = [texts(column.values) for column in (before, after)]
    plain = [
        reader.plain_texts(key) if key.dtype == column.values.dtype else key
        for key, column in zip(keys, (before, after), strict=True)
    ]
    numbers = [key.cast(pl.Float64, strict=False) for key in plain]
    if sensitive.is_measured and all(n.null_count() == k.null_count() for n, k in zip(numbers, keys, strict=True)):
        keys = [float_texts(number) for number in numbers]
    known, released = (key.fill_null("") for key in keys)
    first = known.arg_unique()  # 5 and 5.0 are one
    found = codes_of(released, known.gather(first))
    if (found < 0).any():
        fix = "Sensitive attributes must be released as they are."
        raise reader.refuse(after, found < 0, "do not stand in the original", fix)
    return after.spread(of_values[first.to_numpy()][found])
