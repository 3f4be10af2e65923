"""Every rule of republication, with the examples that show why it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms import find
from tclose.errors import InfeasibleError, SchemaError, TableError, VerificationError
from tclose.history.atom_promises import PastReleases, ReferenceTable
from tclose.history.followed_schema import check_follows, check_supported
from tclose.history.history_check import check_history, find_atoms
from tclose.history.history_state import AWAY, WITHDRAWN, HistoryState
from tclose.history.original_rows import OriginalTable
from tclose.history.republication import follow
from tclose.release.release import Release
from tclose.schema.schema import Schema
from tclose.table.source import Source

KEY = b"k" * 32
pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
Row = tuple[str, int, str]  # who, age, ill


def schema_with(t: Any, k: int = 2, **more: Any) -> Schema:
    keys: dict[str, Any] = {"k": k, "unit": "who", "quasi": {"age": {"kind": "numeric"}}}
    return Schema.from_dict(keys | {"sensitive": {"ill": {"distance": "equal", "t": t, **more}}})


class Living:
    """A table that is released again and again, in memory."""

    def __init__(self, schema: Schema, deletions: Any = "hold") -> None:
        self.schema, self.deletions = schema, deletions
        self.state, self.least_batch = HistoryState.empty(), 0.0
        self.last: Release | None = None

    def release(self, rows: Sequence[Row]) -> dict[str, int]:
        frame = pl.DataFrame(list(rows), schema=["who", "age", "ill"], orient="row")
        source = Source.of(frame)
        self.last, self.state = follow(
            self.state,
            KEY,
            source,
            self.schema,
            find("mondrian"),
            self.deletions,
            self.least_batch,
            seed=0,
            allow_single_class=True,
        )
        assert check_history(self.state, {self.state.number: OriginalTable(source, KEY)}).holds
        counts: dict[str, int] = self.last.record.notes["history"]
        return {name: count for name, count in counts.items() if count and name not in ("number", "atoms")}

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The released rows."""
        assert self.last is not None
        return sorted(map(tuple, self.last._frame.cast(pl.String).rows()))


def two_classes(*values: str) -> list[Row]:
    """Persons a, b, ... of whom half are young and half old."""
    half = len(values) // 2
    return [(chr(97 + place), 20 if place < half else 80, value) for place, value in enumerate(values)]


def test_new_persons_are_classes_among_themselves() -> None:
    living = Living(schema_with(0.5))
    living.release(two_classes("f", "h", "f", "h"))
    before = living.shown
    assert living.release([*two_classes("f", "h", "f", "h"), ("x", 50, "f"), ("y", 51, "h")]) == {"added": 2}
    assert set(before) < set(living.shown)
    assert len(np.unique(living.state.atoms)) == 3


def test_a_batch_waits_whole() -> None:
    """Nine of ten have flu; f, f, h, h arrive; {f, f, h} is close and would leave, so that whoever waits has h."""
    living = Living(schema_with(0.25))
    ten = [(f"p{place}", place, "h" if place == 0 else "f") for place in range(10)]
    living.release(ten)
    new = [("q1", 3, "f"), ("q2", 3, "f"), ("q3", 3, "h"), ("q4", 3, "h")]
    three = Living(schema_with(0.25))
    three.release(ten)
    assert three.release([*ten, *new[:3]]) == {"added": 3}  # a part would be close
    assert living.release([*ten, *new]) == {"new_waiting": 4}
    assert len(living.shown) == 10
    more = [(f"r{place}", 3, "f") for place in range(4)]
    assert living.release([*ten, *new, *more]) == {"added": 8}  # with those who come later it is close, and whole


@pytest.mark.slow
def test_a_batch_below_k_waits() -> None:
    living = Living(schema_with(1, k=3))
    six = two_classes("f", "h", "f", "h", "f", "h")
    living.release(six)
    assert living.release([*six, ("x", 1, "f"), ("y", 1, "h")]) == {"new_waiting": 2}


