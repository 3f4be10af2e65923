"""The step of which every cost of a class is a multiple, where there is one."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

import numpy as np

from tclose.algorithms.shared.whole_costs import parts_of, weight_of
from tclose.table.axes import Axis, SpanAxis
from tclose.table.encode import EncodedTable


def cost_step(table: EncodedTable, finest: int) -> Fraction | None:
    """A number of which the cost of every span of places, times its weight, is a multiple.

    None if a lost row has more than `finest` of them.

    Two different sums of such costs are at least that far apart. A lost row is so many steps as
    the denominator says, times something whole.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> frame = pl.DataFrame({"sex": ["f", "m"], "town": ["x", "y"]})
    >>> schema = {"k": 1, "recode": "suppress", "quasi": {name: {"kind": "categorical"} for name in frame.columns}}
    >>> cost_step(encode(read(frame), tclose.Schema.from_dict(schema)), 100)
    Fraction(1, 2)
    """
    over, under = 0, 1
    for axis in table.axes:
        weight, parts = weight_of(axis), parts_of(axis)
        if not weight:
            return None
        for share in _losses(axis, parts):
            part = weight * Fraction(share, parts)
            common = lcm(under, part.denominator)
            if common > finest:
                return None
            over = gcd(over * (common // under), part.numerator * (common // part.denominator))
            under = common
    return Fraction(over, under) if over else None


def _losses(axis: Axis, parts: int) -> list[int]:
    """Losses of an axis, in parts, of which that of every span is a sum or a difference."""
    if isinstance(axis, SpanAxis):  # mixed with a missing value a row loses all
        shares = np.concatenate([axis.lows, axis.highs, np.ones(int(axis.missing))])
    else:
        shares = axis.gap_costs if axis.own_costs is None else np.concatenate([axis.gap_costs, axis.own_costs])
    whole: list[int] = np.unique(np.rint(shares * parts).astype(np.int64)).tolist()
    return whole
