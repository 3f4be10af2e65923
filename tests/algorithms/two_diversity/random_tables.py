"""Small tables of every kind of quasi-identifier, with one sensitive attribute that is 2-diverse in all."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from tclose.algorithms.requirement import Requirement
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read
from tests.oracles.groups import is_two_diverse

JOBS = {"white": {"office": ["clerk", "boss"], "school": ["teacher"]}, "blue": ["smith", "cook", "driver"]}


def random_table(
    rng: np.random.Generator, n: int, recode: str, sensitive: bool = True
) -> tuple[EncodedTable, Requirement, list[Any]]:
    """The table, what is asked of it, and the value of each row (its number where nothing is sensitive)."""
    few = int(rng.integers(2, 60))
    columns: dict[str, list[Any]] = {
        "age": (20 + rng.integers(0, few, n)).tolist(),
        "job": rng.choice(["clerk", "boss", "teacher", "smith", "cook", "driver"], n).tolist(),
        "zip": [f"{number:03}" for number in rng.integers(0, few, n)],
    }
    if rng.random() < 0.4:
        for name in ("age", "job"):
            columns[name] = [None if rng.random() < 0.2 else value for value in columns[name]]
    age = {"kind": "numeric"} | ({"step": 5} if recode == "generalize" and rng.random() < 0.3 else {})
    quasi: dict[str, Any] = {"age": age, "job": {"kind": "categorical", "hierarchy": JOBS}}
    quasi["zip"] = {"kind": str(rng.choice(["text", "digits"]))}
    keys: dict[str, Any] = {"k": 2, "recode": recode, "missing": "category", "quasi": quasi}
    values = list(range(n))
    if sensitive:
        values = _diverse(rng, n)
        columns["ill"] = [f"ill {value}" for value in values]
        keys["sensitive"] = {"ill": {"distance": "equal", "l": {"frequency": 2}}}
    schema = Schema.from_dict(keys)
    table = encode(read(pl.DataFrame(columns)), schema)
    return table, Requirement.of(schema, table), values


def _diverse(rng: np.random.Generator, n: int) -> list[int]:
    most = int(rng.integers(2 if n % 2 == 0 else 3, n + 1))
    while True:
        values = rng.choice(most, n, p=rng.dirichlet(np.ones(most))).tolist()
        if is_two_diverse(values):
            return list(map(int, values))