@pytest.mark.slow
def test_new_persons_may_be_made_to_wait_until_they_are_many() -> None:
    living = Living(schema_with(0.5))
    rows = two_classes("f", "h", "f", "h", "f", "h", "f", "h")
    living.least_batch = 0.5
    assert living.release(rows) == {"added": 8}
    new = [("x", 50, "f"), ("y", 51, "h"), ("z", 52, "f"), ("w", 53, "h")]
    assert living.release([*rows, *new[:3]]) == {"new_waiting": 3}
    assert living.release([*rows, *new]) == {"added": 4}


def test_changed_persons_of_two_classes_do_not_form_one() -> None:
    """k = 2, a of {a, b} and c of {c, d} change: as a class {a, c} they would tell what a had before."""
    living = Living(schema_with(0.5))
    living.release(two_classes("f", "h", "f", "h"))
    before = living.shown
    assert living.release(two_classes("h", "h", "h", "h")) == {"changes_held": 2}
    assert living.shown == before


def test_a_mistake_of_what_chooses_is_found_by_what_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """If whoever wants to may leave and enter, nothing is released: the checker shares no code with what chooses."""
    for kind in (PastReleases, ReferenceTable):
        monkeypatch.setattr(kind, "keeping", lambda _self, _groups, n_groups: np.ones(n_groups, bool))
    rows = two_classes("f", "h", "f", "h")
    for later in (two_classes("h", "h", "h", "h"), rows[1:]):
        living = Living(schema_with(0.5))
        living.release(rows)
        with pytest.raises(VerificationError, match="would not keep"):
            living.release(later)


def test_those_who_change_together_enter_if_all_keep_the_promise() -> None:
    living = Living(schema_with(0.5))
    four = [("a", 1, "f"), ("b", 1, "h"), ("c", 1, "f"), ("d", 1, "h")]
    living.release(four)
    assert len(np.unique(living.state.atoms)) == 1
    changed = [("a", 1, "h"), ("b", 1, "f"), *four[2:]]
    assert living.release(changed) == {"changed": 2}
    assert len(np.unique(living.state.atoms)) == 2
    assert living.release([("a", 1, "f"), *changed[1:]]) == {"changes_held": 1}


def test_those_who_stay_must_keep_the_promise_too() -> None:
    """{f, h, f} is at 4/15 from two f of five; {h, h}, who would stay, is at 2/5."""
    living = Living(schema_with(0.3))
    stay = [("d", 1, "h"), ("e", 1, "h")]
    living.release([("a", 1, "f"), ("b", 1, "h"), ("c", 1, "f"), *stay])
    assert living.release([("a", 1, "h"), ("b", 1, "f"), ("c", 1, "h"), *stay]) == {"changes_held": 3}


@pytest.mark.slow
def test_new_values_must_be_close_to_the_release_they_enter() -> None:
    living = Living(schema_with(0.3))
    rows = [(f"p{place}", 1, "f" if place % 2 else "h") for place in range(8)]
    living.release(rows)
    ill = [(who, age, "h") if who in ("p1", "p0", "p2", "p3") else (who, age, value) for who, age, value in rows]
    assert living.release(ill) == {"changes_held": 2}


def test_changed_quasi_identifiers_stay_in_their_class() -> None:
    living = Living(schema_with(0.5))
    living.release(two_classes("f", "h", "f", "h"))
    rows = two_classes("f", "h", "f", "h")
    assert living.release([("a", 30, "f"), *rows[1:]]) == {"moved": 1}
    assert ("[20, 30]", "f") in living.shown


def test_a_deletion_waits_until_it_tells_nothing() -> None:
    living = Living(schema_with(0.5))
    rows = [("a", 1, "f"), ("b", 1, "h"), ("c", 1, "f"), ("d", 1, "h")]
    living.release(rows)
    assert living.release(rows[1:]) == {"deletions_held": 1}
    assert len(living.shown) == 4
    assert living.release(rows[2:]) == {"deleted": 2}
    assert len(living.shown) == 2
    assert (living.state.places == AWAY).sum() == 2
    assert living.state.quasi["age"].null_count() == 2  # of those who left no quasi-identifier is kept


