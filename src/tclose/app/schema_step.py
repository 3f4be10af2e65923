"""A schema that exists already: taken for the open table, by its path or as text; and what is settled, as a schema."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from tclose.app.column_forms import check_column
from tclose.app.columns_step import show_columns
from tclose.app.matrix_step import matrix_keys
from tclose.app.open_table import AllowedFolder
from tclose.app.project_settings import ProjectSettings
from tclose.app.project_shelf import ProjectFolder
from tclose.app.site import Site, Visit, go
from tclose.app.texts import said
from tclose.app.workbench import OpenProject
from tclose.errors import SchemaError
from tclose.release.atomic import PRIVATE, write_whole
from tclose.schema.guarding import read_small
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.schema.toml import keys_of_text, read_toml

SchemaTable = Mapping[str, Any]


def routes(site: Site) -> list[Route]:
    """The addresses of this step."""
    return [
        site.post("/columns/schema", take_schema, show_columns),
        site.get("/columns/schema/file", download),
    ]


def take_schema(visit: Visit) -> Response:
    """Settle all that a schema says of the columns of the table."""
    form, bench = visit.form, visit.bench
    with bench.lock:
        project = bench.check_revision(form.number("revision"))
        if form.text("path"):
            path = bench.allowed.locate(form.text("path"))
            schema = _read(read_toml(path), path.parent, bench.allowed)
        elif form.text("text"):
            schema = _read(keys_of_text(form.text("text"), Path("schema.toml")), None, bench.allowed)
        else:
            raise SchemaError(said("no_schema"))
        schema = schema.resolve(list(project.settings.columns))
        settings = _settled(project, schema)
        if tuple(settings.keys.get("missing_values", ())) != project.table.spelled:
            bench.look_again(project, settings, has_own_keys=True)
            return go("/job")
        for name, column in settings.columns.items():
            keys = {"quasi": column.quasi, "sensitive": column.sensitive}.get(column.role, {})
            check_column(project.table.proposal.guesses[name], column.role, keys, settings.keys)
        project.change(settings)
    return go("/columns")


def _read(keys: dict[str, Any], base: Path | None, allowed: AllowedFolder) -> Schema:
    """The schema of these keys; what is undecided in it stays open, and files it names must be ones that can be opened.

    `base` is the folder its paths are relative to; None if it came as text, which has none.
    """
    keys.pop("undecided", None)
    for named in _files(keys):
        if base is None:
            raise SchemaError(said("schema_files"))
        allowed.locate(str(base / named))
    return Schema.from_dict(keys, base or ".")


def _files(keys: SchemaTable) -> Iterator[str]:
    """The files that the keys of a schema name."""
    for role in ("quasi", "sensitive"):
        tables = keys.get(role, {})
        for table in tables.values() if isinstance(tables, Mapping) else ():
            for key in ("hierarchy", "matrix") if isinstance(table, Mapping) else ():
                if isinstance(table.get(key), str):
                    yield table[key]
    if isinstance(keys.get("workload"), str):
        yield keys["workload"]


def _settled(project: OpenProject, schema: Schema) -> ProjectSettings:
    absent = [name for name in schema.columns if name not in project.settings.columns]
    if absent:
        listed = ", ".join(f"'{name}'" for name in absent[:5]) + (", ..." if len(absent) > 5 else "")
        raise SchemaError(said("absent_columns", names=listed))
    return project.settings.with_schema(schema.columns, inline_keys(schema, project.folder))


def inline_keys(schema: Schema, folder: ProjectFolder) -> dict[str, Any]:
    """The keys of a schema that names no file outside its project: trees and matrices inline, the workload copied."""
    keys = schema.as_dict(folder.folder)
    for quasi in schema.quasi:
        if isinstance(quasi.hierarchy, Hierarchy):
            keys["quasi"][quasi.column]["hierarchy"] = quasi.hierarchy.nested()
    for each in schema.sensitive:
        if each.hierarchy is not None:
            keys["sensitive"][each.column]["hierarchy"] = each.hierarchy.nested()
        if each.matrix is not None:
            keys["sensitive"][each.column]["matrix"] = matrix_keys(each.matrix)
    if schema.workload is not None:
        keys["workload"] = keep_workload(read_small(Path(schema.workload), "Workload").encode(), folder)
    return keys


def keep_workload(text: bytes, folder: ProjectFolder) -> str:
    """Keep queries in the project's folder, under a name by what they are: undo finds the ones before again."""
    name = f"workload-{hashlib.sha256(text).hexdigest()[:12]}.csv"
    write_whole(folder.folder / name, text, PRIVATE)
    return name


def download(visit: Visit) -> Response:
    """What is settled, as a schema."""
    project = visit.bench.the_project()
    text = project.settings.schema(project.folder.folder).to_toml(project.folder.folder)
    headers = {"content-disposition": 'attachment; filename="schema.toml"'}
    return Response(text, media_type="text/plain; charset=utf-8", headers=headers)
