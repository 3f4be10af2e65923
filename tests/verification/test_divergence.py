"""The other measures, from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from tclose.verification.divergence import Divergence, divergence
from tclose.verification.released_classes import Grouping, count_values
from tests.seeds import for_seeds


def by_definition(labels: list[int], codes: list[int], size: int) -> tuple[float, int, float]:
    whole = [codes.count(value) for value in range(size)]
    found = []
    for label in set(labels):
        members = [code for code, of in zip(codes, labels, strict=True) if of == label]
        counts = [members.count(value) for value in range(size)]
        p = [count / len(codes) for count in whole]
        q = [count / len(members) for count in counts]
        half = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
        bits = sum(x * math.log2(x / m) for side in (p, q) for x, m in zip(side, half, strict=True) if x)
        differing = sum(w * len(members) != c * len(codes) for w, c in zip(whole, counts, strict=True))
        found.append((math.dist(p, q), differing, math.sqrt(max(bits / 2, 0))))
    return tuple(max(column) for column in zip(*found, strict=True))


def of_classes(labels: NDArray[np.int64], codes: NDArray[np.int32], size: int) -> Divergence:
    blocks = count_values(Grouping(labels, np.bincount(labels)), codes, size)
    return divergence(np.bincount(codes, minlength=size), blocks)


@for_seeds(60)
def test_random_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(1, 40)), int(rng.integers(1, 7))
    labels = np.unique(rng.integers(0, 5, n), return_inverse=True)[1]
    codes = rng.integers(0, size, n).astype(np.int32)
    told = of_classes(labels, codes, size)
    euclidean, hamming, root = by_definition(labels.tolist(), codes.tolist(), size)
    assert told.euclidean == pytest.approx(euclidean, abs=1e-7)
    assert told.hamming == hamming
    assert told.jensen_shannon == pytest.approx(root, abs=1e-7)


def test_a_class_like_the_table_is_at_0() -> None:
    told = of_classes(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0], np.int32), 3)
    assert told.as_dict() == {"euclidean": 0.0, "hamming": 0, "jensen_shannon": 0.0}


@pytest.mark.parametrize("values", [3, 7, 10, 49])
def test_classes_like_the_table_are_at_exactly_0(values: int) -> None:
    """Also where shares are no binary fractions, and sums of them round."""
    codes = np.concatenate([np.full(place + 1, place, np.int32) for place in range(values)])
    labels = np.repeat(np.arange(3), len(codes))
    told = of_classes(labels, np.tile(codes, 3), values)
    assert told.as_dict() == {"euclidean": 0.0, "hamming": 0, "jensen_shannon": 0.0}


def test_nothing_in_common_is_farthest() -> None:
    labels, codes = np.array([0] * 999 + [1]), np.array([0] * 999 + [1], np.int32)
    told = of_classes(labels, codes, 2)
    assert told.euclidean == pytest.approx(math.sqrt(2) * 0.999)
    assert told.jensen_shannon == pytest.approx(1, abs=0.01)
