"""Pairs: originals that differ in hidden values alone must publish the same bytes; `PAIRS` says how many, else 5,000.

Every pair is compared in the released frame as CSV and Parquet and in its certificate, the first of each table also in
the files that are written, with reports.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.fuzz.judged import quiet
from tests.hidden_pairs import EVERYTHING, pairs_of

AT_A_TIME = 16  # tables


def pairs() -> dict[str, Any]:
    """How many pairs of which sort were compared; findings are pairs that differ and sorts without a pair."""
    wanted, seed = int(os.environ.get("PAIRS", "5000")), int(os.environ.get("PAIRS_SEED", "0"))
    counts: Counter[str] = Counter()
    findings: list[str] = []
    tables = 0
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        while counts["pairs"] < wanted:
            for found, problem in pool.map(_of_one_table, range(seed + tables, seed + tables + AT_A_TIME)):
                counts += found
                findings += [problem] if problem else []
            tables += AT_A_TIME
            print(f"{counts['pairs']} pairs of {tables} tables", flush=True)
    findings += [f"no pair with {name}" for name in sorted(EVERYTHING) if not counts[name]]
    return {"tables": tables, "first_seed": seed, "counts": dict(sorted(counts.items())), "findings": findings}


def _of_one_table(seed: int) -> tuple[Counter[str], str | None]:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, quiet():
        try:
            pairs_of(seed, Path(folder), counts, written=1, changes=20)
        except AssertionError as error:
            return counts, f"seed {seed}: {error}"
    return counts, None
