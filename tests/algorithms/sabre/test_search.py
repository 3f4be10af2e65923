"""What the methods try, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms import find
from tclose.algorithms.control import Control
from tclose.algorithms.incognito.incognito import Incognito
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.sabre import sabre_search as search
from tclose.algorithms.sabre.sabre import SabreAK, SabreKNN
from tclose.algorithms.shared.along import take_along
from tclose.algorithms.shared.buckets import BoundRule, bucketize
from tclose.datasets import census, hospital
from tclose.errors import InfeasibleError, SchemaError
from tclose.schema.schema import Schema
from tclose.table.class_distances import class_distances
from tclose.table.classes import Tally
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.algorithms.mondrian.test_mondrian import random_case
from tests.seeds import for_seeds

OPTIONS: list[dict[str, Any]] = [
    {}, {"bound": "largest"}, {"search_budget": True}, {"try_first": True}, {"first": "pay"}, {"slack": True},
]  # fmt: skip
METHODS = pytest.mark.parametrize("method", [SabreAK, SabreKNN])


def encoded(frame: pl.DataFrame, schema: Schema) -> tuple[EncodedTable, Requirement]:
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


def check(table: EncodedTable, requirement: Requirement, partition: Partition) -> None:
    """Every class holds, straight from the definition."""
    assert np.bincount(partition.labels).min() >= requirement.k
    for label in range(partition.n_classes):
        assert requirement.holds([codes[partition.labels == label] for codes in table.codes])


@METHODS
@for_seeds(60)
def test_random_tables(method: Any, seed: int) -> None:
    table, requirement = random_case(seed)
    options = OPTIONS[seed % len(OPTIONS)]
    try:
        requirement.check_whole(table)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            run(method(**options), table, requirement)
        return
    check(table, requirement, run(method(**options), table, requirement))


@METHODS
def test_searching_never_loses_more(method: Any) -> None:
    for frame, schema in (census(1500, seed=2), hospital(400, seed=2)):
        table, requirement = encoded(frame, schema)
        losses = {
            name: table.loss(run(method(**options), table, requirement).labels)
            for name, options in {
                "printed": {},
                "budget": {"search_budget": True},
                "first": {"try_first": True},
                "both": {"search_budget": True, "try_first": True},
            }.items()
        }
        assert losses["both"] <= min(losses["budget"], losses["first"])
        assert max(losses["budget"], losses["first"]) <= losses["printed"]
        assert losses["both"] < losses["printed"]


def test_the_budget_grid_is_absolute() -> None:
    """What is tried at some t is tried at every larger one."""
    table, requirement = encoded(*census(500, seed=2))
    tried = []
    for t in (Fraction("0.12"), Fraction("0.3")):
        attribute = replace(requirement.attributes[0], t=t)
        asked, options = replace(requirement, attributes=(attribute,)), search.SabreOptions(search_budget=True)
        plans = search._plans(table, asked, options, Control())
        tried.append([plan.buckets.of_code.tobytes() for plan in plans])
        assert tried[-1][0] == bucketize(attribute.domain.form, attribute.reference, t).of_code.tobytes()
    below = [code for code in tried[0] if code != tried[0][0]]
    assert len(below) > 2
    assert set(below) <= set(tried[1])


@METHODS
def test_the_first_attribute_is_the_callers(method: Any) -> None:
    table, requirement = encoded(*hospital(400, seed=2))
    by_default = run(method(), table, requirement)
    named = run(method(first="diagnosis"), table, requirement)
    other = run(method(first="charge"), table, requirement)
    assert (by_default.labels == named.labels).all()
    assert table.loss(other.labels) != table.loss(named.labels)


@METHODS
def test_another_first_is_refused_before_anything_is_read(method: Any, tmp_path: Path) -> None:
    _, schema = hospital(10, seed=2)
    for refused in ("age", "nothing"):
        with pytest.raises(SchemaError, match=r"'first' is .* not a sensitive attribute with a t\. Allowed: 'dia"):
            tclose.anonymize(tmp_path / "never read.csv", schema, method=method(first=refused))


@METHODS
def test_what_binds_is_found_without_the_first(method: Any) -> None:
    frame = pl.DataFrame({"age": range(9), "ill": list("abcabcabd"), "pay": range(9)})
    keys = {
        "k": 2,
        "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {"ill": {"distance": "equal", "t": 0}, "pay": {"distance": "ordered", "t": 0.9}},
    }
    with pytest.raises(InfeasibleError, match="What binds is the requirement on 'ill'\\."):
        tclose.anonymize(frame, Schema.from_dict(keys), method=method(first="ill"))


@METHODS
def test_other_seeds_give_other_classes(method: Any) -> None:
    table, requirement = encoded(*census(400, seed=2))
    one, again, other = (run(method(), table, requirement, seed=seed).labels for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_the_bound_is_the_callers() -> None:
    """The printed bound of figure 1's root is 8/9, the largest cost from one value 13/18."""
    ills = [ill for ill, count in zip("abcdef", (5, 3, 2, 4, 2, 2), strict=True) for _ in range(count)]
    keys = {
        "k": 1,
        "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {"ill": {"distance": "hierarchical", "hierarchy": {"x": list("abc"), "y": list("def")}, "t": 0.8}},
    }
    table, requirement = encoded(pl.DataFrame({"age": range(18), "ill": ills}), Schema.from_dict(keys))
    bounds: tuple[BoundRule, ...] = ("printed", "largest")
    plans = [next(search._plans(table, requirement, search.SabreOptions(bound=bound), Control())) for bound in bounds]
    assert [len(plan.buckets) for plan in plans] == [2, 1]


