"""The contract every method is checked against; shipped, for people who add one.

from tclose.testing import AWKWARD, check_method, why_not

@pytest.mark.parametrize("case", AWKWARD, ids=lambda case: case.name)
def test_contract(case):
    if reason := why_not(MyMethod(), case):
        pytest.skip(reason)
    check_method(MyMethod(), case)
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.algorithms import Algorithm, run_method
from tclose.algorithms.alike_classes import settle_alike
from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.capable import check_capable
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.rows_left_out import holds_with_left_out
from tclose.datasets import census, hospital
from tclose.errors import InfeasibleError, SchemaError
from tclose.release.recode import recode
from tclose.schema.columns import Diversity, Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode, encode_rows
from tclose.table.partition import Partition
from tclose.table.row_selection import select_rows
from tclose.table.source import Source, read
from tclose.verification.judge_release import check_release
from tclose.verification.released_classes import group_rows

Columns = Callable[[Capabilities], dict[str, list[Any]]]
Maker = Callable[..., tuple[pl.DataFrame, Schema]]


@dataclass(frozen=True)
class Case:
    """An awkward table with its schema, to test a method with.

    Attributes
    ----------
    name
        What is awkward about it.
    make
        Gives the table and the schema for a method of these capabilities: as many rows as it
        takes, a recoding and a distance it knows, and no t or l that it does not guarantee.
    feasible
        Whether a partition exists; otherwise the method must raise InfeasibleError.

    Examples
    --------
    >>> from tclose.algorithms import find
    >>> one_row = next(case for case in AWKWARD if case.name == "one row and k 2")
    >>> frame, schema = one_row.make(find("tight").capabilities)
    >>> len(frame), schema.k, one_row.feasible
    (1, 2, False)
    """

    name: str
    make: Callable[[Capabilities], tuple[pl.DataFrame, Schema]]
    feasible: bool = True


def why_not(method: Algorithm, case: Case) -> str | None:
    """Why a case cannot be used to test a method; None if it can.

    Examples
    --------
    >>> from tclose.algorithms import find
    >>> alone = next(case for case in AWKWARD if case.name == "t 0")
    >>> why_not(find("tight"), alone), why_not(find("k-approx"), alone)
    (None, "'k-approx' does not guarantee t, which the schema asks. Use another method.")
    """
    try:
        check_capable(method, case.make(method.capabilities)[1])
    except SchemaError as error:
        return str(error)
    return None


def check_method(method: Algorithm, case: Case) -> None:
    """Check on one table that a method keeps the contract of all methods.

    Each row in exactly one class; the release passes the verifier; inputs unchanged; the same
    seed gives the same classes; no column or row number is added; nothing is printed or warned.

    Raises
    ------
    AssertionError
        A promise is broken.
    SchemaError
        The case is not for this method: ask `why_not` first.

    Examples
    --------
    >>> import tclose
    >>> check_method(tclose.Mondrian(), next(case for case in AWKWARD if case.name == "t 0"))  # silent: it holds
    >>> tried = [case.name for case in AWKWARD if why_not(tclose.KApprox(), case) is None]
    >>> "t 0" in tried  # of those with a t, none is for a method that keeps k alone
    False
    """
    frame, schema = case.make(method.capabilities)
    check_capable(method, schema)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    if not case.feasible:
        _expect(InfeasibleError, lambda: run(method, table, requirement))
        return
    _check_partition(method, frame, schema, table, requirement)


def _check_partition(
    method: Algorithm, frame: pl.DataFrame, schema: Schema, table: EncodedTable, requirement: Requirement
) -> None:
    before = [array.copy() for array in (*table.places, *table.codes)]
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as out:
        warnings.simplefilter("error")
        with contextlib.redirect_stderr(out):
            partition = run(method, table, requirement)
    _require(not out.getvalue(), "a method prints nothing")
    arrays = (*table.places, *table.codes)
    _require(all(map(np.array_equal, before, arrays)), "a method leaves its input as it is")
    _require(len(partition.labels) == len(table), "every row has one class, or is left out")
    _require(holds_with_left_out(requirement, table, partition.labels), "classes, and rows left out, hold")
    again = run(method, table, requirement)
    _require(np.array_equal(partition.labels, again.labels), "the same seed gives the same classes")
    improved = run(method, table, requirement, partition)
    if table.objective.name == "loss":
        _require(table.loss(improved.labels) <= table.loss(partition.labels) + 1e-12, "a start is not made worse")
    _require(holds_with_left_out(requirement, table, improved.labels), "what is made of a start keeps the promise")
    source, kept = read(frame), partition.labels >= 0
    columns, rows = select_rows(source, schema, None if kept.all() else table.rows[kept])
    if not kept.all():
        table = encode_rows(source, columns, rows, schema)
        requirement, partition = Requirement.of(schema, table), replace(partition, labels=partition.labels[kept])
    sizes = np.bincount(partition.labels)
    _require(int(sizes.min()) >= schema.k, "every class has k rows")

    def shown(found: Partition) -> NDArray[np.int64]:
        released = recode(table, found, source, columns, schema)
        return group_rows(Source.of(released), schema.released_quasi).labels

    partition = settle_alike(table, requirement, partition, shown)
    released = recode(table, partition, source, columns, schema)
    expected = {*schema.released_quasi, *(s.column for s in schema.sensitive), *schema.keep}
    _require(set(released.columns) == expected, "no column is added or lost")
    measured = check_release(Source.of(released), schema, source, table.rows)
    _require(measured.classes <= len(sizes), "classes that look alike are one")


def run(
    method: Algorithm, table: EncodedTable, requirement: Requirement, start: Partition | None = None, seed: int = 7
) -> Partition:
    """Run a method once, with a fresh random generator.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(100, seed=1)
    >>> table = encode(read(frame), schema)
    >>> partition = run(tclose.Mondrian(), table, Requirement.of(schema, table))
    >>> len(partition.labels), int(np.bincount(partition.labels).min()) >= schema.k
    (100, True)
    """
    rng = np.random.default_rng(seed)
    return run_method(method, table, requirement, rng=rng, control=Control(), start=start)


def _expect(kind: type[Exception], action: Callable[[], Any]) -> None:
    try:
        action()
    except kind:
        return
    raise AssertionError(f"it must raise {kind.__name__}")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(f"broken: {what}")


def _rows(can: Capabilities) -> int:
    """Every method takes so many."""
    return 12 if can.small_only else 60


def _table(can: Capabilities, columns: dict[str, list[Any]], k: int = 2, **keys: Any) -> tuple[pl.DataFrame, Schema]:
    """A table of ages, jobs and ills: where nothing is said of what is sensitive, as much as the method promises."""
    levels = {"build": "intervals", "widths": [5, 10, 30]}  # for methods that climb them
    quasi = {"age": {"kind": "numeric", "hierarchy": levels}, "job": {"kind": "categorical"}}
    if "sensitive" not in keys:
        keys["sensitive"] = _promised(can)
    if not keys["sensitive"]:
        quasi["ill"] = {"kind": "categorical"}
    return pl.DataFrame(columns), Schema.from_dict({"k": k, "quasi": quasi, "recode": _recoding(can), **keys})


def _promised(can: Capabilities) -> dict[str, Any]:
    """What can be asked of `ill`."""
    if "t" in can.guarantees:
        return {"ill": _ill(can, t=0.4)}
    return {"ill": _ill(can, l={"frequency": 2})} if "l" in can.guarantees else {}


def _ill(can: Capabilities, **asked: Any) -> dict[str, Any]:
    if "equal" in can.distances or "t" not in can.guarantees:
        return {"distance": "equal", **asked}
    return {"distance": "ordered", "order": ["cold", "flu", "rash"], **asked}


def _recoding(can: Capabilities) -> Literal["generalize", "suppress"]:
    return "generalize" if "generalize" in can.recodings else "suppress"


def _mixed(can: Capabilities) -> dict[str, list[Any]]:
    n, rng = _rows(can), np.random.default_rng(5)
    return {
        "age": rng.integers(18, 90, n).tolist(),
        "job": rng.choice(["a", "b", "c", "d"], n).tolist(),
        "ill": rng.choice(["flu", "cold", "rash"], n).tolist(),
    }


def _with_missing(can: Capabilities) -> dict[str, list[Any]]:
    columns = _mixed(can)
    for place, name in enumerate(("age", "job", "ill")):
        for row in range(place, _rows(can), 7):
            columns[name][row] = None
    return columns


def _alike(can: Capabilities, **columns: Any) -> dict[str, list[Any]]:
    """All rows the same in these columns."""
    return _mixed(can) | {name: [value] * _rows(can) for name, value in columns.items()}


def _case(name: str, columns: Columns = _mixed, *, feasible: bool = True, **keys: Any) -> Case:
    return Case(name, lambda can: _table(can, columns(can), **keys), feasible)


def _asking(name: str, *, feasible: bool = True, k: int = 2, **asked: Any) -> Case:
    """A case that asks something of `ill`."""
    return Case(name, lambda can: _table(can, _mixed(can), k, sensitive={"ill": _ill(can, **asked)}), feasible)


def _capped_nodes(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    """Caps that inner nodes of a hierarchy keep too, missing values being one more value."""
    tree = {"lung": ["flu", "cold"], "skin": ["rash"]}
    capped = {"distance": "hierarchical", "hierarchy": tree, "rise": 0.3, "beta": 2, "enhanced": True, "levels": True}
    return _table(can, _with_missing(can), missing="category", sensitive={"ill": capped})


def _visits(can: Capabilities, *, per_person: int = 3, k: int = 2, **keys: Any) -> tuple[pl.DataFrame, Schema]:
    """Persons with several rows each, in no order."""
    n, rng = _rows(can), np.random.default_rng(8)
    columns = _mixed(can) | {"who": rng.permutation(np.arange(n) // per_person).tolist(), "visit": list(range(n))}
    return _table(can, columns, k, unit="who", **({"identifiers": ["visit"]} | keys))


def _capped_visits(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    tree = {"lung": ["flu", "cold"], "skin": ["rash"]}
    capped = {"distance": "hierarchical", "hierarchy": tree, "t": 0.5, "rise": 0.3, "beta": 1, "levels": True}
    return _visits(can, unit_rows="all", sensitive={"ill": capped})


def _matrix(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    costs = {"values": ["cold", "flu", "rash"], "costs": [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]]}
    return _table(can, _mixed(can), sensitive={"ill": {"distance": "matrix", "matrix": costs, "t": 0.3}})


def _joint(can: Capabilities, t: float) -> tuple[pl.DataFrame, Schema]:
    """Three attributes: one asked for by itself and in a joint, two in the joint alone."""
    n, rng = _rows(can), np.random.default_rng(6)
    columns = _with_missing(can)
    columns |= {"days": rng.integers(0, 4, n).tolist(), "ward": rng.choice(["x", "y"], n).tolist()}
    tree = {"lung": ["flu", "cold"], "skin": ["rash"]}
    sensitive = {
        "ill": {"distance": "hierarchical", "hierarchy": tree, "t": 0.5},
        "days": {"distance": "numeric"},
        "ward": {"distance": "equal"},
    }
    joint = {"all": {"columns": ["ward", "ill", "days"], "t": t}}
    return _table(can, columns, missing="category", sensitive=sensitive, joint=joint)


def _two_towns(can: Capabilities) -> dict[str, list[Any]]:
    """Rows of two ages and towns far apart, each with all ills alike often."""
    n = _rows(can)
    return {
        "age": [20 + 40 * (row % 2) + row // 2 % 11 for row in range(n)],
        "job": ["ab"[row % 2] + "xyz"[row // 2 % 3] for row in range(n)],
        "ill": [["flu", "cold", "rash"][row % 3] for row in range(n)],
    }


def _limited(can: Capabilities, age: dict[str, Any], job: dict[str, Any]) -> tuple[pl.DataFrame, Schema]:
    """A table whose quasi-identifiers have these weights and limits."""
    frame, schema = _table(can, _two_towns(can))
    levels = {"build": "intervals", "widths": [5, 10, 30]}
    quasi = {"age": {"kind": "numeric", "hierarchy": levels, **age}, "job": {"kind": "categorical", **job}}
    given = Schema.from_dict({"k": 2, "recode": schema.recode, "quasi": quasi})
    return frame, replace(schema, quasi=(*given.quasi, *schema.quasi[2:]))


def _outliers(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    """Rows far from all others, so that it pays to leave them out."""
    columns = _mixed(can)
    columns["age"] = [1000 + row if row % 10 == 3 else 30 + row % 3 for row in range(_rows(can))]
    return _table(can, columns, suppress_rows=0.25)


def _digits(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    frame, schema = _table(can, _mixed(can), recode="suppress")
    quasi = tuple(Quasi("age", "digits") if each.column == "age" else each for each in schema.quasi)
    return frame, replace(schema, quasi=quasi)


def _made(maker: Maker, can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    """A table of `tclose.datasets`, of which only what is promised is asked."""
    frame, schema = maker(_rows(can) if can.small_only else 500, seed=3)
    sensitive = [each.column for each in schema.sensitive]
    schema = replace(schema, recode=_recoding(can))
    if "t" in can.guarantees:
        return frame, schema
    if "l" not in can.guarantees:
        return frame.drop(sensitive), replace(schema, sensitive=())
    only = Sensitive(sensitive[0], "equal", l=Diversity(frequency=Fraction(2)))
    return frame.drop(sensitive[1:]), replace(schema, k=2, sensitive=(only,))


def _kept_target(can: Capabilities) -> tuple[pl.DataFrame, Schema]:
    """What is to be predicted is released as it is, and nobody checks it."""
    columns = _with_missing(can) | {"buys": ["yes" if row % 5 else None for row in range(_rows(can))]}
    kept: dict[str, Any] = {"keep": ["buys"], "keep_unchecked": True, "objective": "classify", "target": "buys"}
    return _table(can, columns, missing="category", **kept)


_TOWNS = {"a": ["ax", "ay", "az"], "b": ["bx", "by", "bz"]}
_ALL_OF_L = {"entropy": 2, "frequency": 2, "recursive": {"c": 2, "l": 2}}

AWKWARD = (
    _case("one row, k alone", lambda can: {"age": [30], "job": ["a"], "ill": ["flu"]}, k=1, sensitive={}),
    _case("one row and k 2", lambda can: {"age": [30], "job": ["a"], "ill": ["flu"]}, feasible=False),
    Case(
        "one row and t 0",
        lambda can: _table(can, {"age": [30], "job": ["a"], "ill": ["flu"]}, 1, sensitive={"ill": _ill(can, t=0)}),
    ),
    Case("constant sensitive", lambda can: _table(can, _alike(can, ill="flu"), sensitive={"ill": _ill(can, t=0)})),
    _case("identical quasi-identifiers", lambda can: _alike(can, age=30, job="a")),
    _case("everything identical, k alone", lambda can: _alike(can, age=30, job="a", ill="flu"), sensitive={}),
    _case("missing as category", _with_missing, missing="category"),
    _case("missing dropped", _with_missing, missing="drop"),
    _case("one column all missing", lambda can: _alike(can, age=None), missing="category"),
    Case("k above n", lambda can: _table(can, _mixed(can), _rows(can) + 1), feasible=False),
    Case("k equal to n", lambda can: _table(can, _mixed(can), _rows(can))),
    Case("k above half of n", lambda can: _table(can, _mixed(can), _rows(can) // 2 + 1)),
    _asking("t 0", t=0),
    _asking("t 1", t=1),
    _asking("k 1 and t 1", t=1, k=1),
    _asking("t and l", t=0.5, l=2),
    _asking("distinct l", l=3),
    _asking("l that the table misses", l=4, feasible=False),
    _asking("all of l", l=_ALL_OF_L),
    _asking("frequency of 2 alone", l={"frequency": 2}),
    _asking("frequency that the table misses", l={"frequency": 4}, feasible=False),
    _asking("rise alone", rise=0.2),
    _asking("rise 0", rise=0),
    _asking("beta alone", beta=1),
    _asking("t, l, rise and enhanced beta", t=0.5, l=2, rise=0.3, beta="3/2", enhanced=True),
    Case("caps on inner nodes", _capped_nodes),
    Case("k persons", lambda can: _visits(can, unit_rows="all", sensitive={})),
    Case("k persons and t", lambda can: _visits(can, unit_rows="all")),
    Case(
        "k persons that the table misses", lambda can: _visits(can, k=_rows(can) // 2, unit_rows="all"), feasible=False
    ),
    Case(
        "caps in persons",
        lambda can: _visits(can, unit_rows="all", sensitive={"ill": {"distance": "equal", "rise": 0.2}}),
    ),
    Case("caps in persons on inner nodes", _capped_visits),
    Case(
        "the last row of each person",
        lambda can: _visits(can, per_person=2, identifiers=[], unit_rows="one", unit_pick="last", unit_order="visit"),
    ),
    Case("a matrix", _matrix),
    Case("a joint", lambda can: _joint(can, 0.3)),
    Case("a joint of t 0", lambda can: _joint(can, 0)),
    _case("suppression", recode="suppress"),
    _case("suppression, missing as category", _with_missing, recode="suppress", missing="category"),
    _case("k alone", sensitive={}),
    _case("k alone, suppression", recode="suppress", sensitive={}),
    _case("k alone, missing as category", _with_missing, missing="category", sensitive={}),
    _case("k 1 alone", k=1, sensitive={}),
    Case("digits", _digits),
    Case("weights", lambda can: _limited(can, {"weight": "7/3"}, {"weight": 0.25})),
    Case("intervals no wider than they must be", lambda can: _limited(can, {"coarsest": 10}, {})),
    Case("a coarsest level", lambda can: _limited(can, {}, {"hierarchy": _TOWNS, "coarsest": 1})),
    Case("a finest level", lambda can: _limited(can, {}, {"hierarchy": _TOWNS, "finest": 1})),
    Case(
        "all limits and weights at once",
        lambda can: _limited(
            can, {"coarsest": 10, "weight": 3}, {"hierarchy": _TOWNS, "finest": 1, "coarsest": "a", "weight": 0.5}
        ),
    ),
    _case("some rows may be left out", suppress_rows=0.2),
    _case("some rows may be left out, missing dropped", _with_missing, suppress_rows="1/3", missing="drop"),
    Case("outliers may be left out", _outliers),
    Case(
        "intervals narrower than k allows", lambda can: _limited(can, {"coarsest": 0}, {"coarsest": 0}), feasible=False
    ),
    _case("queries", objective="queries"),
    _case("queries, missing as category", _with_missing, missing="category", objective="queries"),
    _case("queries, k alone, suppression", recode="suppress", sensitive={}, objective="queries"),
    _case(
        "queries, one column all missing", lambda can: _alike(can, age=None), missing="category", objective="queries"
    ),
    _case("classify a sensitive attribute", objective="classify", target="ill"),
    _case("classify a constant", lambda can: _alike(can, ill="flu"), objective="classify", target="ill"),
    Case("classify a kept column", _kept_target),
    Case("census", lambda can: _made(census, can)),
    Case("hospital, eight sensitive attributes", lambda can: _made(hospital, can)),
)
