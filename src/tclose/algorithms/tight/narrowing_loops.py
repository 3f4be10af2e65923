"""Leaving out values that no row of some has: what is left is measured much faster, and comes to the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import inner
from tclose.kernels.soft import Soft

Places = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class NarrowRoom(NamedTuple):
    """Room for the values that some rows have, and for the edges and caps around them."""

    before: Integers  # of each value the number of those before it that occur
    values: Integers  # those that occur
    shares_of_values: Floats
    edges: Integers
    weights: Floats
    shares: Floats
    caps: Integers
    tops: Floats
    firsts: Integers
    base: Floats


@inner
def narrow(soft: Soft, rows: Places, first: int, members: Integers, room: NarrowRoom) -> Soft:
    """What is asked of classes among these rows, with the values alone that one of them has.

    The columns of `rows` from `first` on hold values: they are numbered anew, until `restore`. An edge around values
    of which none occurs adds w |0 - P(e)| to the distance, whatever class is made: that is added up in `base`. A cap
    around such values is kept by every class.
    """
    before, n_values, n_edges, n_caps = room.before, 0, 0, 0
    for value in range(soft.n_values):
        before[value] = 0
    for each in range(len(members)):
        for column in range(first, rows.shape[1]):
            before[rows[members[each], column]] = 1
    for value in range(soft.n_values):
        occurs = before[value]
        before[value] = n_values
        if occurs:
            room.values[n_values], room.shares_of_values[n_values] = value, soft.values[value]
            n_values += 1
    before[soft.n_values] = n_values
    for each in range(len(members)):
        for column in range(first, rows.shape[1]):
            rows[members[each], column] = before[rows[members[each], column]]
    for attribute in range(len(soft.base)):
        room.base[attribute], room.firsts[attribute] = soft.base[attribute], before[soft.firsts[attribute]]
    room.firsts[len(soft.base)] = n_values
    for edge in range(len(soft.weights)):
        low, high, attribute = before[soft.edges[edge, 0]], before[soft.edges[edge, 1]], soft.edges[edge, 2]
        if low == high:
            room.base[attribute] += soft.weights[edge] * soft.shares[edge]
            continue
        room.edges[n_edges, 0], room.edges[n_edges, 1], room.edges[n_edges, 2] = low, high, attribute
        room.weights[n_edges], room.shares[n_edges] = soft.weights[edge], soft.shares[edge]
        n_edges += 1
    for run in range(len(soft.caps)):
        low, high = before[soft.caps[run, 0]], before[soft.caps[run, 1]]
        if low < high:
            room.caps[n_caps, 0], room.caps[n_caps, 1], room.caps[n_caps, 2] = low, high, soft.caps[run, 2]
            room.tops[n_caps, 0], room.tops[n_caps, 1] = soft.tops[run, 0], soft.tops[run, 1]
            n_caps += 1
    return Soft(
        edges=room.edges[:n_edges],
        weights=room.weights[:n_edges],
        shares=room.shares[:n_edges],
        n_values=n_values,
        values=room.shares_of_values[:n_values],
        caps=room.caps[:n_caps],
        tops=room.tops[:n_caps],
        firsts=room.firsts,
        diverse=soft.diverse,
        base=room.base,
    )


@inner
def restore(rows: Places, first: int, members: Integers, room: NarrowRoom) -> None:
    """Give the rows their values back."""
    for each in range(len(members)):
        for column in range(first, rows.shape[1]):
            rows[members[each], column] = room.values[rows[members[each], column]]
