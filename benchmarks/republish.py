"""Ten releases of a census that grows by a tenth each time: what a history loses, and what it keeps from attackers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

import tclose
from benchmarks.results import show, verdict
from tclose.algorithms import find
from tclose.history.history_check import check_history
from tclose.history.history_state import HistoryState
from tclose.history.intersection_attack import Intersected, attack_history, intersect
from tclose.history.republication import follow
from tclose.schema.schema import Schema
from tclose.table.source import Source

FIRST, RELEASES, SEED = 10_000, 10, 1
METHODS = ("tight", "mondrian")
MOST = 1.15
KEY = b"k" * 32


def run(console: Console) -> dict[str, Any]:
    figures = {method: _measure(method) for method in METHODS}
    for method, found in figures.items():
        rows = [
            [str(place + 1), f"{each['rows']:,}", f"{each['anew']:.4f}", f"{each['ours']:.4f}", f"{each['ratio']:.3f}"]
            for place, each in enumerate(found["releases"])
        ]
        title = f"census, {method}: the loss of releasing everything anew, and that of a history"
        show(console, title, ["release", "rows", "anew", "history", "ratio"], rows)
        attacks = [
            [name, f"{each['alone']:,}", f"{each['below_k']:,}", f"{each['certain']:,}", f"{each['known_share']:.3f}"]
            for name, each in (("anew each time", found["attack_anew"]), ("history", found["attack_history"]))
        ]
        columns = ["releases", "persons alone", "among fewer than k", "value certain", "largest known share"]
        show(console, f"{RELEASES} releases intersected and subtracted", columns, attacks)
        verdict(console, found["mean_ratio"] <= MOST, f"mean ratio {found['mean_ratio']:.3f}, asked at most {MOST}")
    return {"first": FIRST, "releases": RELEASES, "methods": figures}


def _measure(method: str) -> dict[str, Any]:
    sizes = [round(FIRST * 1.1**place) for place in range(RELEASES)]
    frame, schema = tclose.datasets.census(sizes[-1], seed=SEED)
    frame, schema = frame.with_row_index("who"), replace(schema, unit="who")
    state, releases = HistoryState.empty(), []
    labels = np.full((sizes[-1], RELEASES), -1, np.int64)
    for place, size in enumerate(sizes):
        table = frame.head(size)
        anew = tclose.anonymize(table, schema, method=method, seed=place)
        labels[:size, place] = anew.classes
        ours, state = follow(state, KEY, Source.of(table), schema, find(method), "hold", seed=place)
        releases.append({"rows": size, "anew": anew.loss, "ours": ours.loss, "ratio": ours.loss / anew.loss})
    assert check_history(state).holds
    ratios = [each["ratio"] for each in releases]
    return {
        "releases": releases,
        "mean_ratio": float(np.mean(ratios)),
        "largest_ratio": max(ratios),
        "attack_anew": _attacked(frame, schema, labels).as_dict(),
        "attack_history": attack_history(state, schema.k).as_dict(),
    }


def _attacked(frame: pl.DataFrame, schema: Schema, labels: np.ndarray[Any, np.dtype[np.int64]]) -> Intersected:
    """What is found of releases that were each made anew; nobody's values have changed."""
    versions = np.where(labels >= 0, np.arange(len(frame))[:, None], -1)
    values = {each.column: frame[each.column].rank("dense").to_numpy().astype(np.int64) for each in schema.sensitive}
    return intersect(labels, versions, values, schema.k)
