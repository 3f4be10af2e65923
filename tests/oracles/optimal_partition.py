"""The least that any partition can cost, by trying them all: from the raw table and its schema alone.

Costs and distances are fractions, by the definitions. Nothing is taken from the methods, their
kernels, the axes or the requirement of the package.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import ceil, floor, lcm
from typing import Any

import polars as pl

from tclose.schema.columns import Diversity, Quasi, Sensitive
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tests.oracles import belief, diversity
from tests.oracles import distance as d
from tests.oracles import limited_columns as limited
from tests.oracles.sabre import exact_transport

Members = tuple[int, ...]
Cell = Any  # of one column; None is missing
Emd = Callable[[Sequence[int], Sequence[int]], Fraction]
Test = Callable[[Members], bool]
Price = Callable[[Members], Fraction]


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, with what every class must meet and what it costs.

    `prices` give the cost of one row of a class, each as a share that is summed up: a hidden
    cell costs 1 under suppression, a column its loss over the number of columns otherwise; each times its weight.
    """

    n: int
    k: int
    tests: list[Test]
    prices: list[Price]
    whole: Fraction  # what one row costs if all is hidden
    _allowed: dict[Members, bool] = field(default_factory=dict)
    _costs: dict[Members, Fraction] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: pl.DataFrame, schema: Schema) -> Problem:
        """Read the table as the schema says."""
        columns = read_columns(frame, schema)
        n = len(next(iter(columns.values())))
        domains = {each.column: Domain.of(each, columns[each.column]) for each in schema.sensitive}
        tests = [test for each in schema.sensitive for test in alone(each, domains[each.column])]
        tests += [
            close(Domain.joined([domains[column] for column in joint.columns]), joint.t) for joint in schema.joint
        ]
        tests += [
            limited.is_allowed(quasi, columns[quasi.column]) for quasi in schema.quasi if quasi.coarsest is not None
        ]
        priced = [(quasi.weight, list(prices_of(quasi, columns[quasi.column], schema))) for quasi in schema.quasi]
        cells = sum((weight * len(own) for weight, own in priced), Fraction(0))
        whole = cells if schema.recode == "suppress" else Fraction(1)
        return cls(n, schema.k, tests, [price for _, own in priced for price in own], whole)

    def allowed(self, members: Members) -> bool:
        """Whether these rows may be a class."""
        if members not in self._allowed:
            self._allowed[members] = len(members) >= self.k and all(test(members) for test in self.tests)
        return self._allowed[members]

    def cost(self, members: Members) -> Fraction:
        """What these rows cost as a class: hidden cells, or the loss of each row."""
        if members not in self._costs:
            self._costs[members] = len(members) * sum((price(members) for price in self.prices), Fraction(0))
        return self._costs[members]

    def total(self, labels: Sequence[int]) -> Fraction | None:
        """What a partition costs, None if it must not be."""
        classes = [tuple(row for row in range(self.n) if labels[row] == label) for label in sorted(set(labels))]
        return sum(map(self.cost, classes), Fraction(0)) if all(map(self.allowed, classes)) else None

    def loss(self, total: Fraction) -> Fraction:
        """A cost as a share of the whole."""
        return total / (self.n * self.whole)


def optimum_of_all(problem: Problem) -> Fraction | None:
    """The least cost over all partitions, one after the other; None if there is none."""
    costs = (
        sum(map(problem.cost, partition), Fraction(0))
        for partition in partitions(tuple(range(problem.n)))
        if all(map(problem.allowed, partition))
    )
    return min(costs, default=None)


