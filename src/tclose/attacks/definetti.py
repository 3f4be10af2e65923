"""deFinetti: learn from all classes together what a sensitive value goes with, and guess within each.

t-closeness looks at one class at a time. But rows are exchangeable: what one class tells about
smokers holds for smokers in other classes. So someone fits a model to the release alone and asks it
who, within a class, is the smoker (Kifer: Attacks on privacy and deFinetti's theorem, 2009). The
model is naive Bayes: on each axis a, P_a(x | v) is the chance that a person of value v is at place x.
The release only shows a box of each class, so it is fitted by EM. A row of class c and value v
lies anywhere in the stretch [l, h] of its box with chances in proportion to P_a, so a round is

    P_a(x | v)  <-  P_a(x | v)  times  sum over c with l <= x <= h of  n(c, v) / P_a([l, h] | v)

scaled to one. It begins with the same chance everywhere; few rounds, and one row more for every value,
spread evenly, keep it from trusting what little it saw. A person at places x in class c is then believed
to have the v with the largest

    n(c, v)  times the product over a of  P_a(x_a | v) / P_a([l, h] | v)

Nothing here is random.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.boxes import Boxes
from tclose.distances import Form, Line
from tclose.encode import EncodedTable
from tclose.metrics.classes import Tally

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
ROUNDS = 20
MOST_VALUES = 64  # a longer line of values is guessed by stretches of about as many rows each
MOST_PLACES = 256  # a longer axis is learned by stretches
PAIRS = 1 << 20  # of a row and a value, at a time


@dataclass(frozen=True)
class Guesses:
    """How often the value of a row is guessed.

    Attributes
    ----------
    right
        The share of rows whose value is guessed by the learner.
    of_table, of_class
        The same by whoever always says the most frequent value of the table, or of the row's class.
    """

    right: float
    of_table: float
    of_class: float

    @property
    def gain(self) -> float:
        """What learning across classes adds to what the row's class tells."""
        return self.right - self.of_class

    @property
    def gain_over_table(self) -> float:
        """What the release adds to what the whole table tells."""
        return self.right - self.of_table

    def as_dict(self) -> dict[str, float]:
        """As JSON has it."""
        return {**vars(self), "gain": self.gain, "gain_over_table": self.gain_over_table}


def definetti(table: EncodedTable, labels: Integers, place: int, rounds: int = ROUNDS) -> Guesses:
    """Attack one sensitive attribute.

    Parameters
    ----------
    table
        The rows: the attacker knows the quasi-identifiers of those he asks about, and the codes
        only say whether a guess is right.
    labels
        The class of each row: 0, 1, 2, ...
    place
        Which of the table's domains is guessed.
    rounds
        Of the fit.
    """
    codes, size = grouped_values(table.domains[place].form, table.codes[place])
    tally = Tally.of(labels, codes, size)
    boxes = Boxes.of(table, labels)
    shares, stretches = [], []
    for number, axis in enumerate(table.axes):
        wide = -(-axis.size // MOST_PLACES)
        span = boxes.lows[:, number] // wide, boxes.highs[:, number] // wide
        shares.append(learn(tally, *span, -(-axis.size // wide), rounds))
        stretches.append((table.places[number] // wide, *span))
    guessed = guess(tally, labels, shares, stretches)
    n = len(labels)
    most = tally.by_class(lambda piece: np.maximum.reduceat(piece.count, piece.start))
    return Guesses(float((guessed == codes).mean()), int(tally.reference.max()) / n, int(most.sum()) / n)


def grouped_values(form: Form, codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """The codes to be guessed and how many there are: those of a long line by stretches."""
    if not isinstance(form, Line) or form.size <= MOST_VALUES:
        return codes, form.size
    below = np.cumsum(np.bincount(codes, minlength=form.size)) - 1
    groups = np.unique(np.maximum(below, 0) * MOST_VALUES // len(codes), return_inverse=True)[1].astype(np.int32)
    return groups[codes], int(groups[-1]) + 1


def learn(tally: Tally, low: NDArray[Any], high: NDArray[Any], size: int, rounds: int = ROUNDS) -> Floats:
    """P(x | v) on one axis of so many places, a row a value, from the stretch of each class.

    Examples
    --------
    >>> tally = Tally.of(np.array([0, 0, 1]), np.array([0, 0, 1], np.int32), 2)
    >>> learn(tally, np.array([0, 1]), np.array([0, 1]), 2).round(2).tolist()
    [[0.83, 0.17], [0.25, 0.75]]
    """
    m, owner = len(tally.reference), tally.owner
    code = tally.code.astype(np.int64)
    begin, end = code * (size + 1) + low[owner], code * (size + 1) + high[owner] + 1
    share = np.full((m, size), 1 / size)
    for _ in range(rounds):
        each = tally.count / _mass(share, begin, end)
        steps = np.bincount(begin, each, m * (size + 1)) - np.bincount(end, each, m * (size + 1))
        cover = np.maximum(np.cumsum(steps.reshape(m, size + 1), axis=1)[:, :-1], 0.0)
        share = (share * cover + 1 / size) / (tally.reference[:, None] + 1)
    return share


def _mass(share: Floats, begin: Integers, end: Integers) -> Floats:
    """P of stretches, numbered in an array with one column more than there are places."""
    running = np.zeros((share.shape[0], share.shape[1] + 1))
    np.cumsum(share, axis=1, out=running[:, 1:])
    flat = running.ravel()
    mass: Floats = flat[end] - flat[begin]
    return np.maximum(mass, 1e-300)


def guess(
    tally: Tally, labels: Integers, shares: Sequence[Floats], stretches: Sequence[tuple[Any, Any, Any]]
) -> NDArray[np.int32]:
    """The most likely value of each row; among equals the most frequent of its class, then the first.

    `stretches` has, for each axis, the place of every row and the first and last place of every class.
    """
    order = np.lexsort((tally.code, -tally.count, tally.owner))
    code, owner = tally.code[order].astype(np.int64), tally.owner
    score = np.log(tally.count[order])
    for share, (_, low, high) in zip(shares, stretches, strict=True):
        start = code * (share.shape[1] + 1)
        score -= np.log(_mass(share, start + low[owner], start + high[owner] + 1))
    chances = [np.log(share).ravel() for share in shares]
    guessed = np.empty(len(labels), np.int32)
    for rows, row, entry in _pairs(tally, labels):
        of_pair = score[entry]
        for chance, share, (places, _, _) in zip(chances, shares, stretches, strict=True):
            of_pair += chance[code[entry] * share.shape[1] + places[rows][row]]
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        best = np.maximum.reduceat(of_pair, starts)
        likely = np.flatnonzero(of_pair >= best[row] - 1e-9)
        guessed[rows] = code[entry[likely[np.unique(row[likely], return_index=True)[1]]]]
    return guessed


def _pairs(tally: Tally, labels: Integers) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Some rows at a time, and all pairs of one of them with an entry of its class."""
    distinct = np.diff(tally.start, append=len(tally.code))
    by_class = np.argsort(labels, kind="stable")
    ends = np.cumsum(distinct[labels[by_class]])
    first = 0
    while first < len(labels):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + PAIRS, side="right")))
        rows = by_class[first:last]
        many = distinct[labels[rows]]
        row = np.repeat(np.arange(len(rows)), many)
        within = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
        yield rows, row, tally.start[labels[rows]][row] + within
        first = last
