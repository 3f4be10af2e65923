"""Quasi-identifiers as lines of cells.

The cells are numbers at the distance of their last decimal, days, or the leaves of a tree. After them comes a cell for
missing values. Values of a tail lie where it begins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.errors import MeasureError
from tclose.table.axes import Axis, SpanAxis


def cells(axis: Axis) -> NDArray[np.int64]:
    """The cell of each place on the line of an axis.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.schema.schema import Schema
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> schema = Schema.from_dict({"k": 2, "missing": "category", "quasi": {"pay": {"kind": "numeric"}}})
    >>> cells(encode(read(pl.DataFrame({"pay": [1.5, None, 1.2]})), schema).axes[0]).tolist()
    [0, 3, 4]
    """
    inner = axis.numbers - axis.numbers[:1] if isinstance(axis, SpanAxis) else np.arange(len(axis.leaves))
    if inner.dtype == object:
        raise MeasureError(f"The numbers of '{axis.column}' have too many digits for COUNT queries. Round them.")
    return np.append(inner, int(inner[-1]) + 1 if len(inner) else 0) if axis.missing else inner
