"""compare: methods, thresholds and k on one table, by what is lost, what attackers gain, and time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Unpack

from tclose.algorithms import Algorithm, find
from tclose.algorithms.control import Control, check_watching
from tclose.errors import SchemaError
from tclose.evaluation.attacks.allowed_rise import AllowedRise
from tclose.evaluation.choosing.best_methods import best_by_measure
from tclose.evaluation.choosing.compare_page import comparison_note, comparison_page
from tclose.evaluation.choosing.trials import Gains, Trial, TrialTable, label
from tclose.pipeline import Listener
from tclose.release.certificate import keep_warning, warned
from tclose.schema.changes import with_k, with_t
from tclose.schema.keys import ColumnKeys, Threshold, takes_keys
from tclose.schema.schema import Schema, SchemaLike
from tclose.schema.toml import exact
from tclose.table.arguments import check_run, distinct, listed, take_in

METHODS = ("tight", "mondrian", "sabre-knn", "sabre-ak")
STOPPED = "It was stopped before its turn came."
OFTEN = 0.1  # seconds between two looks at whether to stop


@dataclass(frozen=True)
class Comparison:
    """Methods compared on one table: what each run loses, and what attackers gain by it.

    Attributes
    ----------
    rows
        Of the table.
    runs
        Of one method after the other, by k, then by t, in the order asked.
    before
        What attackers gain from the table as it stands.
    jobs
        How many ran at once: only times of runs by themselves can be compared well.
    warning
        That kept columns are not checked (`keep_unchecked`).
    allowed
        By sensitive attribute with caps, the most that a belief may rise by them.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63], "illness": ["flu", "cold"] * 3})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> found = tclose.compare(table, asked, methods=["mondrian"], t=["0.1", "0.2"], queries=0, jobs=1)
    >>> [(float(run.t), run.refused is None, run.classes) for run in found.runs]
    [(0.1, False, 0), (0.2, True, 2)]
    """

    rows: int
    runs: tuple[Trial, ...]
    before: Gains
    jobs: int = 1
    warning: str | None = None
    allowed: dict[str, AllowedRise] = field(default_factory=dict)

    @property
    def done(self) -> tuple[Trial, ...]:
        """The runs that led to a release."""
        return tuple(run for run in self.runs if run.refused is None)

    @property
    def frontier(self) -> tuple[Trial, ...]:
        """Those runs that none beats, by rise: in rise of beliefs or in loss, while it is no worse in the other.

        Of two that are alike in both, the first.
        """
        best: list[Trial] = []
        for run in sorted(self.done, key=lambda run: (run.gains.rise, run.loss)):
            if not best or run.loss < best[-1].loss:
                best.append(run)
        return tuple(best)

    @property
    def best(self) -> dict[str, dict[str, int]]:
        """By measure, in how many settings of t and k each method is best; methods that are alike share it."""
        return {each.measure.name: each.wins for each in best_by_measure(self.done)}

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        told = {
            "rows": self.rows,
            "jobs": self.jobs,
            "before": asdict(self.before),
            "allowed": {column: each.as_dict() for column, each in self.allowed.items()},
            "runs": [run.as_dict() for run in self.runs],
            "frontier": [self.runs.index(run) for run in self.frontier],
            "best": {each.measure.name: each.as_list() for each in best_by_measure(self.done)},
        }
        return warned(self.warning, told)

    def html(self) -> str:
        """One page that opens offline, with charts; no value of the table is in it."""
        return comparison_page(self).html()

    def _repr_html_(self) -> str:
        return comparison_note(self).inline()


@takes_keys
def compare(
    df: Any,
    schema: SchemaLike | None = None,
    *,
    methods: str | Algorithm | Iterable[str | Algorithm] = METHODS,
    t: Threshold | Iterable[Threshold] = (),
    k: int | Iterable[int] = (),
    seed: int = 0,
    time: float | None = None,
    queries: int = 1000,
    jobs: int | None = None,
    progress: Listener | None = None,
    control: Control | None = None,
    **keys: Unpack[ColumnKeys],
) -> Comparison:
    """Run methods at several t and k on a table, and measure what each release would be worth.

    Nothing is released: of every run only measures are kept.

    Parameters
    ----------
    df, schema, keys
        As for `anonymize`.
    methods
        Names or algorithm objects; those that cannot promise what the schema asks are told as refused.
    t
        One, or several that are taken one after the other, for every sensitive attribute and joint that the schema
        gives a t; the schema's own if none is given.
    k
        The same for k.
    seed
        For the methods and the queries.
    time
        Seconds for each run.
    queries
        COUNT queries to draw, the same for every run; 0 for none.
    jobs
        Runs at once; the number of processors if None. Times are only worth comparing with 1.
    progress
        Called with what was last done, None, and the share of runs done.
    control
        After `control.end()` running methods come back with what they have, and no other begins.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(500, seed=1)
    >>> found = tclose.compare(frame, schema, methods=["mondrian", "sabre-ak"], t=["0.3", "0.5"], queries=100)
    >>> [(run.method, float(run.t)) for run in found.done]
    [('mondrian', 0.3), ('mondrian', 0.5), ('sabre-ak', 0.3), ('sabre-ak', 0.5)]
    """
    check_watching(progress, control)
    check_run(seed, time, queries=queries, jobs=jobs or 0)
    chosen = distinct(map(find, listed(methods)))
    if not chosen:
        raise SchemaError("There is nothing to compare. Name at least one method.")
    sizes = distinct(listed(k))
    given = keys if schema is not None or not sizes else {**keys, "k": sizes[0]}
    schema, source = take_in(df, schema, given, compare)
    thresholds = dict.fromkeys(exact(each, "compare", "t") for each in listed(t))
    asked: list[tuple[Fraction | None, Schema]] = [(each, with_t(schema, each)) for each in thresholds]
    plans = [
        _PlannedRun(algorithm, threshold, with_k(one, size), Control(time))
        for algorithm in chosen
        for size in sizes or [schema.k]
        for threshold, one in asked or [(None, schema)]
    ]
    ground = TrialTable.of(source, schema, seed, queries)
    tell = progress or (lambda stage, loss, done: None)
    runs: dict[int, Trial] = {}
    jobs = min(jobs or os.cpu_count() or 1, len(plans))
    with ThreadPoolExecutor(jobs) as pool:
        tell("begin", None, 0.0)
        for algorithm in chosen:
            ground.warm(algorithm, time)
        before = pool.submit(lambda: ground.before)
        waiting = [pool.submit(plan.run, ground) for plan in plans]
        for place in _as_they_end(waiting, plans, control):
            runs[place] = plans[place].result(waiting[place])
            tell(f"{len(runs)} of {len(plans)} runs, last {plans[place]}", None, len(runs) / len(plans))
    made = tuple(runs[place] for place in range(len(plans)))
    return Comparison(len(ground.table), made, before.result(), jobs, keep_warning(schema), ground.allowed)


@dataclass(frozen=True)
class _PlannedRun:
    """A run to come."""

    algorithm: Algorithm
    t: Fraction | None
    schema: Schema
    control: Control

    def __str__(self) -> str:
        t = "" if self.t is None else f", t = {float(self.t):g}"
        return f"{label(self.algorithm)}{t}, k = {self.schema.k}"

    def run(self, ground: TrialTable) -> Trial:
        """Make it come true; its time begins now."""
        self.control.begin(self.control.seconds, lambda loss, done: None)
        return ground.run_or_refuse(self.algorithm, self.schema, self.t, self.control)

    def result(self, future: Future[Trial]) -> Trial:
        """What came of it."""
        try:
            return future.result()
        except CancelledError:
            return Trial(label(self.algorithm), self.t, self.schema.k, refused=STOPPED)


def _as_they_end(
    waiting: Sequence[Future[Trial]], plans: Sequence[_PlannedRun], control: Control | None
) -> Iterator[int]:
    """The places of runs as they end; if asked to stop, those that run are ended and the others cancelled."""
    places = {future: place for place, future in enumerate(waiting)}
    left = set(waiting)
    try:
        while left:
            if control is not None and control.stop:
                _give_up(waiting, plans)
            done, left = wait(left, OFTEN)
            yield from sorted(places[future] for future in done)
    finally:
        if left:  # something went wrong: nothing is worth waiting for
            _give_up(waiting, plans)


def _give_up(waiting: Sequence[Future[Trial]], plans: Sequence[_PlannedRun]) -> None:
    for future, plan in zip(waiting, plans, strict=True):
        if not future.cancel():
            plan.control.end()
