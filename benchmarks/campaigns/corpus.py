"""The tables on which mutants are tried; run as a script it releases them all into a folder.

Small, so that kernels can run as plain Python, and of every kind, distance, recoding and way to publish.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

METHODS = ("mondrian", "sabre-ak", "tight")
TREE = {"lung": ["flu", "cold"], "skin": {"rash": ["mild", "bad"], "burn": []}}
ILLS = ["flu", "cold", "mild", "bad", "burn"]


class Table(NamedTuple):
    """A table and its schema."""

    name: str
    frame: pl.DataFrame
    schema: dict[str, Any]


def tables() -> list[Table]:
    """The same ones each time."""
    rng = np.random.default_rng(11)
    n = 18
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "zip": [f"{code:05}" for code in rng.choice([2139, 2140, 2210, 10001], n)],
            "job": rng.choice(["cook", "smith", "baker"], n),
            "day": [f"20{year:02}-0{month}-11" for year, month in zip(rng.integers(18, 24, n), rng.integers(1, 9, n),
                                                                     strict=True)],
            "ill": rng.choice(ILLS, n),
            "pay": (rng.integers(100, 999, n) / 10).round(1),
        }
    )  # fmt: skip
    quasi: dict[str, Any] = {
        "age": {"kind": "numeric", "step": 5, "bottom": 20, "top": 85},
        "zip": {"kind": "text"},
        "job": {"kind": "categorical", "hierarchy": {"food": ["cook", "baker"], "metal": ["smith"]}},
        "day": {"kind": "date", "step": "month"},
    }
    hierarchical = {
        "ill": {"distance": "hierarchical", "hierarchy": TREE, "t": 0.4},
        "pay": {"distance": "equal", "l": 2},
    }
    costs = [[0 if i == j else 1 if (i < 2) != (j < 2) else 0.5 for j in range(5)] for i in range(5)]
    holes = frame.with_columns(pl.when(pl.int_range(n) % 5 == 0).then(None).otherwise(pl.col("age")).alias("age"))
    few = frame.select("age", "job", "ill", "pay")
    two = {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}}
    return [
        Table("hierarchical", frame, {"k": 2, "quasi": quasi, "sensitive": hierarchical}),
        Table("ordered", frame, {"k": 3, "quasi": {**quasi, "age": {"kind": "numeric", "publish": "bounds"}},
            "sensitive": {
            "ill": {"distance": "equal", "t": 0.5}, "pay": {"distance": "ordered", "bins": 4, "t": 0.35}}}),
        Table("numeric", few, {"k": 2, "quasi": {**two, "age": {"kind": "numeric", "publish": "mean"}}, "sensitive": {
            "ill": {"distance": "ordered", "order": ILLS, "t": 0.4}, "pay": {"distance": "numeric", "t": 0.3}}}),
        Table("matrix and joint", few, {"k": 2, "quasi": two, "sensitive": {
            "ill": {"distance": "matrix", "matrix": {"values": ILLS, "costs": costs}, "t": 0.5},
            "pay": {"distance": "ordered", "edges": [30, 60]}},
            "joint": {"both": {"columns": ["ill", "pay"], "t": 0.5}}}),
        Table("missing", holes, {"k": 2, "missing": "category", "quasi": quasi, "sensitive": hierarchical}),
        Table("suppressed", few, {"k": 2, "recode": "suppress", "quasi": two, "sensitive": {
            "ill": {"distance": "equal", "t": 0.6, "l": {"entropy": 1.5, "frequency": 1.2}},
            "pay": {"distance": "ordered", "t": 0.5}}}),
    ]  # fmt: skip


def release_all(folder: Path) -> None:
    """Write every release in the order of its input, and what became of each."""
    import tclose

    warnings.simplefilter("ignore")
    outcomes = {}
    for table in tables():
        for method in METHODS:
            name = f"{table.name}-{method}".replace(" ", "-")
            try:
                release = tclose.anonymize(table.frame, table.schema, method=method, seed=3, allow_single_class=True)
                release.write(folder / f"{name}.csv", keep_order=True)
                outcomes[name] = "released"
            except Exception as error:
                outcomes[name] = type(error).__name__
    (folder / "outcomes.json").write_text(json.dumps(outcomes), encoding="utf-8")


if __name__ == "__main__":
    release_all(Path(sys.argv[1]))
