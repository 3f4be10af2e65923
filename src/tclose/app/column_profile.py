"""What a column looks like: a small histogram, its commonest values, how many rows it singles out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tclose.app.texts import load_texts
from tclose.pages.charts import Bar, ChartAxis, bars, bars_height, nice_ticks
from tclose.pages.svg import Drawing, style_element
from tclose.table.classes import Classes
from tclose.table.coded import CodedColumn
from tclose.table.proposing.column_evidence import Evidence
from tclose.table.proposing.guesses import ColumnGuess
from tclose.table.proposing.singling_out import singled_out
from tclose.table.proposing.table_proposal import TableProposal
from tclose.table.reading import texts

BARS = 16
SAMPLE = 10_000  # rows that combinations are counted on while roles change
MOST_SHOWN = 8


@dataclass(frozen=True)
class ColumnProfile:
    """What the pages show of a column.

    Attributes
    ----------
    number, name
        Its place in the table, by which addresses know it, and its name.
    form, distinct, missing
        What its values are, how many differ, and how many rows have none.
    alone
        The share of rows whose value no other row has.
    picture
        A small histogram as SVG.
    guess, reason, laws
        What it seems to be, why, and which laws name such columns.
    """

    number: int
    name: str
    form: str
    distinct: int
    missing: int
    alone: float
    picture: str
    guess: str
    reason: str
    laws: tuple[str, ...]

    @classmethod
    def of(cls, number: int, guess: ColumnGuess) -> ColumnProfile:
        """Look at a column."""
        evidence = guess.evidence
        counts = value_counts(evidence)
        alone = float((counts == 1).sum() / max(evidence.n_rows, 1))
        picture = small_histogram(heights(evidence), guess.column)
        told = (guess.role, guess.reason, guess.laws)
        return cls(number, guess.column, evidence.form, evidence.n_distinct, evidence.n_missing, alone, picture, *told)


@lru_cache(maxsize=2)
def profiles(proposal: TableProposal) -> list[ColumnProfile]:
    """What all columns of a table look like."""
    return [ColumnProfile.of(number, guess) for number, guess in enumerate(proposal.guesses.values())]


def forget_profiles() -> None:
    """Let go of all tables."""
    profiles.cache_clear()
    _counted.cache_clear()


def value_counts(evidence: Evidence) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The rows of each value, missing left out."""
    if evidence.coded is None:
        return np.zeros(0, np.int64)
    return evidence.coded.counts[: evidence.n_distinct]


def heights(evidence: Evidence) -> list[int]:
    """The bars of a histogram: ranges of numbers, or the commonest values."""
    counts = value_counts(evidence)
    if evidence.form in ("whole", "fractions") and evidence.n_distinct > BARS:
        finite = np.isfinite(evidence.numbers)
        if finite.any():
            return [int(each) for each in np.histogram(evidence.numbers[finite], BARS, weights=counts[finite])[0]]
    if evidence.form == "dates" and evidence.n_distinct > BARS:
        return [int(part.sum()) for part in np.array_split(counts, BARS)]
    return [int(each) for each in np.sort(counts)[::-1][:BARS]]


def small_histogram(bar_heights: Sequence[int], name: str) -> str:
    """Bars without an axis, for a table of columns."""
    drawing = Drawing(128, 30)
    most, width = max(bar_heights, default=0) or 1, 124 / max(len(bar_heights), 6)
    for place, height in enumerate(bar_heights):
        tall = max(26 * height / most, 0.8 if height else 0.0)
        if tall:
            drawing.box(2 + place * width, 28 - tall, max(width - 1.5, 1.0), tall, "bar f line0")
    return bare(drawing.svg(load_texts().pictures.histogram.format(name=name), inside=True))


def commonest(evidence: Evidence, most: int = MOST_SHOWN) -> list[tuple[str, int, float]]:
    """The commonest values with their rows and shares: for the screen of whoever holds the table."""
    if evidence.coded is None:
        return []
    counts = value_counts(evidence)
    order = np.argsort(-counts, kind="stable")[:most]
    labels = texts(evidence.coded.values.gather(order)).to_list() if len(order) else []
    total = max(evidence.n_rows, 1)
    return [
        (str(label), int(counts[place]), float(counts[place] / total))
        for label, place in zip(labels, order.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class SinglingOut:
    """Which combinations of the chosen columns single people out.

    Attributes
    ----------
    rows
        That were looked at.
    together
        The share of rows that are alone with all chosen columns taken together.
    picture
        The worst combinations as bars.
    """

    rows: int
    together: float
    picture: str


def singling_out(guesses: Sequence[ColumnGuess]) -> SinglingOut | None:
    """Count on the first rows; None if nothing is chosen."""
    columns = [each.evidence.coded for each in guesses if each.evidence.coded is not None]
    if not columns:
        return None
    return _counted(tuple(columns))


@lru_cache(maxsize=64)
def _counted(columns: tuple[CodedColumn, ...]) -> SinglingOut:
    heads = [column.take(slice(0, SAMPLE)) for column in columns]
    sizes = Classes.of(len(heads[0]), heads).sizes
    together = float((sizes == 1).sum() / max(len(heads[0]), 1))
    ranked = singled_out(heads)
    by_size = [[entry for entry in ranked if len(entry[1]) == size and entry[0]] for size in (1, 2, 3)]
    worst = [entry for size, entries in enumerate(by_size, 1) for entry in entries[: 5 - size]]
    return SinglingOut(len(heads[0]), together, _bars(worst, together, len(heads)))


def _bars(worst: Sequence[tuple[float, tuple[str, ...]]], together: float, n_columns: int) -> str:
    entries = [Bar(" + ".join(names), 100 * share, f"{share:.1%}") for share, names in worst]
    words = load_texts().pictures
    entries.append(Bar(words.together.format(n=n_columns), 100 * together, f"{together:.1%}", "line1"))
    drawing = Drawing(640, bars_height(len(entries)))
    bars(drawing, ChartAxis(words.alone, nice_ticks(0, max(entry.value for entry in entries) or 1)), entries)
    return bare(drawing.svg(words.combinations, inside=True))


def bare(svg: str) -> str:
    """A drawing, or parts of a page with drawings, without the style that the app's own style sheet has."""
    return svg.replace(style_element(), "")
