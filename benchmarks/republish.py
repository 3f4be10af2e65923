"""Ten releases of a census that grows by a tenth each time: what a history loses, and what it keeps from attackers."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console

import tclose
from benchmarks.results import show, verdict
from tclose.algorithms import find, run_method
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.history.history_check import check_history
from tclose.history.history_state import HistoryState
from tclose.history.intersection_attack import Intersected, attack_history, intersect
from tclose.history.republication import follow
from tclose.schema.changes import with_t
from tclose.schema.schema import Schema
from tclose.table.encode import encode_rows
from tclose.table.row_selection import select_rows
from tclose.table.source import Source

FIRST, RELEASES, SEED = 10_000, 10, 1
METHOD, MOST = "tight", 1.15
KEY = b"k" * 32


class Setting(NamedTuple):
    """A t, and how many new persons make a batch."""

    t: str
    least_batch: float

    def __str__(self) -> str:
        return f"t = {self.t}" + (f", least batch {self.least_batch:g}" if self.least_batch else "")


SETTINGS = tuple(Setting(t, least) for t, least in (("0.2", 0), ("0.2", 0.5), ("0.1", 0), ("0.1", 0.5), ("0.05", 0)))


def run(console: Console) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        anew = {t: _anew(t) for t in dict.fromkeys(setting.t for setting in SETTINGS)}
        alone = _by_k_alone()
        figures = {str(setting): _measure(setting, *anew[setting.t], alone) for setting in SETTINGS}
    for name, found in figures.items():
        rows = [
            [str(place), *(f"{each[name]:,}" for name in ("rows", "released")), *_digits(each)]
            for place, each in enumerate(found["releases"], 1)
        ]
        show(console, f"census, {METHOD}, {name}", ["release", "rows", "released", "anew", "history", "ratio"], rows)
        attacks = [
            [whose, f"{each['alone']:,}", f"{each['below_k']:,}", f"{each['certain']:,}", f"{each['known_share']:.3f}"]
            for whose, each in (("anew each time", found["attack_anew"]), ("history", found["attack_history"]))
        ]
        columns = ["releases", "persons alone", "among fewer than k", "value certain", "largest known share"]
        show(console, f"{RELEASES} releases intersected and subtracted", columns, attacks)
        frozen = f"with the first {FIRST:,} persons alone {found['mean_frozen']:.3f}"
        frozen += f"; if each batch had k and nothing else were asked {found['mean_k_alone']:.3f}"
        met = found["mean_ratio"] <= MOST
        verdict(console, met, f"mean ratio {found['mean_ratio']:.3f}, asked at most {MOST}; {frozen}")
    return {"method": METHOD, "first": FIRST, "settings": figures}


def _digits(each: dict[str, Any]) -> list[str]:
    return [f"{each['anew']:.4f}", f"{each['ours']:.4f}", f"{each['ratio']:.3f}"]


def _table(t: str) -> tuple[pl.DataFrame, Schema]:
    frame, schema = tclose.datasets.census(_sizes()[-1], seed=SEED)
    return frame.with_row_index("who"), replace(with_t(schema, t), unit="who")


def _sizes() -> list[int]:
    return [round(FIRST * 1.1**place) for place in range(RELEASES)]


def _anew(t: str) -> tuple[list[float], NDArray[np.int64]]:
    """The loss of each table by itself, and the class of each person."""
    frame, schema = _table(t)
    losses, labels = [], np.full((len(frame), RELEASES), -1, np.int64)
    for place, size in enumerate(_sizes()):
        release = tclose.anonymize(frame.head(size), schema, method=METHOD, seed=place)
        losses.append(release.loss)
        labels[:size, place] = release.classes
    return losses, labels


def _by_k_alone() -> list[float]:
    """The loss of each table if its batches are classes of k among themselves, and nothing else is asked.

    Whoever releases every batch at once has classes that are no narrower: an atom has k persons of one batch.
    """
    frame, schema = _table("1")
    source = Source.of(frame)
    table = encode_rows(source, *select_rows(source, schema), schema)
    requirement, ends, lost = Requirement.of(schema, table), [0, *_sizes()], [0.0]
    for place, (first, last) in enumerate(pairwise(ends)):
        rows, control = table.take(np.arange(first, last)), Control()
        control.begin(None, lambda loss, done: None)
        found = run_method(find(METHOD), rows, requirement, rng=np.random.default_rng(place), control=control)
        lost.append(lost[-1] + len(rows) * rows.loss(found.labels))
    return [each / size for each, size in zip(lost[1:], _sizes(), strict=True)]


def _measure(setting: Setting, losses: list[float], labels: NDArray[np.int64], alone: list[float]) -> dict[str, Any]:
    frame, schema = _table(setting.t)
    state, releases = HistoryState.empty(), []
    for place, (size, anew) in enumerate(zip(_sizes(), losses, strict=True)):
        source = Source.of(frame.head(size))
        ours, state = follow(state, KEY, source, schema, find(METHOD), "hold", setting.least_batch, seed=place)
        told = {"rows": size, "released": ours.measured.rows, "anew": anew, "ours": ours.loss}
        releases.append({**told, "ratio": ours.loss / anew})
    assert check_history(state).holds
    ratios = [each["ratio"] for each in releases]
    return {
        "releases": releases,
        "mean_ratio": float(np.mean(ratios)),
        "largest_ratio": max(ratios),
        "mean_k_alone": float(np.mean([k / each for k, each in zip(alone, losses, strict=True)])),
        "mean_frozen": float(np.mean([losses[0] / each for each in losses])),
        "attack_anew": _attacked(frame, schema, labels).as_dict(),
        "attack_history": attack_history(state, schema.k).as_dict(),
    }


def _attacked(frame: pl.DataFrame, schema: Schema, labels: NDArray[np.int64]) -> Intersected:
    """What is found of releases that were each made anew; nobody's values have changed."""
    versions = np.where(labels >= 0, np.arange(len(frame))[:, None], -1)
    values = {each.column: frame[each.column].rank("dense").to_numpy().astype(np.int64) for each in schema.sensitive}
    return intersect(labels, versions, values, schema.k)
