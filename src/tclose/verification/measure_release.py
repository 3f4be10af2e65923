"""Measuring a table as it stands: k, the farthest class, the least diverse one, and the largest rise of a share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import SizeError
from tclose.schema.belief_caps import BeliefCaps
from tclose.schema.columns import Diversity, Joint, Sensitive
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.belief_rises import ReachedRise, RiseSearch
from tclose.verification.class_diversity import DiversitySearch, LeastDiversity
from tclose.verification.class_work import ClassWork, closed_form
from tclose.verification.farthest_class import Farthest, all_distances
from tclose.verification.ground_definitions import CostTable, Ground, LineGround, MeanOfGrounds, StarGround, TreeGround
from tclose.verification.released_classes import ClassCounts, Grouping, GroupSizes, count_values, group_rows
from tclose.verification.sensitive_domains import PlacedValues, place_values
from tclose.verification.share_changes import ShareChange, share_changes
from tclose.verification.transport_work import TransportWork

MOST_COMBINATIONS = 500


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of a table: its classes, k, t and l.

    Attributes
    ----------
    rows, classes, k
        Its rows, distinct combinations of released quasi-identifiers, and the rows of the smallest class.
    t
        Of each sensitive attribute and joint, the distance of the farthest class.
    l
        Of each sensitive attribute, the diversity of the least diverse classes.
    n_missing
        Of each sensitive attribute, how many rows have no value.
    rises
        Of each sensitive attribute with caps on belief in rows, how far shares of its values rise.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63], "illness": ["flu", "cold"] * 3})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method="mondrian", seed=1)
    >>> measured = release.measured
    >>> measured.classes, measured.k, measured.t["illness"], measured.l["illness"].distinct
    (2, 3, Fraction(1, 6), 2)
    """

    rows: int
    classes: int
    k: int
    t: dict[str, Fraction]
    l: dict[str, LeastDiversity]  # noqa: E741 - the name of the field's literature
    n_missing: dict[str, int]
    rises: dict[str, ReachedRise]
    _source: Source = field(repr=False)
    _schema: Schema = field(repr=False)
    _names: tuple[str, ...] = field(repr=False)

    @cached_property
    def grouping(self) -> Grouping:
        """The class of each row, and the rows of each class; made when it is first asked for."""
        return group_rows(self._source, self._names)

    @cached_property
    def kept_groups(self) -> GroupSizes:
        """Rows that agree on the columns of the classes and on the kept ones; found when it is first asked for."""
        groups = group_rows(self._source, (*self._names, *self._schema.keep))
        return GroupSizes(len(groups.sizes), groups.smallest, groups.n_alone)

    def distances(self, name: str) -> ClassDistances:
        """How far each class is from the table, in a sensitive attribute or a joint; the table is read anew."""
        return self.distances_of(self.placed(name))

    def distances_of(self, placed: PlacedValues) -> ClassDistances:
        """The same of an attribute that was read already."""
        return _distances(self.grouping, placed)

    @cached_property
    def share_changes(self) -> dict[str, tuple[ShareChange, ShareChange]]:
        """Of each sensitive attribute the largest rise and fall of the share of a value; found when first asked for."""
        return {each.column: share_changes(*self.counts(each.column)) for each in self._schema.sensitive}

    def column(self, name: str) -> pl.Series:
        """A column as it stands."""
        return self._source.column(name)

    def counts(self, name: str) -> tuple[NDArray[np.int64], Iterator[ClassCounts]]:
        """How often each value of an attribute occurs in the table, and in each class, some classes at a time."""
        placed = self.placed(name)
        size = placed.ground.size
        return np.bincount(placed.codes, minlength=size), count_values(self.grouping, placed.codes, size)

    def placed(self, name: str) -> PlacedValues:
        """The values of an attribute or a joint and their distance; the table is read anew."""
        columns = {each.column: each for each in self._schema.sensitive}
        joint = next((each for each in self._schema.joint if each.name == name), None)
        needed = joint.columns if joint else (name,)
        placed = {each: place_values(self._source.column(each), columns[each], self._schema) for each in needed}
        return join(joint, placed) if joint else placed[name]

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: every t exactly and as a float; rise and beta of the attributes of which they are asked."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "t": {column: exact_and_float(value) for column, value in self.t.items()},
            "l": {column: reached.as_dict() for column, reached in self.l.items()},
            **self._caps_as_dict(),
        }

    def _caps_as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for column, reached in self.rises.items():
            if "rise" in reached.meets:
                found.setdefault("rise", {})[column] = exact_and_float(reached.rise)
            if "beta" in reached.meets:
                enhanced = {"enhanced": reached.meets["enhanced"]} if "enhanced" in reached.meets else {}
                found.setdefault("beta", {})[column] = exact_and_float(reached.beta) | enhanced
        return found


