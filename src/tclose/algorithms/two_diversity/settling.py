"""The cheapest of the divisions that floats, or a bound above them, leave open: in whole numbers."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from tclose.algorithms.control import Control
from tclose.algorithms.shared.whole_costs import WholeCosts, cheapest_way
from tclose.algorithms.two_diversity.small_groups import GroupRows

MOST_GROUPS, MOST_STEPS = 20_000, 200_000  # some seconds


def settle(costs: WholeCosts, groups: GroupRows, n: int, control: Control) -> GroupRows | None:
    """The cheapest division of n rows into some of these groups; None if that takes too long or is stopped.

    Rows that no chain of groups joins are divided apart from each other.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> schema = tclose.Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}})
    >>> table = encode(read(pl.DataFrame({"age": [0, 2, 3, 5]})), schema)
    >>> groups = np.array([[0, 3, 3], [1, 2, 2], [0, 1, 1], [2, 3, 3]])
    >>> settle(WholeCosts.of(table), groups, 4, Control()).tolist()
    [[0, 1, 1], [2, 3, 3]]
    """
    if len(groups) > MOST_GROUPS:
        return None
    groups = np.unique(groups, axis=0)
    prices = costs.of_groups([sorted(set(line)) for line in groups.tolist()])
    chosen: list[int] = []
    for part in _parts(groups, n):
        found = _cheapest(groups, prices, part, control)
        if found is None:
            return None
        chosen += found
    return groups[sorted(chosen)]


def _parts(groups: GroupRows, n: int) -> list[list[int]]:
    """The groups that hang together, by their rows."""
    above = list(range(n))

    def top(row: int) -> int:
        while above[row] != row:
            above[row] = above[above[row]]
            row = above[row]
        return row

    for first, second, third in groups.tolist():
        above[top(second)] = top(first)
        above[top(third)] = top(first)
    parts: dict[int, list[int]] = defaultdict(list)
    for place, first in enumerate(groups[:, 0].tolist()):
        parts[top(first)].append(place)
    return list(parts.values())


def _cheapest(groups: GroupRows, prices: list[int], part: list[int], control: Control) -> list[int] | None:
    """The places of the groups of the cheapest division of their rows: a set of rows is a number, a bit a row."""
    rows = np.unique(groups[part])
    bit = {row: len(rows) - 1 - place for place, row in enumerate(rows.tolist())}
    place_of, options = dict[int, int](), defaultdict[int, list[tuple[int, int]]](list)
    for place in part:
        members = sum(1 << bit[row] for row in set(groups[place].tolist()))
        place_of[members] = place
        options[members.bit_length()].append((members, prices[place]))

    def fitting(left: int) -> list[tuple[int, int]]:
        return [each for each in options[left.bit_length()] if each[0] & left == each[0]]

    found = cheapest_way((1 << len(rows)) - 1, fitting, MOST_STEPS, lambda: not control.stop)
    return None if found is None else [place_of[members] for members in found[1]]
