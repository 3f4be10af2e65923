"""What each method loses, and how long it takes: four tables, four thresholds."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from benchmarks.results import show
from benchmarks.tables import K, Table, can, chosen, measure
from tclose.algorithms import REGISTRY

THRESHOLDS = ("0.1", "0.15", "0.2", "0.35")
NAMES = ("census", "adult-tree", "adult-education", "nist")


def run(console: Console) -> dict[str, Any]:
    cases = []
    for table in chosen(console, NAMES):
        _measure(table.head(1000), THRESHOLDS[0])  # loads and compiles, so that no case pays for it
        measured = [_measure(table, t) for t in THRESHOLDS]
        cases += [{"table": table.name, **case} for case in measured]
        title = f"{table.title}, {len(table.frame):,} rows, k = {K}"
        show_runs(console, title, [(case["t"], name, one) for case in measured for name, one in case["runs"].items()])
    return {"k": K, "cases": cases}


def _measure(table: Table, t: str) -> dict[str, Any]:
    return {"t": t, "runs": {name: measure(table, t, name) for name in REGISTRY if can(name, table.schema(t))}}


def show_runs(console: Console, title: str, runs: list[tuple[str, str, dict[str, Any]]]) -> None:
    """One line a run: its t, its method, and what was measured."""
    rows = [
        [
            f"{t} {method}",
            f"{one['loss']:.4f}",
            f"{one['classes']:,}",
            f"{one['largest']:.4f}",
            f"{one['seconds_partition']:.3f}",
            f"{one['seconds']:.3f}",
        ]
        for t, method, one in runs
    ]
    show(console, title, ["t, method", "loss", "classes", "largest distance", "partition s", "in all s"], rows)
