"""What SABRE-KNN and SABRE-AK have in common: buckets, class sizes, taking out, merging, and what to try (004)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Control, Stage, Watch
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.algorithms.sabre.bucket_sizes import class_sizes
from tclose.algorithms.sabre.cutting_on import cut_on
from tclose.algorithms.shared.buckets import BoundRule, Buckets, bucketize
from tclose.algorithms.shared.class_sizes import ClassSizes
from tclose.algorithms.shared.merge import merge
from tclose.distances import Line
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Labels = NDArray[np.int64]
FORMING = 0.3  # of the work, where classes are then cut on; what is told of it, no limit
GRID = tuple(Fraction(step, 40) for step in range(41))  # of bucketing budgets; absolute, so that a larger t has more


class TakeOut(Protocol):
    """How rows are taken out of buckets."""

    def __call__(
        self, table: EncodedTable, owners: NDArray[np.int32], sizes: ClassSizes, seed: int, watch: Watch
    ) -> tuple[Labels, Labels]:
        """The class of each row and the seed of each class; `owners` is the bucket of each row.

        If the time is over, the rows not yet taken are one class, without a seed.
        """
        ...


@dataclass(frozen=True)
class SabreOptions:
    """What may be chosen; the default is the printed algorithm.

    Attributes
    ----------
    bound
        How much a bucket may cost by itself; see `bucketize`.
    first
        The sensitive attribute whose buckets rows are taken from; the others are met by merging.
        The schema's first with a t, if None or if the requirement has no t for it: `anonymize`
        refuses such a name, but also asks what binds by leaving attributes out.
    try_first
        Try every attribute with a t as the first.
    search_budget
        Try bucketing budgets from 0 to t, in steps of 1/40, instead of t alone. With large buckets
        the bound comes near t, and too little is left for class sizes that are not proportional.
    slack
        When classes are formed, use what the bound leaves of t: cut them on as `mondrian` does, by the real distance,
        and search from there as `tight` does.
    """

    bound: BoundRule = "printed"
    first: str | None = None
    try_first: bool = False
    search_budget: bool = False
    slack: bool = False

    def __post_init__(self) -> None:
        if self.bound not in ("printed", "largest"):
            raise SchemaError("SABRE: 'bound' must be 'printed' or 'largest'.")
        if self.first is not None and self.try_first:
            raise SchemaError("SABRE: give 'first', or let 'try_first' find it, not both.")

    def refuse(self, schema: Schema) -> None:
        """Raise SchemaError if `first` is not an attribute with a t."""
        with_t = [sensitive.column for sensitive in schema.sensitive if sensitive.t is not None]
        with_t += [joint.name for joint in schema.joint]
        if self.first is not None and self.first not in with_t:
            allowed = f"Allowed: {', '.join(repr(column) for column in with_t)}." if with_t else "The schema has none."
            raise SchemaError(
                f"SABRE: option 'first' is '{self.first}', which is not a sensitive attribute with a t. {allowed}"
            )


@dataclass(frozen=True, eq=False)
class SabrePlan:
    """One way to try.

    Attributes
    ----------
    first
        Which attribute's buckets rows are taken from; None if none has a t.
    buckets
        Its buckets.
    t
        What its classes have to be within.
    """

    first: int | None
    buckets: Buckets
    t: Fraction


def partition(
    take_out: TakeOut,
    table: EncodedTable,
    requirement: Requirement,
    options: SabreOptions,
    rng: np.random.Generator,
    control: Control,
) -> Partition:
    """Algorithm SABRE; of several ways to try, the one of least loss. With `slack` its classes are then cut on."""
    requirement.check_whole(table)
    forming = control.stretch(0.0, FORMING) if options.slack else control
    seed = int(rng.integers(2**63))
    plans = list(_plans(table, requirement, options, forming))
    best, least, complete = np.zeros(len(table), np.int64), np.inf, True
    for number, plan in enumerate(plans):
        if number and forming.stop:
            complete = False
            break
        stage = Stage(forming, number / len(plans), (number + 1) / len(plans))
        labels, is_whole = _carry_out(plan, take_out, table, requirement, seed, stage)
        complete &= is_whole
        loss = table.loss(labels) if len(plans) > 1 else 0.0
        if loss < least:
            best, least = labels, loss
        forming.report(loss=least if len(plans) > 1 else None, done=(number + 1) / len(plans))
    found = Partition(best, facts={} if complete else {"stopped_early": True})
    if not options.slack:
        return found
    return cut_on(table, requirement, found, rng=rng, control=control.stretch(FORMING, 1.0))


def _carry_out(
    plan: SabrePlan, take_out: TakeOut, table: EncodedTable, requirement: Requirement, seed: int, stage: Stage
) -> tuple[Labels, bool]:
    """The class of each row, and whether nothing was left out for want of time."""
    owners = np.zeros(len(table), np.int32) if plan.first is None else plan.buckets.of_code[table.codes[plan.first]]
    sizes = class_sizes(plan.buckets, plan.t, requirement.k, stage)
    in_time = not stage.stop
    if not any(_asks_more(attribute, place == plan.first) for place, attribute in enumerate(requirement.attributes)):
        labels, seeds = take_out(table, owners, sizes, seed, stage)
        return labels, in_time and len(seeds) == len(sizes)
    middle = (stage.begin + stage.end) / 2
    labels, seeds = take_out(table, owners, sizes, seed, replace(stage, end=middle))
    labels, is_whole = merge(table, requirement, labels, replace(stage, begin=middle))
    return labels, in_time and is_whole and len(seeds) == len(sizes)


def _asks_more(attribute: Attribute, is_first: bool) -> bool:
    """Whether something is asked that taking out does not give."""
    return attribute.asks_beyond_t or (attribute.t is not None and not is_first)


def _plans(
    table: EncodedTable, requirement: Requirement, options: SabreOptions, control: Control
) -> Iterator[SabrePlan]:
    """What to try; when the time is over, no more than the first."""
    attributes = requirement.attributes
    with_t = [place for place, attribute in enumerate(attributes) if attribute.t is not None]
    if not with_t:
        one = bucketize(Line(np.zeros(1, np.int64), 1), np.array([len(table)]), Fraction(1))
        yield SabrePlan(None, one, Fraction(1))
    with_t.sort(key=lambda place: attributes[place].domain.column != options.first)
    for number, first in enumerate(with_t if options.try_first else with_t[:1]):
        if number and control.stop:
            return
        attribute = attributes[first]
        counts = np.bincount(table.codes[first], minlength=attribute.domain.size)
        t = attribute.left_of_t(counts)
        budgets = [t, *(budget for budget in GRID if budget < t)] if options.search_budget else [t]
        found = [bucketize(attribute.domain.form, counts, budgets[0], options.bound)]
        for budget in budgets[1:]:
            if control.stop:
                break
            found.append(bucketize(attribute.domain.form, counts, budget, options.bound))
        for buckets in {each.of_code.tobytes(): each for each in found}.values():
            yield SabrePlan(first, buckets, t)
