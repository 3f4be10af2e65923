"""Sensitive attributes to codes, one distance after the other."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.distances import Equal, Form, Hierarchical, Numeric, Ordered, Transport, Tree
from tclose.errors import TableError
from tclose.schema.columns import Sensitive
from tclose.table.coded import CodedColumn, codes_of
from tclose.table.reading import Reader, texts

Codes = NDArray[np.int32]


def build_domain(reader: Reader, column: CodedColumn, sensitive: Sensitive) -> tuple[Form, Codes, bool]:
    """The form of the distance, the code of every row, and whether the last code is missing."""
    form, codes = _code(reader, column, sensitive)
    missing = codes < 0
    if not missing.any():
        return form, column.spread(codes), False
    if sensitive.distance in ("numeric", "matrix"):
        raise TableError(
            f"Column '{column.name}' has {int(column.counts[missing].sum())} missing values, and distance "
            f'{sensitive.distance} says nothing about them. Use another distance, or missing = "drop".'
        )
    codes[missing] = form.size
    with_missing = form.with_missing() if isinstance(form, Tree) else Ordered().form(form.size + 1)
    return with_missing, column.spread(codes), True


def _code(reader: Reader, column: CodedColumn, sensitive: Sensitive) -> tuple[Form, Codes]:
    """The code of each value, -1 where missing, and the form over those that are not."""
    if sensitive.distance == "equal":
        labels = texts(column.values)
        distinct = labels.drop_nulls().unique().sort()
        return Equal().form(len(distinct)), codes_of(labels, distinct)
    if sensitive.hierarchy is not None:
        return Hierarchical(sensitive.hierarchy).form(0), _within(
            reader, column, sensitive.hierarchy.leaves, "in its hierarchy", "Add them to the hierarchy"
        )
    if sensitive.matrix is not None:
        codes = _within(reader, column, sensitive.matrix.values, "in its matrix", "Add them to the matrix")
        return Transport(*sensitive.matrix.whole), codes
    if sensitive.order is not None:
        codes = _within(reader, column, sensitive.order, "in its `order`", "Add them to `order`")
        return Ordered().form(len(sensitive.order)), codes
    return _rank(reader, column, sensitive)


def _within(reader: Reader, column: CodedColumn, domain: tuple[str, ...], where: str, fix: str) -> Codes:
    labels = texts(column.values)
    codes = codes_of(labels, pl.Series(domain, dtype=pl.String))
    bad = (codes < 0) & labels.is_not_null().to_numpy()
    if bad.any():
        raise reader.refuse(column, bad, f"are not {where}", f"{fix}, or list them under `missing_values`.")
    return codes


def _rank(reader: Reader, column: CodedColumn, sensitive: Sensitive) -> tuple[Form, Codes]:
    """Codes by numeric rank, or by bin."""
    values = _numbers(reader, column, sensitive)
    present = ~np.isnan(values)
    distinct, inverse = np.unique(values[present], return_inverse=True)
    groups = np.arange(len(distinct))
    size = len(distinct)
    counts = np.zeros(size, np.int64)
    np.add.at(counts, inverse, column.counts[present])
    n_rows = int(counts.sum())
    if sensitive.edges is not None:
        groups = np.searchsorted(np.array([float(edge) for edge in sensitive.edges]), distinct, side="right")
        size = len(sensitive.edges) + 1
    elif sensitive.bins is not None and sensitive.bins < n_rows:  # else every value has a bin of its own
        # The rank of a value's first occurrence, over n, says which share of the rows lies below it.
        below = np.cumsum(counts) - counts
        groups = np.unique(sensitive.bins * below // n_rows, return_inverse=True)[1]
        size = int(groups[-1]) + 1
    codes = np.full(len(values), -1, np.int32)
    codes[present] = groups[inverse]
    if sensitive.distance == "numeric":
        return _numeric_form(reader, column, sensitive, distinct), codes
    return Ordered().form(size), codes


def _numbers(reader: Reader, column: CodedColumn, sensitive: Sensitive) -> NDArray[np.float64]:
    """The values as numbers; dates, also ISO dates in text, as their rank."""
    if sensitive.distance == "ordered" and sensitive.edges is None:
        times = _iso_times(column.values) if column.values.dtype == pl.String else column.values
        if times is not None and times.dtype.is_temporal():
            return times.rank("dense").cast(pl.Float64).fill_null(float("nan")).to_numpy()
    try:
        return reader.numbers(column)
    except TableError as error:
        if sensitive.distance == "ordered" and column.values.dtype == pl.String:
            raise TableError(f"{error} Text has no order of its own: `order = [...]` gives it one.") from None
        raise


def _iso_times(values: pl.Series) -> pl.Series | None:
    """Texts as dates or times, if every value is one written as ISO 8601 has it."""
    sample = values.drop_nulls().head(1)
    if not len(sample) or not sample.str.contains(r"^\d{4}-\d\d-\d\d").all():
        return None
    for form in ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f%:z"):
        times = values.str.to_datetime(form, time_unit="ns", strict=False)
        if times.null_count() == values.null_count():
            return times
    return None


def _numeric_form(reader: Reader, column: CodedColumn, sensitive: Sensitive, distinct: NDArray[np.float64]) -> Form:
    limits = sensitive.range or ((distinct[0], distinct[-1]) if len(distinct) else (0, 1))
    reader.exact(column, np.append(distinct, [float(limit) for limit in limits]))
    try:
        form = Numeric(distinct.tolist(), (limits[0], limits[1])).form(len(distinct))
    except ValueError:
        values, present = reader.numbers(column), column.values.is_not_null().to_numpy()
        outside = ~((values >= float(limits[0])) & (values <= float(limits[1]))) & present
        raise reader.refuse(
            column, outside, "lie outside the range that the schema declares", "Widen `range`."
        ) from None
    if len(column) * form.span >= 2**62:
        raise TableError(
            f"Column '{column.name}': its range in units of its last decimal, times {len(column)} rows, is too large "
            "for exact arithmetic. Round it, or use distance ordered, with `bins` or `edges` if you like."
        )
    return form
