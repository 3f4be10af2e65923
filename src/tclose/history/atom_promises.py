"""Whether groups of persons keep the promise against the release in which their values first appeared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.algorithms.requirement import Requirement
from tclose.history.history_state import HistoryState
from tclose.schema.columns import Quasi
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode_rows
from tclose.table.row_selection import select_rows
from tclose.table.source import Source

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
SAME_FOR_ALL = "\0all"  # a quasi-identifier that tells nothing: only sensitive values are looked at


@dataclass(frozen=True, eq=False)
class ReferenceTable:
    """The sensitive values of a whole release: what groups of its rows are compared with.

    Examples
    --------
    >>> keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.2}}}
    >>> table = ReferenceTable.of(pl.DataFrame({"ill": ["a", "b", "a", "b", "b"]}), Schema.from_dict(keys))
    >>> table.keeping(np.array([0, 0, 1, -1, -1]), 2).tolist()
    [True, False]
    """

    table: EncodedTable
    requirement: Requirement

    @classmethod
    def of(cls, values: pl.DataFrame, schema: Schema) -> ReferenceTable:
        """The values of all rows of a release, and what is asked of groups of them."""
        alone = replace(
            schema, quasi=(Quasi(SAME_FOR_ALL, "categorical"),), identifiers=(), unit=None, unit_rows=None,
            unit_pick=None, unit_order=None,
        )  # fmt: skip
        source = Source.of(values.with_columns(pl.lit("all").alias(SAME_FOR_ALL)))
        table = encode_rows(source, *select_rows(source, alone), alone)
        return cls(table, Requirement.of(alone, table))

    def keeping(self, groups: Integers, n_groups: int) -> Flags:
        """Which groups keep the promise; one that has no row does.

        Parameters
        ----------
        groups
            The group of each row, from 0 to below `n_groups`; -1 for none.
        """
        rows = np.flatnonzero(groups >= 0)
        found = np.ones(n_groups, bool)
        if len(rows):
            present, labels = np.unique(groups[rows], return_inverse=True)
            found[present] = self.requirement.verdicts(self.table.take(rows), labels)
        return found


@dataclass(frozen=True, eq=False)
class PastReleases:
    """All releases so far as what groups of persons are compared with, each read when it is first needed.

    Attributes
    ----------
    state
        What was released.
    schema
        What is promised.
    """

    state: HistoryState
    schema: Schema
    _read: dict[int, tuple[Integers, ReferenceTable]] = field(default_factory=dict, repr=False)

    def keeping(self, groups: Integers, n_groups: int) -> Flags:
        """Which groups of persons keep the promise by all values they were ever released with.

        Parameters
        ----------
        groups
            The group of each person, from 0 to below `n_groups`; -1 for none. The persons of a group are of one atom.
        """
        found = np.ones(n_groups, bool)
        of_version, origins = groups[self.state.version_person], self.state.version_origin
        for origin in np.unique(origins[of_version >= 0]).tolist():
            versions, table = self._release(origin)
            looked_at = np.where(origins[versions] == origin, of_version[versions], -1)
            found &= table.keeping(looked_at, n_groups)
        return found

    def _release(self, number: int) -> tuple[Integers, ReferenceTable]:
        """The versions of a release, and their values."""
        if number not in self._read:
            versions = self.state.version_of[:, number - 1]
            versions = versions[versions >= 0]
            self._read[number] = versions, ReferenceTable.of(self.state.sensitive[versions], self.schema)
        return self._read[number]
