"""Where tables are: options that fit, and passwords that nobody sees."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path
from typing import Any

import pytest

import tclose
from tclose.errors import MissingExtraError, TableError
from tclose.table.formats import tried_files
from tclose.table.formats.database_urls import masked, name_parts, quoted_name
from tclose.table.formats.file_formats import format_of
from tclose.table.formats.tried_files import read_tried
from tclose.table.source import read
from tclose.table.table_location import TableLocation, file_of

PASSWORDS = ["secret", "sec/ret", "sec?ret", "sec@ret", "sec#ret", "s:e:c", "secret@host", "%40sec"]


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_is_never_shown(password: str) -> None:
    for url in (
        f"postgresql://ann:{password}@host/people",
        f"postgresql://ann:{password}@/people?host=/tmp",
        f"postgresql://host/people?user=ann&password={password}",
        f"postgresql://host:5432/people?user=ann&password={password}",
    ):
        location = TableLocation(url, table="x")
        for shown in (repr(location), str(location), location.name, masked(url), f"{location}"):
            assert [part for part in ("sec", "ret", "s:e:c") if part in shown] == []
        assert location.url == url
        assert pickle.loads(pickle.dumps(location)) == location


def test_an_unreachable_server_is_told_without_the_password() -> None:
    pytest.importorskip("adbc_driver_postgresql")
    location = TableLocation("postgresql://ann:secret@127.0.0.1:1/people", table="x")
    with pytest.raises(TableError, match="the server cannot be reached") as refused:
        read(location)
    assert "secret" not in "".join(traceback.format_exception(refused.value))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({"place": ""}, "needs a path"),
    "a sheet of a CSV file": ({"place": "a.csv", "sheet": "x"}, "--sheet cannot be said"),
    "codes of a spreadsheet": ({"place": "a.xlsx", "codes": True}, "--codes cannot be said"),
    "a table of a file": ({"place": "a.csv", "table": "x"}, "--table cannot be said"),
    "a table and a query": ({"place": "a.db", "table": "x", "query": "y"}, "Name one of them"),
    "a sheet of a database": ({"place": "sqlite:///a.db", "sheet": "x"}, "--sheet cannot be said of a database"),
    "standard input without a format": ({"place": "-"}, "Say what format"),
    "a spreadsheet on standard input": ({"place": "-", "format": "excel"}, "Say what format"),
    "no such format": ({"place": "a.csv", "format": "word"}, "no format of this name"),
    "an unknown suffix": ({"place": "a.doc"}, "--format csv"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_do_not_fit(name: str) -> None:
    options, said = REFUSED[name]
    with pytest.raises(TableError, match=said):
        TableLocation(**options)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("a.CSV", None, ("csv", ".csv")),
        ("a.csv.gz", None, ("csv", ".csv.gz")),
        ("a.txt", "csv", ("csv", ".csv")),
        ("a.txt.gz", "tsv", ("tsv", ".tsv.gz")),
        ("a.csv", "tsv", ("tsv", ".tsv")),
        ("a.dat", "spss", ("spss", ".sav")),
    ],
)
def test_formats(name: str, given: str | None, expected: tuple[str, str]) -> None:
    assert tuple(format_of(Path(name), given)) == expected


def test_names_of_tables() -> None:
    assert quoted_name('my"table') == '"my""table"'
    assert name_parts('a."b.""c"') == ["a", 'b."c']
    assert file_of(TableLocation("a.db")) is None
    assert file_of(TableLocation("a.csv")) == Path("a.csv")


EXTRAS = {
    "a.xlsx": ("fastexcel", r"pip install 'tclose\[excel\]'"),
    "a.sav": ("pyreadstat", r"pip install 'tclose\[stats\]'"),
    "postgresql://host/people": ("adbc_driver_postgresql", r"pip install 'tclose\[databases\]'"),
}


@pytest.mark.parametrize("place", EXTRAS)
def test_an_absent_reader_is_told_with_its_extra(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, said = EXTRAS[place]
    monkeypatch.setattr(tried_files, "find_spec", lambda name: None if name == package else object())
    monkeypatch.chdir(tmp_path)
    Path("a.xlsx").touch()
    Path("a.sav").touch()
    with pytest.raises(MissingExtraError, match=said):
        read(TableLocation(place))


def kills(path: str) -> None:
    """A reader that a file makes end the process."""
    import os

    os.abort()


def raises(path: str) -> None:
    """A reader that says what it found."""
    raise ValueError("secret")


def test_a_file_that_ends_the_process_is_never_read_here(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(TableError, match=r"^It cannot be read\.$"):
        read_tried("It cannot be read", tmp_path / "a", kills)


def test_a_file_that_a_reader_refuses_is_told_without_its_words(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(TableError, match=r"^It cannot be read \(ValueError\)\.$"):
        read_tried("It cannot be read", tmp_path / "a", raises)


def test_a_location_is_taken_wherever_a_path_is(tmp_path: Path) -> None:
    frame, schema = tclose.datasets.census(600, seed=1)
    frame.write_csv(tmp_path / "people.txt")
    location = TableLocation(str(tmp_path / "people.txt"), format="csv")
    release = tclose.anonymize(location, schema, method="mondrian")
    assert tclose.assess(location, schema).rows == 600
    written = release.write(tmp_path / "release.tsv")
    assert tclose.verify(TableLocation(str(tmp_path / "release.tsv")), schema).holds
    assert written.certificate["formulas"] == "as they are"
