"""Cooling: how hot annealing is, and how long its rounds are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

STEPS = 2400.0  # a row in all, without a limit of time
ROUNDS, FEW_ROUNDS = 60, 12  # of which there are so many; with a limit about so many, too
ONE_PIECE = 4000  # rows that are annealed together in any case: they need not be cut into other pieces often
FALL = 1 / 40  # the heat at the end over that at the beginning
LAST = 0.93  # of the time that is left has gone when it is cold: a search without heat follows
FIRST_STEPS, MOST_STEPS = 5.0, 20_000.0  # a row, in the first round and in any, with a limit
REBUILDS = 80.0  # plots built anew for a row and step, times the square of their rows: so long one takes, about


@dataclass(frozen=True)
class AnnealingTurn:
    """What is done in a round of annealing.

    Attributes
    ----------
    heat
        What costs this more is taken once in e times; asked with the share of the steps that are done.
    steps
        Steps a row.
    rebuilds
        Plots built anew then for a row, times the square of the rows of a plot.
    """

    heat: Callable[[float], float]
    steps: float
    rebuilds: float


@dataclass
class Cooling:
    """From hot to cold: by steps, or by the share of the time that is gone.

    Attributes
    ----------
    hottest
        The heat to begin with.
    share
        Gives the share of the time that is gone; None if there is no limit.
    first
        The same when it begins.
    n
        Rows of the table.
    number
        Rounds begun.

    Examples
    --------
    >>> cooling = Cooling(3.0, lambda: None, None, n=1000)
    >>> turns = [cooling.turn() for _ in range(FEW_ROUNDS + 1)]
    >>> turns[0].heat(0.0), round(turns[-2].heat(1.0), 9), turns[-1]
    (3.0, 0.075, None)
    >>> gone = 0.0
    >>> timed = Cooling(3.0, lambda: gone, 0.0, n=100_000)
    >>> turn = timed.turn()
    >>> gone = LAST / 2
    >>> round(turn.heat(0.0), 9), timed.gone
    (0.474341649, 0.5)
    >>> gone = LAST
    >>> timed.turn() is None
    True
    """

    hottest: float
    share: Callable[[], float | None]
    first: float | None
    n: int
    number: int = 0
    _steps: float = FIRST_STEPS
    _before: float = 0.0

    @property
    def rounds(self) -> int:
        """How many there are."""
        return FEW_ROUNDS if self.n <= ONE_PIECE else ROUNDS

    @property
    def gone(self) -> float:
        """How much of the cooling is done, 1 being cold."""
        now = self.share()
        if now is None or self.first is None:
            return min(self.number / self.rounds, 1.0)
        return min((now - self.first) / max(LAST * (1 - self.first), 1e-9), 1.0)

    def turn(self) -> AnnealingTurn | None:
        """What to do in the next round; None if it is cold."""
        gone = self.gone
        if gone >= 1:
            return None
        is_timed, number = self.first is not None, self.number
        steps = self._paced(gone) if is_timed else STEPS / self.rounds
        self.number += 1

        def heat(done: float) -> float:
            return float(self.hottest * FALL ** (self.gone if is_timed else (number + done) / self.rounds))

        return AnnealingTurn(heat, steps, REBUILDS * steps)

    def _paced(self, gone: float) -> float:
        """Steps of a round, so that about as many rounds fit into the time as without a limit."""
        if self.number:
            took = max(gone - self._before, 1e-9)
            self._steps = min(max(self._steps * min(max(1 / (self.rounds * took), 0.25), 4.0), 1.0), MOST_STEPS)
        self._before = gone
        return self._steps
