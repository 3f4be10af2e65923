"""Rows that a release leaves out: whether they are a class beside it, by the judge's own counting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tests.fuzz.grounds import Keys, attribute, exact, joined
from tests.fuzz.meaning import Rows
from tests.fuzz.oracle import capped_sides, is_diverse
from tests.oracles.belief import is_below_log


def left_out_broken(rows: Rows, left: Sequence[int], schema: Keys) -> list[str]:
    """What rows that are left out break of their promise; `rows` are all that could be released.

    With a share s of all rows left out, all - left = (1 - s) (rest - left), whichever the distance: so that from the
    rest is 1 / (1 - s) of that from all.
    """
    if not left:
        return []
    share = Fraction(len(left), len(rows))
    broken = [f"{len(left)} of {len(rows)} rows left out"] if share > exact(schema["suppress_rows"]) else []
    broken += [f"{len(left)} rows left out, fewer than k"] if len(left) < schema["k"] else []
    attributes = {
        name: attribute([row[name] for row in rows], keys, schema) for name, keys in schema.get("sensitive", {}).items()
    }
    measured: dict[str, Any] = {
        name: (attributes[name], keys.get("t")) for name, keys in schema.get("sensitive", {}).items()
    }
    measured |= {
        name: (joined([attributes[column] for column in keys["columns"]]), keys["t"])
        for name, keys in schema.get("joint", {}).items()
    }
    for name, (each, t) in measured.items():
        if t is not None and each.emd(left) / (1 - share) > exact(t):
            broken.append(f"t of {name} among rows left out")
    for name, keys in schema.get("sensitive", {}).items():
        counts = sorted(Counter(attributes[name].places[row] for row in left).values(), reverse=True)
        wanted = {"distinct": keys["l"]} if isinstance(keys.get("l"), int) else keys.get("l") or {}
        broken += [] if is_diverse(counts, wanted) else [f"l of {name} among rows left out"]
        if "rise" in keys or "beta" in keys:
            cells = [row[name] for row in rows]
            broken += _broken_caps(name, capped_sides(cells, attributes[name], keys, schema), set(left), keys)
    return broken


def _broken_caps(name: str, sides: list[list[Any]], left: set[int], keys: Keys) -> list[str]:
    for values in sides:
        gone = [value for row, value in enumerate(values) if row in left]
        rest = [value for row, value in enumerate(values) if row not in left]
        for value in set(gone):
            q, p = Fraction(gone.count(value), len(gone)), Fraction(rest.count(value), len(rest))
            if "rise" in keys and q - p > exact(keys["rise"]):
                return [f"rise of {name} among rows left out"]
            if "beta" in keys and (not p or q / p - 1 > exact(keys["beta"])):
                return [f"beta of {name} among rows left out"]
            if keys.get("enhanced") and not is_below_log(q / p - 1, 1 / p):
                return [f"beta of {name} among rows left out"]
    return []
