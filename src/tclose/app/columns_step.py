"""Columns: what each is, and how it is read and released; one at a time or many, with undo."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from tclose.app.column_forms import CHOOSING, check_column, read_keys, shown_fields
from tclose.app.column_profile import commonest, profiles, singling_out
from tclose.app.project_settings import OPEN, ROLES, ColumnSettings
from tclose.app.site import NotFoundError, Site, Visit, go
from tclose.app.texts import said
from tclose.app.workbench import BusyWorkError, OpenProject
from tclose.errors import SchemaError, TcloseError
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.hierarchy_edits import read_arx_text
from tclose.schema.schema import POLICIES, UNIT_PICKS, UNIT_ROWS
from tclose.table.proposing.first_hierarchies import grouped
from tclose.table.proposing.guesses import ColumnGuess
from tclose.table.reading import texts

MOST_IN_MATRIX = 100  # values of an attribute whose matrix is begun here


def routes(site: Site) -> list[Route]:
    """The addresses of this step."""
    return [
        site.get("/columns", show_columns),
        site.get("/columns/{column:int}", show_column),
        site.post("/columns/roles", set_roles, show_columns),
        site.post("/columns/guesses", take_guesses, show_columns),
        site.post("/columns/{column:int}", set_column, show_column),
        site.post("/columns/table", set_table_keys, show_columns),
        site.post("/undo", undo, show_columns),
        site.post("/redo", redo, show_columns),
    ]


def guess_at(project: OpenProject, number: int) -> ColumnGuess:
    """The guess of the column at a place of the table."""
    guesses = list(project.table.proposal.guesses.values())
    if not 0 <= number < len(guesses):
        raise NotFoundError
    return guesses[number]


def show_columns(visit: Visit) -> Response:
    """All columns, and which combinations single people out."""
    project = visit.bench.the_project()
    settings, guesses = project.settings, project.table.proposal.guesses
    alone = singling_out([guesses[name] for name in settings.having("quasi")])
    counts = {role: len(settings.having(role)) for role in ROLES}
    first_open = next((place for place, each in enumerate(settings.columns.values()) if each.role == OPEN), None)
    return visit.page(
        "columns.html", "columns", columns=profiles(project.table.proposal), settings=settings, roles=ROLES,
        alone=alone, counts=counts, first_open=first_open, questions=project.questions, policies=POLICIES,
        unit_rows=UNIT_ROWS, unit_picks=UNIT_PICKS, schemas=visit.bench.allowed.schemas(),
        has_schema=not settings.trouble(project.folder.folder), doubtful=project.table.proposal.spellings.doubtful,
    )  # fmt: skip


def show_column(visit: Visit) -> Response:
    """One column: its role and its keys, each with what it means."""
    project = visit.bench.the_project()
    number = visit.number("column")
    guess = guess_at(project, number)
    column = project.settings.columns[guess.column]
    keys = {"quasi": column.quasi, "sensitive": column.sensitive}.get(column.role, {})
    return visit.page(
        "column.html", "columns", profile=profiles(project.table.proposal)[number], column=column, keys=keys,
        fields=shown_fields(column.role, keys, guess.evidence.form), roles=ROLES, common=commonest(guess.evidence),
        number=number, n_columns=len(project.settings.columns), formats=_unsettled_formats(guess, column),
    )  # fmt: skip


def _unsettled_formats(guess: ColumnGuess, column: ColumnSettings) -> tuple[str, ...]:
    """In which ways its dates can be read, if nobody has said which."""
    is_settled = "format" in column.quasi or "format" in column.sensitive
    return () if is_settled else guess.evidence.formats


def _chosen(visit: Visit, project: OpenProject) -> list[str]:
    names = list(project.settings.columns)
    places = [int(each) for each in visit.form.every("column") if each.isascii() and each.isdigit()]
    if not places:
        raise SchemaError(said("tick_column"))
    if not all(place < len(names) for place in places):
        raise NotFoundError
    return [names[place] for place in places]


def set_roles(visit: Visit) -> Response:
    """Give one role to one column or to many."""
    with visit.bench.lock:
        project = visit.bench.check_revision(visit.form.number("revision"))
        role = visit.form.text("role")
        names = _chosen(visit, project)
        _change_roles(project, dict.fromkeys(names, role))
    return go("/columns")


def take_guesses(visit: Visit) -> Response:
    """Give every open column the role that it seems to have; what nothing speaks for stays open."""
    with visit.bench.lock:
        project = visit.bench.check_revision(visit.form.number("revision"))
        guesses = project.table.proposal.guesses
        open_ones = project.settings.having(OPEN)
        _change_roles(project, {name: guesses[name].role for name in open_ones if guesses[name].role != "unit"})
    return go("/columns")


def _change_roles(project: OpenProject, roles: dict[str, str]) -> None:
    settings = project.settings
    for name, role in roles.items():
        if role not in ROLES:
            raise SchemaError(said("no_role"))
        guess, column = project.table.proposal.guesses[name], settings.columns[name]
        keys = {"quasi": column.quasi, "sensitive": column.sensitive}.get(role, {})
        check_column(guess, role, keys, settings.keys)
        settings = settings.with_column(name, role=role)
    project.change(settings)


def set_column(visit: Visit) -> Response:
    """Change the role or the keys of one column, if its values fit."""
    number, form = visit.number("column"), visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        guess = guess_at(project, number)
        column = project.settings.columns[guess.column]
        role = form.text("role") or column.role
        if role not in ROLES:
            raise SchemaError(said("no_role"))
        changes: dict[str, Any] = {"role": role}
        if form.text("date_format") in guess.evidence.formats:
            dated = guess.with_format(form.text("date_format"))
            changes = {"quasi": dict(dated.quasi or {}), "sensitive": dict(dated.sensitive or {})}
        elif role in CHOOSING:
            before = getattr(column, role)
            keys = read_keys(role, before, form) if role == column.role else dict(before)
            if keys.get("distance") == "hierarchical" and "hierarchy" not in keys:
                keys["hierarchy"] = first_tree(guess).nested()
            if keys.get("distance") == "matrix" and "matrix" not in keys:
                keys["matrix"] = first_matrix(guess)
            check_column(guess, role, keys, project.settings.keys)
            changes[role] = keys
        project.change(project.settings.with_column(guess.column, **changes))
    return go(f"/columns/{number}")


def first_tree(guess: ColumnGuess) -> Hierarchy:
    """A hierarchy to begin with: rare values together, or all values side by side."""
    text = grouped(guess.evidence)
    if text is not None:
        try:
            return read_arx_text(text)
        except TcloseError:
            pass
    assert guess.evidence.coded is not None
    return Hierarchy.flat(texts(guess.evidence.coded.values.drop_nulls()).to_list())


def first_matrix(guess: ColumnGuess) -> dict[str, Any]:
    """A matrix to begin with: all values are equally far apart."""
    assert guess.evidence.coded is not None
    labels = texts(guess.evidence.coded.values.drop_nulls()).to_list()
    if len(labels) > MOST_IN_MATRIX:
        raise SchemaError(said("large_matrix", name=guess.column, n=len(labels), most=MOST_IN_MATRIX))
    return {"values": labels, "costs": [[int(one != other) for other in labels] for one in labels]}


def set_table_keys(visit: Visit) -> Response:
    """Say what holds for the whole table: missing values, and what a row is."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        policy = form.text("missing") or None
        if policy not in (None, *POLICIES):
            raise SchemaError(said("no_choice"))
        spelled = [part.strip() for part in form.text("missing_values").split(";") if part.strip()]
        if form.has("doubtful"):
            spelled += [each for each in project.table.proposal.spellings.doubtful if each not in spelled]
            policy = policy or "category"
        settings = project.settings.with_keys(
            missing=policy, missing_values=spelled or None, **_unit_keys(visit, project)
        )
        if tuple(spelled) == project.spelled:
            project.change(settings)
            return go("/columns")
        visit.bench.look_again(project, settings)
    return go("/job")


