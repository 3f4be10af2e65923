"""The rows of the next release: who stays, with which row, who enters, and who waits.

Whoever enters brings new values, which must be close to the whole of the release they enter, and that whole depends on
who enters. All who may are let in, and those whose values are not close are taken out again until all are. New persons
are let in as one batch: a part that waits would tell its values. Those who enter out of one atom are a group, which
enters as one atom or waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import InfeasibleError
from tclose.history.atom_promises import ReferenceTable
from tclose.history.history_state import RELEASED
from tclose.history.leaving_groups import LeavingGroups, find_leaving
from tclose.history.person_changes import PersonChanges
from tclose.schema.schema import Schema

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Deletions = Literal["hold", "withdraw"]
DELETIONS = ("hold", "withdraw")
BATCH = -1  # the block of rows whose classes are still to be formed


@dataclass(frozen=True, eq=False)
class KeptBack:
    """Who is kept back for another reason than their values.

    Attributes
    ----------
    moved
        Persons who stay with their old row although they have other quasi-identifiers.
    entering
        Persons who do not enter.
    new
        Whether new persons wait.
    """

    moved: Flags
    entering: Flags
    new: bool = False

    @classmethod
    def nobody(cls, n_persons: int) -> KeptBack:
        """Of so many persons that are known."""
        return cls(np.zeros(n_persons, bool), np.zeros(n_persons, bool))


@dataclass(frozen=True, eq=False)
class NextRows:
    """Which rows the next release has.

    Attributes
    ----------
    changes, leaving
        What became of each person, and who leaves an atom.
    as_before
        Persons who stay with the row they were released with: deleted or changed ones who wait, and those kept back.
    as_in_table
        Persons who stay with the row of the table: the same sensitive values as before.
    entering
        Persons who enter with new values.
    takes_new
        Whether new persons are released, all of them.
    """

    changes: PersonChanges
    leaving: LeavingGroups
    as_before: Integers
    as_in_table: Integers
    entering: Integers
    takes_new: bool

    @cached_property
    def new_rows(self) -> Integers:
        """The rows of the table whose persons are released for the first time."""
        return self.changes.new_rows if self.takes_new else np.zeros(0, np.int64)

    @property
    def persons(self) -> Integers:
        """The person of each row, known ones first; new ones are numbered on."""
        new = len(self.changes.state) + np.arange(len(self.new_rows))
        return np.concatenate([self.as_before, self.as_in_table, self.entering, new])

    @property
    def table_rows(self) -> Integers:
        """The row of the table that each row comes from; -1 for those that come from the state."""
        at = self.changes.row_of
        return np.concatenate(
            [np.full(len(self.as_before), -1), at[self.as_in_table], at[self.entering], self.new_rows]
        ).astype(np.int64)

    @property
    def blocks(self) -> Integers:
        """What stays together: the atom of known persons, those of an atom who enter apart; BATCH for new ones."""
        atoms = self.changes.state.atoms
        staying = np.concatenate([self.as_before, self.as_in_table])
        last = int(atoms.max(initial=-1)) + 1
        return np.concatenate([atoms[staying], last + atoms[self.entering], np.full(len(self.new_rows), BATCH)])

    @property
    def quasi(self) -> pl.DataFrame:
        """Quasi-identifiers, one row a row."""
        state, table = self.changes.state, self.changes.table
        rows = self.table_rows
        return _joined(state.quasi, self.as_before, table.quasi, rows[rows >= 0])

    @property
    def sensitive(self) -> pl.DataFrame:
        """Sensitive values, one row a row."""
        state, table = self.changes.state, self.changes.table
        versions, rows = state.current_version[self.as_before], self.table_rows
        return _joined(state.sensitive, versions, table.sensitive, rows[rows >= 0])

    @property
    def counts(self) -> dict[str, int]:
        """What was done and what waits, for the record."""
        changes, leaving = self.changes, self.leaving
        entered = np.zeros(len(changes.state), bool)
        entered[self.entering] = True
        staying, as_before = ~leaving.withdrawn, np.zeros(len(changes.state), bool)
        as_before[self.as_before] = True
        return {
            "added": len(self.new_rows),
            "changed": int((entered & changes.changed).sum()),
            "moved": int((changes.moved & staying & ~as_before).sum()),
            "deleted": int(leaving.deleted.sum()),
            "returned": int((entered & changes.returned).sum()),
            "withdrawn": int(leaving.withdrawn.sum()),
            "new_waiting": 0 if self.takes_new else len(changes.new_rows),
            "changes_held": int((changes.changed & ~entered & staying).sum()),
            "moves_held": int((changes.moved & as_before).sum()),
            "deletions_held": int((changes.deleted & ~leaving.deleted & staying).sum()),
            "returned_waiting": int((changes.returned & ~entered).sum()),
            "barred": int((changes.barred | (leaving.withdrawn & (changes.row_of >= 0))).sum()),
        }


def _joined(before: pl.DataFrame, some: Integers, table: pl.DataFrame, rows: Integers) -> pl.DataFrame:
    return table[rows] if not len(some) else pl.concat([before[some], table[rows]])


def choose_rows(
    changes: PersonChanges, schema: Schema, deletions: Deletions, least_batch: float = 0.0, back: KeptBack | None = None
) -> NextRows:
    """Let all in who may enter, and take out those whose new values are not close to what is then the whole.

    Parameters
    ----------
    least_batch
        New persons wait until there are this many for each person who was released before.
    back
        Who is kept back in any case.

    Raises
    ------
    InfeasibleError
        No row is left to release.
    """
    back = back or KeptBack.nobody(len(changes.state))
    leaving = find_leaving(changes, schema, deletions == "withdraw")
    may_enter = (leaving.changed | leaving.returned) & ~back.entering
    n_new, n_released = len(changes.new_rows), int((changes.state.places == RELEASED).sum())
    takes_new = n_new > 0 and n_new >= least_batch * n_released and not back.new
    while True:
        found = _with(changes, leaving, may_enter, takes_new, back.moved)
        if not len(found.persons):
            raise InfeasibleError(_nothing_left(changes, schema))
        groups = np.concatenate(
            [np.full(len(found.as_before) + len(found.as_in_table), -1), changes.state.atoms[found.entering]]
        )
        n_atoms = int(changes.state.atoms.max(initial=-1)) + 1
        groups = np.concatenate([groups, np.full(len(found.new_rows), n_atoms)])
        kept = ReferenceTable.of(found.sensitive, schema).keeping(groups, n_atoms + 1)
        if kept.all():
            return found
        if not kept[-1]:
            takes_new = False  # those who would enter may be close to the whole without the batch
        else:
            may_enter &= kept[changes.state.atoms]


def _with(
    changes: PersonChanges, leaving: LeavingGroups, may_enter: Flags, takes_new: bool, moved_back: Flags
) -> NextRows:
    """The rows if these persons enter."""
    stays = (changes.state.places == RELEASED) & ~leaving.deleted & ~leaving.withdrawn & ~may_enter
    waits = changes.deleted | changes.changed | moved_back
    before, table = np.flatnonzero(stays & waits), np.flatnonzero(stays & ~waits)
    return NextRows(changes, leaving, before, table, np.flatnonzero(may_enter), takes_new)


def _nothing_left(changes: PersonChanges, schema: Schema) -> str:
    if len(changes.new_rows):
        return (
            f"The {len(changes.new_rows)} new persons cannot be released: they are fewer than k = {schema.k}, or not "
            "as diverse as asked, and nobody else is left. Wait until there are more."
        )
    return "Nobody is left to release."