def partitions(rows: Members) -> Iterator[list[Members]]:
    """All ways to divide rows into classes."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for smaller in partitions(rest):
        yield [(first,), *smaller]
        for place, members in enumerate(smaller):
            yield [*smaller[:place], (first, *members), *smaller[place + 1 :]]


def optimum_by_subsets(problem: Problem) -> Fraction | None:
    """The same from the best of every subset: the class of its first row, and the best of the rest."""
    masks = range(1, 1 << problem.n)
    members = {mask: tuple(row for row in range(problem.n) if mask >> row & 1) for mask in masks}
    costs = {mask: problem.cost(members[mask]) for mask in masks if problem.allowed(members[mask])}
    unit = lcm(*(cost.denominator for cost in costs.values()))
    prices = {mask: int(cost * unit) for mask, cost in costs.items()}
    best: dict[int, int | None] = {0: 0}
    for mask in masks:
        first = mask & -mask
        rest = others = mask ^ first
        least: int | None = None
        while True:  # all subsets of the others join the first
            price, left = prices.get(first | others), best[rest ^ others]
            if price is not None and left is not None and (least is None or price + left < least):
                least = price + left
            if not others:
                break
            others = (others - 1) & rest
        best[mask] = least
    found = best[masks[-1]]
    return None if found is None else Fraction(found, unit)


# Reading


def read_columns(frame: pl.DataFrame, schema: Schema) -> dict[str, list[Cell]]:
    """Quasi-identifiers and sensitive attributes, None where missing; rows are dropped if the schema says so."""
    names = [*(quasi.column for quasi in schema.quasi), *(each.column for each in schema.sensitive)]
    spelled = {"", *schema.missing_values}

    def cell(given: Any) -> Cell:
        return None if given is None or given != given or str(given) in spelled else given

    rows = [[cell(given) for given in row] for row in frame.select(names).iter_rows()]
    if schema.missing == "drop":
        rows = [row for row in rows if None not in row]
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def number(given: Any) -> Fraction:
    """A number as it is written."""
    return Fraction(Decimal(str(given)))


def paths_of(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    """The way up from each leaf."""
    parents = hierarchy.parents.tolist()
    paths = []
    for leaf in set(range(len(parents))) - set(parents):
        path, node = [], leaf
        while node >= 0:
            path.append(hierarchy.labels[node])
            node = parents[node]
        paths.append(tuple(path))
    return sorted(paths)


# What a class must meet


@dataclass(frozen=True)
class Domain:
    """The place of every row among the values of a sensitive attribute, and the distance over these."""

    places: list[int]
    ground: d.Ground
    emd: Emd

    @classmethod
    def of(cls, sensitive: Sensitive, cells: list[Cell]) -> Domain:
        """By the schema's distance; missing is the last place."""
        present = [each for each in cells if each is not None]
        any_missing = len(present) < len(cells)
        if sensitive.distance == "numeric":
            return cls._numeric([number(each) for each in cells], sensitive)
        place = {str(value): at for at, value in enumerate(_values(sensitive, present))}
        m = max(place.values(), default=-1) + 1
        if sensitive.edges is not None:
            edges = [number(edge) for edge in sensitive.edges]
            place, m = {str(each): bisect_right(edges, number(each)) for each in present}, len(edges) + 1
        places = [m if each is None else place[str(each)] for each in cells]
        m += any_missing
        if sensitive.matrix is not None:
            ground = [list(row) for row in sensitive.matrix.costs]
            return cls(places, ground, lambda p, q: exact_transport(p, q, ground))
        if sensitive.hierarchy is not None:
            paths = paths_of(sensitive.hierarchy)
            paths += [("\0missing", paths[0][-1])] if any_missing else []
            return cls(places, d.ground_hierarchical(paths), lambda p, q: d.emd_hierarchical(p, q, paths))
        if sensitive.distance == "ordered":
            return cls(places, d.ground_ordered(m), d.emd_ordered)
        return cls(places, d.ground_equal(m), d.emd_equal)

    @classmethod
    def _numeric(cls, numbers: list[Fraction], sensitive: Sensitive) -> Domain:
        values = sorted(set(numbers))
        low, high = map(number, sensitive.range) if sensitive.range else (values[0], values[-1])
        share = (values[-1] - values[0]) / (high - low) if high > low else Fraction(0)
        ground = [[share * cost for cost in row] for row in d.ground_numeric(values)]
        return cls([values.index(each) for each in numbers], ground, lambda p, q: share * d.emd_numeric(p, q, values))

    @classmethod
    def joined(cls, parts: Sequence[Domain]) -> Domain:
        """The combinations that occur, at the mean of their distances."""
        rows = list(zip(*(part.places for part in parts), strict=True))
        cells = sorted(set(rows))

        def apart(left: tuple[int, ...], right: tuple[int, ...]) -> Fraction:
            costs = (part.ground[a][b] for part, a, b in zip(parts, left, right, strict=True))
            return sum(costs, Fraction(0)) / len(parts)

        ground = [[apart(left, right) for right in cells] for left in cells]
        return cls([cells.index(row) for row in rows], ground, lambda p, q: exact_transport(p, q, ground))

    def counts(self, members: Sequence[int]) -> tuple[int, ...]:
        """How often each value occurs in these rows."""
        found = [self.places[row] for row in members]
        return tuple(found.count(place) for place in range(len(self.ground)))


