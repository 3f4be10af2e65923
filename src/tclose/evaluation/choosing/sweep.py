"""A sweep of t: one run after the other, from strict to loose, and some more where a bound is crossed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tclose.algorithms import ROUNDING, Algorithm
from tclose.algorithms.control import Control
from tclose.errors import InfeasibleError
from tclose.evaluation.choosing.risk_bounds import Bounds
from tclose.evaluation.choosing.trials import Trial, TrialTable
from tclose.pipeline import Listener
from tclose.schema.schema import Schema

REFINED = 3  # runs between the last t that keeps a bound and the first that does not
FINEST = Fraction(1, 1000)  # t between are multiples of it


@dataclass(frozen=True, eq=False)
class Sweep:
    """Runs of one method at several t.

    Attributes
    ----------
    ground, algorithm
        The table, and the method.
    schema_at
        The schema with this t.
    seconds
        For each run.
    control, tell
        How it is stopped and followed.
    runs
        Those made so far, the strictest first.
    """

    ground: TrialTable
    algorithm: Algorithm
    schema_at: Callable[[Fraction], Schema]
    seconds: float | None
    control: Control
    tell: Listener
    runs: list[Trial] = field(default_factory=list)

    def go(self, thresholds: list[Fraction], more: int) -> None:
        """Run at each t, the strictest first, until stopped; that many more may follow, for the progress."""
        for place, t in enumerate(thresholds):
            self._add(t, place, len(thresholds) + more)
            if self.control.stop:
                break

    def refine(self, bounds: Bounds) -> None:
        """Halve the stretch of t between the run that is chosen and its neighbour that breaks a bound, some times.

        If none is chosen, that between the loosest t that leads to one class and the next one.
        """
        done = len(self.runs)
        for number in range(REFINED):
            stretch = self._stretch(bounds)
            if stretch is None or self.control.stop:
                return
            middle = round((stretch[0] + stretch[1]) / 2 / FINEST) * FINEST
            if not stretch[0] < middle < stretch[1]:
                return
            self._add(middle, done + number, done + REFINED)

    def _stretch(self, bounds: Bounds) -> tuple[Fraction, Fraction] | None:
        """Between which t the chosen one could be better."""
        chosen = bounds.choose(tuple(self.runs))
        if chosen is None:
            return self._stretch_below_first(bounds)
        other = chosen + (1 if bounds.rise is not None else -1)
        if not 0 <= other < len(self.runs):
            return None
        first, second = sorted(self.runs[place].t or Fraction(0) for place in (chosen, other))
        return first, second

    def _stretch_below_first(self, bounds: Bounds) -> tuple[Fraction, Fraction] | None:
        """Where nothing is chosen: below the strictest t that leads to classes, if a belief rises by too much there."""
        first = next((place for place, run in enumerate(self.runs) if not run.is_useless), 0)
        if bounds.rise is None or first == 0 or bounds.keeps_rise(self.runs[first]):
            return None
        return self.runs[first - 1].t or Fraction(0), self.runs[first].t or Fraction(0)

    def _add(self, t: Fraction, place: int, whole: int) -> None:
        def listen(loss: float | None, done: float | None) -> None:
            self.tell(f"t = {float(t):g}", loss, (place + (done or 0.0)) / whole)

        listen(None, None)
        self.control.begin(self.seconds, listen)
        try:
            run = self.ground.run(self.algorithm, self.schema_at(t), t, self.control)
        except InfeasibleError as error:
            raise InfeasibleError(f"At t = {float(t):g}: {error} Sweep larger t.") from None
        self.control.begin(None, listen)  # from here on only whoever asked to stop makes it stop
        self.runs[:] = carried_on(sorted([*self.runs, run], key=lambda each: each.t or Fraction(0)))


def carried_on(runs: list[Trial]) -> list[Trial]:
    """Runs by t, where one that loses no less than a stricter one has the classes of that: they hold for it as well.

    Examples
    --------
    >>> runs = [Trial("m", Fraction(t), 2, loss=loss) for t, loss in (("0.1", 0.5), ("0.2", 0.6), ("0.3", 0.4))]
    >>> [(run.loss, run.taken_from) for run in carried_on(runs)]
    [(0.5, None), (0.5, Fraction(1, 10)), (0.4, None)]
    """
    found: list[Trial] = []
    for run in runs:
        best = found[-1] if found else run
        if found and run.loss > best.loss - ROUNDING:
            source = best.taken_from or best.t
            run = replace(best, t=run.t, seconds=run.seconds, stopped_early=run.stopped_early, taken_from=source)
        found.append(run)
    return found
