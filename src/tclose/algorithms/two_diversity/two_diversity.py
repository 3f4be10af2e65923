"""two-diversity: the best partition in which no class has one sensitive value in more than half its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.whole_costs import WholeCosts
from tclose.algorithms.two_diversity.matching import match
from tclose.algorithms.two_diversity.small_groups import GroupCosts, labels_of
from tclose.errors import SchemaError, SizeError
from tclose.schema.columns import Diversity
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

MOST_ROWS = 1000
ALONE = "every row by itself, in which none loses more"
BY_DUALITY = (
    "weak duality: what rows and odd sets are worth, as HiGHS proposes it, checked against all groups in floats with a "
    "margin"
)
BY_SOLVER = "the word of HiGHS, whose integer program over the groups that can still matter was needed"


@dataclass(frozen=True)
class TwoDiversity:
    """The cheapest division into pairs and triples of rows with distinct sensitive values.

    Every 2-diverse class can be parted into such pairs and triples (lemma 2), and a row never
    loses more in a smaller class: under suppression because columns that agree still do, under
    generalization because a span within another is no wider and its lowest common ancestor no
    higher. So among the best partitions there is one of pairs and triples. With k = 2 and no
    sensitive attribute, any pairs and triples do, and the result is the best 2-anonymity.

    The paper leaves the matching to Anshelevich and Karagiozova's polynomial algorithm. Here a
    linear program over pairs and triples finds it, to which groups and inequalities over odd
    sets of rows are added as they are needed (`tclose.algorithms.two_diversity.matching`). Mostly that
    alone gives the best; if it does not, an integer program over the groups that can still matter
    does, which is exact, but for which no polynomial bound is known.

    Guarantee
    ---------
    Every class is 2-diverse, or has two rows. The fact `optimal` says that no partition loses
    less, and `loss_at_least` is what none is below (`tests/algorithms/test_optimum.py`, against all
    partitions). Where the losses of all spans are multiples of a common unit, as under suppression, floats with a
    margin prove it, which trust no more of the solver than the worths it proposes. Elsewhere they leave open
    which of some divisions is the best, and whole numbers decide; where these divisions are too many, `optimal`
    is false. If the proof is the word of the solver of integer programs, the fact `proved_by` says so.

    Cost
    ----
    Memory grows with the square of the rows, time in practice with about their cube; at most 1,000 rows,
    which took 11 to 28 s.

    References
    ----------
    002 section 6, lemma 2 and theorem 11; Anshelevich, Karagiozova: Terminal backup, 3D matching,
    and covering cubic graphs (2011).

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> frame = pl.DataFrame({"age": [20, 21, 40, 41, 43], "ill": ["flu", "cold", "flu", "cold", "rash"]})
    >>> schema = {"k": 2, "quasi": {"age": {"kind": "numeric"}}}
    >>> schema["sensitive"] = {"ill": {"distance": "equal", "l": {"frequency": 2}}}
    >>> release = tclose.anonymize(frame, tclose.Schema.from_dict(schema), method="two-diversity")
    >>> sorted(release.table["age"].unique()), release.facts["optimal"]
    (['[20, 21]', '[40, 43]'], True)
    """

    name: ClassVar[str] = "two-diversity"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="the best 2-diverse partition, or the best for k = 2 alone, proven; small tables",
        paper="Liang, Yuan 2013 (002), section 6, theorem 11",
        needs=f"at most {MOST_ROWS} rows; l = {{frequency = 2}}, or k = 2 alone; tclose[optimum]",
        several_sensitive=False,
        distances=frozenset(),
        guarantees=frozenset({"k", "l"}),
        small_only=True,
        keeps=frozenset({"weight", "finest"}),
    )

    def refuse(self, schema: Schema) -> None:
        """Raise SchemaError if more is asked than 2-diversity."""
        if schema.k > 2:
            raise SchemaError(f"'{self.name}' forms classes of two or three rows, and k = {schema.k}. Set k to 2.")
        for sensitive in schema.sensitive:
            if sensitive.l != Diversity(frequency=2):  # type: ignore[arg-type]
                raise SchemaError(
                    f"'{self.name}' guarantees a frequency of 2 alone, and [sensitive.{sensitive.column}] asks for "
                    "another l. Set l = {frequency = 2}."
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
        """Find the best."""
        requirement.check_whole(table)
        n = len(table)
        if requirement.k == 1 and not requirement.attributes:
            alone = np.arange(n)
            return Partition(alone, facts={"optimal": True, "loss_at_least": table.loss(alone), "proved_by": ALONE})
        if n > MOST_ROWS:
            raise SizeError(
                f"'{self.name}' takes at most {MOST_ROWS} rows, and the table has {n}. Use 'tight', which takes any "
                "number, or part the table first, such as by region."
            )
        codes = table.codes[0] if requirement.attributes else np.arange(n, dtype=np.int32)
        costs = GroupCosts.of(table, codes, rng)
        matching = match(costs, control)
        labels = labels_of(matching.groups, n)
        whole = WholeCosts.of(table) if matching.optimal else None
        least = matching.bound / (costs.units * n)
        facts: dict[str, Any] = {"optimal": matching.optimal}
        facts["loss_at_least"] = least if whole is None else whole.loss_of(labels)
        facts["proved_by"] = BY_SOLVER if matching.trusts else BY_DUALITY
        facts |= {"stopped_early": True} if matching.stopped else {}
        return Partition(labels, facts=facts)
