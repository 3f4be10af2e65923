"""What attackers reach before and after, for every method; and what running the method again tells of small tables."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console

import tclose
from benchmarks.results import show
from benchmarks.tables import K, Table, chosen
from tclose.algorithms import REGISTRY, find
from tclose.algorithms.capable import is_capable
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.evaluation.attacks.attack import AttackResults
from tclose.evaluation.attacks.definetti import GuessedRows, definetti
from tclose.evaluation.attacks.minimality import Minimality, minimality
from tclose.evaluation.attacks.shown_boxes import shown_classes
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import read

T = "0.2"
N_ROWS = 3000
NAMES = ("adult-occupation", "adult-education")
# Small tables, for a method is run some hundred times on each.
N_SMALL, SMALL_ROWS, FEWEST_ROWS = 5, 24, 12
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
    small = [each for table in chosen(console, ("adult-salary",)) for each in _again(console, table)]
    return {"k": K, "t": T, "rows": N_ROWS, "cases": cases, "minimality": small}


def _exposed(console: Console, table: Table) -> dict[str, Any]:
    schema = table.schema(T)
    found: dict[str, AttackResults] = {"before": tclose.attack(table.frame, schema).before}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        for name in _capable(schema):
            after = tclose.attack(table.frame, schema, method=name).after
            assert after is not None
            found[name] = after
    title = f"{table.title}, first {len(table.frame):,} rows, k = {K}, t = {T}"
    show(console, title, HEADER, [[name, *_figures(each)] for name, each in found.items()])
    return {"table": table.name, "found": {name: each.as_dict() for name, each in found.items()}}


def _figures(exposure: AttackResults) -> list[str]:
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


def _again(console: Console, table: Table) -> Iterator[dict[str, Any]]:
    """Every attacker on every method: those for small tables only have smaller ones, and what each of them takes."""
    quasi = {name: table.keys["quasi"][name] for name in SMALL_QUASI}
    close = {"k": 3, "quasi": quasi, "sensitive": {"salary-class": {"distance": "equal", "t": T}}}
    diverse = {"k": 2, "quasi": quasi, "sensitive": {"occupation": {"distance": "equal", "l": {"frequency": 2}}}}
    usual = Schema.from_dict(close, base=table.base)
    asked = f"salary-class, k = 3, t = {T}"
    yield _run_again(console, table, asked, usual, list(_capable(usual)), SMALL_ROWS)
    for rule, keys, names in (
        (asked, close, ["exact"]),
        (f"{asked}, stars", close | {"recode": "suppress"}, ["exact", "milp"]),
        ("occupation 2-diverse", diverse, ["exact", "two-diversity"]),
    ):
        yield _run_again(console, table, rule, Schema.from_dict(keys, base=table.base), names, FEWEST_ROWS)


def _run_again(
    console: Console, table: Table, rule: str, schema: Schema, names: list[str], n_rows: int
) -> dict[str, Any]:
    """What learning from the release and running the method again tell, over several tables of so many rows."""
    frame = table.frame.select(*schema.columns)
    runs: dict[str, dict[str, list[Minimality]]] = {}
    learned: dict[str, list[GuessedRows]] = {}
    for name in names:
        runs[name], learned[name] = {attacker: [] for attacker in ATTACKERS}, []
        for number in range(N_SMALL):
            encoded = encode(read(frame.slice(number * n_rows, n_rows)), schema)
            requirement = Requirement.of(schema, encoded)
            found = find(name).partition(encoded, requirement, rng=np.random.default_rng(number), control=Control())
            learned[name].append(definetti(encoded, shown_classes(encoded, found.labels), 0))
            for attacker, options in ATTACKERS.items():
                runs[name][attacker].append(minimality(encoded, requirement, find(name), seed=number, **options))
    rows = [
        [name, *_gains(learned[name]), *(_mean(each) for each in by_attacker.values())]
        for name, by_attacker in runs.items()
    ]
    title = f"gains, and shares of candidates kept: {N_SMALL} tables of {n_rows} rows of Adult, {rule}"
    show(console, title, ["", "boxes", "rows", *ATTACKERS], rows)
    told = {name: {each: [one.as_dict() for one in found] for each, found in run.items()} for name, run in runs.items()}
    guesses = {name: [one.as_dict() for one in found] for name, found in learned.items()}
    return {"table": table.name, "rows": n_rows, "rule": rule, "found": told, "definetti": guesses}


def _gains(found: list[GuessedRows]) -> tuple[str, str]:
    """What both learners add to the most frequent value of the class."""
    boxes, rows = (
        statistics.mean(each) for each in zip(*((one.gain, one.gain_with_rows) for one in found), strict=True)
    )
    return f"{boxes:+.3f}", f"{rows:+.3f}"


def _mean(found: list[Minimality]) -> str:
    gain = statistics.mean(next(iter(one.gain.values())) for one in found)
    kept = sum(one.kept for one in found) / sum(one.candidates for one in found)
    return f"{gain:+.3f} ({kept:.0%})"


def _capable(schema: Schema) -> Iterator[str]:
    """Methods that take the schema; those for small tables only would take too long."""
    for name, kind in REGISTRY.items():
        if not kind.capabilities.small_only and is_capable(find(name), schema):
            yield name
