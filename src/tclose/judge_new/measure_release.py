"""Measuring a table as it stands: k, the distance of the farthest class, and the diversity of the least diverse one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.errors import SizeError
from tclose.judge_new.class_diversity import DiversitySearch, Reached
from tclose.judge_new.class_work import ClassWork, closed_form
from tclose.judge_new.farthest_class import Farthest, all_distances
from tclose.judge_new.ground_definitions import CostTable, Ground, Line, MeanOfGrounds, Star, Tree
from tclose.judge_new.released_classes import Grouping, count_values, group_rows
from tclose.judge_new.sensitive_domains import Placed, place_values
from tclose.judge_new.transport_work import TransportWork
from tclose.schema.columns import Diversity, Joint, Sensitive
from tclose.schema.schema import Schema
from tclose.table.source import Source

MOST_COMBINATIONS = 500


@dataclass(frozen=True)
class Measured:
    """What a table reaches.

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
    """

    rows: int
    classes: int
    k: int
    t: dict[str, Fraction]
    l: dict[str, Reached]  # noqa: E741 - the name of the field's literature
    n_missing: dict[str, int]
    labels: Callable[[], NDArray[np.int64]] = field(repr=False)
    distances: Callable[[str], ClassDistances] = field(repr=False)


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


def measure(source: Source, schema: Schema, columns: Sequence[str] | None = None) -> Measured:
    """Measure a table by the columns that make its classes: the released quasi-identifiers, unless others are given.

    Every row counts, a missing sensitive value as a value of its own.

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
    names = list(schema.released_quasi if columns is None else columns)
    groups = group_rows(source, names)
    joined = {column for joint in schema.joint for column in joint.columns}
    kept: dict[str, Placed] = {}
    t: dict[str, Fraction] = {}
    reached: dict[str, Reached] = {}
    n_missing: dict[str, int] = {}
    for sensitive in schema.sensitive:
        placed = place_values(source.column(sensitive.column), sensitive, schema)
        n_missing[sensitive.column] = placed.n_missing
        t[sensitive.column], reached[sensitive.column] = _measure_one(groups, placed, sensitive)
        if sensitive.column in joined:
            kept[sensitive.column] = placed
    for joint in schema.joint:
        t[joint.name] = _farthest(groups, join(joint, kept))

    def distances(name: str) -> ClassDistances:
        return _distances(source, schema, names, name)

    def labels() -> NDArray[np.int64]:
        return group_rows(source, names).labels

    return Measured(source.n_rows, len(groups.sizes), groups.smallest, t, reached, n_missing, labels, distances)


def _measure_one(groups: Grouping, placed: Placed, sensitive: Sensitive) -> tuple[Fraction, Reached]:
    """Distance and diversity in one pass over the classes."""
    farthest = Farthest(work_under(placed))
    diversity = DiversitySearch(sensitive.l or Diversity())
    for block in count_values(groups, placed.codes, placed.ground.size):
        farthest.look(block)
        diversity.look(block)
    return farthest.result(), diversity.result()


def _farthest(groups: Grouping, placed: Placed) -> Fraction:
    farthest = Farthest(work_under(placed))
    for block in count_values(groups, placed.codes, placed.ground.size):
        farthest.look(block)
    return farthest.result()


def work_under(placed: Placed) -> ClassWork:
    """What measures classes by the distance of an attribute."""
    reference = np.bincount(placed.codes, minlength=placed.ground.size).astype(np.int64)
    ground: Ground = placed.ground
    if isinstance(ground, Star | Line | Tree):
        return closed_form(ground, reference, len(placed.codes))
    return TransportWork(ground, reference, len(placed.codes))


def join(joint: Joint, placed: dict[str, Placed]) -> Placed:
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
    return Placed(keys.astype(np.int32), ground, 0)


def _distances(source: Source, schema: Schema, names: list[str], name: str) -> ClassDistances:
    """Read the table anew, so that nothing a row is kept for what is rarely asked."""
    groups = group_rows(source, names)
    columns = {s.column: s for s in schema.sensitive}
    joint = next((each for each in schema.joint if each.name == name), None)
    needed = joint.columns if joint else (name,)
    placed = {each: place_values(source.column(each), columns[each], schema) for each in needed}
    attribute = join(joint, placed) if joint else placed[name]
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
    >>> distance_between(Star(2), [1, 0], [1, 1])
    Fraction(1, 2)
    """
    reference = np.array(other, np.int64)
    table = CostTable(tuple(tuple(ground.cost(i, j) for j in range(ground.size)) for i in range(ground.size)))
    counts = np.array(one, np.int64)
    codes = np.flatnonzero(counts)
    return TransportWork(table, reference, sum(other)).exact(sum(one), codes, counts[codes])
