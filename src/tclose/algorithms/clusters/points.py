"""Rows as points, by their sensitive attributes: as far apart as 003 equation 3 says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Watch
from tclose.distances import Form, Line, Tree
from tclose.table.encode import Domain, EncodedTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ValueCells:
    """Rows with the same sensitive values are one cell; a joint of several attributes adds nothing to them.

    Attributes
    ----------
    codes
        One row a cell, one column an attribute.
    of_row
        The cell of each row.
    rows
        How many rows each has.
    """

    codes: NDArray[np.int32]
    of_row: Integers
    rows: Integers

    @classmethod
    def of(cls, table: EncodedTable) -> ValueCells:
        """The cells of a table; one, if nothing is sensitive."""
        of_row, size = np.zeros(len(table), np.int64), 1
        single = forms_of(table.domains)
        for form, codes in zip(single, table.codes, strict=False):
            values, of_row = np.unique(of_row * form.size + codes, return_inverse=True)
            size = len(values)
        firsts = np.empty(size, np.int64)
        firsts[of_row[::-1]] = np.arange(len(table))[::-1]
        columns = [codes[firsts] for codes in table.codes[: len(single)]]
        codes = np.stack(columns, axis=1) if columns else np.zeros((size, 0), np.int32)
        return cls(codes, of_row, np.bincount(of_row, minlength=size))

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class ValuePoints:
    """The values of one attribute as points; most coordinates are 0, and only the others are kept.

    Attributes
    ----------
    places
        Of each value the coordinates it has.
    coordinates
        And what they are.
    size
        The number of dimensions.
    """

    places: Integers
    coordinates: Floats
    size: int

    def dot(self, others: Floats) -> Floats:
        """The inner product of each value with each of these points, one a column."""
        return np.asarray(np.einsum("vp,vpc->vc", self.coordinates, others[self.places]), np.float64)

    def total(self, weights: Floats) -> Floats:
        """The sum of the values as points, each times its weight: one row a value, and one sum a column."""
        sums = np.zeros((self.size, weights.shape[1]))
        for place in range(self.places.shape[1]):
            np.add.at(sums, self.places[:, place], self.coordinates[:, place, None] * weights)
        return sums

    @property
    def squares(self) -> Floats:
        """The square of how far each value is from the origin."""
        return np.asarray((self.coordinates**2).sum(axis=1), np.float64)


def forms_of(domains: Sequence[Domain]) -> list[Form]:
    """The distances of the attributes themselves, which come before their joints."""
    return [domain.form for domain in domains if not domain.is_joint]


def as_points(form: Form) -> ValuePoints:
    """Points whose Euclidean distances are those of the form, so that clusters can have means.

    A line is one already. On a hierarchy the square of the distance is (height of the lowest
    common ancestor)^2 / height^2. The ways from two leaves up to that ancestor are disjoint, and
    along each way (height(parent)^2 - height(node)^2) / 2 adds up to half of it: every node gets
    a dimension, in which all leaves below it have the root of its term. The equal distance is a
    hierarchy of height 1. A matrix need not be Euclidean: it gets the points of classical scaling,
    which are exact where it is.
    """
    if isinstance(form, Line):
        scaled = (form.positions - form.positions[:1]) / form.span
        return ValuePoints(np.zeros((form.size, 1), np.int64), scaled[:, None], 1)
    if isinstance(form, Tree):
        heights = _heights(form) / (form.denominator // 2)
        terms = np.sqrt(np.maximum(heights[form.parents] ** 2 - heights**2, 0) / 2)
        terms[0] = 0
        places = np.maximum(form.paths, 0).astype(np.int64)
        return ValuePoints(places, np.where(form.paths >= 0, terms[places], 0.0), len(form.parents))
    squares = form.distances**2
    centred = squares - squares.mean(axis=0)
    values, vectors = np.linalg.eigh(-(centred - centred.mean(axis=1)[:, None]) / 2)
    coordinates = vectors * np.sqrt(np.maximum(values, 0))
    return ValuePoints(np.tile(np.arange(form.size), (form.size, 1)), coordinates, form.size)


def as_columns(form: Form) -> ValuePoints:
    """What principal components are taken of: numbers scaled to their range, and a column for every category."""
    if isinstance(form, Line):
        return as_points(form)
    return ValuePoints(np.arange(form.size)[:, None], np.ones((form.size, 1)), form.size)


def _heights(tree: Tree) -> Integers:
    """The height of each node; parents come before their children."""
    heights = np.full(len(tree.parents), tree.denominator // 2)
    for node in range(1, len(heights)):
        heights[node] = heights[tree.parents[node]] - tree.weights[node]
    return heights


def first_component(table: EncodedTable, cells: ValueCells, watch: Watch | None = None) -> Floats:
    """The first principal component of each cell; all 0 if the time is over before it is known.

    Its sign is that which makes its largest coefficient positive. Of more than `MOST_COLUMNS`
    columns those of largest variance count.
    """
    columns = [as_columns(form) for form in forms_of(table.domains)]
    starts = np.cumsum([0, *(each.size for each in columns)])
    shares = cells.rows / cells.rows.sum()
    pieces = list(_pieces(columns, starts, cells))
    if not pieces:
        return np.zeros(len(cells))
    mean, squares = np.zeros((2, starts[-1]))
    for place, value in pieces:
        mean += np.bincount(place, shares * value, minlength=starts[-1])
        squares += np.bincount(place, shares * value**2, minlength=starts[-1])
    kept = np.sort(np.argsort(-(squares - mean**2), kind="stable")[:MOST_COLUMNS])
    number = np.full(starts[-1], len(kept))  # the others together, left out below
    number[kept] = np.arange(len(kept))
    size = len(kept) + 1
    products = np.zeros(size * size)
    for left, first in pieces:
        if watch is not None and watch.stop:
            return np.zeros(len(cells))
        for right, second in pieces:
            products += np.bincount(number[left] * size + number[right], shares * first * second, minlength=size * size)
    covariance = products.reshape(size, size)[:-1, :-1] - np.outer(mean[kept], mean[kept])
    vector = np.append(np.linalg.eigh(covariance)[1][:, -1], 0.0)
    vector *= np.sign(vector[np.argmax(np.abs(vector) > np.abs(vector).max() - 1e-9)]) or 1.0
    return np.asarray(sum(vector[number[place]] * value for place, value in pieces), np.float64)


MOST_COLUMNS = 1000


def _pieces(columns: list[ValuePoints], starts: Integers, cells: ValueCells) -> Iterator[tuple[Integers, Floats]]:
    """For each attribute the column that a cell has something in, and what."""
    for points, start, codes in zip(columns, starts, cells.codes.T, strict=False):
        yield points.places[codes, 0] + start, points.coordinates[codes, 0]
