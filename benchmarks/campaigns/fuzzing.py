"""The fuzzer for an hour: `FUZZ_SECONDS` and `FUZZ_SEED` say otherwise."""

from __future__ import annotations

import os
from typing import Any

from tests.fuzz.fuzz import run


def fuzz() -> dict[str, Any]:
    """How many cases, releases and verdicts there were, and what was found."""
    seconds, seed = float(os.environ.get("FUZZ_SECONDS", "3600")), int(os.environ.get("FUZZ_SEED", "1000000"))
    counts, found = run(seconds, seed)
    return {
        "seconds": seconds,
        "first_seed": seed,
        "counts": dict(sorted(counts.items())),
        "findings": [f"seed {case.seed}: {finding.kind}" for case, finding in found],
    }
