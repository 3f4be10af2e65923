"""Whether released cells are as fine as `coarsest` asks and no finer than `finest` allows, from the definitions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from typing import Any

from tests.fuzz.grounds import Keys, exact, leaf_paths, node_heights
from tests.fuzz.meaning import Cell, Rows, is_missing, label, number
from tests.oracles.published_loss import ends_of

TOP = 10**6


def beyond_limits(rows: Rows, schema: Keys) -> list[str]:
    """What is too coarse or too fine, a line for each column and limit."""
    found = []
    for name, keys in schema["quasi"].items():
        if "coarsest" in keys and any(_is_coarse(row, name, keys, schema) for row in rows):
            found.append(f"{name} is too coarse")
        if "finest" in keys and any(_is_fine(row[name], keys, schema) for row in rows):
            found.append(f"{name} is too fine")
    return found


def _is_coarse(row: dict[str, Cell], name: str, keys: Keys, schema: Keys) -> bool:
    if keys["kind"] in ("numeric", "date"):
        ends = ends_of(row, name, dict(keys), dict(schema))
        if ends is None or ends == "*":
            return bool(ends == "*")
        (_, low), (_, high) = ends
        if keys["kind"] == "numeric":
            return bool(high - low > exact(keys["coarsest"]))
        return bool(_period(low, keys["coarsest"]) != _period(high, keys["coarsest"]))
    if is_missing(row[name]):
        return False
    text = label(row[name])
    if keys["kind"] == "text":
        return bool(text.endswith("*") and len(text.rstrip("*")) < keys["coarsest"])
    if isinstance(keys["coarsest"], str):
        return not any(_is_beside(node, keys) for node in _nodes(text, keys["hierarchy"]))
    return bool(min(height for height, _ in _levels(text, keys, schema)) > keys["coarsest"])


def _is_fine(cell: Cell, keys: Keys, schema: Keys) -> bool:
    if is_missing(cell):
        return False
    text = label(cell)
    if keys["kind"] == "text":
        return bool(len(text.rstrip("*")) > keys["finest"])
    return bool(max(above for _, above in _levels(text, keys, schema)) <= keys["finest"])


def _period(day: Fraction, period: str) -> tuple[int, ...]:
    """What all days of a period have in common."""
    at = date.fromordinal(int(day) + 1)
    return {
        "day": (at.year, at.month, at.day),
        "month": (at.year, at.month),
        "quarter": (at.year, (at.month - 1) // 3),
        "year": (at.year,),
    }[period]


def _levels(text: str, keys: Keys, schema: Keys) -> list[tuple[int, int]]:
    """The height of each node of this label, and that of its parent."""
    tree = keys.get("hierarchy")
    if tree is None:
        return [(1, TOP)] if text == "*" else [(0, 1)]
    if "build" not in tree:
        heights = node_heights(leaf_paths(tree))
        return [(heights[node], heights[node[:-1]] if node else TOP) for node in _nodes(text, tree)]
    top = 1 + len(tree.get("lengths") or tree.get("widths") or tree.get("levels") or (1, 2, 3))
    levels = [top] if text == "*" else _built_levels(text, tree, schema.get("decimal", "."))
    return [(level, TOP if level == top else level + 1) for level in levels]


def _nodes(text: str, tree: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The nodes of this label, each as the labels that lead to it; the root is `*`."""
    heights = node_heights(leaf_paths(tree))
    return [node for node in heights if (node[-1] if node else "*") == text]


def _is_beside(node: tuple[str, ...], keys: Keys) -> bool:
    """Whether it is above no node of the label that `coarsest` is."""
    named = _nodes(keys["coarsest"], keys["hierarchy"])
    return not any(other[: len(node)] == node and other != node for other in named)


def _built_levels(text: str, tree: Mapping[str, Any], decimal: str) -> list[int]:
    if tree["build"] == "prefixes":
        shown = len(text.rstrip("*"))
        highest = len([length for length in tree["lengths"] if length >= shown])
        return [highest] if text.endswith("*") else list(range(highest + 1))
    if tree["build"] == "dates":
        forms = {r"\d{4}": "year", r"\d{4}-Q\d": "quarter", r"\d{4}-\d\d": "month"}
        levels = list(tree.get("levels", ["month", "quarter", "year"]))
        return [levels.index(period) + 1 for form, period in forms.items() if re.fullmatch(form, text)] or [0]
    pair = re.fullmatch(r"\[(.*)[,;] (.*)\)", text)
    if not pair:
        return [0]
    width = number(pair[2], decimal) - number(pair[1], decimal)
    return [place + 1 for place, each in enumerate(tree["widths"]) if number(each) == width]
