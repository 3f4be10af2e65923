"""Which columns single rows out: the share of rows that are alone in a combination of a few columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from tclose.table.coded import CodedColumn

SAMPLE = 100_000  # rows, the first
MOST_COLUMNS = 16  # those with the most different values


def singled_out(columns: Sequence[CodedColumn]) -> list[tuple[float, tuple[str, ...]]]:
    """For combinations of up to three columns, the share of rows that are alone in theirs; largest first.

    Every single column and pair is tried, and the best pairs are widened to triples.

    Examples
    --------
    >>> import polars as pl
    >>> columns = [CodedColumn.of(pl.Series("a", [1, 1, 2, 2])), CodedColumn.of(pl.Series("b", [1, 2, 1, 1]))]
    >>> singled_out(columns)
    [(0.5, ('a', 'b')), (0.25, ('b',)), (0.0, ('a',))]
    """
    heads = [column.take(slice(0, SAMPLE)) for column in columns]
    varied = [column for column in heads if len(column.values) > 1]
    chosen = sorted(varied, key=lambda column: -len(column.values))[:MOST_COLUMNS]
    codes = {column.name: column.codes.astype(np.int64) for column in chosen}
    sizes = {column.name: len(column.values) for column in chosen}
    n_rows = len(heads[0]) if heads else 0

    def share(names: tuple[str, ...]) -> float:
        key = np.zeros(n_rows, np.int64)
        for name in names:
            key = key * sizes[name] + codes[name]
        counts = np.unique(key, return_counts=True)[1]
        return float((counts == 1).sum() / max(n_rows, 1))

    ranked = [(share(names), names) for size in (1, 2) for names in combinations(codes, size)]
    best = [names for _, names in sorted(ranked, reverse=True) if len(names) == 2][:8]
    triples = {tuple(sorted((*pair, name))) for pair in best for name in codes if name not in pair}
    ranked += [(share(names), names) for names in sorted(triples)]
    return sorted(ranked, key=lambda entry: (-entry[0], len(entry[1]), entry[1]))