def test_the_deleted_part_must_keep_the_promise_by_its_values() -> None:
    living = Living(schema_with(0.4))
    living.release([("a", 1, "f"), ("b", 1, "f"), ("c", 1, "h"), ("d", 1, "h")])
    assert living.release([("c", 1, "h"), ("d", 1, "h")]) == {"deletions_held": 2}


def test_whoever_returns_is_no_new_person() -> None:
    living = Living(schema_with(0.5))
    rows = [("a", 1, "f"), ("b", 1, "h"), ("c", 1, "f"), ("d", 1, "h")]
    living.release(rows)
    living.release(rows[2:])
    assert living.release([rows[0], *rows[2:]]) == {"returned_waiting": 1}
    assert living.release(rows) == {"returned": 2}
    state = living.state
    atoms = find_atoms(state.class_of, state.version_of)
    assert len(np.unique(atoms)) == 2


@pytest.mark.slow
def test_returning_and_new_persons_are_not_one_atom() -> None:
    living = Living(schema_with(0.5))
    rows = [("a", 1, "f"), ("b", 1, "h"), ("c", 1, "f"), ("d", 1, "h")]
    living.release(rows)
    living.release(rows[2:])
    assert living.release([rows[0], *rows[2:], ("x", 1, "h")]) == {"returned_waiting": 1, "new_waiting": 1}


def test_withdrawn_classes_never_come_back() -> None:
    living = Living(schema_with(0.5), deletions="withdraw")
    rows = two_classes("f", "h", "f", "h", "f", "h")
    rows = [*rows, ("x", 80, "h")]
    living.release(rows)
    without = [row for row in rows if row[0] != "a"]
    counts = living.release(without)
    assert counts["withdrawn"] >= 2
    assert "deletions_held" not in counts
    gone = set(np.flatnonzero(living.state.places == WITHDRAWN).tolist())
    assert living.release(rows)["barred"] == len(gone)  # all of them are in the table again
    assert living.release([(who, age, "f" if value == "h" else "h") for who, age, value in rows])["barred"] == len(gone)
    assert gone == set(np.flatnonzero(living.state.places == WITHDRAWN).tolist())
    assert (living.state.class_of[sorted(gone), 1:] == -1).all()
    assert living.state.quasi["age"].gather(sorted(gone)).null_count() == len(gone)


@pytest.mark.slow
def test_withdrawal_leaves_the_multisets_as_they_were() -> None:
    living = Living(schema_with(1, k=3), deletions="withdraw")
    living.release([(f"p{place}", 1 if place < 3 else 90, "fgh"[place % 3]) for place in range(9)])
    living.release([(f"p{place}", 1 if place < 3 else 90, "fgh"[place % 3]) for place in range(1, 9)])
    out = living.state.places == WITHDRAWN
    assert sorted(living.state.sensitive["ill"].gather(living.state.current_version[out])) == ["f", "g", "h"]


