"""Files as people have them: the flags a person would give, and a release without editing anything.

Where a file cannot be released so, one sentence says what to do, and doing that works.
"""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyreadstat
import pytest
from openpyxl import Workbook

from tclose.table.formats import tried_files
from tests.table.formats.written_files import WRITERS, all_types, write_jsonl, write_sqlite, write_xlsx

pytestmark = pytest.mark.filterwarnings("always")
USUAL = ("--quasi", "age,zip,city", "--sensitive", "ill", "--rest", "drop", "--missing", "category")
Run = Callable[..., tuple[int, str]]


@dataclass(frozen=True)
class Mess:
    """A file, the sentence it ends with, and what to do then.

    Attributes
    ----------
    name
        Of the file.
    make
        Writes it.
    said
        What the sentence says; empty if there is none.
    then
        Options that then work.
    fix
        Writes it as the sentence asks.
    """

    name: str
    make: Callable[[Path], None]
    said: str = ""
    then: tuple[str, ...] = ()
    fix: Callable[[Path], None] | None = None
    options: tuple[str, ...] = ()


def people(**more: Any) -> pl.DataFrame:
    return all_types().with_columns(**more)


def sheets(*named: str, above: int = 0, blank: int = 0, merged: str = "", unnamed: int = 0) -> Callable[[Path], None]:
    """A workbook with the same table in every sheet."""

    def write(path: Path) -> None:
        book = Workbook()
        book.remove(book.active)
        for name in named or ("People",):
            page = book.create_sheet(name)
            for _ in range(above):
                page.append(["A title"])
            frame = people()
            header = [None if place < unnamed else each for place, each in enumerate(frame.columns)]
            for place, row in enumerate([header, *frame.rows()]):
                page.append(row)
                if blank and place == blank:
                    page.append([])
            if merged:
                page.merge_cells(merged)
        book.save(path)

    return write


def with_error_cells(path: Path) -> None:
    from openpyxl import load_workbook

    write_xlsx(people(), path)
    book = load_workbook(path)
    cell = book.active["F7"]
    cell.value, cell.data_type = "#N/A", "e"
    book.save(path)


def empty_sheets_beside(path: Path) -> None:
    book = Workbook()
    book.active.title = "Notes"
    page = book.create_sheet("People")
    for row in [people().columns, *people().rows()]:
        page.append(row)
    book.create_sheet("More")
    book.save(path)


def lines(
    change: Callable[[list[dict[str, Any]]], list[Any]], dumps: Callable[[Any], str] = json.dumps
) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        plain = [json.loads(json.dumps(row, default=str)) for row in people().to_dicts()]
        path.write_text("\n".join(map(dumps, change(plain))), encoding="utf-8")

    return write


def labelled(path: Path) -> None:
    """SPSS with labels for codes, one that is missing, and an order."""
    rng = np.random.default_rng(1)
    frame = people().to_pandas()[["age", "zip", "city", "ill"]].fillna("")
    frame["ill"] = rng.integers(1, 4, len(frame)).astype(float)
    frame["city"] = rng.choice([1.0, 2.0, 9.0], len(frame))
    pyreadstat.write_sav(
        frame,
        str(path),
        variable_value_labels={"ill": {1: "flu", 2: "cold", 3: "rash"}, "city": {1: "Bonn", 2: "Köln"}},
        missing_ranges={"city": [9]},
        variable_measure={"ill": "nominal", "city": "nominal"},
    )


