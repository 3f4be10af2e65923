"""Open: a table by its path, dropped, or a sample; a project again; and what its columns look like."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tclose.app.column_profile import profiles
from tclose.app.database_addresses import with_user
from tclose.app.gate import Refused
from tclose.app.open_table import TableRequest, check_name
from tclose.app.page_words import in_page_words
from tclose.app.posted_forms import PostedForm
from tclose.app.site import Site, Visit, ask_about_work, go, size_text
from tclose.app.texts import said
from tclose.app.uploads import receive_file
from tclose.app.workbench import BusyWorkError, Workbench
from tclose.datasets import census, hospital
from tclose.errors import TableError, TcloseError
from tclose.table.formats.database_urls import POSTGRESQL, SQLITE, database_of, sqlite_file
from tclose.table.formats.file_formats import BY_NAME
from tclose.table.table_location import TableLocation

SAMPLES = {"hospital": hospital, "census": census}
SAMPLE_ROWS, SAMPLE_SEED = 5000, 1
READING = ("delimiter", "encoding", "decimal", "thousands")
ROWS_A_PAGE = 20


def routes(site: Site) -> list[Route]:
    """The addresses of this step."""
    return [
        site.get("/", show_open),
        site.post("/open/path", open_path, show_open),
        site.post("/open/database", open_database, show_open),
        site.post("/open/otherwise", open_otherwise, show_open),
        site.post("/open/sample", open_sample, show_open),
        site.post("/open/project", open_project, show_open),
        site.post("/project/remove", remove_project, show_open),
        site.post("/project/close", close_project, show_open),
        site.get("/job", show_job),
        site.post("/job/stop", stop_job, show_job),
        site.get("/table", show_table),
        site.get("/table/rows/{page:int}", show_rows),
        Route("/upload", partial(upload, site), methods=["POST"]),
    ]


def show_open(visit: Visit) -> Response:
    """Where to begin."""
    bench, request = visit.bench, visit.bench.last_request
    job = bench.job
    has_failed = job is not None and job.kind == "open" and job.state == "failed"
    return visit.page(
        "open.html", "open", folder=bench.allowed.folder, files=bench.allowed.tables(),
        entries=bench.shelf.entries(), samples=SAMPLES, limit=size_text(bench.most_upload), most=bench.most_upload,
        asked=request if has_failed and request is not None and not request.is_file else None,
        otherwise=request if has_failed and request is not None and request.is_file else None, formats=list(BY_NAME),
    )  # fmt: skip


def open_path(visit: Visit) -> Response:
    """Open a file below the folder of the app."""
    path = visit.bench.allowed.locate(visit.form.text("path"))
    visit.bench.open_new(_request(visit.form, str(path), path.name))
    return go("/job")


def _request(form: PostedForm, place: str, name: str) -> TableRequest:
    """The table at a place, read as a form says."""
    sheet = form.text("sheet")
    location = TableLocation(
        place, format=form.text("format") or None, sheet=int(sheet) if sheet.isdigit() else sheet or None,
        codes=form.has("codes"), table=form.text("table") or None, query=form.text("query") or None,
    )  # fmt: skip
    reading: dict[str, Any] = {key: _signs(form.text(key)) for key in READING if form.text(key)}
    if form.text("header") in ("yes", "no"):
        reading["header"] = form.text("header") == "yes"
    formats = tuple(part.strip() for part in form.text("dates").split(";") if part.strip())
    return TableRequest(location, name, reading, formats)


def _signs(given: str) -> str:
    return {"tab": "\t", "space": " "}.get(given, given)


def open_otherwise(visit: Visit) -> Response:
    """Read the table that was opened last in another way: a dropped file too, which has no path of its own."""
    bench, request = visit.bench, visit.bench.last_request
    if request is None:
        raise TableError(said("nothing_to_read"))
    bench.open_new(replace(_request(visit.form, request.location.place, request.name), is_kept=request.is_kept))
    return go("/job")


def open_database(visit: Visit) -> Response:
    """Open a table or a query of a database."""
    bench, form = visit.bench, visit.form
    table, query = form.text("table") or None, form.text("query") or None
    if table is not None and query is not None:
        raise TableError(said("table_or_query"))
    location = TableLocation(_database_place(bench, form), table=table, query=query)
    shown = visit.site.texts.open
    name = shown.in_database.format(table=table or shown.a_query, place=location.name)
    bench.open_new(TableRequest(location, name, {}))
    return go("/job")


def _database_place(bench: Workbench, form: PostedForm) -> str:
    """The URL of a database, or the path of an SQLite file, which must lie below the folder of the app."""
    address = form.text("address")
    if database_of(address) == SQLITE:
        return f"sqlite:///{quote(str(bench.allowed.locate(str(sqlite_file(address)))))}"
    return with_user(address, form.text("user"), form.text("password"))


def open_sample(visit: Visit) -> Response:
    """Make a sample in a project of its own, and open it."""
    name = visit.form.text("sample")
    if name not in SAMPLES:
        raise TableError(said("no_sample"))
    if visit.bench.is_busy:
        raise BusyWorkError
    frame, schema = SAMPLES[name](SAMPLE_ROWS, SAMPLE_SEED)
    path = visit.bench.shelf.new_incoming() / f"{name}.csv"
    frame.write_csv(path)
    request = TableRequest(TableLocation(str(path)), path.name, {}, is_kept=True)
    visit.bench.open_new(request, known=schema)
    return go("/job")


def open_project(visit: Visit) -> Response:
    """Open a project again; its table may be named anew, and a database asks for its password again."""
    bench, form = visit.bench, visit.form
    held = bench.shelf.find(form.text("project")).read()
    request = TableRequest.from_dict(held["table"], str(held["name"]))
    place = request.location.place
    if form.text("path"):
        place = str(bench.allowed.locate(form.text("path")))
    elif database_of(place) == POSTGRESQL and form.text("password"):
        place = with_user(place, "", form.text("password"))
    elsewhere = replace(request, location=replace(request.location, place=place, _held={}))
    bench.open_again(form.text("project"), None if place == request.location.place else elsewhere)
    return go("/job")


def remove_project(visit: Visit) -> Response:
    """Remove a project, once somebody said again that it is meant."""
    bench, given = visit.bench, visit.form.text("project")
    folder = bench.shelf.find(given)
    texts = visit.site.texts
    words = texts.confirm.remove_project.format(name=folder.read()["name"], runs=len(folder.runs()))
    if (asked := visit.ask_first(words, texts.app.yes_remove, "/")) is not None:
        return asked
    if bench.project is not None and bench.project.folder.id == given:
        bench.close()
        if bench.is_busy:  # it does not stop at once, and still writes there
            raise BusyWorkError
    bench.shelf.remove(given)
    return go("/")


def close_project(visit: Visit) -> Response:
    """Leave the project; while work goes on, only once somebody said again that it is meant."""
    if (asked := ask_about_work(visit, visit.site.texts.app.yes_close)) is not None:
        return asked
    visit.bench.close()
    return go("/")


def show_job(visit: Visit) -> Response:
    """The work that goes on; once it is over, the page that waited for it."""
    job = visit.bench.job
    if job is None:
        return go("/")
    if job.state == "done" or (job.state == "failed" and job.control.stop and job.kind != "open"):
        return go(job.back)
    if job.state == "failed" and job.kind == "open":
        return show_open(replace(visit, problem=job.problem))
    return replace(visit, problem=job.problem).page("job.html", job.step, running=job)


def stop_job(visit: Visit) -> Response:
    """Ask the work to come back with the best it has."""
    job = visit.bench.job
    if job is not None:
        job.stop()
    return go(job.back if job is not None and job.kind in ("run", "suggest", "compare") else "/job")


async def upload(site: Site, request: Request) -> Response:
    """Take a dropped file, and open it: as a new project, or for one whose file was dropped before."""
    bench = site.bench
    try:
        if bench.is_receiving or bench.is_busy:
            raise Refused(409, str(site.texts.errors.busy))
        name = check_name(unquote(request.headers.get("x-file-name", ""), errors="strict"))
        project = request.headers.get("x-project", "")
        held = bench.shelf.find(project).read() if project else None
        bench.is_receiving = True
        try:
            path = bench.shelf.new_incoming() / f"table{_suffixes(name)}"
            await receive_file(request, path, bench.most_upload)
        finally:
            bench.is_receiving = False
            bench.shelf.tidy()
        keeps_copy = request.headers.get("x-keep-copy") == "yes"
        if held is None:
            bench.open_new(TableRequest(TableLocation(str(path)), name, {}, is_kept=keeps_copy))
        else:
            before = TableRequest.from_dict(held["table"], str(held["name"]))
            bench.open_again(project, replace(before, location=replace(before.location, place=str(path), _held={})))
    except Refused as refused:
        return PlainTextResponse(refused.why, refused.status, {"connection": "close"})
    except BusyWorkError:
        return PlainTextResponse(str(site.texts.errors.busy), 409)
    except (TcloseError, UnicodeDecodeError) as error:
        words = in_page_words(str(error)) if isinstance(error, TcloseError) else said("no_name")
        return PlainTextResponse(words, 422)
    return JSONResponse({"go": "/job"})


def _suffixes(name: str) -> str:
    """The suffix of a table, with `.gz` if it has that."""
    parts = name.lower().split(".")
    return "." + ".".join(parts[-2:] if parts[-1] == "gz" and len(parts) > 2 else parts[-1:])


def show_table(visit: Visit) -> Response:
    """The profile of each column, with its guess."""
    project = visit.bench.the_project()
    last = visit.bench.last_request
    can_reread = last is not None and last.is_file and last.location == project.table.location
    return visit.page(
        "table.html", "open", columns=profiles(project.table.proposal), table=project.table, rows=None,
        otherwise=last if can_reread else None, formats=list(BY_NAME),
    )  # fmt: skip


def show_rows(visit: Visit) -> Response:
    """A page of the rows as they are, which somebody asked for."""
    table = visit.bench.the_project().table
    last = max(math.ceil(table.source.n_rows / ROWS_A_PAGE), 1)
    page = min(max(visit.number("page"), 1), last)
    first = (page - 1) * ROWS_A_PAGE
    columns = table.source.each(table.names, lambda column: _texts(column.slice(first, ROWS_A_PAGE)))
    rows = list(zip(*columns.values(), strict=True))
    return visit.page("rows.html", "open", names=table.names, rows=rows, page=page, last=last, first=first)


def _texts(values: object) -> list[str]:
    return ["" if value is None else str(value) for value in values]  # type: ignore[attr-defined]
