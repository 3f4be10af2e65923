"""Persons: k counts them where the schema says whose a row is, and identifiers that repeat are reported."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.errors import RepeatedIdentifierWarning, TableError, VerificationError
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.judge_release import check_release, judge
from tclose.verification.persons import repeated_identifiers
from tests.seeds import for_seeds


def schema(k: int = 1, **keys: Any) -> Schema:
    quasi = {"age": {"kind": "numeric"}}
    ill = {"distance": "equal", "t": 1}
    return Schema.from_dict({"k": k, "quasi": quasi, "sensitive": {"ill": ill}, **keys})


def visits(ages: list[int], patients: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"patient": patients, "age": ages, "ill": ["flu", "cold"] * (len(ages) // 2)})


TWENTY = [patient for patient in range(20) for _ in range(5)]  # five rows each


def test_twenty_patients_with_five_rows_each_are_not_k_5() -> None:
    """Every patient has an age of his own: a class is the five rows of one."""
    report = tclose.assess(visits([20 + patient for patient in TWENTY], TWENTY), schema(unit="patient"))
    assert (report.k, report.rows, report.persons, report.classes) == (1, 100, 20, 20)
    assert report.counted == "persons"
    assert report.measured.k == 5


def test_twenty_patients_who_are_all_alike_are_k_20() -> None:
    report = tclose.assess(visits([30] * 100, TWENTY), schema(unit="patient"))
    assert (report.k, report.rows, report.persons, report.classes) == (20, 100, 20, 1)


def test_what_json_has() -> None:
    told = tclose.assess(visits([20 + patient for patient in TWENTY], TWENTY), schema(unit="patient")).as_dict()
    json.dumps(told)
    assert {name: told[name] for name in ("rows", "persons", "k", "counted", "k_rows")} == {
        "rows": 100, "persons": 20, "k": 1, "counted": "persons", "k_rows": 5
    }  # fmt: skip
    assert [entry["persons"] for entry in told["worst"]["ill"]] == [1] * 5
    plain = tclose.assess(visits([30] * 100, TWENTY).drop("patient"), schema()).as_dict()
    assert (plain["k"], plain["counted"], plain["k_rows"], plain["persons"]) == (100, "rows", 100, None)


def test_a_release_has_no_unit_and_counts_rows() -> None:
    frame = visits([20, 20, 30, 30], [1, 2, 3, 4])
    release = tclose.anonymize(frame, schema(2, unit="patient"), method="mondrian")
    report = tclose.assess(release.table, schema(2, unit="patient"))
    assert (report.k, report.counted, report.persons) == (2, "rows", None)


@for_seeds(60)
def test_against_plain_counting(seed: int) -> None:
    random = Random(seed)
    n = 2 * random.randint(1, 20)
    ages = [random.randint(20, 23) for _ in range(n)]
    patients: list[Any] = [random.choice(["a", "b", "c", "d", "e", "A", "a "]) for _ in range(n)]
    if seed % 3 == 0:
        patients = [ord(patient[0]) for patient in patients]
    gone = [random.random() < 0.2 for _ in range(n)]
    gone[0] = False
    frame = visits(ages, patients).with_columns(
        pl.Series("ill", [None if no else random.choice("xyz") for no in gone], pl.String)
    )
    classes: dict[int, set[Any]] = {}
    for age, patient, no in zip(ages, patients, gone, strict=True):
        if not no:
            classes.setdefault(age, set()).add(patient)
    report = tclose.assess(frame, schema(unit="patient", missing="drop"))
    assert report.k == min(map(len, classes.values()))
    assert report.persons == len(set.union(*classes.values()))
    assert report.rows == n - sum(gone)


@pytest.mark.parametrize("nobody", [None, "", "?"])
def test_rows_that_do_not_say_whose_they_are(nobody: str | None) -> None:
    frame = visits([20, 20, 30, 30], ["ann", "bob", nobody, "eve"])
    with pytest.raises(TableError, match=r"'patient' is the unit, and 1 of 4 rows have none\. Fill it in"):
        tclose.assess(frame, schema(unit="patient", missing_values=["?"]))


def released(frame: pl.DataFrame) -> Source:
    return Source.of(frame.drop("patient"))


def test_the_verifier_counts_persons_where_it_has_the_original() -> None:
    original = visits([20, 20, 20, 20], [7, 7, 7, 7])
    asked = schema(2, unit="patient")
    assert judge(released(original), asked).holds
    found = judge(released(original), asked, Source.of(original))
    assert found.problems == ["By 'patient' the rows of some class are those of 1 person, and k is 2."]
    with pytest.raises(VerificationError, match="those of 1 person"):
        check_release(released(original), asked, Source.of(original))


def test_rows_of_the_original_in_another_order() -> None:
    original = visits([20, 30, 20, 30], [1, 1, 2, 2])
    rows = np.array([0, 2, 1, 3])
    asked = schema(2, unit="patient")
    assert judge(released(original[rows.tolist()]), asked, Source.of(original), rows).persons == 2
    wrong = judge(released(original[rows.tolist()]), asked, Source.of(original), np.array([0, 1, 2, 9]))
    assert wrong.persons is None
    assert not wrong.holds


def test_kept_columns_are_judged_by_persons_too() -> None:
    original = visits([20, 20, 20, 20], [1, 1, 2, 2]).with_columns(site=pl.Series(["n", "n", "s", "s"]))
    asked = schema(2, unit="patient", keep=["site"])
    (problem,) = judge(released(original), asked, Source.of(original)).problems
    assert "single out a group of 1 person, and k is 2" in problem


def test_a_verdict_counts_persons() -> None:
    original = visits([20, 20, 20, 20], [1, 1, 2, 3])
    verdict = tclose.verify(original.drop("patient"), schema(3, unit="patient"), original=original)
    assert (verdict.holds, verdict.k, verdict.persons) == (True, 3, 3)
    told = verdict.as_dict()
    assert (told["k"], told["counted"], told["k_rows"]) == (3, "persons", 4)
    alone = tclose.verify(original.drop("patient"), schema(3, unit="patient")).as_dict()
    assert (alone["k"], alone["counted"]) == (4, "rows")


# Identifiers that repeat


def test_an_identifier_that_repeats_is_reported() -> None:
    frame = visits([20, 20, 30, 30], ["secret7", "secret7", "secret8", None])
    asked = schema(2, identifiers=["patient"])
    with pytest.warns(RepeatedIdentifierWarning, match=r"'patient' \(2 distinct values in 3 rows\).*`unit`") as caught:
        report = tclose.assess(frame, asked)
    assert report.notes == (str(caught[0].message),)
    assert report.as_dict()["notes"] == list(report.notes)
    assert "secret" not in report.notes[0]
    with pytest.warns(RepeatedIdentifierWarning, match="An identifier repeats"):
        tclose.anonymize(frame, asked, method="mondrian")


def test_identifiers_that_do_not_repeat_are_not_reported() -> None:
    """Nor those that repeat only what is missing, nor any where the unit is named."""
    frame = visits([20, 20, 30, 30], ["a", "?", "", "b"]).with_columns(card=pl.Series([1, 1, 2, 2]))
    assert repeated_identifiers(Source.of(frame), schema(identifiers=["patient"], missing_values=["?"])) is None
    assert repeated_identifiers(Source.of(frame), schema(identifiers=["card"], unit="patient")) is None
    told = repeated_identifiers(Source.of(frame), schema(identifiers=["patient", "card"]))
    assert told is not None
    assert "'card' (2 distinct values in 4 rows)" in told
    assert "'patient'" not in told


def test_many_identifiers_are_named_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({f"c{place}": [1, 1, 1] for place in range(13)} | {"age": [1, 2, 3], "ill": list("xyz")})
    names = [name for name in frame.columns if name.startswith("c")]
    told = repeated_identifiers(Source.of(frame), schema(identifiers=names))
    assert told is not None
    assert " and 3 more. " in told
    monkeypatch.setitem(repeated_identifiers.__globals__, "MOST_READ", 2)
    assert "in the first 2 rows" in str(repeated_identifiers(Source.of(frame), schema(identifiers=names)))


def test_no_more_than_fifty_identifiers_are_looked_at() -> None:
    """Those of them that are in the table; of twenty thousand, all would take half a minute."""
    frame = pl.DataFrame({f"c{place}": [1, 1] for place in range(60)} | {"age": [1, 2], "ill": list("xy")})
    looked_at: list[str] = []

    def column(name: str) -> pl.Series:
        looked_at.append(name)
        return frame.get_column(name)

    asked = schema(identifiers=["absent", *(name for name in frame.columns if name.startswith("c"))])
    assert " and 40 more. " in str(repeated_identifiers(replace(Source.of(frame), column=column), asked))
    assert looked_at == [f"c{place}" for place in range(50)]


def test_identifiers_of_any_type_do_no_harm() -> None:
    frame = pl.DataFrame({"card": [[1], [1]], "age": [20, 30], "ill": ["x", "y"]})
    assert tclose.assess(frame, schema(identifiers=["card"])).notes == ()


def test_a_unit_of_lists() -> None:
    frame = visits([20, 20, 20, 30], [["a"], ["a"], ["b", "a"], ["a", "b"]])
    report = tclose.assess(frame, schema(unit="patient"))
    assert (report.k, report.persons) == (1, 3)
    assert report.measured.k == 1
    with pytest.raises(TableError, match="1 of 4 rows have none"):
        tclose.assess(visits([20, 20, 20, 30], [["a"], ["a"], None, ["a", "b"]]), schema(unit="patient"))


@pytest.mark.parametrize(
    "values",
    [
        [1.5, 1.5, 2.25],
        [date(2024, 1, 1), date(2024, 1, 1), date(2024, 1, 2)],
        ["1,5", "1,5", "2"],
        ["2024-01-01T08:00", "2024-01-01T08:00", "2024-01-02T09:00"],
        ["31.12.2024", "31.12.2024", "1.1.2025"],
        ["08:30", "08:30", "09:00"],
    ],
)
def test_dates_and_decimals_name_nobody(values: list[Any]) -> None:
    frame = pl.DataFrame({"x": values, "card": ["1.a", "1.a", "7"], "age": [1, 2, 3]})
    assert repeated_identifiers(Source.of(frame), schema(identifiers=["x"])) is None
    assert repeated_identifiers(Source.of(frame), schema(identifiers=["card"])) is not None
