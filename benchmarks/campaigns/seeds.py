"""Seeds: the blocks of random tables that tests leave to a campaign, run by pytest, and how many there were."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks.results import ROOT

BLOCK = re.compile(r"\b(\d+)-(\d+)\]$")


def seeds() -> dict[str, Any]:
    """How many seeds of each test passed; those that failed are findings."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        command = ["pytest", "-n", "2", "--dist", "worksteal", "-m", "campaign", f"--junitxml={results}"]
        subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False)
        ran = list(ElementTree.parse(results).iter("testcase"))
    counts: Counter[str] = Counter()
    findings = []
    for case in ran:
        name, block = f"{case.get('classname')}.{case.get('name')}", BLOCK.search(str(case.get("name")))
        if case.find("failure") is not None or case.find("error") is not None:
            findings.append(name)
        else:
            counts[name.split("[")[0]] += 1 + int(block[2]) - int(block[1]) if block else 1
    seconds = sum(float(case.get("time", 0)) for case in ran)
    return {"seconds": round(seconds), "counts": dict(sorted(counts.items())), "findings": findings or _none(ran)}


def _none(ran: list[Any]) -> list[str]:
    """A campaign that ran nothing has found nothing out."""
    return [] if ran else ["no test ran"]
