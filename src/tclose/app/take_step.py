"""Take away: release, certificate, reports, record and schema as files, and the same as a command and a script."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from starlette.responses import FileResponse, Response
from starlette.routing import Route

from tclose.app.file_writing import OUT, PRIVATE_FILES, FileRequest, write_run
from tclose.app.kept_runs import CLASSES, SCHEMA, KeptRun
from tclose.app.run_step import MOST_ATTACKED
from tclose.app.site import NotFoundError, Site, Visit, go
from tclose.app.texts import said
from tclose.app.workbench import OpenProject
from tclose.errors import SchemaError
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.table.formats.database_urls import POSTGRESQL, database_of
from tclose.table.table_location import TableLocation

FORMATS = ("csv", "csv.gz", "tsv", "parquet", "arrow", "jsonl")


def routes(site: Site) -> list[Route]:
    """The addresses of this step."""
    return [
        site.get("/take", show_latest),
        site.get("/take/{run:int}", show_take),
        site.post("/take/{run:int}", write_files, show_take),
        site.get("/take/{run:int}/file/{name}", download),
    ]


@dataclass(frozen=True)
class TakenFile:
    """A file to take away: its name, its bytes, and whether it may be given to others without a look at it."""

    name: str
    size: int
    is_public: bool

    @property
    def is_release(self) -> bool:
        """Whether it is the table itself."""
        return self.name in {f"release.{kind}" for kind in FORMATS}


def show_latest(visit: Visit) -> Response:
    """The last run that came to an end."""
    project = visit.bench.the_project()
    done = [run.number for run in project.runs.values() if run.state == "done"]
    if done:
        return go(f"/take/{max(done)}")
    return visit.page("nothing.html", "take")


def _run(visit: Visit) -> tuple[OpenProject, KeptRun]:
    project = visit.bench.the_project()
    run = project.runs.get(visit.number("run"))
    if run is None or run.state != "done":
        raise NotFoundError
    return project, run


def show_take(visit: Visit) -> Response:
    """The files, and what makes them again."""
    project, run = _run(visit)
    folder = project.folder.run_folder(run.number)
    others = [each for each in sorted(project.runs) if project.runs[each].state == "done"]
    return visit.page(
        "take.html", "take", run=run, files=files_of(folder / OUT), formats=FORMATS, others=others,
        folder=str(folder / OUT), is_unchecked=_is_unchecked(folder / SCHEMA),
        command=command_for(project, run), script=script_for(project, run), is_temporary=project.is_temporary,
        has_pdf=find_spec("weasyprint") is not None, is_attacked=run.number in project.attacks,
        wants_private=run.number in project.attacks or project.table.source.n_rows <= MOST_ATTACKED,
        has_password=database_of(project.request.kept_place) == POSTGRESQL,
    )  # fmt: skip


def _is_unchecked(path: Path) -> bool:
    """Whether the schema of a run keeps columns that were not checked."""
    schema = Schema.load(path)
    return schema.keep_unchecked and bool(schema.keep)


def lists_values(schema: Schema) -> bool:
    """Whether a schema lists values, in a tree or an order: they may be values of the table that the release hides."""
    trees = [*(each.hierarchy for each in schema.quasi), *(each.hierarchy for each in schema.sensitive)]
    listed = [*(each.order for each in schema.sensitive), *(each.matrix for each in schema.sensitive)]
    return any(isinstance(tree, Hierarchy) for tree in trees) or any(each is not None for each in listed)


def files_of(folder: Path) -> list[TakenFile]:
    """What was written, those first that may be given away."""
    if not folder.is_dir():
        return []
    private = set(PRIVATE_FILES)
    if (folder / SCHEMA).is_file() and lists_values(Schema.load(folder / SCHEMA)):
        private.add(SCHEMA)
    found = [
        TakenFile(each.name, each.stat().st_size, each.name not in private)
        for each in sorted(folder.iterdir())
        if not each.name.startswith(".")
    ]
    return sorted(found, key=lambda file: not file.is_public)


def write_files(visit: Visit) -> Response:
    """Write and verify everything, in the background."""
    project, run = _run(visit)
    form, kind = visit.form, visit.form.text("format")
    if kind not in FORMATS:
        raise SchemaError(said("no_format"))
    asked = FileRequest(
        kind, form.has("escape") and kind in ("csv", "csv.gz", "tsv"), form.has("pdf"), form.has("private")
    )
    visit.bench.begin(
        "write", f"/take/{run.number}", lambda job: write_run(visit.bench, project, run.number, asked, job)
    )
    return go("/job")


def download(visit: Visit) -> Response:
    """One of the files."""
    project, run = _run(visit)
    folder = project.folder.run_folder(run.number)
    name = visit.request.path_params["name"]
    made = {
        "anonymize.sh": f"{command_for(project, run)}\n",
        "anonymize.py": script_for(project, run),
    }
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    if name in made:
        return Response(made[name], media_type="text/plain; charset=utf-8", headers=headers)
    known = {file.name: folder / OUT / file.name for file in files_of(folder / OUT)} | {CLASSES: folder / CLASSES}
    if name not in known:
        raise NotFoundError
    return FileResponse(known[name], media_type="application/octet-stream", headers=headers)


def _method_options(run: KeptRun) -> list[str]:
    return [part for name, value in run.options.items() for part in ("--option", f"{name}={value}")]


def command_for(project: OpenProject, run: KeptRun) -> str:
    """The command that makes the same classes: by the seed, or from the classes that were kept."""
    location, folder = project.request.location, project.folder.run_folder(run.number)
    place = project.request.kept_place
    parts = ["tclose", "anonymize", place, *location.options, "-s", str(folder / SCHEMA), "-o", "release.csv"]
    parts += ["--method", run.method, *_method_options(run), "--seed", str(run.seed), "--record", "record.json"]
    parts += ["--allow-single-class"] if run.allow_single_class else []
    if not run.is_repeatable:
        parts += ["--start", str(folder / CLASSES), "--time", "0"]
    return shlex.join(parts)


def script_for(project: OpenProject, run: KeptRun) -> str:
    """The same in Python."""
    location, folder = project.request.location, project.folder.run_folder(run.number)
    method = f"tclose.algorithms.find({run.method!r}, {run.options!r})" if run.options else repr(run.method)
    table = _table_in_python(location, project.request.kept_place)
    single = "    allow_single_class=True,\n" if run.allow_single_class else ""
    start = "" if run.is_repeatable else f"    start=tclose.Partition.load({str(folder / CLASSES)!r}),\n    time=0,\n"
    return (
        '"""Makes the same release again: the same classes, in another random order of rows."""\n\n'
        f"import tclose\nimport tclose.algorithms\n\nrelease = tclose.anonymize(\n    {table},\n"
        f"    {str(folder / SCHEMA)!r},\n    method={method},\n    seed={run.seed},\n{start}{single})\n"
        'release.write("release.csv", record="record.json")\n'
    )


def _table_in_python(location: TableLocation, place: str) -> str:
    named = [(key, getattr(location, key)) for key in ("format", "sheet", "codes", "table", "query")]
    rest = "".join(f", {key}={value!r}" for key, value in named if value)
    return f"tclose.TableLocation({place!r}{rest})" if rest else repr(place)
