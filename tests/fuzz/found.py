"""What the fuzzer and the reviews before it have found, as fixed cases that run in all forms and are written in all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tests.fuzz.cases import Case, Column
from tests.fuzz.meaning import Cell


@dataclass(frozen=True)
class Found:
    """A case, and what was wrong with it once."""

    name: str
    case: Case
    once: str | None = None


def _case(columns: dict[str, tuple[str, list[Cell]]], schema: dict[str, Any], method: str = "mondrian") -> Case:
    laid_out = tuple(Column(name, type_, tuple(cells)) for name, (type_, cells) in columns.items())
    return Case(1, laid_out, schema, method)


def _one(type_: str, cells: list[Cell], keys: dict[str, Any], **schema: Any) -> Case:
    """One sensitive column beside a quasi-identifier of two values."""
    groups: list[Cell] = ["a" if 2 * place < len(cells) else "b" for place in range(len(cells))]
    given = {"k": 1, "quasi": {"q": {"kind": "categorical"}}, "sensitive": {"s": {"t": 1, **keys}}, **schema}
    return _case({"q": ("text", groups), "s": (type_, cells)}, given)


def _quasi(type_: str, cells: list[Cell], keys: dict[str, Any], method: str = "mondrian", **schema: Any) -> Case:
    """One quasi-identifier, and k alone."""
    return _case({"q": (type_, cells)}, {"k": 2, "quasi": {"q": keys}, **schema}, method)


_UNTIL: list[Cell] = ["2020-01-01", "2020-01-01", "2021-01-01", "2021-01-01", "9999-12-31", "9999-12-31"]
_HUNDREDTHS = [Decimal(f"0.10000000000000000{last}") for last in range(4)]
_THIRDS = {"values": ["a", "b", "c"], "costs": [[0, 0.1, 1], [0.1, 0, 0.9], [1, 0.9, 0]]}
_ZONED = [datetime(2021, 10, 31, hour, 30, tzinfo=UTC) for hour in (0, 1, 2, 3)]

FOUND = [
    Found(
        "last dates as text rank last",
        _one("text", _UNTIL, {"distance": "ordered", "t": 0.4}),
        "ISO dates as text outside 1677 to 2262 wrap around",
    ),
    Found(
        "timestamps as text rank over their whole range",
        _one("text", ["0001-01-01T00:00:00", "2020-01-01T10:00:00", "9999-12-31T23:59:59", "2020-01-01T11:00:00"],
             {"distance": "ordered"}),
        "timestamps as text outside 1677 to 2262 wrap around",
    ),
    Found(
        "decimals of 18 places are apart",
        _one("decimal", [*_HUNDREDTHS], {"distance": "ordered"}),
        "typed decimals are rounded to doubles",
    ),
    Found(
        "large numbers are covered",
        _quasi("float", [2e16, 3e16, 2e16, 3e16], {"kind": "numeric"}),
        "numeric quasi-identifiers from 2^50 up are released as intervals beside them",
    ),
    Found(
        "the least double is a number",
        _quasi("float", [5e-324, 5e-324], {"kind": "numeric"}),
        "an OverflowError instead of a release or a refusal",
    ),
    Found(
        "a matrix is decided as it is written",
        _one("text", ["a", "b", "b", "c", "a", "c", "c"], {"distance": "matrix", "matrix": _THIRDS}),
        "distances by a matrix are doubles",
    ),
    Found(
        "huge doubles are ranked or refused in all forms alike",
        _one("float", [1e300, 5e-324, 1.7976931348623157e308, 0.1], {"distance": "ordered"}),
        "as text they are refused, as doubles they are ranked",
    ),
    Found(
        "a time of day with a zone is cut off in text too",
        _quasi("zoned", [*_ZONED], {"kind": "date"}),
        "as text a date with a zone is refused",
    ),
    Found(
        "a time of day with microseconds is cut off in text too",
        _quasi("timestamp", [datetime(2021, 3, 28, 0, 30, 0, last) for last in (0, 1, 2, 2)], {"kind": "date"}),
        "as text a date with a fraction of a second is refused",
    ),
    Found(
        "a star that spells missing is no missing value of a release",
        _quasi(
            "text", ["7", "7", "7", "13", "31"], {"kind": "categorical"}, "exact", missing="drop", missing_values=["*"]
        ),
        "released stars are read as missing",
    ),
    Found(
        "missing bounds are not open bounds",
        _case(
            {"q": ("int", [None, None, 5, 65]), "s": ("text", ["x", "y", "x", "y"])},
            {"k": 2, "missing": "category", "sensitive": {"s": {"distance": "equal", "t": 0}},
             "quasi": {"q": {"kind": "numeric", "publish": "bounds", "bottom": 34, "top": 58}}},
            "exact",
        ),
        "a missing value and one open at both ends look alike",
    ),
    Found(
        "integers beside missing ones stay integers in pandas",
        _one("int", [2**53 + 1, None, 2**53 + 1, 2**63 - 1], {"distance": "equal"}, missing="category"),
        "pandas makes doubles of an integer column with missing values",
    ),
    Found(
        "a step does not lead out of the calendar",
        _quasi("date", [date(1, 1, 1), date(1, 1, 1)], {"kind": "date", "step": 30, "publish": "bounds"}),
        "the lower bound is in year 0, which no date of Python or pandas can be",
    ),
    Found(
        "typed numbers are written with a decimal comma",
        _one("float", [1.5, 2.5, 1.5, 2.5], {"distance": "ordered"}, decimal=",", delimiter=";"),
        "a CSV of typed numbers is written with points, and then not understood",
    ),
    Found(
        "dates with a time of day under suppression, in a hierarchy of dates",
        _case(
            {"q": ("date", [*[date(2020, 5, 17)] * 4, *[date(2021, 3, 19)] * 2]), "s": ("text", [*"ababab"])},
            {"k": 2, "recode": "suppress", "sensitive": {"s": {"distance": "equal", "t": 1}}, "quasi": {
                "q": {"kind": "categorical", "hierarchy": {"build": "dates", "levels": ["month", "year"]}}}},
        ),
        "the verifier compares the text of a timestamp with that of a day",
    ),
    Found(
        "stars at the end of values, of which a release shows no more than a beginning",
        _quasi("text", ["1*", "1*", "11", "11", "20", "20"], {
            "kind": "categorical", "hierarchy": {"build": "prefixes", "lengths": [2, 1]}, "finest": 1, "coarsest": 1}),
        "a value that ends in a star is taken for a coarser one, and its own release refused",
    ),
    Found(
        "both zeros are one number",
        _one("float", [0.0, -0.0, 1.0, -0.0], {"distance": "equal"}),
    ),
    Found(
        "text that looks like numbers",
        _one("text", ["1", "01", "1.0", "1e0", "+1", "2"], {"distance": "ordered"}),
    ),
    Found(
        "the first and the last date",
        _quasi("text", ["0001-01-01", "9999-12-31", "0001-01-01", "9999-12-31"], {"kind": "date", "step": 7}),
    ),
]  # fmt: skip
