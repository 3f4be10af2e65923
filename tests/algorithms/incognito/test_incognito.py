"""Incognito against its slow oracle, and what its docstring promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.control import Control
from tclose.algorithms.incognito import incognito as module
from tclose.algorithms.incognito import lattice_loops as lattice
from tclose.algorithms.incognito.incognito import Incognito
from tclose.algorithms.mondrian.mondrian import Mondrian
from tclose.algorithms.packing import rules_of, scratch_of
from tclose.algorithms.requirement import Requirement
from tclose.datasets import census
from tclose.errors import HighLossWarning, InfeasibleError, InferredSchemaWarning, SchemaError, TableError
from tclose.kernels.closeness import ASK, NO, YES
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.oracles.incognito import Column, incognito, leaf_share

JOBS = {"white": {"office": ["clerk", "boss"], "school": ["teacher"]}, "blue": ["smith", "cook", "driver"]}
JOB_PATHS = {
    "clerk": ("clerk", "office", "white", "*"),
    "boss": ("boss", "office", "white", "*"),
    "teacher": ("teacher", "school", "white", "*"),
    **{job: (job, "blue", "*") for job in ("smith", "cook", "driver")},
}
ILLS = {"lung": ["flu", "asthma"], "skin": {"burn": [], "rash": ["mild", "bad"]}}
ILL = ["flu", "asthma", "burn", "mild", "bad"]
COSTS = [[0.0 if a == b else 0.5 if a // 2 == b // 2 else 1.0 for b in range(5)] for a in range(5)]
AGE = {"kind": "numeric", "hierarchy": {"build": "intervals", "widths": [4, 8], "origin": 1}}
Case = tuple[EncodedTable, Requirement, list[Column]]


def of_ages(values: Sequence[str | None]) -> Column:
    known = sorted({int(value) for value in values if value is not None})

    def path(age: int) -> tuple[str, ...]:
        return (str(age), *(f"[{(age - 1) // width * width + 1}" for width in (4, 8)), "*")

    def cost(ages: set[str]) -> Fraction:
        return Fraction(max(map(int, ages)) - min(map(int, ages)), max(known[-1] - known[0], 1))

    return Column(values, {str(age): path(age) for age in known}, cost)


def of_zips(values: Sequence[str | None], lengths: tuple[int, ...] | None) -> Column:
    """Kind text: the loss counts values with the same beginning; levels are prefixes, or where values part."""
    known = sorted({value for value in values if value is not None})

    def path(value: str) -> tuple[str, ...]:
        if lengths is not None:
            return (value, *(value[:length] for length in lengths), "*")
        starts = [value[:length] for length in range(len(value) - 1, -1, -1)]
        parting = [p for p in starts if len({w[: len(p) + 1] for w in known if w.startswith(p)}) > 1]
        return (value, *(parting or ["*"]))

    def cost(zips: set[str]) -> Fraction:
        first = min(zips)
        shared = next(p for p in (first[:length] for length in (3, 2, 1, 0)) if all(z.startswith(p) for z in zips))
        below = sum(z.startswith(shared) for z in known)
        return Fraction(0) if below == 1 else Fraction(below, len(known))

    return Column(values, {value: path(value) for value in known}, cost)


def flat(values: Sequence[str | None]) -> Column:
    paths = {value: (value, "*") for value in values if value is not None}
    return Column(values, paths, leaf_share(paths))


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    age: list[Any] = rng.integers(20, 20 + int(rng.choice([4, 16])), n).tolist()
    code: list[Any] = [f"{z:03}" for z in rng.choice([0, 1, 2, 10, 15, 100, 120, 121], n)]
    job: list[Any] = rng.choice(list(JOB_PATHS)[: int(rng.integers(1, 7))], n).tolist()
    ill: list[Any] = rng.choice(ILL, n, p=[0.4, 0.2, 0.2, 0.1, 0.1]).tolist()
    distance = str(rng.choice(["hierarchical", "equal", "matrix"], p=[0.5, 0.4, 0.1]))
    if rng.random() < 0.4:
        age, code, job = ([None if rng.random() < 0.2 else value for value in column] for column in (age, code, job))
        ill = ill if distance == "matrix" else [None if rng.random() < 0.1 else value for value in ill]
    about: dict[str, Any] = {"distance": distance, "t": float(rng.choice([0, 0.3, 0.5, 0.8]))}
    about |= {"hierarchy": ILLS} if distance == "hierarchical" else {}
    about |= {"matrix": {"values": ILL, "costs": COSTS}} if distance == "matrix" else {}
    if rng.random() < 0.4:
        about["l"] = [{"entropy": 2}, 2, {"frequency": "3/2"}, {"recursive": {"c": 3, "l": 2}}][int(rng.integers(4))]
    sensitive = {"ill": about}
    if rng.random() < 0.5:
        sensitive["pay"] = {"distance": str(rng.choice(["ordered", "numeric"])), "t": 0.4}
    hide, lengths = rng.random() < 0.2, (2, 1) if rng.random() < 0.5 else None
    prefixes = {"hierarchy": {"build": "prefixes", "lengths": lengths}} if lengths else {}
    schema = Schema.from_dict(
        {
            "k": int(rng.integers(1, 5)),
            "missing": "category",
            "recode": "suppress" if hide else "generalize",
            "quasi": {
                "age": AGE,
                "zip": {"kind": "text", **prefixes},
                "job": {"kind": "categorical", "hierarchy": JOBS},
            },
            "sensitive": sensitive,
        }
    )
    pay = {"pay": rng.integers(0, 8, n)} if "pay" in sensitive else {}
    table = encode(read(pl.DataFrame({"age": age, "zip": code, "job": job, "ill": ill, **pay})), schema)
    ages = [None if value is None else str(value) for value in age]
    if hide:
        columns = [flat(values) for values in (ages, code, job)]
    else:
        columns = [of_ages(ages), of_zips(code, lengths), Column(job, JOB_PATHS, leaf_share(JOB_PATHS))]
    return table, Requirement.of(schema, table), columns


def as_sets(partition: Partition) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(partition.labels == label).tolist()) for label in range(partition.n_classes)}


@pytest.mark.parametrize("block", range(10))
@pytest.mark.everyday(2)
def test_agrees_with_the_oracle(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        table, requirement, columns = random_case(seed)

        @cache
        def holds(rows: frozenset[int], table: EncodedTable = table, requirement: Requirement = requirement) -> bool:
            return requirement.holds([codes[sorted(rows)] for codes in table.codes])

        wanted = incognito(columns, requirement.k, holds)
        if not wanted:
            with pytest.raises(InfeasibleError):
                run(Incognito(), table, requirement)
            continue
        partition = run(Incognito(), table, requirement)
        found = {tuple(each["levels"].values()): each for each in partition.notes["minimal_nodes"]}
        assert set(found) == set(wanted), seed
        for node, told in found.items():
            assert told["loss"] == pytest.approx(float(wanted[node].loss), abs=1e-12), seed
            assert told["full_domain_loss"] == pytest.approx(float(wanted[node].full_domain_loss), abs=1e-12), seed
        best = min(wanted, key=lambda node: (wanted[node].loss, node))
        assert partition.levels == tuple(partition.facts["levels"].values()) == best, seed
        assert as_sets(partition) == wanted[best].classes, seed


def small(n: int = 400, **keys: Any) -> tuple[EncodedTable, Requirement]:
    frame, schema = census(n, seed=3)
    schema = Schema.from_dict(schema.as_dict() | {"k": 3} | keys)
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


def test_the_loss_of_levels_by_hand() -> None:
    levels = {"build": "intervals", "widths": [10]}
    schema = Schema.from_dict(
        {
            "k": 2,
            "quasi": {
                "age": {"kind": "numeric", "hierarchy": levels},
                "job": {"kind": "categorical", "hierarchy": JOBS},
            },
        }
    )
    # Tens of age, and jobs as they are: [20, 30) covers 21 to 27 of 21 to 41, a share of 6/20, and [40, 50) 40 to 41.
    frame = pl.DataFrame({"age": [21, 22, 26, 27, 40, 41], "job": ["clerk", "clerk", "cook", "cook", "cook", "cook"]})
    table = encode(read(frame), schema)
    partition = run(Incognito(), table, Requirement.of(schema, table))
    assert partition.levels == (1, 0)
    assert partition.facts["full_domain_loss"] == pytest.approx((4 * 0.3 + 2 * 0.05) / 6 / 2)
    # The classes themselves are narrower: 21 to 22, 26 to 27, 40 to 41.
    assert table.loss(partition.labels) == pytest.approx(0.05 / 2)
    assert partition.notes["minimal_nodes"] == [{**partition.facts, "loss": table.loss(partition.labels)}]


def test_only_k_is_asked() -> None:
    table, requirement = small()
    lone = replace(table, domains=(), codes=())
    partition = run(Incognito(), lone, replace(requirement, attributes=()))
    assert np.bincount(partition.labels).min() >= 3
    assert partition.n_classes > 1


@pytest.mark.parametrize("budget", [1, 100])
def test_a_budget_changes_nothing(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table, requirement = small()
    whole = run(Incognito(), table, requirement)
    monkeypatch.setattr(module, "BUDGET", budget)
    assert np.array_equal(run(Incognito(), table, requirement).labels, whole.labels)


def test_only_nodes_whose_parts_hold_are_candidates() -> None:
    first, pair = np.array([False, True]), np.array([[False, True], [True, True], [True, True]])
    candidates = module._candidates((0, 2, 5), {(2,): first, (0, 5): pair, (1,): first}, (3, 2, 2))
    wanted = {(a, b, c) for a in range(3) for b in range(2) for c in range(2) if first[b] and pair[a, c]}
    assert set(map(tuple, np.argwhere(candidates).tolist())) == wanted


# Stopping and starting


@pytest.mark.parametrize("tests", [0, 1, 5, 30, 60])
def test_stops_when_asked_and_still_meets_the_requirement(tests: int) -> None:
    table, requirement = small()
    shares: list[float] = []

    def listen(loss: float | None, done: float | None) -> None:
        assert done is not None
        shares.append(done)
        if len(shares) >= tests:
            control.end()

    control = Control(listener=listen)
    if not tests:
        control.end()
    partition = Incognito().partition(table, requirement, rng=np.random.default_rng(0), control=control)
    assert len(shares) == tests
    assert all(0 < a <= b <= 1 for a, b in pairwise(shares))
    assert partition.facts["stopped_early"]
    assert not partition.notes
    assert tests > 1 or partition.n_classes == 1
    for label in range(partition.n_classes):
        members = partition.labels == label
        assert members.sum() >= requirement.k
        assert requirement.holds([codes[members] for codes in table.codes])


def test_a_better_start_comes_back() -> None:
    table, requirement = small()
    better = run(Mondrian(), table, requirement)
    found = run(Incognito(), table, requirement, better)
    assert np.array_equal(found.labels, better.labels)
    assert found.levels is None
    assert "levels" not in found.facts
    assert found.notes["minimal_nodes"]
    worse = Partition(np.zeros(len(table), np.int64))
    assert run(Incognito(), table, requirement, worse).levels is not None


# What is refused


def test_numbers_and_dates_need_hierarchies(tmp_path: Path) -> None:
    quasi: dict[str, Any] = {"zip": {"kind": "numeric"}, "sex": {"kind": "categorical"}}
    schema = Schema.from_dict({"k": 2, "quasi": quasi})
    nowhere = tmp_path / "never read.csv"
    with pytest.raises(SchemaError) as error:
        tclose.anonymize(nowhere, schema, method="incognito")
    assert str(error.value) == (
        "Column 'zip' is a quasi-identifier without a hierarchy, and 'incognito' needs one. "
        "Give [quasi.zip] a hierarchy, or use 'tight'."
    )
    both = Schema.from_dict({"k": 2, "quasi": quasi | {"born": {"kind": "date"}}})
    with pytest.raises(SchemaError, match=r"Columns 'zip' and 'born' .* Give \[quasi.zip\] and \[quasi.born\] hier"):
        tclose.anonymize(nowhere, both, method="incognito")
    with pytest.raises(TableError, match="is not a file"):
        tclose.anonymize(nowhere, replace(both, recode="suppress"), method="incognito")
    frame = pl.DataFrame({"age": range(100), "ill": ["a", "b"] * 50})
    with (
        pytest.warns(InferredSchemaWarning),
        pytest.raises(SchemaError, match="Column 'age' is a quasi-identifier without a hierarchy"),
    ):
        tclose.anonymize(frame, quasi=["age"], sensitive={"ill": 0.5}, k=2, method="incognito")


def test_a_lattice_too_large() -> None:
    schema = Schema.from_dict(
        {"k": 1, "quasi": {"a": {"kind": "digits"}, "b": {"kind": "categorical"}, "c": {"kind": "digits"}}}
    )
    frame = pl.DataFrame({"a": ["0" * 12, "1" * 12], "b": ["x", "y"], "c": ["0" * 9, "1" * 9]})
    table = encode(read(frame), schema)
    with pytest.raises(SchemaError, match=r"4,194,304 combinations .*: 'a' 4,096, 'b' 2, 'c' 512 .* use 'mondrian'"):
        run(Incognito(), table, Requirement.of(schema, table))


def test_what_binds_is_named() -> None:
    frame, schema = census(300, seed=1)
    strict = Schema.from_dict(schema.as_dict() | {"sensitive": {"salary": {"distance": "ordered", "t": 0}}})
    with pytest.raises(InfeasibleError, match="What binds is the requirement on 'salary'"):
        tclose.anonymize(frame, strict, method="incognito")


# Record and certificate


def test_minimal_nodes_are_in_the_record_only() -> None:
    frame, schema = census(2000, seed=1)
    with pytest.warns(HighLossWarning):
        release = tclose.anonymize(frame, schema, method="incognito")
    nodes = release.record.as_dict()["minimal_nodes"]
    told = release.certificate.as_dict()
    best = min(nodes, key=lambda node: node["loss"])
    assert told["method"] == {"name": "incognito", "parameters": {}}
    assert release.facts == {"levels": best["levels"], "full_domain_loss": best["full_domain_loss"]}
    assert best["loss"] == release.loss <= best["full_domain_loss"]
    assert len(nodes) > 1
    assert "minimal" not in str(told)


def test_a_loss_of_means_stays_inside() -> None:
    schema = Schema.from_dict({"k": 2, "quasi": {"age": AGE | {"publish": "mean"}}})
    release = tclose.anonymize(pl.DataFrame({"age": [21, 22, 29, 30]}), schema, method="incognito")
    told = release.certificate.as_dict()
    assert told["loss"]["value"] is None
    assert told["method"] == {"name": "incognito", "parameters": {}}
    assert release.facts["levels"] == {"age": 1}
    assert release.record.as_dict()["minimal_nodes"][0]["full_domain_loss"] > 0


def test_levels_of_digits_by_position() -> None:
    schema = Schema.from_dict({"k": 2, "quasi": {"sex": {"kind": "categorical"}, "zip": {"kind": "digits"}}})
    frame = pl.DataFrame({"sex": ["f", "f", "m", "m"], "zip": ["017", "027", "119", "129"]})
    table = encode(read(frame), schema)
    partition = run(Incognito(), table, Requirement.of(schema, table))
    assert partition.facts["levels"] == {"sex": 0, "zip": [0, 1, 0]}


# Kernels


@pytest.mark.parametrize("compiled", [True, False])
def test_equal_keys_are_numbered_alike(compiled: bool) -> None:
    number = lattice.number if compiled else lattice.number.py_func  # type: ignore[attr-defined]
    rng = np.random.default_rng(1)
    for slots in (rng.integers(0, 64, 20), np.full(20, 63)):
        keys = rng.integers(0, 9, 20)
        numbers = np.empty(20, np.int64)
        n_numbers = number(keys, slots[keys], np.full(64, -1), numbers)
        order = list(dict.fromkeys(keys.tolist()))
        assert numbers.tolist() == [order.index(key) for key in keys]
        assert n_numbers == len(order)


def test_keys_of_more_than_64_bits() -> None:
    rng = np.random.default_rng(1)
    columns = [rng.choice([0, 7, 2**31 - 1], 200).astype(np.int32) for _ in range(5)]
    numbers, n_numbers = module._number(columns)
    lines = list(zip(*(column.tolist() for column in columns), strict=True))
    order = list(dict.fromkeys(lines))
    assert numbers.tolist() == [order.index(line) for line in lines]
    assert n_numbers == len(order)


@pytest.mark.parametrize("compiled", [True, False])
def test_sorting_by_number(compiled: bool) -> None:
    sort_by = lattice.sort_by if compiled else lattice.sort_by.py_func  # type: ignore[attr-defined]
    numbers = np.random.default_rng(1).integers(0, 6, 50)
    starts, order = np.bincount(numbers, minlength=7), np.empty(50, np.int64)
    sort_by(numbers, starts, order)
    assert order.tolist() == np.argsort(numbers, kind="stable").tolist()
    assert starts.tolist() == np.searchsorted(np.sort(numbers), range(7)).tolist()


@pytest.mark.parametrize("compiled", [True, False])
def test_checking_classes(compiled: bool) -> None:
    check = lattice.check if compiled else lattice.check.py_func  # type: ignore[attr-defined]
    asked = {"ill": {"distance": "equal", "t": 0.5, "l": {"entropy": 2}}}
    schema = Schema.from_dict({"k": 1, "quasi": {"q": {"kind": "categorical"}}, "sensitive": asked})
    table = encode(read(pl.DataFrame({"q": ["x"] * 6, "ill": ["a", "a", "b", "b", "a", "c"]})), schema)
    requirement = Requirement.of(schema, table)
    # Groups aa, bb, ac; classes {aa, bb} (entropy exactly 2), {ac} (also), and then {aa} alone.
    codes, begins = table.codes[0][:, None].copy(), np.array([0, 2, 4, 6])
    grouped = lattice.GroupedCodes(codes=codes, begins=begins)
    groups, classes = np.array([0, 1, 2, 0]), np.array([0, 2, 3, 4])
    rest = rules_of(requirement), scratch_of(requirement), np.empty_like(codes)
    assert check(grouped, groups, classes, 0, 100, *rest) == (0, ASK)
    assert check(grouped, groups, classes, 1, 100, *rest) == (1, ASK)
    assert check(grouped, groups, classes, 2, 100, *rest) == (2, NO)
    mixed = np.array([0, 1, 2, 0, 1, 2])
    assert check(grouped, mixed, np.array([0, 3, 6]), 0, 100, *rest) == (2, YES)
    assert check(grouped, mixed, np.array([0, 3, 6]), 0, 5, *rest) == (1, YES)
