"""The accuracy of a classifier: what it must be where that is plain."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.errors import MissingExtraError, TableError
from tclose.evaluation.utility import classifier
from tclose.evaluation.utility.classifier import classifier_accuracy
from tclose.evaluation.utility.reading_back import read_release
from tclose.schema.schema import Schema
from tests.evaluation.utility.random_releases import random_case

SCHEMA = Schema.from_dict(
    {"k": 2, "quasi": {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}}, "keep": ["buys"]}
)


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier, "TREES", 8)


def people(n: int = 400) -> pl.DataFrame:
    """Who is a cook, or a smith above 40, buys."""
    rng = np.random.default_rng(0)
    ages, jobs = rng.integers(20, 60, n), rng.choice(["cook", "smith", "clerk"], n)
    buys = (jobs == "cook") | ((jobs == "smith") & (ages > 40))
    return pl.DataFrame({"age": ages, "job": jobs, "buys": np.where(buys, "yes", "no")})


def test_a_plain_rule_is_learned_from_a_table_and_from_classes_that_show_it() -> None:
    table = people()
    whole = classifier_accuracy(read_release(table, table, SCHEMA, aligned=True), "buys")
    assert whole.released == whole.original > 0.95
    assert whole.majority < 0.6
    shown = table.with_columns(age=pl.when(pl.col("age") > 40).then(pl.lit("[41, 59]")).otherwise(pl.lit("[20, 40]")))
    assert classifier_accuracy(read_release(table, shown, SCHEMA, aligned=True), "buys").released > 0.9


def test_nothing_is_learned_from_a_table_that_is_hidden() -> None:
    table = people()
    shown = table.with_columns(age=pl.lit("*"), job=pl.lit("*"))
    found = classifier_accuracy(read_release(table, shown, SCHEMA, aligned=True), "buys")
    assert found.released == found.majority < found.original


def test_the_share_that_the_majority_has_is_counted_in_the_rows_held_out() -> None:
    table = people(10).with_columns(buys=pl.Series(["yes"] * 8 + ["no"] * 2))
    found = classifier_accuracy(read_release(table, table, SCHEMA, aligned=True), "buys", held_out=0.999)
    assert found.majority in (7 / 9, 8 / 9, 1 / 9, 2 / 9)


def test_the_seed_decides() -> None:
    table = people(100)
    shown = table.with_columns(job=pl.lit("*"))
    read = read_release(table, shown, SCHEMA, aligned=True)
    assert classifier_accuracy(read, "buys", seed=3) == classifier_accuracy(read, "buys", seed=3)
    assert len({classifier_accuracy(read, "buys", seed=seed).majority for seed in range(5)}) > 1


def test_all_kinds_and_many_leaves() -> None:
    case = random_case(3, missing=0.1)
    aligned = read_release(case.read.original, case.read.original, case.read.schema, aligned=True)
    assert 0 <= classifier_accuracy(aligned, "ill").released <= 1
    frame, schema = tclose.datasets.census(300, seed=1)
    assert classifier_accuracy(read_release(frame, frame, schema, aligned=True), "salary").released >= 0


def test_through_utility() -> None:
    table = people()
    found = tclose.utility(table, table, SCHEMA, label="buys", classifier=True, aligned=True)
    assert found.classifier is not None
    assert found.as_dict()["classifier"]["released"] == found.classifier.released
    with pytest.raises(ValueError, match="needs a label"):
        tclose.utility(table, table, SCHEMA, classifier=True, aligned=True)


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(20)
    read = read_release(table, table, SCHEMA, aligned=True)
    with pytest.raises(TableError, match="Which released row"):
        classifier_accuracy(read_release(table, table, SCHEMA), "buys")
    with pytest.raises(TableError, match="'age' is a quasi-identifier and cannot be the label"):
        classifier_accuracy(read, "age")
    with pytest.raises(TableError, match="The original has no column 'nothing'"):
        classifier_accuracy(read, "nothing")
    with pytest.raises(TableError, match="none can be held out"):
        classifier_accuracy(read_release(table[:1], table[:1], SCHEMA, aligned=True), "buys")
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(MissingExtraError, match=r"scikit-learn.*pip install 'tclose\[utility\]'"):
        classifier_accuracy(read, "buys")
