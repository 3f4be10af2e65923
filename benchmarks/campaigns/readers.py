"""A fuzzer on every reader: no traceback, no death, no cell in a message, and a second for each 100 KB at most.

`READERS_SECONDS` says for how long, 3600 if not said, shared by all readers; `READERS_SEED` where it begins. Each
reader is fed in a process of its own. An input that kills it is a finding, but for Parquet, Arrow, spreadsheets and
statistics packages: there it is read once more as users read it, where another process reads first, and must end with
a sentence.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.campaigns.reader_targets import MARK, SCHEMA, TARGETS
from tclose.schema.schema import Schema

ROOT = Path(__file__).resolve().parents[2]
FOUND = ROOT / "benchmarks" / "results" / "readers"
MOST_DEATHS = 200  # of one reader, after which it is left alone
GRACE = 180.0  # seconds beyond its time after which a process hangs


def fuzz_readers() -> dict[str, Any]:
    """How many inputs there were for each reader, what became of them, and what must not be."""
    seconds, seed = float(os.environ.get("READERS_SECONDS", "3600")), int(os.environ.get("READERS_SEED", "1"))
    shutil.rmtree(FOUND, ignore_errors=True)
    readers, findings = {}, []
    for name in TARGETS:
        readers[name], found = _fuzz_one(name, seconds / len(TARGETS), seed)
        findings += found
        print(f"{name}: {json.dumps(readers[name])}", flush=True)
    return {
        "seconds": seconds,
        "seed": seed,
        "guided": _version_of_atheris(),
        "inputs": sum(each["inputs"] for each in readers.values()),
        "readers": readers,
        "findings": findings,
    }


def _version_of_atheris() -> str:
    try:
        return f"atheris {version('atheris')}"
    except PackageNotFoundError:
        return "no: bytes are changed at random"


def _fuzz_one(name: str, seconds: float, seed: int) -> tuple[dict[str, Any], list[str]]:
    """One reader, in as many processes as it kills."""
    total: Counter[str] = Counter()
    slowest, deaths, held = 0.0, 0, 0
    findings: list[str] = []
    until = time.monotonic() + seconds
    folder = FOUND / name
    while time.monotonic() < until and deaths < MOST_DEATHS:
        room = folder / str(deaths)
        room.mkdir(parents=True)
        code = _process(name, room, until - time.monotonic(), seed + deaths)
        told = _told(room)
        total.update(told.get("counts", {}))
        slowest = max(slowest, told.get("slowest_share_of_limit", 0.0))
        texts = sorted(room.glob("*.txt"))
        findings += [f"{name}, {text.relative_to(FOUND)}: {text.read_text(encoding='utf-8')[:300]}" for text in texts]
        if code == 0:
            break
        deaths += 1
        if TARGETS[name][1].may_die and _ends_well(room / "current", TARGETS[name][0]):
            held += 1
        else:
            findings.append(f"{name}: the process ended with {code} at {(room / 'current').relative_to(FOUND)}")
    counts: dict[str, Any] = {"inputs": 0, **dict(sorted(total.items())), "slowest_share_of_limit": slowest}
    if TARGETS[name][1].may_die:
        counts |= {"deaths": deaths, "deaths_that_end_with_a_sentence": held}
    return counts, findings


def _process(name: str, room: Path, seconds: float, seed: int) -> int:
    command = [sys.executable, "-m", "benchmarks.campaigns.reader_harness", name, str(room), f"{max(seconds, 1):.0f}"]
    with (room / "log").open("wb") as log:
        try:
            done = subprocess.run([*command, str(seed)], cwd=ROOT, stdout=log, stderr=log, timeout=seconds + GRACE)
        except subprocess.TimeoutExpired:
            return 124
    return done.returncode


def _told(room: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((room / "counts.json").read_text(encoding="utf-8"))
    except OSError:
        return {}
    return found


def _ends_well(current: Path, file: str) -> bool:
    """Whether the command ends with one sentence that quotes no cell, for a file that kills whoever decodes it."""
    with tempfile.TemporaryDirectory() as folder:
        data, schema = Path(folder) / file, Path(folder) / "schema.toml"
        data.write_bytes(current.read_bytes())
        schema.write_text(Schema.from_dict(SCHEMA).to_toml(), encoding="utf-8")
        command = [sys.executable, "-c", "from tclose.cli.main import main; main()", "assess", str(data)]
        done = subprocess.run([*command, "-s", str(schema)], cwd=ROOT, capture_output=True, text=True)
    return done.returncode == 3 and done.stderr.count("\n") == 1 and MARK not in done.stderr


if __name__ == "__main__":
    print(json.dumps(fuzz_readers(), indent=2))
