"""`tclose anonymize --engine` and `tclose verify` on folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tclose.release.release_folder import check_folder
from tclose.schema.schema import Schema
from tests.scale.folders import put, released
from tests.scale.test_local_engine import LOOSE, people

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def table(tmp_path: Path) -> pl.DataFrame:
    frame = people(2000)
    put(tmp_path / "in", frame)
    Schema.from_dict(LOOSE).save(tmp_path / "schema.toml")
    return frame


def test_a_folder_is_released_by_the_command(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    options = ("--engine", "local", "--jobs", 0, "--shard-rows", 1000, "--method", "mondrian", "--seed", 1)
    assert run("anonymize", "in", "-s", "schema.toml", "-o", "out", "--record", "record.json", *options)[0] == 0
    assert len(released(tmp_path / "out")) == len(table)
    assert json.loads((tmp_path / "record.json").read_text())["shards"] >= 2
    code, told = run("anonymize", "in", "-s", "schema.toml", "-o", "out", *options)
    assert code == 2
    assert "is there already" in told


def test_a_second_release_of_a_folder_is_pointed_out(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    """By a record that is named as an earlier one, or would be replaced."""
    options = ("--engine", "local", "--jobs", 0, "--shard-rows", 1000, "--method", "mondrian")
    first = run("anonymize", "in", "-s", "schema.toml", "-o", "out", "--record", "record.json", *options)
    assert first[0] == 0
    assert "released before" not in first[1]
    for number, named in enumerate((("--earlier", "record.json"), ("--record", "record.json"))):
        code, told = run("anonymize", "in", "-s", "schema.toml", "-o", f"again-{number}", *named, *options)
        assert code == 0
        assert "This table was released before: 'record.json'" in " ".join(told.split())
        assert "tclose republish" in " ".join(told.split())


@pytest.mark.slow
def test_a_folder_is_verified_by_the_command(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    options = ("--engine", "local", "--jobs", 0, "--shard-rows", 1000, "--method", "mondrian")
    assert run("anonymize", "in", "-s", "schema.toml", "-o", "out", *options)[0] == 0
    assert run("verify", "out", "-s", "schema.toml")[0] == 0
    file = next((tmp_path / "out").glob("*.parquet"))
    pl.read_parquet(file).head(-1).write_parquet(file)
    code, told = run("verify", "out", "-s", "schema.toml")
    assert code == 5
    assert "does not keep its promise" in told
    code, told = run("verify", "out", "-s", "schema.toml", "--original", "in/0.parquet")
    assert code == 3
    assert "in no order" in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--engine", "dask"), "--engine is one of"),
        (("--engine", "local", "--keep-order"), "--keep-order cannot be said with --engine"),
        (("--engine", "local", "--time", "3"), "--time cannot be said with --engine"),
        (("--engine", "local", "--master", "local[2]"), "--master cannot be said with --engine local"),
        (("--engine", "spark", "--jobs", "2"), "--jobs cannot be said with --engine spark"),
        (("--jobs", "2"), "--jobs, --shard-rows and --master are for --engine"),
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(
    run: Run, table: pl.DataFrame, options: tuple[str, ...], words: str
) -> None:
    code, told = run("anonymize", "in", "-s", "schema.toml", "-o", "out", *options)
    assert code == 2
    assert words in told


def test_a_folder_without_an_engine_is_told_what_takes_it(run: Run, table: pl.DataFrame) -> None:
    for command in (("assess", "in", "-s", "schema.toml"), ("anonymize", "in", "-s", "schema.toml", "-o", "out.csv")):
        code, told = run(*command)
        assert code == 3
        assert "--engine local" in told


def test_a_table_that_does_not_fit_is_one_sentence(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    put(tmp_path / "other", table.with_columns(age=pl.lit("secret")))
    code, told = run("anonymize", "other", "-s", "schema.toml", "-o", "out", "--engine", "local", "--jobs", 0)
    assert code == 3
    assert "Column 'age': 1 distinct value in 2000 rows are not numbers." in told
    assert "secret" not in told
    assert not (tmp_path / "out").exists()


def test_files_that_would_be_lost_are_wrong_usage(
    run: Run, table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--engine", "local", "--jobs", 0, "--method", "mondrian")
    for record in ("in/0.parquet", "in/record.json", "schema.toml", "out", "out/record.json", "absent/record.json"):
        code, told = run("anonymize", "in", "-s", "schema.toml", "-o", "out", "--record", record, *options)
        assert code == 2, told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "schema.toml"]
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(FileExistsError, match="name a new folder"):
        check_folder(Path(), [tmp_path / "in"])


def test_a_shard_beyond_the_cap_is_told(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    """With beta = 1, a class with the only row of a value needs half of all rows."""
    put(tmp_path / "rare", table.with_columns(ill=pl.when(pl.int_range(2000) == 7).then(pl.lit("x")).otherwise("ill")))
    Schema.from_dict(LOOSE | {"sensitive": {"ill": {"distance": "equal", "beta": 1}}}).save(tmp_path / "beta.toml")
    options = ("--engine", "local", "--jobs", 0, "--method", "mondrian", "--shard-rows", 1000, "--seed", 1)
    code, told = run("anonymize", "rare", "-s", "beta.toml", "-o", "out", "--allow-single-class", *options)
    assert code == 0
    assert "The largest shard has" in told
    assert "The largest shard has" not in run("anonymize", "in", "-s", "schema.toml", "-o", "other", *options)[1]
