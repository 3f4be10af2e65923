"""A bound of the loss from learning to its evaluation: how it ends, what it says of itself, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.control import Control
from tclose.algorithms.loss_bound.loss_bound import bound_loss, draw_rows, estimated
from tclose.algorithms.loss_bound.price_check import PriceCheck, PriceProblem, proven_bound
from tclose.algorithms.loss_bound.rounded_losses import UNIT, rounded_down
from tclose.algorithms.loss_bound.small_gap import gap_of_small
from tclose.datasets import hard
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.table.objective import Objective
from tests.algorithms.loss_bound.mutants import coded
from tests.seeds import one_in


def people(n: int, seed: int = 1, **keys: Any) -> tuple[pl.DataFrame, Schema]:
    rng = np.random.default_rng(seed)
    columns = {"age": rng.integers(20, 40, n), "job": rng.choice(["a", "b", "c"], n), "ill": rng.choice([*"xyz"], n)}
    asked = {
        "k": 3,
        "quasi": {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}},
        "sensitive": {"ill": {"distance": "equal", "t": "0.3"}},
    }
    return pl.DataFrame(columns), Schema.from_dict(asked | keys)


def test_a_bound_of_all_cells_is_proven_and_below_a_release() -> None:
    frame, schema = people(60)
    found = bound_loss(*coded(frame, schema), steps=10)
    release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    assert found.is_proven
    assert found.cells == found.cells_checked
    assert 0 < found.loss_at_least <= release.loss
    assert found.as_dict()["is_proven"]


def test_learning_raises_the_bound() -> None:
    given = coded(*people(60))
    assert bound_loss(*given, steps=30).loss_at_least > bound_loss(*given, steps=0).loss_at_least


def test_the_same_seed_and_steps_give_the_same_bound() -> None:
    given = coded(*people(40))
    assert bound_loss(*given, steps=5, seed=3).loss_at_least == bound_loss(*given, steps=5, seed=3).loss_at_least


def test_what_is_stopped_is_evaluated_on_a_sample() -> None:
    control = Control()
    control.end()
    found = bound_loss(*coded(*people(200)), control=control)
    assert found.steps == 0
    assert found.cells_checked > 0
    assert found.confidence == 0.95 if found.loss_at_least else found.is_proven


def test_a_known_optimum_is_not_exceeded() -> None:
    made = hard.planted_bisection(12, 3, seed=1)
    found = bound_loss(*coded(made.frame, made.schema), steps=20)
    assert made.optimum is not None
    assert found.loss_at_least <= made.optimum / (len(made.frame) * len(made.schema.quasi))


def test_rows_that_may_be_left_out_are_refused() -> None:
    with pytest.raises(SchemaError, match="suppress_rows"):
        bound_loss(*coded(*people(60, suppress_rows=0.05)), steps=1)


def test_many_values_of_a_tree_are_ignored_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = {"u": [f"a{i}" for i in range(6)], "v": [f"b{i}" for i in range(6)]}
    values = [*tree["u"], *tree["v"]] * 3
    frame = pl.DataFrame({"age": list(range(36)), "ill": values})
    keys = {"distance": "hierarchical", "hierarchy": tree, "t": "0.4"}
    schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": keys}})
    monkeypatch.setattr("tclose.algorithms.loss_bound.closeness_terms.MOST_VALUES", 4)
    found = bound_loss(*coded(frame, schema), steps=2)
    assert found.ignored == ("ill",)
    assert found.loss_at_least > 0


def test_estimates_are_right_as_often_as_they_say() -> None:
    table, requirement = coded(*people(150))
    problem = PriceProblem.of(table, requirement)
    check = PriceCheck.of(problem, np.random.default_rng(1).random(len(problem.kinds.counts)) * 0.02)
    excess = check.excesses_of(np.arange(len(problem.kinds.cells)))
    total = sum(int(each) * int(count) for each, count in zip(excess, problem.kinds.cell_counts, strict=True))
    true = (check.mean_price - Fraction(total, len(table))) / UNIT
    rng = np.random.default_rng(5)
    found = [estimated(check, [excess[draw_rows(problem.kinds, rng, 5_000)]], int(excess.min())) for _ in range(200)]
    assert true > 0
    assert any(each.bound > 0 for each in found)
    assert sum(each.bound > true for each in found) <= 10
    assert proven_bound(check, excess) == max(true, 0)


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize("seed", one_in(2, range(2)))
def test_several_attributes_are_bounded_below_a_release(seed: int) -> None:
    frame, schema = tclose.datasets.hospital(60, seed=seed)
    found = bound_loss(*coded(frame, schema), steps=2)
    release = tclose.anonymize(frame, schema, method="mondrian", seed=seed, allow_single_class=True)
    assert 0 < found.loss_at_least <= release.loss


def test_floats_are_rounded_downwards() -> None:
    third = Fraction(1, 3)
    assert Fraction(rounded_down(third)) <= third
    assert Fraction(rounded_down(2 * third)) <= 2 * third
    assert rounded_down(Fraction(1, 4)) == 0.25


def test_the_record_of_a_small_table_has_its_gap() -> None:
    frame, schema = people(60)
    release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    at_least, above = release.record.bound["loss_at_least"], release.record.bound["above"]
    assert at_least is not None
    assert above is not None
    assert 0 < at_least <= release.loss
    assert above == pytest.approx(release.loss / at_least - 1)
    assert "loss_at_least" not in release.certificate.as_dict()
    assert "bound" not in release.certificate.as_dict()


def test_the_record_of_an_optimum_has_no_gap() -> None:
    frame, schema = people(9)
    release = tclose.anonymize(frame, schema, method="exact", seed=1, allow_single_class=True)
    assert release.record.bound["above"] == pytest.approx(0.0, abs=1e-9)


def test_where_no_bound_fits_or_the_table_is_large_the_record_has_none() -> None:
    left_out, large = people(60, suppress_rows=0.05), people(401)
    assert gap_of_small(*coded(*left_out), {}, 0.5) == {}
    assert gap_of_small(*coded(*large), {}, 0.5) == {}
    table, requirement = coded(*people(60))
    assert gap_of_small(table, requirement, {}, 0.5)["above"] is not None
    assert gap_of_small(replace(table, objective=Objective("classify")), requirement, {}, 0.5) == {}


def test_a_bound_for_rows_holds_where_persons_are_counted() -> None:
    """That a class has k persons asks for k rows."""
    frame = people(60)[0].with_columns(pl.Series("who", [i // 2 for i in range(60)])).drop("job")
    keys = {"k": 3, "unit": "who", "unit_rows": "all", "quasi": {"age": {"kind": "numeric"}}}
    schema = Schema.from_dict(keys | {"sensitive": {"ill": {"distance": "equal", "t": "0.4"}}})
    release = tclose.anonymize(frame, schema, method="mondrian", seed=1, allow_single_class=True)
    assert 0 < bound_loss(*coded(frame, schema), steps=2).loss_at_least <= release.loss
