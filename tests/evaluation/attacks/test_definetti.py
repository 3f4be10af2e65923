"""The learners against slow ones, on tables where they must succeed, and where they must not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import tclose
from tclose.distances import Equal, Ordered
from tclose.evaluation.attacks import row_learner
from tclose.evaluation.attacks.box_learner import ROUNDS, ROWS_MORE, Stretches, guess, learn
from tclose.evaluation.attacks.definetti import MOST_VALUES, by_frequency, definetti, grouped_values, unlearned
from tclose.schema.schema import Schema
from tclose.table.classes import Tally
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read
from tests.oracles import attacks as oracle
from tests.seeds import for_seeds


def small(seed: int) -> tuple[Tally, NDArray[np.int64], list[Stretches]]:
    """Random classes with boxes around their rows on two axes."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 30)), int(rng.integers(1, 5))
    labels = np.unique(rng.integers(0, 5, n), return_inverse=True)[1].astype(np.int64)
    axes = []
    for size in rng.integers(1, 6, 2).tolist():
        places = rng.integers(0, size, n)
        low = np.array([places[labels == label].min() for label in range(labels.max() + 1)])
        high = np.array([places[labels == label].max() for label in range(labels.max() + 1)])
        axes.append(Stretches(size, places, low, high))
    return by_frequency(Tally.of(labels, rng.integers(0, m, n).astype(np.int32), m)), labels, axes


def counted(tally: Tally) -> list[dict[int, int]]:
    found: list[dict[int, int]] = [{} for _ in tally.sizes]
    for owner, code, count in zip(tally.owner, tally.code, tally.count, strict=True):
        found[owner][int(code)] = int(count)
    return found


@for_seeds(100)
def test_what_is_learned_from_boxes(seed: int) -> None:
    tally, labels, axes = small(seed)
    m, counts, shares, boxes = len(tally.reference), counted(tally), [], []
    for axis in axes:
        boxes.append(list(zip(axis.low.tolist(), axis.high.tolist(), strict=True)))
        shares.append(oracle.fitted(boxes[-1], counts, axis.size, m, ROUNDS, ROWS_MORE))
        assert learn(tally, axis) == pytest.approx(np.array(shares[-1]))
        assert learn(tally, axis).sum(axis=1) == pytest.approx(np.ones(m))
    places = [axis.places.tolist() for axis in axes]
    wanted = oracle.likeliest(boxes, counts, shares, labels.tolist(), places)
    assert guess(tally, labels, axes).tolist() == wanted


@for_seeds(60)
def test_values_are_dealt_out_as_published(seed: int) -> None:
    """The weights of a row sum to one, those of a value to its rows, and they are a(r) b(c, v) times the chances."""
    rng = np.random.default_rng(seed)
    n_rows, n_values = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    expected = rng.multinomial(n_rows, np.full(n_values, 1 / n_values)).astype(float)
    kept = np.flatnonzero(expected)
    row, entry = np.repeat(np.arange(n_rows), len(kept)), np.tile(np.arange(len(kept)), n_rows)
    chances = rng.uniform(0.5, 1, len(row))
    weights = row_learner._dealt(chances, row, entry, expected[kept]).reshape(n_rows, len(kept))
    assert weights.sum(axis=1) == pytest.approx(np.ones(n_rows))
    assert weights.sum(axis=0) == pytest.approx(expected[kept], rel=0.01)
    odds = weights / chances.reshape(weights.shape)
    assert odds[:, :1] * odds[:1] == pytest.approx(odds * odds[0, 0])


def encoded(columns: dict[str, Any], kinds: tuple[str, ...] = ("a", "b")) -> EncodedTable:
    schema = Schema.from_dict(
        {
            "k": 2,
            "quasi": {name: {"kind": "numeric"} for name in kinds},
            "sensitive": {"s": {"distance": "equal", "t": 0.5}},
        }
    )
    return encode(read(pl.DataFrame(columns)), schema)


