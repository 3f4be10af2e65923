"""The verifier against the oracle: on releases as they are, and with violations planted in them."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.datasets import hospital
from tclose.errors import VerificationError
from tclose.schema.schema import Schema
from tclose.table import classes
from tclose.table.classes import Classes, Tally
from tclose.table.coded import CodedColumn
from tclose.table.source import read
from tclose.verification.judge_release import check_release
from tests.oracles.diversity import entropy_at_least, recursive_holds
from tests.oracles.release import check_release as by_oracle

PATHS = [
    ("flu", "lung", "*"),
    ("asthma", "lung", "*"),
    ("burn", "skin", "*"),
    ("mild", "rash", "skin", "*"),
    ("bad", "rash", "skin", "*"),
]
NESTED = {"lung": ["flu", "asthma"], "skin": {"burn": [], "rash": ["mild", "bad"]}}
QUASI = ("age", "job")


def random_release(rng: random.Random) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Rows in a few classes, drawn so that classes are alike, and what they may be promised."""
    rows = []
    missing = rng.random() < 0.3
    for label in range(rng.randint(1, 6)):
        for _ in range(rng.randint(2, 12)):
            ill = rng.choice(["flu", "flu", "asthma", "burn", "mild", "bad"])
            rows.append(
                {
                    "age": f"[{label * 10}, {label * 10 + 9}]",
                    "job": rng.choice("*x") if label == 0 else "*",
                    "ill": "" if missing and rng.random() < 0.1 else ill,
                    "pay": str(rng.choice([1, 2, 2.5, 4, 10])),
                    "visits": "" if missing and rng.random() < 0.1 else str(rng.randint(0, 4)),
                }
            )
    rng.shuffle(rows)
    spec: dict[str, Any] = {
        "ill": {"distance": "hierarchical", "paths": PATHS},
        "pay": {"distance": "numeric"},
        "visits": {"distance": rng.choice(["ordered", "equal"])},
    }
    return rows, spec


def schema_for(spec: dict[str, Any], reached: Any, tighten: str | None = None) -> Schema:
    """A schema that promises exactly what was reached, or a hair more than that of one thing."""
    sensitive: dict[str, Any] = {}
    for name, keys in spec.items():
        t = reached["t"][name]
        if name == tighten:
            t = max(t - Fraction(1, 10**6), Fraction(0)) if t else Fraction(0)
        sensitive[name] = {"distance": keys["distance"], "t": t}
    sensitive["ill"]["hierarchy"] = NESTED
    return Schema.from_dict(
        {
            "k": reached["k"] + (tighten == "k"),
            "missing": "category",
            "quasi": {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}},
            "sensitive": sensitive,
        }
    )


def plant(rows: list[dict[str, str]], rng: random.Random) -> list[dict[str, str]]:
    """Move a row to another class, change a sensitive value, or take a row out."""
    rows = [dict(row) for row in rows]
    row = rng.choice(rows)
    other = rng.choice(rows)
    kind = rng.randrange(4)
    if kind == 0:
        row.update({name: other[name] for name in QUASI})
    elif kind == 1:
        name = rng.choice(["ill", "pay", "visits"])
        row[name], other[name] = other[name], row[name]
    elif kind == 2:
        row["age"] = "[0, 99]"
    elif len(rows) > 2:
        rows.remove(row)
    return rows


def verdict(rows: list[dict[str, str]], schema: Schema) -> bool:
    try:
        check_release(read(pl.DataFrame(rows)), schema)
    except VerificationError:
        return False
    return True


