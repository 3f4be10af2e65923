"""A first schema: it guesses, flags and ranks, and loads once a person has settled what is open."""

from __future__ import annotations

import re
import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.cli.first_schema import first_schema, singled_out
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.table.source import read


def people(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "id": [f"P{row:04}" for row in range(n)],
            "age": rng.integers(20, 80, n).astype(str),
            "height": (rng.integers(1500, 2000, n) / 1000).astype(str),
            "zip": [f"{code:05}" for code in rng.choice([2139, 2138, 10001], n)],
            "seen": [f"2021-0{month}-01" for month in rng.integers(1, 9, n)],
            "job": rng.choice(["cook", "smith", "?"], n).tolist(),
            "ill": rng.choice(["flu", "cold", ""], n).tolist(),
            "same": ["x"] * n,
        }
    )


def text_of(frame: pl.DataFrame, name: str = "people.csv") -> str:
    return first_schema(read(frame), name)


def settle(text: str, sensitive: set[str]) -> str:
    """What a person does: each column is quasi-identifying or sensitive."""
    settled, taken = [], False
    for line in text.split("\n"):
        if re.match(r"\[undecided\.|about = ", line):
            continue
        if re.match(r"# \[(quasi|sensitive)\..*\]$", line):
            role, columns = next(iter(tomllib.loads(line[2:]).items()))
            taken = role == ("sensitive" if next(iter(columns)) in sensitive else "quasi")
        elif not line:
            taken = False
        settled.append(line.removeprefix("# ") if taken else line)
    return "\n".join(settled)


