"""How much any release of Adult loses at least, beside what `tight` loses: the twelve cells of `benchmarks.tight`.

TCLOSE_BOUND_SECONDS gives each cell so many seconds (600 if not said), TCLOSE_TABLES chooses tables.
"""

from __future__ import annotations

import os
from typing import Any

from rich.console import Console

from benchmarks.results import show, verdict
from benchmarks.tables import K, Table, chosen
from tclose.algorithms.control import Control
from tclose.algorithms.loss_bound.loss_bound import bound_loss
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import encode
from tclose.table.source import read

NAMES = ("adult-occupation", "adult-education", "adult-salary")
THRESHOLDS = ("0.35", "0.2", "0.15", "0.1")
SECONDS = float(os.environ.get("TCLOSE_BOUND_SECONDS", 600))
AIM, CELLS_OF_AIM = 1.6, 8
# The lowest losses that `tight` is known to reach, by effort `best` where that was measured, else by `balanced`.
LOWEST = {
    "adult-occupation": (0.140, 0.285, 0.356, 0.391),
    "adult-education": (0.0291, 0.0334, 0.047, 0.069),
    "adult-salary": (0.074, 0.152, 0.184, 0.189),
}


def run(console: Console) -> dict[str, Any]:
    cells = []
    for table in chosen(console, NAMES):
        for t, lowest in zip(THRESHOLDS, LOWEST[table.name], strict=True):
            cells.append(_cell(table, t, lowest))
            console.print(cells[-1], highlight=False)
    rows = [
        (
            cell["table"],
            cell["t"],
            f"{cell['loss_at_least']:.4f}",
            "proven" if cell["is_proven"] else f"{cell['confidence']:.0%}",
            f"{cell['lowest_known']:.4f}",
            "" if cell["factor"] is None else f"{cell['factor']:.2f}",
        )
        for cell in cells
    ]
    show(console, f"Adult, k = {K}", ("table", "t", "at least", "how sure", "lowest known", "factor"), rows)
    met = sum(cell["factor"] is not None and cell["factor"] <= AIM for cell in cells)
    verdict(console, met >= CELLS_OF_AIM, f"within a factor of {AIM} in {met} of {len(cells)} cells")
    return {"k": K, "seconds_a_cell": SECONDS, "aim": AIM, "cells_met": met, "cells": cells}


def _cell(table: Table, t: str, lowest: float) -> dict[str, Any]:
    schema = table.schema(t)
    coded = encode(read(table.frame), schema)
    control = Control()
    control.begin(SECONDS, lambda loss, done: None)
    found = bound_loss(coded, Requirement.of(schema, coded), control=control, loss=lowest)
    factor = lowest / found.loss_at_least if found.loss_at_least > 0 else None
    return {"table": table.name, "t": t, "lowest_known": lowest, "factor": factor, **found.as_dict()}
