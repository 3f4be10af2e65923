"""A million census rows from Parquet to verified Parquet: seconds and memory by stage, cold and cached."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

import tclose
from benchmarks.results import ROOT, show, verdict

ROWS = 1_000_000
REPEATS = 5
METHOD = "mondrian"
MOST_SECONDS, MOST_GIGABYTES = 10.0, 2.0
STAGES = ("read", "encode", "compile", "partition", "recode", "verify", "write")


def run(console: Console) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, schema = tclose.datasets.census(ROWS, seed=1)
        table.write_parquet(folder / "census.parquet")
        schema.save(folder / "census.toml")
        cold = measure(folder, METHOD)
        cached = sorted((measure(folder, METHOD) for _ in range(REPEATS)), key=lambda figures: figures["seconds"])
        command = statistics.median(_time_command(folder) for _ in range(REPEATS))
    median = cached[REPEATS // 2]
    console.print(
        f"{ROWS:,} census rows: {median['classes']:,} classes, loss {median['loss']:.4f}, "
        f"t {median['t']:.6f}, k {median['k']}",
        highlight=False,
    )
    show_run(console, "First run: nothing compiled yet", cold)
    show_run(console, f"Kernels cached (the median of {REPEATS} runs by seconds)", median)
    console.print("verify: seconds of both checks, of the frame and of the file; memory of the second is under write.")
    console.print(
        f"The command itself, `tclose anonymize`, cached: {command:.2f} s (median of {REPEATS})", highlight=False
    )
    return _judged(console, cold, median) | {"cached_seconds": [c["seconds"] for c in cached], "command": command}


def _environment(folder: Path) -> dict[str, str]:
    """A folder of its own for compiled code: empty at first, then filled by the first run."""
    return {**os.environ, "NUMBA_CACHE_DIR": str(folder / "compiled")}


def measure(folder: Path, method: str) -> dict[str, Any]:
    """Anonymize census.parquet of a folder in a process of its own: seconds and memory by stage."""
    names = [str(folder / name) for name in ("census.parquet", "census.toml", "release.parquet")]
    command = [sys.executable, "-m", "benchmarks.million_run", *names, method]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=_environment(folder), cwd=ROOT)
    return {**json.loads(done.stdout), "seconds": time.perf_counter() - started}


def _time_command(folder: Path) -> float:
    program = Path(sys.executable).with_name("tclose")
    given = ["census.parquet", "-s", "census.toml", "-o", "release.parquet", "--method", METHOD, "--json"]
    started = time.perf_counter()
    subprocess.run(
        [program, "anonymize", *given], check=True, capture_output=True, cwd=folder, env=_environment(folder)
    )
    return time.perf_counter() - started


def show_run(console: Console, title: str, figures: dict[str, Any]) -> None:
    """Print what `measure` found."""
    rows = []
    for stage in STAGES:
        peak, growth = figures["peak_mb"].get(stage), figures["growth_mb"].get(stage)
        memory = ["-", "-"] if peak is None else [f"{peak:,.0f}", f"{growth:+,.0f}"]
        rows.append([stage, f"{figures['stages'][stage]:.2f}", *memory])
    rest = figures["seconds"] - sum(figures["stages"].values())
    rows.append(["rest (start, imports, digest)", f"{rest:.2f}", "", ""])
    rows.append(["[bold]the whole process", f"[bold]{figures['seconds']:.2f}", f"[bold]{figures['max_mb']:,.0f}", ""])
    show(console, title, ["stage", "seconds", "peak MB", "above its start"], rows)


def _judged(console: Console, cold: dict[str, Any], cached: dict[str, Any]) -> dict[str, Any]:
    gigabytes = cached["max_mb"] / 1000
    in_time, in_memory = cached["seconds"] < MOST_SECONDS, gigabytes < MOST_GIGABYTES
    verdict(console, in_time, f"{cached['seconds']:.2f} s cached; the aim is under {MOST_SECONDS:g} s")
    verdict(console, in_memory, f"{gigabytes:.2f} GB; the aim is under {MOST_GIGABYTES:g} GB")
    more = cold["seconds"] - cached["seconds"]
    console.print(f"The first run costs {more:.1f} s more, once a machine and version.", highlight=False)
    return {"rows": ROWS, "cold": cold, "cached": cached, "first_run_costs": more, "met": in_time and in_memory}
