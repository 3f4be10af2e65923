"""Patterns: a role and keys for many columns, by rules that do not depend on the order they are written in."""

from __future__ import annotations

import fnmatch
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.cli.main import main
from tclose.errors import SchemaError, TableError
from tclose.schema.changes import with_t
from tclose.schema.name_patterns import matches
from tclose.schema.schema import Schema

EQUAL = {"distance": "equal", "t": 0.2}
NUMERIC = {"kind": "numeric"}


def schema(**keys: Any) -> Schema:
    return Schema.from_dict({"k": 2, "quasi": {"age": NUMERIC}, **keys})


def test_a_pattern_matches_as_in_file_names() -> None:
    rng = random.Random(3)
    for _ in range(3000):
        pattern, name = ("".join(rng.choices("ab*", k=rng.randrange(5))) for _ in "xy")
        assert matches(pattern, name) == fnmatch.fnmatchcase(name, pattern), (pattern, name)
    assert matches("a.*", "a.b")
    assert not matches("a.*", "axb")
    assert not matches("[ab]*", "a1")
    assert matches("[ab]*", "[ab]1")
    assert matches("a*b", "a\nb")


def test_roles_and_tables_of_patterns_become_columns() -> None:
    given = schema(
        roles={"lab_*": "sensitive", "*": "identifier", "region*": "keep"},
        sensitive={"lab_*": EQUAL, "lab_x*": {"distance": "ordered", "t": 0.1}},
    )
    found = given.resolve(["name", "age", "lab_2", "lab_x1", "region", "lab_1"])
    assert found.identifiers == ("name",)
    assert found.keep == ("region",)
    assert [(each.column, each.distance) for each in found.sensitive] == [
        ("lab_2", "equal"), ("lab_1", "equal"), ("lab_x1", "ordered"),
    ]  # fmt: skip
    assert not found.has_patterns
    assert found.resolve(["anything"]) is found


def test_a_named_column_wins_over_every_pattern() -> None:
    given = schema(
        roles={"lab_*": "sensitive", "*": "keep"}, identifiers=["lab_name"], unit="lab_patient",
        sensitive={"lab_*": EQUAL, "lab_7": {"distance": "ordered", "t": 0.1}},
    )  # fmt: skip
    found = given.resolve(["age", "lab_name", "lab_patient", "lab_7", "lab_8"])
    assert found.identifiers == ("lab_name",)
    assert found.keep == ()
    assert {each.column: each.distance for each in found.sensitive} == {"lab_8": "equal", "lab_7": "ordered"}


def test_a_table_for_a_pattern_gives_the_role_too() -> None:
    found = schema(quasi={"q_*": NUMERIC}, sensitive={"*": EQUAL}).resolve(["q_1", "ill", "q_2"])
    assert [each.column for each in found.quasi] == ["q_1", "q_2"]
    assert [each.column for each in found.sensitive] == ["ill"]


def test_a_name_in_roles_takes_the_keys_of_a_pattern() -> None:
    given = schema(roles={"lab_1": "sensitive", "lab_*": "identifier"}, sensitive={"lab*": EQUAL})
    found = given.resolve(["age", "lab_1", "lab_2"])
    assert [each.column for each in found.sensitive] == ["lab_1"]
    assert found.identifiers == ("lab_2",)


def test_nothing_depends_on_the_order_written() -> None:
    roles = {"a*": "identifier", "ab*": "keep", "*": "sensitive", "*b*c": "identifier"}
    columns = ["age", "x", "a1", "ab1", "zb1c"]
    found = {
        frozenset(schema(roles=dict(order), sensitive={"*": EQUAL}).resolve(columns).columns.items())
        for order in permutations(roles.items())
    }
    assert found == {
        frozenset({"age": "quasi", "x": "sensitive", "a1": "identifier", "ab1": "keep", "zb1c": "identifier"}.items())
    }


@pytest.mark.parametrize(
    ("keys", "columns", "said"),
    [
        ({"roles": {"a*": "keep", "*1": "identifier"}}, ["age", "a1"], "'a1' matches 'a*' and '*1'"),
        ({"sensitive": {"a*": EQUAL, "*1": EQUAL}}, ["age", "a1"], "Name the column"),
        ({"roles": {"a1": "sensitive"}, "sensitive": {"a*": EQUAL, "*1": EQUAL}}, ["age", "a1"], "'a*' and '*1'"),
        ({"roles": {"a*": "sensitive"}}, ["age", "a1"], "nothing gives its keys"),
        ({"sensitive": {"lab*": EQUAL}}, ["age", "a1"], "'lab*' (sensitive) matches no column"),
        ({"roles": {"lab*": "quasi"}}, ["age"], "'lab*' (quasi) matches no column"),
    ],
)
def test_what_is_not_clear_is_refused(keys: dict[str, Any], columns: list[str], said: str) -> None:
    with pytest.raises(SchemaError) as caught:
        schema(**keys).resolve(columns)
    assert said in str(caught.value)


def test_patterns_that_agree_may_be_equally_exact() -> None:
    assert schema(roles={"a*": "identifier", "*1": "identifier"}).resolve(["age", "a1"]).identifiers == ("a1",)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"roles": {"a*": "secret"}}, "must be one of quasi, sensitive, identifier, keep"),
        ({"roles": ["a*"]}, "roles must be a table"),
        ({"roles": {"a*": 3}}, "roles must be a table"),
        ({"roles": {"age": "keep"}}, "'age' is named under both quasi and roles"),
        ({"roles": {"x": "keep"}, "identifiers": ["x"]}, "'x' is named under both identifiers and roles"),
        ({"quasi": {"a*": NUMERIC}, "sensitive": {"a*": EQUAL}}, "named under both quasi and sensitive"),
    ],
)
def test_wrong_roles_are_found_without_a_table(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError) as caught:
        schema(**keys)
    assert said in str(caught.value)