def stata_labels(path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = people().to_pandas()[["age", "zip", "city"]].fillna("")
    frame["ill"] = rng.integers(1, 4, len(frame))
    pyreadstat.write_dta(frame, str(path), variable_value_labels={"ill": {1: "flu", 2: "cold", 3: "rash"}})


def two_tables(path: Path) -> None:
    write_sqlite(people(), path)
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE visits (day)")
    base.close()


def mixed_types(path: Path) -> None:
    write_sqlite(people(), path)
    with sqlite3.connect(path) as base:
        base.execute("UPDATE people SET zip = CAST(zip AS INTEGER) WHERE zip LIKE '1%'")
    base.close()


def damaged(name: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        WRITERS[name](people(), path)
        data = bytearray(path.read_bytes())
        path.write_bytes(data[: len(data) // 2])

    return write


def text(written: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(written, encoding="utf-8")

    return write


def as_lines(path: Path) -> None:
    write_jsonl(people(), path)


def good(name: str) -> Callable[[Path], None]:
    return lambda path: WRITERS[name](people(), path)


MESSES: dict[str, Mess] = {
    "two sheets": Mess("a.xlsx", sheets("2023", "2024"), "Name one with --sheet", ("--sheet", "2024")),
    "a sheet by its number": Mess("a.xlsx", sheets("one", "two"), options=("--sheet", "2")),
    "a misspelled sheet": Mess("a.xlsx", sheets("one"), "It has 'one'", ("--sheet", "one"), options=("--sheet", "on")),
    "empty sheets beside": Mess("a.xlsx", empty_sheets_beside),
    "a title above the header": Mess("a.xlsx", sheets(above=2), "Delete what stands above", fix=sheets()),
    "merged cells": Mess("a.xlsx", sheets(merged="F3:F6"), "Unmerge them", fix=sheets()),
    "an empty row between": Mess("a.xlsx", sheets(blank=9), "Delete empty rows", fix=sheets()),
    "a column without a name": Mess("a.xlsx", sheets(unnamed=1), "Name it, or delete it", fix=sheets()),
    "error cells": Mess("a.xlsx", with_error_cells),
    "a damaged workbook": Mess("a.xlsx", damaged("a.xlsx"), "not a readable spreadsheet", fix=sheets()),
    "a sheet of a CSV file": Mess("a.csv", good("a.csv"), "Leave it out", options=("--sheet", "x")),
    "labels of SPSS": Mess("a.sav", labelled),
    "codes of SPSS": Mess("a.sav", labelled, options=("--codes",)),
    "labels of Stata": Mess("a.dta", stata_labels),
    "a damaged SPSS file": Mess("a.sav", damaged("a.sav"), "not a readable", fix=good("a.sav")),
    "a damaged Stata file": Mess("a.dta", damaged("a.dta"), "not a readable", fix=good("a.dta")),
    "JSON lines in a .json file": Mess("a.json", as_lines, "--format jsonl", ("--format", "jsonl")),
    "a line that is no object": Mess(
        "a.jsonl",
        lines(lambda rows: [*rows[:5], [1], *rows[5:]]),
        "line 6: it is not a JSON object",
        fix=good("a.jsonl"),
    ),
    "a name twice": Mess(
        "a.jsonl",
        lines(lambda rows: rows, lambda row: json.dumps(row)[:-1] + ', "ill": "x"}'),
        "has a name twice",
        fix=good("a.jsonl"),
    ),
    "keys that some rows lack": Mess(
        "a.jsonl", lines(lambda rows: [{key: value for key, value in row.items() if value is not None} for row in rows])
    ),
    "lists in a column that is dropped": Mess("a.jsonl", lines(lambda rows: [{**row, "tags": ["a"]} for row in rows])),
    "lists in a column that is wanted": Mess(
        "a.jsonl", lines(lambda rows: [{**row, "city": [row["city"]]} for row in rows]), "'city'", fix=good("a.jsonl")
    ),
    "an empty file of lines": Mess("a.jsonl", text(""), "is empty", fix=good("a.jsonl")),
    "a damaged Arrow file": Mess("a.arrow", damaged("a.arrow"), "not a readable Arrow file", fix=good("a.arrow")),
    "two tables": Mess("a.db", two_tables, "Name one with --table", ("--table", "people")),
    "a table that is not there": Mess(
        "a.db", two_tables, "has no table", ("--table", "people"), options=("--table", "peopl")
    ),
    "a query": Mess("a.db", two_tables, options=("--query", "SELECT age, zip, city, ill FROM people WHERE age > 20")),
    "a query that is wrong": Mess(
        "a.db",
        two_tables,
        "the query cannot be run",
        ("--query", "SELECT * FROM people"),
        options=("--query", "SELEC 1"),
    ),
    "columns of several types": Mess("a.db", mixed_types),
    "no database": Mess("a.db", text("age\n1\n" * 500), "cannot be read as an SQLite", fix=good("a.db")),
    "another suffix": Mess("a.txt", good("a.csv"), "--format csv", ("--format", "csv")),
    "an unknown format": Mess(
        "a.txt", good("a.csv"), "Formats are csv", ("--format", "csv"), options=("--format", "word")
    ),
}


@pytest.fixture(autouse=True)
def untried(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files without a trial in another process, which takes most of the time, but for damaged ones."""
    if "damaged" not in request.node.name:
        monkeypatch.setattr(tried_files, "_survives", lambda *arguments: True)


def released(
    run: Run, data: str, options: tuple[str, ...], output: str = "release.csv", *, upper: bool = False
) -> tuple[int, str]:
    """`init` and `anonymize`, nothing in between: the first that fails, or how the second ended."""
    flags = [each if each.startswith("-") or each in ("drop", "category") else each.upper() for each in USUAL]
    code, said = run("init", data, *options, *(flags if upper else USUAL), "-o", "schema.toml", "--overwrite")
    if code:
        return code, said
    return run("anonymize", data, *options, "-s", "schema.toml", "-o", output, "--method", "mondrian")


def most_slow(names: Iterable[str], quick: Iterable[str]) -> list[Any]:
    """Some for every day, and all in `make test`."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


TRIED = [name for name in MESSES if "damaged" in name and "Arrow" not in name]  # in other processes, which takes long


@pytest.mark.parametrize("name", most_slow(MESSES, set(MESSES) - set(TRIED)))
def test_a_mess_ends_in_a_release_or_a_sentence(name: str, run: Run, tmp_path: Path) -> None:
    mess = MESSES[name]
    mess.make(tmp_path / mess.name)
    code, said = released(run, mess.name, mess.options)
    if mess.said:
        assert code in (2, 3, 4), said
        assert mess.said in said
        if mess.fix is not None:
            (tmp_path / mess.name).unlink()
            mess.fix(tmp_path / mess.name)
        code, said = released(run, mess.name, mess.then)
    assert code == 0, said
    assert run("verify", "release.csv", "-s", "schema.toml")[0] == 0


OUTPUTS = ("release.csv", "release.tsv", "release.jsonl", "release.arrow", "release.parquet", "release.tsv.gz")


@pytest.mark.parametrize("name", most_slow(WRITERS, ["a.tsv", "a.jsonl", "a.arrow", "a.xlsx", "a.sav", "a.db"]))
def test_from_every_format_to_a_release(name: str, run: Run, tmp_path: Path) -> None:
    """Into each format in turn."""
    output = OUTPUTS[list(WRITERS).index(name) % len(OUTPUTS)]
    WRITERS[name](people(), tmp_path / name)
    code, said = released(run, name, (), output, upper=name == "a.por")
    assert code == 0, said
    assert run("verify", output, "-s", "schema.toml")[0] == 0


@pytest.mark.parametrize("name", most_slow(["csv", "tsv", "jsonl", "json", "parquet", "arrow"], ["csv", "arrow"]))
def test_standard_input(name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"a.{name}"
    people().write_parquet(path) if name == "parquet" else WRITERS[f"a.{name}"](people(), path)

    def pipe() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))

    pipe()
    assert run("init", "-", "--format", name, *USUAL, "-o", "schema.toml")[0] == 0
    pipe()
    record = ("--private-report", "mine.html", "--record", "record.json")  # which read the table once more
    code, said = run("anonymize", "-", "--format", name, "-s", "schema.toml", "-o", "release.csv", *record)
    assert code == 0, said
    assert run("verify", "release.csv", "-s", "schema.toml")[0] == 0


def test_every_command_reads_a_sheet(run: Run, tmp_path: Path) -> None:
    sheets("2023", "2024")(tmp_path / "a.xlsx")
    sheet = ("a.xlsx", "--sheet", "2024")
    assert run("init", *sheet, *USUAL, "-o", "schema.toml")[0] == 0
    promised = (*sheet, "-s", "schema.toml")
    assert run("anonymize", *promised, "-o", "release.csv", "--method", "mondrian", "--keep-order")[0] == 0
    for command in (
        ("assess", *promised),
        ("verify", "release.csv", "-s", "schema.toml", "--original", "a.xlsx", "--sheet", "2024"),
        ("compare", *promised, "--methods", "mondrian", "--queries", "0", "--jobs", "1"),
        ("suggest", *promised, "--method", "mondrian", "--queries", "0", "--from", "0.2", "--to", "0.4"),
        ("utility", "a.xlsx", "release.csv", "--sheet", "2024", "-s", "schema.toml", "--queries", "0"),
    ):
        code, said = run(*command)
        assert code == 0, (command, said)


def test_from_a_file_into_a_table_of_sqlite_and_back(run: Run, tmp_path: Path) -> None:
    good("a.csv")(tmp_path / "a.csv")
    assert run("init", "a.csv", *USUAL, "-o", "schema.toml")[0] == 0
    write = ("anonymize", "a.csv", "-s", "schema.toml", "--method", "mondrian", "-o")
    code, said = run(*write, "sqlite:///out.db")
    assert (code, "--output-table" in said) == (2, True)
    assert run(*write, "sqlite:///out.db", "--table", "release")[0] == 0
    assert run("verify", "out.db", "--table", "release", "-s", "schema.toml")[0] == 0
    code, said = run("verify", "out.db", "-s", "schema.toml")
    assert (code, "'release', 'release_certificate'" in said) == (3, True)
    code, said = run(*write, "out.db", "--table", "release")
    assert (code, "--replace-table" in said) == (3, True)
    assert run(*write, "out.db", "--table", "release", "--replace-table")[0] == 0
    with sqlite3.connect("out.db") as base:
        base.execute("UPDATE release SET ill = 'flu'")
    base.close()
    assert run("verify", "out.db", "--table", "release", "-s", "schema.toml")[0] == 5
    for wrong in (("release.csv", "--table", "x"), ("out.db", "--table", "x", "--certificate-table", "x")):
        assert run(*write, *wrong)[0] == 2


def test_standard_input_needs_a_format(run: Run) -> None:
    code, said = run("init", "-")
    assert (code, "--format csv|tsv" in said) == (2, True)


def test_nothing_is_released_to_standard_output(run: Run, tmp_path: Path) -> None:
    good("a.csv")(tmp_path / "a.csv")
    assert run("init", "a.csv", *USUAL, "-o", "schema.toml")[0] == 0
    code, said = run("anonymize", "a.csv", "-s", "schema.toml", "-o", "-")
    assert (code, "certificate beside it" in said) == (2, True)


def test_there_are_enough_files() -> None:
    assert len(MESSES) + len(WRITERS) >= 50
