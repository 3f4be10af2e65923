"""The state of a history after one more release."""

from __future__ import annotations

import secrets
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.history.common_types import CommonTypes
from tclose.history.history_state import AWAY, RELEASED, WITHDRAWN, HistoryState, ReleaseEntry
from tclose.history.next_rows import NextRows
from tclose.schema.schema import Schema

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def state_after(
    chosen: NextRows, atoms: Integers, classes: Integers, entry: ReleaseEntry, schema: Schema
) -> HistoryState:
    """What is known when a release is out.

    Parameters
    ----------
    chosen
        The rows of the release.
    atoms, classes
        The atom and the class of each of these rows.
    entry
        What is kept of the release, without its reference.
    schema
        By which columns are read.
    """
    state, number = chosen.changes.state, entry.number
    n_new, persons = len(chosen.new_rows), chosen.persons
    left, gone = np.append(state.left, np.zeros(n_new, np.int64)), _gone(chosen, n_new)
    all_atoms = np.append(state.atoms, np.full(n_new, -1, np.int64))
    all_atoms[persons] = atoms
    # Those who leave an atom are one of their own from now on.
    apart = np.flatnonzero(np.append(chosen.leaving.deleted, np.zeros(n_new, bool)))
    all_atoms[apart] += max(int(atoms.max()), int(state.atoms.max(initial=-1))) + 1
    places = np.append(state.places, np.full(n_new, RELEASED))
    places[persons] = RELEASED
    places[apart], left[gone], left[persons] = AWAY, number, 0
    withdrawn = np.append(chosen.leaving.withdrawn, np.zeros(n_new, bool))
    places[withdrawn] = WITHDRAWN
    fresh = np.concatenate([chosen.entering, len(state) + np.arange(n_new)])
    fresh_rows = chosen.table_rows[len(chosen.as_before) + len(chosen.as_in_table) :]
    found = replace(
        state,
        hashes=pl.concat([state.hashes.alias("hash"), chosen.changes.table.hashes[chosen.new_rows].alias("hash")]),
        atoms=np.unique(all_atoms, return_inverse=True)[1].astype(np.int64),
        places=places,
        left=left,
        quasi=_placed(chosen.quasi, persons, len(state) + n_new),
        member_person=np.concatenate([state.member_person, persons]),
        member_release=np.concatenate([state.member_release, np.full(len(persons), number)]),
        member_class=np.concatenate([state.member_class, classes]),
        version_person=np.concatenate([state.version_person, fresh]),
        version_origin=np.concatenate([state.version_origin, np.full(len(fresh), number)]),
        sensitive=_extended(state.sensitive, chosen.changes.table.sensitive[fresh_rows]),
        releases=(*state.releases, replace(entry, reference=_counted(chosen.sensitive, CommonTypes.by(schema)))),
    )
    return _unlinked(found, withdrawn)


def _gone(chosen: NextRows, n_new: int) -> Flags:
    return np.append(chosen.leaving.deleted | chosen.leaving.withdrawn, np.zeros(n_new, bool))


def _placed(quasi: pl.DataFrame, persons: Integers, n_persons: int) -> pl.DataFrame:
    """The rows at the places of their persons, and nothing for persons who are not released."""
    at = np.full(n_persons, -1, np.int64)
    at[persons] = np.arange(len(persons))
    wanted = pl.Series(at).set(pl.Series(at < 0), None).cast(pl.UInt32)
    return quasi.select(pl.all().gather(wanted))


def _extended(before: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    return more if not before.width else pl.concat([before, more])


def _counted(sensitive: pl.DataFrame, types: CommonTypes) -> dict[str, list[tuple[str | None, int]]]:
    """How often each value occurs, by attribute; numbers as they are written with a point."""
    counts = {each.name: types.named(each).alias("value").value_counts().sort("value") for each in sensitive}
    return {name: [(value, int(count)) for value, count in each.iter_rows()] for name, each in counts.items()}


def _unlinked(state: HistoryState, withdrawn: Flags) -> HistoryState:
    """The same with the values of withdrawn persons dealt out anew within their atoms.

    Their atoms never fall apart any more, so that it need not be known who has which value: only their sums are.
    """
    if not withdrawn.any():
        return state
    rng = np.random.default_rng(secrets.randbits(128))
    taken = np.arange(len(state.version_person))
    inside = withdrawn[state.version_person]
    keys = state.atoms[state.version_person] * (state.number + 1) + state.version_origin
    for key in np.unique(keys[inside]).tolist():
        rows = np.flatnonzero(inside & (keys == key))
        taken[rows] = rng.permutation(rows)
    return replace(state, sensitive=state.sensitive[taken])
