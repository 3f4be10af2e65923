"""The engine: what comes out does not depend on cuts and restarts, and nothing is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.algorithms import REGISTRY
from tclose.errors import SchemaError, SizeError, TableError
from tclose.schema.schema import Schema
from tclose.stream import Checker, Engine, Outcome
from tclose.stream.windows import advance
from tclose.table.partition import Partition
from tests.seeds import for_seeds
from tests.stream.streams import TEMPERS, Halves, frame_of, released, rows_of, run, schema_of, told

QUICK = ("sabre-ak", "sabre-knn", "mondrian", "tight", "incognito", "fragments")


def checked(engine: Engine, frame: Any, schema: Schema, window: int) -> list[Outcome]:
    """All outcomes, which the checker has passed."""
    checker = Checker(schema, window)
    outcomes = []
    for start in range(0, len(frame), 37):
        checker.take_in(frame[start : start + 37])
        for outcome in engine.feed(frame[start : start + 37]):
            checker.check(outcome)
            outcomes.append(outcome)
    for outcome in engine.finish():
        checker.check(outcome)
        outcomes.append(outcome)
    counts = checker.finish()
    assert {name: engine.counts[name] for name in counts} == counts
    assert engine.counts["waiting"] == 0
    return outcomes


def mixed(seed: int, n: int) -> list[dict[str, Any]]:
    """Rows of every kind as mappings, some of them malformed."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for number in range(n):
        row: dict[str, Any] = {
            "age": int(rng.integers(18, 90)),
            "zip": f"{int(rng.integers(0, 300)):05}",
            "code": "".join(rng.choice(list("01"), 3)),
            "ward": str(rng.choice(["x", "y", "z"])),
            "day": f"2024-01-{int(rng.integers(1, 29)):02}",
            "pay": float(rng.integers(0, 9)) / 4 + number // 40,
            "ill": str(rng.choice(["flu", "cold", ""])),
            "name": "Ann",
        }
        wrong = {"age": "old", "code": "0101", "day": "soon", "pay": "1e99", "zip": None}
        row |= {name: value for name, value in wrong.items() if rng.random() < 0.02}
        if rng.random() < 0.02:
            row["ward"] = ["x"]
        if rng.random() < 0.01:
            del row["pay"]
        if rng.random() < 0.01:
            row["extra"] = 1
        rows.append(row)
    return rows


MIXED = Schema.from_dict(
    {
        "k": 2,
        "missing": "category",
        "identifiers": ["name"],
        "quasi": {
            "age": {"kind": "numeric"},
            "zip": {"kind": "text"},
            "code": {"kind": "digits"},
            "ward": {"kind": "categorical", "hierarchy": {"near": ["x", "y"], "far": ["z"]}},
            "day": {"kind": "date"},
        },
        "sensitive": {
            "pay": {"distance": "numeric", "t": 0.4},
            "ill": {"distance": "equal", "t": 0.5},
        },
    }
)


class TestCutsAndRestarts:
    @settings(max_examples=4)
    @given(st.integers(0, 10**6), st.lists(st.integers(1, 60), max_size=12), st.data())
    @pytest.mark.slow
    def test_nothing_depends_on_them(self, seed: int, cuts: list[int], data: st.DataObject) -> None:
        rows = mixed(seed, 100)
        whole = Engine(MIXED, window=40, step=20, seed=3)
        expected = _by_row(run(whole, rows))
        engine = Engine(MIXED, window=40, step=20, seed=3)
        outcomes: list[Outcome] = []
        start = 0
        for length in [*cuts, len(rows)]:
            for outcome in engine.feed(rows[start : start + length]):
                outcomes.append(outcome)
                if data.draw(st.booleans()):  # a crash right after this outcome was made durable
                    engine = Engine.restore(MIXED, engine.checkpoint())
                    break
            start = engine.position
            if data.draw(st.booleans()):
                engine = Engine.restore(MIXED, engine.checkpoint())
        while engine.position < len(rows):
            outcomes += engine.feed(rows[engine.position :])
        outcomes += engine.finish()
        assert _by_row(outcomes) == expected
        assert engine.counts == whole.counts

    def test_the_rows_of_mixed_keep_the_promise(self) -> None:
        for seed in range(2):
            rows = mixed(seed, 200)
            engine = Engine(MIXED, window=60, step=20, seed=3)
            outcomes = checked(engine, rows, MIXED, 60)
            assert engine.counts["rejected"] > 10
            reasons = {each.reason for outcome in outcomes for each in outcome.rejected}
            assert len(reasons) >= 5

    def test_other_seeds_give_other_classes(self) -> None:
        frame, schema = tclose.datasets.census(600, seed=1)
        one, same, other = (run(Engine(schema, window=200, step=100, seed=seed), frame) for seed in (1, 1, 2))
        assert told(one) == told(same)
        assert told(one) != told(other)


