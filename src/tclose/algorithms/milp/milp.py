"""milp: the fewest stars, by a mixed integer program, and a proof of how few there can be."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any, ClassVar

import numpy as np

from tclose.algorithms import find
from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.highs import load
from tclose.algorithms.milp.branch_and_bound import BranchAndBound, BranchProblem, SolverWatch
from tclose.algorithms.milp.cuts import CountLimit, cap_limits, count_limits, weigher
from tclose.algorithms.milp.grounds import ProgramGround, capped_sets, ground_of
from tclose.algorithms.milp.incumbent import Incumbent
from tclose.algorithms.milp.patterns import Patterns, RowTypes
from tclose.algorithms.milp.program import AskedOfClasses
from tclose.algorithms.requirement import Requirement
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

PROVED_BY = (
    "branch and bound; each bound is computed from HiGHS's multipliers by weak duality, with rounding taken off, and "
    "does not rest on HiGHS's word"
)
MOST_WEIGHT = 1000  # of a star: bounds are floats, in which more would be lost
WARMING, MOST_WARMING = 0.5, 5.0  # of the time, and in seconds: for a method that is quick


@dataclass(frozen=True)
class Milp:
    """Solve a mixed integer program (theorem 9): how many rows of each type are released under each pattern of stars.

    Rows that are alike in all that counts are one type; a pattern says which cells are starred and
    what stands in the others. One class a pattern is enough, for classes released alike may be
    merged. Unknown is how many rows of each type a pattern takes. They must add up, every class
    must have k rows and be close, which is linear in the rows of the class, and stars are minimized.

    1. `tight` gives a first partition, in a small part of the time.
    2. The relaxation is solved and cut: a class of whole rows can come less near to t than one of
       parts of rows, and the hull of the whole ones says by how much; sums of rows are rounded.
    3. The solver's own search looks for whole points near that of the relaxation, then anywhere.
    4. Branch and bound goes on until the best partition is proved to be optimal, or time is over.

    Parameters
    ----------
    gap
        How far from the optimum, relative to the stars found, it may end.
    seconds
        How long it may take, where the caller sets no time.

    Guarantee
    ---------
    Every class meets k, t and caps, decided exactly after the solver's floats are rounded to whole rows;
    what then fails is merged until it holds (`tests/contract`, `tests/algorithms/milp/test_milp.py`).
    `loss_at_least` is a lower bound on the loss of every partition that meets the requirement, and
    `optimal` says that this one reaches it. Neither rests on the solver's word: each bound is computed
    anew from its multipliers by weak duality, with all that rounding may hide taken off
    (`tclose.algorithms.milp.solver`), and cuts are made in exact arithmetic. The same seed gives the same
    classes unless it is stopped early.

    Cost
    ----
    Exponential at worst. Unknowns grow with the different rows times the patterns that cover each;
    more than 60,000 are refused. How many rows each type has hardly matters.

    References
    ----------
    002 section 4, theorem 9.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"sex": ["f", "f", "m", "m"] * 2, "town": ["x", "y"] * 4, "ill": list("aaaabbbb")})
    >>> asked = {"k": 4, "recode": "suppress", "sensitive": {"ill": {"distance": "equal", "t": 0.2}}}
    >>> asked["quasi"] = {"sex": {"kind": "categorical"}, "town": {"kind": "categorical"}}
    >>> release = tclose.anonymize(table, asked, method=tclose.Milp(), seed=1)
    >>> release.loss, release.facts["loss_at_least"], release.facts["optimal"]  # half of the cells are stars
    (0.5, 0.5, True)
    """

    name: ClassVar[str] = "milp"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="the fewest stars, with a proof of how few there can be; few quasi-identifiers",
        paper="Liang and Yuan 2013 (002), section 4, theorem 9",
        needs='recode = "suppress", few different rows, and tclose[optimum]',
        guarantees=frozenset({"k", "t", "rise", "beta"}),
        small_only=True,
        recodings=frozenset({"suppress"}),
        keeps=frozenset({"weight", "finest"}),
    )

    gap: float = 0.0
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if not (0 <= self.gap < 1 and self.seconds >= 0):
            raise SchemaError("'milp': gap must be at least 0 and below 1, and seconds must not be negative.")

    def refuse(self, schema: Schema) -> None:
        """Raise SchemaError if weights are no small whole numbers in any unit: stars are counted in that unit."""
        common = lcm(*(quasi.weight.denominator for quasi in schema.quasi))
        whole = [int(quasi.weight * common) for quasi in schema.quasi]
        if max(whole) // gcd(*whole) > MOST_WEIGHT:
            raise SchemaError(
                f"'{self.name}' counts stars, one of a heavy column as several. The weights of the schema would make "
                f"one more than {MOST_WEIGHT:,}. Take rounder weights, or use 'tight'."
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
        """The best partition found, and what is proved of it."""
        load(self.name)
        requirement.check_whole(table)
        watch = self._watch(table, control)
        types = types_of(table, requirement)
        problem = problem_of(types, requirement, watch.stop, table.cell_weights)
        incumbent = Incumbent(table, requirement, types)
        incumbent.enter(np.zeros(len(table), np.int64))
        if not watch.stop():
            quick = Control(min(WARMING * watch.left(), MOST_WARMING), whole=control)
            incumbent.enter(
                find("tight", {"effort": "fast"}).partition(table, requirement, rng=rng, control=quick).labels
            )
        if start is not None:
            incumbent.enter(start.labels)
        bound, complete = 0, False
        if problem is not None:
            search = BranchAndBound(problem, incumbent, watch, self.gap)
            search.run()
            bound, complete = search.bound, search.complete
        cells = len(table) * sum(table.cell_weights)
        facts: dict[str, Any] = {
            "optimal": incumbent.stars == bound,
            "loss_at_least": bound / cells,
            "proved_by": PROVED_BY,
        }
        if not complete:
            facts["stopped_early"] = True
        return Partition(incumbent.labels, facts=facts)

    def _watch(self, table: EncodedTable, control: Control) -> SolverWatch:
        """What the search needs to know of the time."""
        began, cells = time.monotonic(), len(table) * sum(table.cell_weights)
        allowed = self.seconds if control.seconds is None else control.seconds

        def left() -> float:
            return allowed - (time.monotonic() - began)

        def tell(stars: float, bound: float) -> None:
            shares = min(1 - left() / allowed if allowed > 0 else 1.0, 1.0), bound / stars if stars else 1.0
            control.report(loss=stars / cells, done=max(shares))

        return SolverWatch(lambda: control.stop or left() <= 0, left, tell)


def types_of(table: EncodedTable, requirement: Requirement) -> RowTypes:
    """The types of the rows, by the attributes of which something is asked."""
    return RowTypes.of(table.places, [table.codes[place] for place in _asked(requirement)])


def problem_of(
    types: RowTypes, requirement: Requirement, stop: Callable[[], bool], weights: Sequence[int] | None = None
) -> BranchProblem | None:
    """What is to be solved, a star of each column counting so much; None where it was stopped."""
    attributes = [requirement.attributes[place] for place in _asked(requirement)]
    demands: list[tuple[int, Fraction, ProgramGround]] = []
    limits: list[CountLimit] = []
    for place, attribute in enumerate(attributes):
        if attribute.t is not None and attribute.t < 1:
            demands.append((place, attribute.t, ground_of(attribute)))
            limits += count_limits(place, attribute, stop)
        if (caps := capped_sets(attribute, len(types.of_row))) is not None:
            demands.append((place, Fraction(1), caps))
            limits += cap_limits(place, caps)
    grounds = tuple(ground for _, _, ground in demands)
    patterns = Patterns.of(types.vectors, weigher(types, requirement.k, attributes, grounds), stop, weights)
    if patterns is None:
        return None
    asked = AskedOfClasses(
        requirement.k, tuple(t for _, t, _ in demands), grounds, tuple(place for place, _, _ in demands)
    )
    return BranchProblem(types, patterns, asked, limits)


def _asked(requirement: Requirement) -> list[int]:
    """The attributes that have caps, or a t below 1: any class is within 1."""
    return [
        place
        for place, attribute in enumerate(requirement.attributes)
        if attribute.caps is not None or (attribute.t is not None and attribute.t < 1)
    ]
