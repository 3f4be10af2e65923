"""SABRE-AK: take rows out of buckets that are sorted along a curve.

A word is a row's bucket, key and number, in this order from the highest bit on, so that sorted
words stand by bucket and key.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import inner, kernel
from tclose.kernels.random import Random, draw

Links = NDArray[np.int32]
Integers = NDArray[np.int64]


class Curve(NamedTuple):
    """The rows of all buckets along the curve.

    `before` and `after` hold, one place on, the next living place to the left and right, by
    union-find; beyond a bucket's ends there is none.
    """

    words: Integers
    before: Links
    after: Links
    starts: Integers  # of each bucket's words
    stops: Integers
    living: Integers  # rows still there, of each bucket
    n_keys: int  # bits of a key
    n_rows: int  # bits of a row's number


class TakenClasses(NamedTuple):
    """What each class takes, and what it got so far."""

    kinds: Integers  # rows that a class of each kind takes of each bucket
    sequence: Links  # the kind of each class
    labels: Integers  # the class of each row, -1 while it has none
    seeds: Integers  # the row that each class is formed around


class Seed(NamedTuple):
    """The row that a class is formed around."""

    number: int  # of the class
    key: int
    n_rows: int
    key_mask: int
    row_mask: int


class Share(NamedTuple):
    """What a class takes of one bucket: its words, the next living places on either side, and how many rows."""

    start: int
    stop: int
    left: int
    right: int
    size: int


@kernel
def pack(words: Integers, owners: NDArray[np.int32], n_keys: int, n_rows: int) -> None:
    """Put the bucket before each key and the row's number behind it; keys and numbers have so many bits."""
    for row in range(len(words)):
        words[row] = (((np.int64(owners[row]) << n_keys) | words[row]) << n_rows) | row


@inner
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


@inner
def find(links: Links, place: int) -> int:
    """The living place a link leads to; the way there is halved."""
    while links[place] != place:
        links[place] = links[links[place]]
        place = links[place]
    return place


@inner
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


@inner
def first_at_least(words: Integers, start: int, stop: int, word: int) -> int:
    """The first place whose word is not below this one."""
    while start < stop:
        middle = (start + stop) >> 1
        if words[middle] < word:
            start = middle + 1
        else:
            stop = middle
    return start


@inner
def draw_place(after: Links, start: int, stop: int, random: Random) -> int:
    """A living place from `start` to `stop` - 1."""
    place = start + draw(random, stop - start)
    while after[place + 1] != place + 1:
        place = start + draw(random, stop - start)
    return place


@inner
def take_share(
    words: Integers, before: Links, after: Links, share: Share, seed: Seed, taken: Integers, labels: Integers
) -> None:
    """Give a class its rows of a bucket: from both sides outward, the nearer living one first."""
    start, stop, left, right, size = share
    for each in range(size):
        if left < start:
            nearer = right
        elif right >= stop:
            nearer = left
        else:
            rise = ((words[right] >> seed.n_rows) & seed.key_mask) - seed.key
            fall = seed.key - ((words[left] >> seed.n_rows) & seed.key_mask)
            nearer = right if rise <= fall else left
        taken[each] = nearer
        labels[words[nearer] & seed.row_mask] = seed.number
        if nearer == right:
            right = find(after, right + 2) - 1
        else:
            left = find(before, left) - 1
    for each in range(size):
        before[taken[each] + 1] = left + 1
        after[taken[each] + 1] = right + 1


@kernel
def take_out(curve: Curve, classes: TakenClasses, first: int, last: int, random: Random, taken: Integers) -> None:
    """Form the classes first to last - 1: around a random row, the nearest of each bucket along the curve.

    A bucket more than half dead is compacted, so that a random place is alive every other time,
    and searches stay short.
    """
    # Handed on one by one: the arrays of a tuple are reference-counted at each call, which takes as long as all else.
    words, before, after, starts, stops, living, n_keys, n_rows = curve
    kinds, sequence, labels, seeds = classes
    key_mask, row_mask = (1 << n_keys) - 1, (1 << n_rows) - 1
    for number in range(first, last):
        sizes = kinds[sequence[number]]
        seed_bucket = draw_bucket(random, sizes)
        seed = draw_place(after, starts[seed_bucket], stops[seed_bucket], random)
        key = (words[seed] >> n_rows) & key_mask
        seeds[number] = words[seed] & row_mask
        about = Seed(number, key, n_rows, key_mask, row_mask)
        for bucket in range(len(sizes)):
            if sizes[bucket] == 0:
                continue
            start, stop = starts[bucket], stops[bucket]
            if bucket == seed_bucket:
                left, right = find(before, seed) - 1, seed
            else:
                place = first_at_least(words, start, stop, ((bucket << n_keys) | key) << n_rows)
                left, right = find(before, place) - 1, find(after, place + 1) - 1
            share = Share(start, stop, left, right, sizes[bucket])
            take_share(words, before, after, share, about, taken, labels)
            living[bucket] -= sizes[bucket]
            if 2 * living[bucket] < stop - start:
                stops[bucket] = compact(words, before, after, start, stop)