def _by_row(outcomes: list[Outcome]) -> tuple[list[Any], list[Any]]:
    """Rejections of one reason may come in several parts, as rows were cut; row by row they are the same."""
    rejected = sorted(
        (int(number), str(each.column), each.reason)
        for outcome in outcomes
        for each in outcome.rejected
        for number in each.numbers
    )
    rest = [Outcome(outcome.released, (), outcome.withheld) for outcome in outcomes]
    return rejected, told(rest)


@pytest.mark.parametrize("budget", ["printed", "window"])
@pytest.mark.parametrize("method", QUICK)
@for_seeds(3)
@pytest.mark.everyday(4)
def test_every_method_keeps_the_promise(method: str, budget: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ts = [str(t) for t in rng.choice(["0", "0.1", "0.3"], int(rng.integers(1, 3)))]
    levels = {"age": {"kind": "numeric", "hierarchy": {"build": "intervals", "widths": [10, 40]}}}
    schema = schema_of(ts, k=int(rng.integers(1, 4)), quasi=levels)
    rows = rows_of(rng, TEMPERS[seed % len(TEMPERS)], 260, 4, len(ts))
    frame = frame_of(rows[:140], rng)
    checked(Engine(schema, window=60, step=20, method=method, seed=1, budget=budget), frame, schema, 60)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        name
        for name, kind in REGISTRY.items()
        if name not in QUICK and "t" in kind.capabilities.guarantees and not kind.capabilities.small_only
    ],
)
@for_seeds(4)
def test_other_methods_keep_the_promise(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    schema = schema_of(["0.2"], k=3)
    frame = frame_of(rows_of(rng, TEMPERS[seed % len(TEMPERS)], 260, 4, 1), rng)
    checked(Engine(schema, window=60, step=20, method=method, seed=1), frame, schema, 60)


class TestCases:
    def test_indirect_when_the_stream_turns(self) -> None:
        """Half of the first window is out, and what comes is unlike it: what was kept back is released as it is."""
        schema = schema_of(["0.1"], k=2)
        rng = np.random.default_rng(1)
        frame = frame_of([(0,)] * 100 + [(3,)] * 100, rng)
        engine = Engine(schema, window=100, step=20, seed=1)
        outcomes = checked(engine, frame, schema, 100)
        assert engine.counts["case_3"] > 0
        indirect = [each for each in released(outcomes) if each.case == "indirect"]
        assert all(each.window.last < 200 for each in indirect)

    def test_indirect_when_fewer_than_k_are_left(self) -> None:
        """Nine of ten rows are out; the one left cannot be a class, and is in one that was kept back or will be."""
        for seed in range(3):
            schema = schema_of(["1"], k=6)
            rng = np.random.default_rng(seed)
            frame = frame_of([(int(value),) for value in rng.integers(0, 4, 120)], rng)
            outcomes = checked(Engine(schema, window=12, step=6, seed=seed), frame, schema, 12)
            assert min(len(one.numbers) for each in released(outcomes) for one in each) >= 6

    def test_t_0(self) -> None:
        """D = 0 is no reason to wait: classes are then distributed as the window is."""
        schema = schema_of(["0"], k=2)
        frame = frame_of([(0,), (1,), (2,), (3,)] * 50, np.random.default_rng(1))
        engine = Engine(schema, window=40, step=20, seed=1)
        outcomes = checked(engine, frame, schema, 40)
        assert engine.counts["case_2"] > 0
        assert engine.counts["released"] == 200
        exact = {each.entry(place)["t"]["s0"]["exact"] for each in released(outcomes) for place in range(len(each))}
        assert exact == {"0"}

    def test_values_never_seen_before_are_ordinary(self) -> None:
        schema = Schema.from_dict(
            {
                "k": 2,
                "quasi": {"job": {"kind": "categorical"}, "zip": {"kind": "text"}},
                "sensitive": {"ill": {"distance": "equal", "t": 0.5}, "pay": {"distance": "numeric", "t": 0.5}},
            }
        )
        rng = np.random.default_rng(1)
        number = np.arange(400)
        frame = pl.DataFrame(
            {
                "job": [f"job {n // 40}" for n in number],
                "zip": [f"{n:04}" for n in number],
                "ill": [f"ill {n // 30 + int(rng.integers(2))}" for n in number],
                "pay": number / 4,
            }
        )
        engine = Engine(schema, window=50, step=10, seed=1)
        checked(engine, frame, schema, 50)
        assert engine.counts["rejected"] == 0
        assert engine.counts["released"] + engine.counts["withheld"] == 400

    def test_l_withholds_what_no_class_can_hold(self) -> None:
        """A window of one value has no class of two distinct ones."""
        schema = Schema.from_dict(
            {
                "k": 2,
                "quasi": {"age": {"kind": "numeric"}},
                "sensitive": {"ill": {"distance": "equal", "t": 1, "l": 2}},
            }
        )
        frame = pl.DataFrame({"age": range(160), "ill": ["flu"] * 60 + ["flu", "cold"] * 50})
        engine = Engine(schema, window=40, step=10, seed=1)
        outcomes = checked(engine, frame, schema, 40)
        withheld = [each for outcome in outcomes for each in outcome.withheld]
        assert withheld[0].numbers.tolist() == list(range(10))
        assert "leave the window" in withheld[0].reason
        assert engine.counts["released"] > 100

    def test_a_joint_of_declared_domains(self) -> None:
        schema = schema_of(["1", "1"], joint={"both": {"columns": ["s0", "s1"], "t": 0.2}})
        rng = np.random.default_rng(1)
        frame = frame_of(rows_of(rng, "drifting", 100, 4, 2), rng)
        outcomes = checked(Engine(schema, window=60, step=20, seed=1), frame, schema, 60)
        assert "both" in released(outcomes)[0].entry(0)["t"]


class TestEnd:
    def test_what_cannot_be_close_is_withheld(self) -> None:
        """20,000 equal rows have left as one class, then 5,000 of another value come, then the end; in small."""

        class Whole(Halves):
            def partition(self, table: Any, requirement: Any, **rest: Any) -> Any:
                requirement.check_whole(table)
                return Partition(np.zeros(len(table), np.int64))

        schema = schema_of(["0.2"], k=2)
        frame = frame_of([(0,)] * 200 + [(3,)] * 50, np.random.default_rng(1))
        engine = Engine(schema, window=200, step=50, method=Whole(), seed=1)
        outcomes = checked(engine, frame, schema, 200)
        assert engine.counts["released"] == 200
        (withheld,) = (each for outcome in outcomes for each in outcome.withheld)
        assert withheld.numbers.tolist() == list(range(200, 250))

    def test_classes_kept_back_join_the_last_rows(self) -> None:
        """The same with classes kept back: together with them the last rows are close to the last window."""
        schema = schema_of(["0.2"], k=2)
        frame = frame_of([(0,)] * 200 + [(3,)] * 50, np.random.default_rng(1))
        engine = Engine(schema, window=200, step=50, method=Halves(), seed=1)
        outcomes = checked(engine, frame, schema, 200)
        assert engine.counts["withheld"] == 0
        last = released(outcomes)[-1]
        assert {int(number) // 200 for number in last.numbers} == {0, 1}

    @pytest.mark.slow
    def test_the_last_step_keeps_back_what_may_help(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of classes kept back only those must go whose rows leave the window; fewer rows are withheld then."""
        withheld = {}
        for every in (False, True):
            if every:

                def as_printed(out: Any, kept: Any, _step: int, form: Any, _last: bool = False) -> Any:
                    return advance(out, kept, 10, form)

                monkeypatch.setattr("tclose.stream.engine.advance", as_printed)
            withheld[every] = 0
            for seed in range(30):
                rng = np.random.default_rng(seed)
                n = 30 + 10 * int(rng.integers(1, 5)) + int(rng.integers(1, 10))
                rows = [(int(rng.random() < (0.1 if place < n - 10 else 0.9)),) for place in range(n)]
                schema = schema_of(["0.1"], k=2, values=2)
                engine = Engine(schema, window=30, step=10, seed=1)
                checked(engine, frame_of(rows, rng), schema, 30)
                withheld[every] += engine.counts["withheld"]
        assert withheld[False] < withheld[True]

    def test_as_many_as_can_be_are_released(self) -> None:
        """Of late rows of two values, one of which is far too frequent, some are close to the last window."""
        schema = schema_of(["0.1"], k=2)
        rows = [(0,), (3,)] * 20 + [(0,)] * 4 + [(3,)] * 16
        engine = Engine(schema, window=40, step=20, method=Halves(), seed=1)
        checked(engine, frame_of(rows, np.random.default_rng(1)), schema, 40)
        assert engine.counts["withheld"] < 12

    def test_fewer_rows_than_k(self) -> None:
        schema = schema_of(["0.5"], k=5)
        engine = Engine(schema, window=20, step=10, seed=1)
        checked(engine, frame_of([(0,)] * 4, np.random.default_rng(1)), schema, 20)
        assert engine.counts["withheld"] == 4

    def test_fewer_rows_than_a_window(self) -> None:
        schema = schema_of(["0.5"], k=2)
        engine = Engine(schema, window=20, step=10, seed=1)
        outcomes = checked(engine, frame_of([(0,), (1,)] * 6, np.random.default_rng(1)), schema, 20)
        assert [each.window.as_dict() for each in released(outcomes)] == [{"first": 0, "last": 11, "rows": 12}]

    def test_nothing_at_all(self) -> None:
        engine = Engine(schema_of(["0.5"]), window=20, step=10, seed=1)
        assert list(engine.finish()) == []
        assert list(engine.finish()) == []
        with pytest.raises(TableError, match="has ended"):
            list(engine.feed([{"age": 1, "s0": 1}]))


@for_seeds(30)
def test_everything_is_released_or_withheld(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = str(rng.choice(["0", "0.05", "0.2"]))
    schema = schema_of([t], k=int(rng.integers(1, 5)))
    n = int(rng.integers(0, 150))
    frame = frame_of(rows_of(rng, TEMPERS[seed % len(TEMPERS)], n, 4, 1), rng)
    checked(Engine(schema, window=40, step=10, method=Halves(), seed=1), frame, schema, 40)


class TestRejected:
    def test_reasons_name_columns_and_never_values(self) -> None:
        good = {"age": 30, "zip": "00100", "code": "010", "ward": "x", "day": "2024-01-01", "pay": 1, "ill": "flu"}
        wrong = {
            "age": "SECRET", "ward": "SECRET", "day": "SECRET", "pay": "SECRET", "code": "SECRET", "zip": {"SECRET": 1},
        }  # fmt: skip
        rows = [
            good,
            *(good | {name: value} for name, value in wrong.items()),
            good | {"SECRET": 1},
            good | {"pay": None},
        ]
        engine = Engine(MIXED, window=20, step=10, seed=1)
        outcomes = run(engine, rows)
        found = {int(number): each for outcome in outcomes for each in outcome.rejected for number in each.numbers}
        assert [found[number].column for number in range(1, 9)] == [*wrong, None, "pay"]
        assert not any("SECRET" in each.reason for each in found.values())
        assert engine.counts["rejected"] == 8

    def test_missing_by_policy(self) -> None:
        for policy, n in (("category", 0), ("drop", 3), ("error", 3), (None, 3)):
            keys: dict[str, Any] = {"missing": policy} if policy else {}
            schema = schema_of(["1"], k=2, **keys)
            frame = pl.DataFrame({"age": [1, None, None, None, *range(20)], "s0": [1] * 24})
            engine = Engine(schema, window=20, step=10, seed=1)
            checked(engine, frame, schema, 20)
            assert engine.counts["rejected"] == n

    def test_columns_that_are_not_those_of_the_schema(self) -> None:
        engine = Engine(schema_of(["1"]), window=20, step=10, seed=1)
        with pytest.raises(TableError, match="no role"):
            list(engine.feed(pl.DataFrame({"age": [1], "s0": [1], "more": [1]})))
        with pytest.raises(TableError, match="does not have"):
            list(engine.feed(pl.DataFrame({"age": [1]})))
        assert engine.position == 0

    def test_types_are_those_of_the_first_rows(self) -> None:
        engine = Engine(schema_of(["1"]), window=20, step=10, seed=1)
        outcomes = [*engine.feed(pl.DataFrame({"age": [1, 2], "s0": [1, 1]}))]
        outcomes += engine.feed(pl.DataFrame({"age": ["3", "x"], "s0": ["1", "1"]}))
        outcomes += engine.feed([{"age": 4, "s0": "0"}, {"age": 4.5, "s0": "0"}])
        assert [each.numbers.tolist() for outcome in outcomes for each in outcome.rejected] == [[3], [5]]
        (last,) = engine.finish()
        assert last.released[0].frame["s0"].dtype == pl.Int64


class TestRefused:
    @pytest.mark.parametrize(
        ("window", "step", "match"),
        [(25, 10, "multiple"), (0, 0, "multiple"), (4, 2, "longer step"), (20, 40, "multiple")],
    )
    def test_sizes(self, window: int, step: int, match: str) -> None:
        with pytest.raises(SchemaError, match=match):
            Engine(schema_of(["1"], k=3), window=window, step=step)

    @pytest.mark.parametrize(
        ("keys", "match"),
        [
            ({"unit": "person"}, "unit"),
            ({"keep": ["region"]}, "quasi-identifiers, or leave them out"),
            ({"joint": {"both": {"columns": ["s0", "s1"], "t": 0.2}}}, "order"),
        ],
    )
    def test_schemas(self, keys: dict[str, Any], match: str) -> None:
        sensitive = {"s0": {"distance": "equal", "t": 1}, "s1": {"distance": "equal", "t": 1}}
        schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": sensitive, **keys})
        with pytest.raises(SchemaError, match=match):
            Engine(schema, window=20, step=10)

    def test_methods_and_budgets(self) -> None:
        with pytest.raises(SchemaError, match="no method"):
            Engine(schema_of(["1"]), window=20, step=10, method="none")
        with pytest.raises(SchemaError, match="budget"):
            Engine(schema_of(["1"]), window=20, step=10, budget="mine")  # type: ignore[arg-type]


class TestCheckpoint:
    def test_damage_and_strangers(self) -> None:
        schema = schema_of(["1"])
        engine = Engine(schema, window=20, step=10, seed=1)
        list(engine.feed(frame_of([(0,)] * 15, np.random.default_rng(1))))
        data = engine.checkpoint()
        for wrong, match in ((b"x" + data, "not a checkpoint"), (data[:-9] + b"123456789", "damaged")):
            with pytest.raises(TableError, match=match):
                Engine.restore(schema, wrong)
        with pytest.raises(TableError, match="another schema"):
            Engine.restore(schema_of(["0.5"]), data)

    def test_a_method_of_ones_own(self) -> None:
        schema = schema_of(["0.2"])
        frame = frame_of([(0,), (3,)] * 40, np.random.default_rng(1))
        engine = Engine(schema, window=20, step=10, method=Halves(), seed=1)
        list(engine.feed(frame))
        again = Engine.restore(schema, engine.checkpoint(), method=Halves())
        assert told(list(again.finish())) == told(list(engine.finish()))

    def test_it_does_not_grow_with_the_stream(self) -> None:
        """Values come and go: what left the window is forgotten."""
        schema = Schema.from_dict(
            {"k": 2, "quasi": {"zip": {"kind": "text"}}, "sensitive": {"pay": {"distance": "numeric", "t": 0.5}}}
        )
        engine = Engine(schema, window=100, step=50, seed=1)
        sizes = []
        for number in range(60):
            rows = np.arange(number * 50, number * 50 + 50)
            list(engine.feed(pl.DataFrame({"zip": [f"{row:06}" for row in rows], "pay": rows % 1000})))
            sizes.append(len(engine.checkpoint()))
        assert max(sizes[30:]) < 1.1 * max(sizes[5:30])


class TestErrors:
    def test_an_error_of_the_method_changes_nothing(self) -> None:
        class Failing(Halves):
            def partition(self, table: Any, requirement: Any, **rest: Any) -> Any:
                raise SizeError("too large")

        schema = schema_of(["0.2"])
        frame = frame_of([(0,), (3,)] * 40, np.random.default_rng(1))
        engine = Engine(schema, window=20, step=10, method=Failing(), seed=1)
        for _ in range(2):
            with pytest.raises(SizeError):
                list(engine.feed(frame))
            assert engine.position == 0
        mended = Engine.restore(schema, engine.checkpoint(), method=Halves())
        right = Engine(schema, window=20, step=10, method=Halves(), seed=1)
        assert told(run(mended, frame)) == told(run(right, frame))


class TestReleased:
    def test_order_tells_nothing(self) -> None:
        """Rows of a class stand by their sensitive values, not as they came."""
        schema = schema_of(["1"], k=5)
        rng = np.random.default_rng(1)
        engine = Engine(schema, window=60, step=20, seed=1)
        outcomes = run(engine, frame_of([(int(value),) for value in rng.integers(0, 4, 200)], rng))
        for each in released(outcomes):
            for one in each:
                assert one.frame["s0"].is_sorted()
        starts = [int(one.numbers.min()) for each in released(outcomes) for one in each]
        assert starts != sorted(starts)

    def test_keep_and_bounds_and_identifiers(self) -> None:
        schema = Schema.from_dict(
            {
                "k": 2,
                "identifiers": ["name"],
                "keep": ["region"],
                "keep_unchecked": True,
                "quasi": {"age": {"kind": "numeric", "publish": "bounds", "bottom": 20, "top": 60, "step": 5}},
                "sensitive": {"ill": {"distance": "equal", "t": 1}},
            }
        )
        rng = np.random.default_rng(1)
        n = 100
        frame = pl.DataFrame(
            {
                "name": [f"person {row}" for row in range(n)],
                "region": rng.choice(["north", "south"], n),
                "age": rng.integers(10, 80, n),
                "ill": rng.choice(["flu", "cold"], n),
            }
        )
        outcomes = checked(Engine(schema, window=40, step=20, seed=1), frame, schema, 40)
        shown = released(outcomes)[0].frame
        assert shown.columns == ["region", "age_low", "age_high", "ill"]
        assert shown.schema["age_low"] == pl.String

    def test_the_certificate_of_the_stream(self) -> None:
        certificate = Engine(schema_of(["0.2"]), window=20, step=10, seed=12345).certificate()
        assert certificate["window"] == {"rows": 20, "step": 10}
        assert certificate["required"]["t"]["s0"]["exact"] == "1/5"
        assert "12345" not in repr(certificate)


def test_a_method_that_ends_by_the_clock_is_refused() -> None:
    """A replay must give the same classes."""
    keys = {"k": 2, "recode": "suppress", "quasi": {"x": {"kind": "categorical"}}}
    schema = Schema.from_dict({**keys, "sensitive": {"s": {"distance": "equal", "t": "0.5"}}})
    with pytest.raises(SchemaError, match="a replay of a stream"):
        Engine(schema, window=20, step=10, method="milp")
    Engine(schema, window=20, step=10, method="exact")
