"""Hierarchies that are proposed: they can be read, cover every value, and group what is rare."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose.schema.columns import Quasi
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.table.proposing.column_evidence import Evidence
from tclose.table.proposing.first_hierarchies import built, file_name, grouped
from tclose.table.source import Source


def evidence(values: list[Any]) -> Evidence:
    column = pl.Series("x", values)
    return Evidence.of(Source.of(column.to_frame()), column, ())


@pytest.mark.parametrize(
    "values",
    [
        ["a"] * 50 + ["b"] * 40 + ["c", "d", "e"],
        ["other"] * 50 + ["(other)"] * 40 + ["c", "d", "e"],
        ['semi;colon "quoted"'] * 50 + ["two\nlines"] * 40 + [" c", "c", "ключ"],
        [f"s{row}" for row in range(50)],
        [1] * 50 + [2] * 30 + [3, 4, 5],
        [True] * 3 + [None],
    ],
)
def test_groups_are_a_hierarchy_of_all_values(values: list[Any], tmp_path: Path) -> None:
    text = grouped(evidence(values))
    known = {str(value) for value in values if value is not None}
    if len(known) < 4:
        assert text is None
        return
    assert text is not None
    (tmp_path / "x.csv").write_text(text, encoding="utf-8", newline="")
    tree = Hierarchy.read(tmp_path / "x.csv")
    assert set(tree.leaves) == known
    assert tree.height == 2
    rare = {value for value in known if sum(str(each) == value for each in values) < len(values) / 10}
    if 1 < len(rare) < len(known):
        assert (
            len({line.rsplit(";", 2)[1] for line in text.splitlines() if line.rsplit(";", 2)[0].strip('"') in rare})
            == 1
        )


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (list(range(100)), {"kind": "numeric", "step": 5}),
        ([0.1, 0.2, 0.7], {"kind": "numeric"}),
        ([1, 2], {"kind": "numeric"}),
        (["02139", "10001"], {"kind": "text"}),
        (["A1", "B2"], {"kind": "text"}),
        ([date(2020, 1, 1), date(2021, 5, 5)], {"kind": "date", "step": "month"}),
    ],
)
def test_what_is_built_is_understood(values: list[Any], keys: dict[str, Any]) -> None:
    made = built(evidence(values), keys)
    schema = Schema.from_dict({"k": 2, "quasi": {"x": {**keys, "hierarchy": made}}})
    quasi: Quasi = schema.quasi[0]
    assert quasi.has_levels


def test_categories_need_a_file() -> None:
    assert built(evidence(["a", "b"]), {"kind": "categorical"}) is None


def test_files_have_names_of_their_own() -> None:
    taken: set[str] = set()
    names = [file_name(column, taken) for column in ("a/b", "a b", "A_B", "../x", "", "ключ", "x" * 300)]
    assert len({name.casefold() for name in names}) == len(names)
    assert not any("/" in name or name.startswith(".") for name in names)
    assert max(map(len, names)) < 100
