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
from tclose.evaluation.utility.classifier import classifier_accuracy
from tclose.evaluation.utility.queries import query_error
from tclose.evaluation.utility.utility import beside
from tclose.schema.schema import Schema

ROWS = 10_000  # of each table at most
T = "0.2"
OTHERS = ("clusters", "pca", "mondrian", "sabre-knn", "sabre-ak")
SEEDS, QUERIES = (101, 102, 103), 5_000
FOLDS = range(5)  # seeds that hold out other rows each
ASKED_BELOW = 6  # tables on which `queries` is to have the least error
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
    found = {name: _measure_table(make()) for name, make in MEASURED.items()}
    _show_queries(console, found)
    _show_classify(console, found)
    return {"rows": ROWS, "t": T, "queries": QUERIES, "seeds": SEEDS, "tables": found}


def _measure_table(table: Table) -> dict[str, Any]:
    frame = table.frame if len(table.frame) <= ROWS else table.frame.sample(ROWS, seed=1)
    schema = table.schema(T)
    target = schema.sensitive[0].column
    by_queries = replace(schema, objective="queries")
    by_target = replace(schema, objective="classify", target=target)
    found = {
        "tight": _measure(frame, schema, "tight"),
        "tight, queries": _measure(frame, by_queries, "tight"),
        "tight, classify": _measure(frame, by_target, "tight"),
    }
    return {"rows": len(frame), **found, **{method: _measure(frame, schema, method) for method in OTHERS}}


def _measure(frame: pl.DataFrame, schema: Schema, method: str) -> dict[str, float]:
    """Loss, query error by queries nobody optimized for, and accuracy with other rows held out each time."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        release = tclose.anonymize(frame, schema, method=method, seed=0, allow_single_class=True)
    seconds, read = time.perf_counter() - began, beside(frame, release)
    target = schema.sensitive[0].column
    trained = [classifier_accuracy(read, target, seed=seed) for seed in FOLDS]
    return {
        "loss": release.loss,
        "query_error": statistics.mean(query_error(read, QUERIES, seed=seed).median for seed in SEEDS),
        "accuracy": statistics.mean(each.released for each in trained),
        "accuracy_original": statistics.mean(each.original for each in trained),
        "accuracy_majority": statistics.mean(each.majority for each in trained),
        "seconds": seconds,
    }


def _show_queries(console: Console, found: dict[str, Any]) -> None:
    names = ("tight", "tight, queries", *OTHERS)
    rows = [[name, *(f"{by_method[each]['query_error']:.1%}" for each in names)] for name, by_method in found.items()]
    show(console, "median relative error of COUNT queries", ["", *names], rows)
    rest = ("tight", *OTHERS)
    least = [
        name
        for name, by_method in found.items()
        if by_method["tight, queries"]["query_error"] < min(by_method[each]["query_error"] for each in rest)
    ]
    told = f"queries has the least error on {len(least)} of {len(found)} tables; asked: {ASKED_BELOW}"
    verdict(console, len(least) >= ASKED_BELOW, told)
    losses = [[name, *(f"{by_method[each]['loss']:.3f}" for each in names)] for name, by_method in found.items()]
    show(console, "loss", ["", *names], losses)


def _show_classify(console: Console, found: dict[str, Any]) -> None:
    names = ("tight", "tight, classify", *OTHERS)
    rows = [
        [
            name,
            f"{by_method['tight']['accuracy_majority']:.3f}",
            f"{by_method['tight']['accuracy_original']:.3f}",
            *(f"{by_method[each]['accuracy']:.3f}" for each in names),
        ]
        for name, by_method in found.items()
    ]
    show(console, "accuracy of a random forest", ["", "most frequent", "original", *names], rows)
