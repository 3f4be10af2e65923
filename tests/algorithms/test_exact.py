"""`exact` against all partitions, on the paper's tables, and what its docstring promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms import exact as method
from tclose.algorithms.exact import Exact
from tclose.datasets import census
from tclose.encode import EncodedTable, encode
from tclose.errors import InfeasibleError, SizeError
from tclose.exact import cover
from tclose.exact.subtables import Types, find_costs, find_kinds, step_of_costs
from tclose.frames import read
from tclose.kernels import closeness, costs, subsets
from tclose.partition import Control, Partition
from tclose.requirement import Requirement
from tclose.schema import Schema
from tclose.testing import run
from tests.oracles.distance import emd_equal
from tests.oracles.optimum import all_partitions, class_cost, holds, is_diverse, least_cost
from tests.seeds import for_seeds

JOBS = {"white": {"office": ["clerk", "boss"], "school": ["teacher"]}, "blue": ["smith", "cook"]}
JOB_PATHS = [
    ("clerk", "office", "white", "*"),
    ("boss", "office", "white", "*"),
    ("teacher", "school", "white", "*"),
    ("smith", "blue", "*"),
    ("cook", "blue", "*"),
]
ILLS = {"lung": ["flu", "cold"], "skin": ["rash"]}
ILL_PATHS = [("flu", "lung", "*"), ("cold", "lung", "*"), ("rash", "skin", "*")]
MATRIX = {"values": ["flu", "cold", "rash"], "costs": [[0, 0.25, 1], [0.25, 0, 0.875], [1, 0.875, 0]]}
DIVERSITY: list[Any] = [2, {"frequency": "3/2"}, {"entropy": "7/4"}, {"recursive": {"c": 2, "l": 2}}, {"frequency": 2}]

Oracle = tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any], list[dict[str, Any]]]


def prepare(frame: pl.DataFrame, schema: Schema) -> tuple[EncodedTable, Requirement]:
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


def random_case(seed: int, most: int = 7) -> tuple[pl.DataFrame, Schema, Oracle]:
    """A table of few rows, its schema, and the same for the oracle: rows, quasi-identifiers, sensitive, joints."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most + 1))
    columns = {
        "age": rng.integers(20, 29, n).tolist(),
        "job": rng.choice(["clerk", "boss", "teacher", "smith", "cook"], n).tolist(),
        "zip": [f"{z:03}" for z in rng.choice([100, 101, 110, 111, 211], n)],
        "town": rng.choice(["a", "b", "c"], n).tolist(),
    }
    missing = rng.random() < 0.4
    if missing:
        for name in ("age", "job", "town"):
            columns[name] = [None if rng.random() < 0.2 else value for value in columns[name]]
    kinds = {
        "age": {"kind": "numeric"},
        "job": {"kind": "categorical", "hierarchy": JOBS},
        "zip": {"kind": "digits"},
        "town": {"kind": "categorical"},
    }
    chosen = rng.choice(list(kinds), int(rng.integers(1, 5)), replace=False).tolist()
    sensitive, specs, joint, joints = _random_sensitive(rng, n, columns, missing)
    keys = {
        "k": int(rng.integers(1, 4)),
        "missing": "category",
        "recode": str(rng.choice(["generalize", "suppress"])),
        "quasi": {name: kinds[name] for name in chosen},
        "sensitive": sensitive,
    }
    frame = pl.DataFrame({name: columns[name] for name in (*chosen, *sensitive)})
    if rng.random() < 0.4:  # rows that are alike
        frame = frame[rng.integers(0, max(n // 2, 1), n).tolist()]
    rows = frame.to_dicts()
    for name, spec in specs.items():
        spec["domain"] = spec.get("domain") or sorted({row[name] for row in rows if row[name] is not None})
        if any(row[name] is None for row in rows):
            spec["domain"] = [*spec["domain"], None]
    quasi = {name: {"kind": kinds[name]["kind"]} | ({"paths": JOB_PATHS} if name == "job" else {}) for name in chosen}
    return frame, Schema.from_dict(keys | joint), (rows, quasi, specs, joints)


def _random_sensitive(rng: np.random.Generator, n: int, columns: dict[str, Any], missing: bool) -> Any:
    """One to three sensitive attributes, perhaps a joint; columns are filled in."""

    def t() -> str:
        return str(rng.choice(["0", "0.1", "0.2", "0.25", "1/3", "0.4", "0.5", "0.7", "1"]))

    sensitive: dict[str, Any] = {}
    specs: dict[str, Any] = {}
    kind = int(rng.integers(5))
    columns["ill"] = rng.choice(["flu", "cold", "rash"], n).tolist()
    columns["days"] = rng.choice(["0", "1", "2", "3"], n).tolist()
    if kind == 0:
        sensitive["ill"], specs["ill"] = {"distance": "equal", "t": t()}, {"distance": "equal"}
        if missing:
            columns["ill"][0] = None
    elif kind == 1:
        costs = [[Fraction(cost) for cost in row] for row in MATRIX["costs"]]
        sensitive["ill"] = {"distance": "matrix", "matrix": MATRIX, "t": str(rng.choice(["0.1137", "0.2137", "0.4137"]))}
        specs["ill"] = {"distance": "matrix", "domain": MATRIX["values"], "costs": costs}
    elif kind <= 3:
        sensitive["ill"] = {"distance": "hierarchical", "hierarchy": ILLS, "t": t()}
        specs["ill"] = {"distance": "hierarchical", "domain": ["flu", "cold", "rash"], "paths": ILL_PATHS}
    if kind >= 3 or rng.random() < 0.3:
        sensitive["days"] = {"distance": "ordered", "order": ["0", "1", "2", "3"], "t": t()}
        specs["days"] = {"distance": "ordered", "domain": ["0", "1", "2", "3"]}
    if kind == 4:
        columns["pay"] = rng.choice([1, 2, 5, 9], n).tolist()
        sensitive["pay"], specs["pay"] = {"distance": "numeric", "t": t()}, {"distance": "numeric"}
    if rng.random() < 0.3:
        first = next(iter(sensitive))
        sensitive[first]["l"] = specs[first]["l"] = DIVERSITY[int(rng.integers(len(DIVERSITY)))]
    joint: dict[str, Any] = {}
    joints: list[dict[str, Any]] = []
    if kind == 3 and rng.random() < 0.7:
        asked = t()
        joint = {"joint": {"both": {"columns": ["ill", "days"], "t": asked}}}
        own = [{"distance": "hierarchical", "paths": ILL_PATHS}, {"distance": "ordered", "order": ["0", "1", "2", "3"]}]
        joints = [{"columns": ["ill", "days"], "t": asked, "specs": own}]
        if rng.random() < 0.5:
            del sensitive["days"]["t"]
    for name, asked_of in sensitive.items():
        specs[name] |= {"t": asked_of["t"]} if "t" in asked_of else {}
    return sensitive, specs, joint, joints


def agrees_with_all_partitions(seed: int, most: int = 7) -> bool:
    """Whether there was more than one class; asserts that nothing is better."""
    frame, schema, (rows, quasi, sensitive, joints) = random_case(seed, most)
    table, requirement = prepare(frame, schema)

    def may_be(members: list[int]) -> bool:
        return holds([rows[row] for row in members], rows, schema.k, sensitive, joints)

    def cost(members: list[int]) -> Fraction:
        return class_cost([rows[row] for row in members], rows, quasi, schema.recode)

    best = least_cost(len(rows), may_be, cost)
    if best is None:
        with pytest.raises(InfeasibleError):
            run(Exact(), table, requirement)
        return False
    partition = run(Exact(), table, requirement)
    classes = [np.flatnonzero(partition.labels == label).tolist() for label in range(partition.n_classes)]
    assert sorted(sum(classes, [])) == list(range(len(rows)))
    assert all(map(may_be, classes))
    assert sum(map(cost, classes)) == best
    assert partition.facts == {"optimal": True, "loss_at_least": pytest.approx(float(best) / len(rows), abs=1e-11)}
    return partition.n_classes > 1


@for_seeds(300)
def test_nothing_is_better(seed: int) -> None:
    agrees_with_all_partitions(seed)


@pytest.mark.slow
@for_seeds(2400, at_a_time=200)
def test_nothing_is_better_in_many_more(seed: int) -> None:
    agrees_with_all_partitions(seed + 10_000, 8 if seed % 10 == 0 else 7)


def test_random_cases_are_of_all_kinds() -> None:
    """Most have more than one class, and some nothing that holds."""
    several = [agrees_with_all_partitions(seed) for seed in range(40)]
    assert sum(several) > 20
    n_joint = sum(bool(random_case(seed)[2][3]) for seed in range(300))
    n_infeasible = sum(
        not holds(rows, rows, schema.k, sensitive, joints)
        for _, schema, (rows, _, sensitive, joints) in map(random_case, range(300))
    )
    assert n_joint > 20
    assert n_infeasible > 5


# Paper 002


DISEASES = "vhhcvvhccc"
PAPER = ["98765 38 B", "98654 39 D", "98543 32 M", "97654 65 B", "96689 45 B", "97427 33 B", "96552 54 B"]
PAPER += ["97017 69 D", "97023 55 M", "97009 62 B"]
TABLE_2 = [[1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
TABLE_3 = [[1, 2], [3, 5, 8, 9], [4, 6], [7, 10]]
TABLE_5 = [[1, 2, 4], [3, 5, 8, 9], [6, 7, 10]]


def paper_table(**asked: Any) -> tuple[EncodedTable, Requirement]:
    """Table 1 of 002: every digit is a quasi-identifier."""
    cells = [text.replace(" ", "") for text in PAPER]
    columns = {f"q{place}": [row[place] for row in cells] for place in range(8)}
    quasi = {name: {"kind": "categorical"} for name in columns}
    k = asked.pop("k", 1)
    sensitive = {"disease": {"distance": "equal", **asked}} if asked else {}
    columns |= {"disease": list(DISEASES)} if asked else {}
    schema = Schema.from_dict({"k": k, "recode": "suppress", "quasi": quasi, "sensitive": sensitive})
    return prepare(pl.DataFrame(columns), schema)


def hidden(members: Sequence[int]) -> int:
    """How many cells of a class are hidden, by section 2 of 002."""
    rows = [PAPER[row].replace(" ", "") for row in members]
    return len(rows) * sum(len(set(cells)) > 1 for cells in zip(*rows, strict=True))


def paper_distance(members: Sequence[int]) -> Fraction:
    counts = [[text.count(value) for value in "vhc"] for text in ("".join(DISEASES[i] for i in members), DISEASES)]
    return emd_equal(*counts)


def test_the_costs_and_distances_of_the_papers_tables() -> None:
    """Those of table 3 are as printed but for its third group; see docs/papers.md."""
    tables = [[[row - 1 for row in members] for members in printed] for printed in (TABLE_2, TABLE_3, TABLE_5)]
    assert [sum(map(hidden, table)) for table in tables] == [54, 60, 67]
    assert list(map(paper_distance, tables[1])) == [Fraction(x) for x in ("2/5", "1/10", "3/10", "3/10")]
    assert list(map(paper_distance, tables[2])) == [Fraction(x) for x in ("1/15", "1/10", "1/15")]
