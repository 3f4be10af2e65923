"""The local engine: a verified folder or nothing, the same rows however the work is cut."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.errors import InfeasibleError, SchemaError, TableError, VerificationError
from tclose.release import writing
from tclose.scale.local_engine import LocalOptions, anonymize_folder
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable
from tests.scale.folders import SMALL, as_multiset, put, release, released
from tests.scale.test_whole_table import MIXED, mixed_frame

LOOSE = {"k": 5, "quasi": {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}},
         "sensitive": {"ill": {"distance": "equal", "t": 0.3}}}  # fmt: skip


def people(n: int = 3000, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "job": np.array(["cook", "nurse", "judge", "clerk"])[rng.integers(0, 4, n)],
            "ill": np.array(["flu", "cold", "rash"])[rng.choice(3, n, p=[0.5, 0.3, 0.2])],
        }
    )


def test_a_folder_is_released_and_verified(tmp_path: Path) -> None:
    frame = people()
    made, out = release(tmp_path, LOOSE, frame)
    rows = released(out)
    assert made.record.notes["shards"] >= 3
    assert len(list(out.glob("*.parquet"))) >= 2
    assert len(rows) == len(frame)
    assert rows["ill"].sort().equals(frame["ill"].sort())
    verdict = tclose.verify(out, LOOSE)
    assert verdict.holds
    assert verdict.certificate is True
    assert verdict.rows == len(frame)
    assert verdict.t["ill"] <= Schema.of(LOOSE).sensitive[0].t  # type: ignore[operator]
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


def test_the_same_measures_as_of_one_table(tmp_path: Path) -> None:
    made, out = release(tmp_path, LOOSE, people())
    at_once = tclose.verify(released(out), LOOSE)
    fields = made.certificate.as_dict()
    assert at_once.measured is not None
    assert {**fields["reached"], "rows": fields["rows"], "classes": fields["classes"]} == at_once.measured.as_dict()


@pytest.mark.everyday(1)
@pytest.mark.parametrize("changed", [{"piece_rows": 200}, {"piece_rows": 10_000}, {"file_rows": 200}])
def test_the_same_rows_however_the_work_is_cut(tmp_path: Path, changed: dict[str, int]) -> None:
    frame = people()
    data = put(tmp_path / "in", frame)
    anonymize_folder(data, LOOSE, tmp_path / "one", seed=3, method="mondrian", options=SMALL)
    shuffled = put(tmp_path / "other-in", frame.sample(fraction=1, shuffle=True, seed=9), n_files=5)
    options = replace(SMALL, **changed)
    anonymize_folder(shuffled, LOOSE, tmp_path / "other", seed=3, method="mondrian", options=options)
    assert as_multiset(released(tmp_path / "one")).equals(as_multiset(released(tmp_path / "other")))


@pytest.mark.slow
def test_every_kind_of_column_and_promise(tmp_path: Path) -> None:
    frame = mixed_frame(1200)
    keys: dict[str, Any] = MIXED | {"k": 4, "keep_unchecked": True}
    keys["sensitive"] = MIXED["sensitive"] | {"mood": {"distance": "equal", "l": {"distinct": 2}, "rise": 0.6}}
    made, out = release(tmp_path, keys, frame, options=replace(SMALL, shard_rows=500), method="tight")
    rows = released(out)
    assert "name" not in rows.columns
    assert tclose.verify(out, keys).problems == ()
    at_once = tclose.verify(rows, keys)
    assert at_once.problems == ()
    assert at_once.measured is not None
    reached = at_once.measured.as_dict()
    assert made.certificate["reached"]["t"] == reached["t"]
    assert made.certificate["keep"].startswith("not checked: with these columns the smallest group has")
    assert rows["town"].sort().equals(frame["town"].sort())


@pytest.mark.slow
def test_bounds_means_and_dropped_rows(tmp_path: Path) -> None:
    frame = people(1500).with_columns(
        age=pl.when(pl.col("age") > 85).then(None).otherwise(pl.col("age")), height=pl.col("age") * 1.5
    )
    keys: dict[str, Any] = LOOSE | {"missing": "drop", "identifiers": ["job"]}
    keys["quasi"] = {
        "age": {"kind": "numeric", "publish": "bounds", "top": 80},
        "height": {"kind": "numeric", "publish": "mean"},
    }
    made, out = release(tmp_path, keys, frame)
    assert tclose.verify(out, keys).problems == ()
    assert made.record.dropped_rows == frame["age"].null_count()
    assert released(out).columns == ["age_low", "age_high", "ill", "height"]


def test_a_kept_column_that_singles_out_is_refused(tmp_path: Path) -> None:
    frame = people().with_columns(town=pl.Series(np.arange(3000).astype(str)))
    with pytest.raises(InfeasibleError, match="Kept columns"):
        release(tmp_path, LOOSE | {"keep": ["town"]}, frame)
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_errors_are_ours_and_leave_nothing(tmp_path: Path) -> None:
    frame = people().with_columns(job=pl.lit("secret"))
    keys = LOOSE | {
        "quasi": {"age": {"kind": "numeric"}, "job": {"kind": "categorical", "hierarchy": {"u": ["cook"], "v": ["x"]}}}
    }
    with pytest.raises(TableError, match="1 distinct value in 3000 rows are not in its hierarchy") as error:
        release(tmp_path, keys, frame)
    assert "secret" not in str(error.value)
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_what_cannot_be_promised_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="unit"):
        release(tmp_path, LOOSE | {"unit": "who"}, people(100).with_columns(who=pl.Series(range(100))))


def test_a_folder_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    data = put(tmp_path / "in", people(100))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError):
        anonymize_folder(data, LOOSE, tmp_path / "out", options=SMALL)
    with pytest.raises(FileExistsError):
        anonymize_folder(data, LOOSE, data / "out", options=SMALL)
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"


def test_a_row_that_occurs_often_is_cut_on(tmp_path: Path) -> None:
    """Of 3000 rows 2700 are of one person each who is a cook of 40: no shard may have more than 800 all the same."""
    frame = people().with_columns(
        age=pl.when(pl.int_range(3000) < 2700).then(40).otherwise(pl.col("age")),
        job=pl.when(pl.int_range(3000) < 2700).then(pl.lit("cook")).otherwise(pl.col("job")),
    )
    made, out = release(tmp_path, LOOSE, frame)
    assert made.record.notes["largest_shard"] <= SMALL.shard_rows
    assert tclose.verify(out, LOOSE).rows == 3000
    shuffled = put(tmp_path / "other-in", frame.sample(fraction=1, shuffle=True, seed=9), n_files=5)
    anonymize_folder(
        shuffled, LOOSE, tmp_path / "other", seed=1, method="mondrian", options=replace(SMALL, piece_rows=90)
    )
    assert as_multiset(released(out)).equals(as_multiset(released(tmp_path / "other")))


def test_files_must_be_alike_and_may_have_any_name(tmp_path: Path) -> None:
    data = put(tmp_path / "in [1]*", people(300), n_files=1)
    (data / "0.parquet").rename(data / "a[0].parquet")
    people(0).write_parquet(data / "empty.parquet")
    anonymize_folder(data, LOOSE, tmp_path / "out", method="mondrian", options=SMALL)
    people(300).with_columns(pl.col("age").cast(pl.String)).write_parquet(data / "b.parquet")
    with pytest.raises(TableError, match=r"Column 'age' is of type Int64 in 'a\[0\].parquet' and String in"):
        anonymize_folder(data, LOOSE, tmp_path / "other", options=SMALL)
    people(300).drop("age").write_parquet(data / "b.parquet")
    with pytest.raises(TableError, match="other columns"):
        anonymize_folder(data, LOOSE, tmp_path / "other", options=SMALL)


def test_other_files_and_no_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(TableError, match="holds no Parquet file"):
        anonymize_folder(tmp_path / "in", LOOSE, tmp_path / "out", options=SMALL)
    (tmp_path / "in" / "a.csv").write_text("age\n1\n")
    with pytest.raises(TableError, match="no Parquet files"):
        anonymize_folder(tmp_path / "in", LOOSE, tmp_path / "out", options=SMALL)


def test_files_that_were_written_wrongly_are_not_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with a row in the place of another keeps every promise, and is not what was to be released."""
    before = writing.write_frame

    def wrong(frame: pl.DataFrame, path: Path, suffix: str, schema: Schema) -> None:
        before(pl.concat([frame.head(1), frame.head(1), frame.slice(2)]), path, suffix, schema)

    monkeypatch.setattr(writing, "write_frame", wrong)
    with pytest.raises(VerificationError):
        release(tmp_path, LOOSE, people())
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_a_promise_that_is_broken_is_found_on_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = writing.write_frame

    def wrong(frame: pl.DataFrame, path: Path, suffix: str, schema: Schema) -> None:
        before(frame.with_columns(age=pl.Series(np.arange(len(frame)).astype(str))), path, suffix, schema)

    monkeypatch.setattr(writing, "write_frame", wrong)
    with pytest.raises(VerificationError, match="The smallest class has 1 row, and k is 5"):
        release(tmp_path, LOOSE, people())


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "write_frame", full)
    with pytest.raises(OSError, match="No space left"):
        release(tmp_path, LOOSE, people())
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_rows_stand_in_no_order_of_shards_or_input(tmp_path: Path) -> None:
    """Rows of one class are neighbours in a file no more often than by chance."""
    _, out = release(tmp_path, LOOSE, people().sort("age"), options=LocalOptions(0, 800, 700, 10_000))
    rows = released(out)
    keys = rows.select(pl.struct("age", "job").rank("dense")).to_series().to_numpy()
    together = (keys[1:] == keys[:-1]).mean()
    by_chance = float((np.bincount(keys) ** 2).sum() / len(keys) ** 2)
    assert together < by_chance + 4 * np.sqrt(by_chance / len(keys)) + 0.005
    again = tmp_path / "again"
    anonymize_folder(
        tmp_path / "in", LOOSE, again, seed=1, method="mondrian", options=LocalOptions(0, 800, 700, 10_000)
    )
    assert as_multiset(released(again)).equals(as_multiset(rows))
    assert not released(again).equals(rows)


