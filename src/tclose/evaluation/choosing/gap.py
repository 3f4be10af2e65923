"""How far is a method from the least loss that any partition can have?"""

from __future__ import annotations

import logging
import time as clock
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from tclose.algorithms import REGISTRY, Algorithm, find, run_method
from tclose.algorithms.capable import check_capable, is_capable
from tclose.algorithms.control import Control, check_watching
from tclose.algorithms.loss_bound.loss_bound import LossBound, bound_loss
from tclose.algorithms.requirement import Requirement
from tclose.errors import InfeasibleError, MissingExtraError, SchemaError, SizeError, VerificationError
from tclose.pipeline import Listener
from tclose.schema.keys import SchemaKeys, takes_keys
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.arguments import check_run, listed, take_in
from tclose.table.encode import EncodedTable, encode

LOG = logging.getLogger(__name__)
ROUNDING = 1e-9  # sums of the same terms in another order
SLACK = 1e-7  # what a bound in floats may be off


@dataclass(frozen=True)
class MethodGap:
    """What became of one method.

    Attributes
    ----------
    loss
        Of its partition, which was checked in integers; None if it refused.
    seconds
        How long it took.
    at_least
        The loss below which no partition can be, if the method proved one.
    refused
        Why there is no loss.
    """

    method: str
    loss: float | None
    seconds: float
    at_least: float | None = None
    refused: str | None = None


@dataclass(frozen=True)
class Gap:
    """Methods beside the optimum.

    Attributes
    ----------
    rows, cells
        Of the table; `cells` are those of its quasi-identifiers, None unless the recoding is suppression
        and all columns weigh the same.
    entries
        One a method, the least loss first, those that refused last.
    bound
        What prices prove or let estimate; None where a method proved the optimum.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(12, seed=1)
    >>> found = tclose.gap(frame, schema, methods="mondrian", time=0.1)
    >>> found.rows, found.at_least <= found.least + 1e-9
    (12, True)
    """

    rows: int
    cells: int | None
    entries: tuple[MethodGap, ...]
    bound: LossBound | None = None

    @property
    def at_least(self) -> float:
        """The highest loss that is proven to be below all partitions; where none is, the estimated one."""
        proven = self.proven
        return self.bound.loss_at_least if not proven and self.bound is not None else proven

    @property
    def proven(self) -> float:
        """The highest loss that is proven to be below all partitions, by a method or by prices; 0 is always."""
        proven = [entry.at_least for entry in self.entries if entry.at_least is not None]
        if self.bound is not None and self.bound.is_proven:
            proven.append(self.bound.loss_at_least)
        return max(proven, default=0.0)

    @property
    def confidence(self) -> float | None:
        """With what probability `at_least` is right where it is estimated; None where it is proven."""
        return None if self.proven or self.bound is None else self.bound.confidence

    @property
    def least(self) -> float:
        """The least loss of all methods."""
        return min(entry.loss for entry in self.entries if entry.loss is not None)

    @property
    def is_optimum(self) -> bool:
        """Whether some method reached a proven bound, which is then the optimum."""
        return self.least <= self.proven + ROUNDING

    def above(self, entry: MethodGap) -> float | None:
        """By what share a loss lies above the bound; None where that is 0 and the loss is not."""
        if entry.loss is None or (self.at_least <= ROUNDING < entry.loss):
            return None
        more = entry.loss - self.at_least
        return more / max(self.at_least, ROUNDING) if more > ROUNDING else 0.0

    def hidden(self, loss: float) -> int | None:
        """A loss as the number of suppressed cells."""
        return None if self.cells is None else round(loss * self.cells)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        methods = {
            entry.method: {"refused": entry.refused, "seconds": entry.seconds}
            if entry.loss is None
            else {
                "loss": entry.loss,
                "suppressed_cells": self.hidden(entry.loss),
                "above": self.above(entry),
                "loss_at_least": entry.at_least,
                "seconds": entry.seconds,
            }
            for entry in self.entries
        }
        bound = {
            "loss_at_least": self.at_least,
            "confidence": self.confidence,
            "cells_at_least": self.hidden(self.at_least),
        }
        prices = None if self.bound is None else self.bound.as_dict()
        return {"rows": self.rows, **bound, "is_optimum": self.is_optimum, "methods": methods, "prices": prices}


