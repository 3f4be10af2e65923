"""The same table gives the same certificate in whatever format it comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.table.formats import tried_files
from tclose.table.source import read
from tests.table.formats.written_files import SCHEMA, WRITERS, all_types


def certificate(table: Path | pl.DataFrame) -> dict[str, Any]:
    return tclose.anonymize(table, SCHEMA, method="mondrian", seed=1).certificate.as_dict()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("parquet") / "a.parquet"
    all_types().write_parquet(path)
    return certificate(path)


@pytest.fixture(autouse=True)
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files without a trial in another process, which takes most of the time."""
    monkeypatch.setattr(tried_files, "_survives", lambda *arguments: True)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_certificate(name: str, tmp_path: Path, expected: dict[str, Any]) -> None:
    WRITERS[name](all_types(), tmp_path / name)
    table = read(tmp_path / name).frame.rename(str.lower) if name == "a.por" else tmp_path / name
    assert certificate(table) == expected
