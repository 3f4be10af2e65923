"""Rows that stay as they were: too wide for `coarsest`, left out for missing values, or spelled in another way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms import find
from tclose.errors import InfeasibleError
from tclose.history.history_check import check_history
from tclose.history.history_state import AWAY, HistoryState
from tclose.history.original_rows import OriginalTable, untrue_held
from tclose.history.republication import follow
from tclose.release.release import Release
from tclose.schema.schema import Schema
from tclose.table.source import Source

KEY = b"k" * 32
pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
Rows = list[tuple[Any, ...]]


class Register:
    """A table with an age and one or more illnesses, in memory."""

    def __init__(self, **keys: Any) -> None:
        ill = {"distance": "equal", "t": 0.6}
        self.keys: dict[str, Any] = {
            "k": 2, "unit": "who", "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": ill}, **keys,
        }  # fmt: skip
        self.state = HistoryState.empty()

    def release(self, rows: Rows | pl.DataFrame) -> tuple[Release, dict[str, int]]:
        frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, ["who", "age", "ill"], orient="row")
        source, schema = Source.of(frame), Schema.from_dict(self.keys)
        release, self.state = follow(self.state, KEY, source, schema, find("mondrian"), seed=0, allow_single_class=True)
        assert check_history(self.state, {self.state.number: OriginalTable(source, KEY)}).holds
        counts = release.record.notes["history"]
        return release, {name: n for name, n in counts.items() if n and name not in ("number", "atoms")}


FOUR: Rows = [("a", 1, "f"), ("b", 2, "h"), ("c", 31, "f"), ("d", 32, "h")]
NARROW = {"quasi": {"age": {"kind": "numeric", "coarsest": 5}}}


def ages(release: Release) -> set[str]:
    return set(release._frame["age"].cast(pl.String))


def test_whoever_moves_out_of_what_coarsest_allows_keeps_the_old_row() -> None:
    """The atom {a, b} must stay in one class, which may not cover 1 to 32."""
    register = Register(**NARROW)
    register.release(FOUR)
    release, counts = register.release([("a", 32, "f"), *FOUR[1:]])
    assert counts == {"moves_held": 1}
    assert ages(release) == {"[1, 2]", "[31, 32]"}
    release, counts = register.release([("a", 4, "f"), *FOUR[1:]])
    assert counts == {"moved": 1}
    assert ages(release) == {"[2, 4]", "[31, 32]"}


def test_a_batch_that_coarsest_parts_waits_whole() -> None:
    """Of x, y and z, z alone is far from all: x and y could be a class, and would tell of z."""
    register = Register(**NARROW)
    register.release(FOUR)
    new = [("x", 60, "f"), ("y", 61, "h"), ("z", 90, "f")]
    assert register.release([*FOUR, *new])[1] == {"new_waiting": 3}
    assert register.release([*FOUR, *new, ("w", 91, "h")])[1] == {"added": 4}


@pytest.mark.slow
def test_those_who_would_enter_too_far_apart_wait() -> None:
    register = Register(**NARROW)
    six = [("a", 1, "f"), ("b", 2, "h"), ("c", 3, "f"), ("d", 4, "h")]
    register.release(six)
    assert register.release([("a", 1, "h"), ("b", 40, "f"), *six[2:]])[1] == {"changes_held": 2}
    assert register.release([("a", 39, "h"), ("b", 40, "f"), *six[2:]])[1] == {"changed": 2}


@pytest.mark.slow
def test_a_narrower_coarsest_than_an_atom_is_refused_with_the_reason() -> None:
    register = Register()
    register.release([("a", 1, "f"), ("b", 9, "h")])
    register.keys |= NARROW
    with pytest.raises(InfeasibleError, match="farther apart than `coarsest` of 'age' allows"):
        register.release([("a", 1, "f"), ("b", 9, "h")])


@pytest.mark.parametrize("cell", ["age", "ill"])
def test_a_row_that_is_left_out_for_a_missing_value_is_as_one_deleted(cell: str) -> None:
    """The values that are there are those of the released row: it is held all the same, and that is no mistake."""
    register = Register(missing="drop")
    register.release(FOUR)
    gone = ("a", None if cell == "age" else 1, None if cell == "ill" else "f")
    release, counts = register.release([gone, *FOUR[1:]])
    assert counts == {"deletions_held": 1}
    assert len(release._frame) == 4


PAY = {"sensitive": {"pay": {"distance": "numeric", "t": 0.9}}}


def paid(*pays: Any) -> pl.DataFrame:
    return pl.DataFrame({"who": [*"abcdef"][: len(pays)], "age": range(len(pays)), "pay": pays}, strict=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "later",
    [
        paid("1", "2.50", "7.0", "7"),
        paid("1.0", "2.5", "7", "7"),
        paid(1.0, 2.5, 7.0, 7.0),
        paid(1.0, 2.5, 7.0, 7.0).cast({"pay": pl.Float32}),
        paid(1, 2.5, 7, 7).cast({"pay": pl.Decimal(10, 3)}),
    ],
)
@pytest.mark.parametrize("before", [paid("1", "2.5", "7.0", "7"), paid(1.0, 2.5, 7.0, 7.0)])
def test_the_same_numbers_in_another_spelling_change_nobody(before: pl.DataFrame, later: pl.DataFrame) -> None:
    register = Register(**PAY)
    register.release(before)
    assert register.release(later)[1] == {}
    tables = {number: OriginalTable(Source.of(each), KEY) for number, each in ((1, later), (2, before))}
    assert check_history(register.state, tables).holds  # whichever form of a table is at hand


@pytest.mark.slow
def test_numbers_are_the_same_though_the_one_that_is_broken_has_gone() -> None:
    """The texts 1, 2.5, 7.0, 7 of the state, and whole numbers in the table: none of its types holds 2.5."""
    register = Register(**PAY)
    register.release(paid("1", "2.5", "7.0", "7"))
    table = paid(1.0, 2.5, 7.0, 7.0)
    assert register.release(table.filter(pl.col("pay") != 2.5))[1] == {"deletions_held": 1}
    assert register.release(table)[1] == {}


@pytest.mark.slow
def test_decimal_signs_are_those_of_the_schema() -> None:
    register = Register(**PAY, decimal=",", thousands=".")
    register.release(paid("1", "2,5", "1.007", "7"))
    assert register.release(paid(1.0, 2.5, 1007.0, 7.0))[1] == {}


def test_atoms_that_leave_as_a_whole_need_not_keep_a_stricter_promise() -> None:
    register = Register()
    register.release(FOUR)
    assert len(np.unique(register.state.atoms)) == 2
    register.keys["k"] = 3
    more = [(f"n{place}", 15, "fh"[place % 2]) for place in range(4)]
    assert register.release([*FOUR[2:], *more])[1] == {"added": 4, "deleted": 2}


@pytest.mark.slow
def test_a_held_row_that_nobody_had_is_found() -> None:
    register = Register()
    register.release(FOUR)
    before = register.state
    register.release(FOUR[1:])
    original = OriginalTable(Source.of(pl.DataFrame(FOUR[1:], ["who", "age", "ill"], orient="row")), KEY)
    schema = Schema.from_dict(register.keys)
    assert untrue_held(before, register.state, original, schema) == []
    other = replace(register.state, quasi=register.state.quasi.with_columns(age=pl.lit(5)))
    assert "4 persons would be released with a row" in untrue_held(before, other, original, schema)[0]


@pytest.mark.slow
def test_a_held_row_may_have_the_values_of_a_row_that_was_not_picked() -> None:
    """The last row of a is another one, and the row that is held looks like an earlier one of another place."""
    register = Register(unit_rows="one", unit_pick="last", unit_order="day")
    columns = ["who", "age", "ill", "day"]
    register.release(pl.DataFrame([(*row, 5) for row in FOUR], columns, orient="row"))
    later = [("a", 7, "h", 9), ("a", 7, "f", 6), *((*row, 5) for row in FOUR[1:])]
    assert register.release(pl.DataFrame(later, columns, orient="row"))[1] == {"changes_held": 1}


def test_atoms_that_nobody_saw_apart_are_one_to_a_stricter_schema() -> None:
    """Two classes of two are both shown as [0, 10]. If k is 3 from then on, two of the four may not leave alone."""
    register = Register(quasi={"age": {"kind": "numeric", "step": 10}})
    rows = [("a", 1, "f"), ("b", 2, "h"), ("c", 3, "f"), ("d", 4, "h")]
    others = [(f"n{place}", 35, "fh"[place % 2]) for place in range(6)]
    register.release([*rows, *others])
    state = register.state
    assert (len(np.unique(state.atoms[:4])), len(np.unique(state.class_of[:4]))) == (2, 1)
    register.keys["k"] = 3
    assert register.release([*rows[2:], *others])[1] == {"deletions_held": 2}
    assert register.release(others)[1] == {"deleted": 4}


@pytest.mark.slow
def test_the_checker_finds_what_a_stricter_release_should_not_have_divided() -> None:
    register = Register(quasi={"age": {"kind": "numeric", "step": 10}})
    rows = [("a", 1, "f"), ("b", 2, "h"), ("c", 3, "f"), ("d", 4, "h")]
    others = [(f"n{place}", 35, "fh"[place % 2]) for place in range(6)]
    register.release([*rows, *others])
    register.release([*rows[2:], *others])  # which k = 2 allows
    assert (register.state.places == AWAY).sum() == 2
    last = register.state.releases[-1]
    stricter = replace(last, schema=last.schema.replace("k = 2", "k = 3"))
    found = check_history(replace(register.state, releases=(register.state.releases[0], stricter)))
    assert any(
        "Divided by release 2. Release 1: the smallest divided atom has 2 persons" in each for each in found.problems
    )
