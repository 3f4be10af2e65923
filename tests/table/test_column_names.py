"""Names of columns in messages: by their place where they may be cells, and however many there are."""

from __future__ import annotations

import pytest

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.table.column_names import check_names, listed, numbered
from tclose.table.row_selection import check_columns

SCHEMA = Schema.from_dict(
    {
        "k": 2,
        "identifiers": ["name", "phone"],
        "quasi": {"age": {"kind": "numeric"}, "flu": {"kind": "categorical"}},
        "sensitive": {"ill": {"distance": "equal", "t": 1}},
    }
)


class Counted(str):
    """A name that counts how often it is compared."""

    comparisons = 0

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return str.__eq__(self, other)


def test_a_repeated_name_is_told_by_its_places() -> None:
    with pytest.raises(TableError) as caught:
        check_names(["alice", "34", "flu", "34"])
    assert "Columns 2 and 4" in str(caught.value)
    assert "34" not in str(caught.value)


def test_many_names_are_compared_a_few_times_each() -> None:
    names = [Counted(f"c{place}") for place in range(20_000)]
    with pytest.raises(TableError):
        check_names([*names, Counted("c19999")])
    assert Counted.comparisons < 10 * len(names)


def test_the_first_row_in_the_place_of_a_header_is_not_quoted() -> None:
    with pytest.raises(TableError, match="none of the columns") as caught:
        check_columns(["SECRET", "34", "cold"], SCHEMA)
    assert "SECRET" not in str(caught.value)
    with pytest.raises(TableError) as caught:  # a value happens to be the name of a column
        check_columns(["SECRET", "0171", "34", "flu", "cold"], SCHEMA)
    assert "SECRET" not in str(caught.value)
    assert "columns 1, 2, 3, 5" in str(caught.value)


def test_where_most_names_are_known_the_others_are_named() -> None:
    with pytest.raises(TableError, match="'weight'"):
        check_columns(["name", "phone", "age", "flu", "ill", "weight"], SCHEMA)


def test_lists_end() -> None:
    assert listed(["x" * 500]) == f"'{'x' * 100}...'"
    assert listed([str(place) for place in range(30)]).endswith("'19' and 10 more")
    assert numbered(range(30)).endswith("20 and 10 more")
