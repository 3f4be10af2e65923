"""Histories with any key of a schema: tables that live are released to files, which a judge of its own looks at."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import tclose
from tests.history.test_any_tables import run

SEEDS = range(1000, 1000 + int(os.environ.get("HISTORIES", "300")))


def any_histories() -> dict[str, Any]:
    """What happened in random histories, and every promise that was broken in one of them."""
    warnings.simplefilter("ignore", tclose.HighLossWarning)
    started, events, findings = time.monotonic(), Counter[str](), []
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            problems, happened = run(seed, Path(folder))
        events += happened
        findings += [f"seed {seed}: {problem}" for problem in problems]
    return {
        "seconds": round(time.monotonic() - started),
        "histories": len(SEEDS),
        "events": dict(sorted(events.items())),
        "findings": findings,
    }
