"""How a run in several stages tells how far it is, and comes back early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.shared.class_sizes import ClassSizes, looks
from tclose.table.partition import Control

Integers = NDArray[np.int64]


class Watch(Protocol):
    """What a stage needs of `Control`."""

    def report(self, *, done: float) -> None:
        """Tell what share of the stage is done."""
        ...

    @property
    def stop(self) -> bool:
        """Whether to come back with what there is."""
        ...


@dataclass(frozen=True)
class Stage:
    """A stretch of a longer run, so that what it tells of itself never goes back.

    Examples
    --------
    >>> Stage(Control(listener=lambda loss, done: print(done)), 0.5, 0.75).report(done=0.5)
    0.625
    """

    control: Control
    begin: float
    end: float

    def report(self, *, done: float) -> None:
        """Tell the share of the whole run."""
        self.control.report(done=self.begin + (self.end - self.begin) * done)

    @property
    def stop(self) -> bool:
        """Whether to come back with what there is."""
        return self.control.stop


def take_in_pieces(
    take_out: Callable[[int, int], None], sizes: ClassSizes, rows: int, labels: Integers, seeds: Integers, watch: Watch
) -> tuple[Integers, Integers]:
    """Form all classes, `first` to `last - 1` at a time; `take_out` fills in labels and seeds.

    When the time is over, the rows not yet taken, whose labels are -1, are one class, and there
    are fewer seeds than classes were asked for.
    """
    for first, last in looks(sizes, rows):
        take_out(first, last)
        watch.report(done=last / len(sizes))
        if watch.stop and last < len(sizes) - 1:  # the last class takes all that is left anyway
            labels[labels < 0] = last
            return labels, seeds[:last]
    return labels, seeds
