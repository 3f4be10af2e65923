"""How fast SABRE-AK is from encoded arrays, stage by stage, and what its first call costs."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

import tclose
from benchmarks.results import ROOT, show, verdict
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.sabre.bucket_sizes import class_sizes
from tclose.algorithms.sabre.sabre import SabreAK
from tclose.algorithms.shared.buckets import bucketize
from tclose.algorithms.shared.curve import hilbert_keys, key_bits
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read

REPEATS = 5
LEAST = {500_000: 5.0, 5_000_000: 3.5}  # million rows a second
MOST_COMPILING, MOST_CACHED = 10.0, 0.5
METHODS = ("sabre-ak", "sabre-knn", "incognito", "mondrian")
# In a process of its own: seconds of a first call beyond importing the compiler, with one and with two attributes.
FIRST_CALL = """
import json, sys, time
import numba, numpy, tclose
from tclose.algorithms import find
from tclose.table.encode import encode
from tclose.table.source import read
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
frame, schema = (tclose.datasets.census if sys.argv[2] == "1" else tclose.datasets.hospital)(1000, seed=1)
table = encode(read(frame), schema)
requirement = Requirement.of(schema, table)
started = time.perf_counter()
find(sys.argv[1]).partition(table, requirement, rng=numpy.random.default_rng(1), control=Control())
print(json.dumps(time.perf_counter() - started))
"""


def run(console: Console) -> dict[str, Any]:
    speeds = [_speed(console, n, least) for n, least in LEAST.items()]
    return {"speeds": speeds, "first_calls": _first_calls(console)}


def _speed(console: Console, n: int, least: float) -> dict[str, Any]:
    frame, schema = tclose.datasets.census(n, seed=1)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    stages = _stages(table, requirement)
    whole = _median(lambda: SabreAK().partition(table, requirement, rng=np.random.default_rng(1), control=Control()))
    stages["taking out and the rest"] = whole - sum(stages.values())
    floor = stages["Hilbert keys"] + stages["sort"]
    rows = [[name, f"{seconds:.4f}"] for name, seconds in stages.items()]
    rows += [["in all", f"{whole:.4f}"], ["floor: keys and sort alone", f"{floor:.4f}"]]
    title = f"{n:,} census rows, 7 quasi-identifiers, t = {float(schema.sensitive[0].t or 0):g}, k = {schema.k}"
    show(console, f"{title} (medians of {REPEATS})", ["stage", "seconds"], rows)
    speed = n / whole / 1e6
    verdict(console, speed >= least, f"{speed:.2f} million rows a second; asked: {least:g}")
    return {"rows": n, "stages": stages, "seconds": whole, "floor": floor, "speed": speed, "least": least}


def _stages(table: EncodedTable, requirement: Requirement) -> dict[str, float]:
    attribute = requirement.attributes[0]
    t = attribute.t
    assert t is not None
    buckets = bucketize(attribute.domain.form, attribute.reference, t)
    n_rows = int(len(table) - 1).bit_length()
    bits = key_bits(table, 63 - n_rows - int(len(buckets) - 1).bit_length())
    words = hilbert_keys(table, bits)
    owners = buckets.of_code[table.codes[0]].astype(np.int64)
    words = (owners << bits | words) << n_rows | np.arange(len(table))
    return {
        "buckets and class sizes": _median(
            lambda: class_sizes(bucketize(attribute.domain.form, attribute.reference, t), t, requirement.k)
        ),
        "Hilbert keys": _median(lambda: hilbert_keys(table, bits)),
        "sort": _median(lambda: np.sort(words)),
    }


def _median(action: Callable[[], Any]) -> float:
    """Seconds, after one call that loads what is needed."""
    action()
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def _first_calls(console: Console) -> list[dict[str, Any]]:
    calls = []
    for method in METHODS:
        for attributes in ("1", "8") if method != "incognito" else ("1",):
            with tempfile.TemporaryDirectory() as folder:
                environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
                command = [sys.executable, "-c", FIRST_CALL, method, attributes]
                cold, *cached = (
                    json.loads(subprocess.check_output(command, env=environment, cwd=ROOT)) for _ in range(REPEATS + 1)
                )
            calls.append(
                {"method": method, "attributes": attributes, "cold": cold, "cached": statistics.median(cached)}
            )
    rows = [[c["method"], c["attributes"], f"{c['cold']:.2f}", f"{c['cached']:.2f}"] for c in calls]
    header = ["method", "sensitive attributes", "compiling, s", "cached, s"]
    show(console, "The first call beyond importing the compiler, 1,000 rows", header, rows)
    slowest, longest = max(c["cold"] for c in calls), max(c["cached"] for c in calls)
    verdict(console, slowest <= MOST_COMPILING, f"compiling takes at most {slowest:.1f} s; asked: {MOST_COMPILING:g}")
    verdict(console, longest <= MOST_CACHED, f"a cached first call at most {longest:.2f} s; asked: {MOST_CACHED:g}")
    return calls
