"""Joints: in the schema, through every method, in what is told, and what is refused."""

from __future__ import annotations

import json
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms import REGISTRY, find
from tclose.algorithms.requirement import Requirement
from tclose.errors import InfeasibleError, SchemaError, SizeError, TableError, VerificationError
from tclose.schema.columns import Joint
from tclose.schema.schema import Schema
from tclose.table import joint_codes
from tclose.table.encode import encode
from tclose.table.source import Source, read
from tclose.verification.judge_release import check_release
from tclose.verification.measure_release import measure
from tests.oracles.joint import joint_distance
from tests.strategies import run

LUNG = {"lung": ["flu", "cold"], "skin": ["rash"]}
SPECS: list[dict[str, Any]] = [
    {"distance": "hierarchical", "paths": [("flu", "lung", "*"), ("cold", "lung", "*"), ("rash", "skin", "*")]},
    {"distance": "ordered", "order": ["0", "1", "2", "3"]},
]
MATRIX: dict[str, Any] = {"values": ["flu", "cold", "rash"], "costs": [[0, "1/3", 0.9], ["1/3", 0, 1], [0.9, 1, 0]]}


def keys(**changes: Any) -> dict[str, Any]:
    """A schema with a joint of two, changed."""
    sensitive = {
        "ill": {"distance": "hierarchical", "hierarchy": LUNG},
        "days": {"distance": "ordered", "order": ["0", "1", "2", "3"]},
    }
    quasi = {"age": {"kind": "numeric", "hierarchy": {"build": "intervals", "widths": [5, 10, 30]}}}
    joint = {"stay": {"columns": ["ill", "days"], "t": 0.25}}
    return {"k": 3, "quasi": quasi, "sensitive": sensitive, "joint": joint} | changes


