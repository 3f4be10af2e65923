"""The Adult table as the ARX example set has it, from the shared data beside the repository or in TCLOSE_DATA."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.results import ROOT
from tclose import Schema

DATA = Path(os.environ.get("TCLOSE_DATA", ROOT.parent / "shared" / "data"))
HIERARCHIES = DATA / "hierarchies" / "adult"
AGE = {"kind": "numeric", "hierarchy": {"build": "intervals", "widths": [5, 10, 20]}}
TABLE = DATA / "adult.csv.gz"
N_TRAINING = 32_561
WITH_MISSING = ("workclass", "occupation", "native-country")
COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
SCHOOL_ORDER = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
    "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip


SCHOOL_YEARS = {name: place + 1 for place, name in enumerate(SCHOOL_ORDER)}  # what Adult calls education-num


def is_there() -> bool:
    return TABLE.is_file()


def training_rows() -> pl.DataFrame:
    """The complete rows of the training part, nine columns: 30,162 rows."""
    table = pl.read_csv(TABLE, columns=list(COLUMNS), n_rows=N_TRAINING).select(COLUMNS)
    return table.filter(pl.all_horizontal(pl.col(name) != "?" for name in WITH_MISSING))


def keys(sensitive: str, distance: dict[str, Any], k: int) -> dict[str, Any]:
    """One of the nine columns sensitive, the others quasi-identifiers: age by number, the rest by hierarchy."""
    quasi = {
        name: AGE if name == "age" else {"kind": "categorical", "hierarchy": f"{name}.csv"}
        for name in COLUMNS
        if name != sensitive
    }
    return {"k": k, "quasi": quasi, "sensitive": {sensitive: distance}}


def schema(sensitive: str, distance: dict[str, Any], k: int) -> Schema:
    """The schema of these keys."""
    return Schema.from_dict(keys(sensitive, distance, k), base=HIERARCHIES)
