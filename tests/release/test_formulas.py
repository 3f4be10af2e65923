"""Formulas in CSV releases: escaped so that a spreadsheet takes them for text, and undone without a doubt."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tclose
from tclose.errors import TableError
from tclose.release.formulas import count_formulas, escape, escape_frame, is_formula, undo, undo_source
from tclose.table.source import Source
from tests.strategies import as_csv, promise, run

CELLS = ["=1+1", "+1 555", "-", "@SUM(A1)", "\tx", "\rx", "'=1", "''=1", "-5", "+3.5e7", "-1,5", "flu"]
FORMULAS = 6  # of them, as they stand
TABLE = {"age": [str(row) for row in range(24)], "note": CELLS * 2, "=sum": ["+x", "y"] * 12}
KEYS: dict[str, Any] = {
    "k": 12,
    "quasi": {"age": {"kind": "numeric"}},
    "sensitive": {"note": {"distance": "equal", "t": 1}, "=sum": {"distance": "equal", "t": 1}},
}
TEXTS = st.text(alphabet="'=+-@\t\r159.,eEax ", max_size=8)


def looks_like_a_formula(text: str) -> bool:
    """The rule, anew: it begins so, and is not a number with a sign."""
    if not text or text[0] not in "=+-@\t\r":
        return False
    return re.fullmatch(r"[+-](?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?", text, re.ASCII) is None


@given(st.lists(st.one_of(st.none(), TEXTS), max_size=6))
def test_what_is_written_is_no_formula_and_is_undone(texts: list[str | None]) -> None:
    given_texts = pl.Series(texts, dtype=pl.String)
    written = escape(given_texts)
    assert undo(written).to_list() == texts
    for before, after in zip(texts, written.to_list(), strict=True):
        assert (before is None) == (after is None)
        if before is not None and after is not None:
            assert not looks_like_a_formula(after)
            assert after in (before, f"'{before}")
            assert not looks_like_a_formula(before) or after == f"'{before}"
    assert is_formula(given_texts).to_list() == [text is not None and looks_like_a_formula(text) for text in texts]


@given(TEXTS, TEXTS)
def test_no_two_texts_are_written_alike(one: str, other: str) -> None:
    written = escape(pl.Series([one, other])).to_list()
    assert (written[0] == written[1]) == (one == other)


def test_all_forms_of_a_text_column_and_names() -> None:
    frame = pl.DataFrame(TABLE)
    for kind in (pl.String, pl.Categorical, pl.Enum(sorted({*CELLS, "+x", "y"}))):
        given_frame = frame.with_columns(pl.col("note", "=sum").cast(kind))
        written = escape_frame(given_frame)
        assert written.columns == ["age", "note", "'=sum"]
        assert count_formulas(given_frame) == {"note": 2 * FORMULAS, "=sum": 13}
        assert count_formulas(written) == {}
        assert undo_source(Source.of(written)).frame.cast(pl.String).equals(frame)


def test_names_that_are_alike_once_undone_are_refused() -> None:
    with pytest.raises(TableError, match="Columns 1 and 2"):
        undo_source(Source.of(pl.DataFrame({"=a": [1], "'=a": [2]})))


def released(folder: Path, suffix: str = ".csv", **how: Any) -> tuple[Path, dict[str, Any]]:
    release = tclose.anonymize(pl.DataFrame(TABLE), KEYS, seed=1)
    path = folder / f"release{suffix}"
    return path, release.write(path, **how).certificate.as_dict()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_release_is_escaped_certified_and_verified(suffix: str, tmp_path: Path) -> None:
    path, certificate = released(tmp_path, suffix, escape_formulas=True, keep_order=True)
    assert certificate["formulas"] == "escaped"
    data = path.read_bytes()
    text = (gzip.decompress(data) if suffix == ".csv.gz" else data).decode()
    rows = list(csv.reader(text.splitlines(keepends=True)))
    assert rows[0] == ["age", "note", "'=sum"]
    assert not any(looks_like_a_formula(cell) for row in rows for cell in row)
    assert len(rows) == 25
    verdict = tclose.verify(path, KEYS, original=pl.DataFrame(TABLE))
    assert verdict.holds, verdict.problems
    assert verdict.certificate
    found = tclose.utility(pl.DataFrame(TABLE), path, KEYS, queries=0, aligned=True)
    assert found.rows == 24


def test_without_a_certificate_an_argument_says_so(tmp_path: Path) -> None:
    path, _ = released(tmp_path, escape_formulas=True, keep_order=True)
    path.with_name(f"{path.name}.certificate.json").unlink()
    assert not tclose.verify(path, KEYS).holds  # the column is called otherwise
    verdict = tclose.verify(path, KEYS, original=pl.DataFrame(TABLE), escaped_formulas=True)
    assert verdict.holds, verdict.problems
    schema = tmp_path / "schema.toml"
    schema.write_text(tclose.Schema.from_dict(KEYS).to_toml(), encoding="utf-8")
    assert run("verify", path, "-s", schema).code == 5
    assert run("verify", path, "-s", schema, "--escaped-formulas").code == 0


def test_a_certificate_that_only_claims_it_is_found_out(tmp_path: Path) -> None:
    with pytest.warns(tclose.FormulaWarning):
        path, certificate = released(tmp_path)
    assert certificate["formulas"] == "as they are"
    beside = path.with_name(f"{path.name}.certificate.json")
    beside.write_text(json.dumps({**certificate, "formulas": "escaped"}), encoding="utf-8")
    verdict = tclose.verify(path, KEYS)
    assert any("12 cells are formulas" in problem for problem in verdict.problems)


def test_a_note_counts_and_names_columns_and_never_a_cell(tmp_path: Path) -> None:
    with pytest.warns(tclose.FormulaWarning) as caught:
        released(tmp_path)
    (note,) = [str(each.message) for each in caught]
    assert "note (12)" in note
    assert "=sum (13)" in note
    assert "SUM(A1)" not in note
    path, certificate = released(tmp_path, ".parquet")
    assert certificate["formulas"] == "as they are"
    verdict = tclose.verify(path, KEYS)
    assert verdict.holds
    assert "formulas" not in verdict.unchecked
    assert not tclose.verify(path, KEYS, certificate={**certificate, "formulas": "escaped"}).holds
    released(tmp_path, ".parquet")  # is no text, and warnings are errors here


def test_parquet_is_not_escaped(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="in CSV and TSV alone"):
        released(tmp_path, ".parquet", escape_formulas=True)
    assert list(tmp_path.iterdir()) == []


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(as_csv(TABLE))
    (tmp_path / "schema.toml").write_text(tclose.Schema.from_dict(KEYS).to_toml(), encoding="utf-8")
    asked = ("anonymize", tmp_path / "data.csv", "-s", tmp_path / "schema.toml", "-o")
    plain = run(*asked, tmp_path / "plain.csv")
    assert plain.code == 0
    assert "Note: Cells or names begin as formulas" in plain.err
    escaped = run(*asked, tmp_path / "escaped.csv", "--escape-formulas")
    assert escaped.code == 0
    assert "Note" not in escaped.err
    assert run("verify", tmp_path / "escaped.csv", "-s", tmp_path / "schema.toml").code == 0
    assert run(*asked, tmp_path / "x.parquet", "--escape-formulas").code == 2
    assert run(*asked, tmp_path / "clean.csv", "--escape-formulas").code == 0
    quiet = promise({"age": {"kind": "numeric"}})
    (tmp_path / "schema.toml").write_text(quiet, encoding="utf-8")
    (tmp_path / "data.csv").write_bytes(as_csv({"age": TABLE["age"], "disease": ["flu", "cold"] * 12}))
    assert "Note" not in run(*asked, tmp_path / "quiet.csv").err


@pytest.mark.parametrize("decimal", [".", ","])
def test_what_is_no_text_is_escaped_by_what_is_written_of_it(tmp_path: Path, decimal: str) -> None:
    """Minus infinity, and days of years that are written with a sign."""
    day = pl.Series([0, 4_000_000, None, -900_000], dtype=pl.Int32).cast(pl.Date)
    frame = pl.DataFrame(
        {"age": [1, 1, 1, 1], "ill": list("abab"), "low": [float("-inf"), -1.5, None, float("nan")], "day": day}
    )
    keys = KEYS | {"k": 4, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    keys |= {"keep": ["low", "day"], "keep_unchecked": True, "decimal": decimal, "delimiter": ";"}
    release = tclose.anonymize(frame, keys, allow_single_class=True)
    assert count_formulas(release.aligned()) == {"low": 1, "day": 2}
    release.write(tmp_path / "release.csv", keep_order=True, escape_formulas=True)
    cells = [line.split(";")[2:] for line in (tmp_path / "release.csv").read_text().splitlines()[1:]]
    assert [low for low, _ in cells] == ["'-inf", f"-1{decimal}5", "", ""]
    assert [written[:2] for _, written in cells] == ["19", "'+", "", "'-"]
    assert tclose.verify(tmp_path / "release.csv", keys).holds


def test_no_file_is_written_that_verify_would_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.release.release.escape_frame", lambda frame, decimal: frame)
    monkeypatch.setattr("tclose.release.writing.escape_frame", lambda frame, decimal: frame)
    release = tclose.anonymize(pl.DataFrame(TABLE), KEYS, allow_single_class=True)
    with pytest.raises(tclose.VerificationError, match="formulas"):
        release.write(tmp_path / "release.csv", escape_formulas=True)
    assert not list(tmp_path.iterdir())


def test_names_that_are_escaped_fit_patterns(tmp_path: Path) -> None:
    keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"=s*": {"distance": "equal", "t": 1}}}
    frame = pl.DataFrame({"age": TABLE["age"], "=sum": ["=1+1", "flu"] * 12})
    path, schema = tmp_path / "release.csv", tmp_path / "schema.toml"
    schema.write_text(tclose.Schema.from_dict(keys).to_toml(), encoding="utf-8")
    release = tclose.anonymize(frame, schema, seed=1)
    release.write(path, escape_formulas=True)
    shown = run("verify", path, "-s", schema)
    assert shown.code == 0, shown.err
    assert "=sum" in shown.out
    assert run("assess", path, "-s", schema).code == 0
    assert tclose.assess(path, schema).k == tclose.assess(release.table, schema).k
    with pytest.warns(tclose.InferredSchemaWarning):
        inferred = tclose.assess(path, quasi=["age"], sensitive={"=sum": 1.0})
    assert inferred.t == release.measured.t
