"""Look: the release beside the original, its classes, how values are distributed in them, and what binds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from starlette.responses import Response
from starlette.routing import Route

from tclose.app.background_job import BackgroundJob
from tclose.app.class_table import class_table
from tclose.app.column_profile import bare
from tclose.app.run_step import findings, release_of
from tclose.app.site import NotFoundError, Show, Site, Visit, go
from tclose.app.texts import load_texts
from tclose.app.workbench import OpenProject
from tclose.evaluation.attacks.attack import attack
from tclose.evaluation.choosing.what_binds import what_binds
from tclose.evaluation.report.report_values import shares_of
from tclose.pages.card import promise_rows
from tclose.pages.charts import BarsBeside, ChartAxis, bars_beside, beside_height, nice_ticks
from tclose.pages.svg import Drawing
from tclose.release.release import Release
from tclose.release.writing import in_form
from tclose.schema.schema import Schema

ROWS_A_PAGE, CLASSES_A_PAGE = 20, 25


def routes(site: Site) -> list[Route]:
    """The addresses of this step."""
    one = "/look/{run:int}"
    look, released, classes = _made(show_look), _made(show_released), _made(show_classes)
    return [
        site.get("/look", show_latest),
        site.get(one, look),
        site.post(f"{one}/again", make_again, look),
        site.post(f"{one}/report", _made(begin_report), look),
        site.post(f"{one}/gains", _made(begin_gains), look),
        site.get(f"{one}/rows/{{page:int}}", released),
        site.post(f"{one}/rows/{{page:int}}", _made(show_both), released),
        site.get(f"{one}/classes/{{page:int}}", classes),
        site.post(f"{one}/classes/{{page:int}}", classes, classes),
        site.get(f"{one}/class/{{place:int}}", _made(show_class)),
    ]


def show_latest(visit: Visit) -> Response:
    """The last run that came to an end."""
    project = visit.bench.the_project()
    done = [run.number for run in project.runs.values() if run.state == "done"]
    if done:
        return go(f"/look/{max(done)}")
    return visit.page("nothing.html", "look")


class NotMadeError(Exception):
    """The release of a run is not in memory: the app was started anew since it was made."""


def _release(visit: Visit) -> tuple[OpenProject, Release]:
    project, number = visit.bench.the_project(), visit.number("run")
    run = project.runs.get(number)
    if run is None:
        raise NotFoundError
    if run.state == "done" and number not in project.releases:
        raise NotMadeError
    return project, release_of(visit.bench, project, number)


def _made(show: Show) -> Show:
    """A page about a release; where that is not in memory, a page that offers to make it again."""

    def shown(visit: Visit) -> Response:
        try:
            return show(visit)
        except NotMadeError:
            return visit.page("again.html", "look", run=visit.number("run"))

    return shown


def make_again(visit: Visit) -> Response:
    """Make the release of a run again from its classes, and verify it again."""
    project, number = visit.bench.the_project(), visit.number("run")

    def work(job: BackgroundJob) -> None:
        class_table(release_of(visit.bench, project, number, job.go_on))

    visit.bench.begin("restore", f"/look/{number}", work)
    return go("/job")


def show_look(visit: Visit) -> Response:
    """What was reached, what binds, and the private report."""
    project, release = _release(visit)
    number = visit.number("run")
    run, counted = project.runs[number], class_table(release)
    report = "\n".join(project.reports.get(number, []))
    binding = [] if release.binding is None else release.binding.sentences()
    has_gains = release.binding is not None and release.binding.measured is not None
    others = [each for each in sorted(project.runs) if project.runs[each].state == "done"]
    return visit.page(
        "look.html", "look", run=run, release=release, words=counted.words, report=report,
        binding=binding, has_gains=has_gains, others=others, n_rows=project.table.source.n_rows,
        promises=promise_rows(release.certificate.as_dict(), release.record.persons), n_left_out=counted.n_left_out,
        worst=int(counted.worst_first[0]),
    )  # fmt: skip


def begin_report(visit: Visit) -> Response:
    """Make the private report in the background: attacks take their time on large tables."""
    project, release = _release(visit)
    number = visit.number("run")

    def work(job: BackgroundJob) -> None:
        found = project.attacks.get(number) or attack(project.table.source, release, progress=job.go_on)
        project.attacks[number] = found
        job.go_on("queries", None, None)
        _, parts = findings(project, release, found)
        with visit.bench.lock:
            project.reports[number] = parts

    visit.bench.begin("report", f"/look/{number}", work)
    return go("/job")


def begin_gains(visit: Visit) -> Response:
    """Measure what loosening a demand would gain."""
    project, release = _release(visit)
    number = visit.number("run")

    def work(job: BackgroundJob) -> None:
        found = what_binds(project.table.source, release, progress=job.listen, control=job.control)
        with visit.bench.lock:
            project.releases[number] = release.with_binding(found)

    visit.bench.begin("gains", f"/look/{number}", work)
    return go("/job")


def _page_of(frame: pl.DataFrame, schema: Schema, first: int, n: int) -> list[list[str]]:
    """Some rows as a text file has them."""
    shown = in_form(frame.slice(first, n), schema)
    if schema.decimal == ",":
        numbers = pl.col([name for name, kind in shown.schema.items() if kind.is_float() or kind.is_decimal()])
        shown = shown.with_columns(numbers.cast(pl.String).str.replace(".", ",", literal=True))
    return [["" if value is None else str(value) for value in row] for row in shown.iter_rows()]


def show_released(visit: Visit) -> Response:
    """A page of the release, in the random order of its file."""
    _, release = _release(visit)
    frame: pl.DataFrame = release.table
    last = max(math.ceil(len(frame) / ROWS_A_PAGE), 1)
    page = min(max(visit.number("page"), 1), last)
    rows = _page_of(frame, release.schema, (page - 1) * ROWS_A_PAGE, ROWS_A_PAGE)
    return visit.page(
        "released.html",
        "look",
        run=visit.number("run"),
        names=frame.columns,
        rows=rows,
        page=page,
        last=last,
        before=None,
    )


def show_both(visit: Visit) -> Response:
    """The same rows before and after, because somebody asked for it."""
    project, release = _release(visit)
    frame = class_table(release).released
    last = max(math.ceil(len(frame) / ROWS_A_PAGE), 1)
    page = min(max(visit.number("page"), 1), last)
    first = (page - 1) * ROWS_A_PAGE
    places = np.flatnonzero(release.classes >= 0)[first : first + ROWS_A_PAGE]
    names = [quasi.column for quasi in release.schema.quasi]
    source = project.table.source
    columns = [["" if each is None else str(each) for each in source.column(name).gather(places)] for name in names]
    before = list(zip(*columns, strict=True))
    owners = {made: place for place, quasi in enumerate(release.schema.quasi) for made in quasi.released}
    rows = _page_of(frame, release.schema, first, ROWS_A_PAGE)
    return visit.page(
        "released.html", "look", run=visit.number("run"), names=frame.columns, rows=rows, page=page, last=last,
        before=before, owners=owners,
    )  # fmt: skip


def show_classes(visit: Visit) -> Response:
    """Classes to browse: those that use most of their t first, or by size."""
    _, release = _release(visit)
    table, form = class_table(release), visit.form
    least, most = form.number("least") or 1, form.number("most") or int(table.sizes.max(initial=1))
    order = form.text("order") if form.text("order") in ("far", "small", "large") else "far"
    keys = {"far": -table.farthest, "small": table.sizes, "large": -table.sizes}[order]
    chosen = np.flatnonzero((table.sizes >= least) & (table.sizes <= most) & table.shows(form.text("shows")))
    chosen = chosen[np.lexsort((table.sizes[chosen], keys[chosen]))]
    last = max(math.ceil(len(chosen) / CLASSES_A_PAGE), 1)
    page = min(max(form.number("page") or visit.number("page"), 1), last)
    shown = chosen[(page - 1) * CLASSES_A_PAGE : page * CLASSES_A_PAGE]
    names = list(release.schema.released_quasi)
    values = table.released.select(names)[table.firsts[shown].tolist()].rows()
    entries = [
        (int(place), int(table.sizes[place]), ["" if each is None else str(each) for each in row],
         {name: float(found[place]) for name, found in table.distances.items()})
        for place, row in zip(shown.tolist(), values, strict=True)
    ]  # fmt: skip
    return visit.page(
        "classes.html", "look", run=visit.number("run"), entries=entries, names=names, page=page, last=last,
        n_classes=len(chosen), order=order, least=least, most=most, attributes=list(table.distances),
        shows=form.text("shows"),
    )  # fmt: skip


def show_class(visit: Visit) -> Response:
    """One class: how its sensitive values are distributed, beside the whole table."""
    _, release = _release(visit)
    place, table = visit.number("place"), class_table(release)
    if place >= len(table.sizes):
        raise NotFoundError
    labels = release.measured.grouping.labels
    pictures = []
    for sensitive in release.schema.sensitive:
        groups, named, note = table.groups[sensitive.column]
        whole, own = shares_of(groups, len(named)), shares_of(groups[labels == place], len(named))
        t, picture = table.distances[sensitive.column][place], distribution(sensitive.column, named, whole, own)
        pictures.append((sensitive.column, float(t), sensitive.t, picture, note))
    names = list(release.schema.released_quasi)
    values = table.released.select(names).row(int(table.firsts[place]))
    shown = list(zip(names, ["" if each is None else str(each) for each in values], strict=True))
    joints = [(each.name, float(table.distances[each.name][place]), each.t) for each in release.schema.joint]
    return visit.page(
        "class.html", "look", run=visit.number("run"), size=int(table.sizes[place]), values=shown, pictures=pictures,
        joints=joints, neighbours=table.neighbours(place),
    )  # fmt: skip


def distribution(column: str, names: Any, whole: Any, own: Any) -> str:
    """Shares in a class beside those in the table, as bars."""
    entries = [BarsBeside(name, 100 * share, [100 * mine]) for name, share, mine in zip(names, whole, own, strict=True)]
    drawing = Drawing(720, beside_height(1, len(entries)))
    most = max((max(entry.whole, *entry.values) for entry in entries), default=1.0)
    words = load_texts().pictures
    bars_beside(drawing, ChartAxis(words.shares, nice_ticks(0, most)), [words.this_class], entries)
    return bare(drawing.svg(words.shares_of.format(name=column), inside=True))
