"""The whole table from its pieces is the table that is encoded at once."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms.requirement import Requirement
from tclose.errors import SchemaError, TableError
from tclose.scale.coded_pieces import GatheredValues, code_piece, tables_among
from tclose.scale.shard_plan import KEPT, KEPT_OF_QUASI, check_scalable
from tclose.scale.whole_table import WholeTable, add_counted
from tclose.schema.columns import Quasi
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import Source

MIXED: dict[str, Any] = {
    "k": 2, "missing": "category", "missing_values": ["?"], "keep": ["town"], "identifiers": ["name"],
    "quasi": {
        "age": {"kind": "numeric", "step": 5, "top": 60}, "zip": {"kind": "text"}, "code": {"kind": "digits"},
        "job": {"kind": "categorical", "hierarchy": {"u": ["a", "b"], "v": ["c", "d"]}},
        "born": {"kind": "date", "step": "month"},
    },
    "sensitive": {
        "ill": {"distance": "hierarchical", "hierarchy": {"x": ["p", "q"], "y": ["r"]}, "t": 0.5},
        "pay": {"distance": "ordered", "bins": 4, "t": 0.5}, "score": {"distance": "numeric", "t": 0.5},
        "mood": {"distance": "equal", "t": 0.9},
    },
    "joint": {"both": {"columns": ["ill", "pay"], "t": 0.8}},
}  # fmt: skip


def mixed_frame(n: int, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)

    def pick(values: list[Any]) -> pl.Series:
        return pl.Series([values[place] for place in rng.integers(0, len(values), n)], strict=False)

    days = [
        f"20{y:02d}-{m:02d}-{d:02d}"
        for y, m, d in zip(*(rng.integers(1, 28, (3, n)) % [[20], [11], [27]] + 1), strict=True)
    ]
    return pl.DataFrame(
        {
            "name": [f"n{place}" for place in range(n)],
            "age": pick([20, 31, 45.5, None, 70, 80]), "zip": pick(["02139", "02140", "10001", "?"]),
            "code": pick(["12", "13", "22"]), "job": pick(["a", "b", "c", "d", None]), "born": days,
            "ill": pick(["p", "q", "r", None]), "pay": pick([1, 2, 3, 4, 5, 6, 7]), "score": pick([0.5, 1.25, 9.0]),
            "mood": pick(["good", "bad", ""]), "town": pick(["t", "u"]),
        }
    )  # fmt: skip


def in_pieces(frame: pl.DataFrame, schema: Schema, size: int) -> tuple[WholeTable, pl.DataFrame]:
    gathered, coded = GatheredValues(schema), []
    for piece in frame.iter_slices(size):
        coded.append(code_piece(piece, schema, 7))
        gathered.add(coded[-1][1])
    gathered.check()
    whole = WholeTable.of(gathered, frame.columns)
    pieces = [whole.recoded(rows, tables_among(summary.values, whole.values)) for rows, summary in coded]
    joints = whole.count_joints(pieces[0])
    for rows in pieces[1:]:
        joints = [add_counted(*both) for both in zip(joints, whole.count_joints(rows), strict=True)]
    return whole.with_joints(joints), pl.concat(pieces)


def assert_same(one: EncodedTable, other: EncodedTable) -> None:
    assert len(one.axes) == len(other.axes)
    for left, right, mine, yours in zip(one.axes, other.axes, one.places, other.places, strict=True):
        assert (mine == yours).all()
        low, high = np.minimum(mine[:-1], mine[1:]), np.maximum(mine[:-1], mine[1:])
        assert left.labels(low, high) == right.labels(low, high)
        assert (left.cost(low, high) == right.cost(low, high)).all()
    for domain, known, mine, yours in zip(one.domains, other.domains, one.codes, other.codes, strict=True):
        assert domain.size == known.size
        assert (mine == yours).all()


@pytest.mark.parametrize("missing", ["category", "drop"])
def test_pieces_are_encoded_as_the_whole_is(missing: str) -> None:
    frame = mixed_frame(150)
    if missing == "drop":
        frame = frame.with_columns(pl.col("mood").replace("", "fine"))
    schema = Schema.from_dict(MIXED | {"missing": missing})
    whole, rows = in_pieces(frame, schema, 37)
    expected = encode(Source.of(frame), schema)
    assert_same(whole.encode(rows), expected)
    asked = Requirement.of(schema, expected)
    assert whole.requirement.n == asked.n
    for one, other in zip(whole.requirement.attributes, asked.attributes, strict=True):
        assert one.reference.tolist() == other.reference.tolist()
        assert (one.t, one.l, one.caps) == (other.t, other.l, other.caps)


def test_a_value_outside_its_hierarchy_is_one_sentence_with_a_count() -> None:
    frame = mixed_frame(150).with_columns(job=pl.Series(["secret"] * 3 + ["a"] * 147))
    with pytest.raises(TableError, match="Column 'job': 1 distinct value in 3 rows are not in its hierarchy") as error:
        in_pieces(frame, Schema.from_dict(MIXED), 50)
    assert "secret" not in str(error.value)
    assert "(row" not in str(error.value)


def test_missing_values_that_nobody_speaks_for_are_counted_over_all_pieces() -> None:
    frame, keys = mixed_frame(150), {key: value for key, value in MIXED.items() if key != "missing"}
    with pytest.raises(TableError, match=rf"age \({frame['age'].null_count()} rows\)"):
        in_pieces(frame, Schema.from_dict(keys), 50)


def test_pieces_of_other_types_are_refused() -> None:
    schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    gathered = GatheredValues(schema)
    gathered.add(code_piece(pl.DataFrame({"age": [1]}), schema, 7)[1])
    with pytest.raises(TableError, match="Column 'age' is of type Int64 in one part of the table and String in"):
        gathered.add(code_piece(pl.DataFrame({"age": ["1"]}), schema, 7)[1])


@pytest.mark.parametrize(
    ("keys", "of_age", "named"),
    [
        ({"suppress_rows": 0.1}, {}, "'suppress_rows'"),
        ({}, {"coarsest": 20}, r"\[quasi.age\]: 'coarsest'"),
        ({"unit": "person"}, {}, "unit = 'person'"),
    ],
)
def test_what_shards_do_not_keep_is_refused(keys: dict[str, object], of_age: dict[str, object], named: str) -> None:
    quasi = {"age": {"kind": "numeric", "weight": 2, **of_age}}
    schema = Schema.from_dict({"k": 2, "quasi": quasi, "sensitive": {"ill": {"distance": "equal", "t": 0.5}}, **keys})
    with pytest.raises(SchemaError, match=named):
        check_scalable(schema)


def test_every_key_of_a_schema_is_kept_or_refused() -> None:
    """A key that is added later is refused by default: it is no part of what shards keep."""
    assert {*KEPT} <= {field.name for field in fields(Schema)}
    assert {*KEPT_OF_QUASI} <= {field.name for field in fields(Quasi)}
