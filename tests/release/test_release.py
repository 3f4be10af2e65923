"""Releases: what gets out, in which order, and what stays behind."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import tclose
from tclose.algorithms.capabilities import Capabilities
from tclose.errors import TableError, VerificationError
from tclose.release.certificate import certificate_path
from tclose.release.release import Release
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.verification.judge_release import check_release

ROWS = 1000
SUFFIXES = [".csv", ".csv.gz", ".parquet"]
SCHEMA = Schema.from_dict(
    {
        "k": 5,
        "missing": "drop",
        "identifiers": ["person_name"],
        "keep": ["number"],
        "keep_unchecked": True,
        "quasi": {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}},
        "sensitive": {"ill": {"distance": "equal", "t": "1/3"}, "pay": {"distance": "ordered", "bins": 4, "t": 0.4}},
    }
)
SEED = 918273645546372819


def people(rows: int = ROWS) -> pl.DataFrame:
    """`number` tells where a row stood; every hundredth has no age."""
    rng = np.random.default_rng(8)
    return pl.DataFrame(
        {
            "person_name": [f"person {row}" for row in range(rows)],
            "age": [None if row % 100 == 50 else int(age) for row, age in enumerate(rng.integers(20, 90, rows))],
            "job": rng.choice(["cook", "smith"], rows),
            "ill": rng.choice(["flu", "cold", "rash"], rows),
            "pay": rng.integers(0, 1000, rows),
            "number": np.arange(rows) + 1_000_000,
        }
    )


@pytest.fixture(scope="module")
def release() -> Release:
    return tclose.anonymize(people(), SCHEMA, seed=SEED)


def kept_rows() -> list[int]:
    return [row for row in range(ROWS) if row % 100 != 50]


# Order


def test_aligned_is_in_the_order_of_the_input(release: Release) -> None:
    aligned = release.aligned()
    assert aligned["number"].to_list() == [row + 1_000_000 for row in kept_rows()]
    assert aligned.columns == ["age", "job", "ill", "pay", "number"]
    assert aligned["ill"].to_list() == people()["ill"][kept_rows()].to_list()


def test_the_table_is_shuffled(release: Release) -> None:
    numbers = release.table["number"].to_list()
    assert numbers != sorted(numbers)
    assert_frame_equal(release.table.sort("number"), release.aligned())


def test_the_order_does_not_come_from_the_seed(release: Release, tmp_path: Path) -> None:
    again = tclose.anonymize(people(), SCHEMA, seed=SEED)
    assert again.classes.tolist() == release.classes.tolist()
    assert_frame_equal(again.aligned(), release.aligned())
    assert again.table["number"].to_list() != release.table["number"].to_list()
    for name, each in (("one", release), ("two", again)):
        each.write(tmp_path / f"{name}.csv")
    one, two = (pl.read_csv(tmp_path / f"{name}.csv", infer_schema=False) for name in ("one", "two"))
    assert one["number"].to_list() != two["number"].to_list()
    assert_frame_equal(one.sort("number"), two.sort("number"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_order_is_kept_on_request(release: Release, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"release{suffix}"
    release.write(path, keep_order=True)
    assert [int(number) for number in read(path).frame["number"]] == release.aligned()["number"].to_list()
    release.write(path)
    assert [int(number) for number in read(path).frame["number"]] != release.aligned()["number"].to_list()


def test_classes(release: Release) -> None:
    classes = release.classes
    assert len(classes) == ROWS
    assert [row for row in range(ROWS) if classes[row] == -1] == list(range(50, ROWS, 100))
    assert len(set(classes[classes >= 0].tolist())) == release.measured.classes
    by_class: dict[int, set[Any]] = {}
    for label, values in zip(
        classes[classes >= 0].tolist(), release.aligned().select("age", "job").rows(), strict=True
    ):
        by_class.setdefault(label, set()).add(values)
    assert all(len(values) == 1 for values in by_class.values())
    assert len(set.union(*by_class.values())) == len(by_class)


def test_a_seed_is_drawn_when_none_is_given() -> None:
    seeds = {tclose.anonymize(people(100), SCHEMA).record.seed for _ in range(2)}
    assert len(seeds) == 2


# The certificate


def keys_of(given: Any) -> Iterator[str]:
    if isinstance(given, dict):
        for key, value in given.items():
            yield key
            yield from keys_of(value)
    elif isinstance(given, list):
        for value in given:
            yield from keys_of(value)


def test_the_certificate_has_what_it_must(release: Release) -> None:
    told = release.certificate.as_dict()
    assert json.loads(json.dumps(told)) == told
    measured = release.measured.as_dict()
    assert (told["rows"], told["classes"]) == (990, measured["classes"])
    assert told["required"]["k"] == 5
    assert told["required"]["t"]["ill"]["exact"] == "1/3"
    assert told["required"]["t"]["pay"] == {"exact": "2/5", "value": 0.4}
    assert (told["reached"]["k"], told["reached"]["t"]) == (measured["k"], measured["t"])
    assert told["loss"]["value"] == pytest.approx(release.loss)  # no class is `*`, so released values tell all of it
    assert (told["missing"], told["recode"]) == ("drop", "generalize")
    assert told["method"]["name"] == "tight"
    assert {"tclose", "numpy", "polars", "python"} <= set(told["versions"])
    assert told["columns"]["pay"]["bins"] == 4
    assert "bins" in told["columns"]["pay"]["guarantee"]
    assert "one person" in told["unit"]
    assert "not checked" in told["keep"]


def test_the_certificate_holds_only_what_may_be_published(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "input-of-the-house.csv")
    release = tclose.anonymize(tmp_path / "input-of-the-house.csv", SCHEMA, seed=SEED)
    release.write(tmp_path / "release.csv")
    text = certificate_path(tmp_path / "release.csv").read_text()
    told = json.loads(text)
    forbidden = {"seed", "seconds", "input", "input_sha256", "input_rows", "dropped", "dropped_rows", "path", "labels"}
    forbidden |= {"time", "date", "row", "first", "worst", "identifiers", "host", "user"}
    assert not forbidden & set(keys_of(told))
    digest = hashlib.sha256((tmp_path / "input-of-the-house.csv").read_bytes()).hexdigest()
    for secret in (str(SEED), digest, str(tmp_path), "input-of-the-house", "person_name", "person 1"):
        assert secret not in text
    assert str(ROWS) not in text.replace(told["sha256"], "")  # rows read, of which 10 were dropped
    assert told["file"] == "release.csv"


class Curious:
    """A method that keeps on itself what it saw of the table."""

    name: ClassVar[str] = "curious"
    capabilities: ClassVar[Capabilities] = Capabilities(summary="", paper="")

    def __init__(self) -> None:
        self.width = 3

    def partition(self, table: EncodedTable, requirement: Any, **_rest: Any) -> Partition:
        self.seen = float(table.loss(np.arange(len(table)))) + len(table)
        return Partition(np.zeros(len(table), np.int64))


def test_what_a_method_keeps_of_a_table_is_no_parameter() -> None:
    with pytest.warns(tclose.HighLossWarning):
        release = tclose.anonymize(people(), SCHEMA, method=Curious(), allow_single_class=True)
    assert release.certificate["method"] == {"name": "curious", "parameters": {"width": 3}}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_digest_is_that_of_the_file(release: Release, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"release{suffix}"
    certificate = release.write(path).certificate
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert certificate["sha256"] == digest
    assert json.loads(certificate_path(path).read_text()) == certificate.as_dict()
    assert certificate_path(path).name == f"release{suffix}.certificate.json"
    assert tclose.verify(path, SCHEMA).certificate
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, certificate_path(path).name]


def test_a_certificate_of_another_file(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    release.write(path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    verdict = tclose.verify(path, SCHEMA)
    assert not verdict.holds
    assert "not the certificate of this table" in verdict.problems[0]
    certificate_path(path).write_text("{}")
    verdict = tclose.verify(path, SCHEMA)
    assert verdict.certificate is False
    assert "not a certificate" in verdict.problems[0]
    certificate_path(path).unlink()
    assert tclose.verify(path, SCHEMA).certificate is None


# The record


def test_the_record(release: Release, tmp_path: Path) -> None:
    people().write_csv(tmp_path / "people.csv")
    made = tclose.anonymize(tmp_path / "people.csv", SCHEMA, seed=SEED)
    before = made.record.as_dict()
    written = made.write(tmp_path / "release.csv", record=tmp_path / "record.json")
    told = json.loads((tmp_path / "record.json").read_text())
    assert told == written.record.as_dict()
    assert made.record.as_dict() == before  # writing changes nothing
    assert told["seed"] == SEED
    assert told["input_sha256"] == hashlib.sha256((tmp_path / "people.csv").read_bytes()).hexdigest()
    assert (told["input_rows"], told["dropped_rows"]) == (ROWS, 10)
    assert set(told["seconds"]) == {"compile", "read", "encode", "partition", "recode", "verify", "binding", "write"}
    assert all(spent >= 0 for spent in told["seconds"].values())


def test_only_its_owner_can_read_the_record(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text("an older one")
    path.chmod(0o644)
    release.write(tmp_path / "release.csv", record=path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_record_unless_asked(release: Release, tmp_path: Path) -> None:
    release.write(tmp_path / "release.csv")
    assert len(list(tmp_path.iterdir())) == 2


# Files


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_holds_the_released_columns_and_no_more(release: Release, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"release{suffix}"
    release.write(path, keep_order=True)
    assert read(path).frame.columns == ["age", "job", "ill", "pay", "number"]
    written = read(path).frame.select(pl.all().cast(pl.String))
    assert_frame_equal(written, release.aligned().select(pl.all().cast(pl.String)))


def test_parquet_has_no_metadata_of_pandas(tmp_path: Path) -> None:
    pd: Any = pytest.importorskip("pandas")
    pq: Any = pytest.importorskip("pyarrow.parquet")
    frame = (
        people()
        .drop("person_name")
        .to_pandas()
        .set_index(pd.Index([f"person {row}" for row in range(ROWS)], name="who"))
    )
    schema = Schema.from_dict(SCHEMA.as_dict() | {"identifiers": []})
    tclose.anonymize(frame, schema).write(tmp_path / "release.parquet")
    metadata = pq.read_schema(tmp_path / "release.parquet").metadata or {}
    assert b"pandas" not in metadata
    assert b"person" not in (tmp_path / "release.parquet").read_bytes()
    assert pq.read_schema(tmp_path / "release.parquet").names == ["age", "job", "ill", "pay", "number"]


def test_an_unknown_suffix_is_refused(release: Release, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"\.csv, \.csv\.gz, .*\.parquet"):
        release.write(tmp_path / "release.xlsx")
    assert not list(tmp_path.iterdir())


def test_what_fails_leaves_what_was_there(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(*_: Any) -> None:
        raise VerificationError("no")

    path = tmp_path / "release.csv"
    path.write_text("an older one")
    monkeypatch.setattr("tclose.release.writing.check_release", spoil)
    with pytest.raises(VerificationError):
        release.write(path, record=tmp_path / "record.json")
    assert [file.name for file in tmp_path.iterdir()] == ["release.csv"]
    assert path.read_text() == "an older one"


# A release that can be made can be written


MOMENTS = [datetime(2021, 3, day, 12, 30) for day in (1, 2, 3, 4)]
WRITABLE: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "text": (["a", 'b "q", c', " d", "*"], {"distance": "equal"}),
    "floats": ([1.0, 2.5, 1e-7, 1e16], {"distance": "equal"}),
    "floats by order": ([1.0, 2.0, None, 2.5], {"distance": "ordered", "order": [1, 2, 2.5]}),
    "floats by hierarchy": (
        [1.0, 2.0, None, 3.0],
        {"distance": "hierarchical", "hierarchy": {"few": ["1", "2"], "many": ["3"]}},
    ),
    "floats by matrix": (
        [1.0, 2.0, 1.0, 2.0],
        {"distance": "matrix", "matrix": {"values": ["1", "2"], "costs": [[0, 1], [1, 0]]}},
    ),
    "floats by number": ([1.0, 0.1, 2.25, -3.0], {"distance": "numeric"}),
    "floats by rank": ([1.0, 0.1, None, float("nan")], {"distance": "ordered"}),
    "booleans": ([True, False, None, True], {"distance": "equal"}),
    "booleans by order": ([True, False, True, True], {"distance": "ordered", "order": ["false", "true"]}),
    "dates": ([date(2021, 3, day) for day in (1, 2, 3, 4)], {"distance": "equal"}),
    "dates by rank": ([date(2021, 3, day) for day in (1, 2, 3, 4)], {"distance": "ordered"}),
    "times by rank": (MOMENTS, {"distance": "ordered"}),
    "times": (MOMENTS, {"distance": "equal"}),
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", WRITABLE)
@pytest.mark.everyday(6)
def test_any_sensitive_attribute_can_be_written(name: str, suffix: str, tmp_path: Path) -> None:
    values, keys = WRITABLE[name]
    frame = pl.DataFrame({"age": [1, 2, 3, 4] * 5, "ill": values * 5})
    schema = Schema.from_dict(
        {"k": 4, "missing": "category", "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {**keys, "t": 1}}}
    )
    release = tclose.anonymize(frame, schema)
    release.write(tmp_path / f"release{suffix}")
    assert check_release(read(tmp_path / f"release{suffix}"), schema).t == release.measured.t


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_every_way_to_publish_can_be_written(suffix: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "low": rng.integers(0, 100, 200) / 4,
            "mean": rng.integers(0, 100, 200),
            "seen": [date(2021, 1 + int(month), 3) for month in rng.integers(0, 12, 200)],
            "phone": [f"{code:03}" for code in rng.integers(0, 1000, 200)],
            "job": [None if row % 9 == 0 else "ab"[row % 2] for row in range(200)],
            "ill": rng.choice(["a", "b"], 200),
        }
    )
    quasi = {
        "low": {"kind": "numeric", "publish": "bounds", "bottom": 5, "top": 20},
        "mean": {"kind": "numeric", "publish": "mean"},
        "seen": {"kind": "date", "publish": "bounds", "step": "quarter"},
        "phone": {"kind": "digits"},
        "job": {"kind": "categorical"},
    }
    keys: dict[str, Any] = {"k": 5, "missing": "category", "quasi": quasi}
    schema = Schema.from_dict(keys | {"sensitive": {"ill": {"distance": "equal", "t": 0.3}}})
    release = tclose.anonymize(frame, schema)
    release.write(tmp_path / f"release{suffix}")
    names = ["low_low", "low_high", "mean", "seen_low", "seen_high", "phone", "job", "ill"]
    assert release.table.columns == read(tmp_path / f"release{suffix}").frame.columns == names


# One class for all


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_one_released_class_is_refused_however_many_were_made() -> None:
    # Without a hierarchy any two jobs are a star: two classes of two jobs each look alike.
    frame = pl.DataFrame({"job": ["a", "b", "c", "d"] * 10, "ill": ["x", "y"] * 20})
    keys: dict[str, Any] = {"k": 20, "quasi": {"job": {"kind": "categorical"}}}
    schema = Schema.from_dict(keys | {"sensitive": {"ill": {"distance": "equal", "t": 1}}})
    with pytest.raises(tclose.InfeasibleError, match="one class"):
        tclose.anonymize(frame, schema)


def test_rows_that_are_all_alike_lose_nothing_and_are_released() -> None:
    frame = pl.DataFrame({"job": ["a"] * 4, "ill": ["x", "y"] * 2})
    keys: dict[str, Any] = {"k": 2, "quasi": {"job": {"kind": "categorical"}}}
    schema = Schema.from_dict(keys | {"sensitive": {"ill": {"distance": "equal", "t": 1}}})
    assert tclose.anonymize(frame, schema).loss == 0


def test_a_file_of_several_row_groups_holds_the_release(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tclose.release.writing.ROW_GROUP", 7)
    release.write(tmp_path / "release.parquet")
    assert pq.read_metadata(tmp_path / "release.parquet").num_row_groups > 1
    assert_frame_equal(pl.read_parquet(tmp_path / "release.parquet"), release.table)
    assert check_release(read(tmp_path / "release.parquet"), release.schema).as_dict() == release.measured.as_dict()


def test_text_is_released_as_text(release: Release, tmp_path: Path) -> None:
    """Within, it is held as categories."""
    release.write(tmp_path / "release.parquet")
    texts, numbers = dict.fromkeys(("age", "job", "ill"), pl.String), dict.fromkeys(("pay", "number"), pl.Int64)
    for table in (release.table, release.aligned(), pl.read_parquet(tmp_path / "release.parquet")):
        assert table.schema == texts | numbers
