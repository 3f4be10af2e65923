"""suggest: sweep t, show what analysts lose and attackers gain, and choose the t that keeps the bounds given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Unpack, get_args

from tclose.algorithms import Algorithm, find
from tclose.algorithms.control import Control, check_watching
from tclose.algorithms.tight.tight import Tight
from tclose.errors import InfeasibleError, SchemaError
from tclose.evaluation.attacks.allowed_rise import AllowedRise
from tclose.evaluation.choosing.knee import MARGIN, CurveName, find_knee, height
from tclose.evaluation.choosing.risk_bounds import Bounds
from tclose.evaluation.choosing.suggest_page import suggestion_note, suggestion_page
from tclose.evaluation.choosing.sweep import REFINED, Sweep
from tclose.evaluation.choosing.trials import Gains, Trial, TrialTable, exact_or_none, label
from tclose.pipeline import Listener
from tclose.release.certificate import keep_warning, warned
from tclose.schema.changes import with_k, with_t
from tclose.schema.keys import SchemaKeys, Threshold, takes_keys
from tclose.schema.schema import SchemaLike
from tclose.schema.toml import exact
from tclose.table.arguments import check_run, listed, take_in

METHOD = Tight("fast")
NO_BOUNDS = Bounds()
MARKED_RISES = tuple(map(Fraction, ("0.05", "0.1", "0.2")))  # of a belief: marks where no bound is given
GRID = tuple(
    map(Fraction, ("0.02", "0.03", "0.05", "0.075", "0.1", "0.15", "0.2", "0.25", "0.3", "0.4", "0.5"))
)  # fmt: skip


@dataclass(frozen=True)
class Suggestion:
    """Several t tried on one table: what analysts lose and attackers gain at each, and which t keeps your bounds.

    Attributes
    ----------
    rows, method, k
        The rows of the table, the method that was swept with, and k.
    column
        The attribute or joint whose t was swept; None if all that have one had the same.
    by
        The curve whose knee was looked for: loss, or the error of queries.
    runs
        One a t, the strictest first.
    knee
        Which of them is the knee of the curve, one mark among others; None if it has none.
    depth
        How far below the chord the curve gets, both axes being of length 1.
    before
        What attackers gain from the table as it stands.
    bounds
        What was asked; without a bound nothing is suggested.
    schema_k
        The k of the schema: the swept one is another where the risk was bounded.
    seed
        Of every run.
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
    >>> found = tclose.suggest(table, asked, method="mondrian", t=["0.1", "0.2", "0.5"], max_rise=0.2, queries=0)
    >>> found.t, round(found.runs[found.chosen].loss, 3)
    (Fraction(1, 5), 0.048)
    """

    rows: int
    method: str
    k: int
    column: str | None
    by: CurveName
    runs: tuple[Trial, ...]
    knee: int | None
    depth: float
    before: Gains
    bounds: Bounds = NO_BOUNDS
    schema_k: int | None = None
    seed: int = 0
    warning: str | None = None
    allowed: dict[str, AllowedRise] = field(default_factory=dict)

    @property
    def chosen(self) -> int | None:
        """Which run the bounds choose; None without bounds on rise or loss, and if no run keeps them."""
        return self.bounds.choose(self.runs)

    @property
    def t(self) -> Fraction | None:
        """The t that the bounds choose; None if they choose none. The knee never does."""
        return None if self.chosen is None else self.runs[self.chosen].t

    @property
    def marks(self) -> dict[str, int]:
        """Runs that stand out, by name: the chosen one, the knee, and without a bound on the rise the loosest t that
        keeps some rises.
        """  # fmt: skip
        found = {} if self.chosen is None else {"suggested": self.chosen}
        if self.knee is not None:
            found["knee"] = self.knee
        for rise in () if self.bounds.rise is not None else MARKED_RISES:
            place = Bounds(rise=rise).choose(self.runs)
            if place is not None:
                found[f"up to {float(100 * rise):g} points"] = place
        return found

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        knee = None if self.knee is None else exact_or_none(self.runs[self.knee].t)
        told = {
            "rows": self.rows,
            "method": self.method,
            "seed": self.seed,
            "k": self.k,
            "schema_k": self.schema_k,
            "column": self.column,
            "by": self.by,
            "bounds": self.bounds.as_dict(),
            "t": exact_or_none(self.t),
            "marks": self.marks,
            "knee": {"t": knee, "depth": self.depth, "margin": MARGIN},
            "before": asdict(self.before),
            "allowed": {column: each.as_dict() for column, each in self.allowed.items()},
            "runs": [run.as_dict() for run in self.runs],
        }
        return warned(self.warning, told)

    def html(self) -> str:
        """One page that opens offline, with charts; no value of the table is in it."""
        return suggestion_page(self).html()

    def _repr_html_(self) -> str:
        return suggestion_note(self).inline()


@takes_keys
def suggest(
    df: Any,
    schema: SchemaLike | None = None,
    *,
    method: str | Algorithm = METHOD,
    column: str | None = None,
    t: Iterable[Threshold] = GRID,
    by: CurveName = "loss",
    max_rise: Threshold | None = None,
    max_risk: Threshold | None = None,
    max_loss: Threshold | None = None,
    seed: int = 0,
    time: float | None = None,
    queries: int = 1000,
    progress: Listener | None = None,
    control: Control | None = None,
    **keys: Unpack[SchemaKeys],
) -> Suggestion:
    """Try several t from strict to loose, and choose the one that keeps bounds on rise, risk and loss.

    The classes of a stricter t hold for a looser one too, and are taken where the method finds none that
    lose less: so the loss never rises with t. Such a t is never chosen.

    Without a bound on rise or loss no t is chosen: both curves are there, and marks on them.

    Parameters
    ----------
    df, schema, keys
        As for `anonymize`.
    method
        The method to sweep with.
    column
        The attribute or joint whose t is swept, the others being as the schema has them; if None, all that
        have a t get the same.
    t
        The thresholds to try, in any order.
    by
        The curve whose knee is looked for: `loss`, or the error of `queries`.
    max_rise
        The loosest t is chosen at which no belief in a sensitive value rises by more, as a share: 0.1 is 10 points.
        It is measured on the classes found, and not promised.
    max_risk
        The chance of giving a row its person, which is at most 1/k: the sweep takes the least k that keeps it.
    max_loss
        With `max_rise`, a t that loses more is not chosen; without it, the strictest t is that loses no more.
    seed
        For the method and the queries.
    time
        Seconds for each t.
    queries
        COUNT queries to draw, the same for every t; 0 for none.
    progress
        Called with the t, the loss so far and the share done.
    control
        After `control.end()` the sweep ends with what it has.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(1000, seed=1)
    >>> found = tclose.suggest(
    ...     frame, schema, method="mondrian", t=["0.1", "0.2", "0.3", "0.5"], max_rise=0.5, queries=0
    ... )
    >>> chosen = found.runs[found.chosen]
    >>> chosen.t == found.t, float(chosen.rise) <= 0.5
    (True, True)
    """
    check_watching(progress, control)
    check_run(seed, time, queries=queries)
    if by not in get_args(CurveName):
        raise SchemaError("by must be 'loss' or 'queries': the curve whose knee is looked for.")
    algorithm = find(method)
    bounds = Bounds.of(max_rise, max_risk, max_loss)
    thresholds = sorted({exact(each, "suggest", "t") for each in listed(t)})
    if len(thresholds) < 3:
        raise SchemaError("A curve needs three t at least. Give more of them.")
    if by == "queries" and not queries:
        raise SchemaError("There is no curve of query errors without queries. Ask some.")
    if schema is None and bounds.k is not None:
        keys = {"k": bounds.k, **keys}
    given, source = take_in(df, schema, keys, suggest)
    swept = given if bounds.k is None else with_k(given, bounds.k)
    for each in thresholds:
        with_t(swept, each, column)  # all are checked before the first runs
    ground = TrialTable.of(source, swept, seed, queries)
    if swept.k > len(ground.table):
        raise InfeasibleError(
            f"The table has {len(ground.table)} rows, and k = {swept.k} asks for more in every class."
        )
    tell = progress or (lambda stage, loss, done: None)
    sweep = Sweep(ground, algorithm, lambda each: with_t(swept, each, column), time, control or Control(), tell)
    sweep.go(thresholds, REFINED if bounds.choose_t else 0)
    sweep.refine(bounds)
    runs = tuple(sweep.runs)
    if len(runs) < 3:
        raise InfeasibleError("It was stopped before there was a curve. Allow more time, or sweep fewer t.")
    if by == "queries" and any(run.query_error is None for run in runs):
        raise InfeasibleError("Every COUNT query drawn has the answer 0. Ask more of them, or sweep by loss.")
    knee, depth = find_knee([(float(run.t or 0), height(run, by)) for run in runs])
    return Suggestion(
        len(ground.table),
        label(algorithm),
        swept.k,
        column,
        by,
        runs,
        knee,
        depth,
        ground.before,
        bounds,
        given.k,
        seed,
        warning=keep_warning(swept),
        allowed=ground.allowed,
    )


def grid(low: Fraction, high: Fraction) -> list[Fraction]:
    """The usual thresholds between two, and these.

    Examples
    --------
    >>> [float(t) for t in grid(Fraction("0.2"), Fraction("0.45"))]
    [0.2, 0.25, 0.3, 0.4, 0.45]
    """
    found = sorted({low, high, *(t for t in GRID if low < t < high)})
    return found if len(found) > 2 else [low, (low + high) / 2, high]
