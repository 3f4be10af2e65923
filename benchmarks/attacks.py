"""What attackers reach before and after, for every method; and what running the method again tells of small tables."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Iterator
from typing import Any

from rich.console import Console

import tclose
from benchmarks.results import show
from benchmarks.tables import K, Table, chosen
from tclose.algorithms import REGISTRY, find
from tclose.attacks.minimality import Minimality, minimality
from tclose.capable import check_capable
from tclose.encode import encode
from tclose.exposure import Exposure
from tclose.frames import read
from tclose.requirement import Requirement
from tclose.schema import Schema

T = "0.2"
N_ROWS = 3000
NAMES = ("adult-occupation", "adult-education")
# Small tables, for a method is run some hundred times on each.
N_SMALL, SMALL_ROWS = 5, 24
SMALL_QUASI = ("age", "sex", "education")
CANDIDATES, CANDIDATES_A_CLASS, SEEDS = 50, 20, 4
ATTACKERS: dict[str, dict[str, Any]] = {
    "all at once": {"candidates": CANDIDATES},
    "class by class": {"candidates": CANDIDATES_A_CLASS, "one_class": True},
    "class by class, seed unknown": {"candidates": CANDIDATES_A_CLASS, "one_class": True, "seeds": SEEDS},
}
HEADER = ["", "linked", "> 0.2", "worst rise", "mean rise", "worst ratio", "similar", "by class", "boxes", "rows"]


def run(console: Console) -> dict[str, Any]:
    cases = [_exposed(console, table.head(N_ROWS)) for table in chosen(console, NAMES)]
    small = [_again(console, table) for table in chosen(console, ("adult-salary",))]
    return {"k": K, "t": T, "rows": N_ROWS, "cases": cases, "minimality": small}


def _exposed(console: Console, table: Table) -> dict[str, Any]:
    schema = table.schema(T)
    found: dict[str, Exposure] = {"before": tclose.attack(table.frame, schema).before}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        for name in _capable(schema):
            after = tclose.attack(table.frame, schema, name).after
            assert after is not None
            found[name] = after
    title = f"{table.title}, first {len(table.frame):,} rows, k = {K}, t = {T}"
    show(console, title, HEADER, [[name, *_figures(each)] for name, each in found.items()])
    return {"table": table.name, "found": {name: each.as_dict() for name, each in found.items()}}


def _figures(exposure: Exposure) -> list[str]:
    (skewness,), (similarity,) = exposure.skewness.values(), exposure.similarity.values()
    (guesses,) = exposure.definetti.values()
    return [
        f"{exposure.linkage.expected:.4f}",
        f"{exposure.reidentification.prosecutor.above:.3f}",
        f"{skewness.worst_rise:.3f}",
        f"{skewness.average_rise:.3f}",
        f"{skewness.worst_ratio:.1f}",
        f"{similarity.revealed:.3f}",
        f"{guesses.of_class:.3f}",
        f"{guesses.gain:+.3f}",
        f"{guesses.gain_with_rows:+.3f}",
    ]


def _again(console: Console, table: Table) -> dict[str, Any]:
    """Every attacker on every method, over several small tables cut from one."""
    keys = {**table.keys, "quasi": {name: table.keys["quasi"][name] for name in SMALL_QUASI}}
    keys |= {"k": 3, "sensitive": {"salary-class": {"distance": "equal", "t": T}}}
    schema = Schema.from_dict(keys, base=table.base)
    frame = table.frame.select(*SMALL_QUASI, "salary-class")
    runs: dict[str, dict[str, list[Minimality]]] = {}
    for name in _capable(schema):
        runs[name] = {attacker: [] for attacker in ATTACKERS}
        for number in range(N_SMALL):
            encoded = encode(read(frame.slice(number * SMALL_ROWS, SMALL_ROWS)), schema)
            requirement = Requirement.of(schema, encoded)
            for attacker, options in ATTACKERS.items():
                runs[name][attacker].append(minimality(encoded, requirement, find(name), seed=number, **options))
    rows = [[name, *(_mean(each) for each in by_attacker.values())] for name, by_attacker in runs.items()]
    title = f"gain and share of candidates kept: {N_SMALL} tables of {SMALL_ROWS} rows of {table.title}, k = 3, t = {T}"
    show(console, title, ["", *ATTACKERS], rows)
    told = {name: {each: [one.as_dict() for one in found] for each, found in run.items()} for name, run in runs.items()}
    return {"table": table.name, "found": told}


def _mean(found: list[Minimality]) -> str:
    gain = statistics.mean(next(iter(one.gain.values())) for one in found)
    kept = sum(one.kept for one in found) / sum(one.candidates for one in found)
    return f"{gain:+.3f} ({kept:.0%})"


def _capable(schema: Schema) -> Iterator[str]:
    """Methods that take the schema; those for small tables only would take too long."""
    for name in (name for name, kind in REGISTRY.items() if not kind.small_only):
        try:
            check_capable(find(name), schema)
        except tclose.SchemaError:
            continue
        yield name
