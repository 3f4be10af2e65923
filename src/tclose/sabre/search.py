"""What SABRE-KNN and SABRE-AK have in common: buckets, class sizes, taking out, merging, and what to try (004)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Line, Matrix
from tclose.distances.matrix import GAP
from tclose.encode import EncodedTable
from tclose.errors import InfeasibleError, SchemaError
from tclose.partition import Control, Partition
from tclose.requirement import Attribute, Requirement
from tclose.sabre.buckets import Bound, Buckets, bucketize
from tclose.sabre.merge import merge
from tclose.sabre.sizes import ClassSizes, class_sizes

Labels = NDArray[np.int64]
GRID = tuple(Fraction(step, 40) for step in range(41))  # of bucketing budgets; absolute, so that a larger t has more


class TakeOut(Protocol):
    """How rows are taken out of buckets."""

    def __call__(
        self, table: EncodedTable, owners: NDArray[np.int32], sizes: ClassSizes, seed: int, control: Control
    ) -> tuple[Labels, Labels]:
        """The class of each row and the seed of each class; `owners` is the bucket of each row.

        If the time is over, the rows not yet taken are one class.
        """
        ...


@dataclass(frozen=True)
class Options:
    """What may be chosen; the default is the printed algorithm.

    Attributes
    ----------
    bound
        How much a bucket may cost by itself; see `bucketize`.
    first
        The sensitive attribute whose buckets rows are taken from; the others are met by merging.
        The schema's first with a t, if None.
    try_first
        Try every attribute with a t as the first.
    search_budget
        Try bucketing budgets from 0 to t, in steps of 1/40, instead of t alone. With large buckets
        the bound comes near t, and too little is left for class sizes that are not proportional.
    """

    bound: Bound = "printed"
    first: str | None = None
    try_first: bool = False
    search_budget: bool = False

    def __post_init__(self) -> None:
        if self.bound not in ("printed", "largest"):
            raise SchemaError("SABRE: 'bound' must be 'printed' or 'largest'.")
        if self.first is not None and self.try_first:
            raise SchemaError("SABRE: give 'first', or let 'try_first' find it, not both.")


def partition(
    take_out: TakeOut,
    table: EncodedTable,
    requirement: Requirement,
    options: Options,
    rng: np.random.Generator,
    control: Control,
    start: Partition | None,
) -> Partition:
    """Algorithm SABRE; of several ways to try, the one of least loss, or `start` if that loses no more."""
    requirement.check_whole(table)
    seed = int(rng.integers(2**63))
    best, least = start, np.inf if start is None else table.loss(start.labels)
    plans = list(_plans(table, requirement, options))
    for number, (first, buckets, t) in enumerate(plans):
        if number and control.stop:
            break
        owners = np.zeros(len(table), np.int32) if first is None else buckets.of_code[table.codes[first]]
        sizes = class_sizes(buckets, t, requirement.k)
        labels, _ = take_out(table, owners, sizes, seed, control)
        if any(_asks_more(attribute, place == first) for place, attribute in enumerate(requirement.attributes)):
            labels = merge(table, requirement, labels, control)
        loss = table.loss(labels) if len(plans) > 1 or start is not None else 0.0
        if loss < least:
            best, least = Partition(labels), loss
            control.report(loss=loss if len(plans) > 1 else None, done=(number + 1) / len(plans))
    assert best is not None  # the first plan always gives one
    return Partition(best.labels, facts={"stopped_early": True} if control.stop else {})


def _asks_more(attribute: Attribute, is_first: bool) -> bool:
    """Whether something is asked that taking out does not give."""
    return attribute.l is not None or (attribute.t is not None and not is_first)


def _plans(
    table: EncodedTable, requirement: Requirement, options: Options
) -> Iterator[tuple[int | None, Buckets, Fraction]]:
    """What to try: the first attribute, its buckets, and the t for its classes."""
    attributes = requirement.attributes
    with_t = [place for place, attribute in enumerate(attributes) if attribute.t is not None]
    if options.first is not None:
        with_t = [place for place in with_t if attributes[place].domain.column == options.first]
        if not with_t:
            raise SchemaError(f"SABRE: 'first' is '{options.first}', which is not a sensitive attribute with a t.")
    if not with_t:
        one = bucketize(Line(np.zeros(1, np.int64), 1), np.array([len(table)]), Fraction(1))
        yield None, one, Fraction(1)
    for first in with_t if options.try_first else with_t[:1]:
        attribute = attributes[first]
        counts = np.bincount(table.codes[first], minlength=attribute.domain.size)
        t = _left_of_t(attribute, counts)
        budgets = [t, *(budget for budget in GRID if budget < t)] if options.search_budget else [t]
        found = [bucketize(attribute.domain.form, counts, budget, options.bound) for budget in budgets]
        for buckets in {each.of_code.tobytes(): each for each in found}.values():
            yield first, buckets, t


def _left_of_t(attribute: Attribute, counts: NDArray[np.int64]) -> Fraction:
    """What remains of t for classes measured against the table itself, by the triangle inequality."""
    assert attribute.t is not None
    t = attribute.t
    if isinstance(attribute.domain.form, Matrix):  # whose distance is only known up to a gap
        t = max(t - 2 * Fraction(GAP), Fraction(0))
    if not np.array_equal(counts, attribute.reference):
        t -= Fraction(attribute.distance(counts))
    if t < 0:
        raise InfeasibleError(
            f"The rows as a whole are farther than t from the reference in '{attribute.domain.column}'."
        )
    return t
