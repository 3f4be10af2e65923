"""SABRE_W against the printed algorithm, and what the paper proves of it."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from tclose.stream import Engine, Outcome
from tclose.stream.windows import NOWHERE, advance
from tests.oracles.stream import Row, Turn, distances, halves, sabre_w
from tests.seeds import for_seeds
from tests.stream.streams import TEMPERS, Halves, frame_of, released, rows_of, schema_of

VALUES = 4


def random_stream(seed: int) -> tuple[list[Row], dict[str, Any], np.random.Generator]:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 4))
    step = int(rng.integers(k, k + 5))
    omega = step * int(rng.integers(1, 7))
    ts = [str(t) for t in rng.choice(["0", "0.05", "0.1", "0.2", "0.4"], int(rng.integers(1, 3)))]
    rows = rows_of(rng, TEMPERS[seed % len(TEMPERS)], int(rng.integers(omega, 5 * omega + 10)), VALUES, len(ts))
    return rows, {"k": k, "step": step, "window": omega, "ts": ts}, rng


@cache
def both(seed: int) -> tuple[list[Turn], list[Outcome], Engine, list[Row], dict[str, Any]]:
    """The oracle's turns, and the engine's outcomes for the same stream, the end left out."""
    rows, given, rng = random_stream(seed)
    k, ts, sizes = given["k"], [Fraction(t) for t in given["ts"]], [VALUES] * len(given["ts"])
    turns, _, _ = sabre_w(
        rows, given["window"], given["step"], k, ts, sizes, lambda part, left: halves(part, left, k, sizes)
    )
    engine = Engine(schema_of(given["ts"], k), window=given["window"], step=given["step"], method=Halves(), seed=seed)
    return turns, list(engine.feed(frame_of(rows, rng))), engine, rows, given


@for_seeds(40)
def test_it_is_the_printed_algorithm(seed: int) -> None:
    _check_same(seed)


def _check_same(seed: int) -> None:
    turns, outcomes, engine, _, given = both(seed)
    busy = [turn for turn in turns if turn.groups]
    assert len(busy) == len(outcomes)
    for turn, outcome in zip(busy, outcomes, strict=True):
        assert not outcome.rejected
        assert not outcome.withheld
        (found,) = outcome.released
        assert found.case == {2: "direct", 3: "indirect"}[turn.case]
        assert found.window.as_dict() == {
            "first": turn.window, "last": (turn.window or 0) + given["window"] - 1, "rows": given["window"]
        }  # fmt: skip
        assert {frozenset(each.numbers.tolist()) for each in found} == {frozenset(group) for group in turn.groups}
    assert [engine.counts[f"case_{case}"] for case in (1, 2, 3)] == [
        sum(turn.case == case for turn in turns) for case in (1, 2, 3)
    ]


@for_seeds(40)
def test_lemmas_and_theorems(seed: int) -> None:
    """Lemmas 3 and 4, theorems 5 and 6, over the printed algorithm and so over ours."""
    _check_theorems(seed)


@pytest.mark.slow
@for_seeds(300)
def test_more_streams(seed: int) -> None:
    _check_same(seed + 1000)
    _check_theorems(seed + 1000)


def _check_theorems(seed: int) -> None:
    turns, outcomes, _, rows, given = both(seed)
    omega, step, sizes = given["window"], given["step"], [VALUES] * len(given["ts"])
    out: set[int] = set()
    since_direct: list[int] | None = None
    for number, turn in enumerate(turns):
        expiring = set(range(number * step, (number + 1) * step)) - out
        if turn.case == 3:
            assert omega > step  # "if INDIRECT is applied, then j > 1"
            assert since_direct is not None  # lemma 4
            assert 3 not in since_direct  # lemma 3
            assert expiring <= {x for group in turn.groups for x in group}  # theorem 5
            assert turn.window is not None
            assert turn.window + omega >= (number + 1) * step  # lemma 2: what expires lies in that window
        since_direct = [] if turn.case == 2 else None if since_direct is None else [*since_direct, turn.case]
        out |= {x for group in turn.groups for x in group}
        assert out >= set(range((number + 1) * step))  # theorem 6: the expiring constraint
    seen: list[int] = []
    for each in released(outcomes):  # theorem 6: definition 6, from the rows themselves
        window = rows[each.window.first : each.window.last + 1]
        for at, one in enumerate(each):
            seen += one.numbers.tolist()
            assert len(one.numbers) >= given["k"]
            assert all(each.window.first <= number <= each.window.last for number in one.numbers)
            found = distances([rows[number] for number in one.numbers], window, sizes)
            assert all(d <= Fraction(t) for d, t in zip(found, given["ts"], strict=True))
            exact = [Fraction(each.entry(at)["t"][f"s{place}"]["exact"]) for place in range(len(sizes))]
            assert exact == found
    assert len(seen) == len(set(seen))


def test_all_cases_are_met() -> None:
    """The random streams above would prove little if they left one out."""
    counts = np.zeros(4, int)
    for seed in range(40):
        for turn in both(seed)[0]:
            counts[turn.case] += 1
    assert counts[1] > 20
    assert counts[2] > 20
    assert counts[3] > 2


class TestAdvance:
    """Each case, forced."""

    def test_case_1_when_all_that_expires_is_out(self) -> None:
        out, kept = np.array([True, True, False, False]), np.array([-1, -1, 0, 0])
        done = advance(out, kept, 2, lambda rows: pytest.fail("nothing is to be formed"))
        assert done.case == 1
        assert (done.released == NOWHERE).all()
        assert done.kept is kept

    def test_case_2_keeps_classes_without_expiring_rows(self) -> None:
        out, kept = np.array([True, False, False, False, False]), np.full(5, NOWHERE)
        done = advance(out, kept, 2, lambda rows: np.array([1, 0, 1, 0]))
        assert (done.case, done.released.tolist(), done.kept.tolist()) == (2, [-1, 0, -1, 0, -1], [-1, -1, 0, -1, 0])

    def test_case_2_forgets_what_was_kept(self) -> None:
        done = advance(np.zeros(4, bool), np.array([-1, -1, 7, 7]), 2, lambda rows: np.zeros(4, int))
        assert (done.case, done.released.tolist(), done.kept.tolist()) == (2, [0] * 4, [-1] * 4)

    def test_case_3_releases_all_that_was_kept(self) -> None:
        done = advance(np.zeros(4, bool), np.array([0, 1, 0, 1]), 1, lambda rows: None)
        assert (done.case, done.released.tolist(), done.kept.tolist()) == (3, [0, 1, 0, 1], [-1] * 4)
        assert not done.stuck.any()

    def test_case_3_names_rows_that_are_in_no_class(self) -> None:
        done = advance(np.zeros(4, bool), np.array([0, -1, 0, -1]), 2, lambda rows: None)
        assert done.stuck.tolist() == [False, True, False, False]