def exact_and_float(value: Fraction) -> dict[str, Any]:
    """A distance for JSON.

    Examples
    --------
    >>> exact_and_float(Fraction(1, 4))
    {'exact': '1/4', 'value': 0.25}
    """
    return {"exact": str(value), "value": float(value)}


@dataclass(frozen=True)
class ClassDistances:
    """How far each class is from the table.

    Attributes
    ----------
    floats
        One a class, in the order of the labels.
    exact
        Gives the distance of a class as a fraction.
    """

    floats: NDArray[np.float64]
    exact: Callable[[int], Fraction] = field(repr=False)


def measure(
    source: Source, schema: Schema, columns: Sequence[str] | None = None, keep_classes: bool = False
) -> Measured:
    """Measure a table by the columns that make its classes: the released quasi-identifiers, unless others are given.

    Every row counts, a missing sensitive value as a value of its own. `keep_classes` is for whoever will ask for
    the class of each row: that takes 8 bytes a row, and to find them again a third of the time.

    Raises
    ------
    TableError
        A sensitive value has no place in its domain, or is missing where the distance allows none.
    SizeError
        A joint has more combinations than a transport problem is solved for.

    Examples
    --------
    >>> import polars as pl
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}},
    ...     "sensitive": {"pay": {"distance": "ordered", "t": 0.5}}})
    >>> table = pl.DataFrame({"age": ["[1, 2]", "[1, 2]", "3", "3"], "pay": [10, 20, 30, 40]})
    >>> found = measure(Source.of(table), schema)
    >>> found.k, found.t
    (2, {'pay': Fraction(1, 3)})
    """
    names = tuple(schema.released_quasi if columns is None else columns)
    groups = group_rows(source, names)
    joined = {column for joint in schema.joint for column in joint.columns}
    kept: dict[str, PlacedValues] = {}
    t: dict[str, Fraction] = {}
    reached: dict[str, LeastDiversity] = {}
    n_missing: dict[str, int] = {}
    rises: dict[str, ReachedRise] = {}
    for sensitive in schema.sensitive:
        placed = place_values(source.column(sensitive.column), sensitive, schema)
        n_missing[sensitive.column] = placed.n_missing
        caps = None if schema.counts_persons else sensitive.caps
        t[sensitive.column], reached[sensitive.column], rise = _measure_one(groups, placed, sensitive, caps)
        rises |= {} if rise is None else {sensitive.column: rise}
        if sensitive.column in joined:
            kept[sensitive.column] = placed
    for joint in schema.joint:
        t[joint.name] = _farthest(groups, join(joint, kept))
    n_classes = len(groups.sizes)
    found = Measured(source.n_rows, n_classes, groups.smallest, t, reached, n_missing, rises, source, schema, names)
    if keep_classes:
        vars(found)["grouping"] = groups  # what the property would make anew
    return found


def _measure_one(
    groups: Grouping, placed: PlacedValues, sensitive: Sensitive, caps: BeliefCaps | None
) -> tuple[Fraction, LeastDiversity, ReachedRise | None]:
    """Distance, diversity and rises, where these are capped, in one pass over the classes."""
    return measure_classes_of(groups, placed.codes, placed.ground, _reference(placed), sensitive, caps)


