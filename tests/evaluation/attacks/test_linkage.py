"""Linkage and re-identification against definitions, and by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.evaluation.attacks.attack import AttackLimits
from tclose.evaluation.attacks.crowd import crowd_alike
from tclose.evaluation.attacks.inside_loops import count_inside
from tclose.evaluation.attacks.record_linkage import Linkage, linkage
from tclose.evaluation.attacks.reidentification import Risk, reidentification
from tclose.schema.schema import Schema
from tests.oracles import attacks as oracle
from tests.seeds import for_seeds

PATIENTS = pl.DataFrame(
    {
        "Weight": [60, 70, 60, 50, 80, 70],
        "Age": [40, 50, 60, 50, 50, 70],
        "Disease": ["SARS", "cancer", "pneumonia", "bronchitis", "gastric flu", "ulcer"],
    }
)  # 004, table 1
SCHEMA = Schema.from_dict(
    {
        "k": 3,
        "quasi": {"Weight": {"kind": "numeric"}, "Age": {"kind": "numeric"}},
        "sensitive": {"Disease": {"distance": "equal", "t": 0.5}},
    }
)


@for_seeds(100)
def test_linkage_is_what_it_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, rng.integers(1, 12), rng.integers(1, 30)), return_inverse=True)[1]
    k = int(rng.integers(1, 6))
    found = linkage(np.bincount(labels), k)
    assert (found.unique, found.small, found.expected) == pytest.approx(
        tuple(map(float, oracle.linkage(labels.tolist(), k)))
    )


def test_rows_that_are_all_different_are_all_found() -> None:
    assert linkage(np.ones(7, np.int64), 2) == Linkage(1.0, 1.0, 1.0)


def test_one_class_gives_one_row_away() -> None:
    assert linkage(np.array([50]), 2) == Linkage(0.0, 0.0, 1 / 50)


def test_the_patients_of_004_before_and_after() -> None:
    found = tclose.attack(PATIENTS, SCHEMA, method="mondrian")
    assert found.before.linkage == Linkage(1.0, 1.0, 1.0)
    assert found.after is not None
    assert found.after.linkage == Linkage(0.0, 0.0, 1 / 3)  # table 2: two classes of three
    assert found.after.reidentification.prosecutor == Risk(1 / 3, 1 / 3, 1.0)


def test_risks_by_hand() -> None:
    # Classes of 1, 3 and 6 rows, of which the population has 2, 30 and 8.
    risks = reidentification(np.array([1, 3, 6]), np.array([2, 30, 8]), threshold=0.2)
    assert risks.prosecutor == Risk(1.0, 3 / 10, 4 / 10)
    marketer = (1 / 2 + 3 / 30 + 6 / 8) / 10
    assert risks.marketer == pytest.approx(marketer)
    assert risks.journalist == Risk(1 / 2, pytest.approx(max(3 / 40, marketer)), 1 / 10)  # type: ignore[arg-type]


def test_the_average_of_a_journalist_may_be_that_of_the_population() -> None:
    # A class that is all of its part of the population weighs more by classes than by rows, and the other way round.
    risks = reidentification(np.array([1, 99]), np.array([1, 9900]))
    assert risks.journalist.average == pytest.approx(max(2 / 9901, 1.01 / 100))


def test_without_a_population_all_three_agree() -> None:
    risks = reidentification(np.array([2, 3, 5]))
    assert risks.prosecutor == risks.journalist
    assert risks.marketer == pytest.approx(risks.prosecutor.average)


def test_a_risk_at_the_threshold_is_not_above_it() -> None:
    assert reidentification(np.array([5, 5])).prosecutor.above == 0
    assert reidentification(np.array([4, 6])).prosecutor.above == 0.4


@for_seeds(60)
def test_people_in_a_box_are_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 5, (20, 3)).astype(np.int32)
    weights = rng.integers(1, 4, 20)
    ends = np.sort(rng.integers(0, 5, (2, 6, 3)).astype(np.int32), axis=0)
    inside = ((ends[0][:, None] <= rows) & (rows <= ends[1][:, None])).all(axis=2)
    for run in (count_inside, count_inside.py_func):  # type: ignore[attr-defined]
        counts = np.full(6, -1)
        run(rows, weights, ends[0].copy(), ends[1].copy(), counts)
        assert counts.tolist() == (inside * weights).sum(axis=1).tolist()


def test_keys_that_the_population_lacks() -> None:
    assert crowd_alike(np.array([3, 9, 4, 4, 9]), 2, np.array([1, 0])).tolist() == [1, 0]


def test_a_population_by_hand() -> None:
    others = pl.DataFrame({"Weight": [60, 55, 70, 99, 60], "Age": [40, 45, 50, 50, 61]})
    everyone = pl.concat([PATIENTS.drop("Disease"), others])
    found = tclose.attack(PATIENTS, SCHEMA, method="mondrian", population=everyone, limits=AttackLimits(3, risk=0.3))
    # The first and second patient have a double; [50, 60] x [40, 60] holds two more, [70, 80] x [50, 70] one.
    assert found.before.reidentification.journalist.largest == 1
    assert found.before.reidentification.marketer == pytest.approx((4 + 2 / 2) / 6)
    assert found.after is not None
    assert found.after.reidentification.journalist == Risk(1 / 4, pytest.approx((3 / 5 + 3 / 4) / 6), 0.0)  # type: ignore[arg-type]
    assert found.after.reidentification.prosecutor.largest == 1 / 3


def test_a_population_must_have_the_quasi_identifiers() -> None:
    with pytest.raises(tclose.TableError, match="'Age'"):
        tclose.attack(PATIENTS, SCHEMA, population=PATIENTS.select("Weight"))


def test_a_release_of_another_table_is_refused() -> None:
    release = tclose.anonymize(PATIENTS, SCHEMA, method="mondrian", seed=1)
    with pytest.raises(tclose.TableError, match="other rows"):
        tclose.attack(PATIENTS.head(5), release)
