"""Naive Bayes from the boxes of classes alone.

On each axis, P(x | v) is the chance that a person of value v is at place x. A release only shows that the
n(c, v) such rows of class c lie in the stretch [l, h] of its box, anywhere, with chances in proportion
to P. So it is fitted by EM, and a round is

    P(x | v)  <-  P(x | v)  times  sum over c with l <= x <= h of  n(c, v) / P([l, h] | v)

scaled to one. It begins with what all rows have, P(x), fitted likewise from the same chance everywhere;
few rounds, and ten rows more of every value, placed as all rows are, keep it from trusting what
little it saw. A person at places x_a in class c is then believed to have the v with the largest

    n(c, v)  times the product over axes a of  P_a(x_a | v) / P_a([l_a, h_a] | v)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.table.classes import Tally

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
ROUNDS = 3
ROWS_MORE = 10
PAIRS = 1 << 20  # of a row and a value, at a time


@dataclass(frozen=True, eq=False)
class Stretches:
    """One axis.

    Attributes
    ----------
    size
        The number of places.
    places
        That of each row.
    low, high
        The first and last place of each class's box.
    """

    size: int
    places: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]


def learn(tally: Tally, axis: Stretches, rounds: int = ROUNDS) -> Floats:
    """P(x | v) on one axis, a row a value, from the box of each class; the places of rows are not looked at.

    Examples
    --------
    >>> tally = Tally.of(np.repeat([0, 1], 10), np.repeat(np.array([0, 1], np.int32), 10), 2)
    >>> learn(tally, Stretches(2, np.zeros(0), np.array([0, 1]), np.array([0, 1]))).round(2).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    one = np.zeros(len(tally.sizes), np.int64)
    everyone = _fit(np.full((1, axis.size), 1 / axis.size), one, tally.sizes, axis.low, axis.high, rounds)
    start = np.repeat(everyone, len(tally.reference), axis=0)
    code, owner = tally.code.astype(np.int64), tally.owner
    return _fit(start, code, tally.count, axis.low[owner], axis.high[owner], rounds)


def guess(tally: Tally, labels: Integers, axes: Sequence[Stretches]) -> NDArray[np.int32]:
    """The most likely value of each row; among equals the first of the tally."""
    code, owner = tally.code.astype(np.int64), tally.owner
    score = np.log(tally.count)
    chances = []
    for axis in axes:
        share = learn(tally, axis)
        start = code * (axis.size + 1)
        score -= np.log(_mass(share, start + axis.low[owner], start + axis.high[owner] + 1))
        chances.append(np.log(np.maximum(share, 1e-300)).ravel())
    guessed = np.empty(len(labels), np.int32)
    for rows, row, entry in pairs(tally, labels, np.arange(len(labels)), PAIRS):
        of_pair = score[entry]
        for axis, chance in zip(axes, chances, strict=True):
            of_pair += chance[code[entry] * axis.size + axis.places[rows][row]]
        guessed[rows] = code[entry[largest(of_pair, row)]]
    return guessed


def pairs(tally: Tally, labels: Integers, rows: Integers, most: int) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Some of these rows at a time, class by class, and all pairs of one of them with an entry of its class."""
    distinct = np.diff(tally.start, append=len(tally.code))
    by_class = rows[np.argsort(labels[rows], kind="stable")]
    ends = np.cumsum(distinct[labels[by_class]])
    first = 0
    while first < len(by_class):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        chosen = by_class[first:last]
        many = distinct[labels[chosen]]
        row = np.repeat(np.arange(len(chosen)), many)
        within = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
        yield chosen, row, tally.start[labels[chosen]][row] + within
        first = last


def largest(score: Floats, row: Integers) -> Integers:
    """The pair of the largest score of each row, the first of those as good as equal; a row's pairs stand together.

    Examples
    --------
    >>> largest(np.array([1.0, 3.0, 2.0, 2.0]), np.array([0, 0, 1, 1])).tolist()
    [1, 2]
    """
    best = np.maximum.reduceat(score, np.flatnonzero(np.diff(row, prepend=-1)))
    likely = np.flatnonzero(score >= best[row] - 1e-9)
    found: Integers = likely[np.unique(row[likely], return_index=True)[1]]
    return found


def _fit(start: Floats, code: Integers, count: NDArray[Any], low: Any, high: Any, rounds: int) -> Floats:
    """Rounds of EM: `count` rows of each code lie between `low` and `high`."""
    m, size = start.shape
    rows = np.bincount(code, count, m)[:, None]
    begin, end = code * (size + 1) + low, code * (size + 1) + high + 1
    share = start
    for _ in range(rounds):
        each = count / _mass(share, begin, end)
        steps = np.bincount(begin, each, m * (size + 1)) - np.bincount(end, each, m * (size + 1))
        cover = np.maximum(np.cumsum(steps.reshape(m, size + 1), axis=1)[:, :-1], 0.0)
        share = (share * cover + ROWS_MORE * start) / (rows + ROWS_MORE)
    return share


def _mass(share: Floats, begin: Integers, end: Integers) -> Floats:
    """P of stretches, numbered in an array with one column more than there are places."""
    running = np.zeros((share.shape[0], share.shape[1] + 1))
    np.cumsum(share, axis=1, out=running[:, 1:])
    flat = running.ravel()
    mass: Floats = np.maximum(flat[end] - flat[begin], 1e-300)
    return mass
