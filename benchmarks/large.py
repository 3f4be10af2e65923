"""Many census rows from Parquet to verified Parquet: seconds and memory by stage, and of `tclose verify` after it.

TCLOSE_LARGE_ROWS sets how many rows, TCLOSE_LARGE_FOLDER where the files go (several GB of room for 50 million).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console

import tclose
from benchmarks.million import measure, show_run
from benchmarks.results import ROOT, verdict
from tclose.algorithms import DEFAULT, REGISTRY

ROWS = int(os.environ.get("TCLOSE_LARGE_ROWS", 50_000_000))
METHOD = "sabre-ak" if "sabre-ak" in REGISTRY else DEFAULT
PIECE = 1_000_000
MOST_GIGABYTES = 12.0


def run(console: Console) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TCLOSE_LARGE_FOLDER")) as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "benchmarks.large", name], check=True, cwd=ROOT)
        figures = measure(folder, METHOD)
        verified = _verify(folder)
    show_run(console, f"{ROWS:,} census rows by {METHOD}, the kernels not yet compiled", figures)
    console.print(
        f"{figures['classes']:,} classes, loss {figures['loss']:.4f}, t {figures['t']:.6f}, k {figures['k']}; "
        f"`tclose verify` of the file: {verified['seconds']:.1f} s, {verified['max_mb']:,.0f} MB",
        highlight=False,
    )
    gigabytes = max(figures["max_mb"], verified["max_mb"]) / 1000
    met = gigabytes < MOST_GIGABYTES
    verdict(console, met, f"{gigabytes:.2f} GB; the aim is under {MOST_GIGABYTES:g} GB")
    return {"rows": ROWS, "method": METHOD, "run": figures, "verify": verified, "met": met}


def make(folder: Path) -> None:
    """Write the table and its schema; the table never is in memory as a whole."""
    made = (tclose.datasets.census(min(PIECE, ROWS - first), seed=first) for first in range(0, ROWS, PIECE))
    frame, schema = next(made)
    schema.save(folder / "census.toml")
    with pq.ParquetWriter(folder / "census.parquet", frame.to_arrow().schema, compression="zstd") as writer:
        writer.write_table(frame.to_arrow())
        for frame, _ in made:
            writer.write_table(frame.to_arrow())


def _verify(folder: Path) -> dict[str, float]:
    """Seconds and memory of the command."""
    program, release, schema = (
        Path(sys.executable).with_name("tclose"),
        folder / "release.parquet",
        folder / "census.toml",
    )
    command = [str(program), "verify", str(release), "-s", str(schema)]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return {"seconds": time.perf_counter() - started, "max_mb": usage.ru_maxrss * 1024 / 1e6}


if __name__ == "__main__":
    make(Path(sys.argv[1]))
