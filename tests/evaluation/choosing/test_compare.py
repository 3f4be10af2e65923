"""compare: every number is that of a release made by itself, runs do not disturb each other, and refusals are told."""

from __future__ import annotations

import dataclasses
import json
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms import find
from tclose.algorithms.control import Control
from tclose.algorithms.mondrian.mondrian import Mondrian
from tclose.algorithms.tight.tight import Tight
from tclose.evaluation.choosing.best_methods import best_by_measure, verdict
from tclose.evaluation.choosing.compare import STOPPED, Comparison
from tclose.evaluation.choosing.trials import Gains, Trial
from tclose.schema.changes import with_t
from tclose.schema.schema import Schema
from tclose.table.partition import Partition
from tests.pages import samples
from tests.seeds import for_seeds

BEFORE = Gains(1, 1, 1)
KEYS: dict[str, Any] = {
    "k": 4,
    "missing": "category",
    "quasi": {
        "age": {"kind": "numeric", "step": 5, "top": 70},
        "job": {"kind": "categorical", "hierarchy": {"food": ["cook", "baker"], "metal": ["smith", "welder"]}},
        "zip": {"kind": "text"},
    },
    "sensitive": {"ill": {"distance": "equal", "t": 0.4}, "pay": {"distance": "ordered", "t": 0.5}},
    "joint": {"both": {"columns": ["ill", "pay"], "t": 0.5}},
}