@pytest.mark.slow
def test_the_certificate_of_a_folder_is_checked(tmp_path: Path) -> None:
    _, out = release(tmp_path, LOOSE, people())
    file = out / "_certificate.json"
    fields = json.loads(file.read_text())
    for name, value in (("sha256", "0" * 64), ("classes", 1), ("file", "other"), ("rows", 7)):
        file.write_text(json.dumps({**fields, name: value}))
        found = tclose.verify(out, LOOSE)
        assert found.certificate is False
        assert name in " ".join(found.problems)
    file.write_text(json.dumps(fields))
    next(iter(sorted(out.glob("*.parquet")))).unlink()
    assert not tclose.verify(out, LOOSE).holds


def test_the_record_lies_where_it_was_asked_for(tmp_path: Path) -> None:
    release(tmp_path, LOOSE, people(), record=tmp_path / "record.json")
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["seed"] == 1
    assert {"read", "plan", "route", "partition", "write", "verify"} <= {*record["seconds"]}
    assert (tmp_path / "record.json").stat().st_mode & 0o077 == 0


def test_a_record_does_no_harm(tmp_path: Path) -> None:
    """It overwrites nothing that is read, and does not lie in what is published."""
    data, schema, out = put(tmp_path / "in", people(500)), tmp_path / "schema.toml", tmp_path / "out"
    schema.write_text(Schema.of(LOOSE).to_toml())
    out.mkdir()
    (tmp_path / "folder").mkdir()
    before = {file: file.read_bytes() for file in [*data.iterdir(), schema]}
    harmful = [data / "0.parquet", data / "record.json", schema, out, out / "record.json", tmp_path / "folder"]
    for record in [*harmful, tmp_path / "absent" / "record.json"]:
        with pytest.raises(OSError, match=r"within|overwrite|[Ff]older"):
            anonymize_folder(data, schema, out, method="mondrian", options=SMALL, record=record)
    assert {file: file.read_bytes() for file in [*data.iterdir(), schema]} == before
    assert sorted(os.listdir(tmp_path)) == ["folder", "in", "out", "schema.toml"]
    assert os.listdir(out) == []


