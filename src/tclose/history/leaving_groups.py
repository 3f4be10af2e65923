"""Who may leave an atom: those who changed, those who were deleted, and those who return from where they went.

An atom A falls into those who stay, those who changed and those who were deleted. A part leaves only if it keeps the
promise by all values it was ever released with, and what remains of A does, too: whoever subtracts one release from
another learns the values of the part and of the rest, and no more. All changed persons of an atom leave together or
none, and so do all deleted ones. Nothing here depends on the release to come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.history.atom_promises import PastReleases
from tclose.history.history_state import AWAY, RELEASED
from tclose.history.person_changes import PersonChanges
from tclose.schema.schema import Schema

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LeavingGroups:
    """What the past allows, by person.

    Attributes
    ----------
    deleted
        Deleted persons who leave the publication.
    changed
        Changed persons who may enter anew, if their new values allow that.
    returned
        Returned persons who may, likewise.
    withdrawn
        Persons who are withdrawn with their class, since a deleted person of it cannot leave otherwise.
    """

    deleted: Flags
    changed: Flags
    returned: Flags
    withdrawn: Flags


def find_leaving(changes: PersonChanges, schema: Schema, withdraw: bool) -> LeavingGroups:
    """Look at every atom of which somebody changed, was deleted or returned.

    Parameters
    ----------
    withdraw
        Whether the class of a deleted person who cannot leave is withdrawn.
    """
    state = changes.state
    past, released = PastReleases(state, schema), state.places == RELEASED
    # Deleted and changed ones apart from the rest and from each other, or only the ones, or only the others.
    all_three = _split(past, released, (changes.changed, changes.deleted))
    deleted_only = _split(past, released, (changes.deleted,))
    changed_only = _split(past, released, (changes.changed,))
    deleted = changes.deleted & (all_three | deleted_only)[state.atoms]
    changed = changes.changed & (all_three | (changed_only & ~deleted_only))[state.atoms]
    returned = changes.returned & _split(past, state.places == AWAY, (changes.returned,))[state.atoms]
    withdrawn = np.zeros(len(state), bool)
    if withdraw and (held := np.flatnonzero(changes.deleted & ~deleted)).size:
        last = state.class_of[:, -1]
        withdrawn = released & np.isin(last, last[held])
        deleted, changed = deleted & ~withdrawn, changed & ~withdrawn
    return LeavingGroups(deleted, changed, returned, withdrawn)


def _split(past: PastReleases, among: Flags, parts: tuple[Flags, ...]) -> Flags:
    """Of each atom, whether all parts and what remains keep the promise; false where a part is empty.

    An atom that leaves as a whole is not divided: it keeps the promise under which it was formed, also where less was
    asked then.

    Parameters
    ----------
    among
        The persons whose atoms are looked at.
    parts
        Persons of the first part, of the second, ...
    """
    state = past.state
    n_atoms, width = int(state.atoms.max(initial=-1)) + 1, len(parts) + 1
    allowed = np.zeros(n_atoms, bool)
    touched = np.ones(n_atoms, bool)
    part_of = np.zeros(len(state), np.int64)
    for number, persons in enumerate(parts, 1):
        touched &= np.bincount(state.atoms[persons], minlength=n_atoms) > 0
        part_of[persons] = number
    groups = np.where(among & touched[state.atoms], state.atoms * width + part_of, -1)
    if (groups >= 0).any():
        present, dense = np.unique(groups[groups >= 0], return_inverse=True)
        numbered = np.full(len(state), -1, np.int64)
        numbered[groups >= 0] = dense
        kept = past.keeping(numbered, len(present))
        n_parts = np.bincount(present // width, minlength=n_atoms)
        allowed[touched] = True
        allowed[present[~kept] // width] = False
        allowed |= touched & (n_parts == 1)
    return allowed
