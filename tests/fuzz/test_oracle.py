"""The judge against tables worked out in the papers and by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tests.fuzz.grounds import attribute, joined
from tests.fuzz.meaning import Cell, NoMeaning, Rows, day, day_number, is_missing, label, number, ranks_of
from tests.fuzz.oracle import groups, is_diverse, judge, remaining
from tests.fuzz.transport import least_work
from tests.fuzz.truth import lies


def _table(classes: Sequence[Sequence[Cell]]) -> Rows:
    return [{"q": f"class {place}", "s": cell} for place, cells in enumerate(classes) for cell in cells]


def _schema(**sensitive: Any) -> dict[str, Any]:
    return {"k": 1, "quasi": {"q": {"kind": "categorical"}}, "sensitive": {"s": {"t": 1, **sensitive}}}


def test_salaries_of_paper_001_section_3() -> None:
    rows = _table([[3, 4, 5], [6, 8, 11], [7, 9, 10]])
    found = attribute([row["s"] for row in rows], {"distance": "ordered"}, {})
    distances = [found.emd(members) for members in groups(rows, ["q"])]
    assert distances == [Fraction(3, 8), Fraction(1, 6), Fraction(17, 72)]
    assert judge(rows, _schema(distance="ordered")).t == {"s": Fraction(3, 8)}


def test_merit_points_of_paper_001_section_4() -> None:
    rows = _table([["4", "1", "2"], ["3"], ["3", "3", "4", "1"], ["3", "4"]])
    found = judge(rows, _schema(distance="ordered", order=[3, 4, 1, 2]))
    assert (found.k, found.classes, found.t["s"]) == (1, 4, Fraction(1, 3))


def test_diseases_of_paper_001_section_5() -> None:
    first = ["gastric ulcer", "gastritis", "stomach cancer"]
    rows = _table([first, ["gastritis", "flu", "bronchitis"], ["bronchitis", "pneumonia", "stomach cancer"]])
    assert judge(rows, _schema(distance="equal")).t["s"] == Fraction(4, 9)


def test_incidents_of_paper_001_section_2() -> None:
    """Table 2: k is 2, the first class has one distinct value, and t is 5/7."""
    third = ["sidewalk repair", "power outage"]
    fourth = ["pest control", "power outage", "sidewalk repair", "tree replanting", "sidewalk repair"]
    classes = [["power outage"] * 3, ["theft", "fire", "fatal accident", "fire"], third, fourth]
    rows = _table(classes)
    found = judge(rows, _schema(distance="equal"))
    assert (found.k, found.l["s"].distinct, found.t["s"]) == (2, 1, Fraction(5, 7))
    each = attribute([row["s"] for row in rows], {"distance": "equal"}, {})
    distances = [each.emd(members) for members in groups(rows, ["q"])]
    assert distances == [Fraction(9, 14), Fraction(5, 7), Fraction(3, 7), Fraction(31, 70)]


def test_hierarchical_distances_are_heights_of_common_ancestors() -> None:
    tree = {"lung": ["flu", "asthma"], "skin": {"burn": [], "rash": ["mild", "bad"]}}
    found = attribute(["flu", "asthma", "burn", "mild", None], {"distance": "hierarchical", "hierarchy": tree}, {})
    assert found.size == 6  # five leaves, one of them unused, and missing
    ground = [[found.ground(a, b) for b in found.places] for a in found.places]
    assert ground[0] == [0, Fraction(1, 3), 1, 1, 1]
    assert ground[2][3] == Fraction(2, 3)
    assert found.emd([0]) == Fraction(1, 5) * Fraction(1, 3) + Fraction(3, 5)


def test_joint_is_the_mean_of_its_columns() -> None:
    """The example of docs/guarantees.md: 1/4."""
    smokes = ["yes"] * 3 + ["no"] * 3 + ["yes", "yes", "yes", "no", "no", "no"]
    blood = ["high"] * 3 + ["normal"] * 3 + ["normal", "normal", "normal", "high", "high", "high"]
    both = joined([attribute(cells, {"distance": "equal"}, {}) for cells in (smokes, blood)])
    assert both.emd(range(6)) == Fraction(1, 4)


@pytest.mark.parametrize(
    ("keys", "cells", "places", "size"),
    [
        ({"bins": 2}, [1, 2, 2, 2, 9, 10], [0, 0, 0, 0, 1, 1], 2),
        ({"bins": 3}, [1, 1, 1, 1, 1, 2], [0, 0, 0, 0, 0, 1], 2),
        ({"bins": 9}, [5, 5, 7], [0, 0, 1], 2),
        ({"edges": [4, 100]}, [3, 4, 99, 100], [0, 1, 1, 2], 3),
        ({}, ["10", "9", "1e1", None], [1, 0, 1, 2], 3),
        ({}, ["9999-12-31", "2020-01-01", "0001-01-01"], [2, 1, 0], 3),
        ({}, [Decimal("0.100000000000000001"), Decimal("0.1")], [1, 0], 2),
        ({}, ["2020-01-01T00:30:00+01:00", "2020-01-01T00:00:00+00:00"], [0, 1], 2),
    ],
)
def test_places_of_ordered_values(keys: dict[str, Any], cells: list[Cell], places: list[int], size: int) -> None:
    found = attribute(cells, {"distance": "ordered", **keys}, {})
    assert (found.places, found.size) == (places, size)


def test_numeric_distance_is_over_the_range() -> None:
    found = attribute([0, 1, 3], {"distance": "numeric", "range": [0, 4]}, {})
    assert found.emd([0]) == Fraction(1, 3)
    assert attribute([0, 1, 3], {"distance": "numeric"}, {}).emd([0]) == Fraction(4, 9)
    assert attribute([7, 7], {"distance": "numeric"}, {}).emd([0]) == 0
    with pytest.raises(NoMeaning):
        attribute([1, None], {"distance": "numeric"}, {})


def test_transport_agrees_with_cumulated_mass() -> None:
    found = attribute([1, 5, 2, 2, 9, 1, 7], {"distance": "ordered"}, {})
    want = [found.places.count(place) for place in range(found.size)]
    for members in ([0], [0, 3], [1, 4, 6], [0, 1, 2, 3]):
        have = [[found.places[row] for row in members].count(place) for place in range(found.size)]
        assert least_work(have, want, found.ground) == found.emd(members)


def test_matrix_entries_are_as_written() -> None:
    matrix = {"values": ["a", "b", "c"], "costs": [["0", "1/3", 1], ["1/3", 0, 0.7], [1, 0.7, 0]]}
    found = attribute(["a", "b", "c"], {"distance": "matrix", "matrix": matrix}, {})
    assert found.emd([0]) == (Fraction(1, 3) + 1) / 3
    assert found.emd([1]) == (Fraction(1, 3) + Fraction(7, 10)) / 3


def test_diversity_at_equality() -> None:
    assert is_diverse([2, 1], {"frequency": "3/2"})
    assert not is_diverse([2, 1], {"frequency": "151/100"})
    assert is_diverse([1, 1], {"entropy": 2})
    assert not is_diverse([2, 1], {"entropy": 1.8899})
    assert is_diverse([2, 1], {"entropy": 1.8898})
    assert not is_diverse([2, 1], {"recursive": {"c": 2, "l": 2}})
    assert is_diverse([2, 1], {"recursive": {"c": "201/100", "l": 2}})


def test_cells_mean_what_they_print_as() -> None:
    assert number(0.1) == number("0.1") == number(Decimal("0.10")) == Fraction(1, 10)
    assert number("1,5", ",") == Fraction(3, 2)
    assert number(2**53 + 1) != number(2**53)
    assert (label(1.0), label(True), label(-0.0), label(1e22)) == ("1", "true", "0", "1" + "0" * 22)
    assert (
        day(date(9999, 12, 31)) == day("9999-12-31") == day("31.12.9999", "%d.%m.%Y") == day_number("10000-01-01") - 1
    )
    assert day_number("0000-12-31") == -1
    assert ranks_of([datetime(2020, 1, 1, 1), datetime(2020, 1, 1)])[0] > ranks_of([date(2020, 1, 1)])[0]
    assert is_missing(float("nan"))
    assert is_missing("?", ["?"])
    assert is_missing("NaN", measured=True)
    assert not is_missing("NaN")
    with pytest.raises(NoMeaning):
        ranks_of([datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)])


@pytest.mark.parametrize(
    ("keys", "before", "after", "true"),
    [
        ({"kind": "numeric"}, 30, "[20, 45]", True),
        ({"kind": "numeric"}, 46, "[20, 45]", False),
        ({"kind": "numeric"}, 20000000000000000, "[19.9999999999999, 30.0000000000001]", False),
        ({"kind": "numeric", "top": 90}, 91, "[65, >90]", True),
        ({"kind": "numeric", "top": 90}, 90, ">90", False),
        ({"kind": "date"}, "2021-03-05", "2021-03-02/2021-03-09", True),
        ({"kind": "date"}, datetime(2021, 3, 9, 23), "2021-03-02/2021-03-09", True),
        ({"kind": "date"}, date(2021, 3, 10), "2021-03-02/2021-03-09", False),
        ({"kind": "text"}, "02139", "021**", True),
        ({"kind": "text"}, "02239", "021**", False),
        ({"kind": "digits"}, "41731", "4*7*1", True),
        ({"kind": "digits"}, "41732", "4*7*1", False),
        ({"kind": "categorical", "hierarchy": {"lung": ["flu"], "skin": ["rash"]}}, "flu", "lung", True),
        ({"kind": "categorical", "hierarchy": {"lung": ["flu"], "skin": ["rash"]}}, "flu", "skin", False),
        ({"kind": "categorical"}, 3, "*", True),
        ({"kind": "categorical"}, None, "*", False),  # all of the class are missing
        ({"kind": "categorical"}, None, None, True),
        ({"kind": "numeric"}, 5, None, False),
        ({"kind": "numeric", "publish": "mean"}, 5, 5.0, True),
        ({"kind": "numeric", "publish": "mean"}, 5, 5.5, False),
    ],
)
def test_a_cell_covers_its_original(keys: dict[str, Any], before: Cell, after: Cell, true: bool) -> None:
    assert (lies([{"q": before}], [{"q": after}], {"quasi": {"q": keys}}) == []) == true


def test_sensitive_values_are_unchanged_and_rows_are_dropped_by_rule() -> None:
    schema = {"missing": "drop", "missing_values": ["?"], "quasi": {"q": {"kind": "categorical"}}}
    schema["sensitive"] = {"s": {"distance": "equal", "t": 1}}
    rows: Rows = [{"q": "a", "s": "x"}, {"q": "?", "s": "x"}, {"q": "a", "s": None}, {"q": "a", "s": "y"}]
    assert remaining(rows, schema) == [0, 3]
    assert lies([rows[0]], [{"q": "a", "s": "x"}], schema) == []
    assert lies([rows[0]], [{"q": "a", "s": "y"}], schema) != []
