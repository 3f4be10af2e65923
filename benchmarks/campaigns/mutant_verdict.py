"""What is wrong with a release that was written, by the fuzzer's judge: it shares no code with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import polars as pl

import tclose
from benchmarks.campaigns.corpus import suffix_of
from tests.fuzz.cases import Case
from tests.fuzz.forms import make_form, read_file
from tests.fuzz.judged import as_fractions, differences
from tests.fuzz.left_out import left_out_broken
from tests.fuzz.meaning import NoMeaning, Rows
from tests.fuzz.oracle import groups, judge, released_columns, remaining
from tests.fuzz.truth import lies
from tests.oracles.optimal_partition import Problem, prices_of, read_columns
from tests.oracles.published_loss import published_loss as published

ROUNDING = 1e-9


@dataclass(frozen=True)
class Wrong:
    """What is wrong, and whether it is the exact loss alone, which only whoever releases is told."""

    name: str
    what: str
    is_loss: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"


def differs(case: Case, folder: Path, right: Path, name: str) -> bool:
    """Whether a release, the table that Python shows of it, its loss or its certificate is another."""
    path = f"{name}{suffix_of(case)}"
    files = [f"{name}.told.json", path, f"{path}.certificate.json"]
    return any(_bytes(folder / file) != _bytes(right / file) for file in files)


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def wrong_with(case: Case, folder: Path, name: str) -> Wrong | None:
    """What is wrong with a release; None if nothing is, or nothing was released."""
    path = folder / f"{name}{suffix_of(case)}"
    if not path.exists():
        return None
    certificate = json.loads(path.with_name(f"{path.name}.certificate.json").read_text(encoding="utf-8"))
    rows = read_file(path, case.schema.get("delimiter", ","))
    said = json.loads((folder / f"{name}.told.json").read_text(encoding="utf-8"))
    could_be, gone = remaining(case.rows, case.schema), said["left_out"]
    kept = [case.rows[row] for row in could_be if row not in gone]
    left_out = [could_be.index(row) for row in gone]
    if broken := left_out_broken([case.rows[row] for row in could_be], left_out, case.schema):
        return Wrong(name, f"rows left out: {'; '.join(broken)}")
    try:
        if untrue := lies(kept, rows, case.schema):
            return Wrong(name, f"untrue: {len(untrue)} cells")
        truth = judge(rows, case.schema)
    except NoMeaning:
        return Wrong(name, "a cell means nothing")
    if not truth.holds:
        return Wrong(name, f"broken promise: {'; '.join(truth.broken)}")
    reached = certificate["reached"]
    told = differences(truth, reached["k"], as_fractions(reached), reached["l"])
    told += [f"{key} {certificate[key]}" for key in ("rows", "classes") if certificate[key] != getattr(truth, key)]
    by_column = {each: None if loss is None else float(loss) for each, loss in published(rows, case.schema).items()}
    if certificate["loss"]["columns"] != by_column:
        told.append(f"loss {certificate['loss']['columns']}")
    if told:
        return Wrong(name, f"certificate: {'; '.join(told)}")
    loss, real = said["loss"], None if gone else loss_of(case, rows, could_be)
    if real is not None and abs(loss - real) > ROUNDING:
        return Wrong(name, f"the loss is {real:.6f}, told as {loss:.6f}", is_loss=True)
    return None


def loss_of(case: Case, rows: Rows, could_be: list[int]) -> float | None:
    """The loss by its definition of a release of these rows; None where the slow oracle does not take the schema.

    Of categories it is that of the released cells, which may hide what all rows of a class have. Of all else it is what
    the classes need.
    """
    keys = case.schema["quasi"].values()
    if case.schema.get("decimal", ".") != "." or not all(_is_plain(each) for each in keys):
        return None
    if any(column.type not in ("int", "float", "text") for column in case.columns):
        return None
    frame, schema = make_form(case, "polars", Path()), tclose.Schema.from_dict(case.schema)
    assert isinstance(frame, pl.DataFrame)
    classes = groups(rows, [each for names in released_columns(case.schema).values() for each in names])
    by_cell = published(rows, case.schema) if schema.recode == "generalize" else {}
    weights = sum((quasi.weight for quasi in schema.quasi), Fraction(0))
    total = Fraction(0)
    try:
        problem = Problem.of(frame[could_be], schema)
        columns = read_columns(frame[could_be], schema)
        for quasi in schema.quasi:
            if quasi.kind == "categorical" and (shown := by_cell.get(quasi.column)) is not None:
                total += len(rows) * shown * quasi.weight / weights
                continue
            prices = list(prices_of(quasi, columns[quasi.column], schema))
            total += sum((len(each) * price(tuple(each)) for each in classes for price in prices), Fraction(0))
    except (ValueError, ArithmeticError, AssertionError, KeyError):
        return None
    return float(problem.loss(total))


def _is_plain(keys: dict[str, object]) -> bool:
    return (
        not {"bottom", "top", "format"} & {*keys}
        and (
            not isinstance(keys.get("hierarchy"), dict) or "build" not in keys["hierarchy"]  # type: ignore[operator]
        )
        and (keys["kind"] != "date" or "step" not in keys)
    )