def test_sizes_and_seeds_that_are_none_are_refused(tmp_path: Path) -> None:
    data = put(tmp_path / "in", people(100))
    for options in (LocalOptions(shard_rows=0), LocalOptions(piece_rows=0), LocalOptions(file_rows=-1)):
        with pytest.raises(SchemaError, match=r"_rows must be a whole number from [01] up"):
            anonymize_folder(data, LOOSE, tmp_path / "out", options=options)
    with pytest.raises(SchemaError, match="seed must be a whole number from 0 up"):
        anonymize_folder(data, LOOSE, tmp_path / "out", seed=-1)


@pytest.mark.parametrize("kinds", [(pl.Decimal(10, 2), pl.Decimal(10, 3)), (pl.Datetime("us"), pl.Datetime("ms"))])
def test_files_of_other_units_are_told_apart_by_name(tmp_path: Path, kinds: tuple[pl.DataType, pl.DataType]) -> None:
    data = tmp_path / "in"
    data.mkdir()
    for number, kind in enumerate(kinds):
        people(100).with_columns(pl.col("age").cast(kind)).write_parquet(data / f"{number}.parquet")
    with pytest.raises(TableError, match=r"Column 'age' is of type .+ in '0.parquet' and ") as error:
        anonymize_folder(data, LOOSE, tmp_path / "out", options=SMALL)
    one, other = str(error.value).split(" is of type ")[1].split(" in '0.parquet' and ")
    assert not other.startswith(one)