@METHODS
def test_wrong_options(method: Any) -> None:
    with pytest.raises(SchemaError, match="bound"):
        method(bound="tight")
    with pytest.raises(SchemaError, match="not both"):
        method(first="a", try_first=True)
    with pytest.raises(SchemaError, match="'metric' must be 'euclidean' or 'loss'"):
        SabreKNN(metric="nearest")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="'sabre-ak' has no option 'metric'"):
        find("sabre-ak", {"metric": "loss"})


@METHODS
def test_without_any_sensitive_attribute_k_rows_a_class(method: Any) -> None:
    table, requirement = encoded(*census(300, seed=2))
    bare = replace(table, domains=(), codes=())
    found = run(method(), bare, replace(requirement, attributes=(), k=5))
    sizes = np.bincount(found.labels)
    assert sizes.min() >= 5
    assert sizes.max() < 10


@METHODS
def test_another_reference(method: Any) -> None:
    """As in a stream's window: the reference is not the table itself."""
    frame, schema = census(2000, seed=2)
    table, requirement = encoded(frame, schema)
    some = table.take(np.arange(0, 1500))
    found = run(method(), some, requirement)
    codes = some.codes[0]
    counted = Tally.of(found.labels, codes, some.domains[0].size)
    counted = replace(counted, reference=requirement.attributes[0].reference)
    assert class_distances(some.domains[0].form, counted).largest() <= schema.sensitive[0].t  # type: ignore[operator]
    assert found.n_classes > 1
    far = table.take(np.flatnonzero(table.codes[0] == table.codes[0].max())[:10])
    with pytest.raises(InfeasibleError, match="reference"):
        run(method(), far, requirement)


