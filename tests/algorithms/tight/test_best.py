"""Effort `best` as a whole: what it keeps, how it ends, and that threads change nothing."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight import annealing
from tclose.algorithms.tight.tight import EFFORTS, Tight
from tclose.datasets import census
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read
from tclose.testing import AWKWARD, Case, check_method, run

BEST = Tight("best")
ALL = [case for case in AWKWARD if case.feasible]
# One for each kind of promise.
ASKED = (
    "all of l", "t, l, rise and enhanced beta", "caps on inner nodes", "k persons and t", "caps in persons", "a matrix",
    "a joint", "suppression", "all limits and weights at once", "some rows may be left out", "classify a kept column",
)  # fmt: skip


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rounds of few steps."""
    monkeypatch.setattr("tclose.algorithms.tight.cooling.FEW_ROUNDS", 3)
    monkeypatch.setattr("tclose.algorithms.tight.cooling.STEPS", 60.0)


def prepare(frame: pl.DataFrame, schema: Schema) -> tuple[EncodedTable, Requirement]:
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


@pytest.mark.slow
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", ASKED)
def test_every_promise_is_kept(name: str) -> None:
    check_method(BEST, next(case for case in ALL if case.name == name))


@pytest.mark.campaign
@pytest.mark.parametrize("case", ALL, ids=lambda case: str(case.name))
def test_every_promise_is_kept_in_full(case: Case) -> None:
    check_method(BEST, case)


@pytest.mark.usefixtures("short")
def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.tight.tight.SMALLEST", 150)
    monkeypatch.setattr("tclose.algorithms.tight.tight.LARGEST", 200)
    monkeypatch.setattr(annealing, "ROWS_AT_A_TIME", 170)
    monkeypatch.setattr(annealing, "STEPS_AT_A_TIME", 700)
    table, requirement = prepare(*census(330, seed=4))
    found: list[NDArray[np.int64]] = []
    for processors in (1, 3):
        monkeypatch.setattr("os.cpu_count", lambda processors=processors: processors)
        found.append(run(BEST, table, requirement).labels)
    assert requirement.holds_in_all(table, found[0])
    assert (found[0] == found[1]).all()


@pytest.mark.usefixtures("short")
def test_it_is_never_worse_than_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """However hot it was: what there was before is kept beside it."""
    monkeypatch.setattr(annealing, "HOTTEST", 1.0)
    monkeypatch.setattr("tclose.algorithms.tight.cooling.FALL", 1.0)
    table, requirement = prepare(*census(150, seed=1))
    annealed = table.loss(run(BEST, table, requirement).labels)
    monkeypatch.setitem(EFFORTS, "best", replace(EFFORTS["best"], rounds=3, annealed_after=0))
    assert annealed <= table.loss(run(BEST, table, requirement).labels)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that goes on by a thousandth of a second whenever someone looks."""
    looks, now = itertools.count(), [0.0]

    def look() -> float:
        now[0] = next(looks) / 1000
        return now[0]

    monkeypatch.setattr("tclose.algorithms.control.time", SimpleNamespace(monotonic=look))
    monkeypatch.setattr(annealing, "STEPS_AT_A_TIME", 500)
    return now


def test_all_of_the_time_is_used(clock: list[float]) -> None:
    """Until the clock says so, and hardly a look longer, in whatever phase it is then."""
    table, requirement = prepare(*census(150, seed=2))
    losses = []
    for seconds in (0.05, 0.3, 0.9):
        control, began = Control(seconds), clock[0]
        partition = BEST.partition(table, requirement, rng=np.random.default_rng(1), control=control)
        assert requirement.holds_in_all(table, partition.labels)
        assert partition.facts == {"stopped_early": True}
        assert seconds < clock[0] - began < seconds + 0.1
        losses.append(table.loss(partition.labels))
    assert losses[2] < losses[0]


@pytest.mark.parametrize(("k", "ages"), [(2, 10), (40, 60)])
def test_it_ends_where_nothing_can_be_better(k: int, ages: int, clock: list[float]) -> None:
    """Every row loses nothing, or there can be one class alone."""
    rows: dict[str, Any] = {"age": np.arange(60) % ages, "ill": np.arange(60) // 30}
    keys = {"k": k, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    table, requirement = prepare(pl.DataFrame(rows), Schema.from_dict(keys))
    partition = BEST.partition(table, requirement, rng=np.random.default_rng(1), control=Control(50))
    assert partition.facts == {}
    assert partition.n_classes == (10 if k == 2 else 1)
    assert clock[0] < 10


def test_blocks_share_the_time(clock: list[float]) -> None:
    """Where `coarsest` keeps rows apart, each group is annealed: the first does not use up all of the time."""
    frame = census(160, seed=1)[0].select("age", "sex", "salary")
    quasi = {"age": {"kind": "numeric"}, "sex": {"kind": "categorical", "coarsest": 0}}
    schema = Schema.from_dict({"k": 3, "quasi": quasi, "sensitive": {"salary": {"distance": "ordered", "t": 0.4}}})
    table, requirement = prepare(frame, schema)
    found = BEST.partition(table, requirement, rng=np.random.default_rng(1), control=Control(0.8))
    assert requirement.holds_in_all(table, found.labels)
    assert table.loss(found.labels) <= table.loss(run(Tight(), table, requirement).labels)
