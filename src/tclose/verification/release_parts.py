"""A release that comes in parts: what is counted of each, and what all parts say together.

A class may have rows in every part. So the parts are first counted, each by itself: how often every value of every
column occurs. All counts together give the reference, the domains and the loss. Then rows are grouped by class in
buckets (`class_buckets`), each of which holds whole classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.columns import Joint, Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.distinct_values import TEXTS, FactoredColumn, factorize
from tclose.verification.ground_definitions import Ground
from tclose.verification.measure_release import join
from tclose.verification.published_loss import ColumnLoss, PublishedLoss, column_weights, loss_of_column
from tclose.verification.sensitive_domains import PlacedValues, factored_column, place_values
from tclose.verification.single_spellings import missing_spellings, zero_texts

Integers = NDArray[np.int64]
MOST_CELLS = 100_000  # combinations of a joint that are kept of one part


@dataclass(frozen=True, eq=False)
class CountedColumn:
    """How often values occur.

    Attributes
    ----------
    values
        The distinct values, without null.
    counts
        The rows without a value, then those of each value.
    spellings
        The ways in which cells are missing, and which zeros occur (`0`, `-0`).
    """

    values: pl.Series
    counts: Integers
    spellings: frozenset[str]


@dataclass(frozen=True, eq=False)
class PartCounts:
    """What is counted of one part.

    Attributes
    ----------
    n_rows
        Its rows.
    columns
        Each column of the release.
    pairs
        Of each quasi-identifier that is published as two bounds, the pairs that occur, and how often.
    joints
        Of each joint, the combinations of values that occur, as numbers from -1 (none) up, and how often.
    """

    n_rows: int
    columns: dict[str, CountedColumn]
    pairs: dict[str, pl.DataFrame]
    joints: dict[str, tuple[Integers, Integers]]


def read_part(frame: pl.DataFrame, schema: Schema) -> tuple[dict[str, FactoredColumn], PartCounts]:
    """Number the cells of a part by the part's own values, and count them.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    >>> found, counts = read_part(pl.DataFrame({"age": ["20", "[20, 30]", "20"]}), schema)
    >>> found["age"].codes.tolist(), counts.columns["age"].counts.tolist()
    ([0, 1, 0], [0, 2, 1])
    """
    sensitive = {each.column for each in schema.sensitive}
    found: dict[str, FactoredColumn] = {}
    columns: dict[str, CountedColumn] = {}
    for name in frame.columns:
        column = frame[name]
        found[name] = factorize(column) if name in sensitive else factored_column(column)
        columns[name] = CountedColumn(found[name].values, found[name].counts_with_null, _spellings(column))
    pairs = {quasi.column: _count_bounds(frame, quasi) for quasi in schema.quasi if quasi.publish == "bounds"}
    joints = {each.name: _combinations(each, found) for each in schema.joint if {*each.columns} <= {*found}}
    return found, PartCounts(len(frame), columns, pairs, joints)


def _count_bounds(frame: pl.DataFrame, quasi: Quasi) -> pl.DataFrame:
    low, high = quasi.released
    if low not in frame.columns or high not in frame.columns:
        return pl.DataFrame()
    return pl.DataFrame({"low": frame[low], "high": frame[high]}).group_by("low", "high").len("times")


def _spellings(column: pl.Series) -> frozenset[str]:
    found = missing_spellings(column)
    if column.dtype.is_float():
        signs = np.signbit(column.filter((column == 0).fill_null(False)).to_numpy())
        found += ["-0"] * bool(signs.any()) + ["0"] * bool((~signs).any())
    elif isinstance(column.dtype, TEXTS):
        found += sorted(zero_texts(column) | zero_texts(column, signed=True))
    return frozenset(found)


def _combinations(joint: Joint, found: Mapping[str, FactoredColumn]) -> tuple[Integers, Integers]:
    rows = np.stack([found[column].codes for column in joint.columns], axis=1).astype(np.int64)
    cells, counts = np.unique(rows, axis=0, return_counts=True)
    if len(cells) > MOST_CELLS:
        raise TableError(f"[joint.{joint.name}]: more combinations occur than are solved exactly.")
    return cells, counts.astype(np.int64)


@dataclass(frozen=True, eq=False)
class AttributeReference:
    """A sensitive attribute, or a joint, of the whole release.

    Attributes
    ----------
    name
        What it is called.
    columns
        The columns that say it: one, or those of a joint.
    ground
        Its domain and distance.
    reference
        The rows of each place of the domain.
    places
        Of each value (the last is null) its place; of a joint, of each combination in `cells`.
    cells
        Of a joint, what numbers its combinations (`cell_steps`); None for a single attribute.
    asked
        What the schema says of a single attribute.
    """

    name: str
    columns: tuple[str, ...]
    ground: Ground
    reference: Integers
    places: NDArray[np.int32]
    cells: tuple[Integers, ...] | None = None
    asked: Sensitive | None = None

    def codes(self, numbered: Mapping[str, Integers], sizes: Mapping[str, int]) -> NDArray[np.int32]:
        """The place of each row's value, given its numbers among the values of the release."""
        if self.cells is None:
            return self.places[numbered[self.columns[0]]]
        return self.places[
            cell_numbers([numbered[c] for c in self.columns], [sizes[c] for c in self.columns], self.cells)
        ]


