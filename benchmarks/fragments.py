"""Several sensitive attributes, each with its own t: how many fragments, how fast, and what is lost."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

import tclose
from benchmarks import adult
from benchmarks.results import show, verdict
from tclose.algorithms import Algorithm, find
from tclose.algorithms.control import Control
from tclose.algorithms.fragments.space import SensitiveSpace, scale_of
from tclose.algorithms.fragments.split import fragment
from tclose.distances import Line
from tclose.schema.schema import Schema

THRESHOLDS = ("0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4")
ROWS = 100_000
MOST_SECONDS, MOST_SEARCH = 60.0, 1.0
METHODS: dict[str, Callable[[], Algorithm]] = {
    "fragments": lambda: find("fragments"),
    "fragments, bold=false": lambda: find("fragments", {"bold": "false"}),
    "fragments-strict": lambda: find("fragments-strict"),
    "sabre-knn": lambda: find("sabre-knn"),
    "mondrian": lambda: find("mondrian"),
    "tight, fast": lambda: find("tight", {"effort": "fast"}),
}
LABS = {
    "hcv.csv": (["Age", "Sex"], ["ALB", "ALT", "AST", "BIL", "CHE", "GGT"]),
    "ilpd.csv": (["age", "gender"], ["total_bilirubin", "alkaline_phosphatase", "albumin"]),
    "support2.csv.gz": (["age", "sex", "race", "edu", "income"], ["meanbp", "hrt", "wblc", "crea", "sod"]),
}
EACH_T = ("0.15", "0.2", "0.25", "0.3", "0.35", "0.4")
HOSPITAL_T = {"diagnosis": "0.3", "sodium": "0.2", "crp": "0.25", "length_of_stay": "0.2", "charge": "0.15"}


def run(console: Console) -> dict[str, Any]:
    counts = _fragments(console) if adult.is_there() else []
    runs = _losses(console)
    slowest = max(one["seconds_partition"] for one in runs if one["method"].startswith("fragments"))
    verdict(console, slowest <= MOST_SECONDS, f"the slowest run takes {slowest:.1f} s; asked: {MOST_SECONDS:g}")
    return {"fragments": counts, "runs": runs}


def _fragments(console: Console) -> list[dict[str, Any]]:
    """Adult's complete training rows: education-num and hours-per-week, 16 by 94 values."""
    columns = ["education-num", "hours-per-week", *adult.WITH_MISSING]
    frame = pl.read_csv(adult.TABLE, columns=columns, n_rows=adult.N_TRAINING)
    frame = frame.filter(pl.all_horizontal(pl.col(name) != "?" for name in adult.WITH_MISSING))
    codes = [np.unique(frame[name].to_numpy(), return_inverse=True)[1].astype(np.int32) for name in columns[:2]]
    counts = [np.bincount(column) for column in codes]
    scales = [scale_of(Line(np.arange(len(rows)), len(rows) - 1), rows) for rows in counts]
    space = SensitiveSpace.of(scales, codes, [Fraction(1)] * 2)
    fragment(space, [Fraction("0.4")] * 2, Control())  # loads and compiles
    measured = []
    for t in THRESHOLDS:
        case: dict[str, Any] = {"t": t}
        for name, strict in (("strict", True), ("over the domain", False)):
            started = time.perf_counter()
            found = fragment(space, [Fraction(t)] * 2, Control(), strict=strict)
            assert found is not None
            case[name] = {
                "fragments": len(found),
                "with empty ones": found.n_fragments,
                "classes": int(np.gcd.reduce(found.counts)),
                "seconds": time.perf_counter() - started,
            }
        measured.append(case)
    rows = [
        [
            case["t"],
            *(f"{case[name][key]:,}" for name in ("strict", "over the domain") for key in ("fragments", "classes")),
            *(f"{case[name]['seconds']:.3f}" for name in ("strict", "over the domain")),
        ]
        for case in measured
    ]
    header = ["t of both", "strict", "gcd", "over the domain", "gcd", "strict s", "over the domain s"]
    sizes = " by ".join(str(len(rows)) for rows in counts)
    show(console, f"Fragments for {len(frame):,} rows, {sizes} values, {len(space):,} combinations", header, rows)
    longest = max(case["strict"]["seconds"] for case in measured)
    verdict(console, longest <= MOST_SEARCH, f"the longest search takes {longest:.2f} s; asked: {MOST_SEARCH:g}")
    return measured


def _tables() -> dict[str, tuple[pl.DataFrame, Schema]]:
    tables = {}
    for name, (quasi, labs) in LABS.items():
        if not (adult.DATA / name).is_file():
            continue
        frame = pl.read_csv(adult.DATA / name, infer_schema=False).select([*quasi, *labs])
        kinds = {column: {"kind": "numeric" if column.lower() in ("age", "edu") else "categorical"} for column in quasi}
        asked = {lab: {"distance": "ordered", "bins": 20, "t": t} for lab, t in zip(labs, EACH_T, strict=False)}
        lab_keys = {"k": 5, "missing": "drop", "quasi": kinds, "sensitive": asked}
        tables[name.split(".")[0]] = frame, Schema.from_dict(lab_keys)
    frame, schema = tclose.datasets.hospital(ROWS, seed=1)
    keys: dict[str, Any] = schema.as_dict()
    others = [name for name in keys["sensitive"] if name not in HOSPITAL_T]
    keys["sensitive"] = {name: {**keys["sensitive"][name], "t": t} for name, t in HOSPITAL_T.items()}
    tables["hospital"] = frame.drop(others), Schema.from_dict(keys)
    ordered = {name: asked for name, asked in keys["sensitive"].items() if asked["distance"] == "ordered"}
    tables["hospital, ordered"] = frame.drop([*others, "diagnosis"]), Schema.from_dict({**keys, "sensitive": ordered})
    tables["census"] = tclose.datasets.census(ROWS, seed=1)
    return tables


def _losses(console: Console) -> list[dict[str, Any]]:
    measured = []
    for table, (frame, schema) in _tables().items():
        runs = []
        for name, make in METHODS.items():
            method = make()
            if any(each.distance not in method.capabilities.distances for each in schema.sensitive):
                continue
            _measure(frame.head(300), schema, method)  # loads and compiles
            runs.append({"table": table, "method": name, **_measure(frame, schema, method)})
        rows = [
            [one["method"], f"{one['loss']:.4f}", f"{one['classes']:,}", f"{one['seconds_partition']:.2f}"]
            for one in runs
        ]
        asked = ", ".join(f"{each.column} {float(each.t or 0):g}" for each in schema.sensitive)
        show(console, f"{table}: {len(frame):,} rows; {asked}", ["method", "loss", "classes", "partition s"], rows)
        measured += runs
    return measured


def _measure(frame: pl.DataFrame, schema: Schema, method: Algorithm) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        release = tclose.anonymize(frame, schema, method=method, seed=0, allow_single_class=True)
    return {
        "loss": release.loss,
        "classes": release.measured.classes,
        "seconds_partition": release.record.seconds["partition"],
    }
