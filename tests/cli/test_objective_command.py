"""An objective on the command line: what is said of it, and that a workload is nobody else's business."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tclose.cli.main import main

SCHEMA = """
k = 3
objective = "queries"
workload = "asked.csv"
[quasi.age]
kind = "numeric"
[quasi.sex]
kind = "categorical"
[sensitive.ill]
distance = "equal"
t = 0.5
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng, n = np.random.default_rng(1), 120
    columns = {"age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n), "ill": rng.choice(["flu", "cold"], n)}
    pl.DataFrame(columns).write_csv(tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "asked.csv").write_text("age,sex,ill\n20..40,f,\n,m,flu\n30..,,cold\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tclose", *arguments])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.mark.slow
def test_a_release_by_queries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ("people.csv", "-s", "schema.toml", "-o", "out.csv", "--record", "record.json", "--seed", "1")
    assert command(monkeypatch, "anonymize", *wanted) == 0
    assert json.loads((folder / "record.json").read_text())["objective"] == "queries"
    certificate = next(folder.glob("out*certificate*")).read_text()
    assert "asked" not in certificate
    assert "workload" not in certificate
    (folder / "asked.csv").unlink()  # whoever verifies, assesses or measures does not have it
    assert command(monkeypatch, "verify", "out.csv", "-s", "schema.toml") == 0
    assert command(monkeypatch, "assess", "people.csv", "-s", "schema.toml", "--json") == 0
    assert command(monkeypatch, "utility", "people.csv", "out.csv", "-s", "schema.toml", "--json") == 0


def test_what_is_not_understood_is_bad_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    (folder / "asked.csv").write_text("age\n20..40\nsecret\n")
    assert command(monkeypatch, "anonymize", "people.csv", "-s", "schema.toml", "-o", "out.csv") == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "line 3, column 'age'" in said
    assert "secret" not in said
    assert not (folder / "out.csv").exists()
