"""Methods beside the optimum: `tclose.gap`, in Python and on the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import tclose
from tclose.algorithms.control import Control
from tclose.algorithms.mondrian.mondrian import Mondrian
from tclose.cli.main import app
from tclose.errors import InfeasibleError, SchemaError, SizeError, VerificationError
from tclose.evaluation.choosing.gap import Gap, MethodGap
from tclose.schema.schema import Schema
from tclose.table.partition import Partition
from tests.oracles.optimal_partition import Problem, optimum_by_subsets
from tests.seeds import for_seeds
from tests.small_tables import small_table


def people(n: int, seed: int = 1, **keys: Any) -> tuple[pl.DataFrame, Schema]:
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(20, 60, n),
        "job": rng.choice(["a", "b", "c"], n),
        "ill": rng.choice(["flu", "cold"], n),
    }
    asked = {
        "k": 2,
        "quasi": {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}},
        "sensitive": {"ill": {"distance": "equal", "t": "0.4"}},
    }
    return pl.DataFrame(columns), Schema.from_dict(asked | keys)


def test_a_method_stands_beside_the_optimum() -> None:
    frame, schema = people(9)
    found = tclose.gap(frame, schema, methods=["mondrian"])
    by_name = {entry.method: entry for entry in found.entries}
    assert list(by_name) == ["exact", "mondrian"], "the least loss first, and what proves the optimum always"
    assert found.is_optimum
    assert found.at_least == pytest.approx(by_name["exact"].loss, abs=1e-15)
    assert found.above(by_name["exact"]) == 0
    assert by_name["mondrian"].loss is not None
    assert found.above(by_name["mondrian"]) == pytest.approx(by_name["mondrian"].loss / found.at_least - 1)
    assert found.cells is None
    assert found.hidden(found.at_least) is None


@for_seeds(12)
def test_the_bound_is_the_optimum(seed: int) -> None:
    """Against trying every partition, from the definitions alone."""
    frame, schema = small_table(seed)
    problem = Problem.of(frame, schema)
    optimum = optimum_by_subsets(problem)
    if optimum is None:
        with pytest.raises(InfeasibleError):
            tclose.gap(frame, schema, methods=["exact"])
        return
    found = tclose.gap(frame, schema, methods=["exact"])
    assert found.is_optimum
    assert found.at_least == pytest.approx(float(problem.loss(optimum)), abs=1e-9)


def test_under_suppression_cells_are_told_and_milp_agrees() -> None:
    frame, schema = people(9, recode="suppress")
    found = tclose.gap(frame, schema, methods=["tight"])
    told = found.as_dict()
    assert found.cells == 18
    assert told["methods"]["exact"]["suppressed_cells"] == told["methods"]["milp"]["suppressed_cells"]
    assert told["cells_at_least"] == told["methods"]["exact"]["suppressed_cells"]


def test_a_larger_table_is_bounded_by_milp() -> None:
    frame, schema = people(400, recode="suppress", sensitive={"ill": {"distance": "equal", "t": "0.02"}})
    frame = frame.with_columns(pl.col("age") // 20)
    found = tclose.gap(frame, schema, methods=["mondrian"], time=20)
    told = found.as_dict()["methods"]
    assert "sub-table" in told["exact"]["refused"]
    assert found.at_least > 0
    assert told["mondrian"]["loss"] >= found.at_least


def test_what_no_method_can_bound_is_bounded_by_prices() -> None:
    frame, schema = people(300)
    found = tclose.gap(frame, schema, methods=["mondrian"], time=20)
    assert found.bound is not None
    assert found.bound.is_proven
    assert found.confidence is None
    assert 0 < found.at_least == found.bound.loss_at_least < found.least
    told = found.as_dict()
    assert told["prices"]["cells_checked"] == told["prices"]["cells"]
    assert told["methods"]["mondrian"]["above"] == pytest.approx(found.least / found.at_least - 1)


def test_without_time_the_bound_is_an_estimate_with_its_confidence() -> None:
    frame, schema = people(300)
    control = Control()
    control.end()
    found = tclose.gap(frame, schema, methods=["mondrian"], control=control)
    assert found.bound is not None
    assert not found.is_optimum
    if found.bound.loss_at_least:
        assert found.confidence == found.bound.confidence == 0.95


def test_a_table_that_no_method_takes_is_refused() -> None:
    frame, schema = people(400)
    with pytest.raises(SizeError, match=r"No method takes this table.*'exact' looks at every sub-table"):
        tclose.gap(frame, schema, methods=["exact"])


def test_a_method_asked_by_name_must_fit_the_schema() -> None:
    frame, schema = people(9)
    with pytest.raises(SchemaError, match="'milp' does not take recode"):
        tclose.gap(frame, schema, methods=["milp"])


def test_classes_that_break_the_requirement_are_not_measured() -> None:
    @dataclass(frozen=True)
    class Careless(Mondrian):
        name = "careless"

        def partition(self, table: Any, requirement: Any, **rest: Any) -> Partition:
            return Partition(np.arange(len(table)))

    frame, schema = people(9)
    with pytest.raises(VerificationError, match="careless"):
        tclose.gap(frame, schema, methods=[Careless()])


def test_a_bound_above_a_loss_is_a_wrong_proof() -> None:
    @dataclass(frozen=True)
    class Boaster(Mondrian):
        name = "boaster"

        def partition(self, table: Any, requirement: Any, **rest: Any) -> Partition:
            return Partition(np.zeros(len(table), np.int64), facts={"loss_at_least": 0.9})

    frame, schema = people(9)
    with pytest.raises(VerificationError, match="'boaster' claims that no partition loses less"):
        tclose.gap(frame, schema, methods=[Boaster()])


def test_each_method_is_given_once() -> None:
    frame, schema = people(9)
    with pytest.raises(SchemaError, match="each method once"):
        tclose.gap(frame, schema, methods=["mondrian", Mondrian()])


@pytest.mark.parametrize(
    ("columns", "quasi"),
    [
        ({"a": [5, None] * 4, "b": [1, 1, None, None] * 2}, {"kind": "numeric"}),
        ({"a": [0, 0, None, None], "b": [0, 6, 0, 6], "c": [0, 3, 0, 3]}, {"kind": "numeric", "range": [0, 8]}),
    ],
)
def test_two_diversity_and_exact_agree_where_numbers_are_missing(columns: dict[str, Any], quasi: Any) -> None:
    """A missing value mixed with others costs a whole cell, which is no multiple of what the others cost."""
    asked = {"k": 2, "missing": "category", "quasi": dict.fromkeys(columns, quasi)}
    for seed in range(4):
        found = tclose.gap(pl.DataFrame(columns), Schema.from_dict(asked), methods=["two-diversity"], seed=seed)
        losses = {entry.method: entry.loss for entry in found.entries}
        assert losses["two-diversity"] == pytest.approx(losses["exact"])
        assert found.is_optimum


def test_above_a_bound_of_nothing_there_is_no_share() -> None:
    found = Gap(4, None, (MethodGap("best", 0.0, 0.1, 0.0), MethodGap("worse", 0.2, 0.1)))
    assert [found.above(entry) for entry in found.entries] == [0.0, None]


def test_without_an_optimum_the_bound_is_told_as_one() -> None:
    found = Gap(4, 8, (MethodGap("one", 0.5, 0.1, 0.375), MethodGap("other", None, 0.0, refused="too large")))
    assert not found.is_optimum
    assert found.as_dict()["cells_at_least"] == 3
    assert found.as_dict()["methods"]["other"] == {"refused": "too large", "seconds": 0.0}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    frame, schema = people(9, recode="suppress")
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(schema.to_toml())
    return str(tmp_path / "people.csv"), str(tmp_path / "schema.toml")


def test_the_command_shows_a_table(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["gap", files[0], "-s", files[1], "--method", "mondrian"])
    assert result.exit_code == 0, result.output
    assert "The least loss possible is" in result.output
    assert "cells suppressed" in result.output
    assert "mondrian" in result.output


def test_the_command_tells_json(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["gap", files[0], "-s", files[1], "--method", "mondrian", "--k", "3", "--json"])
    told = json.loads(result.stdout)
    assert set(told["methods"]) == {"exact", "milp", "mondrian"}
    assert told["is_optimum"]


def test_a_method_that_finds_no_classes_is_refused_and_the_others_are_compared() -> None:
    """Median cuts miss classes of the widths asked, which the exact method has."""
    frame = pl.DataFrame({"age": [0, 20, 25, 30, 45, 50, 55, 60, 70, 75, 80, 100], "ill": ["a", "b"] * 6})
    for coarsest in range(20, 61, 5):
        schema = {
            "k": 2,
            "quasi": {"age": {"kind": "numeric", "coarsest": coarsest}},
            "sensitive": {"ill": {"distance": "equal", "t": 0}},
        }
        try:
            found = tclose.gap(frame, schema, methods=[Mondrian(textbook=True), "exact"])
        except InfeasibleError:
            continue
        refused = {entry.method for entry in found.entries if entry.refused}
        if "mondrian" in refused:
            assert "exact" not in refused
            return
    pytest.fail("no width that median cuts miss")
