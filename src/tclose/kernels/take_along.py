"""SABRE-AK: take rows out of buckets that are sorted along a curve.

A word is a row's bucket, key and number, in this order from the highest bit on, so that sorted
words stand by bucket and key. Bucket i has the words starts[i] to stops[i] - 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import kernel
from tclose.kernels.random import Random, draw

Links = NDArray[np.int32]
Integers = NDArray[np.int64]


@kernel
def pack(words: Integers, owners: NDArray[np.int32], n_keys: int, n_rows: int) -> None:
    """Put the bucket before each key and the row's number behind it; keys and numbers have so many bits."""
    for row in range(len(words)):
        words[row] = (((np.int64(owners[row]) << n_keys) | words[row]) << n_rows) | row


@kernel
def draw_bucket(random: Random, sizes: Integers) -> int:
    """One of the buckets that a class takes rows from."""
    taking = 0
    for bucket in range(len(sizes)):
        taking += sizes[bucket] > 0
    left = draw(random, taking)
    bucket = 0
    while left > 0 or sizes[bucket] == 0:
        left -= sizes[bucket] > 0
        bucket += 1
    return bucket


@kernel
def find(links: Links, place: int) -> int:
    """The living place a link leads to; the way there is halved."""
    while links[place] != place:
        links[place] = links[links[place]]
        place = links[place]
    return place


@kernel
def compact(words: Integers, before: Links, after: Links, start: int, stop: int) -> int:
    """Move the living words of a bucket together; returns where they end."""
    end = start
    for place in range(start, stop):
        if after[place + 1] == place + 1:
            words[end] = words[place]
            end += 1
    for place in range(start, min(end + 1, stop)):  # one more: what lies beyond the end leads nowhere
        before[place + 1] = place + 1
        after[place + 1] = place + 1
    return end


@kernel
def first_at_least(words: Integers, start: int, stop: int, word: int) -> int:
    """The first place whose word is not below this one."""
    while start < stop:
        middle = (start + stop) >> 1
        if words[middle] < word:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def take_out(
    words: Integers, before: Links, after: Links, starts: Integers, stops: Integers, living: Integers, kinds: Integers,
    sequence: Links, first: int, last: int, n_keys: int, n_rows: int, random: Random, taken: Integers,
    labels: Integers, seeds: Integers,
) -> None:  # fmt: skip
    """Form the classes first to last - 1: around a random row, the nearest of each bucket along the curve.

    `before` and `after` hold, one place on, the next living place to the left and right, by
    union-find; beyond a bucket's ends there is none. A bucket more than half dead is compacted,
    so that a random place is alive every other time, and searches stay short.
    """
    key_mask, row_mask = (np.int64(1) << n_keys) - 1, (np.int64(1) << n_rows) - 1
    for number in range(first, last):
        sizes = kinds[sequence[number]]
        seed_bucket = draw_bucket(random, sizes)
        seed = starts[seed_bucket] + draw(random, stops[seed_bucket] - starts[seed_bucket])
        while after[seed + 1] != seed + 1:
            seed = starts[seed_bucket] + draw(random, stops[seed_bucket] - starts[seed_bucket])
        seed_word = words[seed]
        key = (seed_word >> n_rows) & key_mask
        seeds[number] = seed_word & row_mask
        for bucket in range(len(sizes)):
            size, start, stop = sizes[bucket], starts[bucket], stops[bucket]
            if size == 0:
                continue
            if bucket == seed_bucket:
                right = seed
                left = find(before, seed) - 1
            else:
                place = first_at_least(words, start, stop, ((bucket << n_keys) | key) << n_rows)
                right = find(after, place + 1) - 1
                left = find(before, place) - 1
            for each in range(size):
                if left < start:
                    nearer = right
                elif right >= stop:
                    nearer = left
                else:
                    rise = ((words[right] >> n_rows) & key_mask) - key
                    fall = key - ((words[left] >> n_rows) & key_mask)
                    nearer = right if rise <= fall else left
                taken[each] = nearer
                labels[words[nearer] & row_mask] = number
                if nearer == right:
                    right = find(after, right + 2) - 1
                else:
                    left = find(before, left) - 1
            for each in range(size):
                before[taken[each] + 1] = left + 1
                after[taken[each] + 1] = right + 1
            living[bucket] -= size
            if 2 * living[bucket] < stop - start:
                stops[bucket] = compact(words, before, after, start, stop)
