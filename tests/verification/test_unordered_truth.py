"""Truth of a release in whatever order, against trying every order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification import unordered_truth
from tclose.verification.beside_original import compare_with_original
from tclose.verification.unordered_truth import unordered_problems

ILL = {"ill": {"distance": "equal", "t": 1}}


def is_true_in_some_order(original: pl.DataFrame, released: pl.DataFrame) -> bool:
    """Whether the rows of a release are true of some rows of the original, by trying all of these in every order."""
    may_be = [[_is_true(shown, own) for own in original.to_dicts()] for shown in released.to_dicts()]
    return any(
        all(may_be[row][own] for row, own in enumerate(order))
        for order in permutations(range(len(original)), len(released))
    )


def _is_true(shown: dict[str, Any], own: dict[str, Any]) -> bool:
    ends = [int(end) for end in shown["age"].strip("[]").split(",")]
    return ends[0] <= own["age"] <= ends[-1] and shown["sex"] in (own["sex"], "*") and shown["ill"] == own["ill"]


def random_release(rng: np.random.Generator, released: int, rows: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """An original, and rows of which some may be false of it."""
    original = pl.DataFrame(
        {"age": rng.integers(0, 6, rows), "sex": rng.choice(["f", "m"], rows), "ill": rng.choice(["a", "b"], rows)}
    )
    lows, widths = rng.integers(0, 6, released), rng.integers(0, 4, released)
    shown = pl.DataFrame(
        {
            "age": [f"[{low}, {low + width}]" if width else f"{low}" for low, width in zip(lows, widths, strict=True)],
            "sex": rng.choice(["f", "m", "*"], released),
            "ill": rng.choice(["a", "b"], released),
        }
    )
    return original, shown


@pytest.mark.parametrize("seed", range(12))
def test_it_agrees_with_trying_every_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    quasi = {"age": {"kind": "numeric"}, "sex": {"kind": "categorical"}}
    schema = Schema.from_dict({"k": 1, "quasi": quasi, "sensitive": ILL})
    verdicts = []
    for _ in range(30):
        rows = int(rng.integers(1, 6))
        original, shown = random_release(rng, int(rng.integers(1, rows + 1)), rows)
        found = unordered_problems(Source.of(original), Source.of(shown), schema, np.arange(rows))
        assert (found == []) == is_true_in_some_order(original, shown)
        verdicts.append(found == [])
    assert {*verdicts} == {True, False}


def shuffled(frame: pl.DataFrame, seed: int = 1) -> pl.DataFrame:
    return frame.select(pl.all().gather(np.random.default_rng(seed).permutation(len(frame))))


def schemas() -> Iterator[dict[str, Any]]:
    """The same columns, released in every form that a quasi-identifier has."""
    zips = {"kind": "text"}
    for age in ({}, {"publish": "bounds"}, {"publish": "mean"}, {"bottom": 25, "top": 60}):
        for missing in ("error", "category"):
            yield {
                "k": 3,
                "missing": missing,
                "quasi": {"age": {"kind": "numeric", **age}, "zip": zips},
                "sensitive": ILL,
            }
    yield {"k": 3, "recode": "suppress", "quasi": {"age": {"kind": "numeric"}, "zip": zips}, "sensitive": ILL}
    yield {"k": 3, "quasi": {"age": {"kind": "numeric"}, "zip": {"kind": "digits"}}, "sensitive": ILL}
    grouped = {"kind": "categorical", "hierarchy": {"build": "prefixes", "lengths": [4, 2]}}
    yield {"k": 3, "quasi": {"age": {"kind": "numeric"}, "zip": grouped}, "sensitive": ILL}


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize("keys", list(schemas()))
def test_a_shuffled_release_is_true_and_a_forged_one_is_not(keys: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    n = 60
    table = pl.DataFrame(
        {
            "age": rng.integers(20, 70, n) // 10 * 10,
            "zip": rng.choice(["10115", "10117", "20095", "20097"], n),
            "ill": rng.choice(["a", "b", "c"], n),
        }
    )
    if keys["missing"] == "category" if "missing" in keys else False:
        table = table.with_columns(age=pl.when(pl.int_range(n) % 9 == 0).then(None).otherwise(pl.col("age")))
    release = tclose.anonymize(table, keys, method="mondrian")
    shown = release.table
    found = tclose.verify(shuffled(shown), keys, original=table)
    assert found.holds, found.problems
    assert {*found.unchecked} == ({"means"} if keys["quasi"]["age"].get("publish") == "mean" else set())
    other = table.with_columns(zip=pl.lit("x" * 5))  # what no released zip code covers unless it is hidden
    assert not tclose.verify(shuffled(shown), keys, original=other).holds


def test_the_order_that_a_certificate_promises_is_judged(tmp_path: Any) -> None:
    frame, schema = tclose.datasets.census(300, seed=1)
    release = tclose.anonymize(frame, schema, method="mondrian")
    for keep_order in (False, True):
        path = tmp_path / f"release-{keep_order}.csv"
        release.write(path, keep_order=keep_order)
        assert tclose.verify(path, schema, original=frame).holds
        turned = frame.reverse() if isinstance(frame, pl.DataFrame) else frame[::-1]
        found = tclose.verify(path, schema, original=turned)
        assert found.holds != keep_order
        if keep_order:
            assert "does not cover" in found.problems[0]


def test_persons_are_not_counted_in_an_order_that_is_not_known() -> None:
    table = pl.DataFrame({"who": [*"abcabc"], "age": [20, 20, 20, 60, 60, 60], "ill": [*"xyxyxy"]})
    keys = {"k": 3, "unit": "who", "quasi": {"age": {"kind": "numeric"}}, "sensitive": ILL}
    shown = table.select("age", "ill").with_columns(pl.col("age").cast(pl.String))
    assert tclose.verify(shown, keys, original=table).persons == 3
    turned = tclose.verify(shown.reverse(), keys, original=table)
    assert turned.holds
    assert turned.persons is None
    assert "persons" in turned.unchecked


def test_one_row_of_each_person_is_enough() -> None:
    table = pl.DataFrame({"who": [*"aabbcc"], "age": [20, 21, 30, 31, 40, 41], "ill": [*"xyxyxy"]})
    keys = {"k": 1, "unit": "who", "unit_rows": "one", "quasi": {"age": {"kind": "numeric"}}, "sensitive": ILL}
    shown = table.select(pl.col("age").cast(pl.String), "ill")
    found = tclose.verify(shown[[1, 2, 4]], keys, original=table)
    assert found.holds
    assert {*found.unchecked} == {"persons"}
    for rows in ([1, 2], [0, 1, 2, 4]):
        (problem,) = tclose.verify(shown[rows], keys, original=table).problems
        assert problem == f"The release has {len(rows)} rows, and one row of each of 3 persons is to be kept."
    assert not tclose.verify(shown[[1, 2, 4]].with_columns(age=pl.lit("50")), keys, original=table).holds


def test_rows_more_or_fewer_than_may_be_there() -> None:
    table = pl.DataFrame({"age": [20, 30, 40], "ill": [*"xyx"]})
    keys = {"k": 1, "quasi": {"age": {"kind": "numeric"}}, "sensitive": ILL}
    (problem,) = tclose.verify(table[:2], keys, original=table).problems
    assert problem == "The release has 2 rows, and 3 rows of its original are to be released."
    (problem,) = tclose.verify(pl.concat([table, table[:1]]), keys, original=table).problems
    assert problem == "The release has 4 rows, and 3 rows of its original are to be released."


def test_what_cannot_be_matched_in_time_is_said_to_be_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"age": [20, 30, 40], "ill": [*"xyx"]})
    keys = {"k": 1, "quasi": {"age": {"kind": "numeric"}}, "sensitive": ILL}
    for limit in ("MOST_PAIRS", "MOST_EDGES", "MOST_ASKED"):
        with monkeypatch.context() as patched:
            patched.setattr(unordered_truth, limit, 0)
            found = tclose.verify(table.reverse(), keys, original=table)
            assert found.holds
            assert "too many to be matched" in found.unchecked["truth"]
            changed = table.reverse().with_columns(ill=pl.lit("x"))
            assert not tclose.verify(changed, keys, original=table).holds


def test_without_scipy_truth_is_said_to_be_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unordered_truth, "find_spec", lambda _name: None)
    table = pl.DataFrame({"age": [20, 30, 40], "ill": [*"xyx"]})
    keys = {"k": 1, "quasi": {"age": {"kind": "numeric"}}, "sensitive": ILL}
    found = tclose.verify(table.reverse(), keys, original=table)
    assert found.holds
    assert "pip install 'tclose[match]'" in found.unchecked["truth"]
    assert not tclose.verify(table.reverse().with_columns(ill=pl.lit("x")), keys, original=table).holds
    assert tclose.verify(table, keys, original=table).compared == "row by row"  # which needs none


def test_blocks_and_forgotten_answers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = tclose.datasets.census(400, seed=2)
    release = tclose.anonymize(frame, schema, method="mondrian")
    monkeypatch.setattr(unordered_truth, "BLOCK", 500)
    monkeypatch.setattr(unordered_truth, "LEARNT", 0)
    assert tclose.verify(shuffled(pl.DataFrame(release.table)), schema, original=frame).holds


def test_bounds_of_missing_values_are_not_those_of_others_in_whatever_order() -> None:
    age = {"kind": "numeric", "publish": "bounds", "bottom": 20, "top": 60}
    keys = {"k": 2, "missing": "category", "quasi": {"age": age}, "sensitive": ILL}
    table = pl.DataFrame({"age": [None, None, 10, 70], "ill": ["x"] * 4})
    for of_values, holds in (("*", True), (None, False)):
        ends = pl.Series([of_values, of_values, None, None], dtype=pl.String)
        shown = pl.DataFrame({"age_low": ends, "age_high": ends, "ill": ["x"] * 4})
        assert tclose.verify(shown, keys, original=table, in_order=False).holds == holds


def test_an_order_that_is_true_by_chance_does_not_say_whose_a_row_is() -> None:
    table = pl.DataFrame({"who": [*"abab"], "age": [20] * 4, "zip": ["11", "12", "11", "12"]})
    keys = {
        "k": 2,
        "unit": "who",
        "unit_rows": "all",
        "quasi": {"age": {"kind": "numeric"}, "zip": {"kind": "text"}},
    }
    shown = pl.DataFrame({"age": ["20"] * 4, "zip": ["1*", "**", "1*", "**"]})  # both classes are of a and b
    assert not tclose.verify(shown, keys, original=table, in_order=True).holds
    found = tclose.verify(shown, keys, original=table, in_order=False)
    assert found.holds, found.problems
    assert found.persons is None
    assert {*found.unchecked} == {"persons"}


@pytest.mark.parametrize("seed", range(3))
def test_one_row_a_person_agrees_with_trying_every_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = {"unit": "who", "unit_rows": "one", "missing": "drop", "quasi": {"age": {"kind": "numeric"}}}
    schema = Schema.from_dict({"k": 1, **keys, "sensitive": ILL})
    verdicts = []
    for _ in range(60):
        n = int(rng.integers(3, 7))
        ages = [None if each == 0 else int(each) for each in rng.integers(0, 6, n)]
        table = pl.DataFrame({"who": rng.integers(0, 3, n), "age": ages, "ill": rng.choice(["a", "b"], n)})
        lows, picked = rng.integers(1, 6, 3), rng.choice(["a", "b"], 3)
        shown = pl.DataFrame({"age": [f"[{low}, {low + 2}]" for low in lows], "ill": picked})[: rng.integers(1, 4)]
        found = compare_with_original(Source.of(table), Source.of(shown), schema, in_order=False)
        assert (found.problems == []) == _is_true_of_some_picks(table, shown), (table, shown)
        verdicts.append(found.problems == [])
    assert {*verdicts} == {True, False}


def _is_true_of_some_picks(table: pl.DataFrame, shown: pl.DataFrame) -> bool:
    """Whether one row of each person, without those that lack an age, can be what is shown, by trying all of them."""
    of_persons = [each.to_dicts() for each in table.partition_by("who")]
    picks = ([row for row in rows if row["age"] is not None] for rows in product(*of_persons))
    return any(
        all(_is_true({**row, "sex": "*"}, {**own, "sex": ""}) for row, own in zip(shown.to_dicts(), order, strict=True))
        for kept in picks
        if len(kept) == len(shown)
        for order in permutations(kept)
    )
