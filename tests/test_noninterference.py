"""What is published follows from the released rows: two originals with one release have all its bytes in common."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tclose
from tclose.algorithms import REGISTRY
from tests.fuzz.judged import quiet
from tests.hidden_changes import (
    Forced,
    published,
    released_rows,
    written_bytes,
)
from tests.hidden_pairs import pairs_of


def test_some_pairs(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in (0, 3):
        pairs_of(seed, tmp_path, counts, written=int(seed == 0), certified=2)
    assert counts["pairs"] > 3
    assert counts["files"] > 0
    assert counts["other types"] > 0
    assert counts["caps"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.campaign)])
def test_many_pairs(part: int, tmp_path: Path) -> None:
    """In parts of 20 pairs; a tenth of changes is certified, a tenth of seeds written whole and reported on."""
    counts: Counter[str] = Counter()
    seed = 10_000 * part
    while counts["pairs"] < 20:
        pairs_of(seed, tmp_path, counts, written=int(seed % 10 == 0), changes=60, certified=10)
        seed += 1
    assert counts["certificates"] > 0


def floats(*values: float) -> pl.Series:
    return pl.Series(list(map(float, values)))


HALF: list[Any] = [20, 30.5, 40, 50, 60, 70]
WHOLE: list[Any] = [20, 30, 40, 50, 60, 70]
EXACT = pl.Series([Decimal(str(each)) for each in HALF], dtype=pl.Decimal(10, 2))
CLASSES = np.array([0, 0, 0, 1, 1, 1])
BEFORE_AND_AFTER: dict[str, tuple[pl.Series, pl.Series, dict[str, Any]]] = {
    "a fraction": (pl.Series(WHOLE), floats(*HALF), {"publish": "bounds"}),
    "narrow": (pl.Series(WHOLE, dtype=pl.Int8), pl.Series([20, 31, *WHOLE[2:]]), {"publish": "bounds"}),
    "unsigned": (pl.Series(WHOLE, dtype=pl.UInt16), pl.Series([20, 31, *WHOLE[2:]]), {"publish": "bounds"}),
    "exact": (
        pl.Series(WHOLE), EXACT, {"publish": "bounds"},
    ),
    "text": (pl.Series(["20", "30", "40", "50", "60", "70"]), floats(*HALF), {"publish": "bounds"}),
    "mean": (pl.Series(WHOLE), floats(20, 30.5, 39.5, 50, 60, 70), {"publish": "mean"}),
    "mean, narrow": (pl.Series(WHOLE, dtype=pl.Int8), pl.Series([20, 29, 41, 50, 60, 70]), {"publish": "mean"}),
    "mean of equal values": (
        pl.Series([30] * 3 + [60] * 3, dtype=pl.Int8), pl.Series(WHOLE), {"publish": "mean"},
    ),
    "digits of means": (
        pl.Series([1, 1, 2, 90, 91, 92]), floats(1, 1, 2, 90, 90.75, 92.25), {"publish": "mean"},
    ),
    "top": (
        pl.Series([90, 91, 92, 50, 50, 50]), floats(90, 99, 900.25, 50, 50, 50), {"publish": "bounds", "top": 80},
    ),
    "bottom": (
        pl.Series([1, 2, 3, 50, 50, 50]), floats(1, -2.5, 3, 50, 50, 50), {"publish": "bounds", "bottom": 8},
    ),
    "top of means": (
        pl.Series([70, 70, 99, 1, 1, 2]), floats(70, 70, 900.25, 1, 1, 2), {"publish": "mean", "top": 80},
    ),
    "step": (pl.Series(WHOLE), floats(20, 30, 39.5, 50, 60, 70), {"publish": "bounds", "step": 10}),
    "intervals": (pl.Series(WHOLE), floats(*HALF), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BEFORE_AND_AFTER))
def test_types_and_digits_tell_nothing_of_hidden_values(name: str, tmp_path: Path) -> None:
    one, other, keys = BEFORE_AND_AFTER[name]
    told = types_of_pair([one, other], {"kind": "numeric", **keys}, tmp_path)
    assert told[0] == told[1]


def test_dropped_rows_do_not_tell_by_the_type_of_numbers(tmp_path: Path) -> None:
    shown_alone = [30] * 3 + [60] * 3
    columns = [pl.Series([*shown_alone, 1], dtype=pl.Int8), pl.Series([*shown_alone, 0.5], dtype=pl.Float64)]
    told = types_of_pair(columns, {"kind": "numeric"}, tmp_path, missing="drop")
    assert told[0] == told[1]


@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep"])
def test_rows_that_were_not_picked_do_not_tell_by_the_type_of_columns(role: str, tmp_path: Path) -> None:
    """Another row of a person had a fraction, or a number that needs more bits."""
    wider = [pl.Int8, pl.Int32, pl.Float64]
    values: list[list[Any]] = [[1, 2] * 3 + [3], [1, 2] * 3 + [1000], [1.0, 2.0] * 3 + [0.5]]
    told = []
    for kind, column in zip(wider, values, strict=True):
        frame = pl.DataFrame({"q": [30] * 7, "x": pl.Series(column, dtype=kind), "who": [1, 2, 3, 4, 5, 6, 6]})
        schema: dict[str, Any] = {"k": 3, "unit": "who", "unit_rows": "one", "unit_pick": "first", "unit_order": "when"}
        schema |= {"quasi": {"q": {"kind": "numeric"}}}
        if role == "quasi":
            schema["quasi"]["x"] = {"kind": "numeric", "publish": "bounds"}
        schema |= {"sensitive": {"x": {"distance": "equal", "t": 1}}} if role == "sensitive" else {}
        schema |= {"keep": ["x"]} if role == "keep" else {}
        with quiet():
            given = frame.with_columns(when=pl.int_range(7))
            release = tclose.anonymize(given, schema, method="mondrian", seed=0, allow_single_class=True)
        files = written_bytes(release._frame, release.schema, tmp_path)
        told.append((released_rows(release), files, published(release, tmp_path, ())))
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("role", ["sensitive", "keep"])
def test_dropped_rows_do_not_tell_by_the_type_of_other_columns(role: str, tmp_path: Path) -> None:
    """A row that is left out had a fraction, or a number that needs more bits."""
    wider = [pl.Int8, pl.Int32, pl.Float64]
    values: list[list[Any]] = [[1, 2] * 3 + [3], [1, 2] * 3 + [1000], [1.0, 2.0] * 3 + [0.5]]
    told = []
    for kind, column in zip(wider, values, strict=True):
        frame = pl.DataFrame({"q": [30] * 6 + [None], "x": pl.Series(column, dtype=kind)})
        schema: dict[str, Any] = {"k": 3, "missing": "drop", "quasi": {"q": {"kind": "numeric"}}}
        schema |= {"sensitive": {"x": {"distance": "equal", "t": 1}}} if role == "sensitive" else {"keep": ["x"]}
        with quiet():
            release = tclose.anonymize(frame, schema, method="mondrian", seed=0, allow_single_class=True)
        files = written_bytes(release._frame, release.schema, tmp_path)
        told.append((released_rows(release), files, published(release, tmp_path, ())))
    assert told[0] == told[1] == told[2]


DROPPED_ALONE = [1, 1000, 0.5, "text", True, "2021-05-03"]  # what a row that is not released may hold


@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep"])
@pytest.mark.parametrize("form", ["table.json", "table.jsonl", "table.db"])
def test_types_that_follow_from_values_tell_nothing_of_dropped_rows(form: str, role: str, tmp_path: Path) -> None:
    """One value makes a column of JSON or SQLite one of fractions or of text, and that one is not released."""
    schema: dict[str, Any] = {"k": 3, "missing": "drop", "quasi": {"q": {"kind": "numeric"}}, "keep": []}
    schema["quasi"] |= {"x": {"kind": "categorical"}} if role == "quasi" else {}
    schema |= {"sensitive": {"x": {"distance": "equal", "t": 1}}} if role == "sensitive" else {}
    schema |= {"keep": ["x"]} if role == "keep" else {}
    told = []
    for dropped in DROPPED_ALONE:
        rows = [{"q": 30, "x": 1 + place % 2} for place in range(6)] + [{"q": None, "x": dropped}]
        path = loosely_typed(rows, tmp_path / form)
        labels = np.arange(6) % 2
        with quiet():
            release = tclose.anonymize(path, schema, method=Forced(labels), seed=0, allow_single_class=True)
        release.write(tmp_path / "release.parquet", keep_order=True)
        told.append((tmp_path / "release.parquet").read_bytes())
        assert dict(release.table.schema)["x"] == pl.Int64
    assert len(set(told)) == 1


def loosely_typed(rows: list[dict[str, Any]], path: Path) -> Path:
    """Rows in a file whose columns have no types of their own."""
    path.unlink(missing_ok=True)
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE people (q, x)")
            connection.executemany("INSERT INTO people VALUES (:q, :x)", rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


@pytest.mark.parametrize("role", ["sensitive", "keep"])
def test_dropped_decimals_do_not_tell_how_many_places_they_had(role: str, tmp_path: Path) -> None:
    """`10.000` in the file would tell that a row which is not released has three places."""
    schema: dict[str, Any] = {"k": 3, "missing": "drop", "quasi": {"q": {"kind": "numeric"}}}
    schema |= {"sensitive": {"x": {"distance": "equal", "t": 1}}} if role == "sensitive" else {"keep": ["x"]}
    told = []
    for dropped in ("10.5", "10.125", "99999999999999999.5"):
        column = [Decimal("10"), Decimal("10.5")] * 3 + [Decimal(dropped)]
        frame = pd.DataFrame({"q": [30.0] * 6 + [None], "x": column})
        with quiet():
            release = tclose.anonymize(frame, schema, method="mondrian", seed=0, allow_single_class=True)
        files = written_bytes(release._frame, release.schema, tmp_path)
        told.append((released_rows(release), files, published(release, tmp_path, ())))
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("unit_rows", ["one", "all"])
def test_whose_rows_they_are_is_not_published(unit_rows: str, tmp_path: Path) -> None:
    """The same rows are those of six persons, of five or of four: only the record says so."""
    keys = {"unit": "who", "unit_rows": unit_rows}
    keys |= {"unit_pick": "first", "unit_order": "when"} if unit_rows == "one" else {}
    sensitive = {"s": {"distance": "equal", "t": 1, "rise": 0.5}}
    schema = {"k": 2, "quasi": {"q": {"kind": "numeric"}}, "sensitive": sensitive, **keys}
    frame = pl.DataFrame({"q": WHOLE, "s": [*"abcabc"]})
    told, counted = [], []
    for who in ([1, 2, 3, 4, 5, 6], [1, 2, 1, 4, 5, 6], [1, 2, 1, 4, 5, 4]):
        table = frame.with_columns(who=pl.Series(who), when=pl.lit(0))
        if unit_rows == "one":  # further rows of the same persons, later ones
            more = table.head(len(set(who)) - 3).with_columns(when=pl.lit(1), q=pl.lit(99))
            table = pl.concat([table.with_columns(who=pl.Series([1, 2, 3, 4, 5, 6])), more], how="vertical_relaxed")
        else:
            table = table.drop("when")
        with quiet():
            release = tclose.anonymize(table, schema, method=Forced(CLASSES), seed=0, allow_single_class=True)
        told.append((released_rows(release), published(release, tmp_path, ())))
        counted.append((release.record.unpicked_rows, str(release.record.persons)))
    assert told[0] == told[1] == told[2]
    assert len(set(counted)) > 1


def types_of_pair(
    columns: list[pl.Series], quasi: dict[str, Any], folder: Path, **more: Any
) -> list[tuple[list[tuple[str, ...]], dict[str, bytes], dict[str, bytes]]]:
    """What is published of each column, beside a sensitive attribute that is missing from the seventh row on."""
    schema = {"k": 3, "quasi": {"q": quasi}, "sensitive": {"s": {"distance": "equal", "t": 1}}, **more}
    told = []
    for column in columns:
        frame = pl.DataFrame({"q": column, "s": [*"aabbcc", *[None] * (len(column) - 6)]})
        with quiet():
            release = tclose.anonymize(frame, schema, method=Forced(CLASSES), seed=0, allow_single_class=True)
        files = written_bytes(release._frame, release.schema, folder)
        told.append((released_rows(release), files, published(release, folder, ())))
    return told


ABLE: dict[str, dict[str, Any]] = {  # schemas that every method of a group takes
    "any": {"k": 4, "sensitive": {"s": {"distance": "ordered", "t": 0.5}}},
    "levels": {"k": 4, "sensitive": {"s": {"distance": "ordered", "t": 0.5}}},
    "stars": {"k": 4, "recode": "suppress", "sensitive": {"s": {"distance": "ordered", "t": 0.5}}},
    "k alone": {"k": 4, "recode": "suppress"},
    "two": {"k": 2, "sensitive": {"s": {"distance": "ordered", "l": {"frequency": 2}}}},
}
NEEDS = {"incognito": "levels", "milp": "stars", "k-approx": "k alone", "two-diversity": "two"}
QUASI = {
    "age": {"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [10, 30]}},
    "zip": {"kind": "text"},
}


def drawn_table(draw: random.Random) -> list[tuple[int | None, str, int]]:
    return [
        (draw.choice([None, *range(20, 60, 4)]), draw.choice("01") + draw.choice("01") + draw.choice("0123"), row % 4)
        for row in range(10)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("method", list(REGISTRY))
@pytest.mark.everyday(2)
def test_real_methods_publish_the_same_of_originals_with_the_same_release(method: str, tmp_path: Path) -> None:
    """Neighbours of a table are released by the same method; wherever the rows agree, the bytes do."""
    keys = ABLE[NEEDS.get(method, "any")] | {"missing": "category", "quasi": QUASI}
    schema = tclose.Schema.from_dict(keys | ({} if "sensitive" in keys else {"identifiers": ["s"]}))
    draw = random.Random(3)
    pairs = 0
    for _ in range(5):
        known: dict[tuple[tuple[str, ...], ...], tuple[Any, dict[str, bytes]]] = {}
        base = drawn_table(draw)
        for _ in range(12):
            place, column, other = draw.randrange(10), draw.randrange(2), draw.choice(base)
            changed = (other[0], base[place][1]) if column == 0 else (base[place][0], other[1])
            table = [*base[:place], (*changed, base[place][2]), *base[place + 1 :]]
            frame = pl.DataFrame(table, schema=["age", "zip", "s"], orient="row")
            with quiet():
                release = tclose.anonymize(frame, schema, method=method, seed=1, allow_single_class=True)
            rows, told = tuple(released_rows(release)), published(release, tmp_path, ())
            before, expected = known.setdefault(rows, (table, told))
            assert told == expected
            pairs += before != table
    assert pairs > 0