def test_undecided_columns_are_named_on_loading(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(text_of(people()), encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        Schema.load(tmp_path / "schema.toml")
    for column in ("age", "height", "zip", "seen", "job", "ill", "same"):
        assert f"'{column}'" in str(caught.value)
    assert "'id'" not in str(caught.value)  # decided: an identifier
    assert "[quasi.NAME]" in str(caught.value)


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_once_settled_it_loads_and_anonymizes(tmp_path: Path) -> None:
    text = settle(text_of(people()), {"ill"}).replace("# missing = ", "missing = ").replace("# missing_v", "missing_v")
    (tmp_path / "schema.toml").write_text(text, encoding="utf-8")
    schema = Schema.load(tmp_path / "schema.toml")
    kinds = {column.column: (column.kind, column.step) for column in schema.quasi}
    assert kinds == {
        "age": ("numeric", 2),
        "height": ("numeric", kinds["height"][1]),
        "zip": ("text", None),
        "seen": ("date", "month"),
        "job": ("categorical", None),
        "same": ("categorical", None),
    }
    assert float(kinds["height"][1] or 0) == 0.02  # a twentieth of the range is .0245
    assert (schema.k, schema.identifiers, schema.missing, schema.missing_values) == (5, ("id",), "category", ("?",))
    assert [(column.column, column.distance) for column in schema.sensitive] == [("ill", "equal")]
    people().write_csv(tmp_path / "people.csv")
    release = tclose.anonymize(tmp_path / "people.csv", schema, allow_single_class=True)
    assert "id" not in release.table.columns


@pytest.mark.parametrize("column", ["age", "height", "zip", "seen", "job", "ill"])
@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_any_column_may_be_the_sensitive_one(column: str) -> None:
    text = settle(text_of(people()), {column})
    schema = Schema.from_dict(tomllib.loads(text) | {"missing": "category"})
    assert [sensitive.column for sensitive in schema.sensitive] == [column]
    assert tclose.assess(people(), schema).rows == 60


def test_what_is_said_about_a_column() -> None:
    keys = tomllib.loads(text_of(people()))
    filled = [value for value in people()["ill"] if value]
    assert keys["undecided"]["ill"]["about"] == f"{len(set(filled))} distinct values, {60 - len(filled)} missing"
    assert keys["undecided"]["same"]["about"] == "1 distinct values, 0 missing"


@pytest.mark.parametrize(
    ("values", "flagged"),
    [
        ([str(row) for row in range(40)], True),
        ([f"p{row}" for row in range(39)] + ["p0"], True),
        ([f"p{row // 2}" for row in range(40)], False),
        ([f"{row}.25" for row in range(40)], False),  # measurements are often all different
        ([row / 4 for row in range(40)], False),
        (list(range(40)), True),
        ([f"p{row}" for row in range(10)], False),  # too few to tell
    ],
)
def test_columns_that_look_like_identifiers_are_flagged(values: list[Any], flagged: bool) -> None:
    frame = pl.DataFrame({"col": values, "other": ["a"] * len(values)})
    assert ("col" in tomllib.loads(text_of(frame)).get("identifiers", [])) == flagged


def test_no_value_is_written_down() -> None:
    frame = people().with_columns(ill=pl.Series(["secret"] * 30 + ["hidden"] * 30))
    assert not any(value in text_of(frame) for value in ("secret", "hidden", "cook", "P0001", "02139"))


# Which columns single rows out


def alone(frame: pl.DataFrame, names: tuple[str, ...]) -> float:
    """The share of rows that no other row is like, by comparing all pairs."""
    rows = frame.select(names).rows()
    return sum(rows.count(row) == 1 for row in rows) / len(rows)


@pytest.mark.parametrize("seed", range(5))
def test_combinations_are_ranked_as_brute_force_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c", "d"]
    frame = pl.DataFrame({name: rng.integers(0, int(rng.integers(2, 12)), 40) for name in names})
    frame = frame.with_columns(d=pl.when(pl.col("d") > 0).then("d"))  # some missing: they are alike
    found = {tuple(sorted(combination)): share for share, combination in singled_out(frame, names)}
    wanted = {c: alone(frame, c) for size in (1, 2, 3) for c in combinations(names, size)}
    assert found == pytest.approx(wanted)
    shares = [share for share, _ in singled_out(frame, names)]
    assert shares == sorted(shares, reverse=True)


def test_the_ranking_is_written_as_comments() -> None:
    frame = people().select("age", "zip", "job")
    text = text_of(frame)
    lines = [line for line in text.splitlines() if re.match(r"#\s+[\d.]+%", line)]
    first = next(line for line in lines if "age" in line and "+" not in line)
    assert f"{alone(frame, ('age',)):.1%}" in first
    assert any("age + job + zip" in line for line in lines)


def test_a_constant_column_singles_nobody_out() -> None:
    assert all("same" not in names for _, names in singled_out(people(), people().columns))


# Whatever the columns are called and hold

HOSTILE = [
    "Robert'); DROP TABLE x;--",
    "<script>alert(1)</script>",
    "=HYPERLINK(1)",
    'say "hi"',
    "back\\slash",
    "two\nlines",
    "tab\there",
    "carriage\rreturn",
    "line\u2028separator",
    "[bracket]",
    "a.b",
    "# comment",
    "=",
    " ",
    "ключ",
    "\x7f\x00",
    "quasi",
]


def test_hostile_names() -> None:
    frame = pl.DataFrame({name: ["a", "b"] * 10 for name in HOSTILE})
    text = first_schema(read(frame), 'file\n"name"\r.csv')
    assert list(tomllib.loads(text)["undecided"]) == HOSTILE
    schema = Schema.from_dict(tomllib.loads(settle(text, {HOSTILE[0]})))
    assert [column.column for column in schema.quasi] == HOSTILE[1:]
    assert [column.column for column in schema.sensitive] == HOSTILE[:1]
    assert tclose.assess(frame, schema).classes == 2


AWKWARD: list[Any] = [
    pytest.param({"a": []}, id="no rows"),
    pytest.param({"a": [None, None]}, id="nulls"),
    pytest.param({"a": [True, None, False]}, id="booleans"),
    pytest.param({"a": [1e300, -1e300, float("nan"), float("inf"), *map(float, range(30))]}, id="extremes"),
    pytest.param({"a": [x * 1e-14 for x in range(30)]}, id="tiny"),
    pytest.param({"a": [2**62 + x for x in range(30)] * 2}, id="large"),
    pytest.param({"a": [[1], [2]]}, id="lists"),
    pytest.param({"a": [b"x", b"y"]}, id="bytes"),
    pytest.param({"a": [{"b": 1}]}, id="structs"),
    pytest.param({f"c{x}": [1, 2] for x in range(60)}, id="many columns"),
]


@pytest.mark.parametrize("columns", AWKWARD)
def test_awkward_tables_give_a_schema_that_settles(columns: dict[str, list[Any]]) -> None:
    frame = pl.DataFrame(columns)
    text = text_of(frame)
    keys = tomllib.loads(text)
    decided = set(keys.get("identifiers", []))
    assert decided | set(keys.get("undecided", {})) == set(frame.columns)
    if decided != set(frame.columns):
        schema = Schema.from_dict(tomllib.loads(settle(text, set())))
        assert {column.column for column in schema.quasi} == set(frame.columns) - decided


def test_delimiter_is_written_down() -> None:
    assert tomllib.loads(first_schema(read(people()), "x.csv", ";"))["delimiter"] == ";"
    assert "delimiter" not in tomllib.loads(text_of(people()))


def test_what_may_name_a_person_and_repeats_is_said() -> None:
    text = text_of(people().with_columns(patientId=pl.Series([f"N{row // 3}" for row in range(60)]),
                                         code=pl.Series([f"c{max(row, 1)}" for row in range(60)])))  # fmt: skip
    assert "#   patientId: 20 distinct values in 60 rows" in text
    assert "#   code: 59 distinct values in 60 rows" in text
    assert '# unit = "..."' in text
    assert "N1" not in text
    assert "unit" not in text_of(people())
