"""Sensitive attributes as places in their domain: the judge's reading of orders, bins, numbers and trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.columns import Sensitive
from tclose.schema.schema import Schema
from tclose.verification.calendar_times import clocks_of, times_of
from tclose.verification.cell_meanings import missing_among, names_of
from tclose.verification.distinct_values import FactoredColumn, factorize
from tclose.verification.exact_numbers import (
    ScaledDecimals,
    aligned,
    as_integers,
    fraction_of,
    numbers_of,
    scaled_fractions,
)
from tclose.verification.ground_definitions import CostTable, Ground, LineGround, StarGround, cost_table_of, tree_of


@dataclass(frozen=True)
class PlacedValues:
    """A sensitive attribute: the place of each row's value in its domain, and the distances there.

    Attributes
    ----------
    codes
        One a row. A missing value has the last place.
    ground
        The domain and its distance; its size counts a missing value if one occurs.
    n_missing
        How many rows have none.
    """

    codes: NDArray[np.int32]
    ground: Ground
    n_missing: int


def place_values(
    column: pl.Series, sensitive: Sensitive, schema: Schema, times: NDArray[np.int64] | None = None
) -> PlacedValues:
    """Read a sensitive column, each row of which may stand for several (`times`) of a larger table.

    Raises
    ------
    TableError
        Values that the domain does not have, or that are neither numbers nor dates where such are needed.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"q": {"kind": "text"}},
    ...     "sensitive": {"until": {"distance": "ordered", "t": 1}}})
    >>> place_values(pl.Series("until", ["9999-12-31", "2020-01-01", "2021-01-01"]), schema.sensitive[0], schema)
    PlacedValues(codes=array([2, 0, 1], dtype=int32), ground=LineGround(points=array([0, 1, 2]), length=2), n_missing=0)
    """
    found = factorize(column)
    gone = missing_among(found.values, schema.missing_values, sensitive.is_measured, schema.decimal)
    counts = found.counts_of(times)
    n_missing = int(counts[0] + counts[1:][gone].sum())
    kept = found.values.filter(pl.Series(~gone))
    reading = _Reading(sensitive, kept, counts[1:][~gone], n_missing > 0, schema.decimal, schema.thousands)
    places, ground = reading.read()
    table = np.full(len(found.values) + 1, ground.size - 1, np.int32)  # the last is for null: code -1
    table[:-1][~gone] = places
    return PlacedValues(table[found.codes], ground, n_missing)


@dataclass(frozen=True)
class _Reading:
    """The distinct values of a column that are not missing, on the way to their domain."""

    sensitive: Sensitive
    values: pl.Series
    counts: NDArray[np.int64]
    missing: bool
    mark: str
    thousands: str

    def read(self) -> tuple[NDArray[np.int64], Ground]:
        sensitive = self.sensitive
        if sensitive.distance in ("numeric", "matrix") and self.missing:
            self.fail("has missing values, and distance " + sensitive.distance + " allows none")
        if sensitive.distance == "equal":
            return np.arange(len(self.values)), StarGround(len(self.values) + self.missing)
        if sensitive.hierarchy is not None:
            return self.in_tree()
        if sensitive.matrix is not None:
            names, table = cost_table_of(sensitive.matrix)
            return self.among(names, "matrix"), table if len(names) > 1 else CostTable(((fraction_of(0),),))
        if sensitive.distance == "numeric":
            return self.on_numbers()
        return self.on_ranks()

    def fail(self, what: str) -> None:
        raise TableError(f"Column '{self.sensitive.column}' {what}.")

    def among(self, names: Sequence[str], where: str) -> NDArray[np.int64]:
        """The place of each value among names that the schema gives."""
        place = {name: number for number, name in enumerate(names)}
        found = np.array([place.get(name, -1) for name in names_of(self.values)], np.int64)
        if (found < 0).any():
            rows = int(self.counts[found < 0].sum())
            self.fail(f"has {int((found < 0).sum())} distinct values in {rows} rows that its {where} does not name")
        return found

    def in_tree(self) -> tuple[NDArray[np.int64], Ground]:
        hierarchy = self.sensitive.hierarchy
        assert hierarchy is not None
        parents = hierarchy.parents.tolist()
        bare = tree_of(parents, missing=False)
        places = self.among([hierarchy.labels[leaf] for leaf in bare.leaves], "hierarchy")
        return places, tree_of(parents, missing=True) if self.missing else bare

    def numbers(self) -> ScaledDecimals:
        numbers, known = numbers_of(self.values, self.mark, self.thousands)
        if not known.all():
            rows = int(self.counts[~known].sum())
            self.fail(f"has {int((~known).sum())} distinct values in {rows} rows that are no numbers")
        return numbers

    def on_numbers(self) -> tuple[NDArray[np.int64], Ground]:
        """Numbers are placed by value; a declared range is the length they are measured against."""
        numbers = self.numbers()
        limits = None
        if self.sensitive.range is not None:
            limits = scaled_fractions([fraction_of(limit) for limit in self.sensitive.range])
            numbers, limits = aligned(numbers, limits)
        points, places = distinct_points(numbers)
        if not len(points):
            return places, LineGround(as_integers([]), 0)
        low, high = int(points[0]), int(points[-1])
        if limits is not None:
            if low < limits.integers[0] or high > limits.integers[1]:
                self.fail("has values outside its range")
            low, high = map(int, limits.integers)
        return places, LineGround(points, high - low)

    def on_ranks(self) -> tuple[NDArray[np.int64], Ground]:
        """Ranks in the order, among the edges or the bins, or among the values; a missing one ranks last."""
        sensitive = self.sensitive
        if sensitive.order is not None:
            places, size = self.among(sensitive.order, "order"), len(sensitive.order)
        elif sensitive.edges is not None:
            edges = scaled_fractions([fraction_of(edge) for edge in sensitive.edges])
            numbers, edges = aligned(self.numbers(), edges)
            places, size = np.searchsorted(edges.integers, numbers.integers, "right"), len(edges.integers) + 1
        else:
            times = times_of(self.values, sensitive.format) or clocks_of(self.values)
            _, places = distinct_points(times or self.numbers())
            if sensitive.bins is not None:
                places = equal_bins(places, self.counts, sensitive.bins)
            size = int(places.max(initial=-1)) + 1
        size += self.missing
        return places, LineGround(np.arange(size), max(size - 1, 0))


def distinct_points(numbers: ScaledDecimals) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers that occur, ascending, and the place of each among them: `1` and `1.0` are one number.

    Examples
    --------
    >>> distinct_points(ScaledDecimals(np.array([10, 5, 10]), 1))
    (array([ 5, 10]), array([1, 0, 1]))
    """
    points, places = np.unique(numbers.integers, return_inverse=True)
    return points, places.astype(np.int64)


