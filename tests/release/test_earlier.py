"""A second release of the same table warns, in whatever form and order the table comes."""

import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.errors import EarlierReleaseWarning, TableError
from tclose.release.earlier import MOST
from tests.strategies import as_csv, people, promise, run

ROWS = people(24)
SCHEMA: dict[str, Any] = {
    "k": 2,
    "quasi": {"age": {"kind": "numeric"}},
    "sensitive": {"disease": {"distance": "equal", "t": 0.5}},
}


def released(table: Any, schema: dict[str, Any] = SCHEMA, **keys: Any) -> tclose.Release:
    return tclose.anonymize(table, schema, method="mondrian", **keys)


@pytest.fixture
def frame() -> pl.DataFrame:
    return pl.DataFrame(ROWS)


@pytest.fixture
def record(frame: pl.DataFrame, tmp_path: Path) -> Path:
    """Of a release of the table."""
    released(frame, seed=1).record.write(tmp_path / "first.json")
    return tmp_path / "first.json"


def forms(frame: pl.DataFrame, folder: Path) -> dict[str, Any]:
    """The same table in other forms and orders."""
    frame.write_parquet(folder / "data.parquet")
    (folder / "data.csv").write_bytes(as_csv(ROWS, end="\r\n"))
    return {
        "the same frame": frame,
        "Parquet": folder / "data.parquet",
        "CSV": folder / "data.csv",
        "reversed": frame.reverse(),
        "numbers": frame.with_columns(pl.col("age").cast(pl.Int64)),
        "pandas": frame.to_pandas(),
        "categories": frame.cast({"disease": pl.Categorical}),
        "columns the other way round": frame.select("disease", "age"),
    }


def test_the_same_table_in_any_form_warns(frame: pl.DataFrame, record: Path, tmp_path: Path) -> None:
    for table in forms(frame, tmp_path).values():
        with pytest.warns(EarlierReleaseWarning, match=r"'first\.json' is of an earlier release of .*intersect"):
            released(table, earlier=[record])


def test_another_promise_or_other_columns_do_not_hide_it(frame: pl.DataFrame, record: Path) -> None:
    more = frame.with_columns(site=pl.lit("here"))
    for schema in ({**SCHEMA, "k": 3}, {**SCHEMA, "quasi": {**SCHEMA["quasi"], "site": {"kind": "categorical"}}}):
        with pytest.warns(EarlierReleaseWarning, match="24 rows with the same values in 'age', 'disease'"):
            released(more if "site" in schema["quasi"] else frame.reverse(), schema, earlier=record)


def test_another_table_does_not_warn(frame: pl.DataFrame, record: Path) -> None:
    older = frame.with_columns(pl.when(pl.col("age") == "30").then(pl.lit("31")).otherwise("age").alias("age"))
    longer = pl.concat([frame, frame])
    renamed = frame.rename({"age": "years", "disease": "illness"})
    other = {"k": 2, "quasi": {"years": {"kind": "numeric"}}, "sensitive": {"illness": {"distance": "equal", "t": 0.5}}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (older, longer, frame.head(22)):
            released(table, earlier=[record])
        released(renamed, other, earlier=[record])
        released(frame)


def test_records_and_folders_of_them_can_be_named(frame: pl.DataFrame, record: Path, tmp_path: Path) -> None:
    first = released(frame, seed=1)
    first.write(tmp_path / "release.csv")  # a certificate is no record, and no obstacle in a folder
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "old.json").write_text(json.dumps({"input_sha256": "0", "input_rows": 24}))
    for earlier in ([first.record], [tmp_path], tmp_path, str(tmp_path)):
        with pytest.warns(EarlierReleaseWarning):
            released(frame, earlier=earlier)


