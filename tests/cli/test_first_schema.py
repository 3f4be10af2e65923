"""A first schema: it guesses and says why, and runs as it is or once a person has settled what is open."""

from __future__ import annotations

import os
import re
import stat
import sys
import tomllib
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.cli.main import main
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.table.coded import CodedColumn
from tclose.table.proposing.proposal_text import write_proposal
from tclose.table.proposing.singling_out import singled_out
from tclose.table.proposing.table_proposal import RoleChoices, TableProposal
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


def text_of(frame: pl.DataFrame, name: str = "people.csv", **reading: str) -> str:
    """What `init` writes where nobody settles anything."""
    proposal = TableProposal.of(read(frame), name, reading)
    roles = {
        name: guess.role if guess.role in ("identifier", "unit") else "open" for name, guess in proposal.guesses.items()
    }
    return write_proposal(proposal, RoleChoices(roles)).text


def settle(text: str, sensitive: set[str]) -> str:
    """What a person does: each column is quasi-identifying or sensitive."""
    settled, taken = [], False
    for line in text.split("\n"):
        if re.match(r"\[undecided\.|about = ", line):
            continue
        if re.match(r"# \[(quasi|sensitive)\..*\]$", line):
            role, columns = next(iter(tomllib.loads(line[2:]).items()))
            taken = role == ("sensitive" if next(iter(columns)) in sensitive else "quasi")
        elif not line or line.startswith("# At t"):
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
    text = settle(text_of(people()), {"ill"}).replace("# missing = ", "missing = ")
    (tmp_path / "schema.toml").write_text(text, encoding="utf-8")
    schema = Schema.load(tmp_path / "schema.toml")
    kinds = {column.column: (column.kind, column.step) for column in schema.quasi}
    assert kinds == {
        "age": ("numeric", 5),
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
        ([row * row for row in range(40)], False),
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


def ranked(frame: pl.DataFrame) -> list[tuple[float, tuple[str, ...]]]:
    return singled_out([CodedColumn.of(column) for column in frame])


@pytest.mark.parametrize("seed", range(5))
def test_combinations_are_ranked_as_brute_force_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c", "d"]
    frame = pl.DataFrame({name: rng.integers(0, int(rng.integers(2, 12)), 40) for name in names})
    frame = frame.with_columns(d=pl.when(pl.col("d") > 0).then("d"))  # some missing: they are alike
    found = {tuple(sorted(combination)): share for share, combination in ranked(frame)}
    wanted = {c: alone(frame, c) for size in (1, 2, 3) for c in combinations(names, size)}
    assert found == pytest.approx(wanted)
    shares = [share for share, _ in ranked(frame)]
    assert shares == sorted(shares, reverse=True)


def test_the_ranking_is_written_as_comments() -> None:
    frame = people().select("age", "zip", "job")
    text = text_of(frame)
    lines = [line for line in text.splitlines() if re.match(r"#\s+[\d.]+%", line)]
    first = next(line for line in lines if "age" in line and "+" not in line)
    assert f"{alone(frame, ('age',)):.1%}" in first
    assert any("age + job + zip" in line for line in lines)


def test_a_constant_column_singles_nobody_out() -> None:
    assert all("same" not in names for _, names in ranked(people()))


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
    text = text_of(frame, 'file\n"name"\r.csv')
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
    named = [*keys.get("identifiers", []), *keys.get("undecided", {})]
    decided = set(keys.get("identifiers", []))
    if re.search(r"^# \[quasi\.(?!NAME)", text, re.MULTILINE):
        schema = Schema.from_dict(tomllib.loads(settle(text, set()))).resolve(frame.columns)
        assert {column.column for column in schema.quasi} == set(frame.columns) - decided
    else:
        assert set(named) == set(frame.columns)


def test_what_no_kind_can_read_is_not_proposed() -> None:
    frame = pl.DataFrame({"a": [float("inf"), *map(float, range(30)), 0.5]})
    assert "# It cannot be a quasi-identifier: some of its numbers are infinite" in text_of(frame)


def test_what_reading_found_is_written_down() -> None:
    keys = tomllib.loads(text_of(people(), delimiter=";", encoding="cp1252", decimal=","))
    assert (keys["delimiter"], keys["encoding"], keys["decimal"]) == (";", "cp1252", ",")
    assert "delimiter" not in tomllib.loads(text_of(people()))


def test_what_may_name_a_person_and_repeats_is_said() -> None:
    patients, codes = [f"N{row // 3}" for row in range(60)], [f"c{max(row, 1)}" for row in range(60)]
    text = text_of(people().with_columns(patientId=pl.Series(patients), code=pl.Series(codes)))
    assert tomllib.loads(text)["unit"] == "patientId"
    assert "20 in 60 rows" in text
    assert "code: nearly every row has a value of its own (59 distinct values in 60 rows)" in text
    assert "N1" not in text
    assert "unit" not in tomllib.loads(text_of(people()))


# By the command


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `tclose init` in a folder with people.csv."""
    people(200).write_csv(tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def command(*arguments: object, name: str = "init") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tclose", name, *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        told = capsys.readouterr()
        return int(end.value.code or 0), told.out, told.err

    return command


FLAGS = ("people.csv", "--quasi", "age,zip", "--sensitive", "ill", "--rest", "drop")


def test_flags_make_a_schema_that_runs(run: Run) -> None:
    code, out, err = run(*FLAGS, "--k", 4, "-o", "schema.toml")
    assert (code, out) == (0, "")
    assert "2 quasi-identifiers, 1 sensitive, 5 never released" in err
    assert "tclose anonymize people.csv -s schema.toml" in err
    schema = Schema.load("schema.toml")
    assert schema.k == 4
    assert schema.missing == "category"  # some of `ill` are empty
    assert schema.identifiers == ("id", "height", "seen", "job", "same")
    assert run("people.csv", "-s", "schema.toml", "-o", "release.csv", name="anonymize")[0] == 0
    assert run("release.csv", "-s", "schema.toml", name="verify")[0] == 0


def test_without_a_name_for_it_the_schema_goes_to_stdout(run: Run) -> None:
    code, out, _ = run(*FLAGS)
    assert code == 0
    assert Schema.from_dict(tomllib.loads(out)).columns["ill"] == "sensitive"


def test_every_reason_is_there(run: Run) -> None:
    out = run(*FLAGS)[1]
    assert "id: nearly every row has a value of its own (200 distinct values in 200 rows)" in out
    assert "its name says that it is an age (HIPAA: ages over 89)" in out
    assert "At t = 0.2 no value is more than 20 points commoner in a class than in the table (rise = 0.2" in out
    assert 'missing_values = ["?"]' in out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--quasi", "agee"), "no column 'agee'. Did you mean 'age'?"),
        (("--quasi", "AGE"), "Did you mean 'age'?"),
        (("--quasi", "age,,zop"), "no column 'zop'. Did you mean 'zip'?"),
        (("--sensitive", "lab_*"), "no column 'lab_*'"),
        (("--quasi", "age", "--sensitive", "age"), "Column 'age' is named as quasi and as sensitive"),
        (("--quasi", "age", "--unit", "nobody"), "no column 'nobody'"),
        (("--delimiter", "ab"), "one plain character"),
        (("--rest", "drop", "--ask"), "say different things"),
        (("-o", "people.csv"), "overwrite another"),
        (("--k", "0"), "greater than or equal to 1"),
    ],
)
def test_wrong_usage(run: Run, flags: tuple[str, ...], said: str) -> None:
    code, _, err = run("people.csv", *flags)
    assert code == 2
    assert said in " ".join(re.sub(r"[│╭╮╰╯─]", " ", err).split())


def test_a_schema_without_quasi_identifiers_is_refused(run: Run) -> None:
    assert run("people.csv", "--rest", "drop")[0] == 3
    code, _, err = run("people.csv", "--sensitive", "ill", "--rest", "drop")
    assert (code, "--quasi" in err) == (3, True)


def test_a_file_that_is_there_is_not_replaced(run: Run, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text("mine")
    assert run(*FLAGS, "-o", "schema.toml")[0] == 2
    assert (tmp_path / "schema.toml").read_text() == "mine"
    assert run(*FLAGS, "-o", "schema.toml", "--overwrite")[0] == 0
    assert Schema.load("schema.toml").k == 5


def test_what_is_not_named_stays_open_where_nobody_can_be_asked(run: Run) -> None:
    code, _, err = run("people.csv", "--quasi", "age,zip", "--sensitive", "ill", "-o", "schema.toml")
    assert code == 0
    assert "4 columns are open" in err
    keys = tomllib.loads(Path("schema.toml").read_text())
    assert set(keys["undecided"]) == {"height", "seen", "job", "same"}
    assert set(keys["quasi"]) == {"age", "zip"}


@pytest.mark.parametrize(("rest", "role"), [("keep", "keep"), ("quasi", "quasi"), ("identifiers", "identifier")])
def test_the_rest_may_be_anything_but_identifiers_stay_in(run: Run, rest: str, role: str) -> None:
    out = run("people.csv", "--quasi", "age", "--sensitive", "ill", "--rest", rest)[1]
    columns = Schema.from_dict(tomllib.loads(out)).columns
    assert {columns[name] for name in ("zip", "seen", "job")} == {role}
    assert columns["id"] == "identifier"


def test_an_identifier_that_is_named_is_said_to_be_one(run: Run) -> None:
    err = run("people.csv", "--quasi", "age,id", "--sensitive", "ill", "--rest", "drop")[2]
    assert "column 'id' is released as quasi, and looks like an identifier" in err


def test_names_with_commas_and_stars(run: Run, tmp_path: Path) -> None:
    frame = people(80).rename({"age": "age, in years", "zip": "z*p", "job": "zXp"})
    frame.write_csv(tmp_path / "odd.csv")
    out = run("odd.csv", "--quasi", "age, in years", "--quasi", "z*p", "--sensitive", "ill", "--rest", "drop")[1]
    found = Schema.from_dict(tomllib.loads(out)).resolve(frame.columns).columns
    assert {name for name, role in found.items() if role == "quasi"} == {"age, in years", "z*p"}
    assert found["zXp"] == "identifier"


@pytest.mark.slow
def test_three_hundred_columns_are_a_few_lines(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    labs = {f"lab_{number:03}": rng.normal(size=60).round(2) for number in range(300)}
    frame = pl.DataFrame({"name": [f"N{row}" for row in range(60)], "age": rng.integers(20, 80, 60), **labs})
    frame.write_csv(tmp_path / "wide.csv")
    text = run("wide.csv")[1]
    assert len(text.splitlines()) < 60
    assert list(tomllib.loads(text)["undecided"]) == ["age", "lab_*"]
    text = run("wide.csv", "--quasi", "age", "--sensitive", "lab_0*", "--rest", "drop")[1]
    assert len(text.splitlines()) < 40
    found = Schema.from_dict(tomllib.loads(text)).resolve(frame.columns).columns
    assert found == {name: "sensitive" if name.startswith("lab_0") else "identifier" for name in frame.columns} | {
        "age": "quasi"
    }


def test_hierarchies_are_files_to_edit(run: Run, tmp_path: Path) -> None:
    frame = people(200).with_columns(job=pl.Series([f"job {row % 3 if row < 180 else row % 9}" for row in range(200)]))
    frame.write_csv(tmp_path / "people.csv")
    flags = ("people.csv", "--quasi", "age,zip,job,seen", "--sensitive", "ill", "--rest", "drop", "-o", "schema.toml")
    code, _, _ = run(*flags, "--hierarchies", "trees")
    assert code == 0
    lines = (tmp_path / "trees" / "job.csv").read_text().splitlines()
    assert lines[0] == "job 0;job 0;*"
    assert "job 7;other;*" in lines
    assert stat.S_IMODE(os.stat(tmp_path / "trees" / "job.csv").st_mode) == 0o600  # it holds cells
    schema = Schema.load("schema.toml")
    assert schema.without_levels == ()  # so that methods which climb hierarchies take it
    release = ("people.csv", "-s", "schema.toml", "-o", "release.csv")
    assert run(*release, name="anonymize")[0] == 0
    assert run("people.csv", "-s", "schema.toml", "-o", "other.csv", "--method", "incognito", name="anonymize")[0] in (
        0,
        4,
    )
    assert run(*flags, "--hierarchies", "trees", "--overwrite")[0] == 0
    (tmp_path / "schema.toml").unlink()
    assert run(*flags, "--hierarchies", "trees")[0] == 2  # edited files are not replaced


def test_many_sensitive_values_get_a_promise_that_can_be_kept(run: Run, tmp_path: Path) -> None:
    """No class of a few rows is within t of a table in which every row has a value of its own."""
    frame = people(100).with_columns(note=pl.Series([f"n{row}" for row in range(100)]))
    frame.write_csv(tmp_path / "notes.csv")
    code, text, _ = run("notes.csv", "--quasi", "age", "--sensitive", "note", "--rest", "drop")
    assert code == 0
    assert tomllib.loads(text)["sensitive"]["note"] == {"distance": "equal", "rise": 0.2}
    (tmp_path / "schema.toml").write_text(text)
    assert tclose.anonymize(tmp_path / "notes.csv", tmp_path / "schema.toml", method="mondrian").measured.classes > 5


def test_spaces_around_names_need_not_be_given(run: Run, tmp_path: Path) -> None:
    people(60).rename({"age": " age ", "ill": " ill"}).write_csv(tmp_path / "spaced.csv")
    code, text, told = run("spaced.csv", "--quasi", "age,zip", "--sensitive", " ill", "--rest", "drop")
    assert code == 0, told
    assert list(tomllib.loads(text)["quasi"]) == [" age ", "zip"]


def test_a_table_without_rows_is_refused(run: Run, tmp_path: Path) -> None:
    people(0).write_csv(tmp_path / "none.csv")
    code, text, told = run("none.csv", "--quasi", "age", "--sensitive", "ill", "--rest", "drop")
    assert (code, text) == (3, "")
    assert "has no rows" in told


def test_rows_of_persons_are_settled_by_a_flag(run: Run, tmp_path: Path) -> None:
    frame = people(200).with_columns(patient_nbr=pl.Series([10_000 + row // 2 for row in range(200)]))
    frame.write_csv(tmp_path / "visits.csv")
    flags = ("--quasi", "age,zip", "--sensitive", "ill", "--unit", "patient_nbr", "--rest", "drop")
    assert "Run again with --unit-rows one or all." in run("visits.csv", *flags)[2]
    code, text, told = run("visits.csv", *flags, "--unit-rows", "one")
    assert (code, "--unit-rows" in told) == (0, False)
    (tmp_path / "schema.toml").write_text(text)
    assert len(tclose.anonymize(tmp_path / "visits.csv", tmp_path / "schema.toml", method="mondrian").table) == 100
    assert run("visits.csv", *FLAGS[1:], "--unit-rows", "all")[0] == 2


@pytest.mark.parametrize(("code", "typed"), [("-9", False), ("999", False), ("-9", True), ("-99", True)])
def test_numbers_that_may_mean_missing_are_mentioned(code: str, typed: bool, run: Run, tmp_path: Path) -> None:
    ages = [code if row % 10 == 0 else str(20 + row % 60) for row in range(100)]
    frame = people(100).with_columns(age=pl.Series(ages).cast(pl.Int64 if typed else pl.String))
    name = "people.parquet" if typed else "codes.csv"
    frame.write_parquet(tmp_path / name) if typed else frame.write_csv(tmp_path / name)
    flags = (name, "--quasi", "age", "--sensitive", "ill", "--rest", "drop")
    _, text, told = run(*flags)
    assert f"column 'age' has {code} in 10 rows, far from its other numbers." in told
    assert f'values of their own: "{code}".' in text
    assert code not in tomllib.loads(text).get("missing_values", [])
    _, text, told = run(*flags, f"--missing-values={code},no answer")
    assert "far from" not in told
    assert {code, "no answer"} <= set(tomllib.loads(text)["missing_values"])
    assert "distinct whole numbers, 10 missing" in text


def test_numbers_near_others_are_values(run: Run, tmp_path: Path) -> None:
    ages = [str(-9 + row % 40) for row in range(100)] + ["99"] * 5 + [str(60 + row) for row in range(30)]
    people(135).with_columns(age=pl.Series(ages)).write_csv(tmp_path / "near.csv")
    assert "far from" not in run("near.csv", "--quasi", "age", "--sensitive", "ill", "--rest", "drop")[2]


def test_what_keeps_a_column_from_being_numbers_or_dates_is_said(run: Run, tmp_path: Path) -> None:
    days = ["31.12.2024" if row % 2 else f"2024-01-{1 + row % 28:02}" for row in range(60)]
    frame = people(60).with_columns(age=pl.Series([*people(59)["age"], "in all"]), seen=pl.Series(days))
    frame.write_csv(tmp_path / "odd.csv")
    _, _, told = run("odd.csv", "--quasi", "age,seen", "--sensitive", "ill", "--rest", "drop")
    assert "column 'age' holds numbers, but for line 61, and is read as text" in told
    assert "column 'seen' holds what look like dates, and is read as text" in told
    assert "in all" not in told


def test_units_are_found_and_said(run: Run, tmp_path: Path) -> None:
    frame = people(200).with_columns(patient_nbr=pl.Series([10_000 + row // 2 for row in range(200)]))
    frame.write_csv(tmp_path / "visits.csv")
    code, out, err = run("visits.csv")
    assert tomllib.loads(out)["unit"] == "patient_nbr"
    assert "100 in 200 rows" in out
    code, out, err = run("visits.csv", *FLAGS[1:])
    assert code == 0
    assert "patient_nbr" in tomllib.loads(out)["identifiers"]
    assert "100 distinct values in 200 rows" in err
    assert "--unit 'patient_nbr'" in err


def test_a_type_that_cannot_be_released_is_refused_with_a_way_on(run: Run, tmp_path: Path) -> None:
    people(60).with_columns(scan=pl.lit(b"\x00")).write_parquet(tmp_path / "scans.parquet")
    code, out, _ = run("scans.parquet", "--quasi", "age", "--sensitive", "ill", "--rest", "drop")
    assert code == 0
    assert "scan: values of type Binary are not released" in out
    code, _, err = run("scans.parquet", "--quasi", "age,scan", "--sensitive", "ill", "--rest", "drop")
    assert code == 3
    assert "Column 'scan' cannot be quasi" in err


def test_what_may_be_meant_otherwise_is_said(run: Run, tmp_path: Path) -> None:
    rows = [
        (f"{1 + row % 12:02}/{1 + row % 28:02}/2024", f"0{1 + row % 9}/0{1 + row % 7}/2024", f"{row}%", row % 3)
        for row in range(60)
    ]
    frame = pl.DataFrame(rows, schema=["seen", "left", "share", "ill"], orient="row")
    frame.write_csv(tmp_path / "visits.csv")
    flags = ("--quasi", "seen,left", "--sensitive", "share,ill", "--rest", "drop")
    code, text, told = run("visits.csv", *flags)
    assert code == 0
    assert "'left' cannot be told apart, and are read as %m/%d/%Y, as in column 'seen'" in told
    assert "'share' holds numbers that are read as text" in told
    assert "no class within t = 0.2 has fewer than 48. So rise = 0.2 is asked in place of t" in told
    assert text.count('format = "%m/%d/%Y"') == 2
    code, text, told = run("visits.csv", *flags, "--date-format", "%d/%m/%Y")
    assert (code, text.count('format = "%m/%d/%Y"'), text.count('format = "%d/%m/%Y"')) == (0, 1, 1)
    assert "told apart" not in told


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%a %d", "nonsense", "%Q", "%"])
def test_a_format_that_no_column_has_is_refused(run: Run, form: str) -> None:
    code, text, told = run(
        "people.csv", "--quasi", "age", "--sensitive", "ill", "--rest", "drop", "--date-format", form
    )
    assert (code, text) == (3, "")
    assert "No column has all of its values in the format" in told
    assert run("people.csv", "--quasi", "seen", "--rest", "drop", "--date-format", "%Y-%m-%d")[0] == 0
