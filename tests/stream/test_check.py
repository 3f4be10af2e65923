"""The checker objects to every change that breaks the promise or the truth."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.errors import SchemaError, TableError, VerificationError
from tclose.schema.schema import Schema
from tclose.stream import Checker, Engine, Outcome, Released, Window, claimed
from tests.fuzz.cases import make_case
from tests.fuzz.forms import arrow
from tests.fuzz.forms import written as cell_text
from tests.seeds import for_seeds
from tests.small_tables import small_table
from tests.stream.streams import Halves, frame_of, passed, run, schema_of

SCHEMA = schema_of(["0.2"], k=3, values=4)
WINDOW = 60


@cache
def stream() -> tuple[pl.DataFrame, list[Outcome]]:
    rng = np.random.default_rng(4)
    frame = frame_of([(int(value),) for value in rng.integers(0, 4, 200)], rng)
    return frame, run(Engine(SCHEMA, window=WINDOW, step=20, method=Halves(), seed=2), frame)


def replayed(outcomes: list[Outcome], schema: Schema = SCHEMA) -> dict[str, int]:
    checker = Checker(schema, WINDOW)
    checker.take_in(stream()[0])
    for outcome in outcomes:
        checker.check(outcome)
    return checker.finish()


def mutated(change: Callable[[Released], Released], place: int = 1) -> list[Outcome]:
    outcomes = list(stream()[1])
    (only,) = outcomes[place].released
    outcomes[place] = Outcome((change(only),))
    return outcomes


def with_cell(released: Released, column: str, row: int, value: Any) -> Released:
    cells = released.frame[column].to_list()
    cells[row] = value
    return replace(released, frame=released.frame.with_columns(pl.Series(column, cells)))


def taken(released: Released, rows: list[int]) -> Released:
    return replace(released, frame=released.frame[rows], classes=released.classes[rows], numbers=released.numbers[rows])


def test_it_passes_what_is_right() -> None:
    assert replayed(stream()[1])["released"] == 200


def test_it_passes_what_was_written_and_read_back() -> None:
    outcomes = []
    for outcome in stream()[1]:
        (only,) = outcome.released
        entries = json.loads(json.dumps([only.entry(place) for place in range(len(only))]))
        outcomes.append(Outcome((replace(only, loss=0.0, distances=claimed(entries)),)))
    assert replayed(outcomes)["released"] == 200


def moved(released: Released) -> Released:
    """The first row of the second class goes into the first, as it looks there."""
    classes = released.classes.copy()
    second = int(np.argmax(classes != classes[0]))
    classes[second] = classes[0]
    changed = with_cell(replace(released, classes=classes), "age", second, released.frame["age"][0])
    order = np.argsort(changed.classes, kind="stable").tolist()
    return taken(changed, order)


MUTANTS: dict[str, tuple[Callable[[Released], Released], str]] = {
    "a row in another class": (moved, "cover|ledger|farther|rows, and k"),
    "a row dropped": (lambda each: taken(each, list(range(1, len(each.frame)))), "ledger|rows, and k|neither"),
    "a row twice": (lambda each: taken(each, [0, *range(len(each.frame))]), "before"),
    "a sensitive value altered": (lambda each: with_cell(each, "s0", 0, (each.frame["s0"][0] + 1) % 4), "s0"),
    "a row that does not look like its class": (lambda each: with_cell(each, "age", 0, "*"), "agree"),
    "an age that covers nobody": (
        lambda each: replace(each, frame=each.frame.with_columns(age=pl.lit("[1, 2]"))),
        "cover",
    ),
    "numbers of other rows": (lambda each: replace(each, numbers=np.roll(each.numbers, 1)), "s0|cover"),
    "a window elsewhere": (lambda each: replace(each, window=Window(1, 60, 60)), "window|ledger"),
    "a longer window": (
        lambda each: replace(each, window=replace(each.window, last=each.window.last + 1, rows=61)),
        "60",
    ),
    "a window that is miscounted": (lambda each: replace(each, window=replace(each.window, rows=59)), "as is said"),
    "class numbers anew": (lambda each: replace(each, classes=each.classes - each.classes.min()), "number"),
    "a column more": (lambda each: replace(each, frame=each.frame.with_columns(more=pl.lit(1))), "columns"),
    "no distances": (lambda each: replace(each, distances={}), "ledger"),
    "no diversity": (lambda each: replace(each, diversity={}), "how diverse"),
    "nothing asked": (lambda each: replace(each, required={}), "what was asked"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants(name: str) -> None:
    change, match = MUTANTS[name]
    with pytest.raises(VerificationError, match=match):
        replayed(mutated(change))


def test_an_outcome_left_out() -> None:
    with pytest.raises(VerificationError, match="neither"):
        replayed(list(stream()[1])[1:])
    with pytest.raises(VerificationError, match="neither"):
        replayed(list(stream()[1])[:-1])


def test_an_outcome_twice() -> None:
    outcomes = stream()[1]
    with pytest.raises(VerificationError, match="released, rejected or withheld before"):
        replayed([outcomes[0], *outcomes])


def test_classes_too_far_and_too_small() -> None:
    """The same stream under a stricter promise."""
    outcomes = stream()[1]
    for schema, match in ((schema_of(["0.02"], k=3), "farther"), (schema_of(["0.2"], k=9), "and k is")):
        with pytest.raises(VerificationError, match=match):
            replayed(outcomes, schema)


def test_a_short_window_ends_the_stream() -> None:
    rng = np.random.default_rng(1)
    frame = frame_of([(0,), (1,), (2,)] * 4, rng)
    checker = Checker(SCHEMA, WINDOW)
    checker.take_in(frame)
    for outcome in run(Engine(SCHEMA, window=WINDOW, step=20, method=Halves(), seed=2), frame):
        checker.check(outcome)
    with pytest.raises(VerificationError, match="before the stream ended"):
        checker.take_in(frame)


def checked(schema: Schema, given: Any, window: int, step: int, method: Any = "mondrian") -> list[Outcome]:
    """What comes out of a stream, which the checker has passed."""
    outcomes = run(Engine(schema, window=window, step=step, method=method, seed=1), given)
    passed(schema, given, window, outcomes)
    return outcomes


@for_seeds(40)
def test_what_the_engine_releases_passes_in_every_type(seed: int) -> None:
    """Typed columns, the same as mappings, and as text: every kind, distance, recoding and demand."""
    case = make_case(seed)
    keys = {name: value for name, value in case.schema.items() if name != "unit"}
    try:
        schema = Schema.from_dict({**keys, **({"keep_unchecked": True} if "keep" in keys else {})})
    except SchemaError:
        return  # some are made to be refused
    table = pl.from_arrow(arrow(case))
    assert isinstance(table, pl.DataFrame)
    frame = table.drop("unit", strict=False)
    texts = [{c.name: cell_text(c.cells[row]) for c in case.columns if c.name != "unit"} for row in range(len(frame))]
    for given in (frame, frame.to_dicts(), texts):
        try:
            checked(schema, given, 10, 5)
        except (SchemaError, TableError):
            return  # what a stream does not take


def test_rows_withheld_with_a_later_window() -> None:
    """At the end a step and the end come out together: what the step withholds has left the last window."""
    frame, schema = small_table(129, most=40)
    outcomes = checked(schema, frame, 10, 5)
    assert any(outcome.withheld and outcome.released for outcome in outcomes)


class TestMeans:
    SCHEMA = Schema.from_dict(
        {
            "k": 3,
            "missing": "category",
            "quasi": {"age": {"kind": "numeric", "publish": "mean", "top": 80}, "zip": {"kind": "text"}},
            "sensitive": {"ill": {"distance": "equal", "t": 1}},
        }
    )

    def rows(self) -> list[dict[str, Any]]:
        rng = np.random.default_rng(1)
        ages = [None if rng.random() < 0.1 else int(age) for age in rng.integers(18, 95, 120)]
        return [
            {"age": age, "zip": f"{int(rng.integers(0, 40)):03}", "ill": str(rng.choice(["flu", "cold"]))}
            for age in ages
        ]

    def test_they_are_computed_again(self) -> None:
        outcomes = checked(self.SCHEMA, self.rows(), 40, 20)
        (first,) = outcomes[0].released
        for change in (0.01, 1, -20):
            shown = first.frame["age"].to_list()
            place = next(place for place, each in enumerate(shown) if each not in (None, "*"))
            number = first.classes[place]
            altered = [
                f"{float(each) + change:.2f}" if one == number and each not in (None, "*") else each
                for each, one in zip(shown, first.classes.tolist(), strict=True)
            ]
            wrong = replace(first, frame=first.frame.with_columns(age=pl.Series(altered)))
            with pytest.raises(VerificationError, match="something else than the mean of its class"):
                passed(self.SCHEMA, self.rows(), 40, [replace(outcomes[0], released=(wrong,)), *outcomes[1:]])

    def test_each_class_has_its_own(self) -> None:
        """Two classes that are released alike, one too low and the other too high: together they would be right."""
        schema = Schema.from_dict(
            {
                "k": 2,
                "quasi": {"age": {"kind": "numeric", "publish": "mean"}},
                "sensitive": {"ill": {"distance": "equal", "t": 1}},
            }
        )
        frame = pl.DataFrame({"age": [10, 10, 30, 30], "ill": ["flu", "cold"] * 2})
        outcomes = checked(schema, frame, 4, 4)
        (first,) = outcomes[0].released
        assert len(first) == 2
        wrong = replace(first, frame=first.frame.with_columns(age=pl.lit("20")))
        with pytest.raises(VerificationError, match="mean of its class"):
            passed(schema, frame, 4, [Outcome((wrong,))])


def unjudged(patch: pytest.MonkeyPatch) -> None:
    """Let the engine release what it has not judged, so that the checker gets to see it."""
    for name in ("check_formed", "check_kept_back", "check_shown"):
        patch.setattr(f"tclose.stream.engine.{name}", lambda *_given: None)


class TestSharesNothing:
    """A mistake in what the engine measures or reads with is found before anything is released, and by the checker."""

    def test_recoding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tclose.release import recode

        rng = np.random.default_rng(3)
        frame = frame_of([(int(value),) for value in rng.integers(0, 4, 200)], rng)
        right = recode._by_class

        def first_end(axis: Any, span: Any, texts: bool) -> pl.Series:
            return right(axis, (span[0], span[0]), texts)

        monkeypatch.setattr(recode, "_by_class", first_end)
        with pytest.raises(VerificationError, match="is not true of the input"):
            run(Engine(SCHEMA, window=WINDOW, step=20, method=Halves(), seed=2), frame)

    def test_diversity(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tclose.stream.diversity_by_class import diversity_by_class as right

        rng = np.random.default_rng(3)
        frame = frame_of([(int(value),) for value in rng.integers(0, 4, 200)], rng)
        wrong = "tclose.stream.view.diversity_by_class"
        monkeypatch.setattr(wrong, lambda codes, *rest: right(codes // 2, *rest))
        with pytest.raises(VerificationError, match="'s0': a certificate would not say how diverse"):
            run(Engine(SCHEMA, window=WINDOW, step=20, method=Halves(), seed=2), frame)

    def test_distances(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tclose.table import class_distances

        terms = class_distances._line_terms
        rng = np.random.default_rng(3)
        frame = frame_of([(int(value),) for value in rng.integers(0, 4, 200)], rng)

        def halved(*arguments: Any) -> Any:
            a, b = terms(*arguments)
            return a // 2, b // 2

        monkeypatch.setattr(class_distances, "_line_terms", halved)
        engine = Engine(SCHEMA, window=WINDOW, step=20, method=Halves(), seed=2)
        before = engine.checkpoint()
        with pytest.raises(VerificationError, match=r"'s0': classes are at other distances .* nothing is released"):
            run(engine, frame)
        assert engine.position == 0 or engine.counts["released"] == 0
        unjudged(monkeypatch)
        outcomes = run(Engine.restore(SCHEMA, before, Halves()), frame)
        with pytest.raises(VerificationError, match=r"ledger does not say|farther"):
            passed(SCHEMA, frame, WINDOW, outcomes)

    def test_rows_of_classes_that_were_kept_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each is released without one of its rows: of k rows still, but at another distance than was measured."""
        from tclose.stream.windows import advance as right

        schema = schema_of(["0.1"], k=2)

        def one_less(*arguments: Any) -> Any:
            done = right(*arguments)
            if done.case != 3:
                return done
            released = done.released.copy()
            for label in np.unique(released[released >= 0]):
                rows = np.flatnonzero(released == label)
                if len(rows) > schema.k:
                    released[rows[-1]] = -1
            return replace(done, released=released)

        frame = frame_of([(0,)] * 100 + [(3,)] * 100, np.random.default_rng(1))
        monkeypatch.setattr("tclose.stream.engine.advance", one_less)
        with pytest.raises(VerificationError, match="has other rows than when it was measured"):
            run(Engine(schema, window=100, step=20, seed=1), frame)

    def test_reading(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Dates of 9999 taken for those of 1816, as they once were."""
        from tclose.table.times import rank_times

        keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}}
        schema = Schema.from_dict({**keys, "sensitive": {"until": {"distance": "ordered", "t": "0.5"}}})
        rng = np.random.default_rng(3)
        values = ["2020-01-01", "2021-01-01", "9999-12-31"]
        frame = pl.DataFrame({"age": rng.integers(18, 90, 80), "until": rng.choice(values, 80)})
        checked(schema, frame, 20, 20)

        def wrapped(values: pl.Series) -> pl.Series | None:
            return rank_times(values.replace("9999-12-31", "1816-01-01"))

        monkeypatch.setattr("tclose.table.sensitive.rank_times", wrapped)
        with pytest.raises(VerificationError, match="'until': classes are at other distances"):
            run(Engine(schema, window=20, step=20, method="mondrian", seed=1), frame)
        unjudged(monkeypatch)
        outcomes = run(Engine(schema, window=20, step=20, method="mondrian", seed=1), frame)
        with pytest.raises(VerificationError, match=r"ledger does not say|farther"):
            passed(schema, frame, 20, outcomes)
