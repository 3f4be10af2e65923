"""How prices should change: for some rows the class of largest excess around each, and the parts of rows it takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.loss_bound.closeness_terms import CloseTerms
from tclose.algorithms.loss_bound.price_check_loops import SearchLimits, largest_excess, new_room
from tclose.algorithms.loss_bound.price_value_loops import (
    COUNT,
    HEIGHT,
    KIND,
    MANY,
    MARKED,
    PRICE,
    SIZE,
    SMALLEST,
    SOURCE,
    START,
    TOTAL,
    VALUE,
    PricedKinds,
    WorthRoom,
    gather,
    priced,
    worth_of,
)
from tclose.algorithms.loss_bound.rounded_losses import SpanLosses
from tclose.kernels.compile import inner, kernel

Integers = NDArray[np.int64]


class FoundParts(NamedTuple):
    """What is found around each of some cells, one row each."""

    bounds: Integers  # the excess of the best class found
    kinds: Integers  # whose rows that class takes, and
    parts: NDArray[np.float64]  # the part of each
    taken: Integers  # how many of these kinds count; 0 where no class was found


@inner
def parts_of_rows(
    n_entries: int, attribute: Any, terms: CloseTerms, chosen: Any, room: WorthRoom, kinds: Any, parts: Any
) -> int:
    """The parts of rows that a class of largest worth takes, by what its bound changes with each price.

    `chosen` holds h and L of the bound. Returns the number of kinds, whose parts sum up to 1.
    """
    values, entries, notes, slopes = terms.values, room.entries, room.notes, room.slopes
    smallest, m, n, start = attribute[SMALLEST], attribute[SIZE], attribute[TOTAL], attribute[START]
    h, steep = int(chosen[0]), int(chosen[1])
    taken = 0
    total = 0.0
    if steep > 0:
        priced(h, steep, n_entries, attribute, terms, room)
        rows = np.zeros(m)
        for entry in range(n_entries):
            v = entries[entry, VALUE]
            if entries[entry, PRICE] - h - notes[v, HEIGHT] > 0:
                kinds[taken], parts[taken] = entries[entry, KIND], entries[entry, MANY] / smallest
                rows[v] += parts[taken]
                total += parts[taken]
                taken += 1
        for v in range(m):
            source = notes[v, SOURCE]
            if source >= 0 and slopes[2 + 2 * v] > 0:
                kinds[taken] = notes[source, MARKED]
                parts[taken] = values[start + v, COUNT] / n - rows[v]
                total += parts[taken]
                taken += 1
    if total > 1.0:
        for i in range(taken):
            parts[i] /= total
    used = np.zeros(n_entries, np.bool_)
    while total < 1.0 - 1e-9:  # more of the rows next below the bound
        best, most = -1, -(1 << 60)
        for entry in range(n_entries):
            more = entries[entry, PRICE] - (notes[entries[entry, VALUE], HEIGHT] if steep > 0 else 0)
            if not used[entry] and (steep == 0 or more <= h) and more > most:
                best, most = entry, more
        if best < 0:
            break
        used[best] = True
        kinds[taken], parts[taken] = entries[best, KIND], min(entries[best, MANY] / smallest, 1.0 - total)
        total += parts[taken]
        taken += 1
    return taken


@kernel
def steps_of_rows(
    cells: Any, priced_kinds: PricedKinds, losses: SpanLosses, terms: CloseTerms, limits: SearchLimits,
    found: FoundParts,
) -> None:  # fmt: skip
    """For each cell the excess of the best class found, and the parts of rows it takes."""
    attributes = terms.attributes
    room = new_room(len(priced_kinds.prices), losses, terms)
    chosen, binding_chosen = np.empty(2), np.empty(2)
    for i in range(len(cells)):
        _, excess, n_found = largest_excess(cells[i], priced_kinds, losses, terms, limits.floor, limits, room)
        found.bounds[i] = excess
        found.taken[i] = 0
        if not n_found:
            continue
        lowest, binding = 1 << 60, 0
        for which in range(len(attributes)):
            chosen[1] = -1.0
            value = worth_of(room.best_kinds, n_found, priced_kinds, which, terms, -(1 << 59), room.worth, chosen)
            if value < lowest:
                lowest, binding = value, which
                binding_chosen[:] = chosen
        n_entries, _ = gather(room.best_kinds, n_found, priced_kinds, binding, terms, room.worth)
        if n_entries + attributes[binding, SIZE] < found.kinds.shape[1]:
            found.taken[i] = parts_of_rows(
                n_entries, attributes[binding], terms, binding_chosen, room.worth, found.kinds[i], found.parts[i]
            )


@kernel
def sum_features(ids: Any, weights: Any, prices: Any) -> None:
    """The price of each kind: the sum of the weights of its features."""
    for kind in range(ids.shape[0]):
        total = 0.0
        for feature in range(ids.shape[1]):
            total += weights[ids[kind, feature]]
        prices[kind] = total


@kernel
def spread_steps(ids: Any, kinds: Any, steps: Any, gradient: Any) -> None:
    """What a step of some kinds means for the weights of their features."""
    for i in range(len(kinds)):
        for feature in range(ids.shape[1]):
            gradient[ids[kinds[i], feature]] += steps[i]
