"""How far the share of a class's persons who have a value is above that of the table's persons.

A person counts once in a class, and once in the table, for every value of which he has a row there; where inner nodes
are counted, once for every node below which he has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.schema.belief_caps import BeliefCaps
from tclose.schema.schema import Schema
from tclose.verification.belief_rises import CountedShares, ReachedRise, RiseSearch
from tclose.verification.ground_definitions import TreeGround
from tclose.verification.measure_release import Measured, exact_and_float
from tclose.verification.persons import RowPersons
from tclose.verification.released_classes import ClassCounts, Grouping
from tclose.verification.sensitive_domains import PlacedValues

Integers = NDArray[np.int64]
NOTHING_ASKED = BeliefCaps()


def person_rises(
    groups: Grouping, units: RowPersons, placed: PlacedValues, asked: BeliefCaps = NOTHING_ASKED
) -> ReachedRise:
    """The largest rises of shares of persons, and whether they are within the caps.

    Examples
    --------
    >>> from tclose.verification.ground_definitions import StarGround
    >>> groups = Grouping(np.array([0, 0, 0, 1]), np.array([3, 1]))
    >>> units = RowPersons(np.array([0, 0, 1, 2], np.int32), 3)
    >>> person_rises(groups, units, PlacedValues(np.array([0, 0, 1, 1], np.int32), StarGround(2), 0)).rise
    Fraction(1, 3)
    """
    rows, kinds, n_kinds = _kinds_of_rows(placed, asked.levels)
    whole = _distinct(units.codes[rows].astype(np.int64), kinds, n_kinds)[1]
    pairs, of_row = np.unique(groups.labels * units.n + units.codes, return_inverse=True)
    sizes = np.bincount(pairs // units.n, minlength=len(groups.sizes)).astype(np.int64)
    pair, kind = _distinct(of_row[rows].astype(np.int64), kinds, n_kinds)
    classes, counts = np.unique((pairs // units.n)[pair] * n_kinds + kind, return_counts=True)
    owner, codes = classes // n_kinds, classes % n_kinds
    starts = np.searchsorted(owner, np.arange(len(sizes)))
    counted = CountedShares(np.bincount(whole, minlength=n_kinds).astype(np.int64), units.n, None)
    search = RiseSearch(asked, counted)
    search.look(ClassCounts(0, sizes, starts, codes, counts.astype(np.int64)))
    return search.result()


def rises_in_persons(measured: Measured, schema: Schema, units: RowPersons) -> dict[str, ReachedRise]:
    """Of each sensitive attribute how far shares of persons rise, and whether they keep its caps."""
    return {
        each.column: person_rises(measured.grouping, units, measured.placed(each.column), each.caps or NOTHING_ASKED)
        for each in schema.sensitive
    }


def rises_as_dict(found: Mapping[str, ReachedRise]) -> dict[str, Any]:
    """The largest rise and beta of each attribute, as JSON has them."""
    return {
        "rise": {column: exact_and_float(reached.rise) for column, reached in found.items()},
        "beta": {column: exact_and_float(reached.beta) for column, reached in found.items()},
    }


def _kinds_of_rows(placed: PlacedValues, levels: bool) -> tuple[Integers, Integers, int]:
    """Rows, and what each has: its value; or the leaf and every node above it, the root left out, one at a time."""
    everyone = np.arange(len(placed.codes))
    if not levels:
        return everyone, placed.codes.astype(np.int64), placed.ground.size
    ground = placed.ground
    if not isinstance(ground, TreeGround):
        raise TypeError("only a hierarchy has levels")
    ways = [way[1:] for way in ground.ways]
    above = np.full((len(ways), max(map(len, ways), default=0)), -1, np.int64)
    for place, way in enumerate(ways):
        above[place, : len(way)] = way
    nodes = above[placed.codes]
    return np.repeat(everyone, (nodes >= 0).sum(axis=1)), nodes[nodes >= 0], len(ground.parents)


def _distinct(one: Integers, kinds: Integers, n_kinds: int) -> tuple[Integers, Integers]:
    """Each combination once."""
    keys = np.unique(one * n_kinds + kinds)
    return keys // n_kinds, keys % n_kinds