@METHODS
def test_stopped_at_once_it_is_still_valid(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("along", "nearest"):
        monkeypatch.setattr(f"tclose.algorithms.shared.{module}.ROWS", 50)
    table, requirement = encoded(*hospital(300, seed=2))
    control = Control()
    control.end()
    found = method(search_budget=True).partition(table, requirement, rng=np.random.default_rng(1), control=control)
    assert found.facts == {"stopped_early": True}
    check(table, requirement, found)


@pytest.mark.parametrize("calls", [1, 3])
def test_after_a_stop_no_further_plan_is_begun(calls: int) -> None:
    table, requirement = encoded(*census(500, seed=2))
    control, begun = Control(), []

    def take_out(*given: Any, **named: Any) -> Any:
        begun.append(given)
        if len(begun) == calls:
            control.end()
        return take_along(*given, **named)

    rng = np.random.default_rng(1)
    found = search.partition(take_out, table, requirement, search.SabreOptions(search_budget=True), rng, control)
    assert len(begun) == calls
    assert found.facts == {"stopped_early": True}


@METHODS
def test_a_stop_that_leaves_nothing_out_is_not_told(method: Any) -> None:
    """All was done in the one piece that was under way."""
    for frame, schema in (census(300, seed=2), hospital(300, seed=2)):
        table, requirement = encoded(frame, schema)
        control = Control()
        rng = np.random.default_rng(7)
        control.listener = lambda loss, done, control=control: control.end() if done == 1 else None
        found = method().partition(table, requirement, rng=rng, control=control)
        assert control.stop
        assert not found.facts
        assert (found.labels == run(method(), table, requirement).labels).all()


@METHODS
@pytest.mark.parametrize(
    "options", [{}, {"search_budget": True}, {"try_first": True}, pytest.param({"slack": True}, marks=pytest.mark.slow)]
)
def test_progress_never_goes_back(method: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.shared.merge.BUDGET", 2000)
    for module in ("along", "nearest"):
        monkeypatch.setattr(f"tclose.algorithms.shared.{module}.ROWS", 50)
    table, requirement = encoded(*hospital(300, seed=2))
    shares: list[Any] = []
    control = Control(listener=lambda loss, done: shares.append(done))
    method(**options).partition(table, requirement, rng=np.random.default_rng(1), control=control)
    assert len(set(shares)) > 5
    assert all(0 < one <= next_ <= 1 for one, next_ in pairwise(shares))
    assert shares[-1] == 1


@METHODS
def test_a_better_start_comes_back(method: Any) -> None:
    table, requirement = encoded(*census(400, seed=2))
    good = replace(
        run(method(search_budget=True), table, requirement), levels=(1, 2), facts={"bound": 3}, notes={"seen": 4}
    )
    back = run(method(), table, requirement, start=good)
    assert (back.labels == good.labels).all()
    assert (back.levels, back.facts, back.notes) == (good.levels, good.facts, good.notes)
    bad = Partition(np.zeros(400, np.int64))
    assert run(method(), table, requirement, start=bad).n_classes > 1


@pytest.mark.parametrize("method", [SabreAK, SabreKNN, Incognito])
def test_a_start_that_does_not_hold_does_not_come_back(method: Any) -> None:
    table, requirement = encoded(*census(400, seed=2))
    for labels in (np.arange(400), np.argsort(np.argsort(table.places[0], kind="stable")) // requirement.k):
        start = Partition(Partition.of(labels).labels)
        found = run(method(), table, requirement, start=start)
        assert table.loss(start.labels) < table.loss(found.labels)
        check(table, requirement, found)


@METHODS
def test_t_0_takes_exact_shares(method: Any) -> None:
    frame = pl.DataFrame({"age": list(range(40)), "ill": ["a", "b", "b", "c"] * 10})
    keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0}}}
    table, requirement = encoded(frame, Schema.from_dict(keys))
    found = run(method(), table, requirement)
    assert np.bincount(found.labels).tolist() == [20, 20]
    check(table, requirement, found)


@METHODS
def test_example_2(method: Any) -> None:
    """Table 1: six buckets give one class; two give three classes at 1/3, which t has to be above."""
    frame = pl.DataFrame(
        {
            "weight": [60, 70, 60, 50, 80, 70],
            "age": [40, 50, 60, 50, 50, 70],
            "disease": ["SARS", "intestinal cancer", "pneumonia", "bronchitis", "gastric flu", "gastric ulcer"],
        }
    )
    lungs, bowels = ["SARS", "pneumonia", "bronchitis"], ["intestinal cancer", "gastric flu", "gastric ulcer"]
    keys = {
        "k": 1,
        "quasi": {"weight": {"kind": "numeric"}, "age": {"kind": "numeric"}},
        "sensitive": {
            "disease": {
                "distance": "hierarchical",
                "hierarchy": {"respiratory": lungs, "digestive": bowels},
                "t": "0.34",
            }
        },
    }
    table, requirement = encoded(frame, Schema.from_dict(keys))
    found = run(method(), table, requirement)
    in_lungs = frame["disease"].is_in(lungs).to_numpy()
    assert np.bincount(found.labels[in_lungs]).tolist() == np.bincount(found.labels[~in_lungs]).tolist() == [1, 1, 1]
    for label in range(3):
        distance = requirement.attributes[0].distance(np.bincount(table.codes[0][found.labels == label], minlength=6))
        assert distance == Fraction(1, 3)
    exact = replace(requirement.attributes[0], t=Fraction(0))
    assert run(method(), table, replace(requirement, attributes=(exact,))).n_classes == 1
