"""Rows sorted by the first principal component of their sensitive attributes; a class takes some of each stretch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.clusters.grouping import partition
from tclose.algorithms.clusters.groups import Groups, adjusted, in_order
from tclose.algorithms.clusters.points import ValueCells, first_component
from tclose.algorithms.control import Control, Stage
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition


@dataclass(frozen=True)
class PCA:
    """Cut rows along their first principal component into k groups of equal size; a class takes one row of each.

    Components are those of one column for every category and one for every number, scaled to its
    range. With n rows there are k + floor((n mod k) / floor(n / k)) groups, so that fewer rows are
    left over than there are classes; these go to the groups in the middle, and no class takes
    more than one of them. Rows of the same component are in random order. Taking out and merging
    are as in `clusters`.

    Guarantee
    ---------
    Every class has k rows, one of each group (`tests/algorithms/clusters`), and meets t and l by merging,
    decided by the kernels of `kernels/closeness` (`tests/contract`). Loss is heuristic.

    Cost
    ----
    O(n log n) for the groups, and O(m^3) for the components of m columns, at most 1,000. Taking
    out and merging as in `clusters`.

    References
    ----------
    003 section 4.2.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.PCA(), seed=1)
    >>> sorted(release.table["age"].unique()), release.measured.t["illness"]
    (['[21, 24]', '[61, 64]'], Fraction(0, 1))
    """

    name: ClassVar[str] = "pca"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="stretches of the first principal component, and the nearest rows of each",
        paper="Wang et al. 2018 (003), section 4.2",
    )

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        """Form classes anew."""
        requirement.check_whole(table)

        def groups(stage: Stage) -> Groups:
            cells = ValueCells.of(table)
            along = first_component(table, cells, stage)[cells.of_row]
            order = np.lexsort((rng.random(len(table)), along))
            n_groups = adjusted(len(table), requirement.k)
            return Groups.of(in_order(order, n_groups), len(table) // n_groups)

        return partition([groups], table, requirement, rng, control)
