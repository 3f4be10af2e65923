"""The key `objective` and what belongs to it: read, written back and refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tclose
from tclose.algorithms import REGISTRY, find
from tclose.algorithms.capable import check_capable
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.stream.engine import Engine


def schema(**keys: Any) -> Schema:
    quasi = {"age": {"kind": "numeric"}}
    ill = {"distance": "equal", "t": 0.5}
    named: dict[str, Any] = {"k": 2, "quasi": quasi, "sensitive": {"ill": ill}, "identifiers": ["name"]}
    return Schema.from_dict(named | {"keep": ["town"], "keep_unchecked": True, "unit": "who"} | keys)


def test_the_loss_is_optimized_if_nothing_is_said() -> None:
    assert schema().objective == "loss"
    assert not {"objective", "workload", "target"} & {*schema().as_dict()}
    assert schema(objective="loss") == schema()


@pytest.mark.parametrize("target", ["ill", "town"])
def test_a_target_comes_back(target: str) -> None:
    made = schema(objective="classify", target=target)
    assert Schema.from_dict(made.as_dict()) == made


def test_a_workload_is_relative_to_the_schema_and_read_by_nobody_but_methods(tmp_path: Path) -> None:
    made = schema(objective="queries", workload=str(tmp_path / "asked" / "queries.csv"))
    made.save(tmp_path / "schema.toml")
    assert 'workload = "asked/queries.csv"' in (tmp_path / "schema.toml").read_text()
    loaded = Schema.load(tmp_path / "schema.toml")  # the file is not there
    assert loaded == made
    assert loaded.workload == str(tmp_path / "asked" / "queries.csv")


def test_patterns_are_looked_at_when_the_columns_are_known() -> None:
    made = schema(objective="classify", target="lab_2", sensitive={"lab_*": {"distance": "equal", "t": 0.5}})
    assert made.resolve(["name", "who", "town", "age", "lab_1", "lab_2"]).target == "lab_2"
    with pytest.raises(SchemaError, match="'lab_2' is no column of the schema"):
        made.resolve(["name", "who", "town", "age", "lab_1"])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"objective": "speed"}, "objective must be one of loss, queries, classify"),
        ({"objective": 3}, "objective must be a text"),
        ({"objective": "loss", "workload": "a.csv"}, 'only objective = "queries" asks any'),
        ({"objective": "queries", "workload": 5}, "workload must be the name of a file"),
        ({"objective": "queries", "workload": ""}, "workload must be the name of a file"),
        ({"objective": "queries", "target": "ill"}, 'only objective = "classify" predicts one'),
        ({"objective": "classify"}, "needs a column to be predicted"),
        ({"objective": "classify", "target": 5}, "target must be a text"),
        ({"objective": "classify", "target": "age"}, "'age' is a quasi-identifier, which is generalized"),
        ({"objective": "classify", "target": "name"}, "'name' is not released"),
        ({"objective": "classify", "target": "who"}, "'who' is not released"),
        ({"objective": "classify", "target": "zip"}, "'zip' is no column of the schema"),
    ],
)
def test_what_is_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        schema(**keys)


@pytest.mark.parametrize("name", REGISTRY)
def test_a_method_refuses_what_it_does_not_optimize(name: str) -> None:
    method = find(name)
    asked = Schema.from_dict({"k": 2, "recode": "suppress", "quasi": {"sex": {"kind": "categorical"}}})
    for objective in ("queries", "classify"):
        keys: dict[str, Any] = {"objective": objective}
        keys |= {"target": "town", "keep": ("town",)} if objective == "classify" else {}
        if objective in method.capabilities.objectives:
            check_capable(method, replace(asked, **keys))
            continue
        with pytest.raises(SchemaError, match=f"'{name}' does not"):
            check_capable(method, replace(asked, **keys))


def test_methods_that_take_an_objective() -> None:
    assert {name for name in REGISTRY if REGISTRY[name].capabilities.objectives != {"loss"}} == {"tight"}


def test_streams_and_gap_refuse_it() -> None:
    frame, made = tclose.datasets.census(30, seed=1)
    asked = replace(made, objective="queries")
    with pytest.raises(SchemaError, match="`objective` is not for streams"):
        Engine(asked, window=10, step=10)
    with pytest.raises(SchemaError, match="`gap` does not take objective"):
        tclose.gap(frame, asked)
