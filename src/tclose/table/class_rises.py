"""How far shares of values, or of nodes of their hierarchy, rise in classes: as methods see it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.table.classes import Tally

Integers = NDArray[np.int64]
TreePaths = NDArray[np.int32]
NEAR = 1e-12  # far above the rounding of a quotient of counts


def largest_rises(tally: Tally, paths: TreePaths | None = None) -> tuple[Fraction, Fraction]:
    """The largest rise of a share, and the largest quotient of a share and that in the table less 1; both exact.

    Parameters
    ----------
    tally
        How often each value occurs in each class.
    paths
        The nodes of each value, filled up with -1, if it is their shares that count.

    Examples
    --------
    >>> largest_rises(Tally.of(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1], np.int32), 2))
    (Fraction(1, 4), Fraction(1, 1))
    """
    owner, code, count = tally.owner, tally.code.astype(np.int64), tally.count.astype(np.int64)
    reference, n = tally.reference, int(tally.reference.sum())
    if paths is not None:
        owner, code, count = pairs_by_node(paths, owner, code, count)
        reference = rows_by_node(paths, reference)
    size, whole = tally.sizes[owner], reference[code]
    rise, growth = count / size - whole / n, count / size / (whole / n)
    rises = _candidates(rise >= rise.max() - NEAR, count, size, whole)
    growths = _candidates(growth >= growth.max() * (1 - NEAR), count, size, whole)
    return (
        max([Fraction(0), *(Fraction(c, s) - Fraction(of, n) for c, s, of in rises)]),
        max([Fraction(0), *(Fraction(c * n, s * of) - 1 for c, s, of in growths)]),
    )


def _candidates(near: NDArray[np.bool_], *columns: Integers) -> list[list[int]]:
    found: list[list[int]] = np.unique(np.stack([column[near] for column in columns]), axis=1).T.tolist()
    return found


def rows_by_node(paths: TreePaths, counts: Integers) -> Integers:
    """The rows below each node; the root, node 0, which every path leaves out, has none."""
    found = np.zeros(int(paths.max(initial=0)) + 1, np.int64)
    for level in paths.T:
        np.add.at(found, level[level >= 0], counts[level >= 0])
    return found


def pairs_by_node(
    paths: TreePaths, owner: Integers, code: Integers, count: Integers
) -> tuple[Integers, Integers, Integers]:
    """Class, node and rows, for each node above a value that occurs in the class."""
    nodes = paths[code]
    known = nodes >= 0
    width = int(paths.max(initial=0)) + 1
    found, place = np.unique((owner[:, None] * width + nodes)[known], return_inverse=True)
    rows = np.zeros(len(found), np.int64)
    np.add.at(rows, place, np.broadcast_to(count[:, None], nodes.shape)[known])
    return found // width, found % width, rows
