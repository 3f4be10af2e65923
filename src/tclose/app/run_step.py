"""Run: a method in the background, stopped at any time with the best it has; runs are kept side by side."""

from __future__ import annotations

import math
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from tclose.algorithms import DEFAULT, REGISTRY, find, methods
from tclose.algorithms.capable import check_capable
from tclose.algorithms.tight.tight import EFFORTS
from tclose.app.background_job import BackgroundJob, WorkStoppedError, problem_of
from tclose.app.class_table import class_table
from tclose.app.column_profile import bare
from tclose.app.kept_runs import CLASSES, SCHEMA, KeptRun, best_marks, promises_differ, reached
from tclose.app.site import NotFoundError, Site, Visit, go
from tclose.app.texts import said
from tclose.app.workbench import BusyWorkError, OpenProject, Workbench
from tclose.errors import SchemaError, TcloseError
from tclose.evaluation.attacks.attack import Attacks, attack
from tclose.evaluation.choosing.compare import compare
from tclose.evaluation.choosing.compare_page import comparison_page
from tclose.evaluation.choosing.trials import Gains
from tclose.evaluation.report.report_page import add_findings
from tclose.evaluation.utility.queries import QueryError, query_error
from tclose.evaluation.utility.utility import beside
from tclose.pages.page import Page
from tclose.pipeline import Listener, anonymize
from tclose.release.atomic import PRIVATE, write_whole
from tclose.release.release import Release
from tclose.schema.schema import Schema
from tclose.table.partition import Partition

MOST_ATTACKED = 200_000  # rows up to which attacks and queries are part of a run
QUERIES = 500
COMPARED = 20_000  # rows that methods are compared on


def routes(site: Site) -> list[Route]:
    """The addresses of this step."""
    return [
        site.get("/run", show_run),
        site.post("/run", begin_run, show_run),
        site.post("/run/again", run_again, show_run),
        site.post("/run/remove", remove_run, show_run),
        site.post("/run/compare", begin_comparison, show_run),
    ]


@dataclass(frozen=True)
class MethodChoice:
    """A method on the page: whether it can promise what is asked, and if not why."""

    name: str
    summary: str
    refusal: str


def show_run(visit: Visit) -> Response:
    """Methods to choose from, and the runs so far."""
    project = visit.bench.the_project()
    trouble = project.trouble
    schema = None if trouble else project.schema()
    comparison = [] if project.comparison is None else comparison_page(project.comparison).parts
    runs = sorted(project.runs.values(), key=lambda run: -run.number)
    return visit.page(
        "run.html", "run", methods=choices(schema), default=DEFAULT, efforts=list(EFFORTS), runs=runs, trouble=trouble,
        marks=best_marks(runs), comparison=bare("\n".join(comparison)), compared=COMPARED,
        rows=project.table.source.n_rows, has_other_promises=promises_differ(runs),
    )  # fmt: skip


def choices(schema: Schema | None) -> list[MethodChoice]:
    """All methods, each with why it cannot do what is asked."""
    found = []
    for method in methods():
        refusal = ""
        if schema is not None:
            try:
                check_capable(find(method["name"]), schema)
            except TcloseError as error:
                refusal = str(error)
        found.append(MethodChoice(method["name"], method["summary"], refusal))
    return found


