"""The whole table without its rows: the axes, domains and reference that every shard is encoded and measured by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.algorithms.requirement import Requirement
from tclose.errors import TableError
from tclose.release.recode import kept_values, released_values
from tclose.scale.coded_pieces import ROW, GatheredValues, coded_names
from tclose.schema.schema import Schema
from tclose.table.axes import Axis
from tclose.table.coded import CodedColumn
from tclose.table.encode import Domain, EncodedTable, encode_quasi, encode_sensitive
from tclose.table.joint_codes import build_joint, too_many
from tclose.table.reading import Reader
from tclose.table.source import Source

Integers = NDArray[np.int64]
Counted = tuple[Integers, Integers]  # combinations as one number each, ascending, and how many rows have each
MOST_KEYS = 100_000  # combinations of a joint before it is refused in any case


@dataclass(frozen=True, eq=False)
class WholeTable:
    """What is known of the whole table once its pieces are gathered.

    Attributes
    ----------
    schema
        What is asked of it.
    names
        Its columns, in their order.
    n_rows
        The rows that are released.
    values
        Of each coded column, the distinct values, at the places that codes say.
    axes, places
        The axes, and on each the place of each value of its column.
    domains, codes, references
        One a sensitive attribute: its domain, the code of each value of its column, the rows of each code; then one a
        joint, whose codes are by combination.
    joint_keys
        Of each joint, the combinations that occur as one number each, ascending.
    """

    schema: Schema
    names: tuple[str, ...]
    n_rows: int
    values: dict[str, pl.Series] = field(repr=False)
    axes: tuple[Axis, ...]
    places: tuple[NDArray[np.int32], ...] = field(repr=False)
    domains: tuple[Domain, ...]
    codes: tuple[NDArray[np.int32], ...] = field(repr=False)
    references: tuple[Integers, ...] = field(repr=False)
    joint_keys: tuple[Integers, ...] = ()

    @classmethod
    def of(cls, gathered: GatheredValues, names: Sequence[str], show_values: bool = False) -> WholeTable:
        """Read all values of a table by its schema, each once; without its joints.

        Raises
        ------
        TableError
            Some values do not fit the schema: the message says in which column, and how many rows hold them. Or a joint
            has more combinations than there are numbers.
        """
        schema, columns = gathered.schema, gathered.columns
        reader = Reader.of(Source.of(pl.DataFrame()), np.zeros(0, np.int64), schema, show_values)
        axes, places = encode_quasi(reader, columns, schema)
        sensitive = list(encode_sensitive(reader, columns, schema))
        references = [_summed(codes, columns[domain.column].counts, domain.size) for domain, codes in sensitive]
        values = {name: column.values for name, column in columns.items()}
        _check_joints(schema, {domain.column: domain.size for domain, _ in sensitive})
        return cls(
            schema, tuple(names), gathered.n_rows, values, tuple(axes), tuple(places),
            tuple(domain for domain, _ in sensitive), tuple(codes for _, codes in sensitive), tuple(references),
        )  # fmt: skip

    def with_joints(self, counted: Sequence[Counted]) -> WholeTable:
        """The same with the joints of the schema, of whose combinations so many rows were counted."""
        domains, codes, references, keys = [*self.domains], [*self.codes], [*self.references], []
        for joint, (known, counts) in zip(self.schema.joint, counted, strict=True):
            parts = self._joint_parts(joint.columns)
            forms = [self.domains[part].form for part in parts]
            form, combined = build_joint(joint, forms, self._digits(known, parts))
            domains.append(Domain(joint.name, form, False, is_joint=True))
            codes.append(combined)
            references.append(_summed(combined, counts, form.size))
            keys.append(known)
        return replace(
            self, domains=tuple(domains), codes=tuple(codes), references=tuple(references), joint_keys=tuple(keys)
        )

    def count_joints(self, rows: pl.DataFrame) -> list[Counted]:
        """How many of some coded rows have each combination of each joint.

        Raises
        ------
        TableError
            There are so many combinations that no joint of them is decided.
        """
        found: list[Counted] = []
        for joint in self.schema.joint:
            keys, counts = np.unique(self._keys(rows, self._joint_parts(joint.columns)), return_counts=True)
            if len(keys) > MOST_KEYS:
                raise too_many(joint, len(keys))
            found.append((keys, counts.astype(np.int64)))
        return found

    @cached_property
    def requirement(self) -> Requirement:
        """What every class must meet, measured against the whole table."""
        return Requirement.from_counts(self.schema, self.domains, self.references, self.n_rows)

    @cached_property
    def numbers(self) -> dict[str, str]:
        """The name of each coded column among coded rows."""
        return {name: str(place) for place, name in enumerate(coded_names(self.schema))}

    @property
    def released_names(self) -> tuple[str, ...]:
        """The columns of the release, in the order of the table."""
        quasi = {each.column: each.released for each in self.schema.quasi}
        released = {*self.values}
        return tuple(made for name in self.names if name in released for made in quasi.get(name, (name,)))

    @cached_property
    def shown_values(self) -> dict[str, pl.Series]:
        """What is released for each value of the sensitive and the kept columns."""
        shown = {
            each.column: released_values(self.values[each.column], each, self.schema) for each in self.schema.sensitive
        }
        return shown | {name: kept_values(self.values[name], self.schema) for name in self.schema.keep}

    @property
    def released_types(self) -> dict[str, pl.DataType]:
        """The type of each released column: quasi-identifiers are text, whatever a single shard shows."""
        shown = {name: _plain_type(column.dtype) for name, column in self.shown_values.items()}
        return {name: shown.get(name, pl.String()) for name in self.released_names}

    def encode(self, rows: pl.DataFrame) -> EncodedTable:
        """Coded rows over the axes and domains of the whole table."""
        places = tuple(
            table[rows[self.numbers[axis.column]].to_numpy()]
            for axis, table in zip(self.axes, self.places, strict=True)
        )
        return EncodedTable(self.axes, places, self.domains, tuple(self.sensitive_codes(rows)), np.arange(len(rows)))

    def sensitive_codes(self, rows: pl.DataFrame) -> Iterable[NDArray[np.int32]]:
        """The codes of rows in each sensitive attribute, then in each joint."""
        n = len(self.schema.sensitive)
        for domain, table in zip(self.domains[:n], self.codes[:n], strict=True):
            yield table[rows[self.numbers[domain.column]].to_numpy()]
        for joint, keys, table in zip(self.schema.joint, self.joint_keys, self.codes[n:], strict=True):
            yield table[np.searchsorted(keys, self._keys(rows, self._joint_parts(joint.columns)))]

    def columns_of(self, rows: pl.DataFrame) -> dict[str, CodedColumn]:
        """The quasi-identifiers and sensitive attributes of coded rows."""
        kept = {*self.schema.keep}
        return {
            name: CodedColumn(values, rows[self.numbers[name]].to_numpy())
            for name, values in self.values.items()
            if name not in kept
        }

    def original(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Coded rows as they were read, all that is missing as null."""
        coded = {name: values.gather(rows[self.numbers[name]].to_numpy()) for name, values in self.values.items()}
        return pl.DataFrame([coded[name].alias(name) for name in self.names if name in coded])

    def recoded(self, rows: pl.DataFrame, tables: Mapping[str, Integers]) -> pl.DataFrame:
        """Rows coded by the values of a piece, by those of the whole table; `tables` has its code for each of those."""
        columns = {}
        for name, table in tables.items():
            width = np.min_scalar_type(max(len(self.values[name]) - 1, 0))
            columns[self.numbers[name]] = table.astype(width)[rows[self.numbers[name]].to_numpy()]
        return pl.DataFrame(columns).with_columns(rows[ROW])

    def _joint_parts(self, columns: Sequence[str]) -> list[int]:
        places = {each.column: place for place, each in enumerate(self.schema.sensitive)}
        return [places[column] for column in columns]

    def _keys(self, rows: pl.DataFrame, parts: Sequence[int]) -> Integers:
        """Combinations of codes as numbers in mixed radix."""
        keys = np.zeros(len(rows), np.int64)
        for part in parts:
            domain = self.domains[part]
            keys *= domain.size
            keys += self.codes[part][rows[self.numbers[domain.column]].to_numpy()]
        return keys

    def _digits(self, keys: Integers, parts: Sequence[int]) -> list[NDArray[np.int32]]:
        digits: list[NDArray[np.int32]] = []
        for part in reversed(parts):
            keys, digit = np.divmod(keys, self.domains[part].size)
            digits.append(digit.astype(np.int32))
        return digits[::-1]


