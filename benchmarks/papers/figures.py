"""Which figure of paper 004 shows what: a line a panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benchmarks.papers.runs import METHODS, STREAMED, Question, Setting

THRESHOLDS = (0.15, 0.25, 0.35, 0.45, 0.55)
QUASI = (3, 4, 5, 6, 7)
FIFTHS = (1, 2, 3, 4, 5)
KS = (3, 6, 12, 24, 48)
FANOUTS = (2, 3, 4, 5, 8, 10, 25, 50)
# A stream has ten windows, each of eight parts; it advances by some of them, and by two where windows differ.
PARTS = 80
STEPS, WINDOWS = (1, 2, 4, 8), (4, 8, 16)
Place = Callable[[Setting, float], Setting]


@dataclass(frozen=True)
class Panel:
    """One chart of a figure.

    Attributes
    ----------
    across, up
        What its axes show.
    xs
        The places across; for table sizes fifths of the largest table, for steps and windows parts of a stream.
    setting
        The run at such a place, from the default one.
    question
        What is measured there.
    logarithmic
        Whether the axis across is.
    methods
        Whose lines it shows.
    """

    name: str
    across: str
    up: str
    xs: Sequence[float]
    setting: Place
    question: Callable[[float], Question]
    logarithmic: bool = False
    methods: Sequence[str] = tuple(METHODS)

    @property
    def figure(self) -> int:
        return int(self.name.rstrip("abcd"))


@dataclass(frozen=True)
class Figure:
    """A figure: its caption, and what the paper says its curves do."""

    number: int
    caption: str
    said: str


def _by_t(setting: Setting, x: float) -> Setting:
    return replace(setting, t=f"{x:g}")


def _by_quasi(setting: Setting, x: float) -> Setting:
    return replace(setting, quasi=int(x))


def _by_size(setting: Setting, x: float) -> Setting:
    return replace(setting, rows=int(x))


def _by_k(setting: Setting, x: float) -> Setting:
    return replace(setting, k=int(x))


def _by_fanout(setting: Setting, x: float) -> Setting:
    return replace(setting, fanout=int(x))


def part_of(n_rows: int) -> int:
    """The rows of a part of a stream.

    Examples
    --------
    >>> part_of(200_000)
    2500
    """
    return max(n_rows // PARTS, 1)


def _by_step(setting: Setting, x: float) -> Setting:
    return replace(setting, window=8 * part_of(setting.rows), step=int(x))


def _by_window(setting: Setting, x: float) -> Setting:
    return replace(setting, window=int(x), step=2 * part_of(setting.rows))


def _same(setting: Setting, x: float) -> Setting:
    return setting


def _always(measure: str) -> Callable[[float], Question]:
    return lambda x: Question(measure)


LOSS, TIME, REAL = "loss", "processor seconds", "largest distance of a class"
ERROR, KL = "median relative error", "KL divergence of cubes, mean"
DIMENSIONS, ROWS = "quasi-identifiers", "rows"
BY_STEP, BY_WINDOW = "rows the window advances by", "rows of the window"
PANELS = (
    Panel("10a", "t", LOSS, THRESHOLDS, _by_t, _always("loss")),
    Panel("10b", "t", TIME, THRESHOLDS, _by_t, _always("time")),
    Panel("11a", DIMENSIONS, LOSS, QUASI, _by_quasi, _always("loss")),
    Panel("11b", DIMENSIONS, TIME, QUASI, _by_quasi, _always("time")),
    Panel("12a", ROWS, LOSS, FIFTHS, _by_size, _always("loss")),
    Panel("12b", ROWS, TIME, FIFTHS, _by_size, _always("time")),
    Panel("13a", "t", REAL, THRESHOLDS, _by_t, _always("closeness")),
    Panel("13b", DIMENSIONS, REAL, QUASI, _by_quasi, _always("closeness")),
    Panel("14a", "k", LOSS, KS, _by_k, _always("loss"), logarithmic=True),
    Panel("14b", "k", TIME, KS, _by_k, _always("time"), logarithmic=True),
    Panel("15a", BY_STEP, LOSS, STEPS, _by_step, _always("loss"), True, STREAMED),
    Panel("15b", BY_STEP, TIME, STEPS, _by_step, _always("time"), True, STREAMED),
    Panel("16a", BY_WINDOW, LOSS, WINDOWS, _by_window, _always("loss"), True, STREAMED),
    Panel("16b", BY_WINDOW, TIME, WINDOWS, _by_window, _always("time"), True, STREAMED),
    Panel("17a", "λ", ERROR, FIFTHS, _same, lambda x: Question("error", attributes=int(x))),
    Panel("17b", DIMENSIONS, ERROR, QUASI, _by_quasi, _always("error")),
    Panel("17c", "t", ERROR, THRESHOLDS, _by_t, _always("error")),
    Panel("17d", "θ", ERROR, (0.05, 0.1, 0.15, 0.2, 0.25), _same, lambda x: Question("error", selectivity=x)),
    Panel("18a", "t", KL, THRESHOLDS, _by_t, _always("divergence")),
    Panel("18b", "level of the cubes", KL, (1, 2, 3), _same, lambda x: Question("divergence", level=int(x))),
    Panel("18c", DIMENSIONS, KL, QUASI, _by_quasi, _always("divergence")),
    Panel("18d", ROWS, KL, FIFTHS, _by_size, _always("divergence")),
    Panel("19", "fanout", LOSS, FANOUTS, _by_fanout, _always("loss"), logarithmic=True),
)

FIGURES = (
    Figure(
        10,
        "effect of varying closeness threshold",
        "loss falls for all four as t grows; both SABRE methods lie below Incognito and Mondrian, KNN slightly below "
        "AK. AK is the fastest (4 s at most), Mondrian comparable, the other two take two orders of magnitude longer.",
    ),
    Figure(
        11,
        "effect of varying QI size",
        "loss grows with the quasi-identifiers: steeply for Incognito and Mondrian, marginally for SABRE, so that the "
        "gap widens. AK is the fastest, then Mondrian, Incognito, KNN.",
    ),
    Figure(
        12,
        "effect of varying DB dimensionality (size)",
        "the size of the table hardly moves the loss, except Incognito's. Time grows with it for all; AK and Mondrian "
        "stay the fastest.",
    ),
    Figure(
        13,
        "real closeness",
        "the farthest class of every method is nearer than t, and those of SABRE and Incognito are always nearer than "
        "Mondrian's.",
    ),
    Figure(
        14,
        "effect of varying k",
        "loss grows with k, but Incognito's goes up and down.",
    ),
    Figure(
        15,
        "effect of varying the step of a stream's window",
        "the longer the step, the less time all takes. SABRE_W, which is SABRE-AK over a window, outperforms Incognito "
        "and Mondrian by a wide margin in information quality; it and, to a certain extent, Mondrian are much faster "
        "than Incognito.",
    ),
    Figure(
        16,
        "effect of varying the size of a stream's window",
        "the larger the window, the longer all takes. Otherwise as in figure 15.",
    ),
    Figure(
        17,
        "median relative error",
        "the error grows with the number of quasi-identifiers asked about (λ) and with those there are, falls as t "
        "grows, and falls slightly with the selectivity θ. SABRE is always better, than Incognito by an order of "
        "magnitude.",
    ),
    Figure(
        18,
        "KL-divergence with OLAP queries",
        "the divergence falls as t grows, is less at lower levels, grows far less with the quasi-identifiers for SABRE "
        "than for the other two, and falls slightly with the rows. SABRE clearly outperforms the others everywhere.",
    ),
    Figure(
        19,
        "effect of varying fanout",
        "over 50 salaries as the leaves of hierarchies of one fanout, loss goes up and down with it, but a smaller "
        "fanout tends to lose less.",
    ),
)
