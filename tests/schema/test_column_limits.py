"""Weights and limits of columns in a schema: what is read, written back and refused."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tclose.errors import SchemaError
from tclose.release.certificate import promise
from tclose.schema.schema import Schema

TREE = {"u": ["a", "b"], "v": {"w": ["c", "d"], "e": []}}
DAYS = {"build": "dates", "levels": ["month", "year"]}


def schema_of(**keys: Any) -> Schema:
    return Schema.from_dict({"k": 2, "quasi": {"q": keys}})


@pytest.mark.parametrize(
    "keys",
    [
        {"kind": "numeric", "weight": 2, "coarsest": 20},
        {"kind": "numeric", "weight": Decimal("0.1"), "coarsest": Decimal("2.5"), "step": Decimal("2.5")},
        {"kind": "numeric", "coarsest": 10, "bottom": 0, "top": 90, "publish": "bounds"},
        {"kind": "date", "coarsest": "quarter", "step": "month"},
        {"kind": "date", "coarsest": "day"},
        {"kind": "text", "coarsest": 2, "finest": 2},
        {"kind": "categorical", "hierarchy": TREE, "coarsest": 2, "finest": 2},
        {"kind": "categorical", "hierarchy": TREE, "coarsest": 3, "weight": "1/3"},
        {"kind": "categorical", "hierarchy": TREE, "coarsest": "w", "finest": 0},
        {"kind": "categorical", "hierarchy": DAYS, "coarsest": 2, "finest": 1},
        {"kind": "categorical", "coarsest": 0, "finest": 0},
    ],
)
def test_what_is_read_is_written_back(keys: dict[str, Any]) -> None:
    schema = schema_of(**keys)
    again = Schema.from_dict(tomllib.loads(schema.to_toml(), parse_float=Decimal))
    assert again == schema
    told = promise(schema)["columns"]["q"]
    assert {key for key in ("weight", "coarsest", "finest") if key in told} == {*keys} & {
        "weight",
        "coarsest",
        "finest",
    }


def test_a_weight_is_exact_and_shares_add_up() -> None:
    quasi = {name: {"kind": "numeric", "weight": weight} for name, weight in (("a", 0.1), ("b", 0.2), ("c", "1/3"))}
    schema = Schema.from_dict({"k": 2, "quasi": quasi})
    assert schema.quasi[0].weight == Fraction(1, 10)
    assert schema.shares["c"] == Fraction(10, 19)
    assert sum(schema.shares.values()) == 1


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"kind": "numeric", "weight": 0}, "weight must be above 0"),
        ({"kind": "numeric", "weight": -1}, "weight must be above 0"),
        ({"kind": "numeric", "weight": 10**400}, "weight must be from 1/1000000 to 1000000"),
        ({"kind": "numeric", "weight": "1/1000001"}, "weight must be from 1/1000000 to 1000000"),
        ({"kind": "numeric", "weight": "heavy"}, "weight must be a number"),
        ({"kind": "numeric", "weight": True}, "weight must be a number"),
        ({"kind": "numeric", "coarsest": -1}, "greatest width"),
        ({"kind": "numeric", "coarsest": "month"}, "greatest width"),
        ({"kind": "numeric", "coarsest": True}, "greatest width"),
        ({"kind": "numeric", "coarsest": 4, "step": 5}, "below 'step'"),
        ({"kind": "numeric", "coarsest": 4, "publish": "mean"}, "a mean has none"),
        ({"kind": "numeric", "coarsest": 90, "bottom": 0, "top": 90, "publish": "bounds"}, "both open show nothing"),
        ({"kind": "numeric", "finest": 1}, "use 'step'"),
        ({"kind": "date", "coarsest": 30}, "must be one of day, month"),
        ({"kind": "date", "coarsest": "week"}, "must be one of day, month"),
        ({"kind": "date", "coarsest": "month", "step": "year"}, "below 'step'"),
        (
            {"kind": "date", "coarsest": "year", "bottom": "2021-02-01", "top": "2021-03-01", "publish": "bounds"},
            "both open show nothing",
        ),
        ({"kind": "date", "finest": 1}, "use 'step'"),
        ({"kind": "text", "coarsest": 0}, "characters shown at least"),
        ({"kind": "text", "finest": 0}, "characters shown at most"),
        ({"kind": "text", "coarsest": 3, "finest": 2}, "more characters than 'finest'"),
        ({"kind": "digits", "coarsest": 2}, "not for kind digits"),
        ({"kind": "digits", "finest": 2}, "not for kind digits"),
        ({"kind": "categorical", "hierarchy": TREE, "coarsest": 4}, r"from 0 \(the values\) to 3"),
        ({"kind": "categorical", "hierarchy": TREE, "finest": 3}, r"from 0 \(the values\) to 2"),
        ({"kind": "categorical", "hierarchy": TREE, "coarsest": "x"}, "not a label of the hierarchy"),
        ({"kind": "categorical", "hierarchy": TREE, "coarsest": 1, "finest": 2}, "'finest' is above 'coarsest'"),
        ({"kind": "categorical", "hierarchy": DAYS, "coarsest": "2021"}, "Name a level"),
        ({"kind": "categorical", "finest": 1}, r"from 0 \(the values\) to 0"),
        ({"kind": "categorical", "coarsest": 1.5}, "must be a level"),
    ],
)
def test_what_means_nothing_is_refused(keys: dict[str, Any], told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        schema_of(**keys)


def test_suppression_takes_no_limits() -> None:
    for key in ("coarsest", "finest"):
        with pytest.raises(SchemaError, match="takes no coarsest or finest"):
            Schema.from_dict({"k": 2, "recode": "suppress", "quasi": {"q": {"kind": "text", key: 2}}})
