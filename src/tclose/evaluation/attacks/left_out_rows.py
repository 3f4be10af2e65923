"""What is told about people whose rows a release leaves out (`suppress_rows`).

Someone who knows that a person was in the table and finds nobody like that in the release knows that the row was left
out. If the totals of the whole table are known as well, from an earlier publication, what is missing in the release are
the sensitive values of the rows left out. Then the belief in a value is its share among these rows, where before it was
its share in the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.table.encode import EncodedTable


@dataclass(frozen=True)
class LeftOutBelief:
    """What rows left out tell of one sensitive attribute.

    Attributes
    ----------
    rows
        How many there are.
    worst_rise, worst_ratio
        The largest q - p and q / p of any value, q its share among them and p that in the release; the ratio is
        infinite if nothing released has the value.
    certain
        Whether all of them have one value.
    """

    rows: int
    worst_rise: float
    worst_ratio: float
    certain: bool

    def as_dict(self) -> dict[str, float]:
        """As JSON has it."""
        return asdict(self)


def left_out_beliefs(table: EncodedTable, left: NDArray[np.bool_]) -> dict[str, LeftOutBelief]:
    """By sensitive attribute, what someone believes of a person whose row is left out.

    Parameters
    ----------
    table
        The whole table, by the values of its attributes.
    left
        Which of its rows are left out; some are, and some are not.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> schema = {"k": 1, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    >>> frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["flu", "hiv", "flu", "hiv"]})
    >>> left_out_beliefs(encode(read(frame), tclose.Schema.from_dict(schema)), np.array([0, 1, 0, 1], bool))["ill"]
    LeftOutBelief(rows=2, worst_rise=1.0, worst_ratio=inf, certain=True)
    """
    found = {}
    for domain, codes in zip(table.domains, table.codes, strict=True):
        own, rest = (np.bincount(codes[each], minlength=domain.size) for each in (left, ~left))
        q, p = own / max(int(own.sum()), 1), rest / max(int(rest.sum()), 1)
        present = own > 0
        ratios = np.divide(q[present], p[present], out=np.full(int(present.sum()), np.inf), where=p[present] > 0)
        found[domain.column] = LeftOutBelief(
            int(own.sum()), float((q - p).max()), float(ratios.max()), bool(present.sum() == 1)
        )
    return found


def left_out_words(found: Mapping[str, LeftOutBelief]) -> list[str]:
    """What is told about people whose rows are left out, a sentence for each attribute.

    Examples
    --------
    >>> left_out_words({"ill": LeftOutBelief(24, 0.026, 1.06, False)})
    ["24 rows are left out. Of someone who is missing, the belief in a value of 'ill' rises by 2.6 points at most."]
    """
    return [
        f"{each.rows:,} rows are left out. Of someone who is missing, the belief in a value of '{name}' rises by "
        f"{100 * each.worst_rise:.1f} points at most."
        for name, each in found.items()
    ]
