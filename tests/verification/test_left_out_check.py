"""The verifier's check of rows left out: against an oracle, with the rows known and not, at and next to each limit."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.left_out_check import left_out_problems
from tests.algorithms.test_rows_left_out import small
from tests.oracles import left_out as oracle
from tests.seeds import for_seeds

QUASI = {"age": {"kind": "numeric"}}


def problems(frame: pl.DataFrame, schema: Schema, left: list[int], *, known: bool) -> list[str]:
    """What the verifier says of a release that leaves these rows out, its rows in no order where that is not known."""
    rows = np.array([row for row in range(len(frame)) if row not in left])
    released = frame[rows] if known else frame[rows].sample(fraction=1.0, shuffle=True, seed=1)
    return left_out_problems(Source.of(frame), Source.of(released), schema, rows if known else None)


@for_seeds(400, at_a_time=100, everyday=10, tested=100)
def test_rows_may_be_left_out_exactly_if_the_oracle_says_so(seed: int) -> None:
    frame, schema = small(seed, 14)
    random = Random(seed)
    for _ in range(4):
        left = random.sample(range(len(frame)), random.randint(1, len(frame) // 2))
        expected = oracle.may_be_left_out(frame, schema, left)
        for known in (True, False):
            assert (not problems(frame, schema, left, known=known)) == expected


def schema_of(asked: dict[str, Any], **keys: Any) -> Schema:
    return Schema.from_dict({"k": 2, "quasi": QUASI, "suppress_rows": "1/2", "sensitive": {"ill": asked}, **keys})


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"distance": "equal", "t": "1/4"}, None),
        ({"distance": "equal", "t": "24/100"}, "t of 'ill': the rows left out are at a distance of 1/4 = 0.25"),
        ({"distance": "equal", "rise": "1/4"}, None),
        ({"distance": "equal", "rise": "24/100"}, "rise of 'ill'"),
        ({"distance": "equal", "beta": 1}, None),
        ({"distance": "equal", "beta": "99/100"}, "beta of 'ill'"),
        ({"distance": "equal", "beta": 5, "enhanced": True}, None),
        ({"distance": "equal", "l": {"frequency": 2}}, None),
        ({"distance": "equal", "l": {"frequency": "201/100"}}, "l of 'ill': the rows left out are less diverse"),
        ({"distance": "equal", "l": 3}, "l of 'ill': the rows left out are less diverse"),
        ({"distance": "hierarchical", "hierarchy": {"x": ["a", "c"], "y": ["b"]}, "rise": "1/4", "levels": True}, None),
        ({"distance": "ordered", "order": ["a", "b", "c"], "t": "1/4"}, None),
    ],
)
def test_thresholds_are_met_with_equality(asked: dict[str, Any], told: str | None) -> None:
    """Left out are a and b, one each; released three of a and one of b."""
    frame = pl.DataFrame({"age": [1] * 6, "ill": ["a", "b", "a", "a", "a", "b"]})
    for known in (True, False):
        found = problems(frame, schema_of(asked), [0, 1], known=known)
        assert bool(found) == (told is not None)
        assert all(told is not None and told in problem for problem in found)


def test_the_share_and_k_are_met_with_equality() -> None:
    frame = pl.DataFrame({"age": [1] * 6, "ill": ["a", "b"] * 3})
    asked = {"distance": "equal", "t": 1}
    assert not problems(frame, schema_of(asked, suppress_rows="1/3"), [0, 1], known=True)
    assert "allows fewer" in problems(frame, schema_of(asked, suppress_rows="0.3333"), [0, 1], known=True)[0]
    assert "k is 3" in problems(frame, schema_of(asked, k=3), [0, 1], known=True)[0]


def test_values_are_found_again_whatever_their_type() -> None:
    frame = pl.DataFrame({"age": [1] * 6, "ill": ["1.0", "2", "1", "1", "1", "2.0"]})
    schema = schema_of({"distance": "numeric", "t": "1/4"})
    released = pl.DataFrame({"age": [1] * 4, "ill": [1, 1, 1, 2]})
    assert not left_out_problems(Source.of(frame), Source.of(released), schema, None)
    tighter = schema_of({"distance": "numeric", "t": "1/5"})
    assert left_out_problems(Source.of(frame), Source.of(released), tighter, None)


def test_a_release_with_other_values_is_told_apart() -> None:
    frame = pl.DataFrame({"age": [1] * 6, "ill": ["a", "b", "a", "a", "a", "b"]})
    released = Source.of(pl.DataFrame({"age": [1] * 4, "ill": ["b", "b", "b", "a"]}))
    found = left_out_problems(Source.of(frame), released, schema_of({"distance": "equal", "t": 1}), None)
    assert found == ["'ill': the release has values more often than its original."]


def test_rows_dropped_for_missing_values_are_not_among_those_left_out() -> None:
    frame = pl.DataFrame({"age": [1, None, 1, 1, 1, 1], "ill": ["a", "c", "a", "b", "a", "b"]})
    schema = schema_of({"distance": "equal", "t": 1}, missing="drop")
    assert not problems(frame, schema, [1], known=True)
    assert "1 row is left out, and k is 2" in problems(frame, schema, [0, 1], known=True)[0]


def test_a_joint_of_the_rows_left_out() -> None:
    frame = pl.DataFrame({"age": [1] * 8, "s": list("aabbaabb"), "r": list("xyxyxyxy")})
    sensitive = {name: {"distance": "equal"} for name in "sr"}
    keys = {"k": 2, "quasi": QUASI, "suppress_rows": "1/2", "sensitive": sensitive}
    for t, holds in (("1/3", True), ("33/100", False)):
        schema = Schema.from_dict({**keys, "joint": {"both": {"columns": ["s", "r"], "t": t}}})
        for known in (True, False):  # of ax and by, beside all four
            assert (not problems(frame, schema, [0, 3], known=known)) == holds


def test_what_only_the_original_shows_is_listed() -> None:
    frame = pl.DataFrame({"age": ["1"] * 4, "ill": ["a", "b"] * 2})
    schema = {"k": 2, "quasi": QUASI, "suppress_rows": 0.4, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    assert tclose.verify(frame, schema).unchecked == {
        "suppress_rows": "only the original shows which rows are left out"
    }
    assert tclose.verify(frame, schema, original=frame).unchecked == {}


def test_without_the_key_every_row_must_be_there() -> None:
    frame = pl.DataFrame({"age": ["1"] * 6, "ill": ["a", "b"] * 3})
    schema = {"k": 2, "quasi": QUASI, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    assert not tclose.verify(frame[:4], schema, original=frame).holds
    assert tclose.verify(frame[:4], {**schema, "suppress_rows": 0.4}, original=frame).holds
    assert not tclose.verify(frame[:4], {**schema, "suppress_rows": 0.3}, original=frame).holds


AGES, ILLS = [*range(20, 30)] * 2 + [*range(50, 60)] * 2, ["flu", "flu", "flu", "cold"] * 10
WITH_OUTLIERS = pl.DataFrame({"age": [*AGES, 100, 101, 102, 103], "ill": ILLS + ILLS[:4], "ward": ["north"] * 44})
RELEASED = pl.DataFrame(
    {"age": ["[20, 29]" if age < 40 else "[50, 59]" for age in AGES], "ill": ILLS, "ward": ["north"] * 40}
)
LOOSE = {"k": 3, "suppress_rows": 0.2, "quasi": QUASI, "sensitive": {"ill": {"distance": "equal", "t": 0.4}}}


def test_kept_values_that_the_original_does_not_have_are_found() -> None:
    schema = LOOSE | {"keep": ["ward"]}
    assert tclose.verify(RELEASED, schema, original=WITH_OUTLIERS).problems == ()
    forged = RELEASED.with_columns(ward=pl.lit("south"))
    assert "'ward': the release has values" in str(tclose.verify(forged, schema, original=WITH_OUTLIERS).problems)
    wards = pl.Series("ward", ["north", "south"] * 22)
    frame, released = WITH_OUTLIERS.with_columns(wards), RELEASED.with_columns(wards[:40])
    assert tclose.verify(released, schema, original=frame).problems == ()
    turned = released.with_columns(pl.Series("ward", ["south", "north"] * 20))
    assert "combinations of sensitive and kept" in str(tclose.verify(turned, schema, original=frame).problems)


def test_persons_that_cannot_be_counted_are_listed() -> None:
    frame, schema = WITH_OUTLIERS.drop("ward").with_columns(person=pl.lit("one")), LOOSE | {"unit": "person"}
    found = tclose.verify(RELEASED.drop("ward"), schema, original=frame)
    assert found.problems == ()
    assert {*found.unchecked} == {"persons"}


def test_quasi_identifiers_that_fit_no_row_are_found_beside_rows_left_out() -> None:
    forged = RELEASED.with_columns(age=pl.col("age").str.replace("[50, 59]", "[60, 69]", literal=True))
    found = tclose.verify(forged, LOOSE | {"keep": ["ward"]}, original=WITH_OUTLIERS)
    assert found.problems == (
        "20 released rows fit no row of the original that is left, in whatever order they stand.",
    )


def test_rows_that_are_only_dropped_do_not_hide_the_truth() -> None:
    frame = pl.concat(
        [WITH_OUTLIERS.drop("ward")[:40], pl.DataFrame({"age": [30], "ill": [None]})], how="vertical_relaxed"
    )
    schema = LOOSE | {"missing": "drop"}
    released = RELEASED.drop("ward")
    forged = released.with_columns(age=pl.lit("[0, 1]"))
    assert "truth" not in tclose.verify(released, schema, original=frame).unchecked
    assert tclose.verify(released, schema, original=frame).problems == ()
    assert "does not cover" in str(tclose.verify(forged, schema, original=frame).problems)
