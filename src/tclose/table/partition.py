"""Partition: which class each row belongs to; and Control, how a running method is watched and stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Partition:
    """The classes a method found.

    Attributes
    ----------
    labels
        The class of each row: 0, 1, 2, ..., none left out.
    levels
        The levels of a full-domain recoding, by axis, if the method chose one.
    facts
        What else the certificate may say: a proven bound, that it was stopped early.
    notes
        What only the record may say.

    Examples
    --------
    >>> Partition.of(np.array([7, 3, 7])).labels
    array([1, 0, 1])
    """

    labels: NDArray[np.int64]
    levels: tuple[int, ...] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, labels: NDArray[Any], **rest: Any) -> Partition:
        """Take any labels, and number them without gaps."""
        return cls(np.unique(labels, return_inverse=True)[1].astype(np.int64), **rest)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.labels.max(initial=-1)) + 1


@dataclass
class Control:
    """How the caller follows a method and ends it early.

    Attributes
    ----------
    seconds
        Time allowed; None is no limit.
    listener
        Called with the loss so far and the share of the work done, each None where unknown.
    whole
        Of what this is a part: if that is stopped, so is this.
    """

    seconds: float | None = None
    listener: Callable[[float | None, float | None], None] | None = None
    whole: Control | None = None
    _started: float = field(default_factory=time.monotonic)
    _stopped: bool = False

    def begin(self, seconds: float | None, listener: Callable[[float | None, float | None], None]) -> None:
        """Count the time from now on."""
        self.seconds, self.listener, self._started = seconds, listener, time.monotonic()

    def report(self, loss: float | None = None, done: float | None = None) -> None:
        """Tell how far the method is."""
        if self.listener is not None:
            self.listener(loss, done)

    def end(self) -> None:
        """Ask the method to come back with what it has."""
        self._stopped = True

    @property
    def stop(self) -> bool:
        """Whether the method should come back with what it has."""
        if self.whole is not None and self.whole.stop:
            return True
        return self._stopped or (self.seconds is not None and time.monotonic() - self._started > self.seconds)
