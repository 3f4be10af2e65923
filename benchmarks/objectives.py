"""What an objective buys: the error of COUNT queries and the accuracy of a classifier, by method and by objective.

Queries are drawn by other seeds than those that were optimized for.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

import tclose
from benchmarks import adult
from benchmarks.results import show, verdict
from benchmarks.tables import TABLES, Table
from tclose.evaluation.utility.classification import classification_metric
from tclose.evaluation.utility.classifier import classifier_accuracy
from tclose.evaluation.utility.queries import query_error
from tclose.evaluation.utility.utility import beside
from tclose.schema.schema import Schema

ROWS, ROWS_LEARNED = 6_000, 4_000  # of each table at most, for queries and for a classifier
T = "0.2"
OTHERS = ("clusters", "pca", "mondrian", "sabre-knn", "sabre-ak")
SEEDS, QUERIES = (101, 102, 103), 5_000
FOLDS = range(5)  # seeds that hold out other rows each
ASKED_BELOW = 6  # tables on which `queries` is to have the least error
KEPT = {  # what is to be predicted, a column that is released as it is; by file and table
    "adult-tree": ("adult.csv.gz", "salary-class"),
    "nist": ("nist_acs_2019.csv.gz", "DPHY"),
    "diabetes": ("diabetes_130.csv.gz", "readmitted"),
    "support2": ("support2.csv.gz", "death"),
    "census_income_kdd": ("census_income_kdd_test.csv.gz", "income_class"),
    "heart_disease": ("heart_disease.csv", "cp"),
}
Made = Callable[[], Table]


def _plain(file: str, quasi: dict[str, Any], sensitive: str, distance: dict[str, Any], folder: str = "") -> Made:
    """A table of the shared data, without the columns that are not named."""

    def make() -> Table:
        columns = [*quasi, sensitive]
        frame = pl.read_csv(adult.DATA / file, columns=columns, infer_schema=False).select(columns)
        keys = {"missing": "category", "missing_values": ["?"], "quasi": quasi, "sensitive": {sensitive: distance}}
        return Table(Path(file).name.split(".")[0], file, frame, keys, adult.DATA / "hierarchies" / folder)

    return make


def _categories(*names: str, trees: bool = False) -> dict[str, Any]:
    return {name: {"kind": "categorical"} | ({"hierarchy": f"{name}.csv"} if trees else {}) for name in names}


def _numbers(*names: str) -> dict[str, Any]:
    return {name: {"kind": "numeric"} for name in names}


BY_TREE = {"distance": "hierarchical", "hierarchy": "iinjury.csv"}
ORDERED, EQUAL = {"distance": "ordered"}, {"distance": "equal"}
FARS = _categories("iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic", "istatenum", trees=True)
KDD = _numbers("age") | _categories("sex", "race", "education", "marital_stat", "hispanic_origin", "citizenship")
MEASURED: dict[str, Made] = {
    "fars": _plain("fars_sample.csv", FARS, "iinjury", BY_TREE, "fars"),
    "adult-tree": TABLES["adult-tree"],
    "adult-salary": TABLES["adult-salary"],
    "nist": TABLES["nist"],
    "diabetes": TABLES["diabetes"],
    "support2": TABLES["support2"],
    "census_income_kdd": _plain("census_income_kdd_test.csv.gz", KDD, "major_occupation_code", EQUAL),
    "heart_disease": _plain(
        "heart_disease.csv", _categories("site", "sex") | _numbers("age", "trestbps"), "target", ORDERED
    ),
    "hcv": _plain("hcv.csv", _categories("Sex") | _numbers("Age", "ALB", "CHOL"), "Category", EQUAL),
    "ilpd": _plain(
        "ilpd.csv", _categories("gender") | _numbers("age", "total_protein", "albumin"), "patient", EQUAL
    ),
    "casc_census": _plain("casc_census.csv", _numbers("AFNLWGT", "AGI", "EMCONTRB", "PTOTVAL"), "FEDTAX", ORDERED),
    "casc_eia": _plain(
        "casc_eia.csv", _categories("STATE") | _numbers("MONTH", "RESREVENUE"), "TOTREVENUE", ORDERED | {"bins": 20}
    ),
}  # fmt: skip


def run(console: Console) -> dict[str, Any]:
    if not adult.is_there():
        console.print("Nothing is measured: the shared data is not there.")
        return {}
    asked = {name: _measure_queries(make()) for name, make in MEASURED.items()}
    _show_queries(console, asked)
    learned = {name: _measure_target(name, *kept) for name, kept in KEPT.items()}
    _show_targets(console, learned)
    return {"rows": ROWS, "t": T, "queries": QUERIES, "seeds": SEEDS, "tables": asked, "classify": learned}


def _measure_queries(table: Table) -> dict[str, Any]:
    """The error of each method, by queries that nobody optimized for."""
    frame, schema = _some(table.frame, ROWS), table.schema(T)
    runs = [("tight", "tight", schema), ("tight, queries", "tight", replace(schema, objective="queries"))]
    runs += [(method, method, schema) for method in OTHERS]
    found: dict[str, Any] = {"rows": len(frame)}
    for name, method, asked in runs:
        release, seconds = _released(frame, asked, method)
        read = beside(frame, release)
        error = statistics.mean(query_error(read, QUERIES, seed=seed).median for seed in SEEDS)
        found[name] = {"loss": release.loss, "query_error": error, "seconds": seconds}
    return found


def _measure_target(name: str, file: str, target: str) -> dict[str, Any]:
    """How well a kept column is told: by the classes themselves, and by a classifier, other rows held out each time."""
    table = MEASURED[name]()
    frame, schema = _some(_with_target(table, file, target), ROWS_LEARNED), table.schema(T)
    quasi = tuple(each for each in schema.quasi if each.column != target)
    schema = replace(schema, quasi=quasi, keep=(target,), keep_unchecked=True)
    runs = [("tight", schema), ("tight, classify", replace(schema, objective="classify", target=target))]
    found: dict[str, Any] = {"rows": len(frame), "target": target}
    for words, asked in runs:
        release, seconds = _released(frame, asked, "tight")
        read = beside(frame, release)
        trained = [classifier_accuracy(read, target, seed=seed) for seed in FOLDS]
        found[words] = {
            "loss": release.loss,
            "mixed": classification_metric(read, target),
            "accuracy": statistics.mean(each.released for each in trained),
            "seconds": seconds,
        }
        found["original"] = statistics.mean(each.original for each in trained)
        found["most frequent"] = statistics.mean(each.majority for each in trained)
    return found


def _with_target(table: Table, file: str, target: str) -> pl.DataFrame:
    """The table with the column to be predicted beside it, row by row."""
    if target in table.frame.columns:
        return table.frame
    return table.frame.with_columns(pl.read_csv(adult.DATA / file, columns=[target], infer_schema=False)[target])


def _some(frame: pl.DataFrame, n: int) -> pl.DataFrame:
    return frame if len(frame) <= n else frame.sample(n, seed=1)


def _released(frame: pl.DataFrame, schema: Schema, method: str) -> tuple[tclose.Release, float]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        release = tclose.anonymize(frame, schema, method=method, seed=0, allow_single_class=True)
    return release, time.perf_counter() - began


def _show_queries(console: Console, found: dict[str, Any]) -> None:
    names = ("tight", "tight, queries", *OTHERS)
    rows = [[name, *(f"{by_method[each]['query_error']:.1%}" for each in names)] for name, by_method in found.items()]
    show(console, "median relative error of COUNT queries", ["", *names], rows)
    losses = [[name, *(f"{by_method[each]['loss']:.3f}" for each in names)] for name, by_method in found.items()]
    show(console, "loss", ["", *names], losses)
    rest = ("tight", *OTHERS)
    least = [
        name
        for name, by_method in found.items()
        if by_method["tight, queries"]["query_error"] < min(by_method[each]["query_error"] for each in rest)
    ]
    told = f"queries has the least error on {len(least)} of {len(found)} tables; asked: {ASKED_BELOW}"
    verdict(console, len(least) >= ASKED_BELOW, told)


def _show_targets(console: Console, found: dict[str, Any]) -> None:
    rows = [
        [
            f"{name}, {each['target']}",
            *(f"{each[way]['mixed']:.3f}" for way in ("tight", "tight, classify")),
            *(f"{each[way]['accuracy']:.3f}" for way in ("tight", "tight, classify")),
            *(f"{each[way]:.3f}" for way in ("most frequent", "original")),
            *(f"{each[way]['loss']:.3f}" for way in ("tight", "tight, classify")),
        ]
        for name, each in found.items()
    ]
    header = ["", "mixed", "classify", "accuracy", "classify", "most frequent", "original", "loss", "classify"]
    show(console, "rows without the label of their class, accuracy of a random forest, and loss", header, rows)
