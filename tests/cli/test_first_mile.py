"""The first mile: tables as people have them, the flags a person would give, and a release without editing anything.

Where a table cannot be released so, one sentence says what to do, and doing that works.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.shared_data import shared

pytestmark = pytest.mark.filterwarnings("always")
N = 240
DROP = ("--rest", "drop")


@dataclass(frozen=True)
class Kind:
    """A table, the flags for it, and what to do if the first try ends with a sentence.

    Attributes
    ----------
    make
        The columns beside or instead of those that every table has.
    flags
        Of `init`.
    said
        What the sentence says; empty if there is none.
    then
        The flags that then work.
    fix
        What is done to the table before.
    parquet
        Whether its types would get lost in a CSV file.
    """

    make: Callable[[np.random.Generator], dict[str, Any]]
    flags: tuple[str, ...]
    said: str = ""
    then: tuple[str, ...] = ()
    fix: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame
    parquet: bool = False


def plain(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "age": rng.integers(20, 80, N),
        "zip": [f"{code:05}" for code in rng.choice([2138, 2139, 10001, 10002], N)],
        "ill": rng.choice(["flu", "cold", "rash"], N),
    }


def with_more(**columns: Callable[[np.random.Generator], Any]) -> Callable[[np.random.Generator], dict[str, Any]]:
    return lambda rng: {**plain(rng), **{name: make(rng) for name, make in columns.items()}}


def renamed(**names: str) -> Callable[[np.random.Generator], dict[str, Any]]:
    return lambda rng: {names.get(name, name): values for name, values in plain(rng).items()}


def spelled(spelling: str) -> Callable[[np.random.Generator], dict[str, Any]]:
    return with_more(dose=lambda rng: [spelling if row % 11 == 0 else str(row % 30) for row in range(N)])


USUAL = ("--quasi", "age,zip", "--sensitive", "ill", *DROP)
KINDS: dict[str, Kind] = {
    "plain": Kind(plain, ("--quasi", "age,zip", "--sensitive", "ill")),
    "names and e-mail addresses": Kind(
        with_more(
            name=lambda rng: [f"N{row}" for row in range(N)], mail=lambda rng: [f"{row}@x.org" for row in range(N)]
        ),
        USUAL,
    ),
    "a row number": Kind(with_more(row=lambda rng: list(range(N))), USUAL),
    "persons with several rows": Kind(
        with_more(patient_id=lambda rng: [row // 2 for row in range(N)]),
        (*USUAL, "--unit", "patient_id"),
        'Set unit_rows = "one"',
        (*USUAL, "--unit", "patient_id"),
        lambda frame: frame.unique("patient_id", keep="first"),
    ),
    "one row a person": Kind(
        with_more(patient_id=lambda rng: rng.permutation(N)), (*USUAL, "--unit", "patient_id", "--k", "8")
    ),
    "a question mark for missing": Kind(spelled("?"), ("--quasi", "age,dose", "--sensitive", "ill", *DROP)),
    "N for not applicable": Kind(spelled("N"), ("--quasi", "age,dose", "--sensitive", "ill", *DROP)),
    "NA for missing": Kind(spelled("NA"), ("--quasi", "age", "--sensitive", "dose", *DROP)),
    "k.A. for missing": Kind(spelled("k.A."), ("--quasi", "age,dose", "--sensitive", "ill", *DROP)),
    "empty cells": Kind(spelled(""), ("--quasi", "age,dose", "--sensitive", "ill", *DROP)),
    "rows with missing values are dropped": Kind(
        spelled(""), ("--quasi", "age,dose", "--sensitive", "ill", *DROP, "--missing", "drop")
    ),
    "nominal codes": Kind(
        with_more(cp=lambda rng: rng.integers(1, 5, N), sex=lambda rng: rng.integers(0, 2, N)),
        ("--quasi", "age,sex", "--sensitive", "cp", *DROP),
    ),
    "measurements": Kind(
        with_more(chol=lambda rng: rng.normal(240, 50, N).round().astype(int), ph=lambda rng: rng.normal(7, 0.1, N)),
        ("--quasi", "age,zip", "--sensitive", "chol,ph", *DROP),
    ),
    "money": Kind(
        with_more(salary=lambda rng: rng.exponential(30_000, N).round(2)),
        ("--quasi", "age,zip", "--sensitive", "salary", *DROP),
    ),
    "dates": Kind(
        with_more(dob=lambda rng: [date(1950, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 20_000, N)]),
        ("--quasi", "age,dob", "--sensitive", "ill", *DROP),
    ),
    "a date that is sensitive": Kind(
        with_more(seen=lambda rng: [date(2024, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 300, N)]),
        ("--quasi", "age,zip", "--sensitive", "seen", *DROP),
    ),
    "timestamps": Kind(
        with_more(
            seen=lambda rng: [datetime(2024, 1, 1, 8) + timedelta(hours=int(h)) for h in rng.integers(0, 9000, N)]
        ),
        ("--quasi", "age,seen", "--sensitive", "ill", *DROP),
    ),
    "times of day": Kind(
        with_more(at=lambda rng: [time(int(hour), 30) for hour in rng.integers(8, 12, N)]),
        ("--quasi", "age,at", "--sensitive", "ill", *DROP),
        parquet=True,
    ),
    "durations": Kind(
        with_more(stay=lambda rng: [timedelta(days=int(days)) for days in rng.integers(0, 9, N)]),
        ("--quasi", "age,stay", "--sensitive", "ill", *DROP),
        parquet=True,
    ),
    "sensitive durations": Kind(
        with_more(stay=lambda rng: [timedelta(hours=int(hours)) for hours in rng.integers(0, 9, N)]),
        ("--quasi", "age", "--sensitive", "stay", *DROP),
        parquet=True,
    ),
    "infinite numbers": Kind(
        with_more(x=lambda rng: [float("inf") if row % 50 == 0 else row % 40 / 4 for row in range(N)]),
        ("--quasi", "age,x", "--sensitive", "ill", *DROP),
        "Column 'x' cannot be quasi: some of its numbers are infinite",
        USUAL,
        parquet=True,
    ),
    "large unsigned integers": Kind(
        with_more(big=lambda rng: pl.Series([2**64 - 1 - int(x) for x in rng.integers(0, 9, N)], dtype=pl.UInt64)),
        ("--quasi", "age,big", "--sensitive", "ill", *DROP),
        parquet=True,
    ),
    "integers of 128 bits": Kind(
        with_more(big=lambda rng: pl.Series([2**100 + int(x) for x in rng.integers(0, 9, N)], dtype=pl.UInt128)),
        ("--quasi", "age,zip", "--sensitive", "big", *DROP),
        parquet=True,
    ),
    "decimals": Kind(
        with_more(price=lambda rng: [Decimal(int(x)) / 100 for x in rng.integers(0, 9999, N)]),
        ("--quasi", "age,zip", "--sensitive", "price", *DROP),
        parquet=True,
    ),
    "booleans": Kind(
        with_more(smoker=lambda rng: rng.random(N) < 0.3), ("--quasi", "age,zip", "--sensitive", "smoker", *DROP)
    ),
    "lists": Kind(with_more(codes=lambda rng: [[1, 2]] * N), USUAL, parquet=True),
    "a column without values": Kind(
        with_more(nothing=lambda rng: [None] * N), ("--quasi", "age,zip,nothing", "--sensitive", "ill")
    ),
    "a constant column": Kind(
        with_more(site=lambda rng: ["A"] * N), ("--quasi", "age,zip", "--sensitive", "ill", "--keep", "site")
    ),
    "free text": Kind(
        with_more(
            note=lambda rng: [f"Seen on day {row}, will come back in two weeks for a check." for row in range(N)]
        ),
        ("--quasi", "age,zip", "--sensitive", "ill"),
    ),
    "kept columns that single out": Kind(
        with_more(branch=lambda rng: rng.integers(0, 40, N)),
        ("--quasi", "age,zip", "--sensitive", "ill", "--keep", "branch"),
        "Make the columns of `keep` quasi-identifiers",
        ("--quasi", "age,zip,branch", "--sensitive", "ill"),
    ),
    "German names": Kind(
        lambda rng: {
            "Vorname": [f"V{row}" for row in range(N)],
            "Alter": rng.integers(20, 80, N),
            "PLZ": rng.choice([10115, 10117, 80331], N),
            "Geschlecht": rng.choice(["m", "w"], N),
            "Diagnose": rng.choice(["A", "B"], N),
        },
        ("--quasi", "Alter,PLZ,Geschlecht", "--sensitive", "Diagnose", *DROP),
    ),
    "French names": Kind(
        lambda rng: {
            "prénom": [f"P{row}" for row in range(N)],
            "âge": rng.integers(20, 80, N),
            "code postal": rng.choice([75001, 75002, 69001], N),
            "sexe": rng.choice(["H", "F"], N),
            "salaire": rng.integers(1000, 5000, N),
        },
        ("--quasi", "âge,code postal,sexe", "--sensitive", "salaire", *DROP),
    ),
    "Spanish names": Kind(
        lambda rng: {
            "nombre": [f"P{row}" for row in range(N)],
            "año de nacimiento": rng.integers(1940, 2005, N),
            "código postal": rng.choice(["08001", "08002", "28001"], N),
            "diagnóstico": rng.choice(["A", "B"], N),
        },
        ("--quasi", "año de nacimiento,código postal", "--sensitive", "diagnóstico", *DROP),
    ),
    "names with commas, quotes and line ends": Kind(
        renamed(age='age, "in" years', zip="zip\ncode", ill="ill's"),
        ("--quasi", 'age, "in" years', "--quasi", "zip\ncode", "--sensitive", "ill's"),
    ),
    "names with dots, blanks and brackets": Kind(
        renamed(age="a.b", zip=" zip ", ill="[x] = #"), ("--quasi", "a.b", "--quasi", " zip ", "--sensitive", "[x] = #")
    ),
    "a star in a name": Kind(
        lambda rng: {**renamed(age="a*e")(rng), "ace": rng.integers(0, 9, N)},
        ("--quasi", "a*e", "--sensitive", "ill", *DROP),
    ),
    "three hundred columns": Kind(
        lambda rng: {**plain(rng), **{f"lab_{number:03}": rng.normal(size=N).round(2) for number in range(300)}},
        ("--quasi", "age,zip", "--sensitive", "lab_007,ill", *DROP),
    ),
    "all columns by pattern": Kind(
        lambda rng: {**plain(rng), **{f"lab_{number}": rng.choice(["-1", "0", "1"], N) for number in range(6)}},
        ("--quasi", "age", "--sensitive", "lab_*", "--identifiers", "*"),
    ),
    "a misspelled name": Kind(plain, ("--quasi", "agee,zip", "--sensitive", "ill"), "Did you mean 'age'?", USUAL),
    "no quasi-identifier": Kind(plain, ("--sensitive", "ill", *DROP), "Name at least one column", USUAL),
    "hierarchies": Kind(
        with_more(
            job=lambda rng: rng.choice(["cook", "smith", "monk", "spy", "sage"], N, p=[0.5, 0.4, 0.04, 0.03, 0.03])
        ),
        ("--quasi", "age,job", "--sensitive", "ill", *DROP, "--hierarchies", "trees"),
    ),
}


def released(run: Callable[..., tuple[int, str]], data: str, flags: tuple[str, ...]) -> tuple[int, str]:
    """`init` and `anonymize`, nothing in between: the first that fails, or how the second ended."""
    code, said = run("init", data, *flags, "-o", "schema.toml", "--overwrite")
    if code:
        return code, said
    return run("anonymize", data, "-s", "schema.toml", "-o", "release.csv", "--method", "mondrian")


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.everyday(8)
def test_from_a_table_to_a_release(name: str, run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    kind = KINDS[name]
    frame = pl.DataFrame(kind.make(np.random.default_rng(8)))
    data = "data.parquet" if kind.parquet else "data.csv"
    write = pl.DataFrame.write_parquet if kind.parquet else pl.DataFrame.write_csv
    write(frame, tmp_path / data)
    code, said = released(run, data, kind.flags)
    if kind.said:
        assert code in (2, 3, 4)
        assert kind.said in said
        write(kind.fix(frame), tmp_path / data)
        code, said = released(run, data, kind.then)
    assert code == 0, said
    assert run("verify", "release.csv", "-s", "schema.toml") == (0, "")


def test_there_are_enough_kinds() -> None:
    assert len(KINDS) >= 25


REAL = {  # the flags a person would give who knows the table
    "heart_disease.csv": ("--quasi", "site,age,sex", "--sensitive", "chol,target", *DROP),
    "hcv.csv": ("--quasi", "Age,Sex", "--sensitive", "Category,CHOL", *DROP),
    "fars_sample.csv": (
        "--quasi", "iage,irace,ideathmon,ideathday,isex,ihispanic,istatenum", "--sensitive", "iinjury",
    ),
    "support2.csv.gz": ("--quasi", "age,sex,race,edu,income", "--sensitive", "dzgroup,charges", *DROP),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
@pytest.mark.everyday(2)
def test_real_tables_need_no_editing(name: str, run: Callable[..., tuple[int, str]]) -> None:
    assert released(run, str(shared(name)), REAL[name])[0] == 0
