"""Damaged Parquet files: none ends the process, none prints what a panic says, and good columns stay readable."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose.errors import TableError
from tclose.table import parquet_files, parquet_trial
from tclose.table.parquet_files import read_parquet
from tclose.table.source import read
from tests.strategies import promise
from tests.table.damaged_parquet import ABORTS, PANICS

DAMAGED = {"aborts": ABORTS, "panics": PANICS}
FRAME = pl.DataFrame({"age": range(20, 44), "disease": ["flu", "cold"] * 12})


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGED)
def test_the_command_ends_with_a_sentence(name: str, tmp_path: Path) -> None:
    """In a process of its own: before, one of them died, and the other printed a traceback."""
    data = put(tmp_path / "data.parquet", DAMAGED[name])
    (tmp_path / "schema.toml").write_text(promise(missing="category"), encoding="utf-8")
    command = [sys.executable, "-c", "from tclose.cli.main import main; main()", "anonymize", str(data)]
    files = ["-s", str(tmp_path / "schema.toml"), "-o", str(tmp_path / "release.csv")]
    ended = subprocess.run([*command, *files], capture_output=True, text=True)
    assert ended.returncode == 3
    (sentence,) = ended.stderr.strip().splitlines()
    assert sentence.startswith("Error: 'data.parquet' is not a readable Parquet file")


@pytest.mark.parametrize("name", DAMAGED)
def test_the_library_raises_without_a_trace_of_the_other_error(name: str, tmp_path: Path, capfd: Any) -> None:
    path = put(tmp_path / "data.parquet", DAMAGED[name])
    with pytest.raises(TableError) as caught:
        pl.DataFrame([read(path).column(column) for column in ("age", "disease")])
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert capfd.readouterr().err == ""


def test_a_column_that_can_be_decoded_is_read_beside_one_that_cannot(tmp_path: Path) -> None:
    source = read_parquet(put(tmp_path / "data.parquet", PANICS))
    assert source.names == ("age", "disease")
    assert len(source.column("disease")) == source.n_rows
    with pytest.raises(TableError, match=r"column '[^']+' cannot be decoded"):
        source.column("age")


def test_a_file_is_tried_once_for_each_state_it_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    run = subprocess.run
    monkeypatch.setattr(parquet_files.subprocess, "run", lambda *a, **k: runs.append(a) or run(*a, **k))  # type: ignore[attr-defined, func-returns-value]
    path = tmp_path / "data.parquet"
    FRAME.write_parquet(path)
    for _ in range(3):
        assert read_parquet(path).column("age").to_list() == FRAME["age"].to_list()
    assert len(runs) == 1
    FRAME.head(5).write_parquet(path)
    assert read_parquet(path).n_rows == 5
    assert len(runs) == 2
    FRAME.write_parquet(path)
    assert read_parquet(path, made_here=True).n_rows == 24
    assert len(runs) == 2


def test_where_no_process_can_be_started_good_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> Any:
        raise PermissionError

    monkeypatch.setattr(parquet_files.subprocess, "run", refuse)  # type: ignore[attr-defined]
    FRAME.write_parquet(tmp_path / "data.parquet")
    assert read_parquet(tmp_path / "data.parquet").n_rows == 24


def test_what_takes_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: Any, **_options: Any) -> Any:
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(parquet_files.subprocess, "run", hang)  # type: ignore[attr-defined]
    FRAME.write_parquet(tmp_path / "slow.parquet")
    with pytest.raises(TableError, match=r"slow\.parquet"):
        read_parquet(tmp_path / "slow.parquet")


@pytest.mark.parametrize("n_columns", [0, 1, 63, 64, 65, 200, 1000])
def test_every_column_is_in_one_batch(n_columns: int) -> None:
    found = [place for batch in parquet_trial.batches(n_columns) for place in batch]
    assert found == list(range(n_columns))
    assert len(parquet_trial.batches(n_columns)) <= 2 * parquet_trial.BATCHES


def test_a_wide_table_is_read_in_batches_and_each_name_has_its_column(tmp_path: Path) -> None:
    frame = pl.DataFrame({f"^c{place}$": [place, -place] for place in range(300)})
    frame.write_parquet(tmp_path / "wide.parquet")
    source = read_parquet(tmp_path / "wide.parquet")
    for place in (*range(300), 7, 299, 0):
        assert source.column(f"^c{place}$").to_list() == [place, -place]