def by_site(n: int, seed: int) -> tuple[EncodedTable, NDArray[np.int64]]:
    """A job decides the sensitive value, sites are classes, and jobs are spread unevenly over sites."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, 20, n)
    likely = rng.uniform(0.2, 0.8, 20)[site]
    job = (rng.random(n) < likely).astype(int)
    table = encoded({"a": site, "b": job, "s": np.where(job, "yes", "no")})
    return table, np.unique(site, return_inverse=True)[1].astype(np.int64)


@for_seeds(5)
def test_who_has_everyones_jobs_finds_the_value_that_goes_with_them(seed: int) -> None:
    # Every class is at most 0.3 or so from the table, and yet nearly all rows are guessed.
    table, labels = by_site(2000, seed)
    found = definetti(table, labels, 0)
    assert found.right_with_rows > 0.85
    assert found.gain_with_rows > 0.2


@for_seeds(5)
def test_boxes_tell_where_they_overlap(seed: int) -> None:
    """The upper half of an axis has one value, the lower the other; every class is a window of it."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(400), 10)
    place = (rng.integers(0, 5, 400)[:, None] + rng.integers(0, 6, (400, 10))).ravel()
    table = encoded({"a": place, "b": rng.integers(0, 3, 4000), "s": np.where(place >= 5, "yes", "no")})
    found = definetti(table, labels, 0)
    assert found.of_class < 0.8
    assert found.gain > 0.05
    assert found.gain_with_rows > 0.1


@for_seeds(5)
def test_where_nothing_goes_together_nothing_is_gained(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 3000
    columns = {"a": rng.integers(0, 10, n), "b": rng.integers(0, 10, n), "s": rng.choice(["x", "y", "z"], n)}
    table = encoded(columns)
    labels = np.unique(columns["a"] // 2, return_inverse=True)[1].astype(np.int64)
    found = definetti(table, labels, 0)
    assert abs(found.gain) < 0.03
    assert abs(found.gain_with_rows) < 0.03


@for_seeds(30)
def test_one_class_teaches_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    table = encoded({"a": rng.integers(0, 9, n), "b": rng.integers(0, 2, n), "s": rng.choice(["x", "y", "z"], n)})
    found = definetti(table, np.zeros(n, np.int64), 0)
    assert found.gain == found.gain_with_rows == 0
    assert found.of_table == found.of_class


@for_seeds(30)
def test_rows_that_are_alike_cannot_be_told_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 80
    table = encoded({"a": rng.integers(0, 4, n), "b": rng.integers(0, 2, n), "s": rng.choice(["x", "y", "z"], n)})
    labels = np.unique(np.stack(table.places), axis=1, return_inverse=True)[1].ravel().astype(np.int64)
    assert definetti(table, labels, 0) == unlearned(table, labels, 0)


def test_too_many_pairs_are_drawn_by_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    table, labels = by_site(2000, 1)
    monkeypatch.setattr(row_learner, "MOST_PAIRS", 1000)
    first, again, other = (definetti(table, labels, 0, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first.right_with_rows != other.right_with_rows
    assert min(first.right_with_rows, other.right_with_rows) > 0.75


def test_a_long_line_is_guessed_by_stretches() -> None:
    codes = np.repeat(np.arange(1000), 3).astype(np.int32)
    groups, size = grouped_values(Ordered().form(1000), codes)
    assert size == MOST_VALUES
    assert (np.diff(groups) >= 0).all()
    assert np.ptp(np.bincount(groups)) <= 3
    assert grouped_values(Equal().form(1000), codes)[1] == 1000


def test_a_release_of_the_census() -> None:
    frame, schema = tclose.datasets.census(3000, seed=2)
    release = tclose.anonymize(frame, schema, method="mondrian", seed=2)
    found = tclose.attack(frame, release)
    assert found.after is not None
    told = found.after.definetti["salary"]
    assert found.before.definetti["salary"].right > told.right_with_rows > told.of_table
    table = encode(read(frame), schema)
    assert definetti(table, release.classes, 0) == told
