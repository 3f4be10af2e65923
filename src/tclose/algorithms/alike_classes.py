"""Classes that a release shows alike are one class to whoever reads it: what is asked must hold for their union.

k, t, l and caps in rows hold for the union of classes that keep them. Caps in persons need not: a person who is in
several of the classes counts once in their union (`person_limits`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.in_blocks import columns_mixed
from tclose.errors import InfeasibleError
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Integers = NDArray[np.int64]
MOST_TRIED = 20  # unions of one class that are looked at for one that holds


def settle_alike(
    table: EncodedTable, requirement: Requirement, partition: Partition, shown: Callable[[Partition], Integers]
) -> Partition:
    """Join classes until those that are shown alike hold together what is asked.

    A union that does not hold takes in the class that costs least, of those with which it holds if one is found. In
    the end all rows would be one class, which holds.

    Parameters
    ----------
    shown
        Gives, for each row, the number of its class as the release of a partition shows it.
    """
    if all(attribute.person_limits is None for attribute in requirement.attributes):
        return partition
    while True:
        seen = Partition.of(shown(partition)).labels
        if seen.max() + 1 == partition.n_classes:
            return partition
        rows = np.split(np.argsort(seen, kind="stable"), np.cumsum(np.bincount(seen))[:-1])
        broken = [each for each in _unions(seen, partition) if not _holds(table, requirement, rows[each])]
        if not broken:
            return partition
        partition = replace(partition, labels=_joined(table, requirement, seen, rows, broken))
        if columns := columns_mixed(table, partition.labels):
            raise InfeasibleError(
                "Classes that are released alike keep caps in persons only together with others, which `coarsest` of "
                f"{' and '.join(map(repr, columns))} keeps apart from them. Allow coarser values there."
            )


def _unions(seen: Integers, partition: Partition) -> list[int]:
    """The classes as they are shown that are several."""
    pairs = np.unique(seen * partition.n_classes + partition.labels)
    return np.flatnonzero(np.bincount(pairs // partition.n_classes) > 1).tolist()


def _holds(table: EncodedTable, requirement: Requirement, rows: Integers) -> bool:
    """Whether rows together keep the caps in persons; all else holds for unions."""
    return all(
        attribute.person_limits is None or attribute.person_limits.keep(codes[rows])
        for attribute, codes in zip(requirement.attributes, table.codes, strict=True)
    )


def _joined(
    table: EncodedTable, requirement: Requirement, seen: Integers, rows: list[Integers], broken: list[int]
) -> Integers:
    """The classes as they are shown, each broken one with another."""
    labels, taken = seen.copy(), set[int]()
    sizes = np.bincount(seen)
    spans = table.spans(seen, len(sizes))
    for each in broken:
        if each in taken:
            continue
        cost = np.zeros(len(sizes))
        for axis, (low, high) in zip(table.axes, spans, strict=True):
            cost += axis.weight * axis.cost(np.minimum(low, low[each]), np.maximum(high, high[each]))
        order = [other for other in np.argsort(cost * (sizes + sizes[each]), kind="stable").tolist() if other != each]
        free = [other for other in order if other not in taken]
        if not free:  # all others were joined to something: it goes on in the next round
            break
        near = (other for other in free[:MOST_TRIED] if _holds(table, requirement, np.append(rows[each], rows[other])))
        other = next(near, free[0])
        labels[rows[each]] = other
        taken |= {each, other}
    return Partition.of(labels).labels
