"""The slow, obvious judge: classes, k, every t, l and cap on belief, and whether a released table keeps its promise.

A table is a list of dicts of plain Python values or texts, a schema the plain dict that
`Schema.from_dict` takes. Everything is counted from the definitions, in integers and fractions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, log, prod
from typing import Any

from tests.fuzz.coarseness import beyond_limits
from tests.fuzz.grounds import Attribute, Keys, attribute, exact, joined, leaf_paths
from tests.fuzz.meaning import Cell, Rows, is_missing, label
from tests.oracles.belief import is_below_log, is_enhanced, largest_beta, largest_rise


@dataclass(frozen=True)
class Diverse:
    """How diverse the least diverse classes are: `recursive` is the greatest c that some class is not below."""

    distinct: int
    entropy: float
    frequency: Fraction
    recursive: Fraction | None = None  # None also where nothing remains beside the most frequent value


@dataclass(frozen=True)
class Judgement:
    """What a released table is."""

    rows: int
    classes: int
    k: int
    t: dict[str, Fraction]
    l: dict[str, Diverse]  # noqa: E741 - the name of the field's literature
    broken: list[str] = field(default_factory=list)
    rises: dict[str, tuple[Fraction, Fraction]] = field(default_factory=dict)  # of what is capped: rise and beta
    persons: int | None = None  # of the class that has fewest, where it is known whose a row is
    person_rises: dict[str, tuple[Fraction, Fraction]] = field(default_factory=dict)  # of what is capped in persons

    @property
    def holds(self) -> bool:
        """Whether all that was asked is kept."""
        return not self.broken


def released_columns(schema: Keys) -> dict[str, tuple[str, ...]]:
    """The columns that each quasi-identifier becomes."""
    return {
        name: (f"{name}_low", f"{name}_high") if keys.get("publish") == "bounds" else (name,)
        for name, keys in schema["quasi"].items()
    }


def remaining(rows: Rows, schema: Keys) -> list[int]:
    """The rows that are released: all, or one of each person; and none with a missing value that is to be dropped."""
    kept = list(range(len(rows))) if schema.get("unit_rows") != "one" else _picked(rows, schema)
    if schema.get("missing") != "drop":
        return kept
    spellings = schema.get("missing_values", ())
    columns = {name: is_measured_quasi(keys) for name, keys in schema["quasi"].items()}
    columns |= {name: is_measured_sensitive(keys) for name, keys in schema.get("sensitive", {}).items()}
    return [
        place
        for place in kept
        if not any(is_missing(rows[place][name], spellings, measured) for name, measured in columns.items())
    ]


def _picked(rows: Rows, schema: Keys) -> list[int]:
    """The first or last row of each person."""
    found: dict[Any, tuple[Any, int]] = {}
    for place, row in enumerate(rows):
        own = row[schema["unit_order"]], place
        known = found.get(row[schema["unit"]], own)
        found[row[schema["unit"]]] = max(own, known) if schema["unit_pick"] == "last" else min(own, known)
    return sorted(place for _, place in found.values())


def persons_of(rows: Rows, schema: Keys) -> list[str] | None:
    """Whose each row is; None where nothing says it."""
    return [label(row[schema["unit"]]) for row in rows] if schema.get("unit") else None


def is_measured_quasi(keys: Keys) -> bool:
    """Whether it is read as numbers or dates."""
    built = isinstance(keys.get("hierarchy"), dict) and keys["hierarchy"].get("build") in ("intervals", "dates")
    return keys["kind"] in ("numeric", "date") or built


def is_measured_sensitive(keys: Keys) -> bool:
    """Whether it is read as numbers or dates."""
    return bool(keys["distance"] == "numeric" or (keys["distance"] == "ordered" and not keys.get("order")))


def groups(rows: Rows, columns: Sequence[str]) -> list[list[int]]:
    """The rows that agree on these columns."""
    found: dict[tuple[str | None, ...], list[int]] = {}
    for place, row in enumerate(rows):
        key = tuple(None if is_missing(row[name]) else label(row[name]) for name in columns)
        found.setdefault(key, []).append(place)
    return list(found.values())


def judge(rows: Rows, schema: Keys, who: list[str] | None = None) -> Judgement:
    """Measure a released table, and say what of its promise it breaks; `who` says whose each row is."""
    quasi = [name for names in released_columns(schema).values() for name in names]
    classes = groups(rows, quasi)
    attributes = {
        name: attribute([row[name] for row in rows], keys, schema) for name, keys in schema.get("sensitive", {}).items()
    }
    asked: dict[str, Fraction] = {
        name: exact(keys["t"]) for name, keys in schema.get("sensitive", {}).items() if keys.get("t") is not None
    }
    measured = dict(attributes)
    for name, keys in schema.get("joint", {}).items():
        asked[name] = exact(keys["t"])
        measured[name] = joined([attributes[column] for column in keys["columns"]])
    k = min(map(len, classes), default=0)
    t = {name: max((each.emd(members) for members in classes), default=Fraction(0)) for name, each in measured.items()}
    broken = [f"k is {k}"] if k < schema["k"] else []
    broken += [f"t of {name} is {t[name]}" for name, limit in asked.items() if t[name] > limit]
    broken += _narrow_groups(rows, quasi, schema, who)
    broken += beyond_limits(rows, schema)
    persons = None if who is None else min((len({who[row] for row in each}) for each in classes), default=0)
    broken += [f"k is {persons} in persons"] if persons is not None and persons < schema["k"] else []
    l = {}  # noqa: E741
    for name, keys in schema.get("sensitive", {}).items():
        counts = [_counts(attributes[name], members) for members in classes]
        wanted = {"distinct": keys["l"]} if isinstance(keys.get("l"), int) else keys.get("l") or {}
        l[name] = _diversity(counts, wanted)
        broken += [f"l of {name}" for each in counts if not is_diverse(each, wanted)][:1]
    rises, person_rises = {}, {}
    for name, keys in schema.get("sensitive", {}).items():
        if "rise" not in keys and "beta" not in keys:
            continue
        if schema.get("unit_rows") != "all":
            sides = capped_sides([row[name] for row in rows], attributes[name], keys, schema)
            pairs = [(values, [[values[row] for row in members] for members in classes]) for values in sides]
            rises[name] = max(largest_rise(*pair) for pair in pairs), max(largest_beta(*pair) for pair in pairs)
            broken += _broken_caps(name, keys, rises[name], all(is_enhanced(*pair) for pair in pairs))
        elif who is not None:
            sides = capped_sides([row[name] for row in rows], attributes[name], keys, schema)
            person_rises[name], enhanced = _in_persons(sides, who, classes)
            broken += [f"{each} in persons" for each in _broken_caps(name, keys, person_rises[name], enhanced)]
    return Judgement(len(rows), len(classes), k, t, l, broken, rises, persons, person_rises)


def _in_persons(
    sides: list[list[Any]], who: list[str], classes: list[list[int]]
) -> tuple[tuple[Fraction, Fraction], bool]:
    """The largest rise and beta of shares of persons, and whether no beta is above -ln p."""
    rise, beta, enhanced = Fraction(0), Fraction(0), True
    for values in sides:
        for value in set(values):
            having = {person for person, own in zip(who, values, strict=True) if own == value}
            p = Fraction(len(having), len(set(who)))
            for rows in classes:
                q = Fraction(len({who[row] for row in rows if values[row] == value}), len({who[row] for row in rows}))
                rise, beta = max(rise, q - p), max(beta, q / p - 1)
                enhanced = enhanced and is_below_log(q / p - 1, 1 / p)
    return (rise, beta), enhanced


def capped_sides(cells: list[Cell], of: Attribute, keys: Keys, schema: Keys) -> list[list[Any]]:
    """What has a share, row by row: the value; and at every depth of a hierarchy, if asked, the node there."""
    sides: list[list[Any]] = [list(of.places)]
    if keys.get("levels"):
        paths = leaf_paths(keys["hierarchy"])
        ways = [
            ("missing",) if is_missing(cell, schema.get("missing_values", ()), False) else paths[label(cell)]
            for cell in cells
        ]
        sides += [[way[:depth] for way in ways] for depth in range(1, max(map(len, ways)) + 1)]
    return sides


def _broken_caps(name: str, keys: Keys, reached: tuple[Fraction, Fraction], enhanced: bool) -> list[str]:
    broken = [f"rise of {name} is {reached[0]}"] if "rise" in keys and reached[0] > exact(keys["rise"]) else []
    if "beta" in keys and (reached[1] > exact(keys["beta"]) or (keys.get("enhanced") and not enhanced)):
        broken.append(f"beta of {name} is {reached[1]}")
    return broken


def _narrow_groups(rows: Rows, quasi: list[str], schema: Keys, who: list[str] | None) -> list[str]:
    if not schema.get("keep") or schema.get("keep_unchecked"):
        return []
    found = groups(rows, [*quasi, *schema["keep"]])
    least = min(len(each) if who is None else len({who[row] for row in each}) for each in found)
    return [f"with `keep` a group has {least} rows"] if least < schema["k"] else []


def _counts(of: Attribute, members: Sequence[int]) -> list[int]:
    """How often each value occurs in a class, the most frequent first."""
    return sorted(Counter(of.places[row] for row in members).values(), reverse=True)


def _diversity(counts: list[list[int]], wanted: dict[str, Any]) -> Diverse:
    recursive: Fraction | None = None
    if "recursive" in wanted:
        rest = [sum(each[wanted["recursive"]["l"] - 1 :]) for each in counts]
        if all(rest):
            recursive = max(Fraction(each[0], tail) for each, tail in zip(counts, rest, strict=True))
    return Diverse(
        min(map(len, counts)),
        min(exp(-sum(c / sum(each) * log(c / sum(each)) for c in each)) for each in counts),
        min(Fraction(sum(each), each[0]) for each in counts),
        recursive,
    )


def is_diverse(counts: list[int], wanted: dict[str, Any]) -> bool:
    """Whether the counts of a class, the most frequent first, are as diverse as asked.

    The entropy is at least log l if and only if s^s / prod(c^c) >= l^s, which integers decide.
    """
    size = sum(counts)
    if "distinct" in wanted and len(counts) < wanted["distinct"]:
        return False
    if "frequency" in wanted and Fraction(size, counts[0]) < exact(wanted["frequency"]):
        return False
    if "entropy" in wanted and Fraction(size**size, prod(c**c for c in counts)) < exact(wanted["entropy"]) ** size:
        return False
    if "recursive" in wanted:
        asked = wanted["recursive"]
        return Fraction(counts[0]) < exact(asked["c"]) * sum(counts[asked["l"] - 1 :])
    return True


def texts(rows: Rows) -> list[dict[str, str]]:
    """Cells as a CSV has them."""
    return [{name: "" if cell is None else label(cell) for name, cell in row.items()} for row in rows]


__all__ = [
    "Cell", "Diverse", "Judgement", "capped_sides", "groups", "is_diverse", "judge", "persons_of", "released_columns",
    "remaining", "texts",
]  # fmt: skip
