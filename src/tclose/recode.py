"""From a partition to released columns."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.axes import Axis, SpanAxis, TreeAxis
from tclose.columns import codes_of, float_texts, type_name
from tclose.decimals import text
from tclose.encode import EncodedTable
from tclose.errors import TableError
from tclose.partition import Partition
from tclose.schema import Schema
from tclose.schema_columns import Quasi, Sensitive

Places = NDArray[np.int32]
Span = tuple[Places, Places]


def recode(table: EncodedTable, partition: Partition, frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """All released columns, one row a row of `table`, in its order.

    Parameters
    ----------
    table
        The encoded rows.
    partition
        Their classes.
    frame
        The same rows as a dataframe, missing values set to null; its columns give the order.
    schema
        What becomes of each column.
    """
    spans = table.spans(partition.labels, partition.n_classes)
    by_column: dict[str, list[int]] = {}
    for place, axis in enumerate(table.axes):
        by_column.setdefault(axis.column, []).append(place)
    quasi = {column.column: column for column in schema.quasi}
    released: list[pl.Series] = []
    roles = schema.columns
    sensitive = {column.column: column for column in schema.sensitive}
    for name in frame.columns:
        role = roles[name]
        if role == "quasi":
            places = by_column[name]
            axes, covers = [table.axes[p] for p in places], [spans[p] for p in places]
            columns = _publish(quasi[name], axes, covers, partition, table.places[places[0]])
            released += [column.gather(partition.labels) for column in columns]
        elif role == "sensitive":
            released.append(_own(_as_text(frame[name], sensitive[name])))
        elif role == "keep":
            released.append(_own(frame[name]))
    return pl.DataFrame(released)


def _as_text(column: pl.Series, sensitive: Sensitive) -> pl.Series:
    """Where the domain is made of texts, a float is released as its text: 1, not 1.0."""
    named = sensitive.order is not None or sensitive.hierarchy is not None or sensitive.matrix is not None
    return float_texts(column) if named and column.dtype.is_float() else column


def _own(column: pl.Series) -> pl.Series:
    """The column in memory of its own, which holds nothing but released values, and them in no telling order.

    Rows taken from a text column go on pointing into the text of all rows, in its old order.
    """
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise TableError(f"Column '{column.name}' is of type {type_name(column)}. Flatten it before it is released.")
    if column.dtype not in (pl.String, pl.Binary):
        return column
    distinct = column.drop_nulls().unique().sort()
    codes = pl.Series(codes_of(column, distinct))
    fresh = pl.Series(column.name, distinct.to_list(), dtype=column.dtype)
    return fresh.gather(codes.set(codes < 0, None))


def _publish(
    quasi: Quasi, axes: list[Axis], spans: list[Span], partition: Partition, places: Places
) -> list[pl.Series]:
    """The released values of one quasi-identifier, one a class."""
    axis, span = axes[0], spans[0]
    if isinstance(axis, TreeAxis) and axis.position is not None:
        digits = [_by_class(each, cover) for each, cover in zip(axes, spans, strict=True)]
        return [pl.select(pl.concat_str(digits)).to_series().alias(quasi.column)]
    if isinstance(axis, SpanAxis) and quasi.publish == "bounds":
        low, high, back = _distinct(span)
        ends = axis.bounds(low, high)
        return [
            _numbers(pl.Series(name, end, dtype=pl.String), axis).gather(back)
            for name, end in zip(quasi.released, ends, strict=True)
        ]
    if isinstance(axis, SpanAxis) and quasi.publish == "mean":
        return [_numbers(pl.Series(quasi.column, _means(axis, span, partition, places), dtype=pl.String), axis)]
    return [_by_class(axis, span).alias(quasi.column)]


def _by_class(axis: Axis, span: Span) -> pl.Series:
    low, high, back = _distinct(span)
    return pl.Series(axis.labels(low, high), dtype=pl.String).gather(back)


def _distinct(span: Span) -> tuple[Places, Places, NDArray[np.int64]]:
    """The distinct spans, so that each label is made once, and which of them each class has."""
    low, high = span
    key = low.astype(np.int64) << 32 | high
    distinct, back = np.unique(key, return_inverse=True)
    return (distinct >> 32).astype(np.int32), (distinct & 0xFFFFFFFF).astype(np.int32), back


def _means(axis: SpanAxis, span: Span, partition: Partition, places: Places) -> list[str | None]:
    """The mean of each class, to two decimals more than the values have."""
    last = len(axis.numbers)
    numbers = np.append(axis.numbers, 0)[places].astype(np.float64)
    sums = np.bincount(partition.labels, weights=numbers, minlength=partition.n_classes)
    sizes = np.bincount(partition.labels, minlength=partition.n_classes)
    means = np.rint(sums / sizes * 100).astype(np.int64)
    return [
        (None if low == high else "*") if high == last else text(mean, axis.decimals + 2)
        for low, high, mean in zip(span[0].tolist(), span[1].tolist(), means.tolist(), strict=True)
    ]


def _numbers(column: pl.Series, axis: SpanAxis) -> pl.Series:
    """As numbers (or dates), if every entry is one."""
    if axis.dates:
        typed = column.str.to_date("%Y-%m-%d", strict=False)
    else:
        whole = not column.str.contains(".", literal=True).any()
        typed = column.cast(pl.Int64 if whole else pl.Float64, strict=False)
    return typed if typed.null_count() == column.null_count() else column
