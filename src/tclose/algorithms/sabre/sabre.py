"""SABRE: buckets of sensitive values, of which every class takes its share: SABRE-AK and SABRE-KNN (004)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.sabre.sabre_search import SabreOptions, partition
from tclose.algorithms.shared.along import take_along
from tclose.algorithms.shared.nearest import take_nearest
from tclose.errors import SchemaError
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition


@dataclass(frozen=True)
class SabreAK(SabreOptions):
    """Bucketize, then take each class's share of every bucket from along a Hilbert curve.

    Sensitive values that may stand for each other form buckets. The table is halved, bucket by
    bucket, as long as a class with such shares is close whatever rows it takes. Each class then
    takes, around a random row, the rows of every bucket that are next to it along a Hilbert
    curve through the quasi-identifiers. With several sensitive attributes the first is met so,
    and classes that fail another are merged with the class whose union adds least to the cost.

    Parameters are those of `tclose.algorithms.sabre.sabre_search.SabreOptions`; the default is the printed algorithm.

    Guarantee
    ---------
    Every class meets k and the first attribute's t by theorem 4, decided in integers
    (`tests/algorithms/sabre`), and all else by merging until it holds, decided by the
    kernels of `kernels/closeness` (`tests/contract`). Loss is heuristic.

    Cost
    ----
    O(n log n) for sorting and O(n) for taking out. Where there is more than one t to meet, each
    time that a class takes in another asks for a search among all classes and for the values
    that occur in it: if only the whole table holds, n / k times as much as its values.

    References
    ----------
    004 sections 3, 4 and 7. Keys: Hamilton, Compact Hilbert Indices (2006).

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.SabreAK(), seed=1)
    >>> sorted(release.table["age"].unique()), release.measured.t["illness"]
    (['[21, 24]', '[61, 64]'], Fraction(0, 1))
    """

    name: ClassVar[str] = "sabre-ak"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="buckets, and their rows along a Hilbert curve",
        paper="Cao et al. 2011 (004), sections 3, 4 and 7",
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
        return partition(take_along, table, requirement, self, rng, control)


@dataclass(frozen=True)
class SabreKNN(SabreOptions):
    """Bucketize, then take each class's share of every bucket from next to a random row.

    Buckets, class sizes and several sensitive attributes are as in `sabre-ak`. Rows are points,
    every quasi-identifier scaled to its range (trees by the order of their leaves) times its weight, and of each
    bucket those of least Euclidean distance are taken, found by an index.

    The default is the printed algorithm. Parameters are those of
    `tclose.algorithms.sabre.sabre_search.SabreOptions`, and one more.

    Parameters
    ----------
    metric
        How far two rows are apart: `euclidean`, or `loss`, what a class of the two would lose.

    Guarantee
    ---------
    Every class meets k and the first attribute's t by theorem 4, decided in integers
    (`tests/algorithms/sabre`), and all else by merging until it holds, decided by the
    kernels of `kernels/closeness` (`tests/contract`). Neighbours are exact. Loss is heuristic.

    Cost
    ----
    For every class and bucket a search among the bucket's rows; about O(s log n) for s rows where
    few quasi-identifiers differ, and up to O(n log s) where many do, so that classes as large as
    the table cost O(n log n) together. Merging as in `sabre-ak`.

    References
    ----------
    004 sections 3, 4 and 7.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.SabreKNN(metric="loss"), seed=1)
    >>> sorted(release.table["age"].unique()), release.measured.t["illness"]
    (['[21, 24]', '[61, 64]'], Fraction(0, 1))
    """

    name: ClassVar[str] = "sabre-knn"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="buckets, and the nearest rows of each",
        paper="Cao et al. 2011 (004), sections 3, 4 and 7",
        keeps=frozenset({"weight", "finest"}),
    )

    metric: Literal["euclidean", "loss"] = "euclidean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric not in ("euclidean", "loss"):
            raise SchemaError("'sabre-knn': 'metric' must be 'euclidean' or 'loss'.")

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
        take_out = partial(take_nearest, by_loss=self.metric == "loss")
        return partition(take_out, table, requirement, self, rng, control)
