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

from tclose.errors import VerificationError
from tclose.schema.schema import Schema
from tclose.stream import Checker, Engine, Outcome, Released, Window, claimed
from tests.stream.streams import Halves, frame_of, run, schema_of

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
