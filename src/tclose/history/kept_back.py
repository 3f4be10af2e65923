"""Who is kept back where `coarsest` limits how wide a class may be.

The persons of an atom stay in one class, wherever their quasi-identifiers go. If that class would be wider than
`coarsest` allows, those who moved stay with their old row, and those who would enter wait.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.shared.in_blocks import classes_mixed
from tclose.errors import InfeasibleError
from tclose.history.next_rows import KeptBack, NextRows
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode_rows
from tclose.table.row_selection import select_rows
from tclose.table.source import Source


def is_limited(schema: Schema) -> bool:
    """Whether some quasi-identifier has a `coarsest`."""
    return any(each.coarsest is not None for each in schema.quasi)


def keep_back(chosen: NextRows, whole: Source, schema: Schema, back: KeptBack) -> KeptBack:
    """Whom to keep back, so that no atom is too wide; `back` itself if none is.

    Parameters
    ----------
    chosen, whole
        The rows of the next release, and the same as a table.
    back
        Who is kept back already.

    Raises
    ------
    InfeasibleError
        An atom is too wide although nobody of it has moved: `coarsest` is narrower than before.
    """
    table = encode_rows(whole, *select_rows(whole, schema), schema)
    wide = _too_wide(table, chosen)
    if not wide.any():
        return back
    n_known, persons = len(chosen.changes.state), chosen.persons[wide]
    inside, enters = np.zeros(n_known, bool), np.zeros(n_known, bool)
    inside[persons], enters[chosen.entering] = True, True
    moved, entering = back.moved | (inside & chosen.changes.moved & ~enters), back.entering | (inside & enters)
    if (moved == back.moved).all() and (entering == back.entering).all():
        columns = " and ".join(f"'{each.column}'" for each in schema.quasi if each.coarsest is not None)
        raise InfeasibleError(
            f"Persons who were released together are farther apart than `coarsest` of {columns} allows, and must stay "
            "in one class. Allow coarser values there."
        )
    return KeptBack(moved, entering, back.new)


def _too_wide(table: EncodedTable, chosen: NextRows) -> NDArray[np.bool_]:
    """Which rows are of a block that is too wide; the classes of new persons are still to be formed."""
    known = np.flatnonzero(chosen.blocks >= 0)
    found = np.zeros(len(table), bool)
    if len(known):
        labels = np.unique(chosen.blocks[known], return_inverse=True)[1].astype(np.int64)
        mixed = np.any(classes_mixed(table.take(known), labels), axis=0)
        found[known] = mixed[labels]
    return found
