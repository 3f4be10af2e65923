"""What leaving rows out buys: the loss without, and with up to 1 % and 5 % of the rows left out, each of which loses 1.

On Adult's twelve cells, and on tables of numbers with outliers. `as_a_class` is the loss if the rows left out were
released as one class instead, whether or not that class would hold: what the key can buy at most beside it. A share
takes up to four runs of a method, so `tight` searches with little effort (`fast`) where a table has many rows. No run
has a time limit: no loss depends on a clock.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import polars as pl
from rich.console import Console

import tclose
from benchmarks import adult
from benchmarks.results import ROOT, show, verdict
from benchmarks.tables import K, Table, chosen
from tclose.algorithms import Algorithm
from tclose.algorithms.mondrian.mondrian import Mondrian
from tclose.algorithms.tight.tight import Tight
from tclose.release.release import Release
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import read

ADULT = ("adult-occupation", "adult-education", "adult-salary")
THRESHOLDS = ("0.1", "0.15", "0.2", "0.35")
LARGE = 10_000  # rows, from which on `tight` searches with little effort
SHARES = ("0", "0.01", "0.05")
LARGE_K = 25  # with which an outlier drags more rows along
OUTLIERS: dict[str, tuple[tuple[str, ...], str]] = {
    "casc_census": (("AGI", "FEDTAX", "PTOTVAL", "STATETAX", "INTVAL", "WSALVAL"), "TAXINC"),
    "casc_tarragona": (("FIXED.ASSETS", "CURRENT.ASSETS", "TREASURY", "SALES", "LABOR.COSTS"), "NET.PROFIT"),
    "casc_eia": (("RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE"), "TOTSALES"),
}


def run(console: Console) -> dict[str, Any]:
    cells = [_cell(console, table, t, K) for table in chosen(console, ADULT) for t in THRESHOLDS]
    for table in _with_outliers(console):
        cells += [_cell(console, table, t, k) for t in ("0.2", "0.35") for k in (K, LARGE_K)]
    runs = [runs for cell in cells for runs in cell["runs"].values()]
    worse = [each for each in runs if any(each[share]["loss"] > each["0"]["loss"] + 1e-9 for share in SHARES)]
    verdict(console, not worse, "leaving rows out never loses more")
    return {"k": K, "shares": SHARES, "cells": cells}


def _with_outliers(console: Console) -> Iterator[Table]:
    """Tables of amounts, most of them small and some very large; sensitive ones in ten bins of equal frequency."""
    if not adult.is_there():
        console.print("Tables with outliers are not measured: the shared data is not there.")
        return
    for name, (quasi, sensitive) in OUTLIERS.items():
        frame = pl.read_csv(adult.DATA / f"{name}.csv").select([*quasi, sensitive])
        values = frame[sensitive].cast(pl.Float64)
        edges = sorted({round(value) for share in range(1, 10) if (value := values.quantile(share / 10)) is not None})
        keys = {
            "quasi": {column: {"kind": "numeric"} for column in quasi},
            "sensitive": {sensitive: {"distance": "ordered", "edges": edges}},
        }
        yield Table(name, f"{name}, {sensitive} ordered in {len(edges) + 1} bins", frame, keys, ROOT)


def _cell(console: Console, table: Table, t: str, k: int) -> dict[str, Any]:
    """All methods and shares at one t and k."""
    keys = {**table.schema(t).as_dict(table.base), "k": k}
    runs: dict[str, Any] = {}
    effort: Literal["fast", "balanced"] = "fast" if len(table.frame) > LARGE else "balanced"
    methods: dict[str, Algorithm] = {"tight": Tight(effort=effort), "mondrian": Mondrian()}
    for name, method in methods.items():
        schemas = {share: Schema.from_dict({**keys, "suppress_rows": share}, base=table.base) for share in SHARES}
        runs[name] = {share: _measure(table.frame, schema, method) for share, schema in schemas.items()}
    rows = [
        [method, *(f"{each['loss']:.4f} ({each['left_out']}, {each['as_a_class']:.4f})" for each in by_share.values())]
        for method, by_share in runs.items()
    ]
    title = f"{table.title}, t = {t}, k = {k}: loss (rows left out, loss if they were a class)"
    show(console, title, ["", *(f"{float(share):.0%}" for share in SHARES)], rows)
    return {"table": table.name, "title": table.title, "t": t, "k": k, "rows": len(table.frame), "runs": runs}


def _measure(frame: pl.DataFrame, schema: Schema, method: Algorithm) -> dict[str, float]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        release = tclose.anonymize(frame, schema, method=method, seed=0, allow_single_class=True)
    seconds = time.perf_counter() - began
    return {
        "loss": release.loss,
        "left_out": release.record.left_out_rows,
        "classes": release.measured.classes,
        "as_a_class": _as_a_class(frame, release),
        "seconds": seconds,
    }


def _as_a_class(frame: pl.DataFrame, release: Release) -> float:
    """The loss if the rows that are left out were one class more."""
    labels = np.where(release.classes < 0, release.classes.max() + 1, release.classes)
    return encode(read(frame), release.schema).loss(np.unique(labels, return_inverse=True)[1].astype(np.int64))
