"""The pages: templates, what all of them show, and how a request becomes a page or a sentence about what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tclose.app.access_keys import AccessKeys
from tclose.app.background_job import problem_of
from tclose.app.column_forms import shown_value
from tclose.app.page_words import in_page_words
from tclose.app.posted_forms import PostedForm
from tclose.app.texts import TextGroup, load_texts
from tclose.app.workbench import BusyWorkError, StaleError, Workbench, as_page
from tclose.errors import TcloseError, printable
from tclose.pages.page import STYLE
from tclose.pages.svg import svg_style

STEPS = ("open", "columns", "hierarchies", "promise", "run", "look", "take")
STATIC = {
    "app.css": "text/css", "app.js": "text/javascript", "enter.js": "text/javascript", "swap.js": "text/javascript",
    "job.js": "text/javascript", "drop.js": "text/javascript", "tree.js": "text/javascript",
    "charts.js": "text/javascript", "icon.svg": "image/svg+xml",
}  # fmt: skip
Show = Callable[["Visit"], Response]


class NotFoundError(Exception):
    """There is no such page."""


@dataclass(frozen=True, eq=False)
class Visit:
    """One request, and what answers it.

    Attributes
    ----------
    site
        All pages.
    request
        What was asked.
    problem
        What went wrong with what was posted: the page is shown again with it.
    """

    site: Site
    request: Request
    problem: str = ""

    @property
    def bench(self) -> Workbench:
        """What all pages share."""
        return self.site.bench

    @property
    def form(self) -> PostedForm:
        """What was posted."""
        found = self.request.scope.get("tclose.form", PostedForm())
        assert isinstance(found, PostedForm)
        return found

    def number(self, name: str) -> int:
        """A number in the address."""
        return int(self.request.path_params[name])

    def page(self, template: str, step: str, status: int = 200, **context: Any) -> Response:
        """A page; 422 where something was wrong with what was posted."""
        status = 422 if self.problem and status == 200 else status
        return HTMLResponse(self.site.render(template, step, problem=self.problem, **context), status)

    def ask_first(self, question: str, yes: str, back: str) -> Response | None:
        """A page that asks whether it is meant, before something is lost; None if the form says so already."""
        if self.form.has("sure"):
            return None
        kept = [pair for pair in self.form.fields if pair[0] not in ("form_token", "revision", "sure")]
        return self.page(
            "confirm.html", "", question=question, yes=yes, back=back, fields=kept, action=self.request.url.path
        )


@dataclass(eq=False)
class Site:
    """All pages of the app."""

    bench: Workbench
    keys: AccessKeys
    texts: TextGroup = field(default_factory=load_texts)
    templates: Environment = field(init=False)

    def __post_init__(self) -> None:
        self.templates = Environment(
            loader=PackageLoader("tclose.app", "templates"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self.templates.filters |= {
            "count": lambda number: f"{number:,}",
            "bytes": size_text,
            "percent": share_text,
            "printable": lambda text: printable(str(text)),
            "value": shown_value,
            "words": lambda text: "\n".join(printable(line) for line in in_page_words(str(text)).split("\n")),
        }
        self.templates.globals["t"] = self.texts

    def render(self, template: str, step: str, **context: Any) -> str:
        """A page as HTML."""
        bench = self.bench
        project = bench.project
        told: dict[str, Any] = {
            "step": step,
            "steps": STEPS,
            "form_token": self.keys.form_token,
            "project": project,
            "revision": "" if project is None else project.history.revision,
            "job": as_page(bench.job),
            "problem": "",
            "stages": dict(self.texts.stages.items()),
        }
        told["hidden"] = Markup(
            '<input type="hidden" name="form_token" value="{}"><input type="hidden" name="revision" value="{}">'
        ).format(told["form_token"], told["revision"])
        return self.templates.get_template(template).render(**{**told, **context})

    def get(self, path: str, show: Show) -> Route:
        """A page at an address."""
        return Route(path, self._endpoint(show, None), methods=["GET"])

    def post(self, path: str, act: Show, back: Show) -> Route:
        """What a form does; if it cannot, the page it stands on is shown again with the reason."""
        return Route(path, self._endpoint(act, back), methods=["POST"])

    def _endpoint(self, act: Show, back: Show | None) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            visit = Visit(self, request)
            try:
                return act(visit)
            except NotFoundError:
                return self._sentence(visit, self.texts.errors.not_found, 404)
            except StaleError:
                return self._again(visit, back, self.texts.errors.stale, 409)
            except BusyWorkError:
                return self._again(visit, back, self.texts.errors.busy, 409)
            except TcloseError as error:
                return self._again(visit, back, str(error), 422)
            except Exception as error:
                return self._sentence(visit, problem_of(error), 500)

        return answer

    def _again(self, visit: Visit, back: Show | None, problem: str, status: int) -> Response:
        """The page that the form stands on, with what is wrong; a plain one where that cannot be shown either."""
        if back is not None:
            try:
                found = back(Visit(self, visit.request, problem))
                found.status_code = status
                return found
            except (TcloseError, NotFoundError):
                pass
        return self._sentence(visit, problem, status)

    def _sentence(self, visit: Visit, problem: str, status: int) -> Response:
        return HTMLResponse(self.render("sentence.html", "", problem=problem), status)

    def application(self, routes: list[Route]) -> Starlette:
        """The app behind the gate."""
        own = [Route("/static/{name}", self._static, methods=["GET"]), Route("/job.json", self._job, methods=["GET"])]
        return Starlette(routes=[*own, *routes], exception_handlers={404: self._missing, 405: self._missing})

    def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "pages.css":
            return Response(f"{STYLE}\n{svg_style()}", media_type="text/css")
        if name not in STATIC:
            return self._sentence(Visit(self, request), self.texts.errors.not_found, 404)
        return Response(files("tclose.app").joinpath("static", name).read_bytes(), media_type=STATIC[name])

    def _job(self, request: Request) -> Response:
        return JSONResponse(as_page(self.bench.job))

    def _missing(self, request: Request, error: Exception) -> Response:
        return self._sentence(Visit(self, request), self.texts.errors.not_found, getattr(error, "status_code", 404))


def ask_about_work(visit: Visit, yes: str) -> Response | None:
    """A page that asks whether to go on although that stops the work that goes on; None where none does."""
    job, texts = visit.bench.job, visit.site.texts
    if job is None or not job.is_running:
        return None
    return visit.ask_first(texts.confirm.work_goes_on.format(kind=texts.job[job.kind]), yes, job.back)


def go(where: str) -> Response:
    """On to another page."""
    return RedirectResponse(where, 303)


def size_text(size: int) -> str:
    """Bytes for people.

    Examples
    --------
    >>> size_text(4 * 10**9), size_text(1_500_000), size_text(5_389), size_text(12)
    ('4 GB', '1.5 MB', '5.39 kB', '12 bytes')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"


def share_text(share: float | None, digits: int = 1) -> str:
    """A share for people.

    Examples
    --------
    >>> share_text(0.1234), share_text(0.0), share_text(0.00001)
    ('12.3 %', '0 %', '< 0.1 %')
    """
    if share is None:
        return ""
    if 0 < share < 0.5 * 10 ** -(digits + 2):
        return f"< {10**-digits:g} %"
    return f"{100 * share:.{digits}f}".rstrip("0").rstrip(".") + " %" if share else "0 %"
