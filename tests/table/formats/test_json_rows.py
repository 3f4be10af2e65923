"""JSON: numbers to the last digit, rows that lack names, and what is no table."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose.errors import TableError
from tclose.table.source import read

SECRET = "xyzzy-17"


def lines(tmp_path: Path, *written: str, name: str = "a.jsonl") -> pl.DataFrame:
    (tmp_path / name).write_text("\n".join(written), encoding="utf-8")
    return read(tmp_path / name).frame


def column(tmp_path: Path, *values: str) -> pl.Series:
    return lines(tmp_path, *(f'{{"x": {value}}}' for value in values))["x"]


VALUES: dict[str, tuple[tuple[str, ...], pl.DataType, list[Any]]] = {
    "whole numbers": (("1", "-20", "null"), pl.Int64(), [1, -20, None]),
    "the largest": ((str(2**63 - 1), "0"), pl.Int64(), [2**63 - 1, 0]),
    "larger ones stay exact": ((str(2**63), "0"), pl.String(), [str(2**63), "0"]),
    "fractions": (("0.1", "2", "1e2"), pl.Float64(), [0.1, 2.0, 100.0]),
    "digits that no double holds": (("0.1000000000000000055", "1"), pl.String(), ["0.1000000000000000055", "1"]),
    "too large for a double": (("1e400", "1"), pl.String(), ["1e400", "1"]),
    "truths": (("true", "false", "null"), pl.Boolean(), [True, False, None]),
    "texts": (('"a"', '"ö"', "null", '""'), pl.String(), ["a", "ö", None, ""]),
    "numbers and texts": (("1", '"x"', "2.50"), pl.String(), ["1", "x", "2.50"]),
    "truths and numbers": (("true", "1"), pl.String(), ["true", "1"]),
    "nothing": (("null", "null"), pl.String(), [None, None]),
    "not a number": (("NaN", "1.5"), pl.Float64(), [None, 1.5]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str, tmp_path: Path) -> None:
    written, kind, expected = VALUES[name]
    found = column(tmp_path, *written)
    assert (found.dtype, found.to_list()) == (kind, expected)


@pytest.mark.parametrize("n", [1, 3, 40_000])
def test_a_column_is_decided_by_all_its_values(n: int, tmp_path: Path) -> None:
    """Also by one in another piece than the first."""
    found = column(tmp_path, *["1"] * n, "1.5")
    assert found.dtype == pl.Float64
    assert Decimal(repr(found.sum())) == n + Decimal("1.5")


def test_names_that_some_rows_lack_are_missing_there(tmp_path: Path) -> None:
    frame = lines(tmp_path, '{"a": 1}', "", '{"b": "x"}', '{"a": 3, "b": "y"}')
    assert frame.to_dict(as_series=False) == {"a": [1, None, 3], "b": [None, "x", "y"]}


def test_an_array_is_read_as_its_lines_are(tmp_path: Path) -> None:
    rows = [{"a": 1, "b": "x,]"}, {"a": 2.5, "b": '"'}]
    (tmp_path / "a.json").write_text(f" {json.dumps(rows, indent=2)}\n", encoding="utf-8-sig")
    same = lines(tmp_path, *map(json.dumps, rows))
    assert read(tmp_path / "a.json").frame.equals(same)


def test_lists_and_objects_keep_a_type_that_no_release_has(tmp_path: Path) -> None:
    frame = lines(tmp_path, '{"a": [1], "b": {"c": 1}, "d": 1}', '{"a": null, "b": 2, "d": 1}')
    assert [kind.is_nested() for kind in frame.dtypes] == [True, True, False]


REFUSED: dict[str, tuple[str, str, str]] = {
    "a number": ("a.jsonl", "3", "line 1: it is not a JSON object"),
    "an array a line": ("a.jsonl", f'{{"a": 1}}\n["{SECRET}"]', "line 2: it is not a JSON object"),
    "half a line": ("a.jsonl", f'{{"a": "{SECRET}', "line 1: it is not a JSON object"),
    "two objects a line": ("a.jsonl", '{"a": 1} {"a": 2}', "line 1"),
    "a name twice": ("a.jsonl", f'{{"a": 1, "a": "{SECRET}"}}', "line 1: an object has a name twice"),
    "half a character": ("a.jsonl", '{"a": "\\ud800"}', "not Unicode"),
    "very deep": ("a.jsonl", '{"a": ' + "[" * 100_000, "line 1"),
    "nothing": ("a.jsonl", "\n\n", "is empty"),
    "no names": ("a.jsonl", "{}\n{}", "no columns"),
    "an empty name": ("a.jsonl", '{"": 1}', "no name"),
    "an object": ("a.json", f'{{"a": "{SECRET}"}}', "--format jsonl"),
    "an empty array": ("a.json", "[]", "is empty"),
    "an array of numbers": ("a.json", "[1, 2]", "element 1: it is not a JSON object"),
    "no comma": ("a.json", f'[{{"a": 1}} {{"a": "{SECRET}"}}]', "behind element 1"),
    "no end": ("a.json", '[{"a": 1},', "element 2"),
    "more behind the end": ("a.json", '[{"a": 1}] 3', "behind element 1"),
    "text": ("a.json", SECRET, "not an array of objects"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table(name: str, tmp_path: Path) -> None:
    file, written, said = REFUSED[name]
    (tmp_path / file).write_text(written, encoding="utf-8")
    with pytest.raises(TableError, match=said) as refused:
        read(tmp_path / file)
    assert SECRET not in str(refused.value)
    assert refused.value.__context__ is None


def test_rows_with_nothing_in_common_are_refused_before_they_fill_memory(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="they are no table"):
        lines(tmp_path, *(f'{{"n{row}": 1}}' for row in range(20_000)))


def test_messages_name_lines(tmp_path: Path) -> None:
    lines(tmp_path, '{"a": 1}', '{"a": 2}')
    assert read(tmp_path / "a.jsonl").numbering == ("line", 1)
    lines(tmp_path, '{"a": 1}', "", '{"a": 2}')
    assert read(tmp_path / "a.jsonl").numbering == ("record", 1)
