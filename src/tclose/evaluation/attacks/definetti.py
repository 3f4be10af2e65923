"""deFinetti: learn from all classes together what a sensitive value goes with, and guess within each.

t-closeness looks at one class at a time. But rows are exchangeable: what one class tells about
smokers holds for smokers in other classes. So someone fits a model to the release and asks it who,
within a class, is the smoker (Kifer: Attacks on privacy and deFinetti's theorem, 2009). Two do so here:
one has the release alone (`box_learner`), the other has everyone's quasi-identifiers as well, say from a
voters' register (`row_learner`). Both know the quasi-identifiers and the class of whom they ask about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Form, Line
from tclose.evaluation.attacks import box_learner, row_learner
from tclose.evaluation.attacks.shown_boxes import Boxes
from tclose.table.classes import Tally
from tclose.table.encode import EncodedTable

MOST_VALUES = 64  # a longer line of values is guessed by stretches of about as many rows each
MOST_PLACES = 256  # a longer axis is learned by stretches


@dataclass(frozen=True)
class GuessedRows:
    """How often the value of a row is guessed.

    Attributes
    ----------
    right
        The share of rows whose value is guessed by a learner that has the release alone.
    right_with_rows
        The same by one that has everyone's quasi-identifiers too.
    of_table, of_class
        The same by whoever always says the most frequent value of the table, or of the row's class.
    """

    right: float
    right_with_rows: float
    of_table: float
    of_class: float

    @property
    def gain(self) -> float:
        """What learning from the release alone adds to what the row's class tells."""
        return self.right - self.of_class

    @property
    def gain_with_rows(self) -> float:
        """The same with everyone's quasi-identifiers."""
        return self.right_with_rows - self.of_class

    def as_dict(self) -> dict[str, float]:
        """As JSON has it."""
        return {**vars(self), "gain": self.gain, "gain_with_rows": self.gain_with_rows}


# From a table, the class of each of its rows and the place of an attribute.
Learner = Callable[[EncodedTable, NDArray[np.int64], int], GuessedRows]


def definetti(table: EncodedTable, labels: NDArray[np.int64], place: int, seed: int = 0) -> GuessedRows:
    """Attack one sensitive attribute.

    Parameters
    ----------
    table
        The rows; sensitive codes only say how often each occurs in a class, and whether a guess is right.
    labels
        The class of each row: 0, 1, 2, ...
    place
        Which of the table's domains is guessed.
    seed
        By which rows are chosen where there are too many; else nothing is random.
    """
    codes, size = grouped_values(table.domains[place].form, table.codes[place])
    tally = by_frequency(Tally.of(labels, codes, size))
    boxes = Boxes.of(table, labels)
    axes = []
    for number, (axis, places) in enumerate(zip(table.axes, table.places, strict=True)):
        wide = -(-axis.size // MOST_PLACES)
        span = boxes.lows[:, number] // wide, boxes.highs[:, number] // wide
        axes.append(box_learner.Stretches(-(-axis.size // wide), places // wide, *span))
    guessed = box_learner.guess(tally, labels, axes)
    rows, guessed_there = row_learner.guess(tally, labels, axes, np.random.default_rng(seed))
    right, right_with_rows = float((guessed == codes).mean()), float((guessed_there == codes[rows]).mean())
    return GuessedRows(right, right_with_rows, *_base_rates(tally))


def unlearned(table: EncodedTable, labels: NDArray[np.int64], place: int) -> GuessedRows:
    """The same where the rows of a class have the same quasi-identifiers: no learner tells one from another."""
    codes, size = grouped_values(table.domains[place].form, table.codes[place])
    of_table, of_class = _base_rates(Tally.of(labels, codes, size))
    return GuessedRows(of_class, of_class, of_table, of_class)


def _base_rates(tally: Tally) -> tuple[float, float]:
    """How often the most frequent value of the table, or of its class, is right."""
    n = int(tally.sizes.sum())
    most = tally.by_class(lambda piece: np.maximum.reduceat(piece.count, piece.start))
    return int(tally.reference.max()) / n, int(most.sum()) / n


def by_frequency(tally: Tally) -> Tally:
    """The same with the most frequent values of each class first: the best guess among equals."""
    order = np.lexsort((tally.code, -tally.count, tally.owner))
    return replace(tally, code=tally.code[order], count=tally.count[order])


def grouped_values(form: Form, codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """The codes to be guessed and how many there are: those of a long line by stretches."""
    if not isinstance(form, Line) or form.size <= MOST_VALUES:
        return codes, form.size
    counts = np.bincount(codes, minlength=form.size)
    below = np.cumsum(counts) - counts
    groups = np.unique(np.minimum(below * MOST_VALUES // len(codes), MOST_VALUES - 1), return_inverse=True)[1]
    return groups.astype(np.int32)[codes], int(groups[-1]) + 1
