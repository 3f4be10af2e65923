"""Small tables of categories, encoded without a dataframe."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tclose.algorithms.requirement import Attribute, Requirement
from tclose.distances import Equal
from tclose.schema.columns import Diversity
from tclose.schema.hierarchy import Hierarchy
from tclose.table.axes import TreeAxis
from tclose.table.encode import Domain, EncodedTable


def flat_table(rows: Sequence[Sequence[int]], values: Sequence[int] | None = None) -> EncodedTable:
    """Rows of small numbers, which are categories under suppression; -1 is missing. `values` are sensitive."""
    axes, places = [], []
    for number, column in enumerate(np.array(rows).T):
        size, missing = max(int(column.max()) + 1, 1), bool((column < 0).any())
        hierarchy = Hierarchy.flat([str(place) for place in range(size)])
        axes.append(TreeAxis(f"q{number}", Fraction(1, len(rows[0])), hierarchy, hierarchy.leaf_nodes, missing))
        places.append(np.where(column < 0, size, column).astype(np.int32))
    codes = () if values is None else (np.array(values, np.int32),)
    domains = () if values is None else (Domain("ill", Equal().form(max(values) + 1), False),)
    return EncodedTable(tuple(axes), tuple(places), domains, codes, np.arange(len(rows)))


def asked(table: EncodedTable, k: int) -> Requirement:
    """At least k rows a class, and no sensitive value in more than half of them if there are any."""
    attributes = tuple(
        Attribute(domain, np.bincount(codes).astype(np.int64), None, Diversity(frequency=Fraction(2)))
        for domain, codes in zip(table.domains, table.codes, strict=True)
    )
    return Requirement(k, attributes, len(table))
