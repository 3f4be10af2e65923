"""What keeps classes from being cut in two, beside a slow count of the same, and where it is known."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms import held_classes as module
from tclose.algorithms.held_classes import held_classes
from tclose.algorithms.requirement import Requirement
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import Source
from tests.seeds import for_seeds
from tests.small_tables import small_table


def cut_by_hand(places: list[int]) -> set[int] | None:
    """The places left of a cut next to the median; None where all rows are at one place."""
    ordered = sorted(places)
    middle = len(ordered) // 2
    low = sum(place < ordered[middle] for place in ordered)
    high = sum(place <= ordered[middle] for place in ordered)
    if low > 0 and (high == len(ordered) or middle - low <= high - middle):
        return {place for place in ordered if place < ordered[middle]}
    return {place for place in ordered if place <= ordered[middle]} if high < len(ordered) else None


def by_hand(table: EncodedTable, asked: Requirement, labels: list[int]) -> dict[str, Any]:
    """Every class, every axis, every demand, one row at a time."""
    names: list[str | None] = [None, *(each.domain.column for each in asked.attributes if each.t is not None or each.l)]
    shares: dict[Any, Fraction] = dict.fromkeys([*names, "together", "free", "alike"], Fraction(0))
    of_class = {}
    for label in sorted(set(labels)):
        rows = [row for row, own in enumerate(labels) if own == label]
        holding, free, cuts = set(names), False, 0
        for places in table.places:
            left = cut_by_hand([int(places[row]) for row in rows])
            if left is None:
                continue
            cuts += 1
            halves = [[row for row in rows if (int(places[row]) in left) is side] for side in (True, False)]
            broken: set[str | None] = {None} if min(map(len, halves)) < asked.k else set()
            for attribute, codes in zip(asked.attributes, table.codes, strict=True):
                counts = [np.bincount(codes[half], minlength=attribute.domain.size) for half in halves]
                if not all(attribute.holds(each) for each in counts):
                    broken.add(attribute.domain.column)
            holding &= broken
            free |= not broken
        told = holding if cuts else {"alike"}
        told = told or ({"free"} if free else {"together"})
        of_class[label] = (len(rows), holding if cuts else set())
        for each in told:
            shares[each] += Fraction(len(rows), len(labels))
    return {"shares": shares, "classes": of_class}


@for_seeds(60)
def test_shares_are_those_of_a_slow_count(seed: int) -> None:
    frame, schema = small_table(seed)
    table = encode(Source.of(frame), schema)
    asked = Requirement.of(schema, table)
    labels = np.random.default_rng(seed).integers(0, 3, len(table))
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    found, wanted = held_classes(table, asked, labels), by_hand(table, asked, labels.tolist())
    shares = wanted["shares"]
    assert (found.rows, found.classes) == (len(table), int(labels.max()) + 1)
    assert found.k == pytest.approx(float(shares[None]))
    assert found.attributes == pytest.approx({name: float(shares[name]) for name in found.attributes})
    assert set(found.attributes) == {name for name in shares if name not in (None, "together", "free", "alike")}
    for name in ("together", "free", "alike"):
        assert getattr(found, name) == pytest.approx(float(shares[name])), name
    least = min(size for size, _ in wanted["classes"].values())
    assert set(found.smallest) in [holding for size, holding in wanted["classes"].values() if size == least]


def table_of(n: int, t: str, k: int = 2, l: int | None = None) -> tuple[EncodedTable, Requirement]:  # noqa: E741
    """Ages in order; the first half of the rows is ill."""
    frame = pl.DataFrame({"age": range(n), "ill": ["yes"] * (n // 2) + ["no"] * (n - n // 2)})
    diverse = {} if l is None else {"l": l}
    schema = Schema.from_dict(
        {"k": k, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": t, **diverse}}}
    )
    table = encode(Source.of(frame), schema)
    return table, Requirement.of(schema, table)


@pytest.mark.parametrize(
    ("t", "k", "diverse", "holding"),
    [
        ("0.1", 2, None, ("ill",)),
        ("1", 2, None, ()),
        ("1", 30, None, (None,)),
        ("0.1", 30, None, (None, "ill")),
        ("1", 2, 2, ("ill",)),
    ],
)
def test_what_holds_one_class_is_named(t: str, k: int, diverse: int | None, holding: tuple[str | None, ...]) -> None:
    found = held_classes(*table_of(40, t, k, diverse), np.zeros(40, np.int64))
    assert found.smallest == holding
    assert found.free == (0.0 if holding else 1.0)


def test_at_the_threshold_it_is_decided_exactly() -> None:
    """Halves are at 1/2: t = 1/2 allows the cut, the next smaller fraction of a large denominator does not."""
    assert held_classes(*table_of(40, "1/2"), np.zeros(40, np.int64)).free == 1.0
    assert held_classes(*table_of(40, "499999999999/1000000000000"), np.zeros(40, np.int64)).attributes == {"ill": 1.0}


def test_of_many_classes_some_are_looked_at_and_the_smallest_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CLASSES", 5)
    table, asked = table_of(100, "1", k=2)
    labels = np.repeat(np.arange(25), 4)
    labels[labels == 7] = 8  # leaves the number 7 to the two rows taken next
    labels[:2] = 7
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    found = held_classes(table, asked, labels)
    assert found.classes == 5
    assert found.smallest == (None,)
    monkeypatch.setattr(module, "MOST_ROWS", 1)
    assert held_classes(table, asked, labels).classes == 1


def test_rows_that_are_alike_are_not_cut() -> None:
    schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}})
    table = encode(Source.of(pl.DataFrame({"age": [1, 1, 1, 1, 2, 3]})), schema)
    found = held_classes(table, Requirement.of(schema, table), np.array([0, 0, 0, 0, 1, 1]))
    assert [found.alike, found.k] == pytest.approx([4 / 6, 2 / 6])
