"""The step of which every cost of a class is a multiple, where there is one."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

import numpy as np

from tclose.table.axes import SpanAxis
from tclose.table.encode import EncodedTable

NEAR = 1e-14  # a float that is no nearer to a fraction is another number


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
        if isinstance(axis, SpanAxis):  # mixed with a missing value a row loses all
            shares = np.concatenate([axis.lows, axis.highs, np.ones(int(axis.missing))])
        else:
            shares = axis.gap_costs
        for share in np.unique(axis.weight * shares).tolist():
            part = Fraction(share).limit_denominator(finest)
            if abs(share - part) > NEAR:
                return None
            common = lcm(under, part.denominator)
            if common > finest:
                return None
            over = gcd(over * (common // under), part.numerator * (common // part.denominator))
            under = common
    return Fraction(over, under) if over else None
