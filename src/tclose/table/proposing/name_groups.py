"""Columns that share a beginning and all else: one pattern for many of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

from tclose.schema.name_patterns import is_pattern

FEWEST = 4  # columns that a pattern is worth
MOST = 0.6  # of the columns that match a pattern, the share that it has to be for


def group_names(settings: Mapping[str, Hashable], every: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Columns under the names or patterns by which a schema can speak of them, in the order of the table.

    A pattern stands for columns with the same settings. Other columns that match it are few, and have to be named.

    Parameters
    ----------
    settings
        For each column to be written, what is to be said of it.
    every
        All columns of the table.

    Examples
    --------
    >>> names = ["age", *(f"lab_{number}" for number in range(1, 7))]
    >>> group_names({name: name == "age" for name in names}, names)
    [('age', ['age']), ('lab_*', ['lab_1', 'lab_2', 'lab_3', 'lab_4', 'lab_5', 'lab_6'])]
    """
    taken: dict[str, str] = {}
    if not any(map(is_pattern, every)):  # a star in a name would be read as one of a pattern
        for pattern, members in _candidates(settings):
            longer = {other[:-1] for other in set(taken.values()) if len(other) > len(pattern)}
            members = [name for name in members if name not in taken and not name.startswith(tuple(longer))]
            if len(members) >= FEWEST and _stands_for(pattern, members, every) and not _steals(pattern, taken):
                taken |= dict.fromkeys(members, pattern)
    groups: dict[str, list[str]] = {}
    for name in settings:
        groups.setdefault(taken.get(name, name), []).append(name)
    return list(groups.items())


def _candidates(settings: Mapping[str, Hashable]) -> list[tuple[str, list[str]]]:
    """Patterns with the columns of the same settings that they match, the largest first."""
    found: dict[tuple[str, Hashable], list[str]] = defaultdict(list)
    for name, setting in settings.items():
        for beginning in _beginnings(name):
            found[f"{beginning}*", setting].append(name)
    ranked = sorted(found.items(), key=lambda each: (-len(each[1]), -len(each[0][0]), each[0][0]))
    return [(pattern, members) for (pattern, _), members in ranked if len(members) >= FEWEST]


def _beginnings(name: str) -> set[str]:
    """The name up to each digit of its number, and up to each sign that parts its words."""
    places = {match.end() for match in re.finditer(r"[_.\-\s]+", name)}
    places |= set(range(len(name.rstrip("0123456789")), len(name)))
    return {name[:place] for place in places if 0 < place < len(name)}


def _stands_for(pattern: str, members: Sequence[str], every: Sequence[str]) -> bool:
    return len(members) >= MOST * sum(name.startswith(pattern[:-1]) for name in every)


def _steals(pattern: str, taken: Mapping[str, str]) -> bool:
    """Whether it matches what a shorter pattern stands for: the longer one would win."""
    return any(len(other) < len(pattern) and name.startswith(pattern[:-1]) for name, other in taken.items())
