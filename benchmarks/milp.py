"""How near milp comes to the optimum on Adult, and how long that takes; TCLOSE_SECONDS says how long it may."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

from benchmarks import adult
from benchmarks.results import show, verdict
from tclose import Schema
from tclose.algorithms.control import Control
from tclose.algorithms.milp.milp import Milp
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import encode
from tclose.table.source import read

QUASI = ("sex", "race", "salary-class")
SENSITIVE = {"education": 2, "occupation": 1, "workclass": 1}  # the level of its hierarchy: three values each
CASES = tuple((column, t, 6) for column in SENSITIVE for t in ("0.05", "0.1", "0.2"))
SECONDS = float(os.environ.get("TCLOSE_SECONDS", "60"))
MOST = 0.001  # of the stars, between what was found and what is proved


def run(console: Console) -> dict[str, Any]:
    if not adult.is_there():
        console.print("milp is not measured: the shared data is not there.")
        return {"cases": []}
    cases = [_measure(*case) for case in CASES]
    rows = [
        [
            f"{case['sensitive']}, {case['t']}",
            f"{case['stars']:,}",
            f"{case['at_least']:,}",
            f"{case['gap']:.3%}",
            f"{case['seconds']:.1f}",
        ]
        for case in cases
    ]
    title = f"Adult, {cases[0]['rows']:,} rows, {len(QUASI)} quasi-identifiers, k = 6"
    show(console, title, ["sensitive, t", "stars", "at least", "gap", "processor s"], rows)
    near = sum(case["gap"] <= MOST for case in cases)
    verdict(console, near == len(cases), f"within {MOST:.1%} of the optimum in {near} of {len(cases)} cases")
    return {"cases": cases, "seconds_allowed": SECONDS}


def _measure(column: str, t: str, k: int) -> dict[str, Any]:
    table, requirement = _encoded(column, t, k)
    began = time.process_time()
    found = Milp(seconds=SECONDS).partition(table, requirement, rng=np.random.default_rng(0), control=Control())
    seconds = time.process_time() - began
    cells = len(table) * len(table.axes)
    stars, at_least = round(table.loss(found.labels) * cells), round(found.facts["loss_at_least"] * cells)
    return {
        "sensitive": column, "t": t, "k": k, "rows": len(table), "stars": stars, "at_least": at_least,
        "gap": 1 - at_least / stars if stars else 0.0, "optimal": found.facts["optimal"], "seconds": seconds,
    }  # fmt: skip


def _encoded(column: str, t: str, k: int) -> tuple[Any, Requirement]:
    frame = pl.read_csv(adult.TABLE, columns=list(adult.COLUMNS))
    frame = frame.filter(pl.all_horizontal(pl.col(name) != "?" for name in adult.WITH_MISSING))
    lines = (adult.HIERARCHIES / f"{column}.csv").read_text("utf-8").splitlines()
    coarse = {line.split(";")[0]: line.split(";")[SENSITIVE[column]] for line in lines}
    frame = frame.select(*QUASI, pl.col(column).replace_strict(coarse))
    keys = {"k": k, "recode": "suppress", "quasi": {name: {"kind": "categorical"} for name in QUASI}}
    schema = Schema.from_dict({**keys, "sensitive": {column: {"distance": "equal", "t": t}}})
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)
