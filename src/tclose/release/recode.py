"""From a partition to released columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.release.column_types import as_before, as_released, by_values
from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.decimals import text
from tclose.schema.schema import Schema
from tclose.schema.written_forms import DateForm, NumberForm
from tclose.table.axes import Axis, SpanAxis, TreeAxis
from tclose.table.coded import FEW, CodedColumn, as_enum
from tclose.table.encode import EncodedTable, Spans
from tclose.table.partition import Partition
from tclose.table.reading import float_texts, one_spelling, type_name
from tclose.table.sensitive import spelled_once
from tclose.table.source import Source

Places = NDArray[np.int32]
PlaceSpan = tuple[Places, Places]


def recode(
    table: EncodedTable,
    partition: Partition,
    source: Source,
    columns: Mapping[str, CodedColumn],
    schema: Schema,
    spans: Spans | None = None,
    texts: bool = False,
) -> pl.DataFrame:
    """All released columns, one row a row of `table`, in its order; text as Enum, which is a few bytes a row.

    Parameters
    ----------
    table
        The encoded rows.
    partition
        Their classes.
    source
        Where they came from: it gives the order of columns, and those that are kept.
    columns
        The quasi-identifiers and sensitive attributes of the same rows.
    schema
        What becomes of each column.
    spans
        Those of the classes, where they are known already.
    texts
        Leave quasi-identifiers as text: sooner done where rows are few.
    """
    spans = spans or table.spans(partition.labels, partition.n_classes)
    by_column: dict[str, list[int]] = {}
    for place, axis in enumerate(table.axes):
        by_column.setdefault(axis.column, []).append(place)
    quasi = {column.column: column for column in schema.quasi}
    released: list[pl.Series] = []
    roles = schema.columns
    sensitive = {column.column: column for column in schema.sensitive}
    for name in source.names:
        role = roles[name]
        if role == "quasi":
            places = by_column[name]
            axes, covers = [table.axes[p] for p in places], [spans[p] for p in places]
            form = table.axes[places[0]].form
            of_classes = _publish(quasi[name], axes, covers, partition, table.places[places[0]], texts, form)
            if not texts:
                is_shown = _is_shown(quasi[name], axes, covers, of_classes)
                before = columns[name].values.dtype if is_shown else None
                of_classes = [_retyped(column, before, quasi[name].kind, schema, form) for column in of_classes]
            released += [column.gather(partition.labels) for column in of_classes]
        elif role == "sensitive":
            values = released_values(columns[name].values, sensitive[name], schema)
            released.append(values.gather(columns[name].codes))
        elif role == "keep":
            released.append(kept_values(source.column(name).gather(table.rows), schema))
    return pl.DataFrame(released)


def released_values(values: pl.Series, sensitive: Sensitive, schema: Schema) -> pl.Series:
    """What is released for each of the values of a sensitive attribute, which are all that it has."""
    told = spelled_once(_as_text(values, sensitive), sensitive, schema)
    return _own(_as_left(one_spelling(told), schema))


def kept_values(column: pl.Series, schema: Schema) -> pl.Series:
    """What is released for a kept column, all of it."""
    return _own(_as_left(one_spelling(column), schema))


def _is_shown(quasi: Quasi, axes: list[Axis], spans: list[PlaceSpan], of_classes: list[pl.Series]) -> bool:
    """Whether the released texts show every value as it was; itself a function of these texts and the schema.

    A mean does not tell whether all values of its class are alike. In one column an interval is no number and no
    date, so that the column stays text by itself. Numbers beside missing values are not enough: a type may tell how
    those were written.
    """
    if not isinstance(axes[0], SpanAxis):
        return quasi.finest is None and all(bool((low == high).all()) for low, high in spans)
    if quasi.publish == "mean" or (not axes[0].dates and any(column.null_count() for column in of_classes)):
        return False
    return all(column.equals(of_classes[0], check_names=False) for column in of_classes[1:])


def _as_left(column: pl.Series, schema: Schema) -> pl.Series:
    """Numbers in a type that those which are released ask for, where a row left out may have made it wider."""
    return by_values(column) if schema.may_leave_rows_out else column


def _retyped(
    column: pl.Series, before: pl.DataType | None, kind: str, schema: Schema, form: NumberForm | DateForm | None
) -> pl.Series:
    """The released texts in the type of the original (`before`), or, where that may tell of what is hidden, in theirs.

    A row that is left out may have made its column one of wider or broken numbers.
    """
    column = as_enum(column)
    if before is None:
        return as_released(column, kind, form)
    if schema.may_leave_rows_out and before.is_numeric():
        return as_released(column, "numeric", form)
    return as_before(column, before, kind, form)


def _as_text(values: pl.Series, sensitive: Sensitive) -> pl.Series:
    """Where the domain is made of texts, a float is released as its text: 1, not 1.0."""
    named = sensitive.order is not None or sensitive.hierarchy is not None or sensitive.matrix is not None
    return float_texts(values) if named and values.dtype.is_float() else values


def _own(column: pl.Series) -> pl.Series:
    """The column in memory of its own, which holds nothing but released values, and them in no telling order."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise TableError(f"Column '{column.name}' is of type {type_name(column)}. Flatten it before it is released.")
    if column.dtype == pl.Binary:
        coded = CodedColumn.of(column)
        return pl.Series(column.name, coded.values.to_list(), dtype=pl.Binary).gather(coded.codes)
    categories = column.dtype in (pl.Categorical, pl.Enum)
    return as_enum(column.cast(pl.String) if categories else column)


