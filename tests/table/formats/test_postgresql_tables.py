"""A real PostgreSQL: every type as it is there, what is refused, and releases by the command line."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.cli.main import main
from tclose.errors import TableError
from tclose.table.source import read
from tests.table.formats.postgresql_server import PASSWORD, Server, needs_postgresql, running
from tests.table.formats.written_files import SCHEMA, all_types

pytestmark = [needs_postgresql, pytest.mark.filterwarnings("always")]
PEOPLE = (
    "age int, height numeric(4,1), born date, member boolean, zip char(8), city varchar(20), ill text, dose smallint, "
    "seen timestamp"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    for server in running():
        server.run(f"CREATE TABLE people ({PEOPLE})")
        server.copy("people", all_types().write_csv(include_header=False))
        yield server


def values(server: Server, expression: str) -> pl.Series:
    query = f"SELECT {expression} AS x UNION ALL SELECT NULL"
    return read(tclose.TableLocation(server.url, query=query)).column("x")


VALUES: dict[str, tuple[pl.DataType, Any]] = {
    "1::smallint": (pl.Int16(), 1),
    "9223372036854775807": (pl.Int64(), 2**63 - 1),
    "1.10::numeric": (pl.Decimal(38, 2), Decimal("1.10")),
    "7::numeric(10,0)": (pl.Int64(), 7),
    "123456789012345678901234567890.12::numeric": (pl.Decimal(38, 2), Decimal("123456789012345678901234567890.12")),
    "('1' || repeat('0', 50) || '.1')::numeric": (pl.String(), f"1{'0' * 50}.1"),
    "'NaN'::numeric": (pl.Int64(), None),
    "0.1::float8": (pl.Float64(), 0.1),
    "true": (pl.Boolean(), True),
    "'0001-01-01'::date": (pl.Date(), date(1, 1, 1)),
    "'9999-12-31 23:59:59.999999'::timestamp": (pl.Datetime("us"), datetime(9999, 12, 31, 23, 59, 59, 999999)),
    "'2024-01-01 08:00+02:30'::timestamptz": (pl.Datetime("us", "UTC"), datetime(2024, 1, 1, 5, 30, tzinfo=UTC)),
    "'08:30:00.5'::time": (pl.Time(), time(8, 30, 0, 500000)),
    "'Łódź'::text": (pl.String(), "Łódź"),
    "'ab'::char(5)": (pl.String(), "ab"),
    "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid": (pl.String(), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
}


@pytest.mark.parametrize("expression", VALUES)
def test_values(expression: str, server: Server) -> None:
    kind, value = VALUES[expression]
    found = values(server, expression)
    assert (found.dtype, found.to_list()) == (kind, [value, None])


def test_an_enumeration_is_its_words(server: Server) -> None:
    server.run("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    assert values(server, "'glad'::mood").to_list() == ["glad", None]


@pytest.mark.parametrize(
    "expression", ["'{\"a\": 1}'::json", "'{}'::jsonb", "ARRAY[1, 2]", "'x'::bytea", "'1.2.3.4'::inet"]
)
def test_what_no_release_has_can_be_left_out_and_not_be_released(expression: str, server: Server) -> None:
    query = f"SELECT age, ill, {expression} AS x FROM people"
    schema: dict[str, Any] = {
        "k": 4,
        "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {"ill": {"distance": "equal", "t": 0.4}},
    }
    location = tclose.TableLocation(server.url, query=query)
    left_out = tclose.anonymize(location, {**schema, "identifiers": ["x"]}, method="mondrian", seed=1)
    assert left_out.table.columns == ["age", "ill"]
    with pytest.raises(TableError, match="Column 'x' is of type"):
        tclose.anonymize(location, {**schema, "keep": ["x"]}, method="mondrian")


REFUSED = {
    "SELECT 'infinity'::date AS x": "infinite",
    "SELECT '-infinity'::timestamptz AS x": "infinite",
    "SELECT '10000-01-01'::date AS x": "years 1 to 9999",
    "SELECT '1 day'::interval AS x": "is of type interval",
    "SELECT '1.50'::money AS x": "is of type money",
    "SELEC 1": "not SQL that PostgreSQL understands",
    "SELECT * FROM nowhere": "there is no such table",
    "SELECT nothing FROM people": "a column that is not there",
    "DELETE FROM people RETURNING age": "must only read",
    "SELECT 1 AS x, 2 AS x": "same name",
    "SELECT 1 / (age - age) FROM people": "SQLSTATE 22012",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_refused(query: str, server: Server) -> None:
    with pytest.raises(TableError, match=REFUSED[query]) as refused:
        read(tclose.TableLocation(server.url, query=query))
    assert PASSWORD not in str(refused.value)
    assert refused.value.__context__ is None
    assert server.run("SELECT count(*) FROM people") == str(len(all_types()))


def test_connections_that_fail_say_why(server: Server) -> None:
    for url, said in (
        (server.url_with("guessed"), "the password is wrong"),
        (server.url.replace("/postgres?", "/nowhere?"), "no such database"),
    ):
        with pytest.raises(TableError, match=said) as refused:
            read(tclose.TableLocation(url, table="people"))
        assert not {PASSWORD, "guessed"} & set(str(refused.value).replace(":", "@").split("@"))


def test_the_same_certificate_as_from_a_frame(server: Server) -> None:
    location = tclose.TableLocation(server.url, table="public.people")
    found = tclose.anonymize(location, SCHEMA, method="mondrian", seed=1)
    expected = tclose.anonymize(all_types(), SCHEMA, method="mondrian", seed=1)
    assert found.certificate.as_dict() == expected.certificate.as_dict()


@pytest.mark.slow
def test_from_table_to_table_by_the_command_line(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    said: list[str] = []

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["tclose", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        said[:] = [out, err]
        assert PASSWORD not in out + err
        return int(end.value.code or 0)

    read_from = (server.url, "--table", "people")
    flags = ("--quasi", "age,zip", "--sensitive", "ill", "--rest", "drop", "-o", "schema.toml")
    assert run("init", *read_from, *flags) == 0
    assert "--table people" in said[1]
    write = ("-s", "schema.toml", "-o", server.url, "--output-table", "release", "--method", "mondrian", "--json")
    assert run("anonymize", *read_from, *write, "--record", "record.json", "--report", "page.html") == 0
    told = json.loads(said[0])
    assert told["certificate"] == "table release_certificate"
    assert PASSWORD not in Path("record.json").read_text() + Path("page.html").read_text()
    assert run("verify", server.url, "--table", "release", "-s", "schema.toml") == 0
    assert run("anonymize", *read_from, *write) == 3
    assert "--replace-table" in said[1]
    assert run("anonymize", *read_from, *write, "--replace-table", "--keep-order") == 0
    all_types().write_parquet("people.parquet")
    assert run("verify", server.url, "--table", "release", "-s", "schema.toml", "--original", "people.parquet") == 0
    server.run("UPDATE release SET ill = 'flu'")
    assert run("verify", server.url, "--table", "release", "-s", "schema.toml") == 5
    assert run("assess", *read_from, "-s", "schema.toml") == 0
    into = ("-o", server.url, "--table", "from_file", "--certificate-table", "proofs", "--method", "mondrian")
    assert run("anonymize", "people.parquet", "-s", "schema.toml", *into) == 0
    assert run("verify", server.url, "--table", "from_file", "-s", "schema.toml", "--certificate-table", "proofs") == 0
