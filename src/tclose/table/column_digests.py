"""Digests of columns that do not depend on the form a table comes in, or on the order of its rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import polars as pl

from tclose.table.coded import PIECE, CodedColumn
from tclose.table.reading import texts

MOST = 1 << 20  # distinct values; a column with more is left out, since its digest would take seconds


def column_digests(columns: Mapping[str, CodedColumn]) -> dict[str, str]:
    """The SHA-256 of each column: of its distinct values as text, sorted, and how often each occurs.

    Examples
    --------
    >>> import polars as pl
    >>> written, typed = pl.Series("age", ["7", "30", "7"]), pl.Series("age", [30, 7, 7])
    >>> column_digests({"age": CodedColumn.of(written)}) == column_digests({"age": CodedColumn.of(typed)})
    True
    """
    return {name: _digest(column) for name, column in columns.items() if len(column.values) <= MOST}


def _digest(column: CodedColumn) -> str:
    counted = pl.DataFrame({"value": texts(column.values), "n": column.counts})
    counted = counted.group_by("value").agg(pl.col("n").sum()).sort("value", nulls_last=True)
    found = hashlib.sha256()
    for piece in counted.iter_slices(PIECE):
        for part in (piece["value"].to_list(), piece["n"].to_list()):
            found.update(json.dumps(part).encode())
    return found.hexdigest()