def small_table(n: int = 240, seed: int = 1) -> tuple[pl.DataFrame, Schema]:
    """Numbers, a tree, prefixes and missing values; two sensitive attributes and a joint."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    frame = pl.DataFrame(
        {
            "age": [None if row % 40 == 7 else int(value) for row, value in enumerate(age)],
            "job": rng.choice(["cook", "baker", "smith", "welder"], n),
            "zip": [f"{int(number):03}" for number in rng.integers(0, 40, n)],
            "ill": rng.choice(["flu", "cold", "rash"], n, p=[0.6, 0.3, 0.1]),
            "pay": rng.integers(0, 6, n),
        }
    )
    return frame, Schema.from_dict(KEYS)


@pytest.mark.parametrize("method", ["mondrian", "sabre-ak", "clusters"])
def test_every_number_is_that_of_a_release(method: str) -> None:
    frame, schema = small_table()
    asked = ["0.3", "0.6"]
    found = tclose.compare(frame, schema, methods=[method], t=asked, k=[4, 8], seed=5, queries=200, jobs=2)
    assert [(run.method, run.k, run.t) for run in found.runs] == [
        (method, k, Fraction(t)) for k in (4, 8) for t in asked
    ]
    assert found.done
    for run in found.done:
        one = dataclasses.replace(with_t(schema, run.t), k=run.k)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tclose.HighLossWarning)
            release = tclose.anonymize(frame, one, method=method, seed=5)
        assert run.loss == pytest.approx(release.loss, abs=1e-12)
        assert run.classes == release.measured.classes
        assert run.sizes[0] == release.measured.k
        assert run.sizes[4] == release.measured.grouping.sizes.max()
        assert run.reached == pytest.approx({name: float(t) for name, t in release.measured.t.items()}, abs=1e-12)
        queries = tclose.utility(frame, release, queries=200, seed=5).queries
        assert queries is not None
        assert run.query_error == pytest.approx(queries.median, abs=1e-9)
        attacks = tclose.attack(frame, release)
        assert attacks.after is not None
        assert run.gains.rise == pytest.approx(max(each.worst_rise for each in attacks.after.skewness.values()))
        assert run.gains.risk == attacks.after.reidentification.prosecutor.largest
        learned = [max(g.right, g.right_with_rows) - g.of_table for g in attacks.after.definetti.values()]
        assert run.gains.guess == pytest.approx(max(learned))
        assert found.before.rise == pytest.approx(max(s.worst_rise for s in attacks.before.skewness.values()))
        assert found.before.risk == attacks.before.reidentification.prosecutor.largest


def test_the_number_of_jobs_changes_nothing_but_time() -> None:
    frame, schema = small_table()

    def told(jobs: int) -> Any:
        found = tclose.compare(
            frame, schema, methods=["mondrian", "sabre-knn"], t=["0.4", "0.6"], queries=50, jobs=jobs
        )
        return [dataclasses.replace(run, seconds=0.0) for run in found.runs]

    assert told(1) == told(4)


def test_high_losses_warn_nobody() -> None:
    frame, schema = small_table()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tclose.compare(frame, schema, methods=["mondrian"], t=["0.12"], k=[30], queries=0, jobs=2)
    assert all(run.query_error is None for run in found.runs)


def test_what_cannot_be_is_told_as_refused() -> None:
    frame, schema = small_table()
    methods = ["mondrian", "incognito", "fragments-strict"]
    found = tclose.compare(frame, schema, methods=methods, k=[5, 1000], t=["0", "0.5"], queries=0)
    refused = {(run.method, run.k, float(run.t or 0)): run.refused for run in found.runs if run.refused}
    assert "hierarchy" in str(refused["incognito", 5, 0.5])
    assert "joints" in str(refused["fragments-strict", 5, 0.5])
    assert "asks for more" in str(refused["mondrian", 1000, 0.5])
    assert "one class" in str(refused["mondrian", 5, 0.0])
    assert {run.method for run in found.done} == {"mondrian"}
    assert set(found.as_dict()["runs"][-1]) == {"method", "t", "k", "refused"}


@dataclasses.dataclass(frozen=True)
class Liar(Mondrian):
    """A method that breaks its promise."""

    def partition(self, table: Any, requirement: Any, **rest: Any) -> Partition:
        return Partition(np.arange(len(table)))


@pytest.mark.filterwarnings("ignore::tclose.HighLossWarning")
def test_columns_that_are_kept_count_as_in_a_release() -> None:
    frame, _ = small_table()
    frame = frame.with_columns(number=pl.int_range(len(frame)))
    schema = Schema.from_dict({**KEYS, "keep": ["number"]})
    (run,) = tclose.compare(frame, schema, methods=["mondrian"], t=["0.4"], queries=0).runs
    with pytest.raises(tclose.InfeasibleError, match="columns of `keep`"):
        tclose.anonymize(frame, with_t(schema, "0.4"), method="mondrian", seed=0)
    assert "at t = 0.4 cannot be released: with the columns of `keep`" in (run.refused or "")
    with pytest.raises(tclose.InfeasibleError, match="columns of `keep`"):
        tclose.suggest(frame, schema, method="mondrian", t=["0.3", "0.4", "0.5"], queries=0)
    unchecked = Schema.from_dict({**KEYS, "keep": ["number"], "keep_unchecked": True})
    (run,) = tclose.compare(frame, unchecked, methods=["mondrian"], t=["0.4"], queries=0).runs
    assert run.refused is None
    alike = frame.with_columns(number=pl.lit(1))
    (run,) = tclose.compare(alike, schema, methods=["mondrian"], t=["0.4"], queries=0).runs
    assert run.refused is None


def test_a_broken_promise_is_no_refusal() -> None:
    frame, schema = small_table()
    with pytest.raises(tclose.VerificationError, match="break"):
        tclose.compare(frame, schema, methods=[Liar(), "mondrian"], queries=0)


def test_without_t_the_schema_decides() -> None:
    frame, schema = small_table()
    found = tclose.compare(frame, schema, methods=["mondrian"], queries=0)
    assert [run.t for run in found.runs] == [None]
    assert found.runs[0].reached is not None
    assert found.runs[0].reached["ill"] <= 0.4


def test_options_are_in_the_name() -> None:
    frame, schema = small_table()
    with_options = find("sabre-ak", {"search_budget": "true"})
    found = tclose.compare(frame, schema, methods=["sabre-ak", with_options], queries=0)
    assert [run.method for run in found.runs] == ["sabre-ak", "sabre-ak search_budget=True"]


def test_what_is_asked_twice_is_run_once() -> None:
    frame, schema = small_table()
    found = tclose.compare(frame, schema, methods=["mondrian", "mondrian"], t=["0.4", "0.40"], k=[4, 4], queries=0)
    assert len(found.runs) == 1


def test_whoever_stops_it_gets_what_there_is() -> None:
    frame, schema = small_table()
    control = Control()
    control.end()
    found = tclose.compare(frame, schema, methods=["mondrian"], k=range(2, 32), queries=0, jobs=1, control=control)
    assert len(found.runs) == 30
    assert found.runs[-1].refused == STOPPED


def test_time_ends_runs() -> None:
    frame, schema = small_table()
    found = tclose.compare(frame, schema, methods=[Tight("fast")], time=0.0, queries=0)
    assert found.runs[0].stopped_early or found.runs[0].refused


def test_progress_goes_to_one() -> None:
    frame, schema = small_table()
    shares: list[float] = []
    tclose.compare(
        frame, schema, methods=["mondrian"], t=["0.4", "0.5"], queries=0, jobs=1,
        progress=lambda stage, loss, done: shares.append(done or 0.0),
    )  # fmt: skip
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize(
    ("methods", "t", "error"),
    [
        ([], ["0.2"], "nothing to compare"),
        (["no-such"], ["0.2"], "no method"),
        (["mondrian"], ["x"], "must be a number"),
        (["mondrian"], ["1.5"], "from 0 to 1"),
    ],
)
def test_wrong_wishes_are_named(methods: list[str], t: list[str], error: str) -> None:
    frame, schema = small_table()
    with pytest.raises(tclose.SchemaError, match=error):
        tclose.compare(frame, schema, methods=methods, t=t)


def test_a_schema_without_t_has_none_to_change() -> None:
    schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}})
    with pytest.raises(tclose.SchemaError, match="Give one a t"):
        with_t(schema, "0.2")
    with pytest.raises(tclose.SchemaError, match="no sensitive attribute"):
        with_t(small_table()[1], "0.2", "age")


def made(rise: float, loss: float, method: str = "m") -> Trial:
    return Trial(method, Fraction(1, 5), 5, loss=loss, gains=Gains(rise, 0.1, 0.1), sizes=(5, 5, 5, 5, 5), classes=3)


def test_the_frontier_is_what_nothing_beats() -> None:
    rng = np.random.default_rng(3)
    runs = tuple(made(float(a), float(b)) for a, b in rng.integers(0, 8, (60, 2)) / 8)
    found = Comparison(100, runs, Gains(1, 1, 1)).frontier
    for run in runs:
        beaten = any(
            o.gains.rise <= run.gains.rise
            and o.loss <= run.loss
            and (o.gains.rise, o.loss) != (run.gains.rise, run.loss)
            for o in runs
        )
        alike = [each for each in found if (each.gains.rise, each.loss) == (run.gains.rise, run.loss)]
        assert len(alike) == (0 if beaten else 1)


def measured(method: str, t: str, loss: float, query_error: float | None, rise: float, seconds: float) -> Trial:
    return Trial(
        method, Fraction(t), 5, loss=loss, query_error=query_error, gains=Gains(rise, 0.1, 0.2), seconds=seconds,
        sizes=(5, 5, 5, 5, 5), classes=3,
    )  # fmt: skip


def test_the_best_is_named_by_each_measure_and_where_they_disagree() -> None:
    runs = (
        measured("a", "0.1", 0.2, 0.5, 0.10, 9.0),
        measured("b", "0.1", 0.3, 0.4, 0.05, 1.0),
        measured("a", "0.3", 0.1, 0.2, 0.30, 8.0),
        measured("b", "0.3", 0.2, 0.3, 0.20, 1.0),
    )
    found = Comparison(9, runs, Gains(1, 1, 1))
    assert found.best == {
        "loss": {"a": 2},
        "query error": {"b": 1, "a": 1},
        "rise": {"b": 2},
        "guess": {"a": 2, "b": 2},
        "risk": {"a": 2, "b": 2},
        "seconds": {"b": 2},
    }
    assert verdict(found) == (
        "No method is best by every measure. Best most often are 'a' by loss; 'b' by query error, rise and "
        "seconds. Loss disagrees with rise and seconds in every setting. Loss disagrees with query error in 1 of 2 "
        "settings."
    )
    by_name = {each.measure.name: each.told() for each in best_by_measure(runs)}
    assert by_name["loss"] == "'a' in every setting (at t = 0.3, k = 5: 'a' 0.100, then 'b' 0.200)"
    assert by_name["risk"] == "all alike"
    told = found.as_dict()["best"]["query error"]
    assert [(each["t"]["value"], each["methods"], each["value"]) for each in told] == [
        (0.1, ["b"], 0.4),
        (0.3, ["a"], 0.2),
    ]
    assert "loses least" not in found.html()
    assert all(words in found.html() for words in ("The best by each measure", "query error", "No method is best"))


def test_one_that_is_best_by_all_is_named_and_so_is_a_tie() -> None:
    best = Comparison(9, (measured("a", "0.1", 0.2, None, 0.1, 1.0), measured("b", "0.1", 0.3, None, 0.2, 2.0)), BEFORE)
    assert verdict(best) == "'a' is best by every measure that tells methods apart: loss, rise and seconds."
    alike = Comparison(
        9, (measured("a", "0.1", 0.2, None, 0.1, 1.0), measured("b", "0.1", 0.2, None, 0.1, 1.0)), BEFORE
    )
    assert verdict(alike) == "By every measure the methods are alike."
    alone = Comparison(9, (measured("a", "0.1", 0.2, 0.5, 0.1, 1.0), measured("a", "0.2", 0.1, 0.4, 0.2, 1.0)), BEFORE)
    assert verdict(alone).startswith(
        "'a': loss 0.100 to 0.200, query error 40.0% to 50.0%, rise 10.0 points to 20.0 points"
    )
    nothing = Comparison(9, (Trial("a", None, 5, refused="no"),), BEFORE)
    assert "None of the runs" in verdict(nothing)
    assert "None of the runs" in nothing.html()


@for_seeds(20)
def test_the_best_are_those_that_nothing_is_below(seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = [
        measured(name, t, *(float(each) / 4 for each in rng.integers(0, 4, 4)))
        for name in "abc"
        for t in ("0.1", "0.2")
        if rng.random() < 0.8
    ]
    for each in best_by_measure(runs):
        for best in each.settings:
            values = {run.method: each.measure.value(run) for run in runs if (run.t, run.k) == best.setting}
            least = min(value for value in values.values() if value is not None)
            assert {*best.methods} == {name for name, value in values.items() if value == least}
            assert {name for name, _ in best.others} == {*values} - {*best.methods}


def test_json_has_only_json() -> None:
    told = samples.comparison().as_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
