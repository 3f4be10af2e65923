"""Sensitive attributes to codes, one distance after the other."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.distances import Equal, Form, Hierarchical, Line, Ordered, Transport, Tree
from tclose.errors import TableError
from tclose.schema.columns import Sensitive
from tclose.schema.schema import Schema
from tclose.schema.written_forms import DateForm
from tclose.table.coded import CodedColumn, codes_of
from tclose.table.reading import Reader, texts
from tclose.table.source import Source
from tclose.table.times import rank_times

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
    keys, present, edges = _keys(reader, column, sensitive)
    distinct, inverse = np.unique(keys, return_inverse=True)
    groups = np.arange(len(distinct))
    size = len(distinct)
    counts = np.zeros(size, np.int64)
    np.add.at(counts, inverse, column.counts[present])
    n_rows = int(counts.sum())
    if edges is not None:
        groups = np.array([bisect_right(edges, each) for each in distinct.tolist()], np.int64)
        size = len(edges) + 1
    elif sensitive.bins is not None and sensitive.bins < n_rows:  # else every value has a bin of its own
        # The rank of a value's first occurrence, over n, says which share of the rows lies below it.
        below = np.cumsum(counts) - counts
        groups = np.unique(sensitive.bins * below // n_rows, return_inverse=True)[1]
        size = int(groups[-1]) + 1
    codes = np.full(len(present), -1, np.int32)
    codes[present] = groups[inverse]
    if sensitive.distance == "numeric":
        return _numeric_form(reader, column, sensitive), codes
    return Ordered().form(size), codes


def _keys(
    reader: Reader, column: CodedColumn, sensitive: Sensitive
) -> tuple[NDArray[Any], NDArray[np.bool_], list[int] | None]:
    """Integers in the order of the values that are not missing; which those are; and the edges among them."""
    if sensitive.distance == "ordered" and sensitive.edges is None:
        form = sensitive.format
        _check_format(column, form)
        ranks = rank_times(column.values) if form is None else reader.time_ranks(column, form)
        if ranks is not None:
            present = ranks.is_not_null()
            return ranks.drop_nulls().to_numpy().astype(np.int64), present.to_numpy(), None
    try:
        numbers = reader.numbers(column)
    except TableError as error:
        if sensitive.distance == "ordered" and column.values.dtype == pl.String:
            raise TableError(f"{error} Text has no order of its own: `order = [...]` gives it one.") from None
        raise
    known, edges = numbers.known.beside(sensitive.edges or ())
    told = None if sensitive.edges is None else [edge for edge in edges if edge is not None]
    return known.integers, ~numbers.missing, told


def _check_format(column: CodedColumn, form: str | None) -> None:
    """Refuse a format for a type that is not written in it."""
    kind = column.values.dtype
    if form is None or kind in (pl.String, pl.Null):
        return
    if kind != pl.Date or DateForm(form).day_format != DateForm(form).long_format:
        raise TableError(
            f"Column '{column.name}' is of type {kind.base_type().__name__}, and its `format` is for text. Take it out."
        )


def spelled_once(values: pl.Series, sensitive: Sensitive, schema: Schema) -> pl.Series:
    """Values of an attribute, of several texts that write one number or time the shortest.

    Who reads a file can tell `1` from `1.0`, and what is promised of the attribute says nothing of that.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"q": {"kind": "text"}},
    ...     "sensitive": {"pay": {"distance": "ordered", "t": 1}}})
    >>> spelled_once(pl.Series("pay", ["1.0", "1", "2.50", None]), schema.sensitive[0], schema).to_list()
    ['1', '1', '2.50', None]
    """
    if values.dtype != pl.String or not sensitive.is_measured:
        return values
    every = np.arange(len(values))
    reader = Reader.of(Source.of(values.to_frame()), every, schema)
    keys, present, _ = _keys(reader, CodedColumn(values, every), sensitive)
    if len(np.unique(keys)) == len(keys):
        return values
    shown = values.to_list()
    known = np.flatnonzero(present).tolist()
    shortest: dict[Any, str] = {}
    for key, place in zip(keys.tolist(), known, strict=True):
        shortest[key] = min(shortest.get(key, shown[place]), shown[place], key=lambda text: (len(text), text))
    for key, place in zip(keys.tolist(), known, strict=True):
        shown[place] = shortest[key]
    return pl.Series(values.name, shown, dtype=pl.String)


def _numeric_form(reader: Reader, column: CodedColumn, sensitive: Sensitive) -> Form:
    numbers = reader.numbers(column)
    known, limits = numbers.known.beside(sensitive.range or ())
    distinct = np.unique(known.integers)
    low, high = limits if limits else (distinct[0], distinct[-1]) if len(distinct) else (0, 1)
    assert low is not None
    assert high is not None
    outside = np.zeros(len(numbers.missing), bool)
    outside[~numbers.missing] = (known.integers < low) | (known.integers > high)
    if outside.any():
        raise reader.refuse(column, outside, "lie outside the range that the schema declares", "Widen `range`.")
    span = max(int(high) - int(low), 1)
    if column.n_rows * span >= 2**62:
        raise TableError(
            f"Column '{column.name}': its range in units of its last decimal, times {column.n_rows} rows, is too large "
            "for exact arithmetic. Round it, or use distance ordered, with `bins` or `edges` if you like."
        )
    return Line((distinct - int(low)).astype(np.int64), span)
