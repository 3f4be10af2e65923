"""Non-uniform entropy: the bits it takes to guess the original values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tclose.evaluation.utility.reading_back import ReadBack


@dataclass(frozen=True)
class Entropy:
    """Bits that a release hides.

    Attributes
    ----------
    bits
        Those of all cells.
    most
        What they would be if every cell was hidden.
    """

    bits: float
    most: float

    @property
    def share(self) -> float:
        """The bits hidden of all there are: from 0 to 1."""
        return self.bits / self.most if self.most else 0.0

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"bits": self.bits, "most": self.most, "share": self.share}


def nonuniform_entropy(released: ReadBack) -> Entropy:
    """Sum over cells of -log2 Pr(v | g), v the original value and g the released one.

    Pr(v | g) = N(v) / N(g): of the N(g) rows of the original that g covers, N(v) have v (Gionis and
    Tassa, 2009). The sum of log2 N(g) asks only the release and that of log2 N(v) only the original,
    so that nobody has to know which row is which. A row left out hides all its cells. A missing
    value is a value.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.evaluation.utility.reading_back import read_release
    >>> from tclose.schema.schema import Schema
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"sex": {"kind": "categorical"}}})
    >>> table = pl.DataFrame({"sex": ["f", "f", "m", "m"]})
    >>> nonuniform_entropy(read_release(table, pl.DataFrame({"sex": ["f", "*", "*", "m"]}), schema)).as_dict()
    {'bits': 2.0, 'most': 4.0, 'share': 0.5}
    """
    table, n = released.table, len(released.table)
    bits = most = 0.0
    for axis, places, (low, high) in zip(table.axes, table.places, released.spans, strict=True):
        counts = np.bincount(places, minlength=axis.size)
        below = np.append(0, np.cumsum(counts))
        told = float(np.sum(counts * np.log2(np.maximum(counts, 1))))
        left = float(np.sum(released.sizes * np.log2(below[high + 1] - below[low])))
        all_hidden = n * float(np.log2(n)) - told
        most += all_hidden
        bits += left + released.n_dropped * float(np.log2(n)) - told
    return Entropy(max(bits, 0.0), max(most, 0.0))
