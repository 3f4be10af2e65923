"""How long the best 2-diverse partition takes by rows, and k-approx with a million."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

import numpy as np
from rich.console import Console

import tclose
from benchmarks.results import show, verdict
from tclose.algorithms import Algorithm, find
from tclose.algorithms.control import Control
from tclose.algorithms.k_approx.k_approx import KApprox
from tclose.algorithms.requirement import Requirement
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read

ROWS = tuple(map(int, os.environ.get("TCLOSE_ROWS", "100,300,500,1000").split(",")))
MILLION = 1_000_000
MOST_SECONDS, MOST_MILLION = 60.0, 2.0
ASKED = {"2-diverse": {"frequency": 2}, "2-anonymous": None}


def run(console: Console) -> dict[str, Any]:
    best = [_best(n, recode, asked) for recode in ("generalize", "suppress") for asked in ASKED for n in ROWS]
    header = ["", "rows", "seconds", "loss", "at least", "mondrian loses"]
    show(console, "two-diversity on census rows, 7 quasi-identifiers", header, [_told(each) for each in best])
    proven, slowest = all(each["optimal"] for each in best), max(each["seconds"] for each in best)
    verdict(console, proven, "every partition is proven to be the best")
    verdict(console, slowest <= MOST_SECONDS, f"the slowest took {slowest:.1f} s; asked: {MOST_SECONDS:g}")
    return {"two_diversity": best, "k_approx": _million(console)}


def _told(each: dict[str, Any]) -> list[str]:
    losses = [f"{each[name]:.4f}" for name in ("loss", "loss_at_least", "mondrian")]
    return [f"{each['asked']}, {each['recode']}", f"{each['rows']:,}", f"{each['seconds']:.1f}", *losses]


def _census(n: int, recode: str, diversity: dict[str, int] | None) -> tuple[EncodedTable, Requirement]:
    frame, schema = tclose.datasets.census(n, seed=1)
    keys = schema.as_dict() | {"k": 2, "recode": recode}
    (column,) = keys["sensitive"]
    if diversity:
        keys["sensitive"][column] = {"distance": "equal", "l": diversity}
    else:
        frame, keys["sensitive"] = frame.drop(column), {}
    if recode == "suppress":
        keys["quasi"] = {name: {"kind": "categorical"} for name in keys["quasi"]}
    given = Schema.from_dict(keys)
    table = encode(read(frame), given)
    return table, Requirement.of(given, table)


def _timed(method: Algorithm, table: EncodedTable, requirement: Requirement) -> tuple[Partition, float]:
    started = time.perf_counter()
    found = method.partition(table, requirement, rng=np.random.default_rng(1), control=Control())
    return found, time.perf_counter() - started


def _best(n: int, recode: str, asked: str) -> dict[str, Any]:
    table, requirement = _census(n, recode, ASKED[asked])
    found, seconds = _timed(find("two-diversity"), table, requirement)
    rival, _ = _timed(find("mondrian"), table, requirement)
    losses = {"loss": table.loss(found.labels), "mondrian": table.loss(rival.labels)}
    return {"rows": n, "recode": recode, "asked": asked, "seconds": seconds, **losses, **found.facts}


def _million(console: Console) -> list[dict[str, Any]]:
    table, requirement = _census(MILLION, "suppress", None)
    runs = []
    for k in (2, 6, 20):
        asked = Requirement(k, requirement.attributes, requirement.n)
        found, _ = _timed(KApprox(cut=False), table, asked)
        seconds = statistics.median(_timed(KApprox(cut=False), table, asked)[1] for _ in range(3))
        cut, seconds_cut = _timed(KApprox(), table, asked)
        losses = {"loss": table.loss(found.labels), "loss_cut": table.loss(cut.labels)}
        runs.append({"k": k, "seconds": seconds, "seconds_cut": seconds_cut, **losses, **found.facts})
    header = ["k", "seconds", "loss", "at least", "with cut, seconds", "loss"]
    columns = ("seconds", "loss", "loss_at_least", "seconds_cut", "loss_cut")
    rows = [[str(each["k"]), *(f"{each[name]:.3f}" for name in columns)] for each in runs]
    show(console, f"k-approx on {MILLION:,} census rows, 7 quasi-identifiers, suppression", header, rows)
    slowest = max(each["seconds"] for each in runs)
    verdict(console, slowest <= MOST_MILLION, f"a million rows take {slowest:.2f} s; asked: {MOST_MILLION:g}")
    return runs
