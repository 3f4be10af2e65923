"""The fewest stars of any t-closeness partition, by trying them all (002, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from tests.oracles.sabre import exact_transport

Class = tuple[int, ...]
Ground = list[list[Fraction]]


def partitions(rows: Sequence[int]) -> Iterator[list[Class]]:
    """All ways to part the rows into classes: the first row joins each class of the others, or none."""
    if not rows:
        yield []
        return
    for others in partitions(rows[1:]):
        yield [(rows[0],), *others]
        for place, members in enumerate(others):
            yield [*others[:place], (rows[0], *members), *others[place + 1 :]]


def stars(cells: Sequence[Sequence[str]], members: Class) -> int:
    """The cost of a class: its rows times the columns in which they differ."""
    columns = zip(*(cells[row] for row in members), strict=True)
    return len(members) * sum(len(set(column)) > 1 for column in columns)


def distance(
    values: Sequence[str], members: Class, reference: Sequence[int], domain: Sequence[str], ground: Ground
) -> Fraction:
    """Of one attribute in a class from the reference, by moving mass."""
    counts = [sum(values[row] == value for row in members) for value in domain]
    return exact_transport(counts, reference, ground)


def fewest_stars(cells: Sequence[Sequence[str]], holds: Callable[[Class], bool]) -> int | None:
    """Over all partitions whose classes all hold; None if there is none."""
    known: dict[Class, bool] = {}

    def allowed(members: Class) -> bool:
        if members not in known:
            known[members] = holds(members)
        return known[members]

    costs = [
        sum(stars(cells, members) for members in classes)
        for classes in partitions(range(len(cells)))
        if all(map(allowed, classes))
    ]
    return min(costs, default=None)
