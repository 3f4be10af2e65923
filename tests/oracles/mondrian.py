"""t-Mondrian as one would explain it: recursion over lists of rows, fractions, no arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Row = tuple[int, ...]


def mondrian(
    rows: Sequence[Row],
    cost: Callable[[int, int, int], float],
    is_tree: Sequence[bool],
    k: int,
    holds: Callable[[Sequence[Row]], bool],
) -> set[frozenset[int]]:
    """The classes as sets of row numbers.

    Parameters
    ----------
    rows
        The place of each row on every axis.
    cost
        cost(axis, low, high): the loss of a span.
    is_tree
        Whether an axis is a tree.
    k, holds
        What each side of a cut must meet; `holds` takes row numbers as 1-tuples.
    """
    classes: set[frozenset[int]] = set()

    def cut(members: list[int]) -> None:
        for axis in _by_width(members):
            for place in _cuts(members, axis):
                left = [row for row in members if rows[row][axis] <= place]
                right = [row for row in members if rows[row][axis] > place]
                if holds([(row,) for row in left]) and holds([(row,) for row in right]):
                    cut(left)
                    cut(right)
                    return
        classes.add(frozenset(members))

    def _by_width(members: list[int]) -> list[int]:
        spans = {axis: [rows[row][axis] for row in members] for axis in range(len(is_tree))}
        wide = [axis for axis, places in spans.items() if min(places) < max(places)]
        return sorted(wide, key=lambda axis: (-cost(axis, min(spans[axis]), max(spans[axis])), axis))

    def _cuts(members: list[int], axis: int) -> list[int]:
        places = sorted(rows[row][axis] for row in members)
        widest = cost(axis, places[0], places[-1])
        found: dict[str, tuple[int, int]] = {}
        for low, high in zip(sorted(set(places)), sorted(set(places))[1:], strict=False):
            left = sum(place <= low for place in places)
            if min(left, len(places) - left) < k:
                continue
            score = (abs(2 * left - len(places)), low)
            found["any"] = min(found.get("any", score), score)
            if is_tree[axis] and cost(axis, low, high) == widest:
                found["between subtrees"] = min(found.get("between subtrees", score), score)
        order = [found[name][1] for name in ("between subtrees", "any") if name in found]
        return list(dict.fromkeys(order))

    cut(list(range(len(rows))))
    return classes
