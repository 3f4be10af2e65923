"""Annealing of a whole table: in pieces, on all threads, from hot to cold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.packing import pace_of
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight.cooling import AnnealingTurn, Cooling
from tclose.algorithms.tight.pieces import Effort, Piece
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

if TYPE_CHECKING:
    from tclose.algorithms.tight.loose_loops import LooseClasses
    from tclose.algorithms.tight.near_rows_loops import SpanTable

Labels = NDArray[np.int64]
RowNumbers = NDArray[np.int64]
BEFORE_ANNEALING, COLD = 0.2, 0.9  # of the work is done when annealing begins, and when it is cold
HOTTEST, SWAPS_TRIED = 0.15, 4000  # the heat to begin with is this quantile of what so many swaps cost
COOLER = 0.2  # the heat to begin with over that of the time before, where time is left to do it again
NEAR, PATHS, REACH = 24, 8, 14  # rows that are nearest, and how far along how many paths they are looked for
ROWS_AT_A_TIME = 4000  # whose nearest are looked for by one thread
STEPS_AT_A_TIME = 100_000  # between two looks at the clock
FEWEST_PLACES, MOST_PLACES = 64, 2000  # rows of a class there is room for
LONGEST_LOOKED_UP = 512  # places of an axis whose spans are all kept
ROUNDING = 1e-12  # of a loss
TURN_PATHS = 4  # along which classes to be built anew together are found


class PieceRun(Protocol):
    """What annealing needs of the run that it is a part of."""

    table: EncodedTable
    requirement: Requirement
    effort: Effort
    control: Control
    halt: NDArray[np.bool_]

    def piece(self, rows: RowNumbers) -> Piece:
        """Some rows as kernels take them."""
        ...

    def mapped(self, pool: ThreadPoolExecutor, work: Callable[[Any], Any], jobs: Iterable[Any]) -> list[Any]:
        """Do all jobs on all threads, and halt them when the time is over."""
        ...

    def on_pieces(
        self,
        labels: Labels,
        rng: np.random.Generator,
        pool: ThreadPoolExecutor,
        round_: int,
        work: Callable[[RowNumbers, Labels, int], Labels],
    ) -> Labels:
        """Cut the table into pieces of whole classes, and work on each: its rows, their classes and a seed."""
        ...

    def search(
        self,
        labels: Labels,
        rng: np.random.Generator,
        pool: ThreadPoolExecutor,
        known: float,
        share: tuple[float, float],
        rounds: int,
    ) -> tuple[Labels, float]:
        """Improve classes round by round; returns the best, and its loss."""
        ...


def anneal_table(
    run: PieceRun, labels: Labels, least: float, rng: np.random.Generator, pool: ThreadPoolExecutor
) -> Labels:
    """Take steps that may cost more, from hot to cold, then search; and again, cooler, while time is left.

    Returns the best there was on the way. Without a limit of time it does so once.
    """
    if run.control.stop or _is_least(run, least):
        return labels
    annealing = Annealing.of(run, pool, rng)
    hottest = annealing.hottest(labels)
    while True:
        best, last = annealing.cooled(labels, hottest)
        least = run.table.loss(best)
        gone = run.control.share
        found, loss = run.search(last, rng, pool, least, (gone or COLD, gone or 1.0), run.effort.rounds)
        labels, least = (found, loss) if loss < least else (best, least)
        if run.control.seconds is None or run.control.stop or _is_least(run, least):
            return labels
        hottest *= COOLER


def _is_least(run: PieceRun, loss: float) -> bool:
    """Whether no partition can lose less: there is but one class, or every row loses what it does by itself."""
    n = len(run.table)
    return n < 2 * run.requirement.k or loss <= run.table.loss(np.arange(n)) + ROUNDING


@dataclass(eq=False)
class Annealing:
    """All that the rounds share.

    Attributes
    ----------
    near
        Of each row of the table those nearest to it.
    spans
        What spans lose.
    """

    run: PieceRun
    pool: ThreadPoolExecutor
    rng: np.random.Generator
    near: NDArray[np.int32]
    spans: SpanTable

    @classmethod
    def of(cls, run: PieceRun, pool: ThreadPoolExecutor, rng: np.random.Generator) -> Annealing:
        """Find the rows nearest each."""
        from tclose.algorithms.tight import near_rows_loops as nearest

        n = len(run.table)
        piece = run.piece(np.arange(n))
        space, spans = piece.task.space, span_table(piece)
        paths = piece.paths(PATHS, int(rng.integers(2**62)))
        wanted = (n, min(NEAR, n))
        found = nearest.NearRows(rows=np.empty(wanted, np.int32), away=np.empty(wanted, np.float32))
        found.rows[:] = np.arange(n)[:, None]  # should it be halted, a row is its own neighbour
        parts = [(first, min(first + ROWS_AT_A_TIME, n)) for first in range(0, n, ROWS_AT_A_TIME)]

        def along(part: tuple[int, int]) -> None:
            nearest.near_along(space, spans, paths, REACH, *part, found, run.halt)

        def beyond(part: tuple[int, int]) -> None:
            nearest.near_beyond(space, spans, before, *part, found, run.halt)

        run.mapped(pool, along, parts)
        before = found.rows.copy()
        run.mapped(pool, beyond, parts)
        return cls(run, pool, rng, found.rows, spans)

    def hottest(self, labels: Labels) -> float:
        """The heat to begin with: 15 % of the swaps that cost something, and keep all classes close, cost less."""
        costs: list[NDArray[np.float64]] = []

        def priced(rows: RowNumbers, own: Labels, seed: int) -> Labels:
            piece = self.run.piece(rows)
            costs.append(swap_costs(piece, own, within(self.near, rows), self.spans, seed))
            return own

        self.run.on_pieces(labels, self.rng, self.pool, 0, priced)
        found = np.sort(np.concatenate(costs))
        return float(np.quantile(found, HOTTEST)) if len(found) else 0.0

    def turn(self, labels: Labels, turn: AnnealingTurn, round_: int) -> Labels:
        """One round, over all pieces."""

        def annealed(rows: RowNumbers, own: Labels, seed: int) -> Labels:
            piece = self.run.piece(rows)
            found = anneal_piece(piece, own, within(self.near, rows), self.spans, turn, seed, self.run.control)
            if not turn.rebuilds or piece.ends(self.run.control):
                return found
            n_trials = int(turn.rebuilds * len(rows) / piece.plot_size(int(found.max()) + 1) ** 2) + 1
            return piece.rebuilt(found, n_trials, turn.heat(1.0), TURN_PATHS, seed, self.run.control)

        return self.run.on_pieces(labels, self.rng, self.pool, round_, annealed)

    def cooled(self, labels: Labels, hottest: float) -> tuple[Labels, Labels]:
        """From hot to cold; returns the best there was on the way, and the last."""
        control = self.run.control
        best, least = labels, self.run.table.loss(labels)
        cooling = Cooling(hottest, lambda: control.share, control.share, len(labels))
        while not control.stop and (turn := cooling.turn()) is not None:
            labels = self.turn(labels, turn, cooling.number)
            loss = self.run.table.loss(labels)
            if loss < least:
                best, least = labels, loss
            control.report(
                loss=least, done=control.share or BEFORE_ANNEALING + (COLD - BEFORE_ANNEALING) * cooling.gone
            )
        return best, labels


def anneal_piece(
    piece: Piece,
    labels: Labels,
    near: tuple[NDArray[np.int32], Labels],
    spans: SpanTable,
    turn: AnnealingTurn,
    seed: int,
    control: Control,
) -> Labels:
    """Take the steps of a turn."""
    from tclose.algorithms.tight import annealing_loops as annealing
    from tclose.algorithms.tight.loose_loops import Steps

    classes, tools = loose(piece, labels, spans), piece.tools()
    random, tally = np.array([seed], np.uint64), np.zeros(2, np.int64)
    n_steps, slice_ = int(turn.steps * len(labels)), max(STEPS_AT_A_TIME // pace_of(piece.requirement), 100)
    for done in range(0, n_steps, slice_):
        count, heat = min(slice_, n_steps - done), turn.heat(done / n_steps)
        steps = Steps(near=near[0], n_near=near[1], heat=heat, n_steps=count, random=random, tally=tally)
        annealing.anneal(piece.task, spans, classes, steps, tools)
        if piece.ends(control):
            break
    return Partition.of(classes.own.astype(np.int64)).labels


def swap_costs(
    piece: Piece, labels: Labels, near: tuple[NDArray[np.int32], Labels], spans: SpanTable, seed: int
) -> NDArray[np.float64]:
    """What random swaps of rows would cost that keep all classes close and cost something."""
    from tclose.algorithms.tight import annealing_loops as annealing
    from tclose.algorithms.tight.loose_loops import Steps

    n_swaps = max(SWAPS_TRIED // pace_of(piece.requirement), 100)
    costs, random = np.empty(n_swaps), np.array([seed], np.uint64)
    tally = np.zeros(2, np.int64)
    steps = Steps(near=near[0], n_near=near[1], heat=0.0, n_steps=n_swaps, random=random, tally=tally)
    n_found = annealing.swap_costs(piece.task, spans, loose(piece, labels, spans), steps, piece.tools(), costs)
    return costs[:n_found]


def loose(piece: Piece, labels: Labels, spans: SpanTable) -> LooseClasses:
    """The classes of these labels, so that rows can be drawn from them."""
    from tclose.algorithms.tight import loose_loops as kernels

    n, sizes = len(labels), np.bincount(labels)
    largest = int(sizes[sizes <= MOST_PLACES].max(initial=0))
    room, most = int(np.clip(2 * largest, FEWEST_PLACES, MOST_PLACES + 1)), n // piece.task.k + 1
    numbers = np.arange(len(sizes), most)
    classes = kernels.LooseClasses(
        own=labels.astype(np.int32),
        places=np.zeros(n, np.int32),
        sizes=np.zeros(most, np.int64),
        members=np.empty((most, room), np.int32),
        ends=np.empty((most, len(piece.table.axes), 6), np.int32),
        loss=np.zeros(most),
        free=np.concatenate([[len(numbers)], numbers, np.zeros(len(sizes), np.int64)]),
    )
    kernels.gather(piece.task.space, spans, classes, len(sizes))
    return classes


def span_table(piece: Piece) -> SpanTable:
    """What all spans lose on axes of few places."""
    from tclose.algorithms.tight import near_rows_loops as nearest

    axes, begin = np.empty((len(piece.table.axes), 2), np.int64), 0
    for place, axis in enumerate(piece.table.axes):
        size = axis.size
        axes[place] = (begin, size) if size <= LONGEST_LOOKED_UP else (-1, size)
        begin += size**2 if size <= LONGEST_LOOKED_UP else 0
    spans = nearest.SpanTable(axes, np.zeros(begin))
    nearest.fill_spans(piece.task.space, spans)
    return spans


def within(near: NDArray[np.int32], rows: RowNumbers) -> tuple[NDArray[np.int32], Labels]:
    """The nearest of some rows that are among them, by their places, these first; and how many there are of each.

    Examples
    --------
    >>> near = np.array([[1, 2], [2, 3], [0, 3], [2, 1]], np.int32)
    >>> found, counts = within(near, np.array([0, 2, 3]))
    >>> found[0, 0], found[1].tolist(), counts.tolist()
    (np.int32(1), [0, 2], [1, 2, 1])
    """
    places = np.full(len(near), -1, np.int32)
    places[rows] = np.arange(len(rows), dtype=np.int32)
    found = places[near[rows]]
    found[found == np.arange(len(rows))[:, None]] = -1
    order = np.argsort(found < 0, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), (found >= 0).sum(axis=1)
