"""Recoding: what is released covers what was there, and loses what the definition says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.release.recode import recode
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.partition import Partition
from tclose.table.row_selection import select_rows
from tclose.table.source import read
from tests.oracles.release import loss

PATHS = [("a", "x", "*"), ("b", "x", "*"), ("c", "z", "y", "*"), ("d", "z", "y", "*"), ("e", "y", "*"), ("f", "*")]
TREE = {"x": ["a", "b"], "y": {"z": ["c", "d"], "e": []}, "f": []}
Covers = Callable[[str, str], bool]  # whether a label covers a value


def released(columns: Mapping[str, list[Any]], labels: list[int], quasi: dict[str, Any], **keys: Any) -> pl.DataFrame:
    """The release of a table in classes with these labels."""
    schema = Schema.from_dict({"k": 1, "missing": "category", "quasi": quasi, **keys})
    source = read(pl.DataFrame(dict(columns), strict=False))
    table = encode(source, schema)
    return recode(table, Partition.of(np.array(labels)), source, select_rows(source, schema)[0], schema)


def in_interval(label: str, value: str) -> bool:
    number = Fraction(value)
    if label[0] in "<>":
        return number < Fraction(label[1:]) if label[0] == "<" else number > Fraction(label[1:])
    if label[0] != "[":
        return Fraction(label) == number
    low, high = label[1:-1].split(", ")
    return (low[0] == "<" or Fraction(low) <= number) and (high[0] == ">" or number <= Fraction(high))


def in_period(label: str, value: str) -> bool:
    low, _, high = label.partition("/")
    if not high and low[0] in "<>":
        return value < low[1:] if low[0] == "<" else value > low[1:]
    return (low[0] == "<" or low <= value) and ((high or low)[0] == ">" or value <= (high or low))


def under_prefix(label: str, value: str) -> bool:
    return label == value or (label.endswith("*") and value.startswith(label.rstrip("*")))


def above(label: str, value: str) -> bool:
    return label in next(path for path in PATHS if path[0] == value)


def by_position(label: str, value: str) -> bool:
    return len(label) == len(value) and all(shown in ("*", digit) for shown, digit in zip(label, value, strict=True))


def same(label: str, value: str) -> bool:
    return label in ("*", value)


KINDS: dict[str, tuple[dict[str, Any], Covers]] = {
    "age": ({"kind": "numeric"}, in_interval),
    "height": ({"kind": "numeric", "step": 0.25}, in_interval),
    "pay": ({"kind": "numeric", "step": 10, "bottom": -15, "top": 25}, in_interval),
    "born": ({"kind": "date"}, in_period),
    "seen": ({"kind": "date", "step": "month", "bottom": "2000-02-01", "top": "2000-11-15"}, in_period),
    "week": ({"kind": "date", "step": 7}, in_period),
    "zip": ({"kind": "text"}, under_prefix),
    "word": ({"kind": "text"}, under_prefix),
    "phone": ({"kind": "digits"}, by_position),
    "job": ({"kind": "categorical", "hierarchy": TREE}, above),
    "flat": ({"kind": "categorical"}, same),
}


def random_table(seed: int, missing: float) -> tuple[dict[str, list[str]], list[int]]:
    """Columns of every kind as text, and a random partition."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    days = [str(date(2000, 1, 1) + timedelta(int(day))) for day in rng.integers(0, 360, 3 * n)]
    columns = {
        "age": [str(age) for age in rng.integers(-20, 60, n)],
        "height": [f"{height / 100:.2f}" for height in rng.integers(120, 220, n)],
        "pay": [f"{pay / 2}" for pay in rng.integers(-80, 80, n)],
        "born": days[:n],
        "seen": days[n : 2 * n],
        "week": days[2 * n :],
        "zip": [f"{code:05}" for code in rng.integers(2000, 2300, n)],
        "word": ["".join(rng.choice(list("ab"), int(rng.integers(1, 5)))) for _ in range(n)],
        "phone": [f"{code:04}" for code in rng.integers(0, 2000, n)],
        "job": rng.choice(list("abcdef"), n).tolist(),
        "flat": rng.choice(["r", "s", "t"], n).tolist(),
    }
    hidden = {name: ["" if rng.random() < missing else value for value in values] for name, values in columns.items()}
    return hidden, rng.integers(0, int(rng.integers(1, 6)), n).tolist()