def _check_joints(schema: Schema, sizes: Mapping[str, int]) -> None:
    """Combinations are numbered before it is known which occur: all that could must have a number."""
    for joint in schema.joint:
        if prod(sizes[column] for column in joint.columns) >= 2**63:
            raise TableError(
                f"[joint.{joint.name}]: its {len(joint.columns)} columns could have more combinations than are counted "
                "of a table in shards. Name fewer columns, or release the table without --engine."
            )


def add_counted(one: Counted, other: Counted) -> Counted:
    """How often numbers occur in two pieces together.

    Examples
    --------
    >>> [each.tolist() for each in add_counted((np.array([1, 5]), np.array([2, 1])), (np.array([5]), np.array([3])))]
    [[1, 5], [2, 4]]
    """
    keys, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    return keys, _summed(places, np.concatenate([one[1], other[1]]), len(keys))


def add_joints(one: list[Counted] | None, other: list[Counted] | None) -> list[Counted] | None:
    """The same for each joint; None where nothing was counted yet."""
    if one is None or other is None:
        return other if one is None else one
    return [add_counted(*both) for both in zip(one, other, strict=True)]


def _summed(codes: NDArray[np.int32] | Integers, counts: Integers, size: int) -> Integers:
    total = np.zeros(size, np.int64)
    np.add.at(total, codes, counts)
    return total


def _plain_type(kind: pl.DataType) -> pl.DataType:
    return pl.String() if isinstance(kind, pl.Enum | pl.Categorical) else kind
