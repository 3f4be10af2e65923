"""The tables that methods are compared on, by name; TCLOSE_TABLES, names with commas between, chooses some."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

import tclose
from benchmarks import adult
from benchmarks.results import ROOT
from tclose.algorithms import REGISTRY, Algorithm, find
from tclose.algorithms.capable import check_capable
from tclose.schema.schema import Schema

K = 6
CENSUS_ROWS = HOSPITAL_ROWS = 100_000
SYNTHETIC = ("census", "hospital")  # the others are read from the shared data


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, and the schema they get once a t is chosen.

    Attributes
    ----------
    keys
        Of the schema; every sensitive attribute gets the t of the run, and `K` is its k.
    base
        The folder of the hierarchies.
    """

    name: str
    title: str
    frame: pl.DataFrame
    keys: dict[str, Any]
    base: Path

    def schema(self, t: str) -> Schema:
        sensitive = {column: {**asked, "t": t} for column, asked in self.keys["sensitive"].items()}
        return Schema.from_dict({**self.keys, "k": K, "sensitive": sensitive}, base=self.base)

    def head(self, n: int) -> Table:
        return replace(self, frame=self.frame.head(n))


def chosen(console: Console, names: tuple[str, ...]) -> Iterator[Table]:
    """The tables of these names, as far as TCLOSE_TABLES wants them and their data is there; read one by one."""
    wanted = os.environ.get("TCLOSE_TABLES")
    if wanted is not None:
        unknown = set(wanted.split(",")) - {*TABLES, "none"}
        if unknown:
            raise SystemExit(
                f"TCLOSE_TABLES: there is no {', '.join(sorted(unknown))}. Known: {', '.join(TABLES)}, none"
            )
    for name in names:
        if wanted is not None and name not in wanted.split(","):
            continue
        if name not in SYNTHETIC and not adult.is_there():
            console.print(f"{name} is not measured: the shared data is not there.")
            continue
        yield TABLES[name]()


def can(method: str, schema: Schema) -> bool:
    """Whether a registered method takes such a schema, and a table of any size."""
    try:
        check_capable(find(method), schema)
    except tclose.SchemaError:
        return False
    return not REGISTRY[method].capabilities.small_only


def measure(table: Table, t: str, method: str | Algorithm, seconds: float | None = None) -> dict[str, Any]:
    """What one run loses and how long it takes; `largest` is the largest distance of a class."""
    schema = table.schema(t)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        release = tclose.anonymize(table.frame, schema, method=method, seed=0, time=seconds, allow_single_class=True)
    in_all = time.perf_counter() - started
    return {
        "loss": release.loss,
        "classes": release.measured.classes,
        "k": release.measured.k,
        "largest": float(max(release.measured.t.values())),
        "seconds_partition": release.record.seconds["partition"],
        "seconds": in_all,
    }


def census() -> Table:
    frame, schema = tclose.datasets.census(CENSUS_ROWS, seed=1)
    return Table("census", "synthetic census, salary ordered", frame, schema.as_dict(), ROOT)


def hospital() -> Table:
    frame, schema = tclose.datasets.hospital(HOSPITAL_ROWS, seed=1)
    return Table("hospital", "synthetic hospital, eight sensitive attributes", frame, schema.as_dict(), ROOT)


def _adult(name: str, title: str, sensitive: str, distance: dict[str, Any], without: str | None = None) -> Table:
    keys = adult.keys(sensitive, distance, K)
    keys["quasi"].pop(without, None)
    columns = [*keys["quasi"], sensitive]
    return Table(name, f"Adult, {title}", adult.training_rows().select(columns), keys, adult.HIERARCHIES)


def _nist() -> Table:
    trees = ("MSP", "RAC1P", "EDU", "PUMA")
    columns = ("AGEP", "SEX", *trees, "HOUSING_TYPE", "PINCP")
    frame = pl.read_csv(adult.DATA / "nist_acs_2019.csv.gz", columns=list(columns), infer_schema=False).select(columns)
    quasi: dict[str, Any] = {name: {"kind": "categorical", "hierarchy": f"{name}.csv"} for name in trees}
    quasi |= {name: {"kind": "categorical"} for name in ("SEX", "HOUSING_TYPE")}
    quasi["AGEP"] = adult.AGE
    keys = {
        "missing": "category",
        "missing_values": ["N"],
        "quasi": quasi,
        "sensitive": {"PINCP": {"distance": "ordered", "bins": 45}},
    }
    return Table("nist", "NIST ACS 2019, income in 45 bins", frame, keys, adult.DATA / "hierarchies" / "nist_acs_2019")


def _diabetes() -> Table:
    """Rows are encounters, not patients: what is promised holds for encounters."""
    plain = ("race", "gender", "admission_type_id", "medical_specialty")
    columns = (*plain, "age", "diag_1")
    frame = pl.read_csv(adult.DATA / "diabetes_130.csv.gz", columns=list(columns), infer_schema=False).select(columns)
    quasi: dict[str, Any] = {name: {"kind": "categorical"} for name in plain}
    keys = {
        "missing": "category",
        "missing_values": ["?"],
        "quasi": quasi | {"age": {"kind": "categorical", "hierarchy": "age.csv"}},
        "sensitive": {"diag_1": {"distance": "hierarchical", "hierarchy": "diag_1.csv"}},
    }
    return Table(
        "diabetes", "diabetes encounters, ICD-9 by hierarchy", frame, keys, adult.DATA / "hierarchies" / "diabetes_130"
    )


def _support() -> Table:
    """Seriously ill patients: age in whole years, what they were ill with by its hierarchy."""
    plain = ("sex", "race")
    columns = (*plain, "income", "age", "edu", "dzgroup")
    frame = pl.read_csv(adult.DATA / "support2.csv.gz", columns=list(columns), infer_schema=False).select(columns)
    frame = frame.with_columns(pl.col("age").cast(pl.Float64).floor().cast(pl.Int64))
    quasi: dict[str, Any] = {name: {"kind": "categorical"} for name in plain}
    quasi |= {
        "income": {"kind": "categorical", "hierarchy": "income.csv"},
        "age": adult.AGE,
        "edu": {"kind": "numeric"},
    }
    keys = {
        "missing": "category",
        "quasi": quasi,
        "sensitive": {"dzgroup": {"distance": "hierarchical", "hierarchy": "dzgroup.csv"}},
    }
    title = "SUPPORT patients, disease group by hierarchy"
    return Table("support2", title, frame, keys, adult.DATA / "hierarchies" / "support2")


BY_TREE = {"distance": "hierarchical", "hierarchy": "occupation.csv"}
SCHOOL = {"distance": "ordered", "order": list(adult.SCHOOL_ORDER)}
TABLES: dict[str, Callable[[], Table]] = {
    "adult-occupation": lambda: _adult("adult-occupation", "occupation equal", "occupation", {"distance": "equal"}),
    "adult-education": lambda: _adult("adult-education", "education ordered", "education", SCHOOL),
    "adult-salary": lambda: _adult("adult-salary", "salary-class equal", "salary-class", {"distance": "equal"}),
    "adult-tree": lambda: _adult("adult-tree", "occupation by hierarchy", "occupation", BY_TREE),
    "adult-seven": lambda: _adult(
        "adult-seven", "seven quasi-identifiers, occupation by hierarchy", "occupation", BY_TREE, "native-country"
    ),
    "nist": _nist,
    "census": census,
    "hospital": hospital,
    "diabetes": _diabetes,
    "support2": _support,
}
