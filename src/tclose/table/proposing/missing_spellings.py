"""Spellings of missing values: which there are, and how sure it is that they mean nothing else.

`missing_values` of a schema holds for every column, so a spelling counts as sure only if it can mean missing wherever
it stands: `?` always, `NA` unless the column holds codes of countries, `N` only among numbers. A number,
such as -9, never is: it is only mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tclose.table.coded import CodedColumn
from tclose.table.words_for_missing import KNOWN, NUMBERS, PLAIN

NUMBER_OR_DATE = re.compile(r"[+-]?\d+([.,]\d+)*([eE][+-]?\d+)?$|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}", re.ASCII)
TWO_LETTERS = re.compile(r"[A-Z]{2}")
ENOUGH = 5  # other numbers, beside which one can lie far away
FAR = 3  # times the largest of them


@dataclass(frozen=True)
class Spellings:
    """What may mean missing.

    Attributes
    ----------
    sure
        Those that mean nothing else, in any column.
    doubtful
        Those that may be values of their own.
    n_columns
        How many columns have an empty cell, or a sure spelling.
    """

    sure: tuple[str, ...]
    doubtful: tuple[str, ...]
    n_columns: int


def find_spellings(columns: Iterable[CodedColumn]) -> Spellings:
    """Look for spellings of missing values among the distinct texts of a table.

    Examples
    --------
    >>> columns = [CodedColumn.of(pl.Series(["1", "N", "?"])), CodedColumn.of(pl.Series(["Y", "N", "-"]))]
    >>> found = find_spellings(columns)
    >>> found.sure, found.doubtful
    (('-', '?'), ('N',))
    """
    sure: set[str] = set()
    doubtful: set[str] = set()
    held: list[set[str | None]] = []
    for column in columns:
        doubtful.update(missing_codes(column))
        if column.values.dtype != pl.String:
            held.append({None} if column.values.null_count() else set())
            continue
        values = set(column.values.to_list())
        found = values & KNOWN
        rest = [value for value in values - found if value] if found else []
        for spelling in found:
            (sure if _is_sure(spelling, rest) else doubtful).add(spelling)
        held.append({*found, *({None} if values & {None, ""} else ())})
    sure -= doubtful
    return Spellings(tuple(sorted(sure)), tuple(sorted(doubtful)), sum(bool(each & {None, *sure}) for each in held))


def missing_codes(column: CodedColumn) -> dict[str, int]:
    """Numbers of a column that may mean no answer, and their rows: below 0 where no other is, or nines far above all.

    Examples
    --------
    >>> missing_codes(CodedColumn.of(pl.Series(["31", "44", "-9", "18", "-9", "27", "63"])))
    {'-9': 2}
    """
    values = column.values.drop_nulls()
    if values.dtype == pl.String:
        known = values.is_in(["", *KNOWN])
        if not values.is_in(NUMBERS).any():
            return {}
        numbers = values.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        numbers = numbers.set(known, float("nan"))
    elif values.dtype.is_numeric():
        numbers = values.cast(pl.Float64)
    else:
        return {}
    if numbers.null_count():
        return {}
    counts = dict(zip(numbers.to_list(), column.counts[: len(numbers)].tolist(), strict=True))
    others = numbers.to_numpy()
    others = others[np.isfinite(others) & ~np.isin(others, [float(each) for each in NUMBERS])]
    if len(others) < ENOUGH:
        return {}
    far = [each for each in NUMBERS if (float(each) < 0 <= others.min()) or float(each) > FAR * others.max() > 0]
    return {each: counts[float(each)] for each in far if counts.get(float(each), 0) > 1}


def _is_sure(spelling: str, rest: Sequence[str]) -> bool:
    """Whether it means missing beside these other values of a column."""
    if rest and all(NUMBER_OR_DATE.match(value.strip()) for value in rest):
        return True
    if spelling not in PLAIN:
        return False
    if spelling == "NA" and rest and all(map(TWO_LETTERS.fullmatch, rest)):
        return False  # Namibia, or North America
    return not (spelling in ("-", "--") and any(set(value) == {"+"} for value in rest))  # a sign, as of blood groups
