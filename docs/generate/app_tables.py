"""How long the pages of the app take, from the result of a benchmark on a quiet machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from docs.generate import results
from docs.generate.marked import table

WAY = ("/table", "/table/rows/1", "/columns", "/columns/0", "/hierarchies", "/promise", "/run")
LOOKS = ("/look/1", "/look/1/rows/1", "/look/1/classes/1", "/look/1/class/0", "/take/1")


def app_steps() -> str:
    """Seconds of each step, by how many rows are open."""
    found = results.result("app_steps")
    runs: list[dict[str, Any]] = found["runs"]
    roles = [name for name in runs[0]["seconds"] if name.startswith("role of")]
    named: dict[str, tuple[str, ...]] = {
        "open a CSV": ("open",),
        "a role is changed": tuple(roles),
        "pages of the way": WAY,
        "run mondrian; with attacks and queries up to 200,000 rows": ("run mondrian",),
        "pages that look at a release": LOOKS,
        "write, read back, verify, public report": ("write and verify",),
        "the same with the private report": ("with the private report",),
    }
    rows = [[words, *(_between(run["seconds"], steps) for run in runs)] for words, steps in named.items()]
    return (
        table(["", *(f"{run['rows']:,} rows" for run in runs)], rows)
        + f"\n\nMeasured {found['date']}, on two quiet cores."
    )


def _between(seconds: dict[str, float], steps: tuple[str, ...]) -> str:
    least, most = (f"{find(seconds[step] for step in steps):.2g}" for find in (min, max))
    return f"{most} s" if least == most else f"{least} to {most} s"


APP_TABLES: dict[str, Callable[[], str]] = {"app/steps": app_steps}
