"""What `tight` loses beside all other methods, how long it takes, and which of its aims are met.

TCLOSE_TABLES chooses tables (names of `benchmarks.tables`, commas between; none for no table), and TCLOSE_METHODS the
methods beside it; the aims need sabre-knn and mondrian. TCLOSE_BEST_SECONDS gives effort `best` so many seconds on each
of the twelve Adult cells; without it that effort is left out. TCLOSE_LARGE=1 adds 500,000 and 1,000,000 census rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console

import tclose
from benchmarks.methods import show_runs
from benchmarks.results import ROOT, verdict
from benchmarks.tables import K, Table, can, chosen, measure
from tclose.algorithms import REGISTRY
from tclose.algorithms.tight.tight import Tight

FAST, BALANCED, BEST = "tight fast", "tight balanced", "tight best"
THRESHOLDS = ("0.1", "0.15", "0.2", "0.35")
OTHERS = tuple(name for name in os.environ.get("TCLOSE_METHODS", ",".join(REGISTRY)).split(",") if name != "tight")
TWELVE = ("adult-occupation", "adult-education", "adult-salary")
NAMES = (*TWELVE, "adult-seven", "nist", "census", "hospital", "diabetes")
ORDERED = ("adult-education", "nist", "census")
BEST_SECONDS = float(os.environ.get("TCLOSE_BEST_SECONDS", 0))
LARGE = os.environ.get("TCLOSE_LARGE") == "1"

# Losses at the thresholds above: those to be reached, and those of local recoding by ARX 3.9.2, known to three digits.
REFERENCE = {
    "adult-occupation": (0.511, 0.436, 0.355, 0.168),
    "adult-education": (0.089, 0.053, 0.043, 0.037),
    "adult-salary": (0.228, 0.209, 0.175, 0.085),
}
LOCAL_RECODING = {
    "adult-occupation": (0.663, 0.545, 0.451, 0.263),
    "adult-education": (0.196, 0.110, 0.074, 0.045),
    "adult-salary": (0.333, 0.301, 0.286, 0.199),
}

Cell = dict[str, Any]  # table, t, and by method what was measured


@dataclass(frozen=True)
class Aim:
    """What a run may lose or take at most.

    Attributes
    ----------
    text
        The aim in words.
    run
        The method and effort it is about.
    figure
        What is compared.
    most
        What that may be at most in a cell; None where the aim says nothing of it.
    """

    text: str
    run: str
    figure: Literal["loss", "seconds"]
    most: Callable[[Cell], float | None]


def _listed(losses: Mapping[str, tuple[float, ...]], share: float = 1.0) -> Callable[[Cell], float | None]:
    def most(cell: Cell) -> float | None:
        if cell["table"] not in losses or cell["t"] not in THRESHOLDS:
            return None
        return share * losses[cell["table"]][THRESHOLDS.index(cell["t"])]

    return most


def _of_others(share: float, strict_occupation: float) -> Callable[[Cell], float | None]:
    """A share of what the better of SABRE and Mondrian loses."""

    def most(cell: Cell) -> float | None:
        losses = [cell["runs"][name]["loss"] for name in ("sabre-knn", "mondrian") if name in cell["runs"]]
        strict = cell["table"] == "adult-occupation" and float(cell["t"]) <= 0.2
        return (strict_occupation if strict else share) * min(losses) if losses else None

    return most


def _without_t(cell: Cell) -> float | None:
    return 1.2 * cell["loss_at_1"] if cell["t"] == "0.35" and "loss_at_1" in cell else None


def _seconds(cell: Cell) -> float | None:
    if cell["table"].startswith("adult"):
        return 15.0 if cell["table"] in ("adult-occupation", "adult-seven") else 5.0
    return 15.0 if cell["table"] == "census" and cell["t"] == "0.2" else None


AIMS = (
    Aim("balanced loses at most the reference", BALANCED, "loss", _listed(REFERENCE)),
    Aim(
        "balanced loses at most half of the better of sabre-knn and mondrian (0.6 of it for occupation, t <= 0.2)",
        BALANCED, "loss", _of_others(0.5, 0.6),
    ),
    Aim("fast loses at most 0.75 of it", FAST, "loss", _of_others(0.75, 0.75)),
    Aim("best loses at most 0.75 of ARX's local recoding", BEST, "loss", _listed(LOCAL_RECODING, 0.75)),
    Aim("best loses at most 0.5 of ARX's local recoding", BEST, "loss", _listed(LOCAL_RECODING, 0.5)),
    Aim("an ordered attribute at t = 0.35 costs at most 1.2 times t = 1", BALANCED, "loss", _without_t),
    Aim("balanced takes 5 s on Adult (occupation 15 s), 15 s on the census at t = 0.2", BALANCED, "seconds", _seconds),
    Aim(
        "balanced takes 90 s for 500,000 rows", BALANCED, "seconds",
        lambda cell: 90.0 if cell["table"] == "census-500000" else None,
    ),
    Aim(
        "fast takes 15 s for 1,000,000 rows", FAST, "seconds",
        lambda cell: 15.0 if cell["table"] == "census-1000000" else None,
    ),
)  # fmt: skip


def run(console: Console) -> dict[str, Any]:
    cells: list[Cell] = []
    for table in chosen(console, NAMES):
        _cell(table.head(1000), THRESHOLDS[0], warm=True)  # loads and compiles, so that no cell pays for it
        measured = [_cell(table, t) for t in THRESHOLDS]
        if table.name in ORDERED:
            unbound = measure(table, "1", Tight("balanced"))
            measured = [{**cell, "loss_at_1": unbound["loss"]} for cell in measured]
            console.print(f"{table.name}: at t = 1 balanced loses {unbound['loss']:.4f}", highlight=False)
        _show(console, f"{table.title}, {len(table.frame):,} rows, k = {K}", measured)
        cells += measured
    if LARGE:
        large = [_large(500_000, "balanced"), _large(1_000_000, "fast")]
        _show(console, f"synthetic census, large, k = {K}", large)
        cells += large
    return {"k": K, "best_seconds": BEST_SECONDS, "cells": cells, "aims": [_judge(console, aim, cells) for aim in AIMS]}


def _cell(table: Table, t: str, warm: bool = False) -> Cell:
    runs = {f"tight {effort}": measure(table, t, Tight(effort)) for effort in ("fast", "balanced")}
    if BEST_SECONDS > 0 and table.name in TWELVE and not warm:
        runs[BEST] = measure(table, t, Tight("best"), BEST_SECONDS)
    runs |= {name: measure(table, t, name) for name in OTHERS if can(name, table.schema(t))}
    return {"table": table.name, "t": t, "rows": len(table.frame), "runs": runs}


def _large(n: int, effort: Literal["fast", "balanced"]) -> Cell:
    frame, schema = tclose.datasets.census(n, seed=1)
    table = Table(f"census-{n}", "synthetic census", frame, schema.as_dict(), ROOT)
    measure(table.head(1000), "0.2", Tight(effort))  # loads and compiles
    return {
        "table": table.name,
        "t": "0.2",
        "rows": n,
        "runs": {f"tight {effort}": measure(table, "0.2", Tight(effort))},
    }


def _show(console: Console, title: str, cells: list[Cell]) -> None:
    show_runs(console, title, [(cell["t"], name, one) for cell in cells for name, one in cell["runs"].items()])


def _judge(console: Console, aim: Aim, cells: list[Cell]) -> dict[str, Any]:
    """Say in how many cells an aim is met, and which are farthest from it."""
    ratios = {}
    for cell in cells:
        most = aim.most(cell)
        if most is not None and aim.run in cell["runs"]:
            ratios[cell["table"], cell["t"]] = cell["runs"][aim.run][aim.figure] / most
    if not ratios:
        console.print(f"not measured: {aim.text}", highlight=False)
        return {"aim": aim.text, "met": None, "cells": 0}
    missed = sorted((pair for pair in ratios.items() if pair[1] > 1), key=lambda pair: -pair[1])
    told = missed or [max(ratios.items(), key=lambda pair: pair[1])]
    cases = ", ".join(f"{name} t {t}: {ratio:.3f}" for (name, t), ratio in told)
    n_met = len(ratios) - len(missed)
    verdict(console, not missed, f"{aim.text}: in {n_met} of {len(ratios)} cells. Of what is allowed, {cases}")
    return {
        "aim": aim.text,
        "met": not missed,
        "cells": len(ratios),
        "cells_met": n_met,
        "ratios": {f"{name} {t}": ratio for (name, t), ratio in ratios.items()},
    }
