"""compare: methods, thresholds and k on one table, by what is lost, what is gained by attackers, and time."""

from __future__ import annotations

import os
import time as clock
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tclose.algorithms import Algorithm, find
from tclose.capable import check_capable
from tclose.errors import HighLossWarning, InfeasibleError, MissingExtraError, SchemaError, SizeError
from tclose.exposure import attack
from tclose.frames import Source, read
from tclose.partition import Control, Partition
from tclose.pipeline import anonymize
from tclose.release import Release
from tclose.schema import Schema
from tclose.schema_toml import exact
from tclose.usefulness import utility

METHODS = ("tight", "mondrian", "sabre-knn", "sabre-ak")
Listener = Callable[[str, float | None, float | None], None]


@dataclass(frozen=True)
class Run:
    """One method at one t and k.

    Attributes
    ----------
    method, t, k
        What was run; t is that of every sensitive attribute, None if each has its own from the schema.
    refused
        Why there is nothing else.
    loss, query_error
        The general loss metric, and the median relative error of COUNT queries (None if every answer is 0).
    reached
        By sensitive attribute and joint, the largest distance of a class.
    classes, sizes
        How many, and their sizes: least, lower quartile, median, upper quartile, largest.
    rise, guess, risk
        What attackers gain: the largest rise of the belief in a sensitive value in a class; how much more
        often the sensitive value of a row is guessed by a learner than by the most frequent value of the
        table; and the largest chance that a row is re-identified.
    seconds
        Of the method alone.
    """

    method: str
    t: str | None
    k: int
    refused: str | None = None
    loss: float = np.nan
    query_error: float | None = None
    reached: dict[str, float] | None = None
    classes: int = 0
    sizes: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    rise: float = np.nan
    guess: float = np.nan
    risk: float = np.nan
    seconds: float = np.nan

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        told = asdict(self)
        if self.refused is not None:
            return {name: told[name] for name in ("method", "t", "k", "refused")}
        del told["refused"]
        return told


@dataclass(frozen=True)
class Comparison:
    """Runs on one table.

    Attributes
    ----------
    rows
        Of the table.
    runs
        Of one method after the other, by k, the strictest t first.
    before
        What attackers gain from the table as it stands, as `Run` has it after: rise, guess and risk.
    """

    rows: int
    runs: tuple[Run, ...]
    before: dict[str, float]

    @property
    def done(self) -> tuple[Run, ...]:
        """The runs that led to a release."""
        return tuple(run for run in self.runs if run.refused is None)

    @property
    def frontier(self) -> tuple[Run, ...]:
        """Those runs than which no other has both a smaller rise of beliefs and a smaller loss, by rise."""
        best: list[Run] = []
        for run in sorted(self.done, key=lambda run: (run.rise, run.loss)):
            if not best or run.loss < best[-1].loss:
                best.append(run)
        return tuple(best)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"rows": self.rows, "before": self.before, "runs": [run.as_dict() for run in self.runs]}

    def html(self) -> str:
        """One page that opens offline, with charts; no row of the table is in it."""
        from tclose.comparison_page import comparison_page

        return comparison_page(self).html()

    def _repr_html_(self) -> str:
        from tclose.comparison_page import comparison_page

        return comparison_page(self).inline()


def compare(
    df: Any,
    schema: Schema,
    *,
    methods: Iterable[str | Algorithm] = METHODS,
    t: Sequence[str] = (),
    k: Sequence[int] = (),
    seed: int = 0,
    time: float | None = None,
    queries: int = 1000,
    jobs: int | None = None,
    progress: Listener | None = None,
    control: Control | None = None,
) -> Comparison:
    """Run methods at several t and k on a table, and measure what each release is worth.

    Parameters
    ----------
    df, schema
        As for `anonymize`.
    methods
        Names or algorithm objects; those that cannot promise what the schema asks are told as refused.
    t
        For every sensitive attribute and joint that the schema gives a t, one after the other; its own if none is given.
    k
        The same for k.
    seed
        For the methods and the queries.
    time
        Seconds for each run.
    queries
        COUNT queries to draw.
    jobs
        Runs at once; the number of processors if None. Times are only worth comparing with 1.
    progress
        Called with what was last done, None, and the share of runs done.
    control
        After `control.end()` no further run is begun.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(500, seed=1)
    >>> found = tclose.compare(frame, schema, methods=["mondrian", "sabre-ak"], t=["0.3", "0.5"], queries=100)
    >>> [(run.method, run.t) for run in found.done]
    [('mondrian', '0.3'), ('mondrian', '0.5'), ('sabre-ak', '0.3'), ('sabre-ak', '0.5')]
    """
    source = read(df, schema.delimiter, schema.encoding)
    asked = [with_t(schema, each) for each in t] or [schema]
    plans = [
        (find(method), None if not t else t[place], replace(one, k=k or one.k))
        for method in methods
        for k in (k or (None,))
        for place, one in enumerate(asked)
    ]
    tell, done = progress or (lambda stage, loss, done: None), 0
    runs: list[Run] = []
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        waiting = [
            pool.submit(_run, source, algorithm, given, one, seed, time, queries, control)
            for algorithm, given, one in plans
        ]
        for (algorithm, given, _), future in zip(plans, waiting, strict=True):
            runs.append(future.result())
            done += 1
            tell(f"{algorithm.name} {given or ''}", None, done / len(plans))
    return Comparison(source.n_rows, tuple(runs), _gains(attack(source, schema).before))
