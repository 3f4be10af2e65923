"""Similarity against its definition, and the examples of the papers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tclose.distances import Equal, Hierarchical, Matrix, Numeric, Ordered, Tree
from tclose.evaluation.attacks.similarity import branches, class_reveals, similarity
from tclose.schema.hierarchy import Hierarchy
from tclose.table.classes import Tally
from tests.oracles import attacks as oracle
from tests.seeds import for_seeds

STOMACH = Hierarchy.from_nested(
    {"stomach": ["gastric ulcer", "gastritis", "stomach cancer"], "lung": ["flu", "bronchitis", "pneumonia"]}
)
# 001, table 3: three classes of three, salaries in thousands from 3 to 11.
CLASSES = np.repeat([0, 1, 2], 3)
SALARIES = np.array([3, 4, 5, 6, 11, 8, 7, 9, 10]) - 3
DISEASES = np.array([0, 1, 2, 1, 3, 4, 4, 5, 2])


def tally(codes: NDArray[Any], size: int, labels: NDArray[Any] = CLASSES) -> Tally:
    return Tally.of(labels.astype(np.int64), codes.astype(np.int32), size)


def test_all_patients_of_a_class_have_something_of_the_stomach() -> None:
    form = Hierarchical(STOMACH).form(6)
    assert class_reveals(form, tally(DISEASES, 6)).tolist() == [True, False, False]
    found = similarity(form, tally(DISEASES, 6))
    assert found.revealed == pytest.approx(3 / 9)
    assert not found.of_table
    # But for one row in three, also the others: flu and bronchitis, bronchitis and pneumonia.
    assert class_reveals(form, tally(DISEASES, 6), outliers=0.34).all()


def test_all_salaries_of_a_class_are_low() -> None:
    form = Ordered().form(9)
    # Widths 2, 5 and 3 of 8.
    assert class_reveals(form, tally(SALARIES, 9), narrow=0.25).tolist() == [False, False, False]
    assert class_reveals(form, tally(SALARIES, 9), narrow=0.26).tolist() == [True, False, False]
    assert class_reveals(form, tally(SALARIES, 9), narrow=0.375).tolist() == [True, False, False]
    assert class_reveals(form, tally(SALARIES, 9), narrow=0.38).tolist() == [True, False, True]


def test_a_respiratory_problem() -> None:
    # 004, table 2: by the equal distance it is 3-diverse and reveals nothing, by organs everything.
    codes = np.array([0, 1, 2, 3, 4, 5])
    labels = np.repeat([0, 1], 3)
    tree = Hierarchy.from_nested({"respiratory": ["SARS", "pneumonia", "bronchitis"], "digestive": ["a", "b", "c"]})
    assert similarity(Hierarchical(tree).form(6), tally(codes, 6, labels)).revealed == 1
    assert similarity(Equal().form(6), tally(codes, 6, labels)).revealed == 0


def test_what_the_table_reveals_is_told() -> None:
    codes = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    found = similarity(Equal().form(2), tally(codes, 2, np.repeat([0, 1], 5)))
    assert (found.revealed, found.of_table) == (0.5, True)


@for_seeds(150)
def test_ranges_are_what_they_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 25)), int(rng.integers(1, 9))
    labels = np.unique(rng.integers(0, 4, n), return_inverse=True)[1]
    codes = rng.integers(0, m, n)
    numeric = m > 1 and rng.random() < 0.5
    points = np.sort(rng.choice(40, m, replace=False)).tolist()
    form = Numeric(points).form(m) if numeric else Ordered().form(m)
    positions, span = form.positions.tolist(), form.span
    outliers, narrow = str(rng.choice(["0", "0.1", "0.25", "0.5"])), str(rng.choice(["0", "0.1", "0.25", "0.5", "1"]))
    found = class_reveals(form, tally(codes, m, labels), float(outliers), float(narrow))
    for label, reveals in enumerate(found.tolist()):
        numbers = [positions[code] for code in codes[labels == label]]
        assert reveals == oracle.narrow_range(numbers, Fraction(outliers), Fraction(narrow), span)


@for_seeds(150)
def test_subtrees_are_what_they_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tops = [f"t{place}" for place in range(rng.integers(2, 4))]
    paths = [[f"v{leaf}", str(rng.choice(tops)), "*"] for leaf in range(8)]
    paths = [[path[0], f"m{leaf % 2}{path[1]}", *path[1:]] if leaf % 3 else path for leaf, path in enumerate(paths)]
    if len({path[-2] for path in paths}) == 1:
        return  # the domain parts further down
    tree = Hierarchy.from_paths(paths)
    by_leaf = {path[0]: path for path in paths}
    n = int(rng.integers(1, 25))
    labels = np.unique(rng.integers(0, 4, n), return_inverse=True)[1]
    codes = rng.integers(0, 8, n)
    outliers = str(rng.choice(["0", "0.1", "0.25", "0.5"]))
    found = class_reveals(Hierarchical(tree).form(8), tally(codes, 8, labels), float(outliers))
    for label, reveals in enumerate(found.tolist()):
        own = [by_leaf[tree.leaves[code]] for code in codes[labels == label]]
        assert reveals == oracle.one_branch(own, Fraction(outliers))


def test_a_domain_that_parts_below_the_root() -> None:
    tree = Hierarchy.from_nested({"all": {"a": ["x", "y"], "b": ["z"]}})
    form = Hierarchical(tree).form(3)
    assert isinstance(form, Tree)
    assert branches(form).tolist() in ([0, 0, 1], [1, 1, 0])
    assert branches(form.with_missing()).tolist() == [0, 0, 0, 1]


def test_a_domain_of_one_value_is_known() -> None:
    assert class_reveals(Equal().form(1), tally(np.zeros(9), 1)).all()
    assert class_reveals(Ordered().form(1), tally(np.zeros(9), 1)).all()


def test_near_values_of_a_matrix() -> None:
    form = Matrix([[0, 0.1, 1], [0.1, 0, 1], [1, 1, 0]]).form(3)
    codes = np.array([0, 1, 0, 0, 1, 2, 2, 2, 2])
    assert class_reveals(form, tally(codes, 3), narrow=0.2).tolist() == [True, False, True]
    assert class_reveals(form, tally(codes, 3), narrow=0.1).tolist() == [False, False, True]
