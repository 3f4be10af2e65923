"""The tables on which mutants are tried: small, so that kernels can run as plain Python.

A few are made by hand, of every kind, distance, recoding and way to publish, and released by every method that
takes them. The others are cases of the fuzzer, chosen so that they reach many lines.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.cases import Case, Column, make_case

METHODS = (
    "tight", "mondrian", "sabre-ak", "sabre-knn", "fragments", "clusters", "pca", "microaggregation", "incognito",
)  # fmt: skip
SEEDS = (
    *(
        3,
        7,
        20,
        23,
        33,
        44,
        47,
        71,
        73,
        78,
        90,
        95,
        99,
        118,
        131,
        145,
        157,
        172,
        184,
        187,
        195,
    ),  # by choose_cases 0 200
)
TREE = {"lung": ["flu", "cold"], "skin": {"rash": ["mild", "bad"], "burn": []}}
ILLS = ["flu", "cold", "mild", "bad", "burn"]
N = 14
BRIEF = 0.2
SECONDS = 10.0  # for the search of a method


def corpus() -> dict[str, Case]:
    """All cases by name, the same ones each time."""
    made = {f"{name} by {case.method}": case for name, case in by_hand()}
    return made | {f"case {seed}": make_case(seed) for seed in SEEDS}


def candidates(seeds: range) -> dict[str, Case]:
    """Cases of the fuzzer that are short enough to be chosen from."""
    drawn = {f"case {seed}": make_case(seed) for seed in seeds}
    return {name: case for name, case in drawn.items() if len(case.rows) <= N and case.method != "milp"}


def by_hand() -> list[tuple[str, Case]]:
    """Each table with several methods."""
    found = []
    for place, (name, columns, schema) in enumerate(_tables()):
        for turn, method in enumerate(METHODS):
            # The first two release every table, the others take turns; incognito would need hierarchies.
            able = method != "incognito" or schema.get("recode") == "suppress"
            if able and (turn in (0, 1) or turn % 3 == place % 3):
                found.append((name, Case(3, columns, schema, method)))
    return found


def _tables() -> list[tuple[str, tuple[Column, ...], dict[str, Any]]]:
    rng = np.random.default_rng(11)
    columns: dict[str, tuple[str, list[Any]]] = {
        "age": ("int", rng.integers(18, 90, N).tolist()),
        "zip": ("text", [f"{code:05}" for code in rng.choice([2139, 2140, 2210, 10001], N)]),
        "job": ("text", rng.choice(["cook", "smith", "baker"], N).tolist()),
        "day": ("text", [f"20{year:02}-0{month}-11" for year, month in rng.integers((18, 1), (24, 9), (N, 2))]),
        "ill": ("text", rng.choice(ILLS, N).tolist()),
        "pay": ("float", (rng.integers(100, 999, N) / 10).round(1).tolist()),
    }
    holes = [None if row % 5 == 0 else age for row, age in enumerate(columns["age"][1])]

    def taken(*names: str, **instead: list[Any]) -> tuple[Column, ...]:
        return tuple(Column(name, columns[name][0], tuple(instead.get(name, columns[name][1]))) for name in names)

    every, few = tuple(columns), ("age", "job", "ill", "pay")
    jobs = {"food": ["cook", "baker"], "metal": ["smith"]}
    quasi: dict[str, Any] = {
        "age": {"kind": "numeric", "step": 5, "bottom": 20, "top": 85},
        "zip": {"kind": "text"},
        "job": {"kind": "categorical", "hierarchy": jobs},
        "day": {"kind": "date", "step": "month"},
    }
    two = {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}}
    hierarchical = {
        "ill": {"distance": "hierarchical", "hierarchy": TREE, "t": 0.4},
        "pay": {"distance": "equal", "l": 2},
    }
    costs = [[0 if i == j else 1 if (i < 2) != (j < 2) else 0.5 for j in range(5)] for i in range(5)]
    bounds, mean = {"kind": "numeric", "publish": "bounds"}, {"kind": "numeric", "publish": "mean"}
    return [
        ("hierarchical", taken(*every), {"k": 2, "quasi": quasi, "sensitive": hierarchical}),
        ("ordered", taken(*every), {"k": 3, "quasi": {**quasi, "age": bounds, "zip": {"kind": "digits"}}, "sensitive": {
            "ill": {"distance": "equal", "t": 0.5}, "pay": {"distance": "ordered", "bins": 4, "t": 0.35}}}),
        ("numeric", taken(*few), {"k": 2, "quasi": {**two, "age": mean}, "sensitive": {
            "ill": {"distance": "ordered", "order": ILLS, "t": 0.4}, "pay": {"distance": "numeric", "t": 0.3}}}),
        ("matrix and joint", taken(*few), {"k": 2, "quasi": two, "sensitive": {
            "ill": {"distance": "matrix", "matrix": {"values": ILLS, "costs": costs}, "t": 0.5},
            "pay": {"distance": "ordered", "edges": [30, 60]}},
            "joint": {"both": {"columns": ["ill", "pay"], "t": 0.5}}}),
        ("missing", taken(*every, age=holes), {"k": 2, "missing": "category", "quasi": quasi,
            "sensitive": hierarchical}),
        ("suppressed", taken(*few), {"k": 2, "recode": "suppress", "quasi": two, "sensitive": {
            "ill": {"distance": "equal", "t": 0.6, "l": {"entropy": 1.5, "frequency": 1.2}},
            "pay": {"distance": "ordered", "t": 0.5}}}),
    ]  # fmt: skip


def release_all(folder: Path, cases: dict[str, Case]) -> None:
    """Write every release in the order of its input, its loss, and what became of each case."""
    outcomes = {name: release(case, folder, name) for name, case in cases.items()}
    (folder / "outcomes.json").write_text(json.dumps(outcomes), encoding="utf-8")


def suffix_of(case: Case) -> str:
    """Every other case comes as a CSV and is released as Parquet; the others come with types, and become a CSV."""
    return ".parquet" if case.method == "mondrian" or case.seed % 2 == 0 else ".csv"


def release(case: Case, folder: Path, name: str) -> str:
    """Write one release as `NAME.csv` or `NAME.parquet`, and its loss; says what became of it."""
    import tclose
    from tclose.algorithms import find
    from tests.fuzz.checks import left_out_of
    from tests.fuzz.forms import make_form

    warnings.simplefilter("ignore")
    suffix = suffix_of(case)
    table = make_form(case, "csv" if suffix == ".parquet" else "polars", folder)
    try:
        made = tclose.anonymize(
            make_form(case, "polars", folder) if table is None else table,
            tclose.Schema.from_dict(case.schema),
            method=find(case.method, case.options),
            seed=case.seed,
            time=SECONDS if case.options.get("effort") != "best" else BRIEF,  # which uses all of its time
            allow_single_class=True,
        )
        made.write(folder / f"{name}{suffix}", keep_order=True)
        shown = made.aligned()
    except Exception as error:
        return type(error).__name__
    told = {
        "loss": made.loss,
        "table": [[repr(cell) for cell in row] for row in shown.iter_rows()],
        "left_out": left_out_of(case, made),
    }
    (folder / f"{name}.told.json").write_text(json.dumps(told), encoding="utf-8")
    return "released"
