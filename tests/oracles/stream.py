"""SABRE_W as section 5 of paper 004 prints it, line by line, with lists and fractions; and its definitions 6 and 7.

A row is a tuple of codes, one a sensitive attribute, each with an order as its domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tests.oracles.distance import emd_ordered

Row = tuple[int, ...]
Group = list[int]  # of row numbers
Inner = Callable[[list[Row], list[Fraction]], list[Group] | None]


@dataclass(frozen=True)
class Turn:
    """One turn of the loop: which case it was, what was put out, and the window that those are close to."""

    case: int
    groups: list[Group]
    window: int | None


def distances(rows: Sequence[Row], reference: Sequence[Row], sizes: Sequence[int]) -> list[Fraction]:
    """EMD of rows from a reference, for each attribute."""
    result = []
    for place, size in enumerate(sizes):
        p, q = Counter(row[place] for row in rows), Counter(row[place] for row in reference)
        result.append(emd_ordered([p[value] for value in range(size)], [q[value] for value in range(size)]))
    return result


def sabre_w(
    stream: Sequence[Row], omega: int, step: int, k: int, ts: Sequence[Fraction], sizes: Sequence[int], inner: Inner
) -> tuple[list[Turn], set[int], list[Group]]:
    """The turns, the rows that are out at the end, and the groups still in S_G.

    Where the paper asks D < t this asks D <= t, and DIRECT also needs k rows.
    """
    turns: list[Turn] = []
    out: set[int] = set()
    s_g: list[Group] = []
    s_g_window: int | None = None
    begin = 0
    while begin + omega + step <= len(stream):  # I new tuples have arrived
        window = range(begin, begin + omega)
        expiring = [x for x in range(begin, begin + step) if x not in out]
        if not expiring:
            turns.append(Turn(1, [], None))
            begin += step
            continue
        rest = [x for x in window if x not in out]
        far = distances([stream[x] for x in rest], [stream[x] for x in window], sizes)
        groups = None
        if all(d <= t for d, t in zip(far, ts, strict=True)) and len(rest) >= k:
            groups = inner([stream[x] for x in rest], [t - d for t, d in zip(ts, far, strict=True)])
        if groups is not None:
            s_g, s_g_window = [[rest[place] for place in group] for group in groups], begin
            put = []
            for x in expiring:
                for group in s_g:
                    if x in group:
                        put.append(group)
                        s_g.remove(group)
                        break
            turns.append(Turn(2, put, begin))
        else:
            put, s_g = s_g, []
            turns.append(Turn(3, put, s_g_window))
        out |= {x for group in put for x in group}
        begin += step
    return turns, out, s_g


def halves(rows: list[Row], budgets: Sequence[Fraction], k: int, sizes: Sequence[int]) -> list[Group]:
    """An inner partition: cut in two while both sides have k rows and are close; old and new rows are mixed first."""

    def close(group: Group) -> bool:
        found = distances([rows[x] for x in group], rows, sizes) if len(group) >= k else []
        return len(group) >= k and all(d <= t for d, t in zip(found, budgets, strict=True))

    def cut(group: Group) -> list[Group]:
        middle = len(group) // 2
        left, right = group[:middle], group[middle:]
        return cut(left) + cut(right) if close(left) and close(right) else [group]

    return cut(sorted(range(len(rows)), key=lambda place: place * 7919 % 101))
