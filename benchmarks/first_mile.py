"""From a file to its first release: how many lines of the schema a person edits, and how many seconds it takes.

TCLOSE_BEFORE, the path of another checkout's Python, counts the edits that its `init` leaves to do as well.
"""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import adult
from benchmarks.results import show, verdict

LIMIT = 60  # seconds for the method, after which it gives the best so far
DROP = ("--rest", "drop")
TABLES = {  # the flags a person would give who knows the table
    "heart_disease.csv": ("--quasi", "site,age,sex", "--sensitive", "chol,target", *DROP),
    "support2.csv.gz": ("--quasi", "age,sex,race,edu,income", "--sensitive", "dzgroup,charges", *DROP),
    "fars_sample.csv": (
        *("--quasi", "iage,irace,ideathmon,ideathday,isex,ihispanic,istatenum"),
        *("--sensitive", "iinjury"),
    ),
    "nist_acs_2019.csv.gz": (
        *("--quasi", "PUMA,AGEP,SEX,MSP,RAC1P,EDU,HOUSING_TYPE", "--sensitive", "PINCP"),
        *DROP,
    ),
    "diabetes_130.csv.gz": (
        *("--quasi", "race,gender,age,admission_type_id,medical_specialty", "--sensitive", "diag_1"),
        *DROP,
    ),
    "census_income_kdd_test.csv.gz": (
        *("--quasi", "age,sex,race,education,marital_stat", "--sensitive", "major_occupation_code"),
        *DROP,
    ),
}


def run(console: Console) -> dict[str, Any]:
    if not adult.is_there():
        console.print("first_mile is not measured: the shared data is not there.")
        return {"tables": None}
    measured = {name: _measure(adult.DATA / name, flags) for name, flags in TABLES.items()}
    rows = [
        [
            name,
            "-" if each["edits_before"] is None else str(each["edits_before"]),
            str(each["edits_without_flags"]),
            "0" if each["released"] else "not released",
            f"{each['seconds_init']:.1f}",
            f"{each['seconds_release']:.1f}",
            f"{each['loss']:.3f}" if each["loss"] is not None else "-",
        ]
        for name, each in measured.items()
    ]
    header = ["", "edits, before", "edits, nothing named", "edits, with flags", "init s", "anonymize s", "loss"]
    show(console, "lines edited by hand, and seconds", header, rows)
    met = all(each["released"] for each in measured.values())
    verdict(console, met, f"{len(measured)} tables released without editing a line")
    return {"tables": measured, "limit": LIMIT, "met": met}


def _measure(data: Path, flags: tuple[str, ...]) -> dict[str, Any]:
    """Run the two commands as a person would, in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        schema, release = folder / "schema.toml", folder / "release.csv"
        guessed = _tclose("init", str(data))[1]
        init, _, _ = _tclose("init", str(data), *flags, "-o", str(schema))
        written = schema.read_text(encoding="utf-8")
        command = ("anonymize", str(data), "-s", str(schema), "-o", str(release), "--time", str(LIMIT), "--json")
        seconds, out, code = _tclose(*command)
        before = os.environ.get("TCLOSE_BEFORE")
        return {
            "flags": list(flags),
            "edits_before": _edits(_tclose("init", str(data), python=before)[1], written) if before else None,
            "edits_without_flags": _edits(guessed, written),
            "seconds_init": init,
            "seconds_release": seconds,
            "released": code == 0,
            "loss": json.loads(out)["loss"] if code == 0 else None,
        }


def _tclose(*arguments: str, python: str = sys.executable) -> tuple[float, str, int]:
    """Seconds, what was printed, and how it ended."""
    started = time.perf_counter()
    done = subprocess.run(
        [python, "-c", "from tclose.cli.main import main; main()", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    return time.perf_counter() - started, done.stdout, done.returncode


def _edits(before: str, after: str) -> int:
    """Lines that have to be taken out or put in to get from one schema to the other, comments and empty ones aside."""
    first, second = (
        [line for line in text.splitlines() if line and not line.startswith("#")] for text in (before, after)
    )
    return sum(line[0] in "+-" for line in difflib.ndiff(first, second))
