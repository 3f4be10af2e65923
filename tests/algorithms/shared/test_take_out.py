"""Taking rows out: the rows taken are the nearest, whatever index finds them."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.sabre.bucket_sizes import class_sizes
from tclose.algorithms.shared.along import take_along
from tclose.algorithms.shared.buckets import Buckets, bucketize
from tclose.algorithms.shared.class_sizes import ClassSizes, looks
from tclose.algorithms.shared.curve import hilbert_keys, key_bits
from tclose.algorithms.shared.nearest import take_nearest
from tclose.datasets import census
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read
from tests.oracles import sabre as oracle
from tests.seeds import for_seeds

Run = tuple[EncodedTable, Buckets, NDArray[np.int32], ClassSizes]


def random_run(seed: int, most: int = 300) -> Run:
    """A table whose coordinates are sixteenths, so that distances are exact, and the class sizes for some t and k."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most))
    wide = rng.integers(0, 17, n)
    wide[:2] = [0, 16][: len(wide[:2])]
    columns: dict[str, list[Any]] = {
        "a": wide.tolist(),
        "b": rng.choice([0, 16, *rng.integers(0, 17, 3)], n).tolist(),
        "c": [f"{letter:02}" for letter in rng.integers(0, 17, n)],
        "s": rng.integers(0, int(rng.integers(2, 9)), n).tolist(),
    }
    names = [f"{letter:02}" for letter in range(17)]
    schema = Schema.from_dict(
        {
            "k": 1,
            "quasi": {
                "a": {"kind": "numeric", "range": [0, 16]},
                "b": {"kind": "numeric", "range": [0, 16]},
                "c": {"kind": "categorical", "hierarchy": {"low": names[:8], "high": names[8:]}},
            },
            "sensitive": {"s": {"distance": "ordered", "t": 0.3}},
        }
    )
    table = encode(read(pl.DataFrame(columns)), schema)
    t = Fraction(int(rng.integers(1, 30)), 40)
    buckets = bucketize(table.domains[0].form, np.bincount(table.codes[0], minlength=table.domains[0].size), t)
    return table, buckets, buckets.of_code[table.codes[0]], class_sizes(buckets, t, int(rng.integers(1, 8)))


def classes_of(labels: NDArray[np.int64], seeds: NDArray[np.int64]) -> list[tuple[int, list[int]]]:
    return [(int(seed), np.flatnonzero(labels == number).tolist()) for number, seed in enumerate(seeds)]


def sixteenths(table: EncodedTable) -> list[tuple[int, ...]]:
    columns = [axis.coordinates[places] * 16 for axis, places in zip(table.axes, table.places, strict=True)]
    return [tuple(map(int, point)) for point in np.stack(columns, axis=1)]


@for_seeds(120)
def test_the_exact_neighbours_are_the_nearest(seed: int) -> None:
    table, _, owners, sizes = random_run(seed)
    labels, seeds = take_nearest(table, owners, sizes, seed, Control())
    points = [(*point,) for point in sixteenths(table)]
    found = oracle.take_out_is_nearest(points, owners.tolist(), classes_of(labels, seeds), oracle.squared_euclidean)
    assert found is None
    check_sizes(labels, owners, sizes)


def loss_of_two(a: tuple[int, ...], b: tuple[int, ...]) -> Fraction:
    """What a class of two rows of `random_run` loses, in thirds: 8 of 17 leaves are one subtree, the others another."""
    lines = Fraction(abs(a[0] - b[0]) + abs(a[1] - b[1]), 16)
    if a[2] == b[2]:
        return lines
    below = {(True, True): 8, (False, False): 9}.get((a[2] < 8, b[2] < 8), 17)
    return lines + Fraction(below, 17)


@for_seeds(120, tested=20)
def test_the_neighbours_by_loss_are_those_that_lose_least(seed: int) -> None:
    table, _, owners, sizes = random_run(seed)
    labels, seeds = take_nearest(table, owners, sizes, seed, Control(), by_loss=True)
    letters = [int(table.axes[2].hierarchy.labels[node]) for node in table.axes[2].leaves]  # type: ignore[union-attr]
    points = [(a, b, letters[place]) for (a, b, _), place in zip(sixteenths(table), table.places[2], strict=True)]
    found = oracle.take_out_is_nearest(points, owners.tolist(), classes_of(labels, seeds), loss_of_two)
    assert found is None
    check_sizes(labels, owners, sizes)


@for_seeds(120)
def test_the_approximate_neighbours_are_the_next_along_the_curve(seed: int) -> None:
    table, buckets, owners, sizes = random_run(seed)
    labels, seeds = take_along(table, owners, sizes, seed, Control())
    n_rows = max(int(len(table) - 1).bit_length(), 1)
    keys = hilbert_keys(table, key_bits(table, 63 - n_rows - int(len(buckets) - 1).bit_length())).tolist()
    found = oracle.take_out_is_nearest(keys, owners.tolist(), classes_of(labels, seeds), oracle.key_gap)
    assert found is None
    check_sizes(labels, owners, sizes)