def cell_steps(codes: Sequence[Integers], sizes: Sequence[int]) -> tuple[Integers, ...]:
    """What numbers combinations of numbers from -1 up: column by column, the beginnings of combinations that occur.

    One number in mixed radix would be too long where columns are many, or have many values.

    Examples
    --------
    >>> [each.tolist() for each in cell_steps([np.array([2, -1, 2]), np.array([0, 0, 1])], [3, 2])]
    [[0, 3], [1, 4, 5]]
    """
    steps: list[Integers] = []
    keys = np.zeros(len(codes[0]), np.int64)
    for column, size in zip(codes, sizes, strict=True):
        keys = keys * (size + 1) + column + 1
        steps.append(np.unique(keys))
        keys = np.searchsorted(steps[-1], keys)
    return tuple(steps)


def cell_numbers(codes: Sequence[Integers], sizes: Sequence[int], steps: Sequence[Integers]) -> Integers:
    """The numbers of combinations, all of which are among those that occur.

    Examples
    --------
    >>> codes = [np.array([2, -1, 2]), np.array([0, 0, 1])]
    >>> cell_numbers(codes, [3, 2], cell_steps(codes, [3, 2])).tolist()
    [1, 0, 2]
    """
    keys = np.zeros(len(codes[0]), np.int64)
    for column, size, known in zip(codes, sizes, steps, strict=True):
        keys = np.searchsorted(known, keys * (size + 1) + column + 1)
    return keys


