"""What a page takes for granted: the reader's own files and tables, here small ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

import tclose
from tclose.schema.schema import Schema
from tests.docs.page_runs import run_command

ROWS = 600


def patients(n: int = ROWS) -> tuple[pl.DataFrame, Schema]:
    """A small hospital table with one sensitive attribute, and its schema."""
    frame, made = tclose.datasets.hospital(n, seed=1)
    frame = frame.select("patient_id", "age", "sex", "zip", "diagnosis")
    keys = made.as_dict()
    quasi = {name: keys["quasi"][name] for name in ("age", "sex", "zip")}
    sensitive = {"diagnosis": keys["sensitive"]["diagnosis"]}
    return frame, Schema.from_dict({"k": 5, "identifiers": ["patient_id"], "quasi": quasi, "sensitive": sensitive})


def files(folder: Path) -> None:
    """The files that commands of the pages name."""
    frame, schema = patients()
    frame.write_csv(folder / "patients.csv")
    frame.write_parquet(folder / "patients.parquet")
    frame.head(16).write_csv(folder / "sample.csv")
    frame.write_ndjson(folder / "in.jsonl")
    schema.save(folder / "schema.toml")


def files_for_commands(folder: Path) -> None:
    """What the examples of all commands name."""
    files(folder)
    frame, schema = patients()
    release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    release.write(folder / "release.csv", keep_order=True)
    release.write(folder / "other-tool.csv")
    (folder / "other-tool.csv.certificate.json").unlink()
    labs = frame.select("age", patient="patient_id", lab_iron=pl.int_range(ROWS) % 7, lab_zinc=pl.int_range(ROWS) % 5)
    labs.write_csv(folder / "labs.csv")
    (folder / "patients").mkdir()
    frame.write_parquet(folder / "patients" / "part-0.parquet")
    _stream(folder)


def begin_history(folder: Path) -> None:
    """A table of persons, and a history that knows its first release."""
    _, schema = patients()
    keys = {key: value for key, value in schema.as_dict().items() if key != "identifiers"}
    Schema.from_dict({**keys, "unit": "patient_id"}).save(folder / "schema.toml")
    first = "tclose anonymize patients.csv -s schema.toml --history history -o release-1.csv --method mondrian"
    code, said = run_command(first, folder)
    assert code == 0, said


def _stream(folder: Path) -> None:
    """A stream that has run, for whoever checks it."""
    told = "--checkpoint state --certificates certificates.jsonl --ledger ledger.jsonl --rejected rejected.jsonl"
    command = f"tclose stream -s schema.toml --window 20000 --step 5000 --input in.jsonl --output out.jsonl {told}"
    code, said = run_command(command, folder)
    assert code == 0, said


def for_tables(folder: Path) -> dict[str, Any]:
    """A table, its schema, a release, and the files of the reader."""
    files(folder)
    frame, schema = patients()
    return {"tclose": tclose, "df": frame, "schema": schema, "release": tclose.anonymize(frame, schema, seed=1)}


def for_commands(folder: Path) -> dict[str, Any]:
    """The files of the reader; no schema yet."""
    files(folder)
    (folder / "schema.toml").unlink()
    return {}


def for_streams(folder: Path) -> dict[str, Any]:
    """Rows that come in batches, and somewhere to put what comes out."""
    files_for_commands(folder)
    frame, schema = patients()
    done: list[Any] = []
    batches = [frame.head(300), frame.tail(300)]
    return {
        "schema": schema,
        "batches": batches,
        "publish": lambda *released: done.append(released),
        "note": lambda *rejected: done.append(rejected),
        "save": lambda *saved: done.append(saved),
    }


def for_utility(folder: Path) -> dict[str, Any]:
    """A table with a label, a release of it, and one of another tool."""
    given = for_tables(folder)
    keys = given["schema"].as_dict()
    frame = given["df"].with_columns(income=pl.int_range(ROWS) % 2)
    schema = Schema.from_dict({**keys, "keep": ["income"], "keep_unchecked": True})
    frame.write_csv(folder / "adult.csv")
    release = tclose.anonymize(frame, schema, seed=1)
    release.write(folder / "arx.csv", keep_order=True)
    return {**given, "df": frame, "schema": schema, "release": release}


def for_readers(folder: Path) -> dict[str, Any]:
    """The files that a reader of Start has."""
    files(folder)
    return {}


GIVEN = {  # by page, what it takes for granted; the others take nothing
    "README.md": for_commands,
    "choosing.md": for_tables,
    "first-schema.md": for_commands,
    "how-to/build-hierarchies.md": for_readers,
    "how-to/choose-quasi-identifiers.md": for_readers,
    "how-to/choose-t.md": for_readers,
    "how-to/sign-and-defend.md": for_readers,
    "inputs.md": for_tables,
    "methods.md": for_tables,
    "streams.md": for_streams,
    "utility.md": for_utility,
}
