"""Persons as codes beside those of sensitive attributes: whose each row is, and which values each person has.

Two things are promised of persons where one may have several rows. A class has the rows of k of them: as many distinct
codes as k, if a code is a person. And a cap on belief compares the share of a class's persons who have a row of a value
with that of the table's persons. There a code stands for a person with a value, whom a class counts once however many
rows he has; and so for the nodes above the value, where inner nodes are capped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Holders:
    """Who holds what: a holder is a person with a value, with a node above it, or by himself.

    Attributes
    ----------
    paths
        The holders of each code, filled up with -1; the first is the person by himself.
    nodes
        What each holder has: a value, or a node of the hierarchy; `n_nodes` for a person by himself.
    n_nodes
        The number of values, or of nodes.

    Examples
    --------
    >>> codes, holders = code_holders(np.array([0, 0, 1]), np.array([0, 1, 1], np.int32), 2, None)
    >>> holders.count(np.unique(codes)).tolist(), holders.count(codes[:2]).tolist()
    ([1, 2, 2], [1, 1, 1])
    """

    paths: Codes
    nodes: Codes
    n_nodes: int

    def count(self, codes: Integers | Codes) -> Integers:
        """How many persons with some codes have each value or node, and at the end how many they are."""
        found = np.unique(self.paths[codes])
        return np.bincount(self.nodes[found[found >= 0]], minlength=self.n_nodes + 1).astype(np.int64)


def code_holders(persons: Codes, codes: Codes, size: int, paths: Codes | None) -> tuple[Codes, Holders]:
    """A code for each row, the same for a person's rows of one value, and who holds what.

    Parameters
    ----------
    persons, codes
        The person of each row, and the code of its value.
    size
        The number of values.
    paths
        The nodes of each value, filled up with -1, where nodes are capped; None where values are.
    """
    pairs, of_row = np.unique(persons.astype(np.int64) * size + codes, return_inverse=True)
    person, value = pairs // size, pairs % size
    nodes = value[:, None] if paths is None else paths[value].astype(np.int64)
    n_nodes = size if paths is None else int(paths.max(initial=0)) + 1
    held = np.concatenate([np.full((len(pairs), 1), n_nodes), nodes], axis=1)
    keys = np.where(held < 0, -1, person[:, None] * (n_nodes + 1) + held)
    known = np.unique(keys[keys >= 0])
    places = np.where(held < 0, -1, np.searchsorted(known, keys))
    holders = Holders(places.astype(np.int32), (known % (n_nodes + 1)).astype(np.int32), n_nodes)
    return of_row.astype(np.int32), holders
