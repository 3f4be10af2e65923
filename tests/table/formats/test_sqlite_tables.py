"""SQLite, whose columns hold values of any type."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.errors import TableError
from tclose.table.source import read


def base(tmp_path: Path, values: list[Any], kind: str = "", table: str = "people") -> Path:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f'CREATE TABLE "{table}" (x {kind})')
        connection.executemany(f'INSERT INTO "{table}" VALUES (?)', [(value,) for value in values])
    connection.close()
    return path


VALUES: dict[str, tuple[list[Any], pl.DataType, list[Any]]] = {
    "whole numbers": ([1, -(2**63), None], pl.Int64(), [1, -(2**63), None]),
    "fractions": ([0.1, 1e300, None], pl.Float64(), [0.1, 1e300, None]),
    "both": ([1, 0.5], pl.Float64(), [1.0, 0.5]),
    "both, beyond what a double holds": ([2**60 + 1, 0.5], pl.String(), [str(2**60 + 1), "0.5"]),
    "texts": (["a", None, ""], pl.String(), ["a", None, ""]),
    "numbers and texts": ([1, "x", 0.5], pl.String(), ["1", "x", "0.5"]),
    "nothing": ([None, None], pl.String(), [None, None]),
    "bytes": ([b"\xff", None], pl.Binary(), [b"ff", None]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str, tmp_path: Path) -> None:
    given, kind, expected = VALUES[name]
    found = read(base(tmp_path, given)).column("x")
    assert (found.dtype, found.to_list()) == (kind, expected)


def test_a_url_and_a_path_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = base(tmp_path, [1, 2])
    monkeypatch.chdir(tmp_path)
    for place in (f"sqlite:///{path}", "sqlite:///a.db", "a.db"):
        assert read(place).column("x").to_list() == [1, 2]


def test_names_that_are_odd_in_sql(tmp_path: Path) -> None:
    path = base(tmp_path, [1], table='it\'s "a.b"; --'.replace('"', '""'))
    assert read(path).column("x").to_list() == [1]
    assert read(tclose.TableLocation(str(path), table='it\'s "a.b"; --')).column("x").to_list() == [1]


REFUSED = {
    "no such table": ({"table": "peple"}, "has no table 'peple'. It has 'people'"),
    "no SQL": ({"query": "SELEC"}, "the query cannot be run"),
    "a query that writes": ({"query": "DELETE FROM people"}, "the query cannot be run"),
    "two queries": ({"query": "SELECT 1 AS x; DELETE FROM people"}, "the query cannot be run"),
    "no rows at all": ({"query": "BEGIN"}, "it must be a SELECT"),
    "a name twice": ({"query": "SELECT 1 AS x, 2 AS x"}, "same name"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str, tmp_path: Path) -> None:
    options, said = REFUSED[name]
    path = base(tmp_path, ["secret"])
    with pytest.raises(TableError, match=said) as refused:
        read(tclose.TableLocation(str(path), **options))  # type: ignore[arg-type]
    assert "secret" not in str(refused.value)
    assert read(path).column("x").to_list() == ["secret"]


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = base(tmp_path, [])
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO people VALUES (CAST(x'ff' AS TEXT))")
    connection.close()
    with pytest.raises(TableError, match="cannot be read as an SQLite database"):
        read(path)


def test_the_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="is not a file"):
        read(f"sqlite:///{tmp_path / 'absent.db'}")
    assert list(tmp_path.iterdir()) == []
