"""Spellings that a file shows and no measure tells apart: of a missing cell, of zero, of a number or a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from tclose.schema.columns import Sensitive
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.calendar_times import clocks_of, times_of
from tclose.verification.cell_meanings import missing_among
from tclose.verification.distinct_values import TEXTS, is_minus_zero
from tclose.verification.exact_numbers import numbers_of


def spelling_problems(source: Source, names: Iterable[str]) -> Iterator[str]:
    """Columns of a release that spell one value in several ways.

    Null, empty text and NaN are all measured as a missing cell, and -0.0 as 0.0. Whoever reads the file sees which it
    is, and so may tell rows apart that were counted as alike. So a release must have one spelling in each column.

    Examples
    --------
    >>> table = pl.DataFrame({"a": ["", None], "b": [0.0, -0.0], "c": [None, 0.0]})
    >>> for problem in spelling_problems(Source.of(table), table.columns):
    ...     print(problem)
    Column 'a' has missing cells of several spellings (null, empty text), which tell rows apart. Use one.
    Column 'b' has zeros with and without a sign, which tell rows apart. Use one.
    """
    for name in names:
        column = source.column(name)
        found = missing_spellings(column)
        if len(found) > 1:
            told = ", ".join(found)
            yield f"Column '{name}' has missing cells of several spellings ({told}), which tell rows apart. Use one."
        if has_both_zeros(column):
            yield f"Column '{name}' has zeros with and without a sign, which tell rows apart. Use one."


def missing_spellings(column: pl.Series) -> list[str]:
    """The ways in which cells of a column are missing.

    Examples
    --------
    >>> missing_spellings(pl.Series([None, float("nan"), 1.5]))
    ['null', 'NaN']
    """
    found = ["null"] if column.null_count() else []
    if column.dtype.is_float():
        return found + ["NaN"] * bool(column.is_nan().any())
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.unique().cast(pl.String)
    return found + ["empty text"] * (column.dtype == pl.String and bool((column.str.len_bytes() == 0).any()))


def has_both_zeros(column: pl.Series) -> bool:
    """Whether a column has both 0.0 and -0.0, as floats or as texts that differ in nothing but that sign.

    Examples
    --------
    >>> has_both_zeros(pl.Series([0.0, -0.0])), has_both_zeros(pl.Series([-0.0, -0.0]))
    (True, False)
    >>> has_both_zeros(pl.Series(["0.0", "-0.0"])), has_both_zeros(pl.Series(["0", "-0.0"]))
    (True, False)
    """
    if isinstance(column.dtype, TEXTS):
        return bool(zero_texts(column) & {text.removeprefix("-") for text in zero_texts(column, signed=True)})
    if not column.dtype.is_float():
        return False
    signs = np.signbit(column.filter((column == 0).fill_null(False)).to_numpy())
    return bool(signs.any()) and not bool(signs.all())


def zero_texts(column: pl.Series, signed: bool = False) -> set[str]:
    """The texts of a column that write a zero, with a minus sign or without a sign.

    Examples
    --------
    >>> zero_texts(pl.Series(["0.0", "-0.0", "a"])), zero_texts(pl.Series(["0.0", "-0.0", "a"]), signed=True)
    ({'0.0'}, {'-0.0'})
    """
    texts = column.unique().cast(pl.String).drop_nulls() if column.dtype != pl.String else column
    found = texts.filter(texts.str.starts_with("-0" if signed else "0").fill_null(False)).unique()
    return set(found.filter(is_minus_zero(found if signed else "-" + found)).to_list())


def value_spelling_problems(column: str, values: pl.Series, has_null: bool, schema: Schema) -> Iterator[str]:
    """What a sensitive column, of which these are the distinct values without null, spells in several ways.

    All spellings of missing are measured as one value, and so are all texts that write one number or time.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "missing_values": ["?"], "quasi": {"q": {"kind": "text"}},
    ...     "sensitive": {"pay": {"distance": "ordered", "t": 1}}})
    >>> for values in (["1", "2.50", "?"], ["1", "1.0"], ["1", "?", ""]):
    ...     print(list(value_spelling_problems("pay", pl.Series(values), False, schema)))
    []
    ["Column 'pay' writes values in several ways (1 and 1.0 are one number), which tell rows apart. Use one."]
    ["Column 'pay' has missing cells of several spellings, which tell rows apart. Use one."]
    """
    sensitive = next((each for each in schema.sensitive if each.column == column), None)
    if sensitive is None:
        return
    gone = missing_among(values, schema.missing_values, sensitive.is_measured, schema.decimal)
    named = gone if values.dtype != pl.String else gone & (values != "").to_numpy()
    if named.sum() + (has_null or bool((gone & ~named).any())) > 1:
        yield f"Column '{column}' has missing cells of several spellings, which tell rows apart. Use one."
    if values.dtype == pl.String and sensitive.is_measured and _has_equal(values.filter(~gone), sensitive, schema):
        yield (
            f"Column '{column}' writes values in several ways (1 and 1.0 are one number), which tell rows apart. "
            "Use one."
        )


def _has_equal(texts: pl.Series, sensitive: Sensitive, schema: Schema) -> bool:
    """Whether two of some distinct texts write the same number or time; what is neither is said elsewhere."""
    times = None
    if sensitive.distance == "ordered" and sensitive.edges is None:
        times = times_of(texts, sensitive.format) or clocks_of(texts)
    if times is not None:
        return len(np.unique(times.integers)) < len(texts)
    numbers, known = numbers_of(texts, schema.decimal, schema.thousands)
    return bool(known.all()) and len(np.unique(numbers.integers)) < len(texts)
