"""How long a fresh process takes to import tclose and to show help, and which heavy modules it loads for that."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from benchmarks.results import show, verdict

HEAVY = ("numba", "scipy", "pandas", "polars", "pyarrow", "numpy")
UNWANTED = {"numba", "scipy", "pandas"}
REPEATS = 7
HELP = "from tclose.cli.main import main; sys.argv = ['tclose', '--help']; main()"
# Prints the heavy modules that were loaded, whichever way the statement ends.
LOADED = "import sys, atexit; atexit.register(lambda: print([m for m in {names} if m in sys.modules], file=sys.stderr))"


class Case(NamedTuple):
    name: str
    command: list[str]
    statement: str  # the same inside an interpreter, to see what is loaded
    aim: float | None


def run(console: Console) -> dict[str, Any]:
    figures = [_measure(case) for case in _cases()]
    rows = [
        [each["name"], f"{each['seconds']:.3f}", f"{each['fastest']:.3f}", str(each["aim"] or "-"), _listed(each)]
        for each in figures
    ]
    header = ["", "seconds", "fastest", "at most", "heavy modules loaded"]
    show(console, f"Fresh processes, median of {REPEATS}", header, rows)
    for each in figures:
        if each["aim"] is not None:
            verdict(console, each["met"], f"{each['name']}: {each['seconds']:.3f} s, {each['aim']} s allowed")
            unwanted = sorted(UNWANTED & set(each["loaded"]))
            verdict(
                console, not unwanted, f"{each['name']}: loads {', '.join(unwanted) or 'no numba, scipy or pandas'}"
            )
    return {"cases": figures}


def _cases() -> list[Case]:
    def python(statement: str) -> list[str]:
        return [sys.executable, "-c", statement]

    first = "import tclose; tclose.anonymize"
    script = str(Path(sys.executable).with_name("tclose"))
    return [
        Case("python -c pass", python("pass"), "pass", None),
        Case("import tclose", python("import tclose"), "import tclose", 0.5),
        Case("tclose --help", [script, "--help"], HELP, 0.6),
        Case("tclose.anonymize, named", python(first), first, None),
    ]


def _measure(case: Case) -> dict[str, Any]:
    seconds = []
    for _ in range(REPEATS + 1):  # the first one warms the file cache, and does not count
        started = time.perf_counter()
        subprocess.run(case.command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    median = statistics.median(seconds[1:])
    return {
        "name": case.name,
        "seconds": median,
        "fastest": min(seconds[1:]),
        "aim": case.aim,
        "met": None if case.aim is None else median <= case.aim,
        "loaded": _loaded(case.statement),
    }


def _loaded(statement: str) -> list[str]:
    command = [sys.executable, "-c", f"{LOADED.format(names=HEAVY)}; {statement}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(json.loads(done.stderr.strip().splitlines()[-1].replace("'", '"')))


def _listed(figures: dict[str, Any]) -> str:
    return ", ".join(figures["loaded"]) or "none"
