"""Atoms as whoever holds all releases sees them, and what a stricter schema makes of those that nobody saw yet.

A class may hold several atoms that were never apart in any release: they are one atom to whoever sees the releases. To
let them go apart later divides that one, and what is divided keeps what is asked then. So if one of them would not,
they stay together from then on.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.history.atom_promises import PastReleases
from tclose.history.history_state import HistoryState
from tclose.schema.schema import Schema

Integers = NDArray[np.int64]


def join_unseen(state: HistoryState, schema: Schema) -> HistoryState:
    """The state with atoms that were never seen apart as one, where not all of them keep what the schema asks."""
    if not state.number:
        return state
    seen = _seen(state)
    parts = np.unique(np.stack([seen, state.atoms], axis=1), axis=0)
    several = np.flatnonzero(np.bincount(parts[:, 0]) > 1)
    inside = np.isin(seen, several)
    if not inside.any():
        return state
    present, dense = np.unique(state.atoms[inside], return_inverse=True)
    groups = np.full(len(state), -1, np.int64)
    groups[inside] = dense
    kept = PastReleases(state, schema).keeping(groups, len(present))
    broken = np.unique(seen[inside][~kept[dense]])
    joined = np.where(np.isin(seen, broken), int(state.atoms.max()) + 1 + seen, state.atoms)
    return replace(state, atoms=np.unique(joined, return_inverse=True)[1].astype(np.int64))


def _seen(state: HistoryState) -> Integers:
    """The atom of each person by classes and new values alone."""
    entered = np.zeros((len(state), state.number), np.int64)
    entered[state.version_person, state.version_origin - 1] = 1
    found = np.zeros(len(state), np.int64)
    for here, is_new in zip(state.class_of.T, entered.T, strict=True):
        width = int(here.max(initial=-1)) + 2
        found = np.unique((found * width + here + 1) * 2 + is_new, return_inverse=True)[1].astype(np.int64)
    return found
