"""Mondrian as in the textbook and ours, SABRE as printed and at its best: what each loses on the same tables.

SABRE with `slack` searches as `tight` does, which takes long: it is measured at one t of each table, or at all with
TCLOSE_SLACK=all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from benchmarks.papers.tables import BANDS, TREES, Census, census, nist, nist_is_there
from benchmarks.results import ROOT, show
from benchmarks.tables import K, Table, chosen, measure
from tclose.algorithms import Algorithm
from tclose.algorithms.mondrian.mondrian import Mondrian
from tclose.algorithms.sabre.sabre import SabreAK, SabreKNN

N_ROWS = int(os.environ.get("TCLOSE_ROWS", 100_000))
OF_PAPER, OF_ADULT = ("0.15", "0.25", "0.35", "0.45", "0.55"), ("0.1", "0.15", "0.2", "0.35")
SEARCHED_AT = () if os.environ.get("TCLOSE_SLACK") == "all" else ("0.25", "0.2")  # of a table, one of these
ADULT = ("adult-occupation", "adult-education", "adult-salary")
RIVALS: dict[str, Algorithm] = {
    "mondrian textbook=true": Mondrian(textbook=True),
    "mondrian": Mondrian(),
    "sabre-knn": SabreKNN(),
    "sabre-knn metric=loss": SabreKNN(metric="loss"),
    "sabre-knn slack=true": SabreKNN(slack=True),
    "sabre-knn slack=true metric=loss": SabreKNN(slack=True, metric="loss"),
    "sabre-ak": SabreAK(),
    "sabre-ak slack=true": SabreAK(slack=True),
}


def run(console: Console) -> dict[str, Any]:
    cases: list[dict[str, Any]] = []
    for table, thresholds in _tables(console):
        for t in thresholds:
            asked = {name: method for name, method in RIVALS.items() if "slack" not in name or _searches(t)}
            runs = {name: measure(table, t, method) for name, method in asked.items()}
            cases.append({"table": table.name, "title": table.title, "rows": len(table.frame), "t": t, "runs": runs})
        rows = [
            [case["t"], *(f"{case['runs'][name]['loss']:.4f}" if name in case["runs"] else "" for name in RIVALS)]
            for case in cases
            if case["table"] == table.name
        ]
        show(console, f"{table.title}, {len(table.frame):,} rows, k = {K}: loss", ["t", *RIVALS], rows)
    return {"k": K, "cases": cases}


def _searches(t: str) -> bool:
    return not SEARCHED_AT or t in SEARCHED_AT


def _tables(console: Console) -> Iterator[tuple[Table, tuple[str, ...]]]:
    """The tables of the figures of paper 004, and Adult."""
    yield _of_paper(census(5 * N_ROWS)), OF_PAPER
    if nist_is_there():
        yield _of_paper(nist(N_ROWS)), OF_PAPER
    for table in chosen(console, ADULT):
        yield table, OF_ADULT


def _of_paper(found: Census) -> Table:
    """The table as figure 10 has it: all seven quasi-identifiers."""
    distance = {"distance": "ordered", "order": [str(band) for band in range(BANDS)]}
    keys = {"quasi": found.quasi, "sensitive": {found.sensitive: distance}}
    base = TREES if found.name == "nist" else ROOT
    return Table(f"paper-{found.name}", found.title, found.rows(N_ROWS, len(found.quasi)), keys, base)