@pytest.mark.parametrize("missing", [0, 0.1, 0.6])
@pytest.mark.parametrize("seed", range(12))
def test_every_label_covers_its_rows(seed: int, missing: float) -> None:
    columns, labels = random_table(seed, missing)
    frame = released(columns, labels, {name: keys for name, (keys, _) in KINDS.items()})
    for name, (_, covers) in KINDS.items():
        of_class: dict[int, set[str | None]] = {}
        for label, told, value in zip(labels, frame[name].to_list(), columns[name], strict=True):
            of_class.setdefault(label, set()).add(told)
            members = [other for row, other in enumerate(columns[name]) if labels[row] == label]
            if "" in members:
                alone = all(other == "" for other in members)
                assert told is None if alone else set(told) == {"*"}
            else:
                assert covers(told, value), (name, told, value)
        assert all(len(told) == 1 for told in of_class.values())  # one release a class


@pytest.mark.parametrize("seed", range(12))
def test_suppression_keeps_what_a_class_agrees_on(seed: int) -> None:
    columns, labels = random_table(seed, 0.1)
    kinds = {name: {"kind": keys["kind"]} for name, (keys, _) in KINDS.items()}
    frame = released(columns, labels, kinds, recode="suppress")
    for name in set(KINDS) - {"phone"}:
        for row, told in enumerate(frame[name].to_list()):
            members = {columns[name][other] for other in range(len(labels)) if labels[other] == labels[row]}
            if name in ("height", "pay"):
                members = {value and format(Decimal(value).normalize(), "f") for value in members}
            wanted = None if members == {""} else members.pop() if len(members) == 1 else "*"
            assert told == wanted
    for row, told in enumerate(frame["phone"].to_list()):
        members = {columns["phone"][other] for other in range(len(labels)) if labels[other] == labels[row]}
        if "" not in members:
            agreed = ["*" if len(set(digits)) > 1 else digits[0] for digits in zip(*members, strict=True)]
            assert told == "".join(agreed)


@pytest.mark.parametrize("missing", [0, 0.1])
@pytest.mark.parametrize("seed", range(12))
def test_the_loss_is_that_of_the_definition(seed: int, missing: float) -> None:
    columns, labels = random_table(seed, missing)
    chosen = {name: columns[name] for name in ("age", "pay", "job", "flat")}
    schema = Schema.from_dict(
        {
            "k": 1,
            "missing": "category",
            "quasi": {
                "age": {"kind": "numeric"},
                "pay": {"kind": "numeric"},
                "job": {"kind": "categorical", "hierarchy": TREE},
                "flat": {"kind": "categorical"},
            },
        }
    )
    rows = [dict(zip(chosen, row, strict=True)) for row in zip(*chosen.values(), strict=True)]
    flat = [(value, "*") for value in sorted(set(chosen["flat"]) - {""})]
    wanted = loss(
        rows,
        labels,
        {"age": ("numeric",), "pay": ("numeric",), "job": ("categorical", PATHS), "flat": ("categorical", flat)},
    )
    table = encode(read(pl.DataFrame(chosen)), schema)
    assert table.loss(Partition.of(np.array(labels)).labels) == pytest.approx(float(wanted), abs=1e-12)


def test_the_loss_of_suppression_is_the_share_of_suppressed_cells() -> None:
    columns = {"age": ["1", "1", "2", "3"], "job": ["a", "b", "a", "a"]}
    schema = Schema.from_dict(
        {"k": 1, "recode": "suppress", "quasi": {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}}}
    )
    table = encode(read(pl.DataFrame(columns)), schema)
    assert table.loss(np.array([0, 0, 1, 1])) == pytest.approx(4 / 8)


# How numbers are published


def test_an_interval_a_single_value_and_a_star() -> None:
    frame = released(
        {"age": ["45", "20", "7", "7.0", "", "3", ""]}, [0, 0, 1, 1, 2, 2, 3], {"age": {"kind": "numeric"}}
    )
    assert frame["age"].to_list() == ["[20, 45]", "[20, 45]", "7", "7", "*", "*", None]


