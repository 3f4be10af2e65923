"""Bounds of the loss beside the true optimum of thousands of small tables, and mistakes in the check that must show."""

from __future__ import annotations

import os
import time
from fractions import Fraction
from typing import Any

from tclose.algorithms.loss_bound.nearest_rows import nearest_bound
from tests.algorithms.loss_bound.mutants import MUTANTS, bounds_of, coded, made, mutated, optimum

SEEDS = range(1000, 1000 + int(os.environ.get("BOUNDS", "4000")))
MUTATED = 200  # tables that a mistake is tried on


def bounds_of_loss() -> dict[str, Any]:
    """How many bounds were compared, and how near the best of each table came; one above an optimum is a finding."""
    began, findings, compared, shares = time.monotonic(), [], 0, []
    for seed in SEEDS:
        frame, schema = made(seed)
        least = optimum(frame, schema)
        if least is None:
            continue
        bounds = [*bounds_of(frame, schema, seed), nearest_bound(*coded(frame, schema))]
        compared += len(bounds)
        findings += [f"seed {seed}: bound {place} is above the optimum" for place, b in enumerate(bounds) if b > least]
        if least > 0:
            shares.append(float(max(bounds) / least))
    caught = {name: _tables_that_show(name) for name in MUTANTS}
    findings += [f"nothing showed that {name}" for name, count in caught.items() if not count]
    return {
        "seconds": round(time.monotonic() - began),
        "tables": len(SEEDS),
        "tables_with_a_loss": len(shares),
        "bounds": compared,
        "mean_share_of_the_optimum": round(sum(shares) / max(len(shares), 1), 4),
        "reached_nine_tenths": sum(share >= 0.9 for share in shares),
        "mistakes_shown_by_tables": caught,
        "mistakes_tried_on": MUTATED,
        "findings": findings,
    }


def _tables_that_show(name: str) -> int:
    """On how many tables a mistake puts a bound above the optimum."""
    shown = 0
    for seed in SEEDS[:MUTATED]:
        frame, schema = made(seed)
        least = optimum(frame, schema)
        if least is None:
            continue
        with mutated(name):
            bounds: list[Fraction] = bounds_of(frame, schema, seed)
        shown += max(bounds) > least
    return shown
