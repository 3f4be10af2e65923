"""Utility: the time of 10,000 COUNT queries on 100,000 rows, and what each measure says of some methods."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console

import tclose
from benchmarks.results import show, verdict
from tclose.evaluation.utility.cubes import cube_divergence
from tclose.evaluation.utility.queries import query_error
from tclose.evaluation.utility.utility import beside

ROWS = 100_000
QUERIES = 10_000
AIM = 10.0  # seconds
METHODS = ("mondrian", "sabre-ak", "incognito")


def run(console: Console) -> dict[str, Any]:
    frame, schema = tclose.datasets.census(ROWS, seed=1)
    found = {}
    for method in METHODS:
        release = tclose.anonymize(frame, schema, method=method, seed=1)
        found[method] = {"loss": release.loss, "classes": release.measured.classes, **_measured(frame, release)}
    rows = [
        [
            method,
            f"{each['loss']:.4f}",
            f"{each['classes']:,}",
            f"{each['median_error']:.2%}",
            f"{each['divergence']:.3f}",
            f"{each['read_seconds']:.2f}",
            f"{each['query_seconds']:.2f}",
            f"{each['query_processor_seconds']:.2f}",
            f"{each['cube_seconds']:.2f}",
        ]
        for method, each in found.items()
    ]
    header = ["", "loss", "classes", "median error", "KL, level 2", "read s", "queries s", "queries cpu s", "cubes s"]
    show(console, f"census, {ROWS:,} rows, {QUERIES:,} queries, lambda 3, theta 0.1", header, rows)
    slowest = max(each["query_seconds"] for each in found.values())
    verdict(console, slowest <= AIM, f"{QUERIES:,} queries in {slowest:.1f} s at most; asked: {AIM:g}")
    return {"rows": ROWS, "queries": QUERIES, "methods": found, "aim": AIM, "met": slowest <= AIM}


def _measured(frame: Any, release: tclose.Release) -> dict[str, float]:
    read, reading = _timed(lambda: beside(frame, release))
    query_error(read, 1)  # compiles
    used = time.process_time()
    error, asking = _timed(lambda: query_error(read, QUERIES, attributes=3, selectivity=0.1))
    used = time.process_time() - used
    divergence, counting = _timed(lambda: cube_divergence(read, 2))
    return {
        "median_error": error.median,
        "divergence": divergence,
        "read_seconds": reading,
        "query_seconds": asking,
        "query_processor_seconds": used,
        "cube_seconds": counting,
    }


def _timed(action: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    return action(), time.perf_counter() - started
