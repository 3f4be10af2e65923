"""Tables whose optimum is hard to find and known: how near do fast methods come?"""

from __future__ import annotations

from fractions import Fraction
from time import perf_counter
from typing import Any

from rich.console import Console

from benchmarks.results import show
from tclose.algorithms import Algorithm
from tclose.algorithms.mondrian.mondrian import Mondrian
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight.tight import Tight
from tclose.datasets import hard
from tclose.datasets.hard import Instance
from tclose.table.encode import encode
from tclose.table.source import read
from tclose.testing import run as run_method

METHODS: dict[str, Algorithm] = {"mondrian": Mondrian(), "tight fast": Tight("fast"), "tight best": Tight("best")}


def instances() -> dict[str, Instance]:
    """Planted ones, with a known optimum."""
    made = {f"bisection of {n}": hard.planted_bisection(n, n // 2, seed=1) for n in (8, 16, 32)}
    made["bisection of 8, padded"] = hard.padded(hard.planted_bisection(8, 3, seed=1), Fraction(1, 4))
    made |= {f"half clique of {n}": hard.planted_clique(n, Fraction(2, 5), 2 * n, seed=1) for n in (8, 16, 32)}
    for n in (4, 8, 16):
        made[f"matching of {n}"] = hard.matching(hard.planted_triples(n, 2 * n, seed=1), n, disjoint=n)
    return made


def run(console: Console) -> dict[str, Any]:
    """Suppressed cells: of one class of all rows, of the optimum, and of each method."""
    header = ("instance", "rows", "columns", "one class", "optimum", *METHODS)
    lines: list[tuple[str, ...]] = []
    told: dict[str, Any] = {}
    for name, instance in instances().items():
        table = encode(read(instance.frame), instance.schema)
        requirement = Requirement.of(instance.schema, table)
        whole = len(table) * len(table.axes)
        entry: dict[str, Any] = {"rows": len(table), "columns": len(table.axes), "optimum": instance.optimum}
        for method, algorithm in METHODS.items():
            started = perf_counter()
            labels = run_method(algorithm, table, requirement).labels
            entry[method] = {"cells": table.hidden_cells(labels), "seconds": round(perf_counter() - started, 3)}
        told[name] = entry
        cells = [whole, instance.optimum, *(entry[method]["cells"] for method in METHODS)]
        lines.append((name, *map(str, [len(table), len(table.axes), *cells])))
    show(console, "hard: suppressed cells", header, lines)
    return told
