"""Whether a released table tells the truth: cells cover their originals, and what is not generalized is unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.fuzz.grounds import Keys, leaf_paths
from tests.fuzz.meaning import Cell, NoMeaning, Rows, day, day_number, instant, is_missing, label, number
from tests.fuzz.oracle import groups, is_measured_quasi, is_measured_sensitive, released_columns

_PERIOD = re.compile(r"(\d{4})(?:-(?:Q([1-4])|(\d\d)))?")


def lies(original: Rows, released: Rows, schema: Keys) -> list[str]:
    """What is untrue of a release whose rows are those of the original, in the same order."""
    if len(original) != len(released):
        return [f"{len(released)} rows are released of {len(original)}"]
    expected = {name for names in released_columns(schema).values() for name in names}
    expected |= {*schema.get("sensitive", {}), *schema.get("keep", [])}
    if released and set(released[0]) != expected:
        return [f"columns {sorted(released[0])} instead of {sorted(expected)}"]
    found = [f"row {row} of {name}: {what}" for name, row, what in _changed(original, released, schema)]
    for name, columns in released_columns(schema).items():
        for row, what in _uncovered(original, released, name, columns, schema):
            found.append(f"row {row} of {name}: {what}")
    return found


def _changed(original: Rows, released: Rows, schema: Keys) -> Iterator[tuple[str, int, str]]:
    spellings = schema.get("missing_values", ())
    measured = {name: is_measured_sensitive(keys) for name, keys in schema.get("sensitive", {}).items()}
    for name in [*schema.get("sensitive", {}), *schema.get("keep", [])]:
        for place, (before, after) in enumerate(zip(original, released, strict=True)):
            known, mark = measured.get(name, False), schema.get("decimal", ".")
            gone = [is_missing(each[name], spellings, known) for each in (before, after)]
            if gone[0] != gone[1] or not (gone[0] or same(before[name], after[name], mark, known)):
                yield name, place, f"{before[name]!r} became {after[name]!r}"


def same(before: Cell, after: Cell, decimal: str = ".", measured: bool = False) -> bool:
    """Whether two cells are one value, the one perhaps written as text; texts too where they are read as numbers."""
    if type(before) is type(after) and not (measured and isinstance(before, str)):
        return before == after
    if label(before) == label(after):
        return True
    for mark in {decimal, "."}:  # a kept number need not be written with the mark of measured ones
        try:
            return number(before, mark) == number(after, mark)
        except NoMeaning:
            continue
    try:
        return instant(before) == instant(after)
    except NoMeaning:
        return False


def _uncovered(
    original: Rows, released: Rows, name: str, columns: Sequence[str], schema: Keys
) -> Iterator[tuple[int, str]]:
    keys = schema["quasi"][name]
    spellings, decimal = schema.get("missing_values", ()), schema.get("decimal", ".")
    for members in groups(released, [each for names in released_columns(schema).values() for each in names]):
        gone = [is_missing(original[row][name], spellings, is_measured_quasi(keys)) for row in members]
        for row in members:
            cells = [released[row][each] for each in columns]
            told = tuple(None if is_missing(cell) else cell for cell in cells)
            before = original[row][name]
            try:
                covered = _covers_missing(told, keys) if any(gone) else None
                if covered is None:
                    covered = _covers(told, before, [original[each][name] for each in members], keys, schema, decimal)
            except NoMeaning as problem:
                yield row, f"{told!r} for {before!r}: {problem}"
                continue
            if any(gone) and all(gone) != (told == (None,) * len(told)):
                yield row, f"{told!r} in a class with {sum(gone)} of {len(gone)} missing"
            elif not covered:
                yield row, f"{told!r} does not cover {before!r}"


def _covers_missing(told: tuple[Cell, ...], keys: Keys) -> bool:
    """A class with a missing value is missing as a whole, or `*` (of `digits`, a star a position)."""
    return all(cell is None or cell == "*" or not str(cell).strip("*") for cell in told)


def _covers(
    told: tuple[Cell, ...], before: Cell, fellows: Sequence[Cell], keys: Keys, schema: Keys, decimal: str
) -> bool:
    kind, publish = keys["kind"], keys.get("publish", "interval")
    if set(told) == {"*"}:
        return True
    if kind in ("numeric", "date"):
        read = (
            (lambda cell: number(cell, decimal)) if kind == "numeric" else (lambda cell: day(cell, keys.get("format")))
        )
        if publish == "mean":
            return _is_mean(told[0], [number(cell, decimal) for cell in fellows], keys, decimal)
        value = Fraction(read(before))
        if publish == "bounds":
            low, high = (None if cell is None else _end(cell, kind, decimal, keys.get("format")) for cell in told)
            return told != (None, None) and (low is None or low <= value) and (high is None or value <= high)
        return _within(told[0], value, kind, decimal, keys.get("format"))
    if told[0] is None:
        return False
    text, value_text = label(told[0]), label(before)
    if kind == "digits":
        return len(text) == len(value_text) and all(a in (b, "*") for a, b in zip(text, value_text, strict=True))
    if kind == "text":
        return text == value_text or _is_prefix(text, value_text)
    return text == value_text or same(before, told[0], decimal) or _is_ancestor(text, before, keys, decimal)


def str_of(cell: Cell) -> str:
    """A released cell as text; a missing one has none."""
    if cell is None:
        raise NoMeaning("missing, where a value was")
    return label(cell)


def _end(cell: Cell, kind: str, decimal: str, form: str | None) -> Fraction:
    """A number with the decimal sign of texts, or a day in its format; a typed cell is what it is."""
    if kind == "date" and form is not None and isinstance(cell, str):
        return Fraction(day(cell, form))
    if kind == "date":
        return Fraction(day_number(label(cell)) if not isinstance(cell, date) else cell.toordinal() - 1)
    return number(cell, decimal)


def _within(cell: Cell, value: Fraction, kind: str, decimal: str, form: str | None) -> bool:
    """`[20, 45]`, `[1,5; 2]`, `2021-03-02/2021-03-09`, `02/03/2021 - 09/03/2021`, `<18`, `[65, >90]`, or one value."""
    if not isinstance(cell, str):
        return value == _end(cell, kind, decimal, form)
    text = str_of(cell)
    if kind == "numeric" and text.startswith("["):
        ends = text.removeprefix("[").removesuffix("]").split("; " if "; " in text else ", ")
    else:
        ends = text.split(" - " if "/" in (form or "") else "/") if kind == "date" else [text]
    if len(ends) > 2:
        raise NoMeaning("not an interval")
    if len(ends) == 1 and not ends[0].startswith(("<", ">")):
        return value == _end(ends[0], kind, decimal, form)
    if len(ends) == 1:
        limit = _end(ends[0][1:], kind, decimal, form)
        return value < limit if ends[0].startswith("<") else value > limit
    low, high = ends
    above = True if low.startswith("<") else value >= _end(low, kind, decimal, form)
    below = True if high.startswith(">") else value <= _end(high, kind, decimal, form)
    return above and below


def _is_mean(cell: Cell, numbers: Sequence[Fraction], keys: Keys, decimal: str) -> bool:
    """The mean of a class, values beyond `bottom` and `top` counted as these; rounded to what is printed."""
    if cell is None:
        return False
    low, high = keys.get("bottom"), keys.get("top")
    clipped = [max(each, number(low)) if low is not None else each for each in numbers]
    clipped = [min(each, number(high)) if high is not None else each for each in clipped]
    mean = sum(clipped, Fraction(0)) / len(clipped)
    printed = Decimal(repr(cell) if isinstance(cell, float) else label(cell).replace(decimal, "."))
    half = Fraction(10) ** int(printed.as_tuple().exponent) / 2
    return abs(Fraction(printed) - mean) <= half + abs(mean) / 2**52


def _is_prefix(text: str, value: str) -> bool:
    """A common beginning followed by one star, or by stars up to the length of the values."""
    stars = len(text) - len(text.rstrip("*"))
    return any(
        value.startswith(text[: len(text) - n]) for n in range(1, stars + 1) if n == 1 or len(text) >= len(value)
    )


def _is_ancestor(text: str, value: Cell, keys: Keys, decimal: str) -> bool:
    hierarchy: Any = keys.get("hierarchy")
    if hierarchy is None:
        return False
    build = hierarchy.get("build") if isinstance(hierarchy, dict) else None
    if not isinstance(build, str):
        return text in leaf_paths(hierarchy).get(label(value), ())
    if build == "prefixes":
        return _is_prefix(text, label(value))
    if build == "intervals" and not text.startswith("["):  # the number itself, in another spelling
        return number(text, decimal) == number(value, decimal)
    if build == "intervals":
        low, high = text.removeprefix("[").removesuffix(")").split("; " if "; " in text else ", ")
        return number(low, decimal) <= number(value, decimal) < number(high, decimal)
    found = _PERIOD.fullmatch(text)
    if not found:
        return False
    iso = label(value)
    quarter = (int(iso[5:7]) + 2) // 3
    return iso[:4] == found[1] and (not found[2] or int(found[2]) == quarter) and (not found[3] or found[3] == iso[5:7])
