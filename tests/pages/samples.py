"""Comparisons, suggestions and reports to be drawn: made up, so that they take no time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import tclose
from tclose.evaluation.choosing.compare import Comparison
from tclose.evaluation.choosing.knee import find_knee
from tclose.evaluation.choosing.risk_bounds import Bounds
from tclose.evaluation.choosing.suggest import Suggestion
from tclose.evaluation.choosing.trials import Gains, Trial
from tclose.evaluation.report.report_page import report_html

THRESHOLDS = ("0.05", "0.1", "0.2", "0.35", "0.5")
BEFORE = Gains(0.98, 0.71, 1.0)


def made_up(method: str, number: int, t: str | None, k: int) -> Trial:
    """A run whose numbers are like those of real ones."""
    share = float(t or "0.2")
    loss = (0.8 - share) * (1 + number / 6) / 2 + k / 200
    return Trial(
        method, None if t is None else Fraction(t), k, loss=loss, query_error=None if number == 3 else loss * 2,
        reached={"ill": share * 0.99}, classes=400 - 10 * number, sizes=(k, k + 1, 2 * k, 3 * k, 10 * k + 100 * number),
        gains=Gains(share + 0.01 * number, share / 2, 1 / k), seconds=0.01 * 4.0**number,
        rises={"ill": Fraction(t or "0.2") + Fraction(number, 100)},
    )  # fmt: skip


def comparison(
    methods: int = 12, thresholds: tuple[str | None, ...] = THRESHOLDS, sizes: tuple[int, ...] = (5, 10)
) -> Comparison:
    """Many methods, one of which refuses."""
    names = [f"method-{number}" for number in range(methods)]
    runs = [made_up(name, number, t, k) for number, name in enumerate(names) for k in sizes for t in thresholds]
    refused = Trial(
        "exact", None if thresholds[0] is None else Fraction(thresholds[0]), sizes[0], refused="It is too large."
    )
    return Comparison(4000, (*runs, refused), BEFORE, 2)


def suggestion(
    losses: tuple[float, ...] = (0.8, 0.5, 0.2, 0.17, 0.15), column: str | None = None, **bounds: str
) -> Suggestion:
    """A sweep with these losses, and rises as large as t."""
    runs = []
    for t, loss in zip(THRESHOLDS, losses, strict=True):
        run = made_up("tight", 0, t, 5)
        runs.append(Trial(**{**vars(run), "loss": loss, "query_error": loss}))
    knee, depth = find_knee([(float(t), loss) for t, loss in zip(THRESHOLDS, losses, strict=True)])
    allowed = Bounds.of(**bounds)
    return Suggestion(4000, "tight", allowed.k or 5, column, "loss", tuple(runs), knee, depth, BEFORE, allowed, 5)


def report() -> str:
    """The report of a small hospital's release."""
    frame, schema = tclose.datasets.hospital(600, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        release = tclose.anonymize(frame, schema, method="mondrian", seed=1, allow_single_class=True)
    return report_html(frame, release, queries=100)


PAGES: dict[str, Callable[[], str]] = {  # every kind of page, by name
    "comparison": lambda: comparison().html(),
    "comparison-at-one-t": lambda: comparison(3, (None,), (5,)).html(),
    "comparison-of-one": lambda: comparison(1, ("0.1", "0.2"), (5,)).html(),
    "suggestion": lambda: suggestion().html(),
    "suggestion-by-rise": lambda: suggestion(max_rise="0.12", max_risk="0.1").html(),
    "suggestion-by-loss": lambda: suggestion(max_loss="0.4").html(),
    "suggestion-of-nothing": lambda: suggestion(max_rise="0.01").html(),
    "suggestion-without-knee": lambda: suggestion((0.8, 0.75, 0.6, 0.4, 0.2), "ill").html(),
    "report": report,
}


@cache
def page(name: str) -> str:
    """One of them, made when it is first asked for."""
    return PAGES[name]()
