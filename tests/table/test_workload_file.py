"""The queries of a user: each answered as a loop over the raw rows answers it, and what is not understood is named."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.tight.answering import AnswerSearch
from tclose.errors import SchemaError, TableError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read
from tclose.table.workload_file import MOST_QUERIES

Row = dict[str, Any]
TREE = {"north": ["a", "b"], "south": {"deep": ["c", "d"], "e": []}}
ILLS = {"lung": ["flu", "cold"], "skin": ["rash"]}


def rows(n: int = 200, seed: int = 1) -> list[Row]:
    random = Random(seed)
    return [
        {
            "age": random.randint(18, 70),
            "pay": random.randint(0, 400) / 4,
            "born": date(2000, 1, 1) + timedelta(random.randint(0, 300)),
            "town": random.choice("abcde"),
            "job": random.choice(["x|y", "cook", "smith"]),
            "zip": random.choice(["0213", "0214", "1000"]),
            "code": random.choice(["17", "18", "27"]),
            "ill": random.choice(["flu", "cold", "rash"]),
            "cost": random.randint(0, 30),
            "ward": random.choice(["p", "q"]),
        }
        for _ in range(n)
    ]


def keys(**more: Any) -> dict[str, Any]:
    quasi: dict[str, Any] = {
        "age": {"kind": "numeric", "step": 5},
        "pay": {"kind": "numeric"},
        "born": {"kind": "date"},
        "town": {"kind": "categorical", "hierarchy": TREE},
        "job": {"kind": "categorical"},
        "zip": {"kind": "text"},
        "code": {"kind": "digits"},
    }
    sensitive = {
        "ill": {"distance": "hierarchical", "hierarchy": ILLS, "t": 0.9},
        "cost": {"distance": "ordered", "bins": 4, "t": 0.9},
        "ward": {"distance": "equal", "t": 0.9},
    }
    return {"k": 2, "quasi": quasi, "sensitive": sensitive, "objective": "queries"} | more


def asked(text: str, folder: Path, made: list[Row] | None = None, **more: Any) -> EncodedTable:
    path = folder / "queries.csv"
    path.write_text(text)
    return encode(read(pl.DataFrame(made or rows())), Schema.from_dict(keys(workload=str(path), **more)))


def answers(table: EncodedTable) -> list[int]:
    assert table.objective.workload is not None
    return [int(each) for each in AnswerSearch(table, table.objective.workload).precise]


QUERIES: dict[str, tuple[str, Callable[[Row], bool]]] = {
    "interval": ("age\n20..45", lambda row: 20 <= row["age"] <= 45),
    "open below": ("age\n..45", lambda row: row["age"] <= 45),
    "open above": ("pay\n50.3..", lambda row: row["pay"] >= 50.3),
    "one value": ("pay\n0.25|10", lambda row: row["pay"] in (0.25, 10)),
    "two intervals": ("age\n20..30 | 28..33|60..", lambda row: 20 <= row["age"] <= 33 or row["age"] >= 60),
    "no value there": ("age\n500..600", lambda row: False),
    "days": (
        "born\n2000-02-01..2000-03-31",
        lambda row: date(2000, 2, 1) <= row["born"] <= date(2000, 3, 31),
    ),
    "a group": ("town\nsouth", lambda row: row["town"] in "cde"),
    "leaves": ("town\na|d", lambda row: row["town"] in "ad"),
    "a group and a leaf in it": ("town\ndeep|c", lambda row: row["town"] in "cd"),
    "a label with a bar": ("job\nx|y", lambda row: row["job"] == "x|y"),
    "a prefix": ("zip\n021*", lambda row: row["zip"].startswith("021")),
    "positions": ("code\n*7", lambda row: row["code"][1] == "7"),
    "a sensitive group": ("ill\nlung", lambda row: row["ill"] in ("flu", "cold")),
    "a number within its bin": ("cost\n3..5", lambda row: 3 <= row["cost"] <= 5),
    "several": (
        "age,town,ill,cost,ward\n30..,a|c,lung,..20,p",
        lambda row: row["age"] >= 30 and row["town"] in "ac" and row["ill"] != "rash" and row["cost"] <= 20
        and row["ward"] == "p",
    ),
    "nothing asked": ("age,town\n,a", lambda row: row["town"] == "a"),
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("recode", ["generalize", "suppress"])
def test_a_query_is_answered_as_by_hand(name: str, recode: str, tmp_path: Path) -> None:
    text, holds = QUERIES[name]
    made = keys(recode=recode)["quasi"]
    made["age"] = {"kind": "numeric"} if recode == "suppress" else made["age"]
    found = answers(asked(text, tmp_path, recode=recode, quasi=made))
    assert found == [sum(map(holds, rows()))]


def test_every_line_is_a_query(tmp_path: Path) -> None:
    found = answers(asked("age,town\n20..30,\n\n,a\n31..40,b\n", tmp_path))
    by_hand = [
        sum(20 <= row["age"] <= 30 for row in rows()),
        sum(row["town"] == "a" for row in rows()),
        sum(31 <= row["age"] <= 40 and row["town"] == "b" for row in rows()),
    ]
    assert found == by_hand


def test_the_signs_of_the_schema_are_read(tmp_path: Path) -> None:
    made = [row | {"pay": str(row["pay"]).replace(".", ",")} for row in rows()]
    found = answers(asked('pay\n"10,5..20,25"', tmp_path, made, decimal=",", delimiter=";"))
    assert found == [sum(10.5 <= row["pay"] <= 20.25 for row in rows())]


def test_missing_values_are_never_asked_for(tmp_path: Path) -> None:
    gone = {"age": None, "ward": None}
    made: list[Row] = [row | (gone if place % 3 == 0 else {}) for place, row in enumerate(rows())]
    found = answers(asked("age,ward\n0..200,\n,p|q", tmp_path, made, missing="category"))
    assert found == [sum(row["age"] is not None for row in made)] * 2


def test_rows_that_are_taken_keep_their_values(tmp_path: Path) -> None:
    table = asked("age,ward\n20..45,p", tmp_path)
    some = np.arange(0, len(table), 3)
    by_hand = sum(20 <= row["age"] <= 45 and row["ward"] == "p" for row in rows()[::3])
    assert answers(table.take(some)) == [by_hand]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age,town\n1..5,a\nsecret,b", "line 3, column 'age': a number or an interval"),
        ("age\n45..20", "line 2, column 'age': the interval ends before it begins"),
        ("age\n1e999999999", "line 2, column 'age': a number"),
        ("age\nnan", "line 2, column 'age': a number"),
        ("born\n31.3.2000", "line 2, column 'born': a date such as"),
        ("town\nsecret", "line 2, column 'town': no value and no group of the column"),
        ("zip\nsecret*", "line 2, column 'zip': no value"),
        ("code\n1", "line 2, column 'code': 2 characters"),
        ("ill\nsecret", "line 2, column 'ill': no value and no group of its hierarchy"),
        ("ward\nsecret", "line 2, column 'ward': no value of the column"),
        ("cost\nsecret", "line 2, column 'cost': a number"),
    ],
)
def test_a_cell_that_is_not_understood_is_named_and_not_quoted(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=said) as caught:
        asked(text, tmp_path)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age\n", "has no query"),
        ("", "has no query"),
        ("age,zap\n1,2", "'zap' is no quasi-identifier"),
        ("age,age\n1,2", "is there twice"),
        ("age,town\n1", "line 2: it has 1 cells"),
        ('age\n"1', "not readable as comma-separated"),
        ("age\n" + "1\n" * (MOST_QUERIES + 1), "can be taken"),
    ],
)
def test_a_file_that_is_no_workload(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=said):
        asked(text, tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="Workload"):
        tclose.anonymize(pl.DataFrame(rows()), keys(workload=str(tmp_path / "none.csv")))


def test_numbers_of_too_many_digits_are_refused(tmp_path: Path) -> None:
    made = [row | {"pay": f"{place}.{'1' * 40}"} for place, row in enumerate(rows())]
    with pytest.raises(TableError, match="Column 'pay': its numbers have too many digits"):
        encode(read(pl.DataFrame(made)), Schema.from_dict(keys()))


def test_a_target_of_many_values_is_refused() -> None:
    made = [row | {"note": str(place)} for place, row in enumerate(rows())]
    asks = keys(objective="classify", target="note", keep=["note"], keep_unchecked=True)
    with pytest.raises(TableError, match=r"Column 'note' is the target and has 200 distinct values"):
        encode(read(pl.DataFrame(made)), Schema.from_dict(asks))
