"""Work that takes longer than a page: it runs in a thread, says how far it is, and can be stopped."""

from __future__ import annotations

import logging
import os
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tclose.algorithms.control import Control
from tclose.app.texts import said
from tclose.errors import TcloseError, TcloseWarning, printable

LOG = logging.getLogger(__name__)
AFTER_SEARCH = ("recode", "verify", "binding", "classes")  # stages of a run whose classes are found
SKIPPED = ("attacks", "queries")  # stages of a run that it can do without
JobWork = Callable[["BackgroundJob"], None]


class WorkStoppedError(TcloseError):
    """Somebody stopped work that is done as a whole or not at all."""


@dataclass(eq=False)
class BackgroundJob:
    """One piece of work.

    Attributes
    ----------
    kind
        What it is: open, suggest, run, compare, gains, write.
    back
        The page that waits for it.
    stage, loss, done
        What it is at, the loss so far, and the share that is done; None where unknown.
    state
        running, done or failed.
    problem
        Why it failed, in words without a cell.
    is_skipping
        Whether a run is to do without what it measures once its classes are verified.
    """

    kind: str
    back: str
    stage: str = ""
    loss: float | None = None
    done: float | None = None
    state: str = "running"
    problem: str = ""
    is_skipping: bool = False
    control: Control = field(default_factory=Control, repr=False)
    began: float = field(default_factory=time.monotonic)
    _thread: threading.Thread | None = field(default=None, repr=False)
    _noted: list[warnings.WarningMessage] = field(default_factory=list, repr=False)

    def start(self, work: JobWork) -> None:
        """Begin; `work` is given the job itself."""
        self._thread = threading.Thread(target=self._run, args=(work,), name=f"tclose {self.kind}", daemon=True)
        self._thread.start()

    def listen(self, stage: str, loss: float | None, done: float | None) -> None:
        """Take in how far it is: a listener of `anonymize` and the like."""
        self.stage, self.done = stage, done
        self.loss = loss if loss is not None else self.loss

    def go_on(self, stage: str, loss: float | None, done: float | None) -> None:
        """The same of work that is done as a whole or not at all: raises where somebody has stopped it."""
        self.listen(stage, loss, done)
        if self.control.stop:
            raise WorkStoppedError(said("stopped_work"))

    def measure(self, stage: str, loss: float | None, done: float | None) -> None:
        """The same of what a run can do without: raises where somebody wants to skip it."""
        self.listen(stage, loss, done)
        if self.is_skipping:
            raise WorkStoppedError(said("stopped_work"))

    def stop(self) -> None:
        """Ask it to come back with the best it has, or without what it measures at its end."""
        if self.stop_means == "skip":
            self.is_skipping = True
        else:
            self.control.end()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it is over."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def notes(self) -> list[str]:
        """The warnings that came of it, each once."""
        told = [str(each.message) for each in self._noted if isinstance(each.message, TcloseWarning)]
        return list(dict.fromkeys(told))

    @property
    def step(self) -> str:
        """The step of the page that waits."""
        found = self.back.split("/")[1]
        return "open" if found == "table" else found

    @property
    def is_running(self) -> bool:
        """Whether it still goes on."""
        return self.state == "running"

    @property
    def stop_means(self) -> str:
        """What stopping it would do: stop, stop_best (what is found is taken), skip; empty if it changes nothing."""
        if self.kind == "reread" or (self.kind == "run" and self.stage in AFTER_SEARCH):
            return ""
        if self.kind != "run":
            return "stop"
        if self.stage in SKIPPED:
            return "skip"
        return "stop" if self.loss is None else "stop_best"

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self.began

    def as_dict(self) -> dict[str, Any]:
        """For the page that waits."""
        return {
            "kind": self.kind,
            "stage": printable(self.stage),
            "loss": self.loss,
            "done": self.done,
            "state": self.state,
            "seconds": round(self.seconds, 1),
            "problem": self.problem,
            "notes": self.notes,
            "is_stopping": self.is_running and (self.is_skipping or (self.control.stop and self.stop_means != "skip")),
            "stop_means": self.stop_means,
            "was_stopped": self.control.stop,
            "step": self.step,
        }

    def _run(self, work: JobWork) -> None:
        with warnings.catch_warnings(record=True) as self._noted:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", TcloseWarning)
            self.problem = self._problem_of(work)
        self.state = "failed" if self.problem else "done"

    def _problem_of(self, work: JobWork) -> str:
        """Do the work: what went wrong, empty if nothing did."""
        try:
            work(self)
        except Exception as error:
            return problem_of(error)
        return ""


def problem_of(error: Exception) -> str:
    """What went wrong, in words without a cell.

    Examples
    --------
    >>> problem_of(ValueError("a cell"))
    'Something unforeseen went wrong (ValueError). Nothing was released.'
    """
    if isinstance(error, TcloseError):
        return str(error)
    if isinstance(error, MemoryError):
        return said("memory")
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    if os.environ.get("TCLOSE_DEBUG"):  # for whoever looks for the mistake: its message may quote a cell
        traceback.print_exception(error)
    LOG.error("something unforeseen went wrong (%s)", type(error).__name__)
    return said("unforeseen_kind", kind=type(error).__name__)
