"""Runs of a project: what was asked, how it went, what came of it; kept side by side and found again."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tclose.evaluation.choosing.best_methods import best_by_measure
from tclose.evaluation.choosing.trials import Gains, Trial
from tclose.release.atomic import PRIVATE, write_whole
from tclose.release.release import Release

CLASSES, SCHEMA = "classes.npz", "schema.toml"
FOUND = {"loss", "rows", "classes", "k", "asked_k", "t", "asked_t", "seconds", "query_error", "gains"}


@dataclass
class KeptRun:
    """One run.

    Attributes
    ----------
    number
        1, 2, 3, ... in a project.
    method, options, seconds_allowed, seed
        What was asked: `seconds_allowed` is None for no limit.
    state
        running, done, failed, or lost: the app ended while it ran.
    problem, notes
        Why it failed, and warnings that came of it.
    was_stopped
        Whether somebody stopped it, or its time was up: then its seed alone does not lead to the same classes.
    found
        What was reached: loss, classes, k, t and what attackers and analysts find.
    allow_single_class
        Whether one class holding all rows will do.
    has_classes
        Whether its classes were found and kept before it was lost.
    """

    number: int
    method: str
    options: dict[str, str]
    seed: int
    seconds_allowed: float | None = None
    state: str = "running"
    problem: str = ""
    notes: list[str] = field(default_factory=list)
    was_stopped: bool = False
    found: dict[str, Any] = field(default_factory=dict)
    allow_single_class: bool = False
    has_classes: bool = False

    @property
    def label(self) -> str:
        """The method with its options."""
        return " ".join([self.method, *(value for value in self.options.values() if value)])

    @property
    def is_repeatable(self) -> bool:
        """Whether the seed alone leads to the same classes."""
        return not self.was_stopped and self.seconds_allowed is None

    def write(self, folder: Path) -> None:
        """Write it into its folder."""
        folder.mkdir(exist_ok=True, mode=0o700)
        write_whole(folder / "run.json", json.dumps(asdict(self), indent=1).encode(), PRIVATE)

    @classmethod
    def read(cls, folder: Path) -> KeptRun | None:
        """A run from its folder; None if it cannot be read. One that ran when the app ended is lost."""
        try:
            run = cls(**json.loads((folder / "run.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        if run.state == "running":
            run.state = "lost"
        run.has_classes = (folder / CLASSES).is_file()
        if run.state == "done" and not (run.has_classes and FOUND <= set(run.found)):
            run.state = "lost"
        return run

    def remove(self, folder: Path) -> None:
        """Remove it with all that was written of it."""
        shutil.rmtree(folder, ignore_errors=True)


def reached(release: Release, query_error: float | None, gains: Gains) -> dict[str, Any]:
    """What came of a run, for the page and the file of the run."""
    measured = release.measured
    return {
        "loss": release.loss,
        "rows": measured.rows,
        "classes": measured.classes,
        "k": measured.k,
        "asked_k": release.schema.k,
        "t": {name: float(value) for name, value in measured.t.items()},
        "asked_t": {each.column: float(each.t) for each in release.schema.sensitive if each.t is not None}
        | {joint.name: float(joint.t) for joint in release.schema.joint},
        "seconds": sum(release.record.seconds.get(stage, 0.0) for stage in ("partition",)),
        "query_error": query_error,
        "gains": asdict(gains),
    }


def promises_differ(runs: Sequence[KeptRun]) -> bool:
    """Whether runs promise different k or t: then the one that loses least may just promise less."""
    done = [run.found for run in runs if run.state == "done"]
    return any((each["asked_k"], each["asked_t"]) != (done[0]["asked_k"], done[0]["asked_t"]) for each in done[1:])


def best_marks(runs: Sequence[KeptRun]) -> dict[int, list[str]]:
    """Of several runs, by which measures each is the best, as `compare` has it; none where there is one alone."""
    done = [run for run in runs if run.state == "done"]
    marks: dict[int, list[str]] = {run.number: [] for run in done}
    if len(done) < 2:
        return marks
    for best in best_by_measure([_as_trial(run.number, run.found) for run in done]):
        if not best.all_alike:
            for setting in best.settings:
                for name in setting.methods:
                    marks[int(name)].append(best.measure.name)
    return marks


def _as_trial(number: int, found: Mapping[str, Any]) -> Trial:
    """A run as `compare` sees one: all in one setting, whatever was asked."""
    gains = {name: math.nan if value is None else value for name, value in found["gains"].items()}
    return Trial(
        str(number), None, 0,
        loss=found["loss"], query_error=found["query_error"], classes=found["classes"], gains=Gains(**gains),
        seconds=found["seconds"],
    )  # fmt: skip