def patients(n: int = 150, seed: int = 1) -> pl.DataFrame:
    """The ill stay longer the older they are, by the disease they have."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, n)
    ill = rng.choice(["flu", "cold", "rash"], n, p=[0.5, 0.3, 0.2])
    days = np.clip(rng.integers(0, 3, n) + (ill == "flu") * (age > 60), 0, 3)
    return pl.DataFrame({"age": age, "ill": ill, "days": days.astype(str)})


# The schema


def test_round_trip(tmp_path: Path) -> None:
    schema = Schema.from_dict(keys(joint={"a b.c": {"columns": ["days", "ill"], "t": "1/3"}}))
    assert schema.joint == (Joint("a b.c", ("days", "ill"), Fraction(1, 3)),)
    assert Schema.from_dict(tomllib.loads(schema.to_toml())).joint == schema.joint
    assert schema.as_dict()["joint"] == {"a b.c": {"columns": ["days", "ill"], "t": "1/3"}}
    short = Schema.from_dict(keys())
    assert short.as_dict()["joint"] == {"stay": {"columns": ["ill", "days"], "t": Decimal("0.25")}}
    short.save(tmp_path / "schema.toml")
    assert Schema.load(tmp_path / "schema.toml").joint == short.joint
    assert "joint" not in Schema.from_dict(keys(joint={})).as_dict()


def joint(**changes: Any) -> dict[str, Any]:
    return keys(joint={"stay": {"columns": ["ill", "days"], "t": 0.25} | changes})


WRONG: list[tuple[str, dict[str, Any], list[str]]] = [
    ("one column", joint(columns=["ill"]), ["[joint.stay]", "two sensitive attributes or more"]),
    ("no column", joint(columns=[]), ["[joint.stay]", "two sensitive attributes or more"]),
    ("a column twice", joint(columns=["ill", "days", "ill"]), ["[joint.stay]", "names a column twice"]),
    ("an unknown column", joint(columns=["ill", "dayz"]), ["[joint.stay]", "'dayz'", "[sensitive.dayz]"]),
    ("a quasi-identifier", joint(columns=["ill", "age"]), ["[joint.stay]", "'age'", "not a sensitive attribute"]),
    ("columns as a text", joint(columns="ill"), ["[joint.stay]", "columns is required: a list"]),
    ("columns of numbers", joint(columns=[1, 2]), ["[joint.stay]", "columns is required: a list"]),
    ("t above 1", joint(t=1.5), ["[joint.stay]", "t must be from 0 to 1, and is 1.5"]),
    ("t a text", joint(t="low"), ["[joint.stay]", "t must be a number"]),
    ("an unknown key", joint(l=3), ["[joint.stay]", "unknown key 'l'", "columns, t"]),
    ("no t", keys(joint={"stay": {"columns": ["ill", "days"]}}), ["[joint.stay]", "t is required"]),
    ("no table", keys(joint={"stay": 3}), ["[joint.stay] must be a table"]),
    ("no tables", keys(joint=3), ["joint must be tables", "[joint.NAME]"]),
    ("a sensitive column's name", keys(joint={"ill": joint()["joint"]["stay"]}), ["[joint.ill]", "Rename it"]),
    ("a quasi-identifier's name", keys(joint={"age": joint()["joint"]["stay"]}), ["[joint.age]", "Rename it"]),
    ("a kept column's name", keys(keep=["x"], joint={"x": joint()["joint"]["stay"]}), ["[joint.x]", "Rename it"]),
    (
        "a released column's name",
        keys(quasi={"age": {"kind": "numeric", "publish": "bounds"}}, joint={"age_low": joint()["joint"]["stay"]}),
        ["[joint.age_low]", "Rename it"],
    ),
]


@pytest.mark.parametrize(("given", "said"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_is_wrong_is_said(given: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(SchemaError) as error:
        Schema.from_dict(given)
    assert all(text in str(error.value) for text in said), str(error.value)


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(SchemaError, match="several problems") as error:
        Schema.from_dict(keys(joint={"a": {"columns": ["ill"], "t": 0.1}, "days": {"columns": ["ill", "no"], "t": 1}}))
    assert all(text in str(error.value) for text in ("[joint.a]", "[joint.days]: a column", "'no'"))


def test_a_column_in_a_joint_needs_nothing_else_and_others_do() -> None:
    frame = patients()
    assert Schema.from_dict(keys()).unprotected == ()
    tclose.anonymize(frame, Schema.from_dict(keys()), method="mondrian", allow_single_class=True)
    lone = keys(sensitive=keys()["sensitive"] | {"ward": {"distance": "equal"}})
    with pytest.raises(SchemaError, match=r"\[sensitive.ward\] asks none of t, l, rise and beta"):
        tclose.anonymize(frame, Schema.from_dict(lone), method="mondrian")


def test_keywords_may_have_joints() -> None:
    asked = {"stay": {"columns": ["ill", "days"], "t": 0.4}}
    with pytest.warns(UserWarning, match="Inferred"):
        release = tclose.anonymize(
            patients(), quasi=["age"], sensitive={"ill": {}, "days": 0.5}, joint=asked, k=3, method="mondrian"
        )
    assert release.measured.t["stay"] <= Fraction(2, 5)


# Codes


def test_combinations_that_occur_are_the_domain() -> None:
    frame = pl.DataFrame({"age": range(4), "ill": ["flu", "rash", "flu", "rash"], "days": ["0", "3", "0", "1"]})
    table = encode(read(frame), Schema.from_dict(keys()))
    both = table.domains[2]
    assert (both.column, both.size, both.missing) == ("stay", 3, False)
    assert table.codes[2].tolist() == [0, 2, 0, 1]
    requirement = Requirement.of(Schema.from_dict(keys()), table)
    assert [attribute.t for attribute in requirement.attributes] == [None, None, Fraction(1, 4)]
    assert requirement.attributes[2].reference.tolist() == [2, 1, 1]


def test_missing_values_follow_their_columns() -> None:
    """One is at distance 1 from all diseases, the other comes after the longest stay."""
    frame = pl.DataFrame({"age": range(3), "ill": ["flu", None, "flu"], "days": ["0", "0", None]})
    table = encode(read(frame), Schema.from_dict(keys(missing="category")))
    form = table.domains[2].form
    assert isinstance(form, tclose.distances.Transport)
    places = table.codes[2]
    ground = form.costs[np.ix_(places, places)]
    assert [Fraction(int(cost), form.denominator) for cost in ground[0]] == [0, Fraction(1, 2), Fraction(1, 2)]
    assert Fraction(int(ground[1, 2]), form.denominator) == 1
    with pytest.raises(TableError, match="missing values"):
        encode(read(frame), Schema.from_dict(keys()))


def many(n: int) -> tuple[pl.DataFrame, Schema]:
    """As many combinations as rows."""
    frame = pl.DataFrame({"age": [1] * n, "a": range(n), "b": [row // 2 for row in range(n)]})
    sensitive = {name: {"distance": "ordered"} for name in ("a", "b")}
    given = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": sensitive}
    return frame, Schema.from_dict(given | {"joint": {"ab": {"columns": ["a", "b"], "t": 0.5}}})


def test_too_many_combinations_are_refused() -> None:
    said = (
        rf"\[joint.ab\]: 'a', 'b' have {joint_codes.MOST + 1} combinations in this table, and a joint is decided "
        rf"exactly for at most {joint_codes.MOST}\. Bin .* fewer columns\."
    )
    frame, schema = many(joint_codes.MOST + 1)
    with pytest.raises(TableError, match=said):
        tclose.anonymize(frame, schema)
    for action in (tclose.assess, lambda frame, schema: measure(Source.of(frame), schema)):
        with pytest.raises(SizeError, match=rf"\[joint.ab\]: more than {joint_codes.MOST} combinations"):
            action(frame, schema)
    frame, schema = many(joint_codes.MOST)
    assert encode(read(frame), schema).domains[2].size == joint_codes.MOST


def test_distances_without_a_common_denominator_are_refused() -> None:
    frame = pl.DataFrame({"age": [1, 1], "a": [0, 2**31 - 1], "b": [0, 2**29 - 3]})
    given = keys(
        k=2,
        quasi={"age": {"kind": "numeric"}},
        sensitive={name: {"distance": "numeric"} for name in ("a", "b")},
        joint={"ab": {"columns": ["a", "b"], "t": 0.5}},
    )
    with pytest.raises(TableError, match=r"\[joint.ab\].*too long for exact arithmetic together.*Round them"):
        tclose.anonymize(frame, Schema.from_dict(given))
    assert tclose.assess(frame, Schema.from_dict(given)).t["ab"] == 0  # the verifier takes integers of any length


# Methods


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize("name", [name for name in REGISTRY if "generalize" in REGISTRY[name].capabilities.recodings])
@pytest.mark.parametrize("t", ["0.4", "0.15"])
def test_every_method_keeps_a_joint(name: str, t: str) -> None:
    method = find(name, {"effort": "fast"} if name == "tight" else {})
    schema = Schema.from_dict(keys(joint={"stay": {"columns": ["ill", "days"], "t": t}}))
    frame = patients(14 if method.capabilities.small_only else 150)
    if "joint" not in method.capabilities.distances:
        with pytest.raises(SchemaError, match=f"'{name}' does not know joints \\('stay'\\)"):
            tclose.anonymize(frame, schema, method=method)
        return
    release = tclose.anonymize(frame, schema, method=method, seed=1, allow_single_class=True)
    table = [(ill, days) for _, ill, days in frame.iter_rows()]
    found = []
    for label in np.unique(release.classes):
        members = [table[row] for row in np.flatnonzero(release.classes == label)]
        found.append(joint_distance(members, table, SPECS))
    assert max(found) == release.measured.t["stay"] <= Fraction(t)
    assert release.measured.classes > 1 or name in ("incognito", "sabre-knn", "sabre-ak")


GENERALIZING = [name for name in REGISTRY if "generalize" in REGISTRY[name].capabilities.recodings]


@pytest.mark.parametrize("name", [name for name in GENERALIZING if "joint" in REGISTRY[name].capabilities.distances])
def test_every_method_keeps_a_joint_with_a_matrix(name: str) -> None:
    method = find(name, {"effort": "fast"} if name == "tight" else {})
    sensitive = keys()["sensitive"] | {"ill": {"distance": "matrix", "matrix": MATRIX, "t": 0.4}}
    schema = Schema.from_dict(keys(sensitive=sensitive))
    frame = patients(14 if method.capabilities.small_only else 150)
    release = tclose.anonymize(frame, schema, method=method, seed=1, allow_single_class=True)
    table = [(ill, days) for _, ill, days in frame.iter_rows()]
    costs = {
        (a, b): Fraction(str(cost)) for a, row in zip(MATRIX["values"], MATRIX["costs"], strict=True)
        for b, cost in zip(MATRIX["values"], row, strict=True)
    }  # fmt: skip
    specs = [{"distance": "matrix", "costs": costs}, SPECS[1]]
    found, alone = [], []
    for label in np.unique(release.classes):
        members = [table[row] for row in np.flatnonzero(release.classes == label)]
        found.append(joint_distance(members, table, specs))
        alone.append(joint_distance([row[:1] for row in members], [row[:1] for row in table], specs[:1]))
    assert max(found) == release.measured.t["stay"] <= Fraction(1, 4)
    assert max(alone) == release.measured.t["ill"] <= Fraction(2, 5)


def test_a_matrix_too_fine_for_a_joint_is_refused() -> None:
    frame = pl.DataFrame({"age": [1, 1], "ill": ["a", "b"], "days": [0, 2**29 - 3]})
    fine = {"values": ["a", "b", "c"], "costs": [[0, "0.999999999999", 1], ["0.999999999999", 0, 1], [1, 1, 0]]}
    given = keys(
        k=2,
        quasi={"age": {"kind": "numeric"}},
        sensitive={"ill": {"distance": "matrix", "matrix": fine}, "days": {"distance": "numeric"}},
    )
    with pytest.raises(TableError, match=r"\[joint.stay\].*denominators of its matrices.*together.*Round them"):
        tclose.anonymize(frame, Schema.from_dict(given))
    assert tclose.assess(frame, Schema.from_dict(given)).t["stay"] == 0


def test_a_joint_binds_where_its_columns_do_not() -> None:
    """Two columns that are independent in the table and equal in some ages: close in each, far together."""
    ages = np.repeat([20, 70], 40)
    a = np.tile([0, 1], 40)
    b = np.concatenate([np.tile([0, 1], 20), np.tile([1, 0], 20)])
    frame = pl.DataFrame({"age": ages, "a": a, "b": b})
    sensitive = {name: {"distance": "equal", "t": 0} for name in ("a", "b")}
    given = keys(k=5, quasi={"age": {"kind": "numeric"}}, sensitive=sensitive, joint={})
    apart = tclose.anonymize(frame, Schema.from_dict(given), method="mondrian")
    assert apart.measured.t == {"a": 0, "b": 0}
    assert apart.measured.classes == 2
    given["joint"] = {"ab": {"columns": ["a", "b"], "t": 0.2}}
    assert tclose.assess(frame, Schema.from_dict(given)).t == {"a": 0, "b": 0, "ab": Fraction(1, 4)}
    with pytest.raises(VerificationError, match=r"t of 'ab': .* 1/4 = 0\.25 .* t is 1/5"):
        check_release(Source.of(apart.aligned()), Schema.from_dict(given))
    with pytest.raises(InfeasibleError, match="What binds is the requirement on 'ab'"):
        tclose.anonymize(frame, Schema.from_dict(given), method="mondrian")


def test_sabre_may_take_a_joint_first() -> None:
    schema = Schema.from_dict(keys(sensitive=keys()["sensitive"] | {"days": {"distance": "ordered", "t": 0.5}}))
    release = tclose.anonymize(patients(), schema, method=find("sabre-ak", {"first": "stay"}), seed=1)
    assert release.measured.t["stay"] <= Fraction(1, 4)
    with pytest.raises(SchemaError, match="Allowed: 'days', 'stay'"):
        tclose.anonymize(patients(), schema, method=find("sabre-ak", {"first": "ill"}))


# What is told


def test_certificate_and_command_line(tmp_path: Path) -> None:
    data, schema, release = (tmp_path / name for name in ("data.csv", "schema.toml", "release.csv"))
    patients().write_csv(data)
    Schema.from_dict(keys()).save(schema)
    asked = ("anonymize", data, "-s", schema, "-o", release, "--method", "mondrian", "--json")
    told = json.loads(run(*asked).out)
    assert Fraction(told["t"]["stay"]["exact"]) <= Fraction(1, 4)
    assert told["t"]["stay"]["value"] == float(Fraction(told["t"]["stay"]["exact"]))
    told = json.loads(run(*asked, "--t", "stay=0.4").out)
    assert Fraction(1, 4) < Fraction(told["t"]["stay"]["exact"]) <= Fraction(2, 5)
    certificate = json.loads((tmp_path / "release.csv.certificate.json").read_text())
    assert certificate["required"]["t"] == {"stay": {"exact": "2/5", "value": 0.4}}
    assert certificate["reached"]["t"]["stay"] == told["t"]["stay"]
    assert certificate["joint"]["stay"]["columns"] == ["ill", "days"]
    assert "the mean of the distances" in certificate["joint"]["stay"]["distance"]
    assert set(certificate["columns"]) == {"age", "ill", "days"}
    outcome = run("verify", release, "-s", schema)
    assert outcome.code == 5
    assert "t of 'stay'" in outcome.err
    loose = Schema.from_dict(keys(joint={"stay": {"columns": ["ill", "days"], "t": 0.4}}))
    loose.save(schema)
    outcome = run("verify", release, "-s", schema)
    assert outcome.code == 0
    assert "stay" in outcome.out
    assert "joint" in outcome.out
    assert run(*asked, "--t", "sta=0.4").code == 2
    assert "Farthest in stay" in run("assess", data, "-s", schema).out
    assert run("assess", data, "-s", schema, "--measures").code == 0


def test_a_changed_file_is_caught(tmp_path: Path) -> None:
    schema = Schema.from_dict(keys())
    release = tclose.anonymize(patients(), schema, method="mondrian", seed=1)
    table = release.aligned()
    check_release(Source.of(table), schema)
    first = table["age"][0]
    swapped = table.with_columns(days=pl.when(pl.col("age") == first).then(pl.lit("3")).otherwise(pl.col("days")))
    with pytest.raises(VerificationError, match="t of 'stay'"):
        check_release(Source.of(swapped), schema)
