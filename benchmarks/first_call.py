"""The first call in a fresh process, nothing compiled yet and all of it, beside importing what it needs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.results import show, verdict

ROWS = 1000
REPEATS = 5
METHODS = ("tight", "mondrian", "sabre-ak")
MOST_EMPTY, MOST_BEYOND = 10.0, 0.3
IMPORTS = "import numba, polars, numpy"
CALL = f"{IMPORTS}, tclose; tclose.anonymize(*tclose.datasets.census({ROWS}, seed=1), method='{{method}}', seed=1)"


def run(console: Console) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for statement in (IMPORTS, "import tclose; tclose.anonymize, tclose.datasets.census"):
            _measure(statement, folder)  # as installed, Python's own bytecode is there
        imports = _median(IMPORTS, folder)
        figures = [_figures(method, folder) for method in METHODS]
    for each in figures:
        each["beyond_imports"] = each["full"]["seconds"] - imports["seconds"]
    rows = [[IMPORTS, "", "", *_shown(imports)]]
    rows += [[each["method"], *_shown(each["empty"]), *_shown(each["full"])] for each in figures]
    header = ["", "nothing compiled, s", "s of processors", "all compiled, s", "s of processors"]
    show(
        console, f"A call with {ROWS:,} census rows in a fresh process (medians of {REPEATS}, empty: one)", header, rows
    )
    default = figures[0]
    empty, beyond = default["empty"]["seconds"], default["beyond_imports"]
    verdict(console, empty <= MOST_EMPTY, f"{METHODS[0]}, nothing compiled: {empty:.1f} s, {MOST_EMPTY} s allowed")
    verdict(
        console,
        beyond <= MOST_BEYOND,
        f"{METHODS[0]}, all compiled: {beyond:.2f} s beyond imports, {MOST_BEYOND} s allowed",
    )
    return {"rows": ROWS, "imports": imports, "methods": figures}


def _figures(method: str, folder: Path) -> dict[str, Any]:
    compiled = folder / method
    compiled.mkdir()
    statement = CALL.format(method=method)
    return {
        "method": method,
        "empty": _measure(statement, folder, compiled),
        "full": _median(statement, folder, compiled),
    }


def _median(statement: str, folder: Path, compiled: Path | None = None) -> dict[str, float]:
    found = [_measure(statement, folder, compiled) for _ in range(REPEATS)]
    return {key: statistics.median(each[key] for each in found) for key in ("seconds", "cpu_seconds")}


def _measure(statement: str, folder: Path, compiled: Path | None = None) -> dict[str, float]:
    """Seconds of a fresh process, and those of all processors that it and what it started took."""
    given = {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "NUMBA_CACHE_DIR": str(compiled or folder / "none")}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | given
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", statement], env=environment)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, statement)
    return {"seconds": seconds, "cpu_seconds": used.ru_utime + used.ru_stime}


def _shown(found: dict[str, float]) -> list[str]:
    return [f"{found['seconds']:.2f}", f"{found['cpu_seconds']:.2f}"]