def _unit_keys(visit: Visit, project: OpenProject) -> dict[str, Any]:
    """What becomes of several rows of a person: which are kept, and by which column."""
    form = visit.form
    if not project.settings.having("unit"):
        return {}
    rows, pick = form.text("unit_rows") or None, form.text("unit_pick") or None
    if rows not in (None, *UNIT_ROWS) or pick not in (None, *UNIT_PICKS):
        raise SchemaError(said("no_choice"))
    if rows != "one" or pick == "random":
        pick = None
    names, place = list(project.settings.columns), form.number("unit_order")
    if pick is not None and (place is None or place >= len(names)):
        raise SchemaError(said("unit_order"))
    order = names[place] if pick is not None and place is not None else None
    if order is not None and project.settings.columns[order].role == "unit":
        raise SchemaError(said("unit_order"))
    return {"unit_rows": rows, "unit_pick": pick, "unit_order": order}


def undo(visit: Visit) -> Response:
    """Go back by one change."""
    return _step(visit, "undo")


def redo(visit: Visit) -> Response:
    """Go on by one change."""
    return _step(visit, "redo")


def _step(visit: Visit, way: str) -> Response:
    with visit.bench.lock:
        project = visit.bench.check_revision(visit.form.number("revision"))
        getattr(project.history, way)()
        try:
            looks_again = visit.bench.follow_missing(project)
        except BusyWorkError:
            getattr(project.history, {"undo": "redo", "redo": "undo"}[way])()
            raise
        project.save()
    if looks_again:
        return go("/job")
    back = visit.form.text("back")
    return go(back if back in ("/columns", "/hierarchies", "/promise", "/run") else "/columns")
