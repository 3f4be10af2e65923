"""The published loss: each rule by hand, many releases against an oracle, and the same number from every file."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.table.source import Source, read
from tclose.verification.published_loss import published_loss
from tests.fuzz.cases import Case, make_case
from tests.fuzz.forms import as_rows
from tests.fuzz.judged import release_of
from tests.oracles import published_loss as oracle
from tests.seeds import for_seeds

TREE = {"u": ["a", "b"], "v": {"w": ["c", "d"], "e": []}}
DAYS = {"build": "dates", "levels": ["month", "year"]}
RULES: list[tuple[str, dict[str, Any], dict[str, Any], list[Any], list[str]]] = [
    ("numbers", {"kind": "numeric"}, {}, ["[20, 30]", "60", None, "*"], ["1/4", "0", "0", "1"]),
    ("a range", {"kind": "numeric", "range": [0, 100]}, {}, ["[20, 30]", "60"], ["1/10", "0"]),
    ("one value", {"kind": "numeric"}, {}, ["60", "60"], ["0", "0"]),
    ("open ends", {"kind": "numeric", "bottom": 18, "top": 90}, {}, ["<18", "[<18, 36]", ">90"], ["0", "1/4", "0"]),
    ("open ends in a range", {"kind": "numeric", "bottom": 18, "range": [0, 36]}, {}, ["<18", "36"], ["1/2", "0"]),
    ("numbers as numbers", {"kind": "numeric"}, {}, [20.5, 30.0], ["0", "0"]),
    ("decimals", {"kind": "numeric"}, {}, ["[0.1, 0.4]", "1.1"], ["3/10", "0"]),
    ("days", {"kind": "date"}, {}, ["2021-03-01/2021-03-11", "2021-04-10"], ["1/4", "0"]),
    ("text", {"kind": "text"}, {}, ["021**", "02139", "*****"], ["2/5", "0", "1"]),
    ("text of several lengths", {"kind": "text"}, {}, ["02*", "0213", "*"], ["1/3", "0", "1"]),
    ("digits", {"kind": "digits"}, {}, ["0*1*9", "02139", "*****"], ["2/5", "0", "1"]),
    ("flat", {"kind": "categorical"}, {}, ["a", "*", None], ["0", "1", "0"]),
    ("a tree", {"kind": "categorical", "hierarchy": TREE}, {}, list("auvwe*"), ["0", "2/5", "3/5", "2/5", "0", "1"]),
    ("periods", {"kind": "categorical", "hierarchy": DAYS}, {}, ["2021-03-02", "2021-03", "2021"], ["0", "1/3", "2/3"]),
    ("prefixes", {"kind": "categorical", "hierarchy": {"build": "prefixes", "lengths": [3, 1]}}, {},
     ["02139", "021**", "0****", "*"], ["0", "1/3", "2/3", "1"]),
    ("intervals", {"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [5, 10]}}, {},
     ["3", "[0, 5)", "[10, 20)", "*"], ["0", "1/3", "2/3", "1"]),
    ("suppressed numbers", {"kind": "numeric"}, {"recode": "suppress"}, ["20", "*", None], ["0", "1", "0"]),
    ("suppressed text", {"kind": "text"}, {"recode": "suppress"}, ["02**", "*"], ["0", "1"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "quasi", "keys", "cells", "losses"), RULES, ids=[rule[0] for rule in RULES])
def test_each_rule(name: str, quasi: dict[str, Any], keys: dict[str, Any], cells: list[Any], losses: list[str]) -> None:
    schema = Schema.from_dict({"k": 1, "missing": "category", "quasi": {"q": quasi}} | keys)
    found = published_loss(Source.of(pl.DataFrame({"q": cells})), schema).columns["q"]
    assert found is not None
    assert found.value == sum(map(Fraction, losses), Fraction(0)) / len(losses)
    assert sum(found.degrees) == len(cells)
    tails = [str(cell)[:1] in "<>" and cell != "" for cell in cells]  # which show less than their loss says
    kept = [loss == "0" and not is_tail for loss, is_tail in zip(losses, tails, strict=True)]
    assert found.degrees[0] == sum(kept)
    assert found.degrees[3] == losses.count("1")


def test_bounds_are_read_in_pairs() -> None:
    keys = {"age": {"kind": "numeric", "bottom": 20, "publish": "bounds"}}
    schema = Schema.from_dict({"k": 1, "missing": "category", "quasi": keys})
    table = pl.DataFrame({"age_low": [None, "30", None, "*"], "age_high": ["25", "40", None, "*"]})
    found = published_loss(Source.of(table), schema).columns["age"]
    assert found is not None
    assert found.value == (Fraction(5, 20) + Fraction(10, 20) + 0 + 1) / 4
    for wrong in ({"age_low": ["*"], "age_high": ["25"]}, {"age_low": ["30"], "age_high": [None]}):
        with pytest.raises(TableError, match=r"'age': 1 row has a value that no release by this schema has"):
            published_loss(Source.of(pl.DataFrame(wrong, {"age_low": pl.String, "age_high": pl.String})), schema)


@pytest.mark.parametrize(
    ("quasi", "cell"),
    [
        ({"kind": "numeric"}, "SECRET"),
        ({"kind": "numeric", "range": [0, 9]}, "[5, 12]"),
        ({"kind": "date"}, "[20, 30]"),
        ({"kind": "categorical", "hierarchy": TREE}, "SECRET"),
        ({"kind": "categorical", "hierarchy": DAYS}, "2021-Q1"),
        ({"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [5]}}, "[0, 7)"),
    ],
)
def test_a_cell_that_no_release_has(quasi: dict[str, Any], cell: str) -> None:
    schema = Schema.from_dict({"k": 1, "quasi": {"q": quasi}})
    with pytest.raises(TableError, match="'q': 2 rows have values that no release") as caught:
        published_loss(Source.of(pl.DataFrame({"q": [cell, cell]})), schema)
    assert cell not in str(caught.value)


def test_a_label_at_several_levels_counts_by_the_broadest() -> None:
    tree = {"x": ["x", "y"], "z": []}
    schema = Schema.from_dict({"k": 1, "quasi": {"q": {"kind": "categorical", "hierarchy": tree}}})
    found = published_loss(Source.of(pl.DataFrame({"q": ["x", "z"]})), schema)
    assert found.value == Fraction(1, 3)


def test_a_long_fraction_is_not_written_out() -> None:
    names = [f"q{place}" for place in range(9)]
    schema = Schema.from_dict({"k": 1, "quasi": {name: {"kind": "numeric"} for name in names}})
    cells = {name: [f"[0, {10**20 + place}]", str(10**25 + 7 * place + 1)] for place, name in enumerate(names)}
    told = published_loss(Source.of(pl.DataFrame(cells)), schema).as_dict()
    assert told["exact"] is None
    assert told["value"] == pytest.approx(5e-6)


def compare(case: Case, folder: Path) -> None:
    release = release_of(case, "polars", folder)
    if not isinstance(release, tclose.Release):
        return
    rows = as_rows(release.aligned())
    expected = oracle.published_loss(rows, case.schema)
    found = published_loss(Source.of(release._frame), release.schema)
    assert {name: None if each is None else each.value for name, each in found.columns.items()} == expected
    told = release.certificate["loss"]
    total = oracle.whole_loss(expected, case.schema)
    assert told["value"] == (None if total is None else float(total))
    if release.schema.recode == "suppress":
        assert release.certificate["suppressed_cells"] == found.stars == oracle.stars(rows, case.schema)
    for suffix in (".csv", ".parquet"):
        path = folder / f"release{suffix}"
        release.write(path)
        assert published_loss(read(path, release.schema.delimiter), release.schema).as_dict() == told


@pytest.mark.filterwarnings("ignore::tclose.errors.FormulaWarning")
@for_seeds(40)
def test_releases_against_the_oracle(seed: int, tmp_path: Path) -> None:
    compare(replace(make_case(seed), method="mondrian", options={}), tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tclose.errors.FormulaWarning")
@for_seeds(1000, 50, tested=55)
def test_many_releases_against_the_oracle(seed: int, tmp_path: Path) -> None:
    compare(make_case(10_000 + seed), tmp_path)
