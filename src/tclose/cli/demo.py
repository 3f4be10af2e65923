"""The demonstration: a hospital's table, before and after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
from rich.console import Console

from tclose.cli.fitted_tables import print_table
from tclose.cli.terminal import console, shown
from tclose.datasets import hospital
from tclose.pipeline import anonymize, assess
from tclose.release.certificate import certificate_path
from tclose.schema.schema import Schema

SHOWN = ("patient_id", "age", "sex", "zip", "admission_date", "diagnosis", "charge")


def run(rows: int, folder: Path, seed: int, tell: Callable[[str, float | None, float | None], None]) -> None:
    """Make the table, anonymize it as a user would from its files, and show what happened."""
    terminal = console()
    folder.mkdir(parents=True, exist_ok=True)
    data, schema_path, output = folder / "hospital.csv", folder / "schema.toml", folder / "release.csv"
    tell("making a hospital table", None, None)
    frame, made = hospital(rows, seed)
    frame.write_csv(data)
    made.save(schema_path)
    schema = Schema.load(schema_path)
    before = assess(data, schema)
    release = anonymize(data, schema, seed=seed, progress=tell)
    tell("write", None, None)
    record = folder / "record.json"
    record.unlink(missing_ok=True)  # of an earlier demonstration with the same table
    release.write(output, record=record)
    after = release.measured
    original = pl.read_csv(data, infer_schema=False)
    released = release.aligned()
    chosen = [int(place) for place in range(0, len(original), max(len(original) // 5, 1))][:5]
    _print_rows(terminal, "Before: five of the rows", original[chosen])
    _print_rows(terminal, "After: the same five rows (the file itself is shuffled)", released[chosen])
    summary = [
        ["classes", f"{before.classes:,}", f"{after.classes:,}", ""],
        ["k, rows of the smallest class", str(before.k), str(after.k), f"at least {schema.k}"],
    ]
    for sensitive in schema.sensitive:
        name, asked = sensitive.column, f"at most {float(sensitive.t or 1):g}"
        summary.append([f"t, {name}", f"{float(before.t[name]):.3f}", f"{float(after.t[name]):.3f}", asked])
    summary.append(["loss of information", "0", f"{release.loss:.3f}", ""])
    terminal.print("[bold]What was reached[/bold]")
    print_table(terminal, ("", "before", "after", "promised"), summary)
    terminal.print("The release was verified before it was written, and read back and verified again.")
    for what, path in (
        ("the table", data),
        ("its schema", schema_path),
        ("the release", output),
        ("its certificate", certificate_path(output)),
        ("the record, not for release", record),
    ):
        terminal.print(f"  {path}  {what}", highlight=False)


def _print_rows(terminal: Console, title: str, frame: pl.DataFrame) -> None:
    columns = [name for name in SHOWN if name in frame.columns]
    rows = [["" if value is None else shown(str(value)) for value in row] for row in frame.select(columns).iter_rows()]
    terminal.print(f"[bold]{title}[/bold]")
    print_table(terminal, columns, rows, n_words=len(columns))