def equal_bins(ranks: NDArray[np.int64], counts: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """Bins of equal frequency: floor(bins * rows below / rows), those that occur numbered on.

    Parameters
    ----------
    ranks
        The rank of each distinct value, equal ones alike.
    counts
        In how many rows it stands.

    Examples
    --------
    >>> equal_bins(np.array([0, 1, 2, 3]), np.array([4, 1, 1, 2]), 4).tolist()
    [0, 1, 1, 2]
    """
    if not len(ranks):
        return ranks
    rows = np.bincount(ranks, weights=None, minlength=int(ranks.max()) + 1) * 0
    np.add.at(rows, ranks, counts)
    below = np.concatenate([[0], np.cumsum(rows)[:-1]])
    total = int(counts.sum())
    exact = below.astype(object) if bins * total >= 2**63 else below
    found = np.unique(exact * bins // total, return_inverse=True)[1]
    return np.asarray(found[ranks], np.int64)


def factored_column(column: pl.Series) -> FactoredColumn:
    """A released quasi-identifier or kept column as it stands: empty text and null are one."""
    found = factorize(column)
    if found.values.dtype != pl.String or not (found.values == "").any():
        return found
    empty = (found.values == "").to_numpy()
    table = np.full(len(empty) + 1, -1, np.int32)
    table[:-1][~empty] = np.arange(int((~empty).sum()), dtype=np.int32)
    return FactoredColumn(table[found.codes], found.values.filter(pl.Series(~empty)))
