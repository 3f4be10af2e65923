"""Clusters of sensitive values, of which every class takes the rows nearest to one of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.clusters.equisized import cluster
from tclose.algorithms.clusters.grouping import partition
from tclose.algorithms.clusters.groups import Groups
from tclose.algorithms.clusters.points import ValueCells
from tclose.algorithms.control import Control, Stage
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

MOST_CLUSTERS = 128  # of a larger k, classes take several rows of each


@dataclass(frozen=True)
class Clusters:
    """Put rows with similar sensitive values into k clusters of equal size; each class takes one row of each.

    Clusters are those of equi-sized fuzzy c-means. Distances between sensitive values are those
    of the schema, as between points, so that clusters have means; every row goes to one cluster,
    largest memberships first. Around a random row, each class takes the nearest of every cluster:
    every quasi-identifier scaled to its range, trees by the order of their leaves. A class that
    does not hold is merged with the class whose union costs least, until all do.

    Guarantee
    ---------
    Every class has k rows, one of each cluster (`tests/algorithms/clusters`), and meets t and l by merging,
    decided by the kernels of `kernels/closeness` (`tests/contract`). Loss is heuristic.

    Cost
    ----
    Clustering grows with the distinct combinations of sensitive values, up to 4,096 of them, times
    k, a few hundred times; beyond that combinations are sampled for the centres and looked at
    once. Taking out is as in `sabre-knn`. Merging asks for a search among the classes for every
    class that is merged: most of the time where t is strict.

    References
    ----------
    003 section 4.1; Höppner and Klawonn: Clustering with Size Constraints (2008).

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.Clusters(), seed=1)
    >>> sorted(release.table["age"].unique()), release.measured.t["illness"]
    (['[21, 24]', '[61, 64]'], Fraction(0, 1))
    """

    name: ClassVar[str] = "clusters"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="clusters of all sensitive attributes, and the nearest rows of each",
        paper="Wang et al. 2018 (003), section 4.1",
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
            given = cluster(table, cells, min(requirement.k, MOST_CLUSTERS), rng, stage)
            owners = np.empty(len(table), np.int32)
            shuffled = rng.permutation(len(table))  # which rows of a cell go to which cluster is left to chance
            rows = shuffled[np.argsort(cells.of_row[shuffled], kind="stable")]
            clusters = np.tile(np.arange(given.shape[1], dtype=np.int32), len(given))
            owners[rows] = np.repeat(clusters, given.ravel())
            return Groups.of(owners, len(table) // requirement.k)

        return partition([groups], table, requirement, rng, control)