def test_a_period() -> None:
    days = ["2021-03-09", "2021-03-02", "2021-03-05", "2021-03-05"]
    frame = released({"seen": days}, [0, 0, 1, 1], {"seen": {"kind": "date"}})
    assert frame["seen"].to_list() == ["2021-03-02/2021-03-09"] * 2 + ["2021-03-05"] * 2


def test_bounds_are_two_columns_of_numbers() -> None:
    quasi = {"age": {"kind": "numeric", "publish": "bounds", "step": 5}}
    frame = released({"before": ["x"] * 4, "age": ["21", "33", "45", "45"]}, [0, 0, 1, 1], quasi, keep=["before"])
    assert frame.columns == ["before", "age_low", "age_high"]
    assert frame.schema["age_low"] == pl.Int64
    assert frame.select("age_low", "age_high").rows() == [(20, 35), (20, 35), (45, 45), (45, 45)]


def test_bounds_with_decimals_tails_and_missing_values() -> None:
    quasi = {"age": {"kind": "numeric", "publish": "bounds", "bottom": 20, "top": 60}}
    values = ["10.5", "30.25", "70", "80", "40", "50"]
    frame = released({"age": values}, [0, 0, 1, 1, 2, 2], quasi)
    assert frame.rows() == [(None, 30.25)] * 2 + [(60, None)] * 2 + [(40, 50)] * 2
    mixed = released({"age": ["30", "", "40", "50", "", ""]}, [0, 0, 1, 1, 2, 2], quasi)
    assert mixed.rows() == [("*", "*")] * 2 + [("40", "50")] * 2 + [(None, None)] * 2


def test_bounds_of_dates_are_dates() -> None:
    quasi = {"seen": {"kind": "date", "publish": "bounds", "step": "month"}}
    frame = released({"seen": ["2021-03-09", "2021-02-02"]}, [0, 0], quasi)
    assert frame.rows() == [(date(2021, 2, 1), date(2021, 3, 31))] * 2


def test_mean() -> None:
    quasi = {"age": {"kind": "numeric", "publish": "mean"}}
    frame = released({"age": ["1", "2", "2", "10", "20"]}, [0, 0, 0, 1, 1], quasi)
    assert frame["age"].to_list() == [1.67, 1.67, 1.67, 15, 15]
    whole = released({"age": ["1", "3", "7", "7"]}, [0, 0, 1, 1], quasi)
    assert whole["age"].to_list() == [2, 2, 7, 7]
    assert whole.schema["age"] == pl.Int64
    decimals = released({"age": ["0.5", "0.25"]}, [0, 0], quasi)
    assert decimals["age"].to_list() == [0.375] * 2


def test_the_mean_does_not_tell_the_tails() -> None:
    quasi = {"age": {"kind": "numeric", "publish": "mean", "top": 60, "bottom": 20}}
    frame = released({"age": ["50", "100", "20", "0"]}, [0, 0, 1, 1], quasi)
    assert frame["age"].to_list() == [55, 55, 20, 20]


def test_the_mean_with_missing_values() -> None:
    quasi = {"age": {"kind": "numeric", "publish": "mean"}}
    frame = released({"age": ["1", "2", "3", "", "", ""]}, [0, 0, 1, 1, 2, 2], quasi)
    assert frame["age"].to_list() == ["1.5", "1.5", "*", "*", None, None]


# What else is released


def test_other_columns() -> None:
    columns = {"id": ["p", "q"], "ill": ["flu", "?"], "age": ["1", "2"], "kept": ["?", ""], "unit": ["u", "v"]}
    keys: dict[str, Any] = {"identifiers": ["id"], "unit": "unit", "keep": ["kept"], "missing_values": ["?"]}
    keys["sensitive"] = {"ill": {"distance": "equal", "t": 1}}
    frame = released(columns, [0, 0], {"age": {"kind": "numeric"}}, **keys)
    assert frame.columns == ["ill", "age", "kept"]  # the table's order; no identifier, no unit
    assert frame.rows() == [("flu", "[1, 2]", "?"), (None, "[1, 2]", None)]


def test_labels_need_not_be_in_the_order_of_the_rows() -> None:
    frame = released({"age": ["9", "1", "8", "2"]}, [7, 3, 7, 3], {"age": {"kind": "numeric"}})
    assert frame["age"].to_list() == ["[8, 9]", "[1, 2]", "[8, 9]", "[1, 2]"]
