"""Releases in every format that is written: every type is kept, and a file that was changed is not taken for it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import tclose
from tclose.errors import VerificationError
from tclose.release import writing
from tclose.table.formats.file_formats import WRITTEN
from tests.release.test_database_writing import TYPES
from tests.table.formats.written_files import SCHEMA, all_types

KEPT = {
    "k": 2,
    "missing": "category",
    "quasi": {"age": {"kind": "numeric"}},
    "keep": list(TYPES),
    "keep_unchecked": True,
}


@pytest.fixture(scope="module")
def release() -> tclose.Release:
    return tclose.anonymize(all_types(), SCHEMA, method="mondrian", seed=1)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_every_type_is_kept(suffix: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(TYPES).with_columns(age=pl.Series(list(range(12))))
    release = tclose.anonymize(frame, KEPT, method="mondrian", seed=1)
    release.write(tmp_path / f"release{suffix}", keep_order=True)
    verdict = tclose.verify(tmp_path / f"release{suffix}", KEPT, original=frame)
    assert verdict.holds, verdict.problems
    assert verdict.certificate is True


@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_release_of_all_kinds(suffix: str, tmp_path: Path, release: tclose.Release) -> None:
    release.write(tmp_path / f"release{suffix}", keep_order=True)
    assert tclose.verify(tmp_path / f"release{suffix}", SCHEMA, original=all_types()).holds


@pytest.mark.parametrize("suffix", [".tsv", ".jsonl", ".arrow"])
def test_what_is_written_is_read_back(
    suffix: str, tmp_path: Path, release: tclose.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that changes a cell is found out, and nothing is left."""
    write = writing.write_frame

    def spoiled(frame: pl.DataFrame, *rest: object) -> None:
        ill = frame["ill"].cast(pl.String)
        write(frame.with_columns(pl.Series("ill", [ill[1], *ill[1:]])), *rest)  # type: ignore[arg-type]

    assert release.aligned()["ill"][0] != release.aligned()["ill"][1]
    monkeypatch.setattr("tclose.release.release.write_frame", spoiled)
    with pytest.raises(VerificationError, match="nothing is left of it"):
        release.write(tmp_path / f"release{suffix}", keep_order=True)
    assert list(tmp_path.iterdir()) == []


def test_text_in_an_arrow_file_is_what_other_programs_read(tmp_path: Path, release: tclose.Release) -> None:
    """The views that polars writes by itself are new, and many programs do not know them."""
    release.write(tmp_path / "release.arrow")
    kinds = {str(each.type) for each in pa.ipc.open_file(tmp_path / "release.arrow").schema}
    assert "large_string" in kinds
    assert not any("view" in kind for kind in kinds)


def test_json_has_numbers_as_numbers(tmp_path: Path) -> None:
    """Also those that a text file held as text."""
    all_types().write_csv(tmp_path / "a.csv")
    release = tclose.anonymize(tmp_path / "a.csv", SCHEMA, method="mondrian", seed=1)
    release.write(tmp_path / "release.jsonl", keep_order=True)
    first = (tmp_path / "release.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert f'"dose":{all_types()["dose"][0]}' in first
