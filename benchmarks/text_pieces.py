"""A large CSV file read at once and in pieces: seconds, and the most memory, each in a process of its own.

TCLOSE_TEXT_ROWS sets how many rows. A file is read in pieces if it is large beside the memory there is, so that process
is told that there is little.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

from benchmarks.results import ROOT, show

ROWS = int(os.environ.get("TCLOSE_TEXT_ROWS", 10_000_000))
WAYS = {"at once": 1 << 40, "in pieces": 1 << 30}  # and the memory that there is said to be, in bytes
SCHEMA: dict[str, Any] = {
    "k": 5,
    "identifiers": ["id"],
    "quasi": {"age": {"kind": "numeric"}, "zip": {"kind": "text"}, "job": {"kind": "categorical"}},
    "sensitive": {"ill": {"distance": "equal", "t": 0.2}, "pay": {"distance": "ordered", "bins": 5, "t": 0.2}},
}


def run(console: Console) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        _write(path)
        size = path.stat().st_size / 1e6
        figures = {way: _measured(path, memory) for way, memory in WAYS.items()}
    lines = [[way, f"{found['seconds']:.1f}", f"{found['peak_mb']:,.0f}"] for way, found in figures.items()]
    show(console, f"{ROWS:,} rows of a CSV file of {size:,.0f} MB, read and encoded", ["", "seconds", "peak MB"], lines)
    return {"rows": ROWS, "file_mb": round(size), "ways": figures}


def _write(path: Path) -> None:
    rng = np.random.default_rng(1)
    columns = {
        "id": np.arange(ROWS),
        "age": rng.integers(18, 90, ROWS),
        "zip": rng.integers(10_000, 99_999, ROWS),
        "job": rng.choice(["clerk", "baker", "smith", "nurse"], ROWS),
        "pay": np.round(rng.lognormal(7, 1, ROWS), 2),
        "ill": rng.choice(["flu", "cold", "rash", "acne"], ROWS),
    }
    pl.DataFrame(columns).write_csv(path)


def _measured(path: Path, memory: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.text_pieces", str(path), str(memory)]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def read_alone(path: Path, memory: int) -> dict[str, Any]:
    """Read and encode it in this process, which is told how much memory there is."""
    import tclose
    from tclose.table import large_text
    from tclose.table.encode import encode
    from tclose.table.source import read

    module: Any = large_text
    module.most_memory = lambda: memory
    started = time.perf_counter()
    rows = len(encode(read(path), tclose.Schema.from_dict(SCHEMA)))
    assert rows == ROWS
    return {
        "seconds": time.perf_counter() - started,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }


if __name__ == "__main__":
    print(json.dumps(read_alone(Path(sys.argv[1]), int(sys.argv[2]))))
