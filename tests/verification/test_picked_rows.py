"""Which row of a person was kept, judged where `first` or `last` says it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.table.unit_rows import pick_rows
from tclose.verification.picked_rows import picked_rows
from tclose.verification.truth import truth_problems

TABLE = pl.DataFrame(
    {
        "who": [*"aaabbbcc"],
        "visit": [
            *("2020-01-02", "2020-01-01", "2020-01-03"),
            *("2021-05-05", "2021-05-05", "2020-02-02"),
            *("9999-12-31", "1600-01-01"),
        ],
        "age": [20, 21, 22, 30, 31, 32, 40, 41],
        "ill": [*"xxxxxxyy"],
    }
)
FIRST, LAST = [1, 5, 7], [2, 4, 6]


def keys(pick: str | None, **more: Any) -> dict[str, Any]:
    order = {} if pick is None else {"unit_pick": pick, "unit_order": "visit"}
    asked = {"k": 1, "unit": "who", "unit_rows": "one", **order, "quasi": {"age": {"kind": "numeric"}}, **more}
    return asked | {"identifiers": ["visit"]} if pick is None else asked


ILL = {"sensitive": {"ill": {"distance": "equal", "t": 1}}}


@pytest.mark.parametrize(("pick", "right"), [("first", FIRST), ("last", LAST)])
@pytest.mark.parametrize("in_order", [True, False])
def test_another_row_of_a_person_is_noticed(pick: str, right: list[int], in_order: bool) -> None:
    shown = TABLE.select(pl.col("age").cast(pl.String), "ill")
    asked = keys(pick, **ILL)
    for rows in (FIRST, LAST, [right[0], right[1], 13 - right[2]]):
        given = shown[rows] if in_order else shown[rows].reverse()
        found = tclose.verify(given, asked, original=TABLE, in_order=in_order)
        assert found.holds == (rows == right), (rows, found.problems)


def test_it_is_said_which_row_should_have_been_kept() -> None:
    source = Source.of(TABLE)
    release = Source.of(TABLE.select(pl.col("age").cast(pl.String), "ill")[[0, 5, 7]])
    told = truth_problems(source, release, Schema.from_dict(keys("first", **ILL)), np.array([0, 5, 7]))
    assert told == ["Of 1 of the persons another row is released than the first by 'visit'."]


def test_a_pick_that_goes_wrong_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    picks = {"first": "last", "last": "first"}

    def wrong(source: Source, schema: Schema, seed: int | None = None) -> Any:
        other: Any = picks[str(schema.unit_pick)]
        return pick_rows(source, replace(schema, unit_pick=other), seed)

    tclose.anonymize(TABLE, keys("first", **ILL), method="mondrian")
    monkeypatch.setattr("tclose.table.row_selection.pick_rows", wrong)
    with pytest.raises(tclose.errors.VerificationError, match="another row is released than the first by 'visit'"):
        tclose.anonymize(TABLE, keys("first", **ILL), method="mondrian")


def test_a_picked_row_that_lacks_a_value_is_not_replaced_by_another() -> None:
    table = TABLE.with_columns(age=pl.Series([20, None, 22, 30, 31, 32, 40, 41]))
    asked = keys("first", missing="drop", **ILL)
    shown = table.select(pl.col("age").cast(pl.String), "ill")
    release = tclose.anonymize(table, asked, method="mondrian")
    assert sorted(pl.DataFrame(release.table)["age"].to_list()) == [32, 41]
    assert tclose.verify(release.table, asked, original=table).holds
    assert not tclose.verify(shown[[0, 5, 7]], asked, original=table).holds


def test_any_row_may_be_kept_where_it_is_drawn() -> None:
    shown = TABLE.select(pl.col("age").cast(pl.String), "ill")
    assert picked_rows(Source.of(TABLE), Schema.from_dict(keys(None, **ILL))) is None
    for rows in (FIRST, LAST):
        assert tclose.verify(shown[rows], keys(None, **ILL), original=TABLE).holds


@pytest.mark.parametrize("visits", [None, [*range(7), None], [*"abcdefgh"]])
def test_an_original_that_does_not_say_the_order_is_no_original(visits: list[Any] | None) -> None:
    table = TABLE.drop("visit") if visits is None else TABLE.with_columns(visit=pl.Series(visits))
    with pytest.raises(tclose.errors.TableError, match="visit"):
        picked_rows(Source.of(table), Schema.from_dict(keys("first", **ILL)))


def test_no_order_is_needed_where_nobody_has_two_rows() -> None:
    table = TABLE[FIRST].with_columns(visit=pl.lit(None, pl.String))
    release = tclose.anonymize(table, keys("first", **ILL), method="mondrian")
    assert tclose.verify(release.table, keys("first", **ILL), original=table).holds


@pytest.mark.parametrize("seed", range(3))
def test_it_agrees_with_what_is_picked(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(30):
        n = int(rng.integers(1, 12))
        columns: list[Any] = [
            rng.integers(0, 4, n),
            rng.integers(0, 4, n) / 2,
            [f"{each}.0" if each % 2 else str(each) for each in rng.integers(8, 12, n)],
            [f"{year}-01-01" for year in rng.choice([1500, 1999, 2300, 9999], n)],
            [f"{hour:02}:30:00" for hour in rng.integers(0, 24, n)],
        ]
        for visits in columns:
            table = Source.of(pl.DataFrame({"who": rng.integers(0, 4, n), "visit": visits, "age": range(n)}))
            for pick in ("first", "last"):
                schema = Schema.from_dict(keys(pick))
                kept, found = pick_rows(table, schema), picked_rows(table, schema)
                assert kept is not None
                assert found is not None
                assert np.flatnonzero(found).tolist() == kept.tolist()
