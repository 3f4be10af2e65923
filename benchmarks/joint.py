"""What a joint of two sensitive attributes costs: to verify, and to anonymize."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

import tclose
from benchmarks.results import show
from tclose.algorithms import Algorithm, find
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import Source, read
from tclose.verification.judge_release import check_release

ROWS, HOSPITAL_ROWS, K = 30_000, 20_000, 5
SHAPES = ((12, 12), (18, 20), (29, 31))  # values of the two attributes
CLASSES = (3_000, 600, 60)
METHODS: tuple[tuple[str, dict[str, str]], ...] = (("mondrian", {}), ("sabre-knn", {}), ("tight", {"effort": "fast"}))
T = (None, "0.3", "0.2")


def run(console: Console) -> dict[str, Any]:
    return {"verify": _verify(console), "anonymize": _anonymize(console)}


def _verify(console: Console) -> list[dict[str, Any]]:
    """Classes drawn at random from a table of two ordered attributes that go together."""
    figures = []
    for shape in SHAPES:
        for n_classes in CLASSES:
            frame = _pairs(shape, n_classes)
            combinations = frame.select("a", "b").n_unique()
            apart, joint = (_seconds_to_verify(frame, with_joint) for with_joint in (False, True))
            figures.append({"combinations": combinations, "classes": n_classes, "apart": apart, "joint": joint})
    header = ("combinations", "classes", "without, processor s", "with the joint")
    rows = [(str(f["combinations"]), f"{f['classes']:,}", f"{f['apart']:.2f}", f"{f['joint']:.2f}") for f in figures]
    show(console, f"verify: {ROWS:,} rows", header, rows)
    return figures


def _pairs(shape: tuple[int, int], n_classes: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    a = (rng.beta(2, 4, ROWS) * shape[0]).astype(int)
    b = np.minimum((a / shape[0] / 2 + rng.beta(2, 3, ROWS) * 0.6) * shape[1], shape[1] - 1).astype(int)
    return pl.DataFrame({"age": rng.permutation(np.arange(ROWS) % n_classes), "a": a, "b": b})


def _seconds_to_verify(frame: pl.DataFrame, with_joint: bool) -> float:
    keys: dict[str, Any] = {"k": 2, "quasi": {"age": {"kind": "numeric"}}}
    keys["sensitive"] = {name: {"distance": "ordered", "t": 1} for name in ("a", "b")}
    if with_joint:
        keys["joint"] = {"ab": {"columns": ["a", "b"], "t": 1}}
        check_release(Source.of(frame.head(100)), Schema.from_dict(keys | {"k": 1}))  # what is compiled, is
    started = time.process_time()
    check_release(Source.of(frame), Schema.from_dict(keys))
    return time.process_time() - started


def _anonymize(console: Console) -> list[dict[str, Any]]:
    """The hospital's diagnosis (t 0.3) and length of stay (ten bins, t 0.25), without and with a joint of both."""
    frame, given = tclose.datasets.hospital(HOSPITAL_ROWS, seed=1)
    asked = given.as_dict()
    chosen = {"diagnosis": asked["sensitive"]["diagnosis"]}
    chosen["length_of_stay"] = asked["sensitive"]["length_of_stay"] | {"bins": 10}
    frame = frame.drop(name for name in asked["sensitive"] if name not in chosen)
    figures = []
    for t in T:
        joint = {} if t is None else {"both": {"columns": list(chosen), "t": t}}
        schema = Schema.from_dict(asked | {"sensitive": chosen, "joint": joint})
        size = encode(read(frame), schema).domains[-1].size
        figures += [
            {"t": t, "combinations": size, **_timed(find(name, options), frame, schema)} for name, options in METHODS
        ]
    header = ("method", "t of the joint", "processor s", "partition, s", "verify, s", "classes", "loss")
    rows = [
        (f["method"], f["t"] or "none", f"{f['processor']:.1f}", f"{f['partition']:.1f}", f"{f['verify']:.1f}",
         str(f["classes"]), f"{f['loss']:.4f}")
        for f in figures
    ]  # fmt: skip
    show(
        console, f"hospital: {HOSPITAL_ROWS:,} rows, k = {K}, {figures[-1]['combinations']} combinations", header, rows
    )
    return figures


def _timed(method: Algorithm, frame: pl.DataFrame, schema: Schema) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tclose.anonymize(frame.head(1000), schema, method=method, seed=1, allow_single_class=True)
        started = time.process_time()
        release = tclose.anonymize(frame, schema, method=method, seed=1)
    processor = time.process_time() - started
    seconds = release.record.seconds
    return {
        "method": method.name, "processor": processor, "partition": seconds["partition"],
        "verify": seconds["verify"], "classes": release.measured.classes, "loss": release.loss,
    }  # fmt: skip
