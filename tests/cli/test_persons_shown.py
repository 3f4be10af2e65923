"""What the command line says of persons with several rows."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tclose.cli.main import main

# A command says what a library warns of.
pytestmark = pytest.mark.filterwarnings("always")

SCHEMA = """
k = 3
unit = "who"
unit_rows = "{rows}"
[quasi.age]
kind = "numeric"
[sensitive.ill]
distance = "equal"
t = 0.6
rise = 0.4
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    n = 100
    columns = {"who": rng.integers(0, 40, n), "age": rng.integers(20, 60, n), "ill": rng.choice(list("abc"), n)}
    pl.DataFrame(columns).write_csv(tmp_path / "visits.csv")
    for rows in ("one", "all"):
        (tmp_path / f"{rows}.toml").write_text(SCHEMA.format(rows=rows))
    return tmp_path


Said = Callable[..., str]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """Run `tclose` with these arguments, and give what it said on one line."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main sets its own

    def command(code: int, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["tclose", *arguments])
        try:
            main()
            ended: object = 0
        except SystemExit as end:
            ended = end.code or 0
        found = capsys.readouterr()
        assert ended == code, found.err
        return " ".join((found.out + found.err).split())

    return command


def test_all_rows(folder: Path, said: Said) -> None:
    table, schema, release = str(folder / "visits.csv"), str(folder / "all.toml"), str(folder / "release.csv")
    assert "t, l and shares count rows, of which a person may have several." in said(0, "assess", table, "-s", schema)
    made = said(0, "anonymize", table, "-s", schema, "-o", release, "--method", "mondrian", "--keep-order")
    assert "The class with fewest persons has" in made
    assert "points in a class; allowed: 40." in made
    alone = said(0, "verify", release, "-s", schema)
    assert "as far as rows show" in alone
    assert "persons: k, and the caps of 'ill', are promised in persons" in alone
    both = said(0, "verify", release, "-s", schema, "--original", table)
    assert "counted in persons" in both
    refused = said(3, "anonymize", table, "-s", schema, "-o", release, "--method", "sabre-ak")
    assert "'sabre-ak' does not guarantee k in persons, rise in persons, which the schema asks. Use 'tight'." in refused


def test_one_row(folder: Path, said: Said) -> None:
    table, schema, release = str(folder / "visits.csv"), str(folder / "one.toml"), str(folder / "release.csv")
    made = said(0, "anonymize", table, "-s", schema, "-o", release, "--method", "mondrian")
    n_persons = pl.read_csv(table)["who"].n_unique()
    assert f"{100 - n_persons} rows were left out: one row of each person is kept." in made
    assert len(pl.read_csv(release)) == n_persons
    told = json.loads((folder / "release.csv.certificate.json").read_text())
    assert told["unit"] == "one row a unit, checked; of several rows of a unit one at random was picked"
