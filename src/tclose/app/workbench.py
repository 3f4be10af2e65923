"""The workbench: the project that is open, its table, its runs, and the one piece of work that goes on."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tclose.app.background_job import BackgroundJob, Work
from tclose.app.change_history import ChangeHistory
from tclose.app.class_table import class_table
from tclose.app.column_profile import forget_profiles
from tclose.app.kept_runs import KeptRun
from tclose.app.open_table import AllowedFolder, OpenTable, TableRequest
from tclose.app.project_settings import ProjectSettings
from tclose.app.project_shelf import INCOMING, ProjectFolder, ProjectShelf
from tclose.errors import SchemaError, TableError
from tclose.evaluation.choosing.compare import Comparison
from tclose.evaluation.choosing.suggest import Suggestion
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
    reports
        By run, the parts of the private report as HTML.
    suggestions
        The curve on a sample and on all rows, and the settings that they are of.
    comparison
        The last one.
    """

    folder: ProjectFolder
    request: TableRequest
    table: OpenTable
    history: ChangeHistory
    runs: dict[int, KeptRun] = field(default_factory=dict)
    releases: dict[int, Release] = field(default_factory=dict)
    reports: dict[int, list[str]] = field(default_factory=dict)
    suggestions: list[tuple[ProjectSettings, Suggestion]] = field(default_factory=list)
    comparison: Comparison | None = None
    is_copy: bool = False

    @property
    def is_temporary(self) -> bool:
        """Whether the table was dropped, and is removed when the app ends."""
        return not self.is_copy and INCOMING in self.request.location.place

    @property
    def settings(self) -> ProjectSettings:
        """What is settled now."""
        return self.history.now

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
    """

    shelf: ProjectShelf
    allowed: AllowedFolder
    most_upload: int = 4 << 30
    project: OpenProject | None = None
    job: BackgroundJob | None = None
    is_receiving: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)
    end: Callable[[], None] = lambda: None

    @property
    def is_busy(self) -> bool:
        """Whether work goes on."""
        return self.job is not None and self.job.is_running

    def begin(self, kind: str, back: str, work: Work) -> BackgroundJob:
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
            raise SchemaError("No table is open. Choose one first.")
        return self.project

    def check_revision(self, given: int | None) -> OpenProject:
        """The project, if nothing was changed since the page was loaded that says so."""
        project = self.the_project()
        if given != project.history.revision:
            raise StaleError
        return project

    def open_new(
        self, request: TableRequest, own: ProjectFolder | None = None, known: Schema | None = None
    ) -> BackgroundJob:
        """Open a table as a new project.

        `own` is its folder if that holds the table already; `known` a schema whose keys are taken for the columns, but
        not their roles.
        """

        def work(job: BackgroundJob) -> None:
            try:
                table = request.open(job.listen, job.control)
            except BaseException:
                if own is not None:
                    shutil.rmtree(own.folder, ignore_errors=True)
                raise
            settings = ProjectSettings.of_proposal(table.proposal).with_known(known)
            folder = own or self.shelf.begin()
            found = OpenProject(folder, request, table, ChangeHistory([settings]), is_copy=own is not None)
            with self.lock:
                found.save()
                self.project = found

        return self.begin("open", "/table", work)

    def open_again(self, given: str, elsewhere: TableRequest | None = None) -> BackgroundJob:
        """Open a project again; its table may have been moved, but must be the same."""
        folder = self.shelf.find(given)
        held = folder.read()
        request = elsewhere or TableRequest.from_dict(held["table"], str(held["name"]))

        def work(job: BackgroundJob) -> None:
            table = request.open(job.listen, job.control)
            if table.digest != held["digest"]:
                raise TableError(
                    f"'{held['name']}' is not the table that the project was begun with: its bytes are others. Open it "
                    "as a new project."
                )
            history = folder.history(held)
            kept = {number: KeptRun.read(folder.run_folder(number)) for number in folder.runs()}
            runs = {number: run for number, run in kept.items() if run is not None}
            with self.lock:
                self.project = OpenProject(folder, request, table, history, runs, is_copy=bool(held.get("is_copy")))
                self.project.save()

        return self.begin("open", "/table", work)

    def look_again(self, project: OpenProject, settings: ProjectSettings) -> BackgroundJob:
        """Settle other spellings of missing values, and look at every column anew."""

        def work(job: BackgroundJob) -> None:
            job.listen("columns", None, None)
            table = project.table.with_missing(list(settings.keys.get("missing_values", [])))
            with self.lock:
                project.table = table
                project.change(settings)

        return self.begin("open", "/columns", work)

    def close(self) -> None:
        """Leave the project, which stays on its shelf; dropped files that nobody asked to keep are removed."""
        job = self.job
        if job is not None and job.is_running:
            job.stop()
            job.wait(10)  # without the lock, which it may need to come to its end
        with self.lock:
            self.project = None
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
    return {"state": "none", "kind": "", "step": "", "notes": []} if job is None else job.as_dict()