def test_a_loss_that_the_verifier_does_not_find_is_not_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = EncodedTable.loss
    monkeypatch.setattr(EncodedTable, "loss", lambda *given: 0.9 * before(*given))
    with pytest.raises(VerificationError, match="The loss of a shard is another"):
        release(tmp_path, LOOSE, people())
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_joints_of_many_columns_are_decided_or_refused(tmp_path: Path) -> None:
    """16 values in each of 17 columns: in mixed radix, the first column would be a multiple of 2^64."""
    rows = np.arange(800)
    columns = {f"c{place}": rows % 16 if place else rows // 16 % 16 for place in range(17)}
    frame = people(800).select("age", "job").with_columns(**{name: pl.Series(each) for name, each in columns.items()})
    keys = {"k": 5, "quasi": LOOSE["quasi"], "joint": {"all": {"columns": [*columns], "t": 0.5}},
            "sensitive": {name: {"distance": "equal", "t": 0.9} for name in columns}}  # fmt: skip
    with pytest.raises(TableError, match=r"\[joint.all\]: its 17 columns could have more combinations"):
        release(tmp_path, keys, frame, method="tight")


def test_hidden_tables_in_a_release_are_reported(tmp_path: Path) -> None:
    _, out = release(tmp_path, LOOSE, people(500))
    assert tclose.verify(out, LOOSE).problems == ()
    (out / "_old").mkdir()
    for name in (".extra.parquet", "_old/extra.parquet"):
        people(10).write_parquet(out / name)
    found = tclose.verify(out, LOOSE)
    assert "The folder holds 2 Parquet files with a hidden name" in found.problems[0]
