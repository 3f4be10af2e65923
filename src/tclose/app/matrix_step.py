"""The matrix of a sensitive attribute: how far each of its values is from each other, in a grid or as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from tclose.app.column_forms import check_column
from tclose.app.columns_step import guess_at
from tclose.app.posted_forms import PostedForm
from tclose.app.site import Site, Visit, go
from tclose.app.texts import said
from tclose.app.workbench import OpenProject
from tclose.errors import SchemaError
from tclose.schema.cost_matrix import CostMatrix
from tclose.schema.toml import as_number

MOST_IN_GRID = 12  # values; more do not fit a screen


def routes(site: Site) -> list[Route]:
    """The addresses of this step."""
    one = "/columns/{column:int}/matrix"
    return [
        site.get(one, show_matrix),
        site.get(f"{one}/file", download),
        site.post(one, set_matrix, show_matrix),
    ]


def _matrix(project: OpenProject, name: str) -> CostMatrix:
    column = project.settings.columns[name]
    held = column.sensitive.get("matrix")
    if column.role != "sensitive" or not isinstance(held, Mapping):
        raise SchemaError(said("no_matrix", name=name))
    return CostMatrix.of(held["costs"], held["values"])


def show_matrix(visit: Visit) -> Response:
    """The distances, to change."""
    project, number = visit.bench.the_project(), visit.number("column")
    name = guess_at(project, number).column
    matrix = _matrix(project, name)
    shown = [[str(as_number(cost)) for cost in row] for row in matrix.costs]
    return visit.page(
        "matrix.html", "columns", number=number, name=name, labels=matrix.values, costs=shown,
        in_grid=len(matrix.values) <= MOST_IN_GRID,
    )  # fmt: skip


def set_matrix(visit: Visit) -> Response:
    """Take the distances of the grid or of a text, if they are a metric and every value has one."""
    form, number = visit.form, visit.number("column")
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        guess = guess_at(project, number)
        before = _matrix(project, guess.column)
        found = _of_text(form.text("text")) if form.has("text") else _of_grid(form, before)
        keys = {**project.settings.columns[guess.column].sensitive, "matrix": matrix_keys(found)}
        check_column(guess, "sensitive", keys, project.settings.keys)
        project.change(project.settings.with_column(guess.column, sensitive=keys))
    return go(f"/columns/{number}/matrix")


def _of_grid(form: PostedForm, before: CostMatrix) -> CostMatrix:
    """The half above the diagonal is written; the other is the same."""
    size = len(before.values)
    costs: list[list[Any]] = [[0] * size for _ in range(size)]
    for row in range(size):
        for column in range(row + 1, size):
            given = form.text(f"c-{row}-{column}").replace(",", ".")
            costs[row][column] = costs[column][row] = given or as_number(before.costs[row][column])
    return CostMatrix.of(costs, before.values)


def _of_text(text: str) -> CostMatrix:
    """Lines with commas, semicolons or tabs between, as spreadsheets copy and save them."""
    first = text.partition("\n")[0]
    delimiter = next((sign for sign in ("\t", ";") if sign in first), ",")
    if delimiter == ",":
        return CostMatrix.of_text(text, said("the_matrix"))
    lines = [line for line in csv.reader(io.StringIO(text), delimiter=delimiter) if line]
    numbers = [[cell.replace(",", ".") if place else cell for place, cell in enumerate(line)] for line in lines[1:]]
    written = io.StringIO()
    csv.writer(written).writerows([*lines[:1], *numbers])
    return CostMatrix.of_text(written.getvalue(), said("the_matrix"))


def matrix_keys(matrix: CostMatrix) -> dict[str, Any]:
    """A matrix as a schema without files has it."""
    return {"values": list(matrix.values), "costs": [[as_number(cost) for cost in row] for row in matrix.costs]}


def download(visit: Visit) -> Response:
    """The matrix as the file that a schema can name."""
    project = visit.bench.the_project()
    matrix = _matrix(project, guess_at(project, visit.number("column")).column)
    written = io.StringIO()
    lines = [["", *matrix.values]]
    lines += [[name, *map(str, map(as_number, row))] for name, row in zip(matrix.values, matrix.costs, strict=True)]
    csv.writer(written).writerows(lines)
    headers = {"content-disposition": 'attachment; filename="matrix.csv"'}
    return Response(written.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)
