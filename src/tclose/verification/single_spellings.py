"""Spellings that a file shows and no measure tells apart: of a missing cell, and of zero."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from tclose.table.source import Source


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
    """Whether a column of floats has both 0.0 and -0.0.

    Examples
    --------
    >>> has_both_zeros(pl.Series([0.0, -0.0])), has_both_zeros(pl.Series([-0.0, -0.0]))
    (True, False)
    """
    if not column.dtype.is_float():
        return False
    signs = np.signbit(column.filter((column == 0).fill_null(False)).to_numpy())
    return bool(signs.any()) and not bool(signs.all())
