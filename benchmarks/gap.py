"""How far is every method from the optimum, on small extracts of real tables and on hard instances?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl
from rich.console import Console

import tclose
from benchmarks import adult
from benchmarks.results import ROOT, show
from tclose.algorithms import REGISTRY
from tclose.datasets import hard
from tclose.evaluation.choosing.gap import Gap
from tclose.schema.schema import Schema

CHOSEN = ("sex", "age", "race", "marital-status", "education")
ROWS, EXTRACTS, SEEDS, SECONDS = 16, 10, 5, 30.0


@dataclass(frozen=True, eq=False)
class Set:
    """Tables of one kind, over which a method's losses are added up.

    Attributes
    ----------
    cases
        Each a table and its schema.
    """

    name: str
    cases: list[tuple[pl.DataFrame, Schema]]


def run(console: Console) -> dict[str, Any]:
    figures = {}
    for each in _sets(console):
        found = [tclose.gap(frame, schema, time=SECONDS) for frame, schema in each.cases]
        figures[each.name] = _summed(found)
        console.print(f"{each.name}: {figures[each.name]}", highlight=False)
    _table(console, figures)
    return {"rows": ROWS, "extracts": EXTRACTS, "sets": figures}


def _summed(found: list[Gap]) -> dict[str, Any]:
    """Losses of each method over all tables of a set, above the sum of the optima; only of methods that did all."""
    optimum = sum(each.at_least for each in found)
    losses: dict[str, float] = {}
    for name in REGISTRY:
        entries = [entry.loss for each in found for entry in each.entries if entry.method == name]
        if len(entries) == len(found) and None not in entries:
            losses[name] = sum(loss for loss in entries if loss is not None)
    return {
        "tables": len(found),
        "optima_proven": sum(each.is_optimum for each in found),
        "mean_optimum": optimum / len(found),
        "above": {name: max(loss / optimum - 1, 0.0) if optimum else 0.0 for name, loss in losses.items()},
    }


def _table(console: Console, figures: dict[str, Any]) -> None:
    header = ("tables", "optimum", *REGISTRY)
    rows = [
        (
            name,
            f"{each['mean_optimum']:.3f}",
            *(f"{each['above'][method]:.1%}" if method in each["above"] else "" for method in REGISTRY),
        )
        for name, each in figures.items()
    ]
    columns = list(zip(header, *rows, strict=True))
    show(console, "loss above the optimum", columns[0], columns[1:])


def _sets(console: Console) -> Iterator[Set]:
    if adult.is_there():
        for name, (frame, keys, base) in _real().items():
            for recode in ("generalize", "suppress"):
                yield Set(f"{name}, {recode}", _extracts(frame, keys | {"recode": recode}, base))
        for name, keys in _without_t().items():
            columns = [*keys["quasi"], *keys["sensitive"]]
            yield Set(name, _extracts(adult.training_rows().select(columns), keys, adult.HIERARCHIES))
    else:
        console.print("Real tables are not measured: the shared data is not there.")
    made = {
        "bisection": [hard.planted_bisection(12, 3, seed) for seed in range(SEEDS)],
        "half clique": [hard.planted_clique(12, Fraction(3, 8), 8, seed) for seed in range(SEEDS)],
        "matching": [hard.matching(hard.planted_triples(5, 6, seed), 5) for seed in range(SEEDS)],
    }
    for name, instances in made.items():
        close = [instance.as_closeness() for instance in instances]
        yield Set(f"hard: {name}", [(instance.frame, instance.schema) for instance in close])


def _real() -> dict[str, tuple[pl.DataFrame, dict[str, Any], Any]]:
    """Real tables with keys of a schema and the folder of its hierarchies."""
    by_adult = adult.keys("salary-class", {"distance": "equal", "t": "0.2"}, 2)
    by_adult["quasi"] = {name: key for name, key in by_adult["quasi"].items() if name in CHOSEN}
    hcv = pl.read_csv(adult.DATA / "hcv.csv", infer_schema=False).select("Age", "Sex", "ALB", "Category").drop_nulls()
    by_hcv = {
        "k": 2,
        "quasi": {"Age": adult.AGE, "Sex": {"kind": "categorical"}},
        "sensitive": {
            "Category": {"distance": "hierarchical", "hierarchy": "Category.csv", "t": "0.25"},
            "ALB": {"distance": "ordered", "t": "0.25"},
        },
    }
    heart = pl.read_csv(adult.DATA / "heart_disease.csv", infer_schema=False).select("site", "age", "sex", "target")
    by_heart = {
        "k": 2,
        "quasi": {"site": {"kind": "categorical"}, "age": adult.AGE, "sex": {"kind": "categorical"}},
        "sensitive": {"target": {"distance": "ordered", "order": list("01234"), "t": "0.15"}},
    }
    return {
        "Adult": (adult.training_rows().select(*CHOSEN, "salary-class"), by_adult, adult.HIERARCHIES),
        "hcv": (hcv, by_hcv, adult.DATA / "hierarchies" / "hcv"),
        "heart disease": (heart, by_heart, ROOT),
    }


def _without_t() -> dict[str, dict[str, Any]]:
    """Adult for methods that promise no t: k alone, and no occupation in more than half of a class."""
    keys = adult.keys("occupation", {"distance": "equal", "l": {"frequency": 2}}, 2)
    keys["quasi"] = {name: key for name, key in keys["quasi"].items() if name in CHOSEN}
    alone = keys | {"k": 3, "recode": "suppress", "sensitive": {}}
    return {"Adult, k = 3 alone, suppress": alone, "Adult, 2-diverse": keys}


def _extracts(frame: pl.DataFrame, keys: dict[str, Any], base: Any) -> list[tuple[pl.DataFrame, Schema]]:
    schema = Schema.from_dict(keys, base=base)
    return [(frame.sample(ROWS, seed=seed), schema) for seed in range(EXTRACTS)]
