"""exact: the least loss of all partitions, for small tables."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.exact.cover import Cover
from tclose.algorithms.exact.prices import find_prices
from tclose.algorithms.exact.subtables import SubtableTypes, find_costs, find_kinds
from tclose.algorithms.packing import form_of
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.cost_step import cost_step
from tclose.algorithms.shared.in_blocks import in_blocks
from tclose.algorithms.shared.whole_costs import WholeCosts
from tclose.errors import SizeError
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

MOST_SUBTABLES = 2**25
MOST_CARRIED = 2**22  # choices of a matrix or a joint: each is a transport problem
MOST_ASKED = 2**18  # choices where numbers are too long for kernels: Python is asked unless it is a union
FINEST = 10**6  # a step of costs that is finer is of no use
ROUNDING = 1e-12  # losses that differ by less are taken as one
PROVED_BY = (
    "a search of all partitions that bounds leave, classes decided in integers; those whose losses floats cannot tell "
    "apart are compared in whole numbers"
)


@dataclass(frozen=True)
class Exact:
    """Decide and price every sub-table, then find the cheapest partition of all.

    1. Rows that are alike are counted, not told apart: a sub-table is how many it has of each type. Whether
       it may be a class depends on its sensitive values alone, so each choice of these is
       decided once, exactly. What it costs follows from its box.
    2. Prices. The linear program that covers every row with classes gives each row a price, so that no class
       costs less than its rows' prices: what all pay is a bound on every partition.
    3. Search. From all rows down to none, a class with the first row left is taken out, and for every rest
       only the cheapest way to it is kept (theorem 8 of 002 parts tables in two instead). A rest is
       left alone if what it has cost and the prices of its rows together reach the limit, or if it
       cannot be parted at all: a union of close classes is close. So only classes are tried that
       cost little more than their prices. The limit begins near the bound and rises.
    4. Classes that fall into two classes are left out: two never cost more than both as one.

    Guarantee
    ---------
    Every class meets k, t, l and caps, decided as everywhere else (`tests/contract`), and no partition that
    does loses less (`tests/algorithms/exact`, `tests/algorithms/test_optimum.py`, against all partitions).
    Partitions whose losses differ by less than floats can tell are compared in whole numbers; where they are too
    many, or their numbers too long, `optimal` is false and `loss_at_least` is below the loss by 2e-12.
    Stopped early, the facts say how much any partition loses at least. No chance is involved.

    Cost
    ----
    2^n to decide and price n different rows, (m + 1) for m that are alike; 3^n at most to search, and
    on real tables far less than the first. At most 2^25 sub-tables are taken on (some 25
    different rows), which takes about 1 GB.

    References
    ----------
    002 section 4, theorem 8.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.Exact(), seed=1)
    >>> sorted(release.table["age"].unique()), release.facts["optimal"]
    (['[21, 24]', '[61, 64]'], True)
    """

    name: ClassVar[str] = "exact"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="the least loss of all partitions, for small tables",
        paper="Liang, Yuan 2013 (002), section 4",
        needs="a small table: at most about 25 different rows",
        small_only=True,
        keeps=frozenset({"weight", "finest", "coarsest"}),
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
        """The partition of least loss."""
        return in_blocks(self._search, table, requirement, rng=rng, control=control, start=start)

    def _search(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None,
    ) -> Partition:
        requirement.check_whole(table)
        _check_size(SubtableTypes.of(table), requirement)
        run = _ExactRun.of(table, requirement, control, start)
        finished = run.search()
        facts: dict[str, Any] = {"optimal": run.proven, "loss_at_least": run.proven_loss(), "proved_by": PROVED_BY}
        if not finished or (control.stop and not run.proven):
            facts = {"stopped_early": True, **facts}
        return Partition(run.labels, facts=facts)


@dataclass(eq=False)
class _ExactRun:
    """One search, and what is known at any time: a partition, and how much any loses at least."""

    table: EncodedTable
    types: SubtableTypes
    requirement: Requirement
    control: Control
    labels: NDArray[np.int64]
    loss: float
    at_least: float
    proven: bool = False  # that nothing loses less

    @classmethod
    def of(cls, table: EncodedTable, requirement: Requirement, control: Control, start: Partition | None) -> _ExactRun:
        labels = np.zeros(len(table), np.int64) if start is None else start.labels
        alone = np.arange(len(table))  # a row by itself loses least
        return cls(
            table,
            SubtableTypes.of(table).ordered(),
            requirement,
            control,
            labels,
            table.loss(labels),
            table.loss(alone),
        )

    def proven_loss(self) -> float:
        """What no partition loses less than: the loss itself where it is the least, else with all rounding off."""
        whole = WholeCosts.of(self.table) if self.proven else None
        if whole is not None:
            return whole.loss_of(self.labels)
        return max(min(self.at_least, self.loss) - 2 * ROUNDING, 0.0)

    def go(self, done: float) -> bool:
        """Tell how far it is, and hear whether to go on."""
        self.control.report(loss=self.loss, done=done)
        return not self.control.stop

    def search(self) -> bool:
        """Whether the best was found before the time was over."""
        n, whole = len(self.table), WholeCosts.of(self.table)
        if self.loss <= self.at_least + ROUNDING:  # as little as every row by itself
            self.proven = whole is not None and whole.of_labels(self.labels) <= whole.of_labels(np.arange(n))
            if self.proven or whole is None:
                return True
        kinds = find_kinds(self.types, self.requirement, self.go)
        costs = None if kinds is None else find_costs(self.types, kinds, self.go)
        if kinds is None or costs is None:
            return False
        cover = Cover(
            self.types,
            kinds,
            costs,
            float(cost_step(self.table, FINEST) or 0),
            n * ROUNDING,
            n * self.at_least,
            n * self.loss,
        )
        finished = self._priced(cover) and cover.closed
        self._learn(cover)
        return finished

    def _priced(self, cover: Cover) -> bool:
        """Price rows and search; where costs have no step, floats leave open which of the best is the best."""
        prices, finished = find_prices(self.types, cover.costs, self.go)
        cover.raise_bound(prices.total)
        finished = finished and cover.dive(prices, self.go)
        self._learn(cover)
        if not (finished and cover.search(prices, self.go)):
            return False
        whole = None if cover.step else WholeCosts.of(self.types.table)
        self.proven = bool(cover.step) or (whole is not None and cover.settle(prices, whole, self.go))
        return True

    def _learn(self, cover: Cover) -> None:
        if cover.classes is not None:
            self.labels = self.types.labels(cover.classes)
            self.loss = self.table.loss(self.labels)
        self.at_least = cover.at_least / len(self.table)


def _check_size(types: SubtableTypes, requirement: Requirement) -> None:
    """Raise SizeError where it would take too long or too much memory."""
    from tclose.kernels.closeness import OTHER, TRANSPORT

    n, n_types, n_subtables = int(types.most.sum()), len(types.most), types.n_subtables
    if n_subtables > MOST_SUBTABLES:
        raise SizeError(
            f"'exact' looks at every sub-table, and this table has {_about(n_subtables)} of them; at most "
            f"{_about(MOST_SUBTABLES)} are taken on. It has {n} rows, {n_types} of them different; about "
            f"{MOST_SUBTABLES.bit_length() - 1} different rows would do, or more where many are alike. Take a sample, "
            "or use 'tight'; with recode = \"suppress\" and few different rows, 'milp'."
        )
    for place, attribute in enumerate(requirement.attributes):
        most = {OTHER: MOST_ASKED, TRANSPORT: MOST_CARRIED}.get(form_of(attribute), MOST_SUBTABLES)
        counts = np.bincount(types.table.codes[place], weights=types.most).astype(np.int64)
        if (n_choices := prod((counts + 1).tolist())) > most:
            raise SizeError(
                f"'exact' decides every choice of values of '{attribute.domain.column}', and this table has "
                f"{_about(n_choices)} of them; at most {_about(most)} are taken on. That would do for "
                f"{most.bit_length() - 1} rows of different values, or more where values repeat. Take a sample, or use "
                "'tight'."
            )


def _about(number: int) -> str:
    """A number as one says it."""
    return f"{number:,}" if number < 10**9 else f"about 10^{int(log10(number))}"
