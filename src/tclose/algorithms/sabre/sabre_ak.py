"""SABRE-AK: buckets of sensitive values, from which every class takes its share along a Hilbert curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tclose.algorithms.requirement import Requirement
from tclose.algorithms.sabre.sabre_search import Options, partition
from tclose.algorithms.shared.along import take_along
from tclose.algorithms.shared.buckets import Bound
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable
from tclose.table.partition import Control, Partition


@dataclass(frozen=True)
class SabreAK:
    """Bucketize, then take each class's share of every bucket from along a Hilbert curve.

    Sensitive values that may stand for each other form buckets. The table is halved, bucket by
    bucket, as long as a class with such shares is close whatever rows it takes. Each class then
    takes, around a random row, the rows of every bucket that are next to it along a Hilbert
    curve through the quasi-identifiers. With several sensitive attributes the first is met so,
    and classes that fail another are merged with the class whose union adds least to the cost.

    Parameters are those of `tclose.algorithms.sabre.sabre_search.Options`; the default is the printed algorithm.

    Guarantee
    ---------
    Every class meets k and the first attribute's t by theorem 4, decided in integers
    (`tests/sabre`), and all else by merging until it holds, decided by the
    kernels of `kernels/closeness` (`tests/contract`). Loss is heuristic.

    Cost
    ----
    O(n log n) for sorting and O(n) for taking out. Where there is more than one t to meet, each
    time that a class takes in another asks for a search among all classes and for the values
    that occur in it: if only the whole table holds, n / k times as much as its values.

    References
    ----------
    004 sections 3, 4 and 7. Keys: Hamilton, Compact Hilbert Indices (2006).
    """

    name: ClassVar[str] = "sabre-ak"
    summary: ClassVar[str] = "buckets, and their rows along a Hilbert curve"
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
        return partition(take_along, table, requirement, self._options(), rng, control, start)
