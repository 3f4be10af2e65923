"""Groups of rows joined into classes, and the classes checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.closeness import YES, Rules, Scratch, holds
from tclose.kernels.compile import kernel

Integers = NDArray[np.int64]


@kernel
def number(keys: Integers, slots: Integers, firsts: Integers, numbers: Integers) -> int:
    """Number equal keys alike, in the order in which they first occur; returns how many there are.

    `firsts` is a hash table of more slots than keys, a power of two and all -1: where each
    number first occurs. `slots` says where to begin to look for each key.
    """
    mask, found = len(firsts) - 1, 0
    for place in range(len(keys)):
        slot = slots[place]
        while firsts[slot] >= 0 and keys[firsts[slot]] != keys[place]:
            slot = (slot + 1) & mask
        if firsts[slot] < 0:
            firsts[slot] = place
            numbers[place] = found
            found += 1
        else:
            numbers[place] = numbers[firsts[slot]]
    return found


@kernel
def sort_by(numbers: Integers, starts: Integers, order: Integers) -> None:
    """Sort 0, 1, 2, ... by number, stably, where `starts` says how many have each number.

    Afterwards `starts` says where those of each number begin in `order`; its last entry is their end.
    """
    total = 0
    for place in range(len(starts)):
        count = starts[place]
        starts[place] = total
        total += count
    for place in range(len(numbers)):
        at = starts[numbers[place]]
        order[at] = place
        starts[numbers[place]] = at + 1
    for place in range(len(starts) - 1, 0, -1):
        starts[place] = starts[place - 1]
    starts[0] = 0


class GroupedCodes(NamedTuple):
    """The sensitive values of all rows, those of a group side by side."""

    codes: NDArray[np.int32]  # one row a row, one column an attribute
    begins: Integers  # where each group begins, and where the last ends


@kernel
def check(
    grouped: GroupedCodes,
    groups: Integers,
    classes: Integers,
    first: int,
    budget: int,
    rules: Rules,
    scratch: Scratch,
    room: NDArray[np.int32],
) -> tuple[int, int]:
    """Check classes from `first` on until one does not hold, or the budget of rows, once an attribute, is spent.

    The groups of a class lie side by side in `groups`, from `classes[class]` on. Returns the class to
    go on with and YES, or the one that does not hold or is not decided here and the verdict.
    """
    codes, begins = grouped
    for label in range(first, len(classes) - 1):
        size = 0
        for place in range(classes[label], classes[label + 1]):
            for row in range(begins[groups[place]], begins[groups[place] + 1]):
                for column in range(codes.shape[1]):
                    room[size, column] = codes[row, column]
                size += 1
        # Without an axis `left` says nothing; a literal True there would have `holds` compiled a second time.
        verdict = holds(room[:size], 0, -1, 0, size > 0, rules, scratch)
        if verdict != YES:
            return label, verdict
        budget -= size * max(codes.shape[1], 1)
        if budget < 0:
            return label + 1, YES
    return len(classes) - 1, YES
