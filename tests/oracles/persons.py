"""What is promised of persons, from the definitions, row by row: it shares no code with the package."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction

Row = tuple[Hashable, Hashable]  # whose it is, and its value


def persons(rows: Sequence[Row]) -> int:
    return len({who for who, _ in rows})


def share(rows: Sequence[Row], values: set[Hashable]) -> Fraction:
    """The share of the persons who have a row of one of the values."""
    return Fraction(len({who for who, value in rows if value in values}), persons(rows))


def grouped(rows: Sequence[Row], classes: Sequence[Hashable]) -> list[list[Row]]:
    return [[row for row, own in zip(rows, classes, strict=True) if own == each] for each in sorted(set(classes))]  # type: ignore[type-var]


def kinds(rows: Sequence[Row], tree: Mapping[str, Sequence[str]] | None = None) -> list[set[Hashable]]:
    """Single values, and with a tree of two levels the values below each inner node."""
    found: list[set[Hashable]] = [{value} for _, value in rows]
    return found + [set(leaves) for leaves in (tree or {}).values()]


def largest_rise(
    rows: Sequence[Row], classes: Sequence[Hashable], tree: Mapping[str, Sequence[str]] | None = None
) -> Fraction:
    return max(share(one, kind) - share(rows, kind) for one in grouped(rows, classes) for kind in kinds(rows, tree))


def largest_beta(
    rows: Sequence[Row], classes: Sequence[Hashable], tree: Mapping[str, Sequence[str]] | None = None
) -> Fraction:
    known = [kind for kind in kinds(rows, tree) if share(rows, kind)]
    return max(share(one, kind) / share(rows, kind) - 1 for one in grouped(rows, classes) for kind in known)
