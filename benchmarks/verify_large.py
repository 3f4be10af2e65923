"""Verification alone, of many census rows: seconds and memory, beside another checkout's if its Python is named.

A release is judged by itself, with its original (truth), and with what methods go by as well (agreement), each in
a process of its own that does nothing else. TCLOSE_LARGE_ROWS sets how many rows, TCLOSE_LARGE_FOLDER where the
files go, TCLOSE_BEFORE the Python of the other checkout, and TCLOSE_REPEATS how often each is measured: the quickest
counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from rich.console import Console

import tclose
from benchmarks.large import METHOD, ROWS, make
from benchmarks.results import ROOT, show, verdict

BEFORE = os.environ.get("TCLOSE_BEFORE")
REPEATS = int(os.environ.get("TCLOSE_REPEATS", 1))
KINDS = {"release": "the release alone", "truth": "with its original", "agreement": "with what methods go by too"}
MOST = 1.5  # times the seconds, and the memory, of the other checkout


def run(console: Console) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TCLOSE_LARGE_FOLDER")) as name:
        subprocess.run([sys.executable, "-m", "benchmarks.verify_large", name], check=True, cwd=ROOT)
        figures = {kind: _quickest(sys.executable, kind, Path(name)) for kind in KINDS}
        before = None if BEFORE is None else _quickest(BEFORE, "release", Path(name))
    lines = [[KINDS[kind], *_line(found)] for kind, found in figures.items()]
    lines += [] if before is None else [["the other checkout, the release alone", *_line(before)]]
    title = f"{ROWS:,} census rows released by {METHOD}, verified from Parquet"
    show(console, title, ["judged", "seconds", "of processors", "peak MB", "above its start"], lines)
    met = None if before is None else _judged(console, figures["release"], before)
    return {"rows": ROWS, "method": METHOD, "now": figures, "before": before, "met": met}


def _line(found: dict[str, Any]) -> list[str]:
    return [
        f"{found['seconds']:.2f}",
        f"{found['cpu_seconds']:.2f}",
        f"{found['peak_mb']:,.0f}",
        f"{found['growth_mb']:+,.0f}",
    ]


def _judged(console: Console, now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether it takes no more than it may; what is measured must be the same."""
    for key in ("rows", "classes", "k", "t"):
        if now[key] != before[key]:
            raise SystemExit(f"The two checkouts do not measure the same {key}.")
    times = {key: now[key] / before[key] for key in ("seconds", "cpu_seconds", "peak_mb")}
    met = bool(max(times["seconds"], times["peak_mb"]) <= MOST)
    verdict(
        console,
        met,
        f"{times['seconds']:.2f} times the seconds ({times['cpu_seconds']:.2f} times those of processors, which other "
        f"jobs disturb less) and {times['peak_mb']:.2f} times the memory; the aim is at most {MOST:g} times",
    )
    return met


def _quickest(python: str, kind: str, folder: Path) -> dict[str, Any]:
    found = [_measured(python, kind, folder) for _ in range(REPEATS)]
    return min(found, key=lambda figures: float(figures["seconds"]))


def _measured(python: str, kind: str, folder: Path) -> dict[str, Any]:
    """One run; by the path of its program, so that `tclose` is that of the Python which runs it."""
    files = [str(folder / name) for name in ("release.parquet", "census.toml", "census.parquet")]
    command = [python, str(ROOT / "benchmarks" / "verify_run.py"), kind, *files]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def release(folder: Path) -> None:
    """Write the table, its schema and its release, rows in the same order."""
    make(folder)
    warnings.simplefilter("ignore", tclose.HighLossWarning)
    made = tclose.anonymize(
        folder / "census.parquet", tclose.Schema.load(folder / "census.toml"), method=METHOD, seed=1
    )
    made.write(folder / "release.parquet", keep_order=True)


if __name__ == "__main__":
    release(Path(sys.argv[1]))
