"""The contract every method is checked against; shipped, for people who add one.

from tclose.testing import AWKWARD, check_method

@pytest.mark.parametrize("case", AWKWARD, ids=lambda case: case.name)
def test_contract(case):
    check_method(MyMethod(), case)
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tclose.algorithms import Algorithm
from tclose.algorithms.capable import check_capable
from tclose.algorithms.requirement import Requirement
from tclose.datasets import census, hospital
from tclose.errors import InfeasibleError, SchemaError, SizeError, TableError
from tclose.release.recode import recode
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode, select_rows
from tclose.table.partition import Control, Partition
from tclose.table.source import Source, read
from tclose.verification.verify import verify

SMALL = 12  # rows that no method may find too many


@dataclass(frozen=True)
class Case:
    """An awkward table with its schema.

    Attributes
    ----------
    name
        What is awkward about it.
    make
        Gives the table and the schema.
    feasible
        Whether a partition exists; otherwise the method must raise InfeasibleError.
    readable
        Whether the table can be encoded at all; otherwise that must raise TableError.
    """

    name: str
    make: Callable[[], tuple[pl.DataFrame, Schema]]
    feasible: bool = True
    readable: bool = True


def check_method(method: Algorithm, case: Case) -> None:
    """Every promise of the contract, on one table.

    Each row in exactly one class; the release passes the verifier; inputs unchanged; the same
    seed gives the same classes; no column or row number is added; nothing is printed or warned.
    A method for small tables may refuse those of more than twelve rows, with SizeError.
    """
    frame, schema = case.make()
    if not _is_for(method, schema):
        return
    if not case.readable:
        _expect(TableError, lambda: encode(read(frame), schema))
        return
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    if not case.feasible:
        _expect(InfeasibleError, lambda: run(method, table, requirement))
        return
    if method.small_only and len(table) > SMALL:
        with contextlib.suppress(SizeError):
            _check_partition(method, case, table, requirement)
        return
    _check_partition(method, case, table, requirement)


def _check_partition(method: Algorithm, case: Case, table: EncodedTable, requirement: Requirement) -> None:
    frame, schema = case.make()
    before = [array.copy() for array in (*table.places, *table.codes)]
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as out:
        warnings.simplefilter("error")
        with contextlib.redirect_stderr(out):
            partition = run(method, table, requirement)
    _require(not out.getvalue(), "a method prints nothing")
    arrays = (*table.places, *table.codes)
    _require(all(map(np.array_equal, before, arrays)), "a method leaves its input as it is")
    _require(len(partition.labels) == len(table), "every row has one class")
    sizes = np.bincount(partition.labels)
    _require(int(sizes.min()) >= schema.k, "every class has k rows")
    again = run(method, table, requirement)
    _require(np.array_equal(partition.labels, again.labels), "the same seed gives the same classes")
    source = read(frame)
    released = recode(table, partition, source, select_rows(source, schema)[0], schema)
    expected = {*schema.released_quasi, *(s.column for s in schema.sensitive), *schema.keep}
    _require(set(released.columns) == expected, "no column is added or lost")
    measured = verify(Source.of(released), schema)
    _require(measured.classes <= len(sizes), "classes that look alike are one")
    improved = run(method, table, requirement, partition)
    _require(table.loss(improved.labels) <= table.loss(partition.labels) + 1e-12, "a start is not made worse")


def run(
    method: Algorithm, table: EncodedTable, requirement: Requirement, start: Partition | None = None, seed: int = 7
) -> Partition:
    """One run with a fresh generator."""
    return method.partition(table, requirement, rng=np.random.default_rng(seed), control=Control(), start=start)


def _is_for(method: Algorithm, schema: Schema) -> bool:
    try:
        check_capable(method, schema)
    except SchemaError:
        return False
    return True


def _expect(kind: type[Exception], action: Callable[[], Any]) -> None:
    try:
        action()
    except kind:
        return
    raise AssertionError(f"it must raise {kind.__name__}")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(f"broken: {what}")


def _table(columns: dict[str, list[Any]], k: int = 2, **keys: Any) -> tuple[pl.DataFrame, Schema]:
    levels = {"build": "intervals", "widths": [5, 10, 30]}  # for methods that climb them
    quasi = keys.pop("quasi", {"age": {"kind": "numeric", "hierarchy": levels}, "job": {"kind": "categorical"}})
    sensitive = keys.pop("sensitive", {"ill": {"distance": "equal", "t": 0.4}})
    return pl.DataFrame(columns), Schema.from_dict({"k": k, "quasi": quasi, "sensitive": sensitive, **keys})


def _mixed(n: int = 60) -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    return {
        "age": rng.integers(18, 90, n).tolist(),
        "job": rng.choice(["a", "b", "c", "d"], n).tolist(),
        "ill": rng.choice(["flu", "cold", "rash"], n).tolist(),
    }


def _with_missing(n: int = 60) -> dict[str, list[Any]]:
    columns = _mixed(n)
    for place, name in enumerate(("age", "job", "ill")):
        for row in range(place, n, 7):
            columns[name][row] = None
    return columns


def _asked(**keys: Any) -> dict[str, Any]:
    return {"sensitive": {"ill": {"distance": "equal", **keys}}}


def _matrix(n: int = 60) -> tuple[pl.DataFrame, Schema]:
    costs = {"values": ["cold", "flu", "rash"], "costs": [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]]}
    return _table(_mixed(n), sensitive={"ill": {"distance": "matrix", "matrix": costs, "t": 0.3}})


def _joint(t: float, n: int = 60, **keys: Any) -> tuple[pl.DataFrame, Schema]:
    """Three attributes: one asked for by itself and in a joint, one in the joint alone."""
    rng = np.random.default_rng(6)
    columns = _with_missing(n) | {"days": rng.integers(0, 4, n).tolist(), "ward": rng.choice(["x", "y"], n).tolist()}
    tree = {"lung": ["flu", "cold"], "skin": ["rash"]}
    sensitive = {
        "ill": {"distance": "hierarchical", "hierarchy": tree, "t": 0.5},
        "days": {"distance": "numeric"},
        "ward": {"distance": "equal"},
    }
    joint = {"all": {"columns": ["ward", "ill", "days"], "t": t}}
    return _table(columns, missing="category", sensitive=sensitive, joint=joint, **keys)


def _k_alone(**keys: Any) -> tuple[pl.DataFrame, Schema]:
    quasi = {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}, "ill": {"kind": "categorical"}}
    return _table(_mixed(), quasi=quasi, sensitive={}, **keys)


_DIGITS = {"age": {"kind": "digits"}, "job": {"kind": "categorical"}}

AWKWARD = (
    Case("an empty table", lambda: _table({"age": [], "job": [], "ill": []}), readable=False),
    Case("one row", lambda: _table({"age": [30], "job": ["a"], "ill": ["flu"]}, k=1)),
    Case("one row and k 2", lambda: _table({"age": [30], "job": ["a"], "ill": ["flu"]}), feasible=False),
    Case("constant sensitive", lambda: _table(_mixed() | {"ill": ["flu"] * 60})),
    Case("identical quasi-identifiers", lambda: _table(_mixed() | {"age": [30] * 60, "job": ["a"] * 60})),
    Case("missing as category", lambda: _table(_with_missing(), missing="category")),
    Case("missing dropped", lambda: _table(_with_missing(), missing="drop")),
    Case("missing unstated", lambda: _table(_with_missing()), readable=False),
    Case("k above n", lambda: _table(_mixed(), k=61), feasible=False),
    Case("k equal to n", lambda: _table(_mixed(), k=60)),
    Case("t 0", lambda: _table(_mixed(), **_asked(t=0))),
    Case("t 1", lambda: _table(_mixed(), **_asked(t=1))),
    Case("k 1 and t 1", lambda: _table(_mixed(), k=1, **_asked(t=1))),
    Case("distinct l", lambda: _table(_mixed(), **_asked(l=3))),
    Case("l that the table misses", lambda: _table(_mixed(), **_asked(l=4)), feasible=False),
    Case(
        "all of l", lambda: _table(_mixed(), **_asked(l={"entropy": 2, "frequency": 2, "recursive": {"c": 2, "l": 2}}))
    ),
    Case("a matrix", _matrix),
    Case("a joint", lambda: _joint(0.3)),
    Case("a joint of t 0", lambda: _joint(0)),
    Case("suppression", lambda: _table(_mixed(), recode="suppress")),
    Case("frequency of 2 alone", lambda: _table(_mixed(), **_asked(l={"frequency": 2}))),
    Case("k alone", _k_alone),
    Case("k alone, suppression", lambda: _k_alone(recode="suppress")),
    Case("twelve rows", lambda: _table(_mixed(SMALL))),
    Case("twelve rows, alike", lambda: _table({"age": [30] * SMALL, "job": ["a"] * SMALL, "ill": ["flu"] * SMALL})),
    Case("twelve rows, missing as category", lambda: _table(_with_missing(SMALL), missing="category")),
    Case("twelve rows, t 0", lambda: _table(_mixed(SMALL), **_asked(t=0))),
    Case("twelve rows, k 1 and t 1", lambda: _table(_mixed(SMALL), k=1, **_asked(t=1))),
    Case("twelve rows, distinct l", lambda: _table(_mixed(SMALL), **_asked(l=2))),
    Case("twelve rows, a matrix", lambda: _matrix(SMALL)),
    Case("twelve rows, a joint", lambda: _joint(0.3, SMALL)),
    Case("twelve rows, suppression", lambda: _table(_mixed(SMALL), recode="suppress")),
    Case("twelve rows, digits", lambda: _table(_mixed(SMALL), quasi=_DIGITS, recode="suppress")),
    Case("census", lambda: census(500, seed=3)),
    Case("hospital, eight sensitive attributes", lambda: hospital(500, seed=3)),
)