def measure_classes_of(
    groups: Grouping,
    codes: NDArray[np.int32],
    ground: Ground,
    reference: NDArray[np.int64],
    sensitive: Sensitive,
    caps: BeliefCaps | None,
) -> tuple[Fraction, LeastDiversity, ReachedRise | None]:
    """The same of classes of a table in which values occur as often as the reference says."""
    farthest = Farthest(work_on(ground, reference))
    diversity = DiversitySearch(sensitive.l or Diversity())
    rises = None if caps is None else RiseSearch.of(caps, ground, reference)
    for block in count_values(groups, codes, ground.size):
        farthest.look(block)
        diversity.look(block)
        if rises is not None:
            rises.look(block)
    return farthest.result(), diversity.result(), None if rises is None else rises.result()


def _farthest(groups: Grouping, placed: PlacedValues) -> Fraction:
    return farthest_of(groups, placed.codes, placed.ground, _reference(placed))


def farthest_of(groups: Grouping, codes: NDArray[np.int32], ground: Ground, reference: NDArray[np.int64]) -> Fraction:
    """The distance of the farthest class from a table in which values occur as often as the reference says."""
    farthest = Farthest(work_on(ground, reference))
    for block in count_values(groups, codes, ground.size):
        farthest.look(block)
    return farthest.result()


def work_under(placed: PlacedValues) -> ClassWork:
    """What measures classes by the distance of an attribute."""
    return work_on(placed.ground, _reference(placed))


def work_on(ground: Ground, reference: NDArray[np.int64]) -> ClassWork:
    """The same for a table in which values occur as often as the reference says."""
    n_rows = int(reference.sum())
    if isinstance(ground, StarGround | LineGround | TreeGround):
        return closed_form(ground, reference, n_rows)
    return TransportWork(ground, reference, n_rows)


def _reference(placed: PlacedValues) -> NDArray[np.int64]:
    return np.bincount(placed.codes, minlength=placed.ground.size).astype(np.int64)


def join(joint: Joint, placed: dict[str, PlacedValues]) -> PlacedValues:
    """The combinations of values that occur, and the mean of the distances of their parts.

    Raises
    ------
    SizeError
        There are more than a transport problem is solved for.
    """
    parts = [placed[column] for column in joint.columns]
    keys = np.zeros(len(parts[0].codes), np.int64)
    known = np.zeros(1, np.int64)  # the combinations of the columns so far, as one number each
    places: list[tuple[int, ...]] = [()]
    for part in parts:
        known, keys = np.unique(keys * part.ground.size + part.codes, return_inverse=True)
        if len(known) > MOST_COMBINATIONS:
            raise SizeError(
                f"[joint.{joint.name}]: more than {MOST_COMBINATIONS} combinations occur, and as many are solved "
                "exactly. Bin ordered columns (`bins`, `edges`), or name fewer columns."
            )
        places = [(*places[key // part.ground.size], key % part.ground.size) for key in known.tolist()]
    ground = MeanOfGrounds(tuple(part.ground for part in parts), tuple(places))
    return PlacedValues(keys.astype(np.int32), ground, 0)


def _distances(groups: Grouping, attribute: PlacedValues) -> ClassDistances:
    work = work_under(attribute)
    floats = all_distances(count_values(groups, attribute.codes, attribute.ground.size), work)

    def exact(place: int) -> Fraction:
        codes, counts = np.unique(attribute.codes[groups.labels == place], return_counts=True)
        return work.exact(int(groups.sizes[place]), codes.astype(np.int64), counts.astype(np.int64))

    return ClassDistances(floats, exact)


def distance_between(ground: Ground, one: Sequence[int], other: Sequence[int]) -> Fraction:
    """The least work between two rows of counts by transport alone, whatever the ground: what closed forms must give.

    Examples
    --------
    >>> distance_between(StarGround(2), [1, 0], [1, 1])
    Fraction(1, 2)
    """
    reference = np.array(other, np.int64)
    table = CostTable(tuple(tuple(ground.cost(i, j) for j in range(ground.size)) for i in range(ground.size)))
    counts = np.array(one, np.int64)
    codes = np.flatnonzero(counts)
    return TransportWork(table, reference, sum(other)).exact(sum(one), codes, counts[codes])