@takes_keys
def gap(
    df: Any,
    schema: SchemaLike | None = None,
    *,
    methods: str | Algorithm | Iterable[str | Algorithm] | None = None,
    seed: int = 0,
    time: float = 60.0,
    progress: Listener | None = None,
    control: Control | None = None,
    **keys: Unpack[SchemaKeys],
) -> Gap:
    """Compare the loss of methods with the optimum, or with a bound that no release falls below.

    The optimum of a small table is found by the methods that prove one. For a table of any size prices of rows are
    learnt, from which a bound follows: proven if the time is enough to check it over all rows, else estimated from a
    sample of them.

    Parameters
    ----------
    df, schema, keys
        As for `anonymize`.
    methods
        Those to measure; all that can promise what the schema asks, if None. The methods that prove
        a bound are always run.
    seed
        For every method's random choices.
    time
        Seconds for each method, and for the bound by prices.
    progress
        Called with the method's name, its loss so far and the share done.
    control
        Another way to stop: after `control.end()`, from any thread, what runs comes back with the best it has.

    Raises
    ------
    SchemaError
        The schema asks for something that no bound is known for: `suppress_rows`, an objective, or persons.

    Examples
    --------
    >>> import tclose
    >>> hard = tclose.datasets.hard.planted_bisection(8, 3, seed=1)
    >>> found = tclose.gap(hard.frame, hard.schema, methods=["mondrian"])
    >>> found.is_optimum, found.hidden(found.at_least) == hard.optimum
    (True, True)
    """
    check_watching(progress, control)
    check_run(seed, time)
    schema, source = take_in(df, schema, keys, gap)
    if schema.counts_persons:
        raise SchemaError(
            'No method that proves a bound counts persons, so `gap` does not take unit_rows = "all". '
            'Take unit_rows = "one".'
        )
    if schema.suppress_rows:
        raise SchemaError(
            "No method that proves a bound leaves rows out, so `gap` does not take suppress_rows. Take it out."
        )
    if schema.objective != "loss":
        raise SchemaError(
            f'Bounds are proven for the loss, so `gap` does not take objective = "{schema.objective}". Leave it out.'
        )
    table = encode(source, schema, seed=seed)
    requirement = Requirement.of(schema, table)
    requirement.check_whole(table)
    tell = progress or (lambda stage, loss, done: None)
    entries: list[MethodGap] = []
    failed: list[InfeasibleError] = []
    for algorithm in _chosen(schema, methods):
        part = Control(whole=control)
        part.begin(time, lambda loss, done, name=algorithm.name: tell(name, loss, done))  # type: ignore[misc]
        tell(algorithm.name, None, None)
        LOG.info("gap: %s on %d rows", algorithm.name, len(table))
        try:
            entries.append(_entry(algorithm, table, requirement, seed, part))
        except InfeasibleError as error:  # another method may find what this one does not
            failed.append(error)
            entries.append(MethodGap(algorithm.name, None, 0.0, refused=str(error)))
    if all(entry.loss is None for entry in entries):
        reasons = " ".join(entry.refused for entry in entries if entry.refused)
        raise (
            failed[0] if failed else SizeError(f"No method takes this table, so there is nothing to compare. {reasons}")
        )
    alike = schema.recode == "suppress" and set(table.cell_weights) == {1}  # else a loss is no number of cells
    cells = len(table) * len(table.axes) if alike else None
    entries.sort(key=lambda entry: (entry.loss is None, entry.loss or 0.0))
    found = Gap(len(table), cells, tuple(entries))
    if not found.is_optimum:
        part = Control(whole=control)
        part.begin(time, lambda loss, done: tell("bound", loss, done))
        found = replace(found, bound=bound_loss(table, requirement, seed=seed, control=part, loss=found.least))
    _check_bounds(found)
    return found


def _chosen(schema: Schema, methods: str | Algorithm | Iterable[str | Algorithm] | None) -> list[Algorithm]:
    """The methods to run: of those not asked for by name, only such as can promise what the schema asks."""
    asked = [find(method) for method in listed(methods or ())]
    for algorithm in asked:
        check_capable(algorithm, schema)
    names = {algorithm.name for algorithm in asked}
    if len(names) < len(asked):
        raise SchemaError("Give each method once: a table of gaps has a line a name.")
    others = [
        kind()
        for name, kind in REGISTRY.items()
        if name not in names and (methods is None or kind.capabilities.small_only)
    ]
    chosen = asked + [algorithm for algorithm in others if is_capable(algorithm, schema)]
    return sorted(
        chosen, key=lambda algorithm: not algorithm.capabilities.small_only
    )  # those first that may prove an optimum


def _check_bounds(found: Gap) -> None:
    """No partition may lose less than is proven possible: else a proof is wrong."""
    claims = [(f"'{entry.method}'", entry.at_least) for entry in found.entries if entry.at_least is not None]
    if found.bound is not None and found.bound.is_proven:
        claims.append(("The check of prices", found.bound.loss_at_least))
    for name, at_least in claims:
        if at_least > found.least + SLACK:
            raise VerificationError(f"{name} claims that no partition loses less than {at_least:.6f}, and one does.")


def _entry(
    algorithm: Algorithm, table: EncodedTable, requirement: Requirement, seed: int, control: Control
) -> MethodGap:
    started = clock.perf_counter()
    try:
        partition = run_method(algorithm, table, requirement, rng=np.random.default_rng(seed), control=control)
    except (SchemaError, SizeError, MissingExtraError) as error:
        return MethodGap(algorithm.name, None, clock.perf_counter() - started, refused=str(error))
    seconds = clock.perf_counter() - started
    if not requirement.holds_in_all(table, partition.labels):
        raise VerificationError(f"'{algorithm.name}' returned classes that break the requirement.")
    return MethodGap(algorithm.name, table.loss(partition.labels), seconds, partition.facts.get("loss_at_least"))
