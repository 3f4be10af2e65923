"""How prices should change: for some rows the class of largest excess around each, and the parts of rows it takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tclose.algorithms.loss_bound.price_check_loops import largest_excess, new_room
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
    gather,
    priced,
    worth_of,
)
from tclose.kernels.compile import inner, kernel


@inner
def parts_of_rows(
    n_entries: int, attribute: Any, values: Any, grounds: Any, chosen: Any, entries: Any, notes: Any, slopes: Any,
    kinds: Any, parts: Any,
) -> int:  # fmt: skip
    """The parts of rows that a class of largest worth takes, by what its bound changes with each price.

    `chosen` holds h and L of the bound. Returns the number of kinds, whose parts sum up to 1.
    """
    smallest, m, n, start = attribute[SMALLEST], attribute[SIZE], attribute[TOTAL], attribute[START]
    h, steep = int(chosen[0]), int(chosen[1])
    taken = 0
    total = 0.0
    if steep > 0:
        priced(h, steep, n_entries, attribute, values, grounds, entries, notes, slopes)
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
    cells: Any, places: Any, prices: Any, counts: Any, codes: Any, geometry: Any, closeness: Any,
    tolerance: int, most_nodes: int, floor: int, whole: int, bounds: Any, kinds: Any, parts: Any, taken: Any,
) -> None:  # fmt: skip
    """For each cell the excess of the best class found, and the parts of rows it takes."""
    attributes, values, grounds = closeness
    room = new_room(len(prices), geometry[0], attributes)
    entries, notes, slopes = room[9], room[10], room[11]
    best_list, best_box = np.empty(len(prices), np.int64), np.empty((cells.shape[1], 2), np.int64)
    chosen, binding_chosen = np.empty(2), np.empty(2)
    for i in range(len(cells)):
        _, excess, n_found = largest_excess(
            cells[i], places, prices, counts, codes, geometry, closeness, floor, tolerance, most_nodes, whole, room,
            best_list, best_box,
        )  # fmt: skip
        bounds[i] = excess
        taken[i] = 0
        if not n_found:
            continue
        lowest, binding = 1 << 60, 0
        for which in range(len(attributes)):
            chosen[1] = -1.0
            value = worth_of(
                best_list, n_found, prices, counts, codes[which], attributes[which], values, grounds, -(1 << 59),
                entries, notes, slopes, chosen,
            )  # fmt: skip
            if value < lowest:
                lowest, binding = value, which
                binding_chosen[:] = chosen
        n_entries, _ = gather(
            best_list, n_found, prices, counts, codes[binding], attributes[binding], values, entries, notes
        )
        if n_entries + attributes[binding, SIZE] < kinds.shape[1]:
            taken[i] = parts_of_rows(
                n_entries, attributes[binding], values, grounds, binding_chosen, entries, notes, slopes, kinds[i],
                parts[i],
            )  # fmt: skip


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