def _values(sensitive: Sensitive, present: list[Cell]) -> Sequence[Any]:
    """The domain in its order, for all distances but the numeric one."""
    if sensitive.matrix is not None:
        return sensitive.matrix.values
    if sensitive.hierarchy is not None:
        return [path[0] for path in paths_of(sensitive.hierarchy)]
    if sensitive.order is not None:
        return sensitive.order
    return sorted(set(present))


def alone(sensitive: Sensitive, domain: Domain) -> Iterator[Test]:
    """What is asked of one attribute."""
    if sensitive.t is not None:
        yield close(domain, sensitive.t)
    if sensitive.l is not None:
        yield diverse(domain, sensitive.l)
    if sensitive.caps is not None:
        yield capped(domain, sensitive)


def close(domain: Domain, t: Fraction) -> Test:
    """Whether a class is within t of the whole table."""
    reference = domain.counts(range(len(domain.places)))

    @cache
    def within(counts: tuple[int, ...]) -> bool:
        return domain.emd(counts, reference) <= t

    return lambda members: within(domain.counts(members))


def capped(domain: Domain, sensitive: Sensitive) -> Test:
    """Whether the shares of all values, and of all nodes if `levels` says so, keep the caps."""
    sides: list[list[Any]] = [list(domain.places)]
    if sensitive.levels:
        assert sensitive.hierarchy is not None
        ways = [("*", *path[-2::-1]) for path in paths_of(sensitive.hierarchy)] + [("*", "missing")]
        deepest = max(map(len, ways))
        sides += [[ways[place][:depth] for place in domain.places] for depth in range(2, deepest + 1)]

    def holds(members: Members) -> bool:
        return all(
            belief.holds(side, [[side[row] for row in members]], sensitive.rise, sensitive.beta, sensitive.enhanced)
            for side in sides
        )

    return holds


def diverse(domain: Domain, asked: Diversity) -> Test:
    """Whether a class is as diverse as asked, by each of the readings."""

    def holds(members: Members) -> bool:
        values, counts = [domain.places[row] for row in members], domain.counts(members)
        return (
            (asked.distinct is None or diversity.distinct(values) >= asked.distinct)
            and (asked.entropy is None or diversity.entropy_at_least(counts, asked.entropy))
            and (asked.frequency is None or diversity.frequency(values) >= asked.frequency)
            and (asked.recursive is None or diversity.recursive_holds(counts, *asked.recursive))
        )

    return holds


# What a row of a class costs


def prices_of(quasi: Quasi, cells: list[Cell], schema: Schema) -> Iterator[Price]:
    """The prices of one quasi-identifier, those of kind digits one a position."""
    hides = schema.recode == "suppress"
    share = Fraction(quasi.weight) if hides else quasi.weight / sum((each.weight for each in schema.quasi), Fraction(0))
    if quasi.kind == "digits":
        width = max((len(str(each)) for each in cells if each is not None), default=1)
        for place in range(width):
            digits = [None if each is None else str(each)[place] for each in cells]
            yield _priced(digits, lambda values: Fraction(1), share if hides else share / width)
    elif hides:
        exact = [each if each is None or quasi.kind != "numeric" else number(each) for each in cells]
        yield _priced(exact, lambda values: Fraction(1), share)
    elif quasi.kind in ("numeric", "date"):
        yield _span_price(quasi, cells, share)
    else:
        yield _tree_price(quasi, cells, share)