def _publish(
    quasi: Quasi,
    axes: list[Axis],
    spans: list[PlaceSpan],
    partition: Partition,
    places: Places,
    texts: bool,
    form: NumberForm | DateForm | None,
) -> list[pl.Series]:
    """The released values of one quasi-identifier, one a class."""
    axis, span = axes[0], spans[0]
    if isinstance(axis, TreeAxis) and axis.position is not None:
        digits = [_by_class(each, cover, texts) for each, cover in zip(axes, spans, strict=True)]
        return [pl.select(pl.concat_str(digits)).to_series().alias(quasi.column)]
    if isinstance(axis, SpanAxis) and quasi.publish == "bounds":
        low, high, back = _distinct(span)
        ends = axis.bounds(low, high)
        return [
            pl.Series(name, end, dtype=pl.String).gather(back) for name, end in zip(quasi.released, ends, strict=True)
        ]
    if isinstance(axis, SpanAxis) and quasi.publish == "mean":
        means = [mean and form.relabel(mean) if form else mean for mean in _means(axis, span, partition, places)]
        return [pl.Series(quasi.column, means, dtype=pl.String)]
    return [_by_class(axis, span, texts).alias(quasi.column)]


def _by_class(axis: Axis, span: PlaceSpan, texts: bool) -> pl.Series:
    low, high, back = _distinct(span)
    labels = pl.Series(axis.labels(low, high), dtype=pl.String)
    return (labels if texts else as_enum(labels)).gather(back)


def _distinct(span: PlaceSpan) -> tuple[Places, Places, NDArray[Any]]:
    """The distinct spans, so that each label is made once, and which of them each class has."""
    low, high = span
    width = int(high.max()) + 1
    pairs = low.astype(np.int64) * width + high
    if len(pairs) <= FEW:
        distinct, back = np.unique(pairs, return_inverse=True)
    else:
        coded = CodedColumn.of(pl.Series(pairs))
        distinct, back = coded.values.to_numpy(), coded.codes
    return (distinct // width).astype(np.int32), (distinct % width).astype(np.int32), back


def _means(axis: SpanAxis, span: PlaceSpan, partition: Partition, places: Places) -> list[str | None]:
    """The mean of each class, to two decimals more than its own values have: other classes have no say in it."""
    last = len(axis.numbers)
    sizes = np.bincount(partition.labels, minlength=partition.n_classes)
    largest = int(np.abs(axis.numbers).max(initial=0))
    is_long = axis.numbers.dtype == object or axis.decimals > 18 or largest * len(places) * 200 >= 2**63
    numbers = np.append(axis.numbers, 0).astype(object if is_long else np.int64)
    decimals = np.zeros(partition.n_classes, np.int64)
    np.maximum.at(decimals, partition.labels, _decimals(numbers, axis.decimals)[places])
    sums = np.zeros(partition.n_classes, numbers.dtype)
    np.add.at(sums, partition.labels, numbers[places])
    powers = np.array([10**power for power in range(axis.decimals + 1)], numbers.dtype)
    sums = sums // powers[axis.decimals - decimals] * 100  # nothing is left over: no number of the class has more
    means, rest = sums // sizes, sums % sizes
    means = means + ((2 * rest > sizes) | ((2 * rest == sizes) & (means % 2 == 1)))  # halves to the even one
    told = zip(span[0].tolist(), span[1].tolist(), means.tolist(), decimals.tolist(), strict=True)
    return [(None if low == high else "*") if high == last else text(mean, own + 2) for low, high, mean, own in told]


def _decimals(numbers: NDArray[Any], places: int) -> NDArray[np.int64]:
    """How many decimal places each of the numbers, integers over 10^`places`, needs."""
    needed = np.where(numbers == 0, 0, places).astype(np.int64)
    rest = numbers.copy()
    while (shorter := (needed > 0) & (rest % 10 == 0).astype(bool)).any():
        rest[shorter] //= 10
        needed[shorter] -= 1
    return needed
