"""What each method loses, and how long it takes: three tables, four thresholds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import polars as pl
from rich.console import Console

import tclose
from benchmarks import adult
from benchmarks.results import ROOT, show
from tclose.schema import Schema

K = 6
THRESHOLDS = ("0.1", "0.15", "0.2", "0.35")
METHODS = ("sabre-knn", "sabre-ak", "mondrian", "incognito")
NIST = adult.DATA / "nist_acs_2019.csv.gz"
Table = tuple[str, pl.DataFrame, dict[str, Any], Any]  # its name, rows, the keys of its schema and their folder


def run(console: Console) -> dict[str, Any]:
    cases = []
    for name, frame, keys, base in _tables(console):
        _measure(frame.head(1000), keys, base, THRESHOLDS[0])  # loads and compiles, so that no case pays for it
        measured = [_measure(frame, keys, base, t) for t in THRESHOLDS]
        cases += [{"table": name, **case} for case in measured]
        _show(console, f"{name}, {len(frame):,} rows, k = {K}", measured)
    return {"k": K, "cases": cases}


def _tables(console: Console) -> Iterator[Table]:
    frame, schema = tclose.datasets.census(100_000, seed=1)
    yield "census, salary ordered", frame, schema.as_dict(), ROOT
    if not adult.is_there():
        console.print("Adult and the NIST excerpts are not measured: the shared data is not there.")
        return
    rows = adult.training_rows()
    by_tree = {"distance": "hierarchical", "hierarchy": "occupation.csv"}
    yield "Adult, occupation by hierarchy", rows, adult.keys("occupation", by_tree, K), adult.HIERARCHIES
    school = rows.with_columns(pl.col("education").replace_strict(adult.SCHOOL_YEARS).alias("education-num"))
    school = school.drop("education")
    keys = adult.keys("education", {"distance": "ordered"}, K)
    keys["sensitive"] = {"education-num": {"distance": "ordered"}}
    yield "Adult, education-num ordered", school, keys, adult.HIERARCHIES
    yield "NIST ACS 2019, income in 45 bins", *_nist()


def _nist() -> tuple[pl.DataFrame, dict[str, Any], Any]:
    trees = ("MSP", "RAC1P", "EDU", "PUMA")
    columns = ("AGEP", "SEX", *trees, "HOUSING_TYPE", "PINCP")
    frame = pl.read_csv(NIST, columns=list(columns), infer_schema=False).select(columns)
    quasi: dict[str, Any] = {name: {"kind": "categorical", "hierarchy": f"{name}.csv"} for name in trees}
    quasi |= {name: {"kind": "categorical"} for name in ("SEX", "HOUSING_TYPE")}
    quasi["AGEP"] = adult.AGE
    keys = {
        "k": K,
        "missing": "category",
        "missing_values": ["N"],
        "quasi": quasi,
        "sensitive": {"PINCP": {"distance": "ordered", "bins": 45}},
    }
    return frame, keys, adult.DATA / "hierarchies" / "nist_acs_2019"


def _measure(frame: pl.DataFrame, keys: dict[str, Any], base: Any, t: str) -> dict[str, Any]:
    sensitive, asked = next(iter(keys["sensitive"].items()))
    schema = Schema.from_dict({**keys, "k": K, "sensitive": {sensitive: {**asked, "t": t}}}, base=base)
    return {"t": t, **{method: _once(frame, schema, sensitive, method) for method in METHODS}}


def _once(frame: pl.DataFrame, schema: Schema, sensitive: str, method: str) -> dict[str, Any]:
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        release = tclose.anonymize(frame, schema, method=method, seed=0, allow_single_class=True)
    return {
        "loss": release.loss,
        "classes": release.measured.classes,
        "k": release.measured.k,
        "largest": float(release.measured.t[sensitive]),
        "seconds_partition": release.record.seconds["partition"],
        "seconds": time.perf_counter() - started,
    }


def _show(console: Console, title: str, cases: list[dict[str, Any]]) -> None:
    rows = [
        [
            f"{case['t']} {method}",
            f"{case[method]['loss']:.4f}",
            f"{case[method]['classes']:,}",
            f"{case[method]['largest']:.4f}",
            f"{case[method]['seconds_partition']:.3f}",
            f"{case[method]['seconds']:.3f}",
        ]
        for case in cases
        for method in METHODS
    ]
    show(console, title, ["t, method", "loss", "classes", "largest distance", "partition s", "in all s"], rows)
