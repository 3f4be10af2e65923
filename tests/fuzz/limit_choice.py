"""Weights and limits of a quasi-identifier, drawn apart from all else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tests.fuzz.grounds import leaf_paths
from tests.fuzz.meaning import Cell, NoMeaning, is_missing, label, number

PERIODS = ("day", "month", "quarter", "year")


def draw_limits(keys: dict[str, Any], cells: Sequence[Cell], suppress: bool, draw: random.Random) -> dict[str, Any]:
    """Keys to be added; most columns have none."""
    found: dict[str, Any] = {}
    if draw.random() < 0.12:
        found["weight"] = draw.choice([2, 0.5, 3, "1/3", 1.25])
    if suppress or draw.random() > 0.12 or keys.get("publish") == "mean":
        return found
    kind = keys["kind"]
    if kind == "numeric":
        return found | _width(keys, cells, draw)
    if kind == "date":
        step = keys.get("step")
        least = PERIODS.index(step) if isinstance(step, str) else 0
        tails = keys.get("publish") == "bounds" and "top" in keys
        return found if tails else found | {"coarsest": draw.choice([*PERIODS[least:], "year"])}
    if kind in ("text", "categorical") and any(label(cell).endswith("*") for cell in cells if not is_missing(cell)):
        return found  # which is refused
    if kind == "text":
        found |= {"coarsest": draw.randint(1, 2)} if draw.random() < 0.6 else {}
        return found | ({"finest": draw.randint(2, 4)} if draw.random() < 0.6 else {})
    return found | _levels(keys, draw) if kind == "categorical" else found


def _width(keys: dict[str, Any], cells: Sequence[Cell], draw: random.Random) -> dict[str, Any]:
    if keys.get("publish") == "bounds" and {"bottom", "top"} <= {*keys}:
        return {}
    try:
        values = sorted(number(cell) for cell in cells if not is_missing(cell))
    except NoMeaning:
        return {}
    if not values or values[-1] - values[0] > 10**6 or any(value.denominator > 100 for value in values):
        return {}
    gaps = [high - low for low in values for high in values if high >= low]
    width = draw.choice([max(gaps), draw.choice(gaps), max(gaps) / 2])
    width = max(width, number(keys["step"]) if "step" in keys else width)
    return {"coarsest": float(width)} if width == number(float(width)) else {}


def _levels(keys: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    tree = keys.get("hierarchy")
    if tree is None:
        return {"coarsest": draw.randint(0, 1)}
    if "build" in tree:
        height = 1 + len(tree.get("lengths") or tree.get("widths") or tree.get("levels"))
        labels: list[str] = []
    else:
        paths = leaf_paths(tree)
        height = max(map(len, paths.values()))
        labels = [each for path in paths.values() for each in path]
    finest = draw.randint(0, height - 1)
    found: dict[str, Any] = {"finest": finest} if draw.random() < 0.5 else {}
    if labels and draw.random() < 0.3:
        return {"coarsest": draw.choice(labels)}
    return found | ({"coarsest": draw.randint(finest, height)} if draw.random() < 0.7 else {})
