"""COUNT queries on the lines of a table: what is drawn to measure a release, and to optimize one.

Quasi-identifiers are lines of cells (see `line_cells.py`). Sensitive attributes are lines of codes; without any
there is one, on which all rows are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.errors import MeasureError
from tclose.table.encode import Domain, EncodedTable
from tclose.table.line_cells import cells

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Queries:
    """SELECT COUNT(*) WHERE line in [low, high) AND ..., one query a row.

    Attributes
    ----------
    lines
        The lines that each query asks about, that of a sensitive attribute last.
    lows, highs
        On each of them, the first cell and the one after the last.
    """

    lines: Integers
    lows: Integers
    highs: Integers


def own_domains(table: EncodedTable) -> tuple[Domain, ...]:
    """Those of the sensitive attributes themselves, which come before joints and persons."""
    return tuple(domain for domain in table.domains if not (domain.is_joint or domain.of_persons))


def lengths(table: EncodedTable) -> Integers:
    """The number of cells of each line, that for missing values left out."""
    found = []
    for axis in table.axes:
        inner = cells(axis)[: axis.size - axis.missing]
        found.append(int(inner[-1]) + 1 if len(inner) else 0)
    domains = own_domains(table)
    return np.array([*found, *[domain.size - domain.missing for domain in domains], *[1] * (not domains)], np.int64)


def draw_queries(table: EncodedTable, n: int, attributes: int, selectivity: float, rng: np.random.Generator) -> Queries:
    """Random queries, each about that many quasi-identifiers and one sensitive attribute, if there is any.

    On each of its p lines a query covers theta^(1/p) of the cells, rounded, one at least: somewhere,
    everywhere as likely. It never asks for missing values.
    """
    n_quasi, n_sensitive = len(table.axes), len(own_domains(table))
    if not 1 <= attributes <= n_quasi:
        raise MeasureError(f"A query can ask about 1 to {n_quasi} quasi-identifiers, not {attributes}.")
    if not 0 < selectivity <= 1:
        raise MeasureError(f"The selectivity must be above 0 and at most 1, and is {selectivity:g}.")
    lines = np.argsort(rng.random((n, n_quasi)), axis=1)[:, :attributes]
    lines = np.column_stack([lines, n_quasi + rng.integers(0, max(n_sensitive, 1), n)])
    whole = np.maximum(lengths(table), 1)[lines]
    share = selectivity ** (1 / (attributes + bool(n_sensitive)))
    covered = np.maximum(np.rint(whole * share), 1).astype(np.int64)
    lows = rng.integers(0, whole - covered, endpoint=True)
    return Queries(lines, lows, lows + covered)
