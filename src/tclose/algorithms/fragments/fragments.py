"""Fragments: boxes of several sensitive attributes at once, of which every class takes the nearest rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.fragments.fragments_search import FragmentsSearch
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition


@dataclass(frozen=True)
class Fragments:
    """Cut the space of all sensitive attributes, each with its own t, and take each class's share of every box.

    1. Fragments. The space is cut into boxes, stretches of an order and subtrees of a hierarchy,
       each cut the one that brings the attributes nearest to their targets. A class with each
       box's share of its rows is then within U of the table, whatever rows it takes.
    2. Class sizes. The table is parted, box by box, while all parts have k rows and stay within
       every t: shares need not be exact, and what that costs is known.
    3. Taking out. Around a random row, each class takes the nearest of every box.

    How t is shared between 1 and 2 is searched. The bound is for the worst rows that a class
    could take, and classes hardly ever take those: bold plans allow it to be some times t, and
    then classes that are farther than t are merged with the class whose union adds least to
    the cost. Of all plans the one that loses least is kept.

    Parameters
    ----------
    bold
        Also try bounds above t. Without, no class is ever farther than its bound, and t is met
        whatever rows the classes take.

    Guarantee
    ---------
    Every class meets k, and every t by the bound of `tclose.algorithms.fragments.shares`
    (`tests/algorithms/fragments/test_shares.py`), or, where a plan is bold or an l is asked, by merging until
    it holds, decided by the kernels of `kernels/closeness` (`tests/contract`). Loss is heuristic.

    Cost
    ----
    For each plan: a cut asks for the combinations of values in one box and a look at all boxes;
    class sizes for boxes times values, class by class; then as `sabre-knn`.

    References
    ----------
    000; shares as in 004 section 4.3, with another bound; hierarchies by 004 theorem 2.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.Fragments(bold=False), seed=1)
    >>> sorted(release.table["age"].unique()), release.measured.t["illness"]
    (['[21, 24]', '[61, 64]'], Fraction(0, 1))
    """

    name: ClassVar[str] = "fragments"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="boxes of all sensitive attributes, and the nearest rows of each",
        paper="goes on from Bagai et al. 2023 (000)",
    )

    bold: bool = True

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
        search = FragmentsSearch(table, requirement, int(rng.integers(2**63)), control)
        search.run(self.bold)
        facts = {} if search.complete else {"stopped_early": True}
        return Partition(search.best, facts=facts)
