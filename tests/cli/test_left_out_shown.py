"""The command line tells how many rows are left out, and where limits forbid a release."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tclose.cli.main import main
from tests.algorithms.test_rows_left_out import outliers

SCHEMA = """
k = 10
{keys}
[quasi.x]
kind = "numeric"
{limits}
[quasi.y]
kind = "numeric"
[quasi.z]
kind = "numeric"
[sensitive.ill]
distance = "equal"
t = 0.2
"""


def ended(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["tclose", *arguments])
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0


def written(folder: Path, keys: str = "", limits: str = "") -> list[str]:
    """The arguments of a run on rows with outliers."""
    outliers().write_csv(folder / "rows.csv")
    (folder / "schema.toml").write_text(SCHEMA.format(keys=keys, limits=limits))
    return [str(folder / "rows.csv"), "-s", str(folder / "schema.toml")]


def test_rows_left_out_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = written(tmp_path, "suppress_rows = 0.05")
    release, record = str(tmp_path / "out.csv"), str(tmp_path / "record.json")
    method = ["--method", "mondrian", "--option", "textbook=true"]
    asked = ["anonymize", *table, "-o", release, *method, "--seed", "1", "--record", record]
    assert ended(asked, monkeypatch) == 0
    assert "24 rows were left out: suppress_rows allows it" in "".join(capsys.readouterr())
    assert json.loads(Path(record).read_text())["left_out_rows"] == 24
    checked = ["verify", release, *table[1:], "--original", table[0]]
    assert ended(checked, monkeypatch) == 0
    assert "It is true of its original: each row was matched" in "".join(capsys.readouterr())


def test_a_column_that_forbids_a_release_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = written(tmp_path, limits="coarsest = 0")
    assert ended(["anonymize", *table, "-o", str(tmp_path / "out.csv")], monkeypatch) == 4
    assert "`coarsest` of 'x' keeps some rows apart" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out.csv").exists()
