"""The loss that released cells tell, row by row from the rules of docs/guarantees.md; it shares no code with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tests.fuzz.meaning import Cell, Rows, day, is_missing, label, number

Ends = tuple[Fraction | None, Fraction | None]


def whole_loss(losses: dict[str, Fraction | None], schema: dict[str, Any]) -> Fraction | None:
    """The mean over the columns by their weights; None if one of them has no loss."""
    weights = {name: Fraction(str(keys.get("weight", 1))) for name, keys in schema["quasi"].items()}
    known = [(weights[name], loss) for name, loss in losses.items() if loss is not None]
    if len(known) < len(losses):
        return None
    return sum((weight * loss for weight, loss in known), Fraction(0)) / sum(weights.values())


def published_loss(rows: Rows, schema: dict[str, Any]) -> dict[str, Fraction | None]:
    """The loss of each quasi-identifier; `schema` has the keys of the TOML form."""
    return {name: _column(rows, name, keys, schema) for name, keys in schema["quasi"].items()}


def stars(rows: Rows, schema: dict[str, Any]) -> int:
    """The suppressed cells, each position of digits being one."""
    found = 0
    for name, keys in schema["quasi"].items():
        for row in rows:
            text = "" if row[name] is None else label(row[name])
            found += text.count("*") if keys["kind"] == "digits" else text == "*"
    return found


def _column(rows: Rows, name: str, keys: dict[str, Any], schema: dict[str, Any]) -> Fraction | None:
    if keys.get("publish") == "mean":
        return None
    if keys["kind"] in ("numeric", "date") and schema.get("recode") != "suppress":
        return _mean(_widths([ends_of(row, name, keys, schema) for row in rows], keys))
    return _mean([_of_text(row[name], keys, schema) for row in rows])


def _mean(losses: Sequence[Fraction]) -> Fraction:
    return sum(losses, Fraction(0)) / len(losses)


def _of_text(cell: Cell, keys: dict[str, Any], schema: dict[str, Any]) -> Fraction:
    if is_missing(cell):
        return Fraction(0)
    text = label(cell)
    if text == "*":
        return Fraction(1)
    if keys["kind"] == "digits":
        return Fraction(text.count("*"), len(text))
    if schema.get("recode") == "suppress":
        return Fraction(0)
    if keys["kind"] == "text":
        return Fraction(len(text) - len(text.rstrip("*")), len(text))
    tree = keys.get("hierarchy")
    if tree is None:
        return Fraction(0)
    if "build" in tree:
        return _level(text, tree, schema.get("decimal", "."))
    below = _leaves_below(tree, text)
    return Fraction(below, len(_leaves(tree))) if below > 1 else Fraction(0)


def _level(text: str, built: dict[str, Any], decimal: str) -> Fraction:
    if built["build"] == "prefixes":
        height = len(built["lengths"]) + 1
        if not text.endswith("*"):
            return Fraction(0)
        return Fraction(len([length for length in built["lengths"] if length >= len(text.rstrip("*"))]), height)
    if built["build"] == "dates":
        levels = built.get("levels", ["month", "quarter", "year"])
        forms = {r"\d{4}": "year", r"\d{4}-Q\d": "quarter", r"\d{4}-\d\d": "month"}
        level = [period for form, period in forms.items() if re.fullmatch(form, text)]
        return Fraction(list(levels).index(level[0]) + 1, len(levels) + 1) if level else Fraction(0)
    pair = re.fullmatch(r"\[(.*)[,;] (.*)\)", text)
    widths = [number(width) for width in built["widths"]]
    if not pair:
        return Fraction(0)
    return Fraction(widths.index(number(pair[2], decimal) - number(pair[1], decimal)) + 1, len(widths) + 1)


def _leaves(tree: Any) -> list[str]:
    if isinstance(tree, list):
        return list(tree)
    return [leaf for label_, below in tree.items() for leaf in (_leaves(below) or [label_])]


def _leaves_below(tree: Any, wanted: str) -> int:
    """The most leaves below a node of this label; a leaf is one itself."""
    if isinstance(tree, list):
        return int(wanted in tree)
    own = [len(_leaves(below)) or 1 for label_, below in tree.items() if label_ == wanted]
    return max([*own, *(_leaves_below(below, wanted) for below in tree.values()), 0])


def _point(text: Cell, keys: dict[str, Any], schema: dict[str, Any]) -> Fraction:
    if keys["kind"] == "date":
        return Fraction(day(text, _day_part(keys)))
    return number(text, schema.get("decimal", "."))


def _day_part(keys: dict[str, Any]) -> str | None:
    """The format of released days: that of the column up to its day; a format of a clock behind it is not released."""
    written = keys.get("format")
    return None if written is None else re.split(r"[ T]*%[HIMSfpzT]", written)[0]


def _limit(given: Any, keys: dict[str, Any]) -> Fraction:
    return Fraction(day(given)) if keys["kind"] == "date" else number(given)


def ends_of(row: dict[str, Cell], name: str, keys: dict[str, Any], schema: dict[str, Any]) -> Any:
    """None for a missing value, `*`, or the two ends with the numbers that stand for an open one."""
    if keys.get("publish") == "bounds":
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        if is_missing(low) and is_missing(high):
            return None
        if low == "*" or (is_missing(low) and "bottom" not in keys) or (is_missing(high) and "top" not in keys):
            return "*"  # an end that is open where none is declared may be anywhere
        return (
            ("<", _limit(keys["bottom"], keys)) if is_missing(low) else ("", _point(low, keys, schema)),
            (">", _limit(keys["top"], keys)) if is_missing(high) else ("", _point(high, keys, schema)),
        )
    cell = row[name]
    if is_missing(cell) or cell == "*":
        return None if is_missing(cell) else "*"
    if not isinstance(cell, str):
        return ("", _point(cell, keys, schema)), ("", _point(cell, keys, schema))
    if cell.startswith("["):
        pair = cell.strip("[]").split("; " if "; " in cell else ", ")
    else:
        pair = cell.split(" - " if "/" in keys.get("format", "") else "/") if keys["kind"] == "date" else [cell]
    first, last = pair[0], pair[-1]
    if len(pair) == 1 and first[0] in "<>":
        at = _point(first[1:], keys, schema)
        return (("<", at), ("", at)) if first[0] == "<" else (("", at), (">", at))
    return tuple(
        (text[0] if text[0] in "<>" else "", _point(text.lstrip("<>"), keys, schema)) for text in (first, last)
    )


def _widths(ends: list[Any], keys: dict[str, Any]) -> list[Fraction]:
    numbers = [at for each in ends if each is not None and each != "*" for _, at in each]
    if "range" in keys:
        least, most = (_limit(each, keys) for each in keys["range"])
    else:
        least, most = min(numbers, default=Fraction(0)), max(numbers, default=Fraction(0))
    found = []
    for each in ends:
        if each is None or each == "*":
            found.append(Fraction(int(each == "*")))
            continue
        (left, low), (right, high) = each
        width = (most if right else high) - (least if left else low)
        found.append(width / (most - least) if most > least else Fraction(0))
    return found
