"""The workbench: the project that is open, its table, its runs, and the one piece of work that goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tclose.app.background_job import BackgroundJob, JobWork
from tclose.app.change_history import ChangeHistory
from tclose.app.class_table import class_table
from tclose.app.column_profile import forget_profiles
from tclose.app.kept_runs import KeptRun
from tclose.app.open_table import AllowedFolder, OpenTable, TableRequest, check_going_on
from tclose.app.project_settings import OPEN, ProjectSettings
from tclose.app.project_shelf import INCOMING, ProjectFolder, ProjectShelf
from tclose.app.texts import said
from tclose.errors import SchemaError, TableError
from tclose.evaluation.attacks.attack import Attacks
from tclose.evaluation.choosing.compare import Comparison
from tclose.evaluation.choosing.suggest import Suggestion
from tclose.release.file_lock import TargetLocks
from tclose.release.release import Release
from tclose.schema.schema import Schema


class StaleError(Exception):
    """Something was changed since the page was loaded: by another tab, or by the same form a moment ago."""


class BusyWorkError(Exception):
    """Another piece of work goes on."""


@dataclass(eq=False)
class OpenProject:
    """A project that is open.

    Attributes
    ----------
    folder
        Where it lies.
    request
        Which table it is about, and how that is read.
    table
        The table.
    history
        What is settled now, and was before.
    runs
        By number.
    releases
        Of runs that were made, or made again, since the app began.
    attacks
        By run, what attackers find, where that is known.
    reports
        By run, the parts of the private report as HTML.
    suggestions
        The curve on a sample and on all rows, with the settings that it is of and whether it is of a sample.
    comparison
        The last one.
    is_copy
        Whether the table lies in the folder: a sample, or a dropped file that is to be kept.
    locks
        What keeps other apps from the project while it is open.
    """

    folder: ProjectFolder
    request: TableRequest
    table: OpenTable
    history: ChangeHistory
    runs: dict[int, KeptRun] = field(default_factory=dict)
    releases: dict[int, Release] = field(default_factory=dict)
    attacks: dict[int, Attacks] = field(default_factory=dict)
    reports: dict[int, list[str]] = field(default_factory=dict)
    suggestions: list[tuple[ProjectSettings, Suggestion, bool]] = field(default_factory=list)
    comparison: Comparison | None = None
    is_copy: bool = False
    locks: TargetLocks = field(default_factory=lambda: TargetLocks([]))

    @property
    def is_temporary(self) -> bool:
        """Whether the table was dropped, and is removed when the app ends."""
        return not self.is_copy and INCOMING in self.request.location.place

    @property
    def settings(self) -> ProjectSettings:
        """What is settled now."""
        return self.history.now

    @property
    def spelled(self) -> tuple[str, ...]:
        """The spellings that are settled as missing."""
        return tuple(self.settings.keys.get("missing_values", ()))

    @property
    def questions(self) -> list[tuple[str, str]]:
        """What the values of the table ask, and nobody has answered: the field that answers it, and a sentence."""
        asked = []
        guesses, keys = self.table.proposal.guesses, self.settings.keys
        for name in self.settings.having("unit"):
            evidence = guesses[name].evidence
            if "unit_rows" not in keys and evidence.n_distinct < evidence.n_filled:
                told = {"name": name, "persons": f"{evidence.n_distinct:,}", "rows": f"{evidence.n_filled:,}"}
                asked.append(("unit_rows", said("ask_persons", **told)))
        used = [*self.settings.having("quasi"), *self.settings.having("sensitive")]
        gaps = [name for name in used if guesses[name].evidence.n_missing]
        if gaps and keys.get("missing") in (None, "error"):
            listed = ", ".join(f"'{name}'" for name in gaps[:5]) + (", ..." if len(gaps) > 5 else "")
            asked.append(("missing", said("ask_missing", names=listed)))
        return asked

    @property
    def n_open(self) -> int:
        """How much is still to be settled under “Columns”."""
        return len(self.settings.having(OPEN)) + len(self.questions)

    @property
    def trouble(self) -> str:
        """Why nothing can be run yet; empty if it can."""
        return self.settings.trouble(self.folder.folder) or " ".join(sentence for _, sentence in self.questions)

    def schema(self) -> Schema:
        """The schema of what is settled.

        Raises
        ------
        SchemaError
            Something is open, or cannot be promised.
        """
        found = self.settings.schema(self.folder.folder)
        if self.trouble:
            raise SchemaError(self.trouble)
        return found

    def save(self) -> None:
        """Write what is settled."""
        about = {
            "name": self.table.name,
            "rows": self.table.source.n_rows,
            "digest": self.table.digest,
            "is_copy": self.is_copy,  # a dropped file that is to be kept, or a sample
            "table": self.request.as_dict(),
        }
        self.folder.write(about, self.history)

    def change(self, settings: ProjectSettings) -> None:
        """Settle something, and write it."""
        self.history.change(settings)
        self.save()


@dataclass(eq=False)
class Workbench:
    """What all pages share; whoever changes something holds `lock`.

    Attributes
    ----------
    shelf
        Where projects lie.
    allowed
        Below which folder tables may be opened.
    most_upload
        Bytes of a dropped file.
    project
        The one that is open.
    job
        The work that goes on, or the last one.
    last_request
        The table that was opened last, or could not be.
    """

    shelf: ProjectShelf
    allowed: AllowedFolder
    most_upload: int = 4 << 30
    project: OpenProject | None = None
    job: BackgroundJob | None = None
    last_request: TableRequest | None = None
    is_receiving: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)
    end: Callable[[], None] = lambda: None

    @property
    def is_busy(self) -> bool:
        """Whether work goes on."""
        return self.job is not None and self.job.is_running

    def begin(self, kind: str, back: str, work: JobWork) -> BackgroundJob:
        """Begin a piece of work; there is one at a time."""
        with self.lock:
            if self.is_busy:
                raise BusyWorkError
            self.job = BackgroundJob(kind, back)
        self.job.start(work)
        return self.job

    def the_project(self) -> OpenProject:
        """The project that is open."""
        if self.project is None:
            raise SchemaError(said("no_table"))
        return self.project

    def check_revision(self, given: int | None) -> OpenProject:
        """The project, if nothing was changed since the page was loaded that says so."""
        project = self.the_project()
        if given != project.history.revision:
            raise StaleError
        return project

    def open_new(self, request: TableRequest, known: Schema | None = None) -> BackgroundJob:
        """Open a table as a new project; of `known` the keys of columns are taken, but not their roles."""

        def work(job: BackgroundJob) -> None:
            table = request.open(job.listen, job.control)
            settings = ProjectSettings.of_proposal(table.proposal).with_known(known)
            with self.lock:
                check_going_on(job.control)
                folder = self.shelf.begin()
                own = folder.adopt(request) if request.is_kept else request
                found = OpenProject(folder, own, table, ChangeHistory([settings]), is_copy=request.is_kept)
                found.locks = folder.locked()
                found.save()
                self._take(found)

        job = self.begin("open", "/table", work)
        self.last_request = request
        return job

    def open_again(self, given: str, elsewhere: TableRequest | None = None) -> BackgroundJob:
        """Open a project again; its table may have been moved, but must be the same."""
        folder = self.shelf.find(given)
        held = folder.read()
        request = elsewhere or TableRequest.from_dict(held["table"], str(held["name"]))
        if elsewhere is None and INCOMING in request.location.place and not Path(request.location.place).is_file():
            raise TableError(said("dropped_before", name=held["name"]))

        def work(job: BackgroundJob) -> None:
            table = request.open(job.listen, job.control)
            if table.digest != held["digest"]:
                raise TableError(said("other_bytes", name=held["name"]))
            history = folder.history()
            kept = {number: KeptRun.read(folder.run_folder(number)) for number in folder.runs()}
            runs = {number: run for number, run in kept.items() if run is not None}
            found = OpenProject(folder, request, table, history, runs, is_copy=bool(held.get("is_copy")))
            if found.spelled != table.spelled:
                found.table = table.with_missing(found.spelled)
            with self.lock:
                check_going_on(job.control)
                is_same = self.project is not None and self.project.folder == folder
                found.locks = self.project.locks if self.project is not None and is_same else folder.locked()
                found.save()
                self._take(found)

        return self.begin("open", "/table", work)

    def _take(self, project: OpenProject | None) -> None:
        """Have this project open instead of another, which other apps may open from now on."""
        before, self.project = self.project, project
        if before is not None and (project is None or before.locks is not project.locks):
            before.locks.close()

    def look_again(self, project: OpenProject, settings: ProjectSettings, has_own_keys: bool = False) -> BackgroundJob:
        """Look at every column anew with other spellings of missing values, and settle them then.

        Columns whose keys nobody changed get those that they seem to need now, unless all keys are somebody's own.
        """
        revision, before = project.history.revision, project.table.proposal
        spelled = tuple(settings.keys.get("missing_values", ()))

        def work(job: BackgroundJob) -> None:
            job.listen("columns", None, None)
            table = project.table.with_missing(spelled)
            with self.lock:
                if project.history.revision != revision:
                    raise SchemaError(said("changed_meanwhile"))
                project.table = table
                project.change(settings if has_own_keys else settings.with_guesses(before, table.proposal))

        return self.begin("reread", "/columns", work)

    def follow_missing(self, project: OpenProject) -> bool:
        """After undo or redo, look at the columns anew if other spellings are settled now; whether that is needed."""
        spelled = project.spelled
        if spelled == project.table.spelled:
            return False

        def work(job: BackgroundJob) -> None:
            job.listen("columns", None, None)
            project.table = project.table.with_missing(spelled)

        self.begin("reread", "/columns", work)
        return True

    def close(self) -> None:
        """Leave the project, which stays on its shelf; dropped files that nobody asked to keep are removed."""
        job = self.job
        if job is not None and job.is_running:
            job.stop()
            job.wait(10)  # without the lock, which it may need to come to its end
        with self.lock:
            self._take(None)
            self.job = self.job if self.is_busy else None
        forget_tables()

    def after(self) -> None:
        """When the app ends: stop what goes on, and remove dropped files."""
        self.close()
        self.shelf.remove_incoming()


def forget_tables() -> None:
    """Let go of what was counted of tables that are no longer open."""
    forget_profiles()
    class_table.cache_clear()


def as_page(job: BackgroundJob | None) -> dict[str, Any]:
    """What the page that waits is told."""
    return {"state": "none", "kind": "", "step": "", "notes": [], "stop_means": ""} if job is None else job.as_dict()
