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
    """Rows along the first principal component are cut into k groups of equal size; a class takes one of each.

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
