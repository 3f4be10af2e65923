"""What `mondrian` loses on the Adult table, beside the figures of another t-Mondrian."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from benchmarks.results import show
from benchmarks.tables import K, chosen, measure

THRESHOLDS = ("0.35", "0.2", "0.15", "0.1")
# Loss of the other t-Mondrian, at the thresholds above.
REFERENCE = {
    "adult-occupation": (0.378, 0.607, 0.801, 0.887),
    "adult-education": (0.077, 0.094, 0.128, 0.248),
    "adult-salary": (0.183, 0.519, 0.568, 0.739),
}


def run(console: Console) -> dict[str, Any]:
    cases: list[dict[str, Any]] = []
    for table in chosen(console, tuple(REFERENCE)):
        measure(table.head(1000), THRESHOLDS[0], "mondrian")  # loads and compiles, so that no case pays for it
        for t, other in zip(THRESHOLDS, REFERENCE[table.name], strict=True):
            cases.append({"table": table.name, "t": t, **measure(table, t, "mondrian"), "reference_loss": other})
    header = ["table", "t", "loss", "other's loss", "classes", "largest distance", "partition s", "in all s"]
    show(console, f"Adult, 30,162 rows, eight quasi-identifiers, k = {K}", header, [_row(case) for case in cases])
    better = sum(round(case["loss"], 3) <= case["reference_loss"] for case in cases)
    console.print(f"No worse than the other t-Mondrian in {better} of {len(cases)} cases.", highlight=False)
    return {"k": K, "cases": cases, "no_worse": better}


def _row(case: dict[str, Any]) -> list[str]:
    return [
        case["table"],
        case["t"],
        f"{case['loss']:.3f}",
        f"{case['reference_loss']:.3f}",
        f"{case['classes']:,}",
        f"{case['largest']:.6f}",
        f"{case['seconds_partition']:.3f}",
        f"{case['seconds']:.3f}",
    ]