@dataclass(frozen=True, eq=False)
class ReleaseCounts:
    """All parts of a release together.

    Attributes
    ----------
    schema
        What is promised.
    n_rows
        The rows of all parts.
    columns
        Each column of the release.
    loss
        What the cells lose by themselves; None if some say what no release by this schema does.
    loss_problem
        Why there is no loss.
    attributes
        Each sensitive attribute, then each joint; none where one of them could not be read.
    n_missing
        Of each sensitive attribute, how many rows have no value.
    problem
        Why there are no attributes.
    """

    schema: Schema
    n_rows: int
    columns: dict[str, CountedColumn]
    loss: PublishedLoss = field(default_factory=lambda: PublishedLoss({}))
    loss_problem: str | None = None
    attributes: tuple[AttributeReference, ...] = ()
    n_missing: dict[str, int] = field(default_factory=dict)
    problem: str | None = None

    @classmethod
    def of(cls, parts: Iterable[PartCounts], schema: Schema) -> ReleaseCounts:
        """Put the counts of all parts together, and read them by the schema.

        Raises
        ------
        TableError
            Parts have other columns, or columns of other types, than the first.
        """
        parts = list(parts)
        columns = parts[0].columns if parts else {}
        for part in parts[1:]:
            if [*part.columns] != [*columns]:
                raise TableError("The parts of the release do not have the same columns.")
            columns = {name: _merged(column, part.columns[name]) for name, column in columns.items()}
        whole = cls(schema, sum(part.n_rows for part in parts), columns)
        needed = {*schema.released_quasi, *(each.column for each in schema.sensitive)}
        if not needed <= {*columns}:
            return whole
        return whole._with_attributes(parts)._with_loss(parts)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of distinct values of each column."""
        return {name: len(column.values) for name, column in self.columns.items()}

    def tables(self, part: PartCounts) -> dict[str, Integers]:
        """For each column, the number in the release of each value of a part; the last is null: -1."""
        return {name: table_among(column.values, self.columns[name].values) for name, column in part.columns.items()}

    def _with_attributes(self, parts: Sequence[PartCounts]) -> ReleaseCounts:
        placed: dict[str, PlacedValues] = {}
        found: list[AttributeReference] = []
        try:
            for sensitive in self.schema.sensitive:
                counted = self.columns[sensitive.column]
                values, times = counted.values.extend_constant(None, 1), np.roll(counted.counts, -1)
                present = times > 0
                present[:-1] = True
                here = place_values(values.filter(pl.Series(present)), sensitive, self.schema, times[present])
                places = np.append(here.codes, [] if present[-1] else [0]).astype(np.int32)
                placed[sensitive.column] = PlacedValues(places, here.ground, here.n_missing)
                reference = _summed(here.codes, times[present], here.ground.size)
                name = sensitive.column
                found.append(AttributeReference(name, (name,), here.ground, reference, places, asked=sensitive))
            found += [self._joint(joint, parts, placed) for joint in self.schema.joint]
        except TableError as error:
            return replace(self, problem=str(error))
        n_missing = {name: each.n_missing for name, each in placed.items()}
        return replace(self, attributes=tuple(found), n_missing=n_missing)

    def _joint(
        self, joint: Joint, parts: Sequence[PartCounts], placed: Mapping[str, PlacedValues]
    ) -> AttributeReference:
        counts = np.zeros(0, np.int64)
        codes: list[Integers] = [np.zeros(0, np.int64) for _ in joint.columns]
        for part in parts:
            cells, times = part.joints[joint.name]
            mine = [
                table_among(part.columns[name].values, self.columns[name].values)[cells[:, place]]
                for place, name in enumerate(joint.columns)
            ]
            codes = [np.concatenate(each) for each in zip(codes, mine, strict=True)]
            counts = np.concatenate([counts, times])
        sizes = [self.sizes[name] for name in joint.columns]
        steps = cell_steps(codes, sizes)
        known, first, back = np.unique(cell_numbers(codes, sizes, steps), return_index=True, return_inverse=True)
        of_parts = {
            name: PlacedValues(placed[name].codes[each[first]], placed[name].ground, 0)
            for name, each in zip(joint.columns, codes, strict=True)
        }
        joined = join(joint, of_parts)
        reference = _summed(joined.codes, _summed(back, counts, len(known)), joined.ground.size)
        return AttributeReference(joint.name, joint.columns, joined.ground, reference, joined.codes, steps)

    def _with_loss(self, parts: Sequence[PartCounts]) -> ReleaseCounts:
        try:
            losses = {quasi.column: self._loss(quasi, parts) for quasi in self.schema.quasi}
        except TableError as error:
            return replace(self, loss_problem=str(error))
        return replace(self, loss=PublishedLoss(losses, column_weights(self.schema)))

    def _loss(self, quasi: Quasi, parts: Sequence[PartCounts]) -> ColumnLoss | None:
        if quasi.publish == "bounds":
            pairs = pl.concat([part.pairs[quasi.column] for part in parts])
            bounds = dict(zip(quasi.released, (pairs["low"], pairs["high"]), strict=True))
            return loss_of_column(
                Source.of(pl.DataFrame(bounds)), quasi, self.schema, pairs["times"].cast(pl.Int64).to_numpy()
            )
        counted = self.columns[quasi.column]
        values, times = counted.values.extend_constant(None, 1), np.roll(counted.counts, -1)
        return loss_of_column(Source.of(values.alias(quasi.column).to_frame()), quasi, self.schema, times)


def table_among(values: pl.Series, known: pl.Series) -> Integers:
    """The number among known values, which are all there are, of each of some; the last is for null: -1.

    Examples
    --------
    >>> table_among(pl.Series(["b"]), pl.Series(["a", "b"])).tolist()
    [1, -1]
    """
    both = factorize(pl.concat([known, values.cast(known.dtype)]))
    place = np.full(len(both.values), -1, np.int64)
    place[both.codes[: len(known)]] = np.arange(len(known))
    return np.append(place[both.codes[len(known) :]], -1)


def _merged(one: CountedColumn, other: CountedColumn) -> CountedColumn:
    """The counts of two parts together."""
    if one.values.dtype != other.values.dtype and len(one.values) and len(other.values):
        raise TableError(f"Column '{one.values.name}' has several types in the parts of the release.")
    kind = other.values.dtype if not len(one.values) else one.values.dtype
    both = factorize(pl.concat([one.values.cast(kind), other.values.cast(kind)]))
    counts = _summed(both.codes, np.concatenate([one.counts[1:], other.counts[1:]]), len(both.values))
    missing = one.counts[:1] + other.counts[:1]
    return CountedColumn(both.values, np.concatenate([missing, counts]), one.spellings | other.spellings)


def _summed(codes: NDArray[np.int32] | Integers, counts: Integers, size: int) -> Integers:
    total = np.zeros(size, np.int64)
    np.add.at(total, codes, counts)
    return total
