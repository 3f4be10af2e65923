"""Joints: sensitive attributes whose combinations are promised to be close; part of the page of the promise."""

from __future__ import annotations

from decimal import Decimal

from starlette.responses import Response
from starlette.routing import Route

from tclose.app.project_settings import ProjectSettings
from tclose.app.promise_step import show_promise
from tclose.app.site import NotFoundError, Site, Visit, go
from tclose.app.texts import said
from tclose.app.workbench import OpenProject
from tclose.errors import SchemaError
from tclose.schema.toml import exact


def routes(site: Site) -> list[Route]:
    """The addresses of this part of a step."""
    return [
        site.post("/promise/joint", add_joint, show_promise),
        site.post("/promise/joint/remove", remove_joint, show_promise),
    ]


def add_joint(visit: Visit) -> Response:
    """Bind ticked attributes together; a joint of the same name is replaced."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        names = list(project.settings.columns)
        ticked = [int(each) for each in form.every("column") if each.isascii() and each.isdigit()]
        if not all(place < len(names) for place in ticked):
            raise NotFoundError
        columns = [names[place] for place in ticked]
        if len(columns) < 2:
            raise SchemaError(said("two_attributes"))
        t = form.text("t").replace(",", ".")
        name = form.text("name") or said("joint_name", names=" & ".join(columns))
        exact(t, said("the_joint"), "t")
        joints = {**project.settings.keys.get("joint", {}), name: {"columns": columns, "t": as_given(t)}}
        settle(project, project.settings.with_keys(joint=joints))
    return go("/promise")


def as_given(text: str) -> Decimal | str:
    """A number as a schema keeps it: a decimal as it is written, a fraction as text."""
    return text if "/" in text else Decimal(text)


def remove_joint(visit: Visit) -> Response:
    """Take a joint out."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        joints = dict(project.settings.keys.get("joint", {}))
        place = form.number("joint")
        if place is None or place >= len(joints):
            raise NotFoundError
        del joints[list(joints)[place]]
        project.change(project.settings.with_keys(joint=joints or None))
    return go("/promise")


def settle(project: OpenProject, settings: ProjectSettings) -> None:
    """Settle something about the whole table, unless it makes a promise impossible that was possible before.

    Raises
    ------
    SchemaError
        What no schema could keep; nothing is changed then.
    """
    base = project.folder.folder
    trouble = settings.trouble(base)
    if trouble and trouble != project.settings.trouble(base):
        raise SchemaError(*trouble.split("\n"))
    project.change(settings)
