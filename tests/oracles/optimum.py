"""The best of all partitions, by making every one of them (002, section 2): slow, and from the definitions alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from tests.oracles.distance import emd_equal, emd_hierarchical, emd_numeric, emd_ordered, transport
from tests.oracles.diversity import entropy_at_least, recursive_holds
from tests.oracles.joint import joint_distance

Row = Mapping[str, Any]
Rows = Sequence[Row]
Spec = Mapping[str, Any]


def all_partitions(items: Sequence[Hashable]) -> Iterator[list[list[Any]]]:
    """Every way to part some things: the first stands alone, or joins one of the parts of the others."""
    if not items:
        yield []
        return
    for parts in all_partitions(items[1:]):
        yield [[items[0]], *parts]
        for place, part in enumerate(parts):
            yield [*parts[:place], [items[0], *part], *parts[place + 1 :]]


def least_cost(n: int, may_be: Callable[[list[int]], bool], cost: Callable[[list[int]], Fraction]) -> Fraction | None:
    """The least cost of all partitions of rows 0 to n - 1 whose classes all may be; None where there is none."""
    known: dict[tuple[int, ...], Fraction | None] = {}

    def of(members: list[int]) -> Fraction | None:
        key = tuple(members)
        if key not in known:
            known[key] = cost(members) if may_be(members) else None
        return known[key]

    best: Fraction | None = None
    for parts in all_partitions(range(n)):
        costs = [of(part) for part in parts]
        if any(each is None for each in costs):
            continue
        total = sum((each for each in costs if each is not None), Fraction(0))
        best = total if best is None else min(best, total)
    return best


def least_cost_of_counts(
    most: tuple[int, ...],
    may_be: Callable[[tuple[int, ...]], bool],
    cost: Callable[[tuple[int, ...]], Fraction],
) -> Fraction | None:
    """The same where rows are alike: of each type there are so many, and a class is how many it has of each."""

    @cache
    def best(left: tuple[int, ...]) -> Fraction | None:
        if not any(left):
            return Fraction(0)
        found = []
        for part in product(*(range(count + 1) for count in left)):
            rest = tuple(count - own for count, own in zip(left, part, strict=True))
            if any(part) and may_be(part) and (further := best(rest)) is not None:
                found.append(cost(part) + further)
        return min(found, default=None)

    return best(most)


# What a class loses


def cell_loss(values: Sequence[Any], column: Sequence[Any], quasi: Spec, recode: str) -> Fraction:
    """Of one quasi-identifier in a class, by 004 section 3.2; None is missing."""
    if None in values:
        return Fraction(len(set(values)) > 1)
    if quasi["kind"] == "digits":
        width = len(column[0])
        hidden = sum(len({value[place] for value in values}) > 1 for place in range(width))
        return Fraction(hidden, width)
    if len(set(values)) == 1:
        return Fraction(0)
    if recode == "suppress":
        return Fraction(1)
    if quasi["kind"] == "numeric":
        present = [Fraction(value) for value in column if value is not None]
        return Fraction(max(values) - min(values)) / (max(present) - min(present))
    if "paths" not in quasi:
        return Fraction(1)
    paths = {path[0]: path for path in quasi["paths"]}
    meeting = next(node for node in paths[values[0]] if all(node in paths[value] for value in values))
    return Fraction(sum(meeting in path for path in quasi["paths"]), len(quasi["paths"]))


def class_cost(members: Rows, table: Rows, quasi: Mapping[str, Spec], recode: str) -> Fraction:
    """Rows times the mean loss of the quasi-identifiers; under suppression of the cells, where each digit is one.

    A column, or each of its cells, counts as often as its `weight` says.
    """
    losses, cells = Fraction(0), Fraction(0)
    for name, spec in quasi.items():
        column = [row[name] for row in table]
        width = len(column[0]) if spec["kind"] == "digits" and recode == "suppress" else 1
        counted = width * Fraction(str(spec.get("weight", 1)))
        losses += counted * cell_loss([row[name] for row in members], column, spec, recode)
        cells += counted
    return len(members) * losses / cells


# Whether it may be one


def attribute_distance(members: Rows, table: Rows, name: str, spec: Spec) -> Fraction | float:
    """Of a class from the table, in one sensitive attribute; `domain` are its values in order."""
    domain = spec["domain"]
    p, q = ([sum(row[name] == value for row in rows) for value in domain] for rows in (members, table))
    if spec["distance"] == "equal":
        return emd_equal(p, q)
    if spec["distance"] == "ordered":
        return emd_ordered(p, q)
    if spec["distance"] == "numeric":
        return emd_numeric(p, q, domain)
    if spec["distance"] == "hierarchical":
        return emd_hierarchical(p, q, spec["paths"])
    return transport(p, q, spec["costs"])


def is_diverse(values: Sequence[Hashable], asked: Any) -> bool:
    """As diverse as asked: a number of distinct values, or a table of what is asked."""
    counts = sorted(Counter(values).values(), reverse=True)
    wanted = asked if isinstance(asked, Mapping) else {"distinct": asked}
    holds = len(counts) >= wanted.get("distinct", 0)
    holds = holds and counts[0] * Fraction(wanted.get("frequency", 0)) <= len(values)
    if "entropy" in wanted:
        holds = holds and entropy_at_least(counts, Fraction(wanted["entropy"]))
    if "recursive" in wanted:
        holds = holds and recursive_holds(counts, wanted["recursive"]["c"], wanted["recursive"]["l"])
    return holds


def holds(members: Rows, table: Rows, k: int, sensitive: Mapping[str, Spec], joints: Sequence[Spec] = ()) -> bool:
    """Whether a class has k rows and is close and diverse in every attribute and joint."""
    if len(members) < k:
        return False
    for name, spec in sensitive.items():
        if "l" in spec and not is_diverse([row[name] for row in members], spec["l"]):
            return False
        if "t" in spec and attribute_distance(members, table, name, spec) > Fraction(spec["t"]):
            return False
    for joint in joints:
        own, whole = ([tuple(row[name] for name in joint["columns"]) for row in rows] for rows in (members, table))
        if joint_distance(own, whole, joint["specs"]) > Fraction(joint["t"]):
            return False
    return True
