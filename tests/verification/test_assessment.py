"""Assess: the tables of 001, raw and generalized, and what a report tells."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.schema.schema import Schema
from tclose.verification.assessment import Report
from tests.oracles import diversity
from tests.oracles.release import check_release, read_paths, read_rows
from tests.shared_data import shared

# 001, tables 2, 3 and 4. Each class is one way to be grouped.

TABLE_2 = pl.DataFrame(
    {
        "Zone": ["2C"] * 3 + ["4F"] * 4 + ["9A"] * 2 + ["3B"] * 5,
        "Incident": (
            ["power outage"] * 3
            + ["theft", "fire", "fatal accident", "fire"]
            + ["sidewalk repair", "power outage"]
            + ["pest control", "power outage", "sidewalk repair", "tree replanting", "sidewalk repair"]
        ),
    }
)
SALARIES = ["3k", "4k", "5k", "6k", "11k", "8k", "7k", "9k", "10k"]
DISEASES = [
    *("gastric ulcer", "gastritis", "stomach cancer"),
    *("gastritis", "flu", "bronchitis"),
    *("bronchitis", "pneumonia", "stomach cancer"),
]
TABLE_3 = pl.DataFrame(
    {
        "Zip Code": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "Age": ["2*"] * 3 + ["≥ 40"] * 3 + ["3*"] * 3,
        "Salary": SALARIES,
        "Disease": DISEASES,
    }
)
RAW_3 = TABLE_3.with_columns(
    pl.Series("Zip Code", ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"]),
    pl.Series("Age", [29, 22, 27, 43, 52, 47, 30, 36, 32]),
)
TABLE_4 = pl.DataFrame(
    {
        "Project Name": ["E**"] * 3 + ["U**"] + ["G**"] * 4 + ["R**"] * 2,
        "Merit Points": [1, 4, 2, 3, 3, 4, 3, 1, 4, 3],
    }
)
INCIDENTS = Schema.from_dict(
    {"k": 2, "quasi": {"Zone": {"kind": "categorical"}}, "sensitive": {"Incident": {"distance": "equal"}}}
)
IN_ORDER = [f"{thousands}k" for thousands in range(3, 12)]
PATIENTS = Schema.from_dict(
    {
        "k": 3,
        "quasi": {"Zip Code": {"kind": "text"}, "Age": {"kind": "numeric"}},
        "sensitive": {
            "Salary": {"distance": "ordered", "order": IN_ORDER},
            "Disease": {"distance": "equal"},
        },
    }
)


def merits(**keys: Any) -> Schema:
    quasi = {"Project Name": {"kind": "text"}}
    return Schema.from_dict({"k": 1, "quasi": quasi, "sensitive": {"Merit Points": {"distance": "ordered", **keys}}})


def check(report: Report, rows: int, classes: int, k: int, t: dict[str, Fraction]) -> None:
    assert (report.rows, report.classes, report.k) == (rows, classes, k)
    assert report.t == t
    assert all(isinstance(value, Fraction) for value in report.t.values())


def test_table_2() -> None:
    report = tclose.assess(TABLE_2, INCIDENTS)
    check(report, 14, 4, 2, {"Incident": Fraction(5, 7)})  # 0.7143
    assert report.l["Incident"].distinct == 1
    assert report.l["Incident"].frequency == 1
    assert report.l["Incident"].entropy == pytest.approx(1)


def test_table_3() -> None:
    report = tclose.assess(TABLE_3, PATIENTS)
    check(report, 9, 3, 3, {"Salary": Fraction(3, 8), "Disease": Fraction(4, 9)})
    for column in ("Salary", "Disease"):
        assert report.l[column].distinct == 3
        assert report.l[column].frequency == 3
        assert report.l[column].entropy == pytest.approx(3)


def test_table_3_before_it_was_generalized() -> None:
    # Every row is a class: the lowest salary is half the range from all, a lone ulcer 8/9.
    report = tclose.assess(RAW_3, PATIENTS)
    check(report, 9, 9, 1, {"Salary": Fraction(1, 2), "Disease": Fraction(8, 9)})


@pytest.mark.parametrize(("order", "t"), [([3, 4, 1, 2], Fraction(1, 3)), (None, Fraction(4, 15))])
def test_table_4(order: list[int] | None, t: Fraction) -> None:
    # The paper orders by descending frequency; in natural order the distances are 8/45, 4/15, 1/20, 7/30.
    report = tclose.assess(TABLE_4, merits(order=order) if order else merits())
    check(report, 10, 4, 1, {"Merit Points": t})


def test_numbers_as_numbers() -> None:
    # Evenly spaced values: their ranks and their numbers give the same distance.
    schema = Schema.from_dict(
        {"k": 1, "quasi": {"Project Name": {"kind": "text"}}, "sensitive": {"Merit Points": {"distance": "numeric"}}}
    )
    assert tclose.assess(TABLE_4, schema).t == {"Merit Points": Fraction(4, 15)}


def test_the_nine_rows_by_hierarchy() -> None:
    folder = shared("hierarchies/tcloseness_example")
    keys = {
        "k": 1,
        "quasi": {
            "ZIPCode": {"kind": "categorical", "hierarchy": "ZIPCode.csv"},
            "Age": {"kind": "categorical", "hierarchy": "Age.csv"},
        },
        "sensitive": {
            "Salary": {"distance": "ordered"},
            "Disease": {"distance": "hierarchical", "hierarchy": "Disease.csv"},
        },
    }
    path = shared("tcloseness_example.csv")
    report = tclose.assess(path, Schema.from_dict(keys, folder))
    paths = read_paths(folder / "Disease.csv")
    wanted = check_release(
        read_rows(path),
        ["ZIPCode", "Age"],
        {"Salary": {"distance": "ordered"}, "Disease": {"distance": "hierarchical", "paths": paths}},
    )
    check(report, 9, wanted["classes"], wanted["k"], wanted["t"])


# The worst classes


def test_worst_classes() -> None:
    worst = tclose.assess(TABLE_2, INCIDENTS).worst("Incident")
    assert [(entry["size"], entry["t"]["exact"]) for entry in worst] == [
        (4, "5/7"),
        (3, "9/14"),
        (5, "31/70"),
        (2, "3/7"),
    ]
    assert [entry["first"] for entry in worst] == ["row 3", "row 0", "row 9", "row 7"]
    assert len(tclose.assess(TABLE_2, INCIDENTS).worst("Incident", 2)) == 2


def test_among_equals_the_smallest_is_the_worst() -> None:
    frame = pl.DataFrame({"Zone": ["a"] * 2 + ["b"] + ["c"] * 3, "Incident": ["x", "x", "x", "y", "y", "y"]})
    worst = tclose.assess(frame, INCIDENTS).worst("Incident")
    assert [entry["size"] for entry in worst] == [1, 2, 3]


def test_worst_classes_are_found_by_their_line(tmp_path: Path) -> None:
    TABLE_2.write_csv(tmp_path / "table.csv")
    assert tclose.assess(tmp_path / "table.csv", INCIDENTS).worst("Incident", 1)[0]["first"] == "line 5"


def test_lines_are_right_when_rows_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("Zone,Incident\na,\nb,\nc,x\nd,y\nd,x\nd,y\n")
    schema = Schema.from_dict(INCIDENTS.as_dict() | {"missing": "drop"})
    report = tclose.assess(tmp_path / "table.csv", schema)
    assert report.rows == 4
    assert [entry["first"] for entry in report.worst("Incident")] == ["line 4", "line 5"]


def test_values_appear_only_on_request() -> None:
    assert "4F" not in str(tclose.assess(TABLE_2, INCIDENTS).as_dict())
    told = tclose.assess(TABLE_2, INCIDENTS, show_values=True).as_dict()
    assert told["worst"]["Incident"][0]["values"] == {"Zone": "4F"}


def test_values_of_any_type_are_json() -> None:
    frame = TABLE_2.with_columns(Zone=pl.lit(date(2021, 3, 2)))
    schema = Schema.from_dict(INCIDENTS.as_dict() | {"quasi": {"Zone": {"kind": "date"}}})
    assert json.dumps(tclose.assess(frame, schema, show_values=True).as_dict())


# What is told


def test_as_dict() -> None:
    told = tclose.assess(TABLE_3, PATIENTS).as_dict()
    assert json.loads(json.dumps(told)) == told
    assert {"rows", "classes", "k", "t", "l"} <= set(told)
    assert (told["rows"], told["classes"], told["k"]) == (9, 3, 3)
    assert told["t"] == {"Salary": {"exact": "3/8", "value": 0.375}, "Disease": {"exact": "4/9", "value": 4 / 9}}
    for column in ("Salary", "Disease"):
        assert {"distinct", "entropy", "frequency", "recursive"} <= set(told["l"][column])


@pytest.mark.parametrize("seed", range(15))
def test_random_tables_against_the_oracles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    rows = {
        "zip": rng.choice(["1", "01", "*", "", "[1, 2]"], n).tolist(),
        "age": rng.choice(["1", "2"], n).tolist(),
        "ill": rng.choice(["flu", "cold", "rash", ""], n, p=[0.5, 0.3, 0.1, 0.1]).tolist(),
        "pay": rng.integers(0, 5, n).astype(str).tolist(),
    }
    schema = Schema.from_dict(
        {
            "k": 1,
            "missing": "category",
            "quasi": {"zip": {"kind": "text"}, "age": {"kind": "categorical", "hierarchy": {"x": ["7"]}}},
            "sensitive": {"ill": {"distance": "equal"}, "pay": {"distance": "ordered"}},
        }
    )
    report = tclose.assess(pl.DataFrame(rows), schema)
    dicts = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    wanted = check_release(dicts, ["zip", "age"], {"ill": {"distance": "equal"}, "pay": {"distance": "ordered"}})
    check(report, wanted["rows"], wanted["classes"], wanted["k"], wanted["t"])
    for column in ("ill", "pay"):
        reached, by_hand = report.l[column], wanted["l"][column]
        assert (reached.distinct, reached.frequency) == (by_hand["distinct"], by_hand["frequency"])
        assert reached.entropy == pytest.approx(by_hand["entropy"])
        check_recursive(reached.recursive, dicts, column)


def check_recursive(reached: tuple[Fraction | None, int], rows: list[dict[str, str]], column: str) -> None:
    """(c, l)-diversity holds for every c above the one told, and not at it."""
    factor, wanted = reached

    def key(row: dict[str, str]) -> tuple[str, str]:
        return row["zip"], row["age"]

    def holds(c: Fraction) -> bool:
        classes = [[row[column] for row in group] for _, group in groupby(sorted(rows, key=key), key)]
        counts = [[values.count(value) for value in set(values)] for values in classes]
        return all(diversity.recursive_holds(each, c, wanted) for each in counts)

    if factor is None:
        assert not holds(Fraction(10**9))
    else:
        assert not holds(factor)
        assert holds(factor + Fraction(1, 10**9))


# A release is a table like any other


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_a_release_is_as_its_certificate_says() -> None:
    frame, schema = tclose.datasets.hospital(600, seed=4)
    release = tclose.anonymize(frame, schema, seed=1)
    report = tclose.assess(release.table, schema)
    assert (report.k, report.classes, report.t) == (release.measured.k, release.measured.classes, release.measured.t)
    raw = tclose.assess(frame, schema)
    assert raw.classes > report.classes


def test_bounds_are_found_in_a_release() -> None:
    frame = pl.DataFrame({"age": [1, 2, 8, 9], "ill": list("abab")})
    keys: dict[str, Any] = {"k": 2, "quasi": {"age": {"kind": "numeric", "publish": "bounds"}}}
    schema = Schema.from_dict(keys | {"sensitive": {"ill": {"distance": "equal", "t": 1}}})
    release = tclose.anonymize(frame, schema)
    assert tclose.assess(release.table, schema).classes == 2
    assert tclose.assess(frame, schema).classes == 4


def test_from_keywords() -> None:
    with pytest.warns(tclose.InferredSchemaWarning, match="Zone categorical, Incident equal"):
        report = tclose.assess(TABLE_2, quasi=["Zone"], sensitive={"Incident": 0.2}, k=2)
    assert report.t == {"Incident": Fraction(5, 7)}


def test_a_column_without_a_role_is_an_error() -> None:
    with pytest.raises(tclose.TableError, match="'extra'"):
        tclose.assess(TABLE_2.with_columns(extra=pl.lit(1)), INCIDENTS)


def test_an_absent_column_is_an_error() -> None:
    with pytest.raises(tclose.TableError, match="'Zone'"):
        tclose.assess(TABLE_2.drop("Zone"), INCIDENTS)


def test_missing_values_need_a_policy() -> None:
    with pytest.raises(tclose.TableError, match="missing"):
        tclose.assess(TABLE_2.with_columns(Zone=pl.lit(None, pl.String)), INCIDENTS)


def test_its_repr_says_what_k_counts() -> None:
    frame = pl.DataFrame({"p": [row // 5 for row in range(100)], "age": [row // 5 for row in range(100)]})
    quasi = {"age": {"kind": "numeric"}}
    told = repr(tclose.assess(frame, {"unit": "p", "quasi": quasi}))
    assert told == "Report(k 1 in persons, 100 rows of 20 persons in 20 classes)"
    told = repr(tclose.assess(frame.drop("p"), {"quasi": quasi}))
    assert told == "Report(k 5 in rows, 100 rows in 20 classes)"
