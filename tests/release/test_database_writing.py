"""Releases in databases: one transaction, verified before it is committed, and nothing left where it fails."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.errors import TableError, VerificationError
from tclose.release import database_writing
from tclose.release.sqlite_target import SqliteTransaction
from tclose.table.source import read
from tests.table.formats.postgresql_server import PASSWORD, Server, needs_postgresql, running
from tests.table.formats.written_files import SCHEMA, all_types

KINDS = ["sqlite", pytest.param("postgresql", marks=needs_postgresql)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from running()


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'out.db'}"
    server: Server = request.getfixturevalue("server")
    server.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return server.url


@pytest.fixture(scope="module")
def release() -> tclose.Release:
    return tclose.anonymize(all_types(), SCHEMA, method="mondrian", seed=1)


def tables(url: str) -> list[str]:
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        if not path.exists():
            return []
        with sqlite3.connect(path) as base:
            found = [name for (name,) in base.execute("SELECT name FROM sqlite_schema ORDER BY name")]
        base.close()
        return found
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    return list(read(tclose.TableLocation(url, query=query)).column("tablename"))


@pytest.mark.parametrize("url", KINDS, indirect=True)
def test_a_release_is_written_verified_and_found_again(url: str, release: tclose.Release, tmp_path: Path) -> None:
    written = release.write_table(url, "release", record=tmp_path / "record.json")
    assert tables(url) == ["release", "release_certificate"]
    location = tclose.TableLocation(url, table="release")
    verdict = tclose.verify(location, SCHEMA)
    assert verdict.holds
    assert verdict.certificate is True
    assert written.certificate["file"] == "release"
    assert (tmp_path / "record.json").stat().st_mode & 0o777 == 0o600
    same = tclose.verify(location, {**SCHEMA, "k": 100})
    assert not same.holds


@pytest.mark.parametrize("url", KINDS, indirect=True)
def test_an_existing_table_is_refused_unless_asked(url: str, release: tclose.Release) -> None:
    release.write_table(url, "release", keep_order=True)
    with pytest.raises(TableError, match="has a table 'release' already") as refused:
        release.write_table(url, "release")
    assert PASSWORD not in str(refused.value)
    release.write_table(url, "release", replace_table=True)
    assert tclose.verify(tclose.TableLocation(url, table="release"), SCHEMA).holds


@pytest.mark.parametrize("url", KINDS, indirect=True)
def test_a_table_of_its_own_for_the_certificate(url: str, release: tclose.Release) -> None:
    release.write_table(url, "Odd name", certificate_table="proofs")
    assert tables(url) == ["Odd name", "proofs"]


@pytest.mark.parametrize("url", KINDS, indirect=True)
def test_nothing_is_left_where_what_was_written_is_not_the_release(
    url: str, release: tclose.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell that changes on its way is found before others see it."""

    def spoiled(frame: pl.DataFrame) -> pl.DataFrame:
        changed = storable(frame)
        return changed.with_columns(
            pl.Series("ill", ["flu" if row == 3 else ill for row, ill in enumerate(frame["ill"])])
        )

    storable = database_writing._storable
    rows = release.aligned()
    assert rows["ill"][3] != "flu"
    monkeypatch.setattr(database_writing, "_storable", spoiled)
    with pytest.raises(VerificationError, match="nothing is left"):
        release.write_table(url, "release", keep_order=True)
    assert tables(url) == []


@pytest.mark.parametrize("url", KINDS, indirect=True)
def test_nothing_is_committed_where_the_record_cannot_be_written(
    url: str, release: tclose.Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_given: Any, **_more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        release.write_table(url, "release", record=tmp_path / "record.json")
    monkeypatch.undo()
    assert tables(url) == []


def test_a_database_that_was_not_there_is_gone_again(
    tmp_path: Path, release: tclose.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: SqliteTransaction, table: str, frame: pl.DataFrame) -> None:
        raise TableError("It cannot be written.")

    monkeypatch.setattr(SqliteTransaction, "create", fails)
    with pytest.raises(TableError, match="cannot be written"):
        release.write_table(f"sqlite:///{tmp_path / 'new.db'}", "release")
    assert list(tmp_path.iterdir()) == []


def test_another_process_sees_nothing_before_it_is_verified(
    tmp_path: Path, release: tclose.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'out.db'}"
    seen: list[list[str]] = []
    commit = SqliteTransaction.commit

    def looked_at(self: SqliteTransaction) -> None:
        seen.append(tables(url))
        commit(self)

    monkeypatch.setattr(SqliteTransaction, "commit", looked_at)
    release.write_table(url, "release")
    assert seen == [[]]


TYPES = {
    "large": pl.Series([2**64 - 1, 3, None] * 4, dtype=pl.UInt64),
    "small": pl.Series([1, 2, None] * 4, dtype=pl.UInt8),
    "short": pl.Series([0.1, 0.25, None] * 4, dtype=pl.Float32),
    "exact": pl.Series(["1.10", "2.25", None] * 4).cast(pl.Decimal(10, 2)),
    "zoned": pl.Series(["2024-01-01T08:00:00+0200", "2024-07-01T08:00:00+0200", None] * 4).str.to_datetime(
        time_zone="UTC"
    ),
    "fine": pl.Series([1, 2_000_000_001, None] * 4).cast(pl.Datetime("ns")),
    "clock": pl.Series(["08:30:00", "09:00:00", None] * 4).str.to_time(),
    "true": pl.Series([True, False, None] * 4),
    "text": pl.Series(["it's", 'a "b"', None] * 4),
}


@pytest.mark.parametrize("url", KINDS, indirect=True)
def test_every_type_is_kept(url: str) -> None:
    frame = pl.DataFrame(TYPES).with_columns(age=pl.Series(list(range(12))))
    quasi = {"age": {"kind": "numeric"}}
    schema = {"k": 2, "missing": "category", "quasi": quasi, "keep": list(TYPES), "keep_unchecked": True}
    released = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    released.write_table(url, "release", keep_order=True)
    location = tclose.TableLocation(url, table="release")
    assert tclose.verify(location, schema, original=frame).holds
