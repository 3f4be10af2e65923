"""SABRE-KNN: buckets of sensitive values, of which every class takes the rows nearest to one of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tclose.algorithms.requirement import Requirement
from tclose.algorithms.sabre.sabre_search import Options, partition
from tclose.algorithms.shared.buckets import Bound
from tclose.algorithms.shared.nearest import take_nearest
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable
from tclose.table.partition import Control, Partition


@dataclass(frozen=True)
class SabreKNN:
    """Bucketize, then take each class's share of every bucket from next to a random row.

    Buckets, class sizes and several sensitive attributes are as in `sabre-ak`. Rows are points,
    every quasi-identifier scaled to its range (trees by the order of their leaves), and of each
    bucket those of least Euclidean distance are taken, found by an index.

    Parameters are those of `tclose.algorithms.sabre.sabre_search.Options`; the default is the printed algorithm.

    Guarantee
    ---------
    Every class meets k and the first attribute's t by theorem 4, decided in integers
    (`tests/sabre`), and all else by merging until it holds, decided by the
    kernels of `kernels/closeness` (`tests/contract`). Neighbours are exact. Loss is heuristic.

    Cost
    ----
    For every class and bucket a search among the bucket's rows; about O(s log n) for s rows where
    few quasi-identifiers differ, and up to O(n log s) where many do, so that classes as large as
    the table cost O(n log n) together. Merging as in `sabre-ak`.

    References
    ----------
    004 sections 3, 4 and 7.
    """

    name: ClassVar[str] = "sabre-knn"
    summary: ClassVar[str] = "buckets, and the nearest rows of each"
    paper: ClassVar[str] = "Cao et al. 2011 (004), sections 3, 4 and 7"
    needs: ClassVar[str] = "nothing"
    several_sensitive: ClassVar[bool] = True
    needs_levels: ClassVar[bool] = False
    small_only: ClassVar[bool] = False
    recodings: ClassVar[frozenset[str]] = frozenset({"generalize", "suppress"})
    distances: ClassVar[frozenset[str]] = frozenset({"equal", "ordered", "numeric", "hierarchical", "matrix", "joint"})
    guarantees: ClassVar[frozenset[str]] = frozenset({"k", "t", "l"})

    bound: Bound = "printed"
    first: str | None = None
    try_first: bool = False
    search_budget: bool = False

    def __post_init__(self) -> None:
        self._options()

    def _options(self) -> Options:
        return Options(self.bound, self.first, self.try_first, self.search_budget)

    def refuse(self, schema: Schema) -> None:
        """Raise SchemaError if `first` is not an attribute with a t."""
        self._options().refuse(schema)

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        """Form classes anew; `start` comes back if it holds and loses no more."""
        return partition(take_nearest, table, requirement, self._options(), rng, control, start)