def test_a_star_in_a_name_is_a_pattern_that_matches_itself() -> None:
    given = schema(quasi={"a*b": NUMERIC}, identifiers=["aXb"], roles={"*a*b": "keep"})
    found = given.resolve(["a*b", "aXb", "1ab"])
    assert found.columns == {"aXb": "identifier", "1ab": "keep", "a*b": "quasi"}
    assert found.resolve(["a*b", "aXb", "1ab"]) == found  # the same table again


def test_roles_go_to_toml_and_back(tmp_path: Path) -> None:
    given = schema(roles={"lab_*": "sensitive", "*": "identifier"}, sensitive={"lab_*": EQUAL})
    given.save(tmp_path / "schema.toml")
    assert Schema.load(tmp_path / "schema.toml") == given
    columns = ["age", "lab_1", "name"]
    assert given.resolve(columns).as_dict()["identifiers"] == ["name"]
    assert "roles" not in given.resolve(columns).as_dict()


def test_t_of_one_of_many() -> None:
    given = schema(sensitive={"lab_*": EQUAL})
    found = with_t(given, "0.05", "lab_3").resolve(["age", "lab_1", "lab_3"])
    assert {each.column: float(each.t or 0) for each in found.sensitive} == {"lab_1": 0.2, "lab_3": 0.05}
    assert {float(s.t or 0) for s in with_t(given, "0.05", "lab_*").resolve(["age", "lab_1", "lab_3"]).sensitive} == {
        0.05
    }
    with pytest.raises(SchemaError, match="no sensitive attribute"):
        with_t(given, "0.05", "other")


# From a table to a release, and back


def labs(n: int = 80) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "name": [f"P{row}" for row in range(n)],
            "q_age": rng.integers(20, 60, n),
            "q_size": rng.integers(150, 190, n),
            **{f"lab_{number}": rng.choice(["low", "high"], n) for number in range(3)},
        }
    )


def keys(**more: Any) -> dict[str, Any]:
    return {
        "k": 4, "roles": {"*": "identifier"}, "quasi": {"q_*": {"kind": "numeric", "step": 5, **more}},
        "sensitive": {"lab_*": {"distance": "equal", "t": 0.4}},
    }  # fmt: skip


@pytest.mark.parametrize("publish", ["interval", "bounds"])
def test_a_release_by_patterns_is_that_of_named_columns(publish: str, tmp_path: Path) -> None:
    by_pattern = tclose.anonymize(labs(), keys(publish=publish), seed=1)
    named = Schema.from_dict(keys(publish=publish)).resolve(labs().columns)
    by_name = tclose.anonymize(labs(), named, seed=1)
    assert by_pattern.aligned().equals(by_name.aligned())
    assert by_pattern.certificate.as_dict() == by_name.certificate.as_dict()
    assert set(by_pattern.certificate["columns"]) == {"q_age", "q_size", "lab_0", "lab_1", "lab_2"}
    by_pattern.write(tmp_path / "release.csv")
    verdict = tclose.verify(tmp_path / "release.csv", keys(publish=publish))
    assert verdict.holds
    assert verdict.certificate
    assert tclose.verify(by_pattern.aligned(), keys(publish=publish), original=labs()).holds
    assert tclose.assess(by_pattern.table, keys(publish=publish)).k == by_pattern.measured.k


def test_verify_finds_what_a_pattern_forbids() -> None:
    release = tclose.anonymize(labs(), keys(), seed=1)
    leaking = release.table.with_columns(name=pl.Series(labs()["name"]))
    assert any("'name' is an identifier" in problem for problem in tclose.verify(leaking, keys()).problems)
    without = release.table.drop("lab_0", "lab_1", "lab_2")
    with pytest.raises(SchemaError, match="matches no column"):
        tclose.verify(without, keys())


def test_a_column_that_no_pattern_covers_is_refused() -> None:
    given = keys()
    del given["roles"]
    with pytest.raises(TableError, match="'name'"):
        tclose.anonymize(labs(), given)


def test_every_way_in_takes_patterns() -> None:
    release = tclose.anonymize(labs(), keys(), seed=1)
    assert tclose.utility(labs(), release.aligned(), keys(), aligned=True).classes == release.measured.classes
    assert tclose.attack(labs(), keys(), method="mondrian").after is not None
    assert tclose.compare(labs(), keys(), methods=["mondrian"], t=["0.5"], seed=1)
    assert tclose.assess(labs(), keys()).k == 1


def test_a_stream_refuses_patterns() -> None:
    with pytest.raises(SchemaError, match="Name each, instead of"):
        tclose.stream.Engine(Schema.from_dict(keys()), window=40, step=20)


def test_keywords_take_patterns() -> None:
    with pytest.warns(tclose.InferredSchemaWarning, match="q_age numeric, q_size numeric, lab_0 equal"):
        release = tclose.anonymize(labs(), k=4, quasi=["q_*"], sensitive={"lab_*": 0.4}, roles={"*": "identifier"})
    assert set(release.table.columns) == {"q_age", "q_size", "lab_0", "lab_1", "lab_2"}


def test_the_command_line_takes_patterns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    labs().write_csv("data.csv")
    Schema.from_dict(keys()).save("schema.toml")
    for command in (
        ["anonymize", "data.csv", "-s", "schema.toml", "-o", "release.csv", "--t", "lab_1=0.3"],
        ["verify", "release.csv", "-s", "schema.toml"],
    ):
        monkeypatch.setattr("sys.argv", ["tclose", *command])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    assert "lab_2" in capsys.readouterr().out
