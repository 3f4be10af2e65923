"""What may be given up for a better release, and what the release is to be good for."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from tclose.app.column_forms import FormField, read_value
from tclose.app.joint_forms import settle
from tclose.app.promise_step import show_promise
from tclose.app.schema_step import keep_workload
from tclose.app.site import NotFoundError, Site, Visit, go
from tclose.app.texts import said
from tclose.app.workbench import OpenProject
from tclose.errors import SchemaError
from tclose.schema.objectives import OBJECTIVES
from tclose.schema.schema import RECODINGS
from tclose.schema.toml import as_number


def routes(site: Site) -> list[Route]:
    """The addresses of this part of a step."""
    return [site.post("/promise/objective", set_objective, show_promise)]


def set_objective(visit: Visit) -> Response:
    """Settle recoding, rows that may be left out, kept columns and the objective."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        recode, objective = form.text("recode") or RECODINGS[0], form.text("objective") or OBJECTIVES[0]
        if recode not in RECODINGS or objective not in OBJECTIVES:
            raise SchemaError(said("no_choice"))
        keys: dict[str, Any] = {
            "recode": None if recode == RECODINGS[0] else recode,
            "objective": None if objective == OBJECTIVES[0] else objective,
            "suppress_rows": _share(form.text("suppress_rows")),
            "keep_unchecked": True if form.has("keep_unchecked") else None,
            "target": _target(visit, project) if objective == "classify" else None,
            "workload": None,
        }
        if objective == "queries" and form.text("workload"):
            text = form.text("workload").replace("\r\n", "\n") + "\n"
            keys["workload"] = keep_workload(text.encode(), project.folder)
        settle(project, project.settings.with_keys(**keys))
    return go("/promise")


def _share(given: str) -> Decimal | int | str | None:
    """Percent as a share; None for nothing."""
    if not given:
        return None
    percent = read_value(FormField("suppress_rows", sort="number"), given.removesuffix("%").strip())
    share = Fraction(percent) / 100
    if not 0 <= share < 1:
        raise SchemaError(said("percent"))
    return as_number(share) if share else None


def _target(visit: Visit, project: OpenProject) -> str:
    place = visit.form.number("target")
    names = list(project.settings.columns)
    if place is None:
        raise SchemaError(said("no_target"))
    if place >= len(names):
        raise NotFoundError
    return names[place]
