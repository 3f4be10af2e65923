"""Guessing kinds and distances, and saying what was guessed."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.errors import InferredSchemaWarning, SchemaError, TableError
from tclose.table.inference import guess_distance, guess_kind, infer_schema
from tclose.table.source import read

# The values, the kind and the distance.
GUESSES: list[tuple[list[Any], str, str]] = [
    ([1, 2, 3], "numeric", "equal"),  # nothing says that they have an order
    ([1, 2, 3] * 5, "categorical", "equal"),  # few that repeat: codes
    ([1.5, None], "numeric", "ordered"),
    (["1", "2", "-3.5"], "numeric", "ordered"),
    (["1", "", "2.5"], "numeric", "ordered"),
    (["1", "", "2"], "categorical", "equal"),
    ([" 1 ", "2e3", "7"], "numeric", "equal"),
    (["0", "1", "10"], "numeric", "equal"),
    (["02139", "10001"], "text", "equal"),
    (["00501"], "text", "equal"),
    (["0.5", "01.5"], "numeric", "ordered"),
    ([date(2021, 3, 2)], "date", "ordered"),
    ([datetime(2021, 3, 2)], "date", "ordered"),
    (["2021-03-02", ""], "date", "ordered"),
    (["02.03.2021"], "date", "ordered"),
    (["02.03.2021", "02.13.2021"], "date", "ordered"),
    (["02.13.2021", "13.02.2021"], "categorical", "equal"),
    (["a", "b"], "categorical", "equal"),
    (["1", "b"], "categorical", "equal"),
    (["inf", "nan"], "categorical", "equal"),
    ([True, False], "categorical", "equal"),
    ([None, None], "categorical", "equal"),
    (["", ""], "categorical", "equal"),
    ([f"A{code:03}" for code in range(60)], "text", "equal"),
    ([f"A{code:03}" for code in range(40)], "categorical", "equal"),
]


@pytest.mark.parametrize(("values", "kind", "distance"), GUESSES)
def test_guesses(values: list[Any], kind: str, distance: str) -> None:
    column = pl.Series("column", values)
    assert guess_kind(column) == kind
    assert guess_distance(column) == distance


@pytest.mark.parametrize(
    ("name", "values", "kind", "distance"),
    [
        ("age", [31, 44], "numeric", "ordered"),
        ("Alter", ["31", "44"], "numeric", "ordered"),
        ("pay", [1, 2, 1, 2], "numeric", "ordered"),
        ("num_visits", [0, 1, 2] * 9, "numeric", "ordered"),
        ("cp", [1, 2, 3, 4] * 9, "categorical", "equal"),
        ("admission_type_id", list(range(30)) * 9, "categorical", "equal"),
        ("age_group", [1, 2, 3, 4] * 9, "categorical", "equal"),
        ("RAC1P", [1, 2, 9] * 9, "categorical", "equal"),
        ("plz", ["10115", "80331"], "text", "equal"),
        ("code postal", [75001, 69002], "text", "equal"),
        ("nombre", [3, 1, 2] * 9, "categorical", "equal"),
    ],
)
def test_names_count(name: str, values: list[Any], kind: str, distance: str) -> None:
    column = pl.Series(name, values)
    assert (guess_kind(column), guess_distance(column)) == (kind, distance)


def test_spellings_of_missing_do_not_count() -> None:
    column = pl.Series(["1.5", "?", "2"])
    assert (guess_kind(column), guess_kind(column, ("?",))) == ("categorical", "numeric")


def test_categories_are_texts() -> None:
    assert guess_kind(pl.Series(["a", "b"], dtype=pl.Categorical)) == "categorical"
    assert guess_kind(pl.Series(["1.5", "2"], dtype=pl.Categorical)) == "numeric"


FRAME = pl.DataFrame(
    {"age": [30, 31, 50, 51], "zip": ["02139", "02138", "10001", "10002"], "ill": list("abab"), "pay": [1, 2, 1, 2]}
)


def test_the_warning_says_all_that_was_guessed() -> None:
    keys: dict[str, Any] = {"k": 2, "quasi": ["age", "zip"], "sensitive": {"ill": 0.5, "pay": 1}}
    with pytest.warns(InferredSchemaWarning) as caught:
        schema = infer_schema(read(FRAME), keys)
    assert len(caught) == 1
    for said in ("age numeric", "zip text", "ill equal", "pay ordered"):
        assert said in str(caught[0].message)
    assert [column.kind for column in schema.quasi] == ["numeric", "text"]
    assert [column.distance for column in schema.sensitive] == ["equal", "ordered"]


def test_the_warning_says_where_numbers_have_no_order() -> None:
    frame = FRAME.with_columns(cp=pl.Series([1, 2, 3, 1]))
    with pytest.warns(InferredSchemaWarning, match=r"cp equal \(nothing says that its numbers have an order\)"):
        schema = infer_schema(read(frame), {"k": 2, "quasi": {"age": "numeric"}, "sensitive": {"cp": 0.5}})
    assert schema.sensitive[0].distance == "equal"


def test_what_is_given_is_not_guessed() -> None:
    keys: dict[str, Any] = {"k": 2, "quasi": {"age": "categorical", "zip": {"kind": "digits"}}}
    keys["sensitive"] = {"ill": {"distance": "equal", "t": 0.5}, "pay": {"distance": "numeric", "l": 1}}
    schema = infer_schema(read(FRAME), keys)  # warnings are errors
    assert [column.kind for column in schema.quasi] == ["categorical", "digits"]
    assert [column.distance for column in schema.sensitive] == ["equal", "numeric"]


def test_other_keys_go_through() -> None:
    keys = {"k": 2, "quasi": {"age": "numeric"}, "missing": "drop", "missing_values": ["?"], "identifiers": ["zip"]}
    schema = infer_schema(read(FRAME), keys)
    assert (schema.missing, schema.missing_values, schema.identifiers) == ("drop", ("?",), ("zip",))
    assert keys["quasi"] == {"age": "numeric"}  # what was given stays as it is


def test_anonymize_points_at_its_caller() -> None:
    with pytest.warns(InferredSchemaWarning) as caught:
        tclose.anonymize(FRAME, quasi=["age", "zip"], sensitive={"ill": 0.5, "pay": 0.5}, k=2)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("keys", "error", "said"),
    [
        ({"quasi": ["age", "nowhere"]}, TableError, "no column 'nowhere'"),
        ({"quasi": ["age"], "sensitive": {"nowhere": 0.2}}, TableError, "no column 'nowhere'"),
        ({"quasi": "age"}, SchemaError, "list of column names"),
        ({"quasi": ["age"], "sensitive": ["ill"]}, SchemaError, "sensitive must map"),
        ({"quasi": ["age"], "sensitive": {"ill": 3}}, SchemaError, "t must be"),
    ],
)
def test_wrong_keywords(keys: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        infer_schema(read(FRAME), {"k": 2, **keys})


def test_what_is_guessed_can_be_measured() -> None:
    frame = pl.DataFrame({"age": [1, 2], "seen": ["2021-03-02", "2021-03-03"]})
    with pytest.warns(InferredSchemaWarning, match="seen"):
        assert tclose.assess(frame, quasi=["age"], sensitive={"seen": 0.5}, k=1).k == 1
