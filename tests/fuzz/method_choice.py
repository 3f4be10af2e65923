"""A method that can take a schema, with options of its own."""

from __future__ import annotations

import random
from typing import Any

ANY = ("tight", "mondrian", "mondrian", "sabre-ak", "sabre-knn", "fragments", "clusters", "pca", "microaggregation")
PARTICULAR = ("k-approx", "two-diversity", "milp", "incognito", "exact", "fragments-strict")
IN_PERSONS = ("tight", "mondrian")
LEAVES_ROWS_OUT = ("tight", "mondrian", "mondrian")
KEEPS_COARSEST = ("tight", "mondrian", "exact")
COUNTS_WEIGHTS = (*KEEPS_COARSEST, "incognito", "sabre-knn", "milp", "two-diversity")
SABRE = {
    "bound": ["printed", "largest"],
    "search_budget": ["true", "false"],
    "try_first": ["true", "false"],
    "slack": ["true", "false"],
}
OPTIONS: dict[str, dict[str, list[str]]] = {
    "tight": {"effort": ["fast", "balanced", "best"]},
    "mondrian": {"textbook": ["true", "false"]},
    "sabre-ak": {**SABRE},
    "sabre-knn": {**SABRE, "metric": ["euclidean", "loss"]},
    "fragments": {"bold": ["true", "false"]},
    "k-approx": {"cut": ["true", "false"]},
    "microaggregation": {"variant": ["t-first", "k-first", "merge"], "within": ["5", "200"]},
}


def choose_method(schema: dict[str, Any], n: int, draw: random.Random) -> tuple[str, dict[str, str]]:
    """One of those whose conditions the schema seems to meet; now and then one that should refuse it."""
    able = [*ANY]
    quasi, asked = schema["quasi"].values(), [*schema.get("sensitive", {}).values()]
    suppress = schema.get("recode") == "suppress"
    if all(keys["distance"] in ("ordered", "numeric") or "t" not in keys for keys in asked) and "joint" not in schema:
        able.append("fragments-strict")
    if suppress or all(keys["kind"] not in ("numeric", "date") or "hierarchy" in keys for keys in quasi):
        able += ["incognito"] * 2
    if suppress and n <= 15 and not any("l" in keys for keys in asked):
        able += ["milp"] * 4
    if suppress and not asked:
        able += ["k-approx"] * 4
    if n <= 14:
        able += ["exact"] * 2
    frequency = all(keys.get("l") == {"frequency": 2} and not {"t", "rise", "beta"} & {*keys} for keys in asked)
    if schema["k"] <= 2 and frequency and "joint" not in schema:
        able += ["two-diversity"] * 6
    kept = [keys for keys in quasi if "coarsest" in keys]
    if (kept or any("weight" in keys for keys in quasi)) and draw.random() < 0.95:
        able = [name for name in able if name in (KEEPS_COARSEST if kept else COUNTS_WEIGHTS)]
    if schema.get("suppress_rows") and draw.random() < 0.95:
        able = [*LEAVES_ROWS_OUT]
    method = draw.choice(PARTICULAR if draw.random() < 0.03 else able)
    if schema.get("unit_rows") == "all" and method not in IN_PERSONS and draw.random() < 0.9:
        method = draw.choice(IN_PERSONS)
    if schema.get("objective", "loss") != "loss" and draw.random() < 0.9:
        method = "tight"
    options = {name: draw.choice(values) for name, values in OPTIONS.get(method, {}).items() if draw.random() < 0.5}
    return method, options
