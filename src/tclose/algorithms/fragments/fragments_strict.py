"""Fragments as printed: boxes of several ordered sensitive attributes, of which every class takes its very share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control, Stage
from tclose.algorithms.fragments.space import SensitiveSpace
from tclose.algorithms.fragments.split import fragment
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.class_sizes import ClassSizes, halve
from tclose.algorithms.shared.merge import merge
from tclose.algorithms.shared.nearest import take_nearest
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition


@dataclass(frozen=True)
class FragmentsStrict:
    """Cut the space of all sensitive attributes as 000 prints it, and give each class exactly its share of every box.

    The cut that leaves least Psi comes first, bounds are normalized inside each fragment, and the
    number of classes is the greatest common divisor of the fragments' rows. That is 1 on most
    tables, and then all rows are one class; `fragments` is the method to use. A cut leaves a divisor
    of the divisor before, so it ends when no more than one class is left to find: fragments are
    looked at whenever their number has doubled, after the first cut too. The fact
    `greatest_common_divisor` gives the divisor.

    Guarantee
    ---------
    Every class has k rows and conforms to fragments whose aggregate bounds are within every t
    (000 theorem 20), decided in integers (`tests/algorithms/fragments`); an l and caps are met by merging until
    they hold (`tests/contract`). Loss is heuristic.

    Cost
    ----
    A cut asks for the combinations of values in one fragment, its width, and a look at all
    fragments, of which there may be as many as combinations; one cut on most tables. Taking out as in
    `sabre-knn`.

    References
    ----------
    000.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "ordered", "order": ["cold", "flu"], "t": 0.2}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.FragmentsStrict(), seed=1)
    >>> sorted(release.table["age"].unique()), release.facts["greatest_common_divisor"]
    (['[21, 24]', '[61, 64]'], 4)
    """

    name: ClassVar[str] = "fragments-strict"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="boxes of all sensitive attributes as printed, with exact shares",
        paper="Bagai et al. 2023 (000)",
        needs="sensitive values in an order, wherever a t is asked",
        distances=frozenset({"ordered", "numeric"}),
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
        return _classes(table, requirement, int(rng.integers(2**63)), control)


def _classes(table: EncodedTable, requirement: Requirement, seed: int, control: Control) -> Partition:
    facts: dict[str, Any] = {}
    space = SensitiveSpace.of_table(table, requirement)
    if space is None:
        owners = np.zeros(len(table), np.int32)
        sizes = halve(np.array([len(table)]), lambda sizes: bool(sizes.sum() >= requirement.k))
    else:
        found = fragment(
            space,
            space.limits,
            control,
            strict=True,
            is_enough=lambda counts: len(conforming_sizes(counts, requirement.k).sequence) <= 1,
        )
        if found is None:
            return Partition(np.zeros(len(table), np.int64), facts={"stopped_early": True})
        owners, sizes = found.of_cell[space.of_row], conforming_sizes(found.counts, requirement.k)
        facts["greatest_common_divisor"] = int(np.gcd.reduce(found.counts))
    asks_more = any(attribute.asks_beyond_t for attribute in requirement.attributes)
    stage = Stage(control, 0.0, 0.5 if asks_more else 1.0)
    labels, seeds = take_nearest(table, owners, sizes, seed, stage)
    is_whole = len(seeds) == len(sizes)
    if asks_more:
        labels, is_merged = merge(table, requirement, labels, replace(stage, begin=0.5, end=1.0))
        is_whole &= is_merged
    return Partition(labels, facts=facts | ({} if is_whole else {"stopped_early": True}))


def conforming_sizes(counts: NDArray[np.int64], k: int) -> ClassSizes:
    """Classes of the fewest rows that conform and reach k; what is left over joins the last.

    With c the greatest common divisor of the fragments' rows, r = n / c rows are the fewest that
    conform (000 section 3.2), and multiples of r do as well.

    Examples
    --------
    >>> sizes = conforming_sizes(np.array([20, 10]), k=4)
    >>> sizes.kinds[sizes.sequence].tolist()
    [[4, 2], [4, 2], [4, 2], [4, 2], [4, 2]]
    """
    n_smallest = int(np.gcd.reduce(counts))
    smallest = counts // n_smallest
    times = -(-k // int(smallest.sum()))
    n_classes = n_smallest // times
    last = n_smallest - (n_classes - 1) * times
    kinds = np.stack([times * smallest, last * smallest])
    sequence = np.zeros(n_classes, np.int32)
    sequence[-1] = 1
    return ClassSizes(kinds, sequence)
