"""What the encoder takes for a number or a time, the verifier reads too: else a release, or a stream, ends with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.stream import Engine
from tclose.table.quasi import build_axes
from tclose.table.reading import Reader, code
from tclose.table.sensitive import build_domain
from tclose.table.source import Source
from tclose.verification.covering import read_originals
from tclose.verification.sensitive_domains import place_values

NUMBERS = [
    *(
        "1_0",
        "\uff11",
        "\u0663",
        "1e-400",
        "1e-2000",
        "0x10",
        "inf",
        "1.",
        ".5",
        " 5",
        "5\u00a0",
        "+1",
        "++1",
        "1E+5",
        "1e",
    ),
    *(
        "nan",
        " NaN ",
        "-0",
        "0e9999999",
        "1e0000005",
        "00",
        "1d5",
        "1\x00",
        "\ufeff5",
        "1e308",
        "9" * 300,
        "1,5",
        "1 000",
    ),
]
TIMES = [
    *("2021-01-05", "2021-1-5", "2021-01-05T", "2021-01-05T10:00", "2021-01-05 10:00:00", "2021-01-05T24:00"),
    *("2021-01-05T23:59:60", "2021-01-05T23:59:60.5Z", "2021-01-05T10:00:00Z", "2021-01-05T10:00:00+0100"),
    *("2021-01-05T10:00:00 +01:00", "2021-01-05T10:00:00,5", "2021-01-05T10:00:00.1234567890123", "10000-01-01"),
    *("0000-01-01", "0001-01-01", "9999-12-31", " 2021-01-05", "2021-01-05T10:00:00-00:00", "2021-01-05T10:00+25:00"),
    *("2021-01-05T10:00:00+01:60", "2021-01-05T10:60", "2021-02-29", "2021-01-05t10:00", "2021-W01-1", "2021-001"),
    *("12:30", "12:30:00", "24:00", "1:05", "-1:05", "12:60", "12:30:60", "12:30:00.5", "99999999:00"),
]
ROLES: dict[str, dict[str, Any]] = {
    "ordered": {"sensitive": {"q": {"distance": "ordered", "t": 1}}},
    "numeric": {"sensitive": {"q": {"distance": "numeric", "t": 1}}},
    "edges": {"sensitive": {"q": {"distance": "ordered", "edges": [1], "t": 1}}},
    "a number": {"quasi": {"q": {"kind": "numeric"}}},
    "a date": {"quasi": {"q": {"kind": "date"}}},
}


def encoded(text: str, schema: Schema) -> str:
    column = pl.Series("q", [text, text])
    coded = code(column, schema.missing_values, True, schema.decimal)
    reader = Reader.of(Source.of(column.to_frame()), np.arange(2), schema)
    try:
        if schema.sensitive:
            build_domain(reader, coded, schema.sensitive[0])
        else:
            list(build_axes(reader, coded, schema.quasi[0], schema))
    except TableError:
        return "refused"
    return "missing" if coded.values.null_count() else "read"


def judged(text: str, schema: Schema) -> str:
    column = pl.Series("q", [text, text])
    if not schema.sensitive:
        found = read_originals(column.unique(), schema.quasi[0], schema)
        return "missing" if found.missing[0] else "read" if found.readable[0] else "refused"
    try:
        return "missing" if place_values(column, schema.sensitive[0], schema).n_missing else "read"
    except TableError:
        return "refused"


@pytest.mark.parametrize("role", ROLES)
def test_what_is_encoded_can_be_judged(role: str) -> None:
    keys = {"k": 1, "missing": "category", "quasi": {"x": {"kind": "text"}}}
    schema = Schema.from_dict(keys | ROLES[role])
    found = {text: (encoded(text, schema), judged(text, schema)) for text in (*NUMBERS, *TIMES)}
    assert {text: each for text, each in found.items() if each[0] not in ("refused", each[1])} == {}
    assert sum(each == ("read", "read") for each in found.values()) > 3


@pytest.mark.parametrize("wrong", ["2021-01-05T23:59:60", "2021-02-30T10:00:00", "later"])
def test_a_time_that_is_none_is_rejected_and_the_stream_goes_on(wrong: str) -> None:
    keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}}
    schema = Schema.from_dict({**keys, "sensitive": {"until": {"distance": "ordered", "t": "0.5"}}})
    rng = np.random.default_rng(3)
    times = rng.choice(["2020-01-01T10:00:00", "2021-01-01T10:00:00", "2022-12-31T10:00:00"], 60)
    rows = [{"age": str(age), "until": str(time)} for age, time in zip(rng.integers(18, 90, 60), times, strict=True)]
    rows[30]["until"] = wrong
    engine = Engine(schema, window=20, step=10, method="mondrian", seed=1)
    assert sum(1 for _ in (*engine.feed(rows), *engine.finish())) > 3
    assert (engine.counts["released"], engine.counts["rejected"]) == (59, 1)
