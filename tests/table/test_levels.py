"""The levels of axes, for methods that climb hierarchies."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.schema.schema import Schema
from tclose.table.axes import Axis
from tclose.table.encode import encode
from tclose.table.source import read

TENS = {"build": "intervals", "widths": [5, 10]}
UNEVEN = {"a": {"b": ["c", "d"], "e": ["f"]}, "g": ["h", "i"], "j": []}


def axis_of(values: list[Any], kind: str, recode: str = "generalize", **keys: Any) -> tuple[Axis, list[int]]:
    quasi = {"q": {"kind": kind, **keys}}
    schema = Schema.from_dict({"k": 1, "missing": "category", "recode": recode, "quasi": quasi})
    table = encode(read(pl.DataFrame({"q": pl.Series(values, dtype=pl.String)})), schema)
    return table.axes[0], table.places[0].tolist()


def groups(values: list[Any], kind: str, **keys: Any) -> list[list[list[str]]]:
    """By level, the values that are one, in order of places."""
    axis, places = axis_of(values, kind, **keys)
    assert axis.levels.shape[1] == axis.size
    told: list[list[list[str]]] = []
    for level in axis.levels:
        assert level[0] == 0
        assert set(np.diff(level).tolist()) <= {0, 1}
        together: dict[int, set[str]] = {}
        for value, place in zip(values, places, strict=True):
            together.setdefault(int(level[place]), set()).add(value or "-")
        told.append([sorted(together[group]) for group in sorted(together)])
    for lower, upper in zip(axis.levels, axis.levels[1:], strict=False):
        assert len(set(zip(lower.tolist(), upper.tolist(), strict=True))) == lower.max() + 1  # nested
    assert not axis.levels[-1].any()
    return told


def test_intervals() -> None:
    assert groups(["3", "4", "7", "12"], "numeric", hierarchy=TENS) == [
        [["3"], ["4"], ["7"], ["12"]],
        [["3", "4"], ["7"], ["12"]],
        [["3", "4", "7"], ["12"]],
        [["12", "3", "4", "7"]],
    ]


def test_missing_is_apart_until_the_top() -> None:
    assert groups(["3", "12", None], "numeric", hierarchy=TENS)[-2:] == [[["3"], ["12"], ["-"]], [["-", "12", "3"]]]
    assert groups(["c", "h", None], "categorical", hierarchy=UNEVEN)[-2:] == [[["c"], ["h"], ["-"]], [["-", "c", "h"]]]
    assert groups(["x", None], "categorical") == [[["x"], ["-"]], [["-", "x"]]]


@pytest.mark.parametrize("kind", ["numeric", "date", "text", "categorical", "digits"])
def test_nothing_but_missing(kind: str) -> None:
    assert groups([None, None], kind) == [[["-"]]]


def test_values_that_are_released_alike_are_one() -> None:
    values = ["1", "2", "7", "41", "42", "43", "60", "61", "75", "90"]
    told = groups(values, "numeric", hierarchy=TENS, step=2, bottom=3, top=60)
    # [42, 44] and 42 differ; 61 and beyond are only `>60`, and lie where 60 does.
    assert told[0] == [["1", "2"], ["7"], ["41"], ["42"], ["43"], ["60"], ["61", "75", "90"]]
    assert told[1] == [["1", "2"], ["7"], ["41", "42", "43"], ["60", "61", "75", "90"]]
    # A step across the borders of the hierarchy joins nothing that level 1 keeps apart.
    told = groups(["1", "2", "4", "5"], "numeric", hierarchy=TENS, step=7)
    assert told[:2] == [[["1", "2", "4"], ["5"]]] * 2


def test_decimals_and_numbers_below_zero() -> None:
    halves = {"build": "intervals", "widths": [0.5, 1], "origin": 0.25}
    told = groups(["-0.3", "-0.2", "0.2", "0.25", "0.8"], "numeric", hierarchy=halves)
    assert told[1] == [["-0.3"], ["-0.2", "0.2"], ["0.25"], ["0.8"]]
    assert told[2] == [["-0.2", "-0.3", "0.2"], ["0.25", "0.8"]]


def test_dates() -> None:
    months = {"build": "dates", "levels": ["month", "year"]}
    values = ["1969-12-31", "2021-03-01", "2021-03-09", "2021-04-01"]
    told = groups(values, "date", hierarchy=months)
    assert told[1] == [["1969-12-31"], ["2021-03-01", "2021-03-09"], ["2021-04-01"]]
    assert told[2] == [["1969-12-31"], ["2021-03-01", "2021-03-09", "2021-04-01"]]
    assert groups(values, "date", hierarchy=months, step="month")[0] == told[1]


def test_leaves_at_uneven_depths() -> None:
    told = groups(["c", "d", "f", "h", "i", "j"], "categorical", hierarchy=UNEVEN)
    assert [sorted(level) for level in told] == [
        [["c"], ["d"], ["f"], ["h"], ["i"], ["j"]],
        [["c", "d"], ["f"], ["h", "i"], ["j"]],
        [["c", "d", "f"], ["h", "i"], ["j"]],
        [["c", "d", "f", "h", "i", "j"]],
    ]


def test_text_by_where_values_part_or_by_given_lengths() -> None:
    values = ["0213", "0214", "0300", "1000"]
    parting = groups(values, "text")
    assert parting[1] == [["0213", "0214"], ["0300"], ["1000"]]
    assert parting[2] == [["0213", "0214", "0300"], ["1000"]]
    prefixes = {"build": "prefixes", "lengths": [2]}
    assert groups(values, "text", hierarchy=prefixes)[1] == [["0213", "0214"], ["0300"], ["1000"]]
    assert len(groups(values, "text", hierarchy=prefixes)) == 3


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_without_a_hierarchy_there_is_nothing_between(kind: str) -> None:
    assert groups(["1", "2"], kind) == [[["1"], ["2"]], [["1", "2"]]]
    assert groups(["1", "2"], kind, recode="suppress") == [[["1"], ["2"]], [["1", "2"]]]


def test_the_hierarchy_is_not_built_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from tclose.schema.builders import Intervals

    built: list[int] = []
    monkeypatch.setattr(Intervals, "build", lambda self, values: built.append(len(values)))
    axis_of(["1", "2"], "numeric", hierarchy=TENS)
    assert not built
