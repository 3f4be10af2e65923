"""Control: how a running method is watched and stopped, and the stages of a longer run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tclose.errors import SchemaError


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
    uncounted
        Gives the seconds since the beginning that do not count, such as those in which loops were compiled.
    """

    seconds: float | None = None
    listener: Callable[[float | None, float | None], None] | None = None
    whole: Control | None = None
    uncounted: Callable[[], float] | None = None
    _started: float = field(default_factory=lambda: time.monotonic())
    _stopped: bool = False

    def begin(self, seconds: float | None, listener: Callable[[float | None, float | None], None]) -> None:
        """Count the time from now on."""
        self.seconds, self.listener, self.uncounted, self._started = seconds, listener, None, time.monotonic()

    def report(self, loss: float | None = None, done: float | None = None) -> None:
        """Tell how far the method is; classes that are still too wide for `coarsest` lose all."""
        if self.listener is not None:
            self.listener(None if loss is None else min(loss, 1.0), done)

    def end(self) -> None:
        """Ask the method to come back with what it has."""
        self._stopped = True

    def part(self, begin: float, end: float) -> Control:
        """A stretch of the work from now on: its share of the time allowed, and of what is told to be done; no loss.

        Examples
        --------
        >>> whole = Control(10.0, lambda loss, done: print(loss, done))
        >>> half = whole.part(0.5, 1.0)
        >>> half.report(loss=0.3, done=0.5)
        None 0.75
        >>> half.seconds
        5.0
        """
        before = 0.0 if self.uncounted is None else self.uncounted()

        def listen(loss: float | None, done: float | None) -> None:
            self.report(done=None if done is None else begin + (end - begin) * done)

        return Control(
            seconds=None if self.seconds is None else self.seconds * (end - begin),
            listener=listen,
            whole=self,
            uncounted=lambda: (0.0 if self.uncounted is None else self.uncounted()) - before,
        )

    def stretch(self, begin: float, end: float) -> Control:
        """A stretch of the work that may take all the time there is: what it tells of itself is told as a share.

        Examples
        --------
        >>> Control(listener=lambda loss, done: print(loss, done)).stretch(0.5, 1.0).report(loss=0.2, done=0.5)
        0.2 0.75
        """

        def listen(loss: float | None, done: float | None) -> None:
            self.report(loss=loss, done=None if done is None else begin + (end - begin) * done)

        return Control(listener=listen, whole=self)

    @property
    def share(self) -> float | None:
        """The share of the time allowed that is gone; None where there is no limit."""
        if self.seconds is None:
            return None
        gone = time.monotonic() - self._started - (0.0 if self.uncounted is None else self.uncounted())
        return min(max(gone / self.seconds, 0.0), 1.0) if self.seconds > 0 else 1.0

    @property
    def stop(self) -> bool:
        """Whether the method should come back with what it has."""
        if self.whole is not None and self.whole.stop:
            return True
        if self._stopped or self.seconds is None:
            return self._stopped
        gone = time.monotonic() - self._started
        if gone <= self.seconds:
            return False
        return self.uncounted is None or gone - self.uncounted() > self.seconds


def check_watching(progress: object, control: object = None) -> None:
    """Refuse what cannot follow a run or end it, before the run begins.

    Examples
    --------
    >>> check_watching("yes")
    Traceback (most recent call last):
    tclose.errors.SchemaError: progress must be a function of a stage, the loss so far and the share done.
    """
    if progress is not None and not callable(progress):
        raise SchemaError("progress must be a function of a stage, the loss so far and the share done.")
    if control is not None and not isinstance(control, Control):
        raise SchemaError("control must be a tclose.algorithms.control.Control.")


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