@pytest.mark.parametrize("name", ["first", "first.txt", "FIRST.JSON", ".first"])
def test_a_record_in_a_folder_may_have_any_name(name: str, frame: pl.DataFrame, tmp_path: Path) -> None:
    released(frame, seed=1).record.write(tmp_path / name)
    (tmp_path / "table.csv").write_text('age,"input_sha256"\n1,2\n')
    (tmp_path / "folder.json").mkdir()
    with pytest.warns(EarlierReleaseWarning, match="was released before"):
        released(frame, earlier=tmp_path)


@pytest.mark.parametrize("name", ["first.json", "first.JSON", "first"])
def test_a_broken_record_in_a_folder_is_told(name: str, frame: pl.DataFrame, tmp_path: Path) -> None:
    text = released(frame, seed=1).record.as_json()
    released(frame.head(20), seed=1).record.write(tmp_path / "other.json")
    for broken in (text[:-10], text[:200], *(["", "\x00"] if name != "first" else [])):
        (tmp_path / name).write_text(broken)
        with pytest.warns(EarlierReleaseWarning, match=f"'{name}' cannot be read") as told:
            released(frame, earlier=tmp_path)
        assert len(told) == 1


def test_a_folder_without_a_record_is_told(frame: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[1]")  # JSON, and no record
    with pytest.warns(EarlierReleaseWarning, match="has no record of an earlier release") as told:
        released(frame, earlier=tmp_path)
    assert len(told) == 1


@pytest.mark.parametrize("name", ["absent.json", "broken.json", "certificate.json", "columns.json", "large.json"])
def test_what_is_no_record_is_refused(name: str, frame: pl.DataFrame, tmp_path: Path) -> None:
    told = {"input_sha256": "0", "input_rows": 24, "input_columns": {"age": 3}}
    contents = {"broken.json": "{", "certificate.json": '{"rows": 3}', "columns.json": json.dumps(told)}
    for file, content in contents.items():
        (tmp_path / file).write_text(content)
    with (tmp_path / "large.json").open("wb") as large:
        large.truncate(MOST + 1)
    with pytest.raises(TableError, match=f"'{name}' is not a record"):
        released(frame, earlier=[tmp_path / name])


def test_a_device_is_not_read(frame: pl.DataFrame) -> None:
    with pytest.raises(TableError, match="is not a record"):
        released(frame, earlier=["/dev/zero"])


def test_a_record_that_is_replaced_warns(frame: pl.DataFrame, tmp_path: Path) -> None:
    first, path = released(frame), tmp_path / "record.json"
    first.write(tmp_path / "release.csv", record=path)
    first.write(tmp_path / "release.parquet", record=path)  # one release in two formats is one release
    with pytest.warns(EarlierReleaseWarning, match=r"'record\.json'"):
        released(frame.reverse()).write(tmp_path / "second.csv", record=path)
    path.write_text("not a record")
    first.write(tmp_path / "release.csv", record=path)


def test_the_command_line_says_it_once_and_releases(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(as_csv(ROWS))
    (tmp_path / "schema.toml").write_text(promise(), encoding="utf-8")
    out, record = tmp_path / "release.csv", tmp_path / "record.json"
    given: list[str | Path] = [tmp_path / "data.csv", "-s", tmp_path / "schema.toml", "-o", out]
    command = ["anonymize", *given, "--method", "mondrian"]
    assert run(*command, "--record", record).err.count("was released before") == 0
    again = run(*command, "--record", record)
    assert again.code == 0
    assert again.err.count("Note: This table was released before: 'record.json' is of") == 1
    named = run(*command, "--earlier", record)
    assert named.code == 0
    assert named.err.count("was released before") == 1
    assert run(*command, "--earlier", out).code == 3


def test_no_warning_or_record_quotes_a_cell(record: Path) -> None:
    frame = pl.DataFrame(people(24, disease=["flu", "marker-value"] * 12))
    first = released(frame)
    with pytest.warns(EarlierReleaseWarning) as told:
        released(frame.reverse(), earlier=[first.record])
    assert "marker-value" not in str(told[0].message)
    assert "marker-value" not in first.record.as_json()
