"""The intake: rows as mappings become columns of text, all cells at once or one by one."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.schema.schema import Schema
from tclose.stream import Engine, intake

SCHEMA = Schema.from_dict(
    {
        "k": 2,
        "identifiers": ["name"],
        "quasi": {"age": {"kind": "numeric"}, "zip": {"kind": "text"}},
        "sensitive": {"ill": {"distance": "equal", "t": "0.5"}},
    }
)
CELLS = st.one_of(
    st.none(),
    st.text(max_size=3),
    st.integers(-3, 3),
    st.sampled_from([2**63 - 1, -(2**63), 2**63, 10**30, True, 1.5, float("nan"), Decimal("1.50"), [1], {"a": 1}]),
    st.just(date(2021, 3, 2)),
)
NAMES = st.sampled_from(["age", "zip", "ill", "name", "other"])
ROWS = st.one_of(
    st.lists(st.dictionaries(NAMES, CELLS), max_size=5),
    st.lists(st.fixed_dictionaries({"age": st.integers(), "zip": st.text(max_size=2), "ill": st.none()}), max_size=5),
    st.lists(st.fixed_dictionaries({"age": st.integers(-5, 5) | st.none(), "zip": CELLS, "ill": CELLS}), max_size=5),
)


def one_by_one(rows: list[dict[str, Any]]) -> intake.OpenedRows:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake, "_texts_at_once", lambda _name, _cells: None)
        return intake.opened(rows, SCHEMA, {})


@given(ROWS)
def test_cells_at_once_are_as_cells_one_by_one(rows: list[dict[str, Any]]) -> None:
    found, expected = intake.opened(rows, SCHEMA, {}), one_by_one(rows)
    assert found.frame.equals(expected.frame)
    assert found.frame.columns == ["age", "zip", "ill"]
    assert {why: mask.tolist() for why, mask in found.bad.items()} == {
        why: mask.tolist() for why, mask in expected.bad.items()
    }


def test_what_is_wrong_is_told_by_row() -> None:
    rows: list[dict[str, Any]] = [
        {"age": 1, "zip": "a", "ill": "x"},
        {"age": 1, "zip": "a"},
        {"age": [1], "zip": "a", "ill": "x"},
        {"age": 1, "zip": "a", "ill": "x", "other": 1},
        {"age": 10**30, "zip": "a", "ill": None, "name": "n"},
    ]
    found = intake.opened(rows, SCHEMA, {})
    assert {why: mask.tolist().index(True) for why, mask in found.bad.items()} == {
        ("ill", intake.LACKS): 1,
        ("age", intake.NESTED): 2,
        (None, intake.UNKNOWN): 3,
    }
    assert all(mask.sum() == 1 for mask in found.bad.values())
    assert found.frame["age"].to_list() == ["1", "1", None, "1", str(10**30)]
    assert found.frame.schema == {"age": pl.String, "zip": pl.String, "ill": pl.String}


def test_durations_come_typed_or_as_text() -> None:
    """A batch of another unit, or of text, fits one whose type is known; what has no duration is rejected."""
    ages, lengths = [20, 20], [timedelta(hours=1), timedelta(minutes=5)]
    typed = pl.DataFrame({"age": ages, "zip": ["a", "b"], "ill": pl.Series(lengths, dtype=pl.Duration("us"))})
    types = dict(typed.schema)
    assert intake.opened(typed.cast({"ill": pl.Duration("ms")}), SCHEMA, types).frame.equals(typed)
    text = typed.with_columns(ill=pl.Series(["01:00:00", "00:05:00"]))
    assert intake.opened(typed, SCHEMA, dict(text.schema)).frame.equals(text)
    lost = intake.opened(text, SCHEMA, types)
    assert lost.bad["ill", intake.OTHER_TYPE].tolist() == [True, True]


def test_a_stream_of_durations_is_released() -> None:
    rows = range(60)
    frame = pl.DataFrame(
        {
            "age": [20 + row % 7 for row in rows],
            "zip": ["a"] * 60,
            "ill": [timedelta(hours=row % 3) for row in rows],
        }
    )
    engine = Engine(SCHEMA, window=30, step=10, seed=1)
    outcomes = [*engine.feed(frame), *engine.finish()]
    released = pl.concat([found.frame for outcome in outcomes for found in outcome.released])
    assert len(released) == 60
    assert released["ill"].dtype == pl.Duration("us")
