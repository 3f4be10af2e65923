"""How long methods take that are given a time: the ratio of the two, for every method that takes the table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

import tclose
from benchmarks.results import show, verdict
from tclose.algorithms import REGISTRY, find, run_method
from tclose.algorithms.capable import is_capable
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import read

SECONDS = 2.0
LATE = 1.0  # seconds over the time allowed
K = 5
FEW = 500  # rows on which kernels are compiled before anything is timed


@dataclass(frozen=True, eq=False)
class TimedTable:
    """A table, and whether it is one for methods that take small tables only."""

    title: str
    frame: pl.DataFrame
    schema: Schema
    is_small: bool = False


def run(console: Console) -> dict[str, Any]:
    cases = []
    for table in tables():
        for name in REGISTRY:
            if REGISTRY[name].capabilities.small_only != table.is_small or not is_capable(find(name), table.schema):
                continue
            try:
                _measure(name, table.frame.head(FEW), table.schema)
                measured = _measure(name, table.frame, table.schema)
            except tclose.SizeError:
                continue
            cases.append({"table": table.title, "method": name, "asked": SECONDS, **measured})
        rows = [
            [case["method"], f"{case['seconds']:.2f}", f"{case['seconds'] / SECONDS:.2f}", str(case["stopped_early"])]
            for case in cases
            if case["table"] == table.title
        ]
        show(console, f"{table.title}, {SECONDS:g} s allowed", ["method", "seconds", "ratio", "stopped early"], rows)
    latest = max(case["seconds"] for case in cases) - SECONDS
    verdict(console, latest <= LATE, f"every method comes back within {LATE:g} s of its time (latest: {latest:+.2f} s)")
    return {"cases": cases, "latest": latest}


def _measure(name: str, frame: pl.DataFrame, schema: Schema) -> dict[str, Any]:
    """How long the method itself took, which is what the time is for, and whether it was stopped."""
    table = encode(read(frame), schema)
    requirement, rng = Requirement.of(schema, table), np.random.default_rng(1)
    control, began = Control(SECONDS), time.perf_counter()
    found = run_method(find(name), table, requirement, rng=rng, control=control)
    return {"seconds": time.perf_counter() - began, "stopped_early": "stopped_early" in found.facts}


def tables() -> Iterator[TimedTable]:
    """One large, one with many sensitive attributes, and small ones for the methods that prove an optimum."""
    yield TimedTable("census, 100,000 rows", *tclose.datasets.census(100_000, seed=1))
    yield TimedTable("40 sensitive attributes, 20,000 rows", *_forty(20_000))
    people = tclose.datasets.census(900, seed=1)[0].select("age", "sex", "education", "salary")
    quasi = {name: {"kind": "categorical"} for name in ("sex", "education")}
    quasi["age"] = {"kind": "numeric"}
    halves = {"salary": {"distance": "equal", "l": {"frequency": 2}}}
    yield TimedTable(
        "pairs, 900 rows", people, Schema.from_dict({"k": 2, "quasi": quasi, "sensitive": halves}), is_small=True
    )
    few = people.head(24)
    near = {"salary": {"distance": "ordered", "t": 0.3}}
    yield TimedTable("24 rows", few, Schema.from_dict({"k": 2, "quasi": quasi, "sensitive": near}), is_small=True)
    starred = {name: {"kind": "categorical"} for name in ("sex", "education", "age")}
    keys = {"k": K, "recode": "suppress", "quasi": starred, "sensitive": near}
    yield TimedTable("stars, 300 rows", people.head(300), Schema.from_dict(keys), is_small=True)


def _forty(n: int) -> tuple[pl.DataFrame, Schema]:
    """Ordered, equal and hierarchical attributes of 200 values, which no cut leaves all close."""
    rng = np.random.default_rng(1)
    tree = {f"n{tens}": [str(10 * tens + ones) for ones in range(10)] for tens in range(20)}
    forms: list[dict[str, Any]] = [
        {"distance": "ordered"}, {"distance": "equal"}, {"distance": "hierarchical", "hierarchy": tree},
    ]  # fmt: skip
    columns = {"age": rng.integers(0, 90, n), "sex": rng.choice(["f", "m"], n), "area": rng.integers(0, 500, n)}
    sensitive = {f"s{place}": forms[place % 3] | {"t": 0.2} for place in range(40)}
    drift = columns["age"] // 10 + columns["area"] // 50
    columns |= {name: (rng.integers(0, 180, n) + drift) % 200 for name in sensitive}
    levels = {"build": "intervals", "widths": [5, 10, 50, 250]}
    quasi: dict[str, Any] = {name: {"kind": "numeric", "hierarchy": levels} for name in ("age", "area")}
    quasi["sex"] = {"kind": "categorical"}
    return pl.DataFrame(columns), Schema.from_dict({"k": K, "quasi": quasi, "sensitive": sensitive})
