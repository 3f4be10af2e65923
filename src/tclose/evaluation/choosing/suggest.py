"""suggest: sweep t, and find the one from which on a looser t helps analysts less than before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Unpack

from tclose.algorithms import Algorithm, find
from tclose.algorithms.control import Control
from tclose.algorithms.tight.tight import Tight
from tclose.errors import InfeasibleError, SchemaError
from tclose.evaluation.choosing.knee import MARGIN, Curve, find_knee, height
from tclose.evaluation.choosing.suggest_page import suggestion_note, suggestion_page
from tclose.evaluation.choosing.trials import Gains, Trial, TrialTable, label
from tclose.pipeline import Listener
from tclose.schema.changes import with_t
from tclose.schema.keys import SchemaKeys, takes_keys
from tclose.schema.schema import SchemaLike
from tclose.schema.toml import exact
from tclose.table.arguments import take_in
from tclose.table.partition import Partition

METHOD = Tight("fast")
GRID = tuple(
    map(Fraction, ("0.02", "0.03", "0.05", "0.075", "0.1", "0.15", "0.2", "0.25", "0.3", "0.4", "0.5"))
)  # fmt: skip


@dataclass(frozen=True)
class Suggestion:
    """A sweep of t, and its knee.

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
        Which of them is suggested; None if the curve has no knee.
    depth
        How far below the chord the curve gets, both axes being of length 1.
    before
        What attackers gain from the table as it stands.
    """

    rows: int
    method: str
    k: int
    column: str | None
    by: Curve
    runs: tuple[Trial, ...]
    knee: int | None
    depth: float
    before: Gains

    @property
    def t(self) -> Fraction | None:
        """What is suggested; None if nothing is."""
        return None if self.knee is None else self.runs[self.knee].t

    @property
    def beside(self) -> dict[str, Trial]:
        """The knee and the runs on either side; both ends of the sweep if there is no knee."""
        if self.knee is None:
            return {"strictest": self.runs[0], "loosest": self.runs[-1]}
        return {
            name: self.runs[place]
            for name, place in (("stricter", self.knee - 1), ("suggested", self.knee), ("looser", self.knee + 1))
        }

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "rows": self.rows,
            "method": self.method,
            "k": self.k,
            "column": self.column,
            "by": self.by,
            "t": None if self.t is None else {"exact": str(self.t), "value": float(self.t)},
            "depth": self.depth,
            "margin": MARGIN,
            "before": asdict(self.before),
            "runs": [run.as_dict() for run in self.runs],
        }

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
    t: Sequence[object] = GRID,
    by: Curve = "loss",
    seed: int = 0,
    time: float | None = None,
    queries: int = 1000,
    progress: Listener | None = None,
    control: Control | None = None,
    **keys: Unpack[SchemaKeys],
) -> Suggestion:
    """Sweep t from strict to loose, and suggest the knee of the curve of loss.

    The classes of a stricter t hold for a looser one too, and are taken where the method finds none that
    lose less: so the loss never rises with t.

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
    >>> found = tclose.suggest(frame, schema, method="mondrian", t=["0.1", "0.2", "0.3", "0.5"], queries=0)
    >>> losses = [run.loss for run in found.runs]
    >>> losses == sorted(losses, reverse=True)
    True
    """
    algorithm = find(method)
    thresholds = sorted({exact(each, "suggest", "t") for each in t})
    if len(thresholds) < 3:
        raise SchemaError("A curve needs three t at least. Give more of them.")
    if by == "queries" and not queries:
        raise SchemaError("There is no curve of query errors without queries. Ask some.")
    schema, source = take_in(df, schema, keys, suggest)
    asked = [(each, with_t(schema, each, column)) for each in thresholds]
    ground = TrialTable.of(source, schema, seed, queries)
    tell = progress or (lambda stage, loss, done: None)
    control = control or Control()
    runs: list[Trial] = []
    known: Partition | None = None
    for place, (each, one) in enumerate(asked):

        def listen(
            loss: float | None, done: float | None, place: int = place, name: str = f"t = {float(each):g}"
        ) -> None:
            tell(name, loss, (place + (done or 0.0)) / len(asked))

        listen(None, None)
        control.begin(time, listen)
        run, known = ground.run(algorithm, one, each, control, known)
        if by == "queries" and run.query_error is None:
            raise InfeasibleError("Every COUNT query drawn has the answer 0. Ask more of them, or sweep by loss.")
        runs.append(run)
        control.begin(None, listen)  # from here on only whoever asked to stop makes it stop
        if control.stop:
            break
    if len(runs) < 3:
        raise InfeasibleError("It was stopped before there was a curve. Allow more time, or sweep fewer t.")
    knee, depth = find_knee([(float(run.t or 0), height(run, by)) for run in runs])
    return Suggestion(
        len(ground.table), label(algorithm), schema.k, column, by, tuple(runs), knee, depth, ground.before
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
