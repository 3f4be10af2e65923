"""What it gains, and costs, to tell all values of a hierarchy apart while `tight` searches: 717 diagnoses."""

from __future__ import annotations

from typing import Any
from unittest import mock

from rich.console import Console

import tclose
from benchmarks.results import show, verdict
from benchmarks.tables import K, Table, chosen
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.demand import MOST_VALUES, soften
from tclose.algorithms.tight import tight
from tclose.table.encode import encode
from tclose.table.source import read

THRESHOLDS = ("0.35", "0.2", "0.1")
EFFORTS = ("fast", "balanced")
WAYS = {"groups": MOST_VALUES, "all": tight.MOST_LEAVES}
AIM = 0.165  # of `balanced` at the loosest


def run(console: Console) -> dict[str, Any]:
    (table,) = chosen(console, ("diabetes",))
    cells = [_cell(table, t, effort) for t in THRESHOLDS for effort in EFFORTS]
    rows = [[cell["t"], cell["effort"], *(_shown(cell[way]) for way in WAYS)] for cell in cells]
    seen = {way: _values_seen(table, most) for way, most in WAYS.items()}
    show(console, f"diabetes, k = {K}", ["t", "effort", *(f"{n} values seen" for n in seen.values())], rows)
    loosest = next(cell for cell in cells if cell["effort"] == "balanced")
    verdict(console, loosest["all"]["loss"] <= AIM, f"loss {loosest['all']['loss']:.4f}; the aim is {AIM}")
    return {"k": K, "aim": AIM, "rows": len(table.frame), "seen": seen, "cells": cells}


def _cell(table: Table, t: str, effort: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"t": t, "effort": effort}
    for way, most in WAYS.items():
        with mock.patch.object(tight, "MOST_LEAVES", most):
            release = tclose.anonymize(table.frame, table.schema(t), method=tclose.Tight(effort=effort), seed=1)
        found[way] = {"loss": release.loss, "seconds": release.record.seconds["partition"]}
    return found


def _values_seen(table: Table, most: int) -> int:
    schema = table.schema(THRESHOLDS[0])
    coded = encode(read(table.frame), schema)
    return soften(Requirement.of(schema, coded), None, most).soft.n_values


def _shown(found: dict[str, float]) -> str:
    return f"{found['loss']:.4f}, {found['seconds']:.1f} s"
