"""Decimal and thousands signs, found from the texts of a table: one pair for all of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import polars as pl

from tclose.errors import TableError
from tclose.schema.written_forms import THOUSANDS
from tclose.table.words_for_missing import KNOWN

LIKE_A_NUMBER = r"^[+-]?[0-9][0-9.,'\u2019\u00a0\u202f ]*$"
SIGN = r"[.,'\u2019\u00a0\u202f ]"
NAMES = {"": "none", " ": "a space", "\u00a0": "a space", "\u202f": "a space"}


class NumberSigns(NamedTuple):
    """The signs of a table's numbers, as a schema has them.

    Attributes
    ----------
    decimal
        A point or a comma.
    thousands
        Between groups of three digits; empty if there is none.
    """

    decimal: str = "."
    thousands: str = ""

    @property
    def pattern(self) -> str:
        """What a number looks like with these signs."""
        mark = re.escape(self.decimal)
        whole = "[0-9]+"
        if self.thousands:
            sign = self.thousands if self.thousands.isspace() else re.escape(self.thousands)
            whole = rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{sign}[0-9]{{3}})+)"
        return rf"^[+-]?{whole}(?:{mark}[0-9]+)?$"

    def __str__(self) -> str:
        return f"--decimal '{self.decimal}'" + (f" --thousands '{self.thousands}'" if self.thousands else "")


def find_signs(
    columns: Iterable[pl.Series], delimiter: str, decimal: str | None = None, thousands: str | None = None
) -> NumberSigns:
    """Find the signs that make numbers of all columns that look like numbers; what is given is taken as it is.

    Parameters
    ----------
    columns
        The distinct values of each column.
    delimiter
        Of the file: where it is a comma, a comma between digits is more likely to part thousands than decimals.
    decimal, thousands
        Where they are known; an empty thousands sign says that there is none.

    Raises
    ------
    TableError
        Numbers can be read in more than one way, or columns differ; the message names the options that decide.

    Examples
    --------
    >>> find_signs([pl.Series(["1.234,5", "12"])], ";"), find_signs([pl.Series(["0.5", "1.25"])], ",")
    (NumberSigns(decimal=',', thousands='.'), NumberSigns(decimal='.', thousands=''))
    """
    marks = [decimal] if decimal is not None else [".", ","]
    groups = [thousands] if thousands is not None else ["", *THOUSANDS]
    possible = [NumberSigns(mark, sign) for sign, mark in product(groups, marks) if sign != mark]
    if len(possible) == 1:
        return possible[0]
    left, told = possible, {}
    for column in columns:
        values = _signed(column)
        fitting = [signs for signs in possible if values is not None and values.str.contains(signs.pattern).all()]
        if not fitting:
            continue
        told[column.name] = fitting
        left = [signs for signs in left if signs in fitting]
    if not left:
        one, other = _at_odds(told)
        raise TableError(
            f"Columns '{one}' and '{other}' write numbers with different signs. Say which are those of numbers: "
            f"{told[one][0]}, or {told[other][0]}. The other column is then text."
        )
    return _settled(left, possible, told, delimiter)


def _signed(column: pl.Series) -> pl.Series | None:
    """The values of a column that have signs between their digits, if all of its values look like numbers."""
    if column.dtype != pl.String:
        return None
    values = column.drop_nulls().str.strip_chars()
    values = values.filter(~values.is_in(["", *KNOWN]))
    if not len(values) or not values.str.contains(LIKE_A_NUMBER).all():
        return None
    signed = values.filter(values.str.contains(SIGN))
    return values if len(signed) else None


def _at_odds(told: dict[str, list[NumberSigns]]) -> tuple[str, str]:
    """Two columns that have no signs in common; the last two if it takes more of them."""
    names = list(told)
    for one, other in product(names, names):
        if not set(told[one]) & set(told[other]):
            return one, other
    return names[0], names[-1]


def _settled(
    left: Sequence[NumberSigns], possible: Sequence[NumberSigns], told: dict[str, list[NumberSigns]], delimiter: str
) -> NumberSigns:
    """The signs that are left, if values mean the same under all of them; those with fewest signs come first."""
    if not told:
        return possible[0]
    plain = [signs for signs in left if not signs.thousands]
    grouped = [signs for signs in left if signs.thousands]
    # Whatever is a decimal sign under one reading may part thousands under another: 1.234 is either.
    otherwise = [signs for signs in grouped if plain and signs.thousands == plain[0].decimal]
    if plain and not otherwise:
        return plain[0]  # the others have a thousands sign that no value has
    if delimiter == "," and NumberSigns(".", ",") in otherwise:
        return NumberSigns(".", ",")
    if not plain:
        signs = {each.thousands for each in grouped if any(each in fitting for fitting in told.values())}
        decimals = {each.decimal for each in grouped}
        if len(signs) == 1:  # no value has a decimal sign, or all have the same one
            return grouped[0] if len(decimals) == 1 else NumberSigns("," if "." in signs else ".", grouped[0].thousands)
    column = next(name for name, fitting in told.items() if len(fitting) > 1)
    choices = ", or ".join(dict.fromkeys(str(signs) for signs in (*plain, *(otherwise or grouped))[:2]))
    raise TableError(f"The numbers of column '{column}' can be read in two ways. Say which: {choices}.")