def begin_run(visit: Visit) -> Response:
    """Run a method on the table."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        method = form.text("method") or DEFAULT
        if method not in REGISTRY:
            raise SchemaError(said("no_method"))
        options = {"effort": form.text("effort") or "balanced"} if method == DEFAULT else {}
        schema = project.schema()
        check_capable(find(method, options), schema)
        seed = form.number("seed") if form.text("seed") else secrets.randbits(31)
        if seed is None:
            raise SchemaError(said("seed"))
        run = KeptRun(
            _next_number(project), method, options, seed, _seconds(form.text("seconds")),
            allow_single_class=form.has("single"),
        )  # fmt: skip
        start_run(visit.bench, project, run, schema)
    return go("/run")


def _seconds(given: str) -> float | None:
    if not given:
        return None
    try:
        seconds = float(given.replace(",", "."))
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= 10**6:
        raise SchemaError(said("seconds"))
    return seconds


def _next_number(project: OpenProject) -> int:
    return max([0, *project.runs, *project.folder.runs()]) + 1


def start_run(
    bench: Workbench, project: OpenProject, run: KeptRun, schema: Schema, start: Partition | None = None
) -> None:
    """Begin a run in the background; that it began is written down before, so that a crash shows.

    `start` are classes that the run had found when the app ended: they are released as they are.
    """
    if bench.is_busy:
        raise BusyWorkError
    folder = project.folder.run_folder(run.number)
    run.write(folder)
    write_whole(folder / SCHEMA, schema.to_toml(folder).encode(), PRIVATE)
    project.runs[run.number] = run
    bench.begin("run", "/run", lambda job: _carry_out(bench, project, run, schema, job, start))


def _carry_out(
    bench: Workbench, project: OpenProject, run: KeptRun, schema: Schema, job: BackgroundJob, start: Partition | None
) -> None:
    try:
        release = anonymize(
            project.table.source, schema, method=find(run.method, run.options), seed=run.seed, start=start,
            time=run.seconds_allowed if start is None else 0, progress=job.listen, control=job.control,
            allow_single_class=run.allow_single_class,
        )  # fmt: skip
        finish_run(bench, project, run, release, job)
    except Exception as error:
        run.state, run.problem = "failed", problem_of(error)
        run.write(project.folder.run_folder(run.number))
        raise


def finish_run(bench: Workbench, project: OpenProject, run: KeptRun, release: Release, job: BackgroundJob) -> None:
    """Keep the classes first, then what can be said of them."""
    folder = project.folder.run_folder(run.number)
    release.write_partition(folder / CLASSES)
    run.was_stopped = run.was_stopped or bool(release.facts.get("stopped_early")) or job.control.stop
    run.write(folder)  # a crash from here on loses no class
    error, gains, parts = None, Gains(math.nan, math.nan, 1 / max(release.measured.k, 1)), None
    if release.measured.rows <= MOST_ATTACKED:
        with suppress(WorkStoppedError):
            found = attack(project.table.source, release, progress=job.measure)
            assert found.after is not None
            project.attacks[run.number], gains = found, _gains(found.after)
            job.measure("queries", None, None)
            asked, parts = findings(project, release, found)
            error = asked.median if asked.answered else None
    job.listen("classes", None, None)
    class_table(release)  # so that the first page that browses them need not wait
    run.found, run.state = reached(release, error, gains), "done"
    run.notes = job.notes
    with bench.lock:
        project.releases = dict([*project.releases.items(), (run.number, release)][-4:])
        if parts is not None:
            project.reports[run.number] = parts
        run.write(folder)


def findings(project: OpenProject, release: Release, found: Attacks) -> tuple[QueryError, list[str]]:
    """The error of queries, and what attackers and analysts find as HTML."""
    page, both = Page(""), beside(project.table.source, release)
    asked = query_error(both, QUERIES)
    add_findings(page, release, found, both, asked)
    return asked, [bare(part) for part in page.parts]


def _gains(after: Any) -> Gains:
    """What attackers gain from a release, as `compare` counts it."""
    rises = [each.worst_rise for each in after.skewness.values()]
    guesses = [max(each.right, each.right_with_rows) - each.of_table for each in after.definetti.values()]
    return Gains(max(rises, default=0.0), max(guesses, default=0.0), after.reidentification.prosecutor.largest)


def release_of(bench: Workbench, project: OpenProject, number: int, tell: Listener | None = None) -> Release:
    """The release of a run; after a restart it is made again from its classes, and verified again.

    `tell` is called with every stage of that; what it raises ends it.
    """
    run = project.runs.get(number)
    if run is None:
        raise NotFoundError
    if run.state != "done":
        raise SchemaError(said("no_release"))
    if number not in project.releases:
        folder = project.folder.run_folder(number)
        start = Partition.load(folder / CLASSES)
        schema = Schema.load(folder / SCHEMA)
        method = find(run.method, run.options)
        release = anonymize(
            project.table.source, schema, method=method, seed=run.seed, time=0, start=start,
            allow_single_class=run.allow_single_class, progress=tell,
        )  # fmt: skip
        with bench.lock:
            project.releases = dict([*project.releases.items(), (number, release)][-4:])
    return project.releases[number]


def run_again(visit: Visit) -> Response:
    """Run what was lost or failed once more, by the same seed and schema."""
    with visit.bench.lock:
        project = visit.bench.check_revision(visit.form.number("revision"))
        before = project.runs.get(visit.form.number("run") or 0)
        if before is None:
            raise NotFoundError
        if before.state not in ("lost", "failed"):
            raise SchemaError(said("not_lost"))
        run = KeptRun(
            before.number, before.method, before.options, before.seed, before.seconds_allowed,
            was_stopped=before.was_stopped, allow_single_class=before.allow_single_class,
        )  # fmt: skip
        folder = project.folder.run_folder(before.number)
        start_run(visit.bench, project, run, Schema.load(folder / SCHEMA), _kept_classes(before, folder))
    return go("/run")


def _kept_classes(before: KeptRun, folder: Path) -> Partition | None:
    """The classes of a run that was lost after it had found them; None where they are to be searched for."""
    path = folder / CLASSES
    return Partition.load(path) if before.state == "lost" and path.is_file() else None


def remove_run(visit: Visit) -> Response:
    """Remove a run and its files, once somebody said again that it is meant."""
    texts = visit.site.texts
    with visit.bench.lock:
        project = visit.bench.check_revision(visit.form.number("revision"))
        run = project.runs.get(visit.form.number("run") or 0)
        if run is None:
            raise NotFoundError
        if run.state == "running":
            raise SchemaError(said("still_running"))
        if visit.bench.is_busy:
            raise BusyWorkError
        words = texts.confirm.remove_run.format(number=run.number)
        if (asked := visit.ask_first(words, texts.app.yes_remove, "/run")) is not None:
            return asked
        run.remove(project.folder.run_folder(run.number))
        for held in (project.runs, project.releases, project.attacks, project.reports):
            held.pop(run.number, None)
    return go("/run")


def begin_comparison(visit: Visit) -> Response:
    """Compare methods as the settings are, on all rows or some of them."""
    with visit.bench.lock:
        project = visit.bench.check_revision(visit.form.number("revision"))
        schema = project.schema()
        names = [name for name in visit.form.every("methods") if name in REGISTRY]
        if len(names) < 2:
            raise SchemaError(said("two_methods"))
        source = project.table.sample(COMPARED)

        def work(job: BackgroundJob) -> None:
            found = compare(source, schema, methods=names, queries=QUERIES, progress=job.listen, control=job.control)
            with visit.bench.lock:
                project.comparison = found

        visit.bench.begin("compare", "/run", work)
    return go("/run")