def _priced(cells: list[Cell], lose: Callable[[list[Cell]], Fraction], share: Fraction) -> Price:
    """Nothing where all agree, the whole share where missing meets anything else."""

    def price(members: Members) -> Fraction:
        values = list({cells[row] for row in members})
        if len(values) == 1:
            return Fraction(0)
        return share if None in values else share * lose(values)

    return price


def _span_price(quasi: Quasi, cells: list[Cell], share: Fraction) -> Price:
    """The width of the interval, its ends snapped outward, over the range."""
    assert quasi.bottom is None
    assert quasi.top is None
    assert quasi.kind == "numeric" or quasi.step is None
    numbers = [None if each is None else _on_line(each, quasi) for each in cells]
    present = [each for each in numbers if each is not None]
    step = None if quasi.step is None else number(quasi.step)
    limits = None if quasi.range is None else [_on_line(limit, quasi) for limit in quasi.range]

    def interval(values: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        low, high = min(values), max(values)
        low, high = (low, high) if step is None else (floor(low / step) * step, ceil(high / step) * step)
        return (low, high) if limits is None else (max(low, limits[0]), min(high, limits[1]))

    if len(set(present)) < 2 and limits is None:
        return _priced(numbers, lambda values: Fraction(0), share)
    least, most = limits or interval(present)

    def price(members: Members) -> Fraction:
        values = [numbers[row] for row in members]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return share if known else Fraction(0)
        low, high = interval(known)
        return share * (high - low) / (most - least)

    return price


def _limited_price(quasi: Quasi, cells: list[Cell], share: Fraction, distinct: list[str]) -> Price:
    """The same where a release must not be as fine as the values: even one by itself may lose something."""
    ways = limited.tree_of(quasi, cells)

    def price(members: Members) -> Fraction:
        values = [cells[row] for row in members]
        if None in values:
            return share if len(set(values)) > 1 else Fraction(0)
        if quasi.kind == "text":
            return share * limited.prefix_share(values, quasi, distinct)
        return share * limited.leaf_share(limited.shown_node([str(value) for value in values], quasi, ways), ways)

    return price


def prefixes(text: str) -> list[str]:
    """All beginnings of a text, the longest first."""
    return [text[:length] for length in range(len(text), -1, -1)]


def _on_line(given: Any, quasi: Quasi) -> Fraction:
    if quasi.kind == "numeric":
        return number(given)
    return Fraction((given if isinstance(given, date) else date.fromisoformat(given)).toordinal())


def _tree_price(quasi: Quasi, cells: list[Cell], share: Fraction) -> Price:
    """The share of the leaves, or of the different texts, that are released alike."""
    distinct = sorted({str(each) for each in cells if each is not None})
    if quasi.finest is not None:
        return _limited_price(quasi, cells, share, distinct)
    if quasi.kind == "text":

        def lose(values: list[Cell]) -> Fraction:
            prefix = next(text for text in prefixes(values[0]) if all(value.startswith(text) for value in values))
            return Fraction(sum(text.startswith(prefix) for text in distinct), len(distinct))

    else:
        assert quasi.hierarchy is None or isinstance(quasi.hierarchy, Hierarchy)
        paths = paths_of(quasi.hierarchy) if quasi.hierarchy else [(text, "*") for text in distinct]
        nodes = {path[0]: set(d.nodes_of(path)) for path in paths}

        def lose(values: list[Cell]) -> Fraction:
            meeting = max(set.intersection(*(nodes[value] for value in values)))
            return Fraction(sum(meeting in above for above in nodes.values()), len(nodes))

    return _priced([None if each is None else str(each) for each in cells], lose, share)
