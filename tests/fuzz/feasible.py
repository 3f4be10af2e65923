"""Whether a table can be released at all: its cells mean something, and one class of all rows keeps the promise."""

from __future__ import annotations

from tests.fuzz.cases import Case
from tests.fuzz.grounds import Keys
from tests.fuzz.meaning import Cell, NoMeaning, Rows, day, is_missing, label, number
from tests.fuzz.oracle import is_measured_quasi, is_measured_sensitive, judge, persons_of, released_columns, remaining

MOST, MOST_DIGITS = 2**53, 15  # numbers beyond may be refused, alike in all forms


def is_feasible(case: Case) -> bool:
    """Whether a refusal of this case would have no reason; `keep` may single out rows in any class."""
    schema, rows = case.schema, case.rows
    if schema.get("keep") and not schema.get("keep_unchecked"):
        return False
    if any("coarsest" in keys for keys in schema["quasi"].values()):
        return False  # one class of all rows may be too coarse
    rows = [rows[place] for place in remaining(rows, schema)]
    if not rows or (_has_missing(rows, schema) and schema.get("missing") != "category"):
        return False
    who = persons_of(rows, schema)
    if who is not None and len(set(who)) < len(rows) and "unit_rows" not in schema:
        return False
    try:
        for name, keys in schema["quasi"].items():
            _check_quasi([row[name] for row in rows], keys, schema)
        for name, keys in schema.get("sensitive", {}).items():
            if is_measured_sensitive(keys):
                _check_digits([row[name] for row in rows], schema.get("decimal", "."))
        columns = [name for names in released_columns(schema).values() for name in names]
        return judge([row | dict.fromkeys(columns, "*") for row in rows], schema, who).holds
    except NoMeaning:
        return False


def _has_missing(rows: Rows, schema: Keys) -> bool:
    measured = {name: is_measured_quasi(keys) for name, keys in schema["quasi"].items()}
    measured |= {name: is_measured_sensitive(keys) for name, keys in schema.get("sensitive", {}).items()}
    spellings = schema.get("missing_values", ())
    return any(is_missing(row[name], spellings, known) for row in rows for name, known in measured.items())


def _check_quasi(cells: list[Cell], keys: Keys, schema: Keys) -> None:
    given = [cell for cell in cells if not is_missing(cell, schema.get("missing_values", ()), is_measured_quasi(keys))]
    if keys["kind"] == "numeric":
        _check_digits(given, schema.get("decimal", "."))
    if keys["kind"] == "date":
        for cell in given:
            day(cell, keys.get("format"))
    if keys["kind"] == "digits" and len({len(label(cell)) for cell in given}) > 1:
        raise NoMeaning("texts of several lengths")


def _check_digits(cells: list[Cell], decimal: str) -> None:
    for cell in cells:
        try:
            large = abs(number(cell, decimal)) >= MOST
        except NoMeaning:  # a date, or missing: the judge will say
            continue
        if large or len(label(cell).replace(".", "").replace(decimal, "").lstrip("+-0")) > MOST_DIGITS:
            raise NoMeaning("a number of many digits")
