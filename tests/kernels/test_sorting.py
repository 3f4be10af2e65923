"""The one sort of all kernels against Python's."""

from __future__ import annotations

import numpy as np
import pytest

from tclose.kernels import sorting
from tests.algorithms.tight.small_pieces import stop_compiling


def test_sort_by_is_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    rng = np.random.default_rng(4)
    for n in [*range(40), 63, 64, 65, 127, 128, 129, 300]:
        for keys in (rng.random(n + 5), rng.integers(0, 4, n + 5).astype(float), -np.arange(n + 5.0), np.zeros(n + 5)):
            order, room = np.full(n + 5, -7), np.full(n + 5, -7)
            sorting.sort_by(keys, order, room, n)
            assert order.tolist() == [*sorted(range(n), key=keys.__getitem__), *[-7] * 5]


def test_a_rough_order_is_off_by_less_than_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    rng = np.random.default_rng(5)
    for n in (1, 2, 50, 3000):
        for keys in (rng.random(n) * 9 - 4, rng.integers(0, 4, n).astype(float), np.full(n, 0.3)):
            order = np.full(n, -7)
            sorting.sort_roughly(keys, order, n)
            assert sorted(order.tolist()) == list(range(n))
            step = np.ptp(keys) / (sorting.STEPS - 1)
            assert (np.diff(keys[order]) > -step - 1e-12).all()
            if len(np.unique(keys)) < 5:
                assert order.tolist() == sorted(range(n), key=keys.__getitem__)


def test_codes_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)
    rng = np.random.default_rng(6)
    for n in [*range(60), 500]:
        for codes in (rng.permutation(n + 5), rng.integers(0, 4, n + 5), np.arange(n + 5), -np.arange(n + 5)):
            found = codes.astype(np.int32)
            sorting.sort_codes(found, n)
            assert found.tolist() == [*sorted(codes[:n].tolist()), *codes[n:].tolist()]


def test_keys_that_hardly_differ_are_sorted_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their range is too small to divide by."""
    stop_compiling(monkeypatch)
    order = np.full(4, -1, np.int64)
    sorting.sort_roughly(np.array([5e-324, 0.0, 1e-310, 0.0]), order, 4)
    assert sorted(order.tolist()) == [0, 1, 2, 3]
