"""How long the least loss of all partitions takes, by the number of different rows, and where rows are alike."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.console import Console

import tclose
from benchmarks.results import show
from tclose.algorithms.control import Control
from tclose.algorithms.exact.exact import Exact
from tclose.algorithms.requirement import Requirement
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read

DIFFERENT = (10, 12, 14, 16, 18, 20, 22, 24)
ALIKE = ((30, 6), (60, 6), (40, 8), (60, 8), (40, 10))  # rows, and how many of them are different
ASKED = ((2, "0.5"), (3, "0.2"), (5, "0.1"))  # k and t
RECODINGS = ("generalize", "suppress")


def run(console: Console) -> dict[str, Any]:
    _timed(*_extract(8, 2, "0.5", "suppress"))  # what is compiled, is
    different = [_line(n, n) for n in DIFFERENT]
    alike = [_line(n, n_types) for n, n_types in ALIKE]
    for title, lines in (("different rows", different), ("rows alike", alike)):
        header = ("rows", "different", *(f"{recode}, k = {k}, t = {t}" for recode in RECODINGS for k, t in ASKED))
        rows = [
            (str(line["rows"]), str(line["different"]), *(f"{run['seconds']:.2f}" for run in line["runs"]))
            for line in lines
        ]
        show(console, f"census extracts, {title}: processor seconds", header, rows)
    return {"different": different, "alike": alike}


def _line(n: int, n_types: int) -> dict[str, Any]:
    runs = []
    for recode in RECODINGS:
        for k, t in ASKED:
            table, requirement = _extract(n_types, k, t, recode)
            if n > n_types:
                table, requirement = _repeated(table, requirement, n)
            runs.append({"recode": recode, "k": k, "t": t, **_timed(table, requirement)})
    return {"rows": n, "different": n_types, "runs": runs}


def _extract(n: int, k: int, t: str, recode: str) -> tuple[EncodedTable, Requirement]:
    frame, schema = tclose.datasets.census(n, seed=1)
    asked = schema.as_dict() | {"k": k, "recode": recode}
    asked["sensitive"] = {name: {**each, "t": t} for name, each in asked["sensitive"].items()}
    if recode == "suppress":
        asked["quasi"] = {name: {"kind": "categorical"} for name in asked["quasi"]}
    schema = Schema.from_dict(asked)
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


def _repeated(table: EncodedTable, requirement: Requirement, n: int) -> tuple[EncodedTable, Requirement]:
    """Every row once, and others drawn from them up to n."""
    drawn = np.random.default_rng(1).integers(0, len(table), n - len(table))
    longer = table.take(np.concatenate([np.arange(len(table)), drawn]))
    attributes = tuple(
        type(each)(each.domain, np.bincount(codes, minlength=each.domain.size), each.t, each.l)
        for each, codes in zip(requirement.attributes, longer.codes, strict=True)
    )
    return longer, Requirement(requirement.k, attributes, n)


def _timed(table: EncodedTable, requirement: Requirement) -> dict[str, Any]:
    started = time.process_time()
    partition = Exact().partition(table, requirement, rng=np.random.default_rng(1), control=Control())
    seconds = time.process_time() - started
    assert partition.facts["optimal"]
    return {"seconds": seconds, "loss": table.loss(partition.labels), "classes": partition.n_classes}