@pytest.mark.parametrize(
    "n_tables",
    [
        30,
        pytest.param(100, marks=pytest.mark.slow),
        pytest.param(500, marks=[pytest.mark.slow, pytest.mark.campaign]),
    ],
)
def test_agrees_with_the_oracle_on_planted_violations(n_tables: int) -> None:
    """In all 2,000 mutants and as many thresholds that are missed by little."""
    rng = random.Random(n_tables)
    broken = 0
    for _ in range(n_tables):
        rows, spec = random_release(rng)
        reached = by_oracle(rows, list(QUASI), spec)
        schema = schema_for(spec, reached)
        measured = check_release(read(pl.DataFrame(rows)), schema)
        assert (measured.k, measured.classes, measured.t) == (reached["k"], reached["classes"], reached["t"])
        for name, asked in reached["l"].items():
            found = measured.l[name]
            assert (found.distinct, found.frequency) == (asked["distinct"], asked["frequency"])
            assert found.entropy == pytest.approx(asked["entropy"], rel=1e-12)
        for thing in ("k", "ill", "pay", "visits"):
            if thing == "k" or reached["t"][thing]:
                assert not verdict(rows, schema_for(spec, reached, thing))
                broken += 1
        for _ in range(4):
            mutant = plant(rows, rng)
            after = by_oracle(mutant, list(QUASI), spec)
            keeps = after["k"] >= reached["k"] and all(after["t"][name] <= reached["t"][name] for name in spec)
            assert verdict(mutant, schema) == keeps
            broken += not keeps
    assert broken > 4 * n_tables


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_diversity_is_decided_exactly(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        counts = [rng.randint(0, 5) for _ in range(rng.randint(1, 5))]
        if not sum(counts):
            continue
        rows = [{"age": "1", "ill": str(value)} for value, count in enumerate(counts) for _ in range(count)]
        size, most = sum(counts), max(counts)
        bound = Fraction(rng.randint(2, 10), 2)
        place = rng.randint(1, 3)
        expected = {
            "distinct": sum(map(bool, counts)) >= place,
            "frequency": Fraction(size, most) >= bound,
            "entropy": entropy_at_least(counts, bound),
            "recursive": recursive_holds(counts, bound, place),
        }
        asked = {
            "distinct": place,
            "frequency": str(bound),
            "entropy": str(bound),
            "recursive": {"c": str(bound), "l": place},
        }
        for name, holds in expected.items():
            schema = Schema.from_dict(
                {
                    "k": 1,
                    "quasi": {"age": {"kind": "numeric"}},
                    "sensitive": {"ill": {"distance": "equal", "l": {name: asked[name]}}},
                }
            )
            assert verdict(rows, schema) == holds, (name, counts, asked[name])


def small_schema(**keys: Any) -> Schema:
    base = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    return Schema.from_dict({**base, **keys})


def test_columns_that_must_never_be_released_are_caught() -> None:
    frame = pl.DataFrame({"age": ["1", "1"], "ill": ["a", "b"], "name": ["x", "y"]})
    with pytest.raises(VerificationError, match="'name'"):
        check_release(read(frame), small_schema(identifiers=["name"]))
    with pytest.raises(VerificationError, match="'name'"):
        check_release(read(frame), small_schema(unit="name"))
    with pytest.raises(VerificationError, match="'name' is not part of the release"):
        check_release(read(frame), small_schema())
    with pytest.raises(VerificationError, match="'ill' is part of the release and not in the table"):
        check_release(read(frame.select("age")), small_schema())


def test_kept_columns_must_leave_groups_of_k() -> None:
    frame = pl.DataFrame({"age": ["1"] * 4, "ill": ["a", "b"] * 2, "region": ["n", "n", "n", "s"]})
    with pytest.raises(VerificationError, match="group of 1 row, and k is 2"):
        check_release(read(frame), small_schema(keep=["region"]))
    assert check_release(read(frame), small_schema(keep=["region"], keep_unchecked=True)).k == 4


@pytest.mark.parametrize("policy", [None, "drop", "error"])
def test_missing_values_need_the_policy_that_allows_them(policy: str | None) -> None:
    frame = pl.DataFrame({"age": ["1", None], "ill": ["a", "b"]})
    with pytest.raises(VerificationError, match="'age': 1 row has no value"):
        check_release(read(frame), small_schema(**({"missing": policy} if policy else {})))
    assert check_release(read(frame), small_schema(k=1, missing="category")).classes == 2


def test_many_values_in_a_large_domain_are_ordinary() -> None:
    n = 200_000
    frame = pl.DataFrame({"age": ["1", "2"] * (n // 2), "ill": range(n)})
    schema = small_schema(sensitive={"ill": {"distance": "ordered", "t": 1}})
    assert check_release(read(frame), schema).t["ill"] == Fraction(1, 2 * (n - 1))


def test_the_order_of_values_does_not_show_in_the_last_bit() -> None:
    """Floats spell differently in a frame and in a file, and so sort differently."""
    values = [9.0, 1e15, 5.5, 1.0, 1e-7, 5.5, 9.0, 1e-7, 1.0, 5.5, 5.5, 9.0, 9.0, 1.0, 1e15, 1.0, 1.0]
    frames = [
        pl.DataFrame({"age": ["1"] * 17, "ill": pl.Series(values).cast(kind)}) for kind in (pl.Float64, pl.String)
    ]
    found = [check_release(read(frame), small_schema()).as_dict() for frame in frames]
    assert found[0] == found[1]


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_some_classes_at_a_time_measure_as_all_at_once(distance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = hospital(3_000, seed=1)
    keys = schema.as_dict()
    keys["sensitive"]["diagnosis"] |= {"distance": distance, "order": None}
    if distance != "hierarchical":
        tree = keys["sensitive"]["diagnosis"].pop("hierarchy")
        leaves = [leaf for chapter in tree.values() for group in chapter.values() for leaf in group]
        keys["sensitive"]["diagnosis"]["order"] = leaves if distance == "ordered" else None
    keys["sensitive"]["diagnosis"] = {key: v for key, v in keys["sensitive"]["diagnosis"].items() if v is not None}
    schema = Schema.from_dict(keys)
    whole = tclose.assess(frame, schema)
    monkeypatch.setattr(classes, "ENTRIES", 7)
    pieces = tclose.assess(frame, schema)
    assert pieces.as_dict() == whole.as_dict()


@pytest.mark.parametrize("most", [2**62, 1_000])
def test_classes_of_more_combinations_than_a_number_can_count(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "MOST", most)
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"column {place}": rng.integers(0, 200, 300) for place in range(12)})
    frame = pl.concat([frame, frame[:100]])
    grouped = Classes.of(400, (CodedColumn.of(column) for column in frame))
    assert len(grouped) == frame.n_unique() == 300
    assert grouped.labels[300:].tolist() == grouped.labels[:100].tolist()
    assert np.bincount(grouped.labels).tolist() == grouped.sizes.tolist()
    tally = Tally.of(grouped.keys, np.arange(400, dtype=np.int32), 400)
    assert sorted(tally.code.tolist()) == list(range(400))
    assert sorted(np.diff(tally.start, append=400).tolist()) == sorted(grouped.sizes.tolist())
    assert tally.sizes.tolist() == grouped.sizes.tolist()
