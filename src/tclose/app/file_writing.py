"""The files to take away: written as a whole or not at all, with how far that is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tclose.app.background_job import BackgroundJob
from tclose.app.kept_runs import CLASSES, SCHEMA
from tclose.app.project_shelf import ProjectShelf
from tclose.app.run_step import release_of
from tclose.app.texts import load_texts
from tclose.app.workbench import OpenProject, Workbench
from tclose.evaluation.attacks.attack import attack
from tclose.evaluation.report.public_report import public_report_html
from tclose.evaluation.report.report_page import report_html
from tclose.pages.pdf import to_pdf
from tclose.release.atomic import PRIVATE, write_whole
from tclose.release.earlier import holds_record, read_earlier, warn_of_same_table
from tclose.release.release import Release
from tclose.schema.schema import Schema

OUT = "out"
RECORD, MOST_RECORDS = "record.json", 200
WORKLOAD = "workload.csv"
PRIVATE_REPORT = "private-report.html"
PRIVATE_FILES = (RECORD, PRIVATE_REPORT, CLASSES, WORKLOAD)


@dataclass(frozen=True)
class FileRequest:
    """What is to be written of a run.

    Attributes
    ----------
    kind
        The suffix of the release.
    escapes
        Whether formulas are escaped.
    wants_pdf, wants_private
        Whether the report is made as PDF too, and whether the private one is.
    """

    kind: str
    escapes: bool = False
    wants_pdf: bool = False
    wants_private: bool = True


@dataclass(frozen=True)
class StagedProgress:
    """How far work of several stages is.

    Attributes
    ----------
    job
        Which is told.
    weights
        By stage, in their order, about how long each takes.

    Examples
    --------
    >>> job = BackgroundJob("write", "/take/1")
    >>> StagedProgress(job, {"write": 1, "report": 3}).tell("report", None, 1 / 3)
    >>> job.stage, job.done
    ('report', 0.5)
    """

    job: BackgroundJob
    weights: Mapping[str, float]

    def tell(self, stage: str, loss: float | None = None, done: float | None = None) -> None:
        """A stage has come so far; raises where somebody has stopped the work."""
        before = sum(list(self.weights.values())[: list(self.weights).index(stage)])
        now = before + self.weights[stage] * (done or 0.0)
        self.job.go_on(stage, None, now / sum(self.weights.values()) or None)  # nothing done yet is not known


def write_run(bench: Workbench, project: OpenProject, number: int, asked: FileRequest, job: BackgroundJob) -> None:
    """Write and verify all files of a run; where it fails or is stopped, those of before stay."""
    folder = project.folder.run_folder(number) / OUT
    progress = StagedProgress(job, _weights(project, number, asked))
    release = release_of(bench, project, number, lambda *_: progress.tell("restore"))
    warn_of_same_table(release.record, earlier_records(bench.shelf, folder))
    with whole_folder(folder) as made:
        progress.tell("write")
        output = made / f"release.{asked.kind}"
        release.write(output, record=made / RECORD, escape_formulas=asked.escapes)
        write_whole(made / SCHEMA, _with_own_workload(release.schema, made).to_toml(made).encode())
        progress.tell("report")
        page = public_report_html(output, release.schema)
        write_whole(made / "report.html", page.encode())
        if asked.wants_pdf:
            progress.tell("pdf")
            write_whole(made / "report.pdf", to_pdf(page))
        if asked.wants_private:
            _write_private(project, number, release, made, progress)
        job.go_on(job.stage, None, 1.0)


def _weights(project: OpenProject, number: int, asked: FileRequest) -> dict[str, float]:
    """About how long each stage takes beside the others: attacks learn from every attribute."""
    found = {"write": 2.0, "report": 2.0}
    if number not in project.releases:
        found = {"restore": 4.0, **found}
    if asked.wants_pdf:
        found["pdf"] = 1.0
    if asked.wants_private:
        n_attributes = len(project.settings.having("sensitive"))
        found |= {} if number in project.attacks else {"attacks": 1.0 + 2 * n_attributes}
        found["private"] = 2.0
    return found


def _write_private(project: OpenProject, number: int, release: Release, made: Path, progress: StagedProgress) -> None:
    """The report that compares with the original; what attackers find is found once."""
    source = project.table.source
    if number not in project.attacks:
        progress.tell("attacks")
        project.attacks[number] = attack(source, release, progress=progress.tell)
    progress.tell("private")
    private = report_html(source, release, attacks=project.attacks[number])
    write_whole(made / PRIVATE_REPORT, private.encode(), PRIVATE)


def _with_own_workload(schema: Schema, made: Path) -> Schema:
    """The schema with a copy of its queries beside it: what is taken away names no file of the project."""
    if schema.workload is None:
        return schema
    write_whole(made / WORKLOAD, Path(schema.workload).read_bytes(), PRIVATE)
    return replace(schema, workload=str(made / WORKLOAD))


def earlier_records(shelf: ProjectShelf, own: Path) -> list[tuple[str, dict[str, Any]]]:
    """The records that other runs of all projects wrote: whoever has two releases of a table can intersect them."""
    found = []
    for path in sorted(shelf.folder.glob(f"*/runs/*/{OUT}/{RECORD}"))[-MOST_RECORDS:]:
        if path.parent != own and holds_record(path):
            day = datetime.fromtimestamp(path.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
            label = load_texts().take.earlier.format(number=path.parent.parent.name, day=day)
            found += [(label, fields) for _, fields in read_earlier(path)]
    return found


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A new folder that takes the place of this one once all is written; if anything fails, that stays as it was."""
    made = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(mode=0o700)
    try:
        yield made
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
