"""Open: a table by its path, dropped, or a sample; a project again; and what its columns look like."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tclose.app.column_profile import profiles
from tclose.app.gate import Refused
from tclose.app.open_table import TableRequest, check_name
from tclose.app.site import Site, Visit, go
from tclose.app.uploads import receive_file
from tclose.app.workbench import BusyWorkError
from tclose.datasets import census, hospital
from tclose.errors import TableError, TcloseError
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
    bench = visit.bench
    limit = f"{bench.most_upload / 10**9:.3g} GB"
    entries = bench.shelf.entries()
    return visit.page(
        "open.html",
        "open",
        files=bench.allowed.tables(),
        entries=entries,
        limit=limit,
        samples=SAMPLES,
        most=bench.most_upload,
    )


def open_path(visit: Visit) -> Response:
    """Open a file below the folder of the app."""
    form = visit.form
    path = visit.bench.allowed.locate(form.text("path"))
    sheet = form.text("sheet")
    location = TableLocation(
        str(path), sheet=int(sheet) if sheet.isdigit() else sheet or None, table=form.text("table") or None
    )
    reading: dict[str, Any] = {key: _signs(form.text(key)) for key in READING if form.text(key)}
    if form.text("header") == "no":
        reading["header"] = False
    formats = tuple(part.strip() for part in form.text("dates").split(";") if part.strip())
    visit.bench.open_new(TableRequest(location, path.name, reading, formats))
    return go("/job")


def _signs(given: str) -> str:
    return {"tab": "\t", "space": " "}.get(given, given)


def open_sample(visit: Visit) -> Response:
    """Make a sample in a project of its own, and open it."""
    name = visit.form.text("sample")
    if name not in SAMPLES:
        raise TableError("There is no such sample.")
    if visit.bench.is_busy:
        raise BusyWorkError
    frame, schema = SAMPLES[name](SAMPLE_ROWS, SAMPLE_SEED)
    own = visit.bench.shelf.begin()
    path = own.folder / f"{name}.csv"
    frame.write_csv(path)
    visit.bench.open_new(TableRequest(TableLocation(str(path)), path.name, {}), own, known=schema)
    return go("/job")


def open_project(visit: Visit) -> Response:
    """Open a project again; its table may be named anew."""
    bench, form = visit.bench, visit.form
    elsewhere = None
    if form.text("path"):
        path = bench.allowed.locate(form.text("path"))
        held = bench.shelf.find(form.text("project")).read()
        request = TableRequest.from_dict(held["table"], str(held["name"]))
        elsewhere = replace(request, location=replace(request.location, place=str(path)))
    bench.open_again(form.text("project"), elsewhere)
    return go("/job")


def remove_project(visit: Visit) -> Response:
    """Remove a project that is not open."""
    bench, given = visit.bench, visit.form.text("project")
    if bench.project is not None and bench.project.folder.id == given:
        bench.close()
    bench.shelf.remove(given)
    return go("/")


def close_project(visit: Visit) -> Response:
    """Leave the project."""
    visit.bench.close()
    return go("/")


def show_job(visit: Visit) -> Response:
    """The work that goes on; once it is over, the page that waited for it."""
    job = visit.bench.job
    if job is None:
        return go("/")
    if job.state == "done":
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
    """Take a dropped file, and open it."""
    bench = site.bench
    try:
        if bench.is_receiving or bench.is_busy:
            raise Refused(409, str(site.texts.errors.busy))
        bench.is_receiving = True
        try:
            name = check_name(unquote(request.headers.get("x-file-name", ""), errors="strict"))
            own = bench.shelf.begin() if request.headers.get("x-keep-copy") == "yes" else None
            folder = bench.shelf.new_incoming() if own is None else own.folder
            path = folder / f"table{_suffixes(name)}"
            await receive_file(request, path, bench.most_upload)
        finally:
            bench.is_receiving = False
            bench.shelf.tidy()
        bench.open_new(TableRequest(TableLocation(str(path)), name, {}), own)
    except Refused as refused:
        return PlainTextResponse(refused.why, refused.status, {"connection": "close"})
    except BusyWorkError:
        return PlainTextResponse(str(site.texts.errors.busy), 409)
    except (TcloseError, UnicodeDecodeError) as error:
        return PlainTextResponse(str(error) if isinstance(error, TcloseError) else "The name cannot be read.", 422)
    return JSONResponse({"go": "/job"})


def _suffixes(name: str) -> str:
    """The suffix of a table, with `.gz` if it has that."""
    parts = name.lower().split(".")
    return "." + ".".join(parts[-2:] if parts[-1] == "gz" and len(parts) > 2 else parts[-1:])


def show_table(visit: Visit) -> Response:
    """The profile of each column, with its guess."""
    project = visit.bench.the_project()
    return visit.page("table.html", "open", columns=profiles(project.table.proposal), table=project.table, rows=None)


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
