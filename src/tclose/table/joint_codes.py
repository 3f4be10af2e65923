"""Several sensitive attributes as one: the code of a row is its combination of theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Form, Transport
from tclose.errors import TableError
from tclose.schema.columns import Joint
from tclose.table.coded import places_in

Codes = NDArray[np.int32]
MOST = 500  # combinations: to measure a class of ten rows then takes about two milliseconds


def build_joint(joint: Joint, forms: Sequence[Form], columns: Sequence[Codes]) -> tuple[Transport, Codes]:
    """The form of the distance over the combinations that occur, and the code of every row.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from tclose.distances import Line
    >>> pair = Joint("pair", ("a", "b"), Fraction(1, 2))
    >>> line = Line(np.arange(3), 2)
    >>> form, codes = build_joint(pair, [line, line], [np.array([2, 0, 2]), np.array([1, 0, 1])])
    >>> codes.tolist(), form.costs.tolist(), form.denominator
    ([1, 0, 1], [[0, 3], [3, 0]], 4)
    """
    keys, cells = columns[0].astype(np.int64), np.arange(forms[0].size)[:, None]
    for form, column in zip(forms[1:], columns[1:], strict=True):
        keys *= form.size
        keys += column
        distinct = np.unique(keys)
        keys = places_in(distinct, keys).astype(np.int64)
        cells = np.column_stack([cells[distinct // form.size], distinct % form.size])
    if len(cells) > MOST:
        raise too_many(joint, len(cells))
    try:
        return Transport.of(forms, cells), keys.astype(np.int32)
    except OverflowError:
        raise too_fine(joint) from None


def too_many(joint: Joint, n: int) -> TableError:
    """A joint that would take too long."""
    columns = ", ".join(f"'{column}'" for column in joint.columns)
    return TableError(
        f"[joint.{joint.name}]: {columns} have {n:,} combinations in this table, and a joint is decided exactly for at "
        f"most {MOST}. Bin what is ordered (`bins` or `edges`), join rare values into broader ones, or name fewer "
        "columns."
    )


def too_fine(joint: Joint) -> TableError:
    """A joint whose distances have no common denominator of reasonable size."""
    return TableError(
        f"[joint.{joint.name}]: the ranges of its numeric columns, in units of their last decimals, and the "
        "denominators of its matrices are too long for exact arithmetic together. Round them (the entries of a matrix "
        "up), or use distance ordered, with `bins` or `edges` if you like."
    )
