"""How the loss of `tight` falls as t grows: single runs, and runs that go on from the partition of the stricter t."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from rich.console import Console

from benchmarks.results import show, verdict
from benchmarks.tables import K, chosen
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight.tight import Tight
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read

THRESHOLDS = tuple(f"{t / 1000:g}" for t in range(50, 501, 25))
EFFORTS: tuple[Literal["fast", "balanced"], ...] = ("fast", "balanced")


def run(console: Console) -> dict[str, Any]:
    sweeps: dict[str, list[dict[str, Any]]] = {}
    for table in chosen(console, ("adult-education",)):
        encoded = encode(read(table.frame), table.schema("1"))
        asked = [Requirement.of(table.schema(t), encoded) for t in THRESHOLDS]
        _partition(encoded, asked[0], Tight("fast"), None)  # loads and compiles
        for effort in EFFORTS:
            sweeps[effort] = _sweep(encoded, asked, Tight(effort))
            _show(console, f"{table.title}, {len(encoded):,} rows, k = {K}, {effort}", sweeps[effort])
    return {"k": K, "sweeps": sweeps}


def _sweep(table: EncodedTable, asked: list[Requirement], method: Tight) -> list[dict[str, Any]]:
    chain: Partition | None = None
    steps: list[dict[str, Any]] = []
    for t, requirement in zip(THRESHOLDS, asked, strict=True):
        single, seconds = _partition(table, requirement, method, None)
        chain, chain_seconds = _partition(table, requirement, method, chain)
        step = {"t": t, "single": table.loss(single.labels), "chained": table.loss(chain.labels)}
        # Classes that are close at a stricter t are close here, and the start is only left for something better.
        assert not steps or step["chained"] <= steps[-1]["chained"] + 1e-12
        steps.append(step | {"seconds": seconds, "chained_seconds": chain_seconds})
    return steps


def _partition(
    table: EncodedTable, requirement: Requirement, method: Tight, start: Partition | None
) -> tuple[Partition, float]:
    began = time.perf_counter()
    found = method.partition(table, requirement, rng=np.random.default_rng(0), control=Control(), start=start)
    return found, time.perf_counter() - began


def _show(console: Console, title: str, steps: list[dict[str, Any]]) -> None:
    names = ("single", "chained", "seconds", "chained_seconds")
    rows = [[step["t"], *(f"{step[name]:.{3 if 'seconds' in name else 4}f}" for name in names)] for step in steps]
    show(console, title, ["t", "single run, loss", "chained, loss", "single, s", "chained, s"], rows)
    rise, at = max(
        (later["single"] / max(sooner["single"], 1e-12) - 1, later["t"]) for sooner, later in pairwise(steps)
    )
    told = f"the largest, of {rise:.1%}, is to t = {at}" if rise > 0 else "there is none"
    console.print(f"Rises from one t to the next in single runs: {told}.", highlight=False)
    verdict(console, True, "chained runs never rise")
