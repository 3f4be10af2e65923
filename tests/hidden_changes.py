"""Pairs of originals with one release: cells change within what is released of them, the classes stay."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

import tclose
from tclose.algorithms.capabilities import EVERY_GUARANTEE, IN_PERSONS, Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.release.certificate import certificate_path
from tclose.release.recode import recode
from tclose.release.writing import write_frame
from tclose.table.coded import as_text
from tclose.table.encode import EncodedTable, encode_rows
from tclose.table.partition import Partition
from tclose.table.row_selection import select_rows
from tclose.table.source import read
from tests.fuzz.cases import Case
from tests.fuzz.forms import make_form
from tests.fuzz.judged import quiet
from tests.fuzz.meaning import Cell, label

SUFFIXES = (".csv", ".csv.gz", ".parquet")


@dataclass(frozen=True)
class Forced:
    """A method that forms the classes it was given; what it says of its run differs from run to run."""

    name: ClassVar[str] = "forced"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="",
        paper="",
        needs="",
        guarantees=EVERY_GUARANTEE | IN_PERSONS,
        keeps=frozenset({"weight", "finest", "coarsest"}),
    )

    def __init__(self, labels: NDArray[np.int64]) -> None:
        object.__setattr__(self, "_labels", labels)

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        labels: NDArray[np.int64] = self._labels  # type: ignore[attr-defined]
        if len(labels) != len(table):
            raise tclose.InfeasibleError("Other rows were dropped.")
        return Partition.of(labels, facts={"optimal": True, "loss_at_least": table.loss(labels), "run": rng.random()})


def release_case(case: Case, form: str, folder: Path, method: Any, seed: int = 0) -> tclose.Release | None:
    """The release of a case, or None where it is refused."""
    table = make_form(case, form, folder)
    if table is None:
        return None
    with quiet():
        try:
            schema = tclose.Schema.from_dict(case.schema)
            return tclose.anonymize(table, schema, method=method, seed=seed, time=20, allow_single_class=True)
        except tclose.TcloseError:
            return None


def forced_frame(case: Case, form: str, folder: Path, labels: NDArray[np.int64]) -> pl.DataFrame | None:
    """What would be released of a case with these classes, without verifying anything; None where it is refused."""
    schema = tclose.Schema.from_dict(case.schema)
    try:
        source = read(make_form(case, form, folder), schema.delimiter)
        columns, rows = select_rows(source, schema)
        if len(rows) != len(labels):
            return None
        table = encode_rows(source, columns, rows, schema)
        return recode(table, Partition.of(labels), source, columns, schema)
    except tclose.TcloseError:
        return None


def written_bytes(frame: pl.DataFrame, schema: tclose.Schema, folder: Path) -> dict[str, bytes]:
    """A released frame as it is written, byte by byte, its rows as they stand; nothing is read back."""
    found = {}
    for suffix in (".csv", ".parquet"):
        path = folder / f"frame{suffix}"
        write_frame(frame, path, suffix, schema)
        found[suffix] = path.read_bytes()
    return found


def loosened(case: Case) -> Case:
    """The same table where k is 2 and any t and most caps will do, so that it falls into more classes than one."""
    schema = copy.deepcopy(case.schema) | {"k": 2}
    for keys in (*schema.get("sensitive", {}).values(), *schema.get("joint", {}).values()):
        if "t" in keys:
            keys["t"] = 1
        keys |= {key: most for key, most in (("rise", 1), ("beta", 100)) if key in keys}
    return replace(case, schema=schema)


def change_hidden(case: Case, classes: NDArray[np.int64], draw: random.Random) -> Case:
    """Another original: a few quasi-identifiers become other values, mostly such as their class has."""
    columns = list(case.columns)
    names = [place for place, column in enumerate(columns) if column.name in case.schema["quasi"]]
    rows = np.flatnonzero(classes >= 0).tolist()
    for _ in range(draw.choice([1, 1, 2, 4])):
        place, row = draw.choice(names), draw.choice(rows)
        cells = list(columns[place].cells)
        same = [cells[other] for other in np.flatnonzero(classes == classes[row]).tolist()]
        one, two = draw.choice(same), draw.choice(same if draw.random() < 0.7 else cells)
        cells[row] = draw.choice([one, two, between(one, two), between(one, two), beyond(one, draw), beyond(one, draw)])
        columns[place] = replace(columns[place], cells=tuple(cells))
    return replace(case, columns=tuple(columns))


def change_type(case: Case, classes: NDArray[np.int64], draw: random.Random) -> Case:
    """Another original: one number of a column of whole ones has a fraction, so that the column has another type."""
    quasi = case.schema["quasi"]
    places = [
        place
        for place, column in enumerate(case.columns)
        if column.name in quasi and column.type == "int" and all(_is_short(cell) for cell in column.cells)
    ]
    if not places:
        return case
    place = draw.choice(places)
    column, kind = case.columns[place], draw.choice(["float", "decimal"])
    exact: Any = float if kind == "float" else Decimal
    cells: list[Any] = [None if cell is None else exact(cell) for cell in column.cells]
    changed = draw.choice(np.flatnonzero(classes >= 0).tolist())
    if cells[changed] is None:
        return case
    cells[changed] += exact(draw.choice(["0.5", "-0.5", "0.25", "-0.25"]))
    columns = list(case.columns)
    columns[place] = replace(column, type=kind, cells=tuple(cells))
    return replace(case, columns=tuple(columns))


def _is_short(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, int) and abs(cell) < 2**40)


def between(one: Cell, two: Cell) -> Cell:
    """A value that lies between two, or is made of both; the first where there is none."""
    if isinstance(one, bool) or one is None or two is None or type(one) is not type(two) or one != one or two != two:
        return one
    if isinstance(one, int) and isinstance(two, int):
        return (one + two) // 2
    if isinstance(one, float) and isinstance(two, float):
        return float(Fraction(one) / 2 + Fraction(two) / 2)
    if isinstance(one, Decimal):
        return one  # another scale would be another type
    if isinstance(one, datetime) or isinstance(two, datetime):
        return one
    if isinstance(one, date) and isinstance(two, date):
        return one + timedelta(days=(two - one).days // 2)
    if isinstance(one, str) and isinstance(two, str) and len(one) == len(two):
        return one[:-1] + two[-1:]
    return one


def beyond(one: Cell, draw: random.Random) -> Cell:
    """A value that the table may not have: it is hidden by a star, in a tail or under an inner node."""
    if isinstance(one, bool) or one is None or one != one or isinstance(one, Decimal | datetime):
        return one
    if isinstance(one, int):
        return one + draw.choice([-1, 1, 97]) if abs(one) < 2**60 else one
    if isinstance(one, float):
        return one * draw.choice([0.5, 2.0]) if abs(one) < 1e6 else one
    if isinstance(one, date):
        return min(max(one, date(2, 1, 1)), date(9998, 1, 1)) + timedelta(days=draw.choice([-1, 1, 40, 300]))
    if isinstance(one, timedelta):
        return one + timedelta(hours=draw.choice([-1, 1, 100])) if abs(one) < timedelta(days=999) else one
    kept = one[: draw.choice([0, len(one) - 1, len(one) - 1])] if one else ""
    return kept + "".join(draw.choice(one + "07") for _ in range(len(one) - len(kept)))


def released_rows(release: tclose.Release) -> list[tuple[str, ...]]:
    """What a reader of the release sees, in the order of the input."""
    return shown(release._frame)


def shown(frame: pl.DataFrame) -> list[tuple[str, ...]]:
    """A frame as labels, whatever its types."""
    return [tuple("" if cell is None else label(cell) for cell in row) for row in as_text(frame).iter_rows()]


def published(release: tclose.Release, folder: Path, suffixes: tuple[str, ...] = SUFFIXES) -> dict[str, bytes]:
    """All that is published of a release, byte by byte; its rows are shuffled in one order, whatever the release."""
    order = np.random.default_rng(5).permutation(len(release._frame))
    release.__dict__["_shuffled"] = release._frame[order]
    found = {"certificate": repr(release.certificate.fields).encode()}
    for suffix in suffixes:
        path = folder / f"release{suffix}"
        release.write(path)
        found |= {suffix: path.read_bytes(), f"{suffix} certificate": certificate_path(path).read_bytes()}
    if suffixes:
        page = tclose.public_report_html(path, release.schema, day=date(2026, 1, 1))
        found["report"] = page.encode()
    return found
