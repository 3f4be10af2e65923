"""Microaggregation for t-closeness: classes around the rows farthest out, of a size that makes them close."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import ClassVar, Literal

import numpy as np

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.clusters.grouping import partition
from tclose.algorithms.clusters.groups import Groups, adjusted
from tclose.algorithms.clusters.ranks import groups_asked, nested
from tclose.algorithms.clusters.swapping import TakeSwapping
from tclose.algorithms.control import Control, Stage
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.class_sizes import ClassSizes
from tclose.algorithms.shared.farthest import take_farthest
from tclose.errors import SchemaError
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Variant = Literal["t-first", "k-first", "merge"]
Way = Callable[[Stage], Groups]


@dataclass(frozen=True)
class Microaggregation:
    """Form classes of the rows nearest to a far one: farthest from the mean of the rest, and then from that one.

    Three algorithms, by `variant`:

    - `t-first`: rows are cut into groups by the rank of their sensitive value, so many that a class
      with one row of each is surely close, and at least k; a class takes the nearest of every
      group. With several attributes the groups of one are cut by the rank in the next; by one
      attribute, two, and so on is tried, and the least loss kept. What fails is merged.
    - `k-first`: the k nearest rows; while they are not close, the next nearest is swapped for the
      row whose leaving brings the class nearest to t, if that helps. What fails is merged.
    - `merge`: the k nearest rows, and what fails is merged.

    Parameters
    ----------
    variant
        Which of them.
    within
        How many rows beyond the k nearest `k-first` tries to swap in.

    Guarantee
    ---------
    Every class has k rows and meets t and l by merging, decided by the kernels of
    `kernels/closeness` (`tests/contract`). With one attribute of n different values at equal
    distances, and n a multiple of the groups, `t-first` merges nothing (`tests/algorithms/clusters`). Loss is
    heuristic.

    Cost
    ----
    For every class a search for the farthest row and one for its nearest in every group: O(s log n)
    for s rows where few quasi-identifiers differ, up to O(n). `k-first` asks k `within` distances
    more where a class is not close at once. Merging as in `clusters`.

    References
    ----------
    Soria-Comas, Domingo-Ferrer, Sánchez, Martínez: t-Closeness through Microaggregation (2015),
    algorithms 1 to 3; 003 section 5, where one of them is the rival.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.Microaggregation(), seed=1)
    >>> sorted(release.table["age"].unique()), release.measured.t["illness"]
    (['[21, 24]', '[61, 64]'], Fraction(0, 1))
    """

    name: ClassVar[str] = "microaggregation"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="the rows nearest to one far out, a few of each rank",
        paper="Soria-Comas et al. 2015; the rival of 003",
    )

    variant: Variant = "t-first"
    within: int = 200

    def __post_init__(self) -> None:
        if self.variant not in ("t-first", "k-first", "merge"):
            raise SchemaError("'microaggregation': option 'variant' must be t-first, k-first or merge.")
        if self.within < 0:
            raise SchemaError("'microaggregation': option 'within' must not be negative.")

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
        if self.variant == "t-first":
            ways = _by_rank(table, requirement, control)
            return partition(ways, table, requirement, rng, control, take_farthest)
        take_out = TakeSwapping(requirement, self.within) if self.variant == "k-first" else take_farthest
        return partition([_nearest(table, requirement)], table, requirement, rng, control, take_out)


def _nearest(table: EncodedTable, requirement: Requirement) -> Way:
    """One group, of which each class takes k rows and the last what is left."""
    n, k = len(table), requirement.k
    sequence = np.zeros(n // k, np.int32)
    sequence[-1] = 1
    sizes = ClassSizes(np.array([[k], [k + n % k]]), sequence)
    return lambda stage: Groups(np.zeros(n, np.int32), sizes)


def _by_rank(table: EncodedTable, requirement: Requirement, control: Control) -> list[Way]:
    """Groups by one attribute, by two, and so on, as long as there are no more groups than half of the rows.

    The attribute that asks for most groups comes first. At least k are made by the last.
    """
    n, k = len(table), requirement.k
    asked = [
        (place, groups_asked(attribute, np.bincount(table.codes[place], minlength=attribute.domain.size), control))
        for place, attribute in enumerate(requirement.attributes)
        if attribute.t is not None and not attribute.domain.is_joint
    ]
    asked.sort(key=lambda each: -each[1])

    def way(some: list[tuple[int, int]]) -> Way:
        before = prod(n_groups for _, n_groups in some[:-1])
        place, n_groups = some[-1]
        n_groups = max(n_groups, -(-k // before))
        if before == 1:
            n_groups = adjusted(n, n_groups)
        made = before * n_groups
        return lambda stage: Groups.of(nested(table, requirement, [*some[:-1], (place, n_groups)]), n // made)

    ways = []
    for number in range(1, len(asked) + 1):
        made = prod(n_groups for _, n_groups in asked[:number])
        if number == 1 or (2 * made <= n and asked[number - 1][1] > 1):
            ways.append(way(asked[:number]))
    return ways or [_nearest(table, requirement)]