@pytest.mark.slow
def test_classes_are_merged_where_the_distribution_drifts() -> None:
    living = Living(schema_with(0.3))
    rows = [(f"p{place}", 10 * (place // 4), "f" if place % 4 else "h") for place in range(12)]
    living.release(rows)
    n_atoms = len(np.unique(living.state.atoms))
    assert n_atoms > 1
    ill = [(f"q{place}", 50 + place // 4, "f" if place % 2 else "h") for place in range(16)]
    assert living.release([*rows, *ill]) == {"added": 16}
    before = living.state.atoms[:12]
    assert len(np.unique(before)) == n_atoms  # atoms stay as they were


def test_a_stricter_schema_is_fine_and_a_looser_one_is_refused() -> None:
    strict = schema_with(0.2, k=3, rise=0.2, l=2)
    check_follows(schema_with(0.5), strict)
    for looser, named in (
        (schema_with(0.3, k=3, rise=0.2, l=2), "t is larger"),
        (schema_with(0.2, k=2, rise=0.2, l=2), "k is 2, and was 3"),
        (schema_with(0.2, k=3, l=2), "rise is not asked any more"),
        (schema_with(0.2, k=3, rise=0.2), "l.distinct asks less"),
        (schema_with(0.2, k=3, rise=0.2, l={"entropy": 2}), "l.distinct asks less"),
    ):
        with pytest.raises(SchemaError, match=named):
            check_follows(strict, looser)
    keys = {"k": 2, "unit": "who", "quasi": {"age": {"kind": "numeric"}}}
    two = keys | {"sensitive": {name: {"distance": "equal", "t": 0.5} for name in ("ill", "pay")}}
    bound = Schema.from_dict(two | {"joint": {"both": {"columns": ["ill", "pay"], "t": 0.6}}})
    check_follows(Schema.from_dict(two), bound)
    with pytest.raises(SchemaError, match="The joint 'both' is not what it was"):
        check_follows(bound, Schema.from_dict(two))
    other = Schema.from_dict(strict.as_dict() | {"sensitive": {"ill": {"distance": "ordered", "t": 0.1}}})
    with pytest.raises(SchemaError, match="'distance' is not what it was"):
        check_follows(strict, other)
    with pytest.raises(SchemaError, match="quasi-identifiers are other columns"):
        check_follows(strict, replace(strict, quasi=(replace(strict.quasi[0], column="zip"),)))


@pytest.mark.slow
def test_under_a_stricter_schema_old_atoms_stay_and_classes_are_merged() -> None:
    living = Living(schema_with(0.5))
    rows = two_classes("f", "h", "f", "h", "f", "h", "f", "h")
    living.release(rows)
    n_atoms = len(np.unique(living.state.atoms))
    living.schema = schema_with(0.5, k=4)
    living.release(rows)
    assert living.last is not None
    assert living.last.measured.k >= 4
    assert len(np.unique(living.state.atoms)) == n_atoms


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"unit": None}, "names none"),
        ({"unit_rows": "all"}, 'unit_rows = "all" cannot be kept'),
        ({"unit_rows": "one"}, "draw another row"),
        ({"keep": ("town",)}, "Kept columns"),
        ({"sensitive": ()}, "names none"),
    ],
)
def test_what_cannot_be_kept_is_refused(keys: dict[str, Any], named: str) -> None:
    with pytest.raises(SchemaError, match=named):
        check_supported(replace(schema_with(0.5), **keys))


def test_a_key_that_is_not_understood_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is added to schemas later is refused until someone has thought about it."""
    from tclose.history import followed_schema

    known = tuple(key for key in followed_schema.HANDLED if key != "missing")
    monkeypatch.setattr(followed_schema, "HANDLED", known)
    with pytest.raises(SchemaError, match="'missing' cannot be kept over several releases"):
        check_supported(replace(schema_with(0.5), missing="category"))


def test_several_rows_of_a_person_are_refused() -> None:
    living = Living(schema_with(0.5))
    with pytest.raises(TableError, match="3 units have 4 rows"):
        living.release([("a", 1, "f"), ("a", 2, "h"), ("b", 1, "f"), ("c", 1, "h")])


@pytest.mark.slow
def test_one_row_of_each_person_is_taken_where_the_schema_says_which() -> None:
    keys = {"unit_rows": "one", "unit_pick": "last", "unit_order": "day", "missing": "drop"}
    schema = replace(schema_with(0.5), **keys)  # type: ignore[arg-type]
    rows = [("a", 1, "f", 1), ("a", 1, "h", 2), ("b", 1, "f", 1), ("c", 1, "h", 1), ("d", 1, "f", 1), ("e", 1, None, 1)]
    frame = pl.DataFrame(rows, schema=["who", "age", "ill", "day"], orient="row")
    release, state = follow(HistoryState.empty(), KEY, Source.of(frame), schema, find("mondrian"), seed=0)
    assert sorted(state.sensitive["ill"]) == ["f", "f", "h", "h"]
    assert (release.record.input_rows, release.record.unpicked_rows, release.record.dropped_rows) == (6, 1, 1)


def test_a_first_batch_below_k_is_infeasible() -> None:
    with pytest.raises(InfeasibleError, match="fewer than k = 2"):
        Living(schema_with(0.5)).release([("a", 1, "f")])