@for_seeds(12)
def test_large_classes_take_the_nearest_too(seed: int) -> None:
    """A few classes of hundreds of rows, of one bucket and of two; the last takes all that is left."""
    table, _, _, _ = random_run(seed, 900)
    n = len(table)
    owners = np.arange(n, dtype=np.int32) % (1 + seed % 2)
    counts = np.bincount(owners)
    first, second = counts // 2, counts // 3
    kinds = np.array([kind for kind in (first, second, counts - first - second) if kind.any()])
    sizes = ClassSizes(kinds, np.arange(len(kinds), dtype=np.int32))
    labels, seeds = take_nearest(table, owners, sizes, seed, Control())
    found = oracle.take_out_is_nearest(
        sixteenths(table), owners.tolist(), classes_of(labels, seeds), oracle.squared_euclidean
    )
    assert found is None
    check_sizes(labels, owners, sizes)


def test_one_class_of_very_many_rows_is_quick() -> None:
    """Whether all of a bucket are taken or all but one: inserting into a sorted list took 15 s here."""
    frame, schema = census(160_000, seed=1)
    table, owners = encode(read(frame), schema), np.zeros(160_000, np.int32)
    for kinds in ([[160_000]], [[159_999], [1]]):
        started = clock.process_time()
        sizes = ClassSizes(np.array(kinds), np.arange(len(kinds), dtype=np.int32))
        labels, _ = take_nearest(table, owners, sizes, 1, Control())
        assert np.bincount(labels).tolist() == [kind[0] for kind in kinds]
        assert clock.process_time() - started < 5


def check_sizes(labels: NDArray[np.int64], owners: NDArray[np.int32], sizes: ClassSizes) -> None:
    """Every class has exactly the rows of each bucket that it was to have."""
    expected = sizes.kinds[sizes.sequence]
    found = np.zeros_like(expected)
    np.add.at(found, (labels, owners), 1)
    assert (found == expected).all()


@pytest.mark.parametrize("take", [take_along, take_nearest])
def test_other_seeds_give_other_classes(take: Callable[..., Any]) -> None:
    table, _, owners, sizes = random_run(4)
    first, again, other = (take(table, owners, sizes, seed, Control())[0] for seed in (1, 1, 2))
    assert len(sizes) > 5
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("take", [take_along, take_nearest])
def test_seeds_come_from_all_buckets_and_rows(take: Callable[..., Any]) -> None:
    """A class begins in any bucket it takes from, at any row still there: over many runs all occur about alike."""
    table, buckets, owners, sizes = random_run(4)
    first = np.array([take(table, owners, sizes, seed, Control())[1][0] for seed in range(800)])
    taking = np.flatnonzero(sizes.kinds[sizes.sequence[0]])
    by_bucket = np.bincount(owners[first], minlength=len(buckets))
    assert set(np.flatnonzero(by_bucket)) == set(taking)
    expected = 800 / len(taking)
    assert (abs(by_bucket[taking] - expected) < 6 * np.sqrt(expected)).all()
    rows = first[owners[first] == taking[0]]
    assert len(np.unique(rows)) > 0.9 * min(buckets.counts[taking[0]], len(rows) / 3)


@pytest.mark.parametrize("take", [take_along, take_nearest])
def test_when_the_time_is_over_the_rest_is_one_class(take: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    table, _, owners, sizes = random_run(4)
    monkeypatch.setattr(f"tclose.algorithms.shared.{'along' if take is take_along else 'nearest'}.ROWS", 10)
    control = Control(listener=lambda loss, done: control.end())
    labels, seeds = take(table, owners, sizes, 1, control)
    assert 0 < len(seeds) < len(sizes)
    counts = np.bincount(labels)
    assert len(counts) == len(seeds) + 1
    assert counts[-1] == sizes.kinds[sizes.sequence][len(seeds) :].sum()


def test_classes_are_looked_at_in_pieces() -> None:
    sizes = ClassSizes(np.array([[2, 3], [4, 4]]), np.array([0, 1, 0, 1, 0], np.int32))
    assert looks(sizes, 1000) == [(0, 5)]
    assert looks(sizes, 5) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    pieces = looks(sizes, 12)
    assert [piece[0] for piece in pieces[1:]] == [piece[1] for piece in pieces[:-1]]
    assert (pieces[0][0], pieces[-1][1]) == (0, 5)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_without_compiling(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels as plain Python do the same."""
    from tclose.algorithms.shared import along_loops as along
    from tclose.algorithms.shared import nearest_loops as nearest

    table, _, owners, sizes = random_run(seed, 60)
    takes = (take_along, take_nearest, partial(take_nearest, by_loss=True))
    compiled = [take(table, owners, sizes, seed, Control())[0] for take in takes]
    for module in (along, nearest):
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)
    with np.errstate(over="ignore"):
        plain = [take(table, owners, sizes, seed, Control())[0] for take in takes]
    for one, other in zip(compiled, plain, strict=True):
        assert (one == other).all()
