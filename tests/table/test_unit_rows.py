"""One row of each person: which is picked, and what is refused."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.errors import SchemaError, TableError
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.table.unit_rows import count_unpicked, pick_rows, read_persons
from tests.seeds import for_seeds


def schema(**keys: Any) -> Schema:
    quasi = {"age": {"kind": "numeric"}}
    ill = {"distance": "equal", "t": 1}
    return Schema.from_dict({"k": 2, "quasi": quasi, "sensitive": {"ill": ill}, "unit": "who", **keys})


def picked(frame: pl.DataFrame, **keys: Any) -> list[int]:
    found = pick_rows(Source.of(frame), schema(unit_rows="one", **keys), 5)
    assert found is not None
    return [int(row) for row in found]


def visits(who: list[Any], when: list[Any]) -> pl.DataFrame:
    n = len(who)
    return pl.DataFrame({"who": who, "when": when, "age": list(range(20, 20 + n)), "ill": ["x", "y"] * (n // 2)})


@for_seeds(60)
def test_first_and_last_against_plain_loops(seed: int) -> None:
    random = Random(seed)
    n = 2 * random.randint(1, 15)
    who = [random.choice("abcdef") for _ in range(n)]
    days = [random.randint(1, 28) for _ in range(n)]
    written: list[Any] = days
    if seed % 3 == 1:
        written = [str(day) for day in days]  # as a CSV has them: 9 comes before 10
    elif seed % 3 == 2:
        written = [f"2021-03-{day:02}" for day in days]
    frame = visits(who, written)
    for pick in ("first", "last"):
        expected = []
        for person in set(who):
            rows = [row for row in range(n) if who[row] == person]
            if pick == "first":
                expected.append(min(rows, key=lambda row: (days[row], row)))
            else:
                expected.append(max(rows, key=lambda row: (days[row], row)))
        assert picked(frame, unit_pick=pick, unit_order="when") == sorted(expected)


@for_seeds(30)
def test_random_picks_one_row_of_each(seed: int) -> None:
    random = Random(seed)
    n = 2 * random.randint(1, 15)
    who = [random.choice("abcdef") for _ in range(n)]
    frame, asked = visits(who, [0] * n), schema(unit_rows="one", identifiers=["when"])
    rows = pick_rows(Source.of(frame), asked, seed)
    assert rows is not None
    assert sorted(who[row] for row in rows) == sorted(set(who))
    again = pick_rows(Source.of(frame), asked, seed)
    assert np.array_equal(rows, again if again is not None else [])
    assert count_unpicked(Source.of(frame), asked) == n - len(set(who))


def test_every_row_of_a_person_may_be_drawn() -> None:
    frame = visits(["a", "a", "a", "b"], [0] * 4)
    asked = schema(unit_rows="one", identifiers=["when"])
    drawn = [pick_rows(Source.of(frame), asked, seed) for seed in range(60)]
    assert {int(rows[0]) for rows in drawn if rows is not None} == {0, 1, 2}


def test_a_release_of_one_row_each() -> None:
    frame = visits([1, 1, 2, 2, 3, 4, 5, 6], [1, 2, 2, 1, 1, 1, 1, 1])
    asked = schema(unit_rows="one", unit_pick="last", unit_order="when")
    release = tclose.anonymize(frame, asked, method="mondrian", seed=1)
    assert np.flatnonzero(release.classes < 0).tolist() == [0, 3]
    assert (release.record.unpicked_rows, release.record.dropped_rows, release.record.persons) == (2, 0, {"k": 2})
    assert set(release.table.columns) == {"age", "ill"}  # the order is never released
    assert (
        release.certificate["unit"]
        == "one row a unit, checked; of several rows of a unit the last in an order was picked"
    )
    assert "unpicked" not in str(release.certificate.as_dict())
    assert tclose.verify(release.table, asked, certificate=release.certificate).holds


def test_rows_are_picked_before_those_with_missing_values_are_dropped() -> None:
    frame = visits([1, 1, 2, 2, 3, 4, 5, 6], [1, 2, 1, 2, 1, 1, 1, 1]).with_columns(
        ill=pl.Series(["x", None, "x", "y", "x", "y", "x", "y"])
    )
    asked = schema(unit_rows="one", unit_pick="last", unit_order="when", missing="drop")
    release = tclose.anonymize(frame, asked, method="mondrian", seed=1)
    assert np.flatnonzero(release.classes < 0).tolist() == [0, 1, 2]
    assert (release.record.unpicked_rows, release.record.dropped_rows) == (2, 1)


def test_a_method_draws_the_same_with_and_without_picking() -> None:
    frame = visits([1, 2, 3, 4, 5, 6, 7, 8], [0] * 8)
    keys = {"identifiers": ["when"]}
    one = tclose.anonymize(frame, schema(unit_rows="one", **keys), method="sabre-knn", seed=3)
    none = tclose.anonymize(frame, schema(**keys), method="sabre-knn", seed=3)
    assert one.classes.tolist() == none.classes.tolist()


def test_evaluation_knows_the_rows_that_were_picked() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"who": rng.integers(0, 30, 60), "age": rng.integers(20, 60, 60), "ill": ["x", "y"] * 30})
    asked = schema(unit_rows="one")
    release = tclose.anonymize(frame, asked, method="mondrian", seed=11)
    assert tclose.utility(frame, release, queries=0).loss == pytest.approx(release.loss)
    assert tclose.attack(frame, release).after is not None
    assert tclose.attack(frame, asked, method="mondrian", seed=11).after is not None
    assert tclose.what_binds(frame, release, method="mondrian").measured is not None
    with pytest.raises(TableError, match="not known here which were drawn"):
        tclose.utility(frame, release.table, asked, queries=0)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"unit_rows": "two"}, "unit_rows must be one of one, all"),
        ({"unit_rows": "one", "unit_pick": "best"}, "unit_pick must be one of random, first, last"),
        ({"unit_pick": "random"}, 'only unit_rows = "one"'),
        ({"unit_rows": "all", "unit_order": "when"}, 'only unit_rows = "one"'),
        ({"unit_rows": "one", "unit_pick": "first"}, "needs a column to go by"),
        ({"unit_rows": "one", "unit_order": "when"}, 'unit_order is for unit_pick = "first" or "last"'),
        ({"unit_rows": "one", "unit_pick": "last", "unit_order": "who"}, "another column than `unit`"),
        ({"unit_rows": 1}, "unit_rows must be a text"),
        ({"unit": None, "unit_rows": "all"}, "`unit` names no column"),
    ],
)
def test_keys_that_do_not_fit_together(keys: dict[str, Any], said: str) -> None:
    keys = {name: value for name, value in {"unit": "who", **keys}.items() if value is not None}
    with pytest.raises(SchemaError, match=said):
        Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}, **keys})


def test_keys_are_written_and_read_back() -> None:
    asked = schema(unit_rows="one", unit_pick="first", unit_order="when")
    assert Schema.from_dict(asked.as_dict()) == asked


def test_the_order_may_be_a_released_column_too() -> None:
    frame = visits([1, 1, 2, 3, 4, 5], [0] * 6)
    asked = schema(unit_rows="one", unit_pick="last", unit_order="age", identifiers=["when"])
    assert picked(frame, unit_pick="last", unit_order="age", identifiers=["when"]) == [1, 2, 3, 4, 5]
    assert asked.columns["age"] == "quasi"


def test_a_pattern_gives_the_order_its_role() -> None:
    asked = schema(unit_rows="one", unit_pick="last", unit_order="when", roles={"w*": "keep"})
    assert asked.resolve(["who", "when", "age", "ill"]).columns["when"] == "keep"


def test_rows_without_a_place_in_the_order() -> None:
    frame = visits([1, 1, 2, 3], [1, None, 1, 1])
    with pytest.raises(TableError, match="'when' is unit_order, and is missing in 1 rows"):
        picked(frame, unit_pick="last", unit_order="when")
    with pytest.raises(TableError, match=r"'when'.* are not numbers"):
        picked(visits([1, 1, 2, 3], ["soon", "later", "now", "now"]), unit_pick="last", unit_order="when")
    with pytest.raises(TableError, match="does not have: 'when'"):
        tclose.anonymize(frame.drop("when"), schema(unit_rows="one", unit_pick="last", unit_order="when"))


def test_persons_may_be_named_by_anything() -> None:
    for who, persons in (
        ([1.5, 1.5, 2.0], [0, 0, 1]),
        ([["a"], ["b"], ["a"]], [0, 1, 0]),
        (["a ", "a", "A"], [0, 1, 2]),
    ):
        frame = Source.of(pl.DataFrame({"who": who, "age": [1, 2, 3]}))
        assert read_persons(frame, schema(), np.arange(3)).tolist() == persons


def test_whose_row_it_is_must_be_known() -> None:
    with pytest.raises(TableError, match="'who' is the unit, and is missing in 1 rows"):
        picked(visits([1, None, 2, 3], [0] * 4), identifiers=["when"])
