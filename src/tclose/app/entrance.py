"""The way in and out: the link's token is exchanged for a cookie, and a button ends the app."""

from __future__ import annotations

from threading import Timer

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tclose.app.site import Site, Visit, ask_about_work

SECONDS_TO_SAY_SO = 0.7  # in which the last page is loaded with its style


def routes(site: Site, secure: bool) -> list[Route]:
    """The addresses of both."""

    def enter(visit: Visit) -> Response:
        if not site.keys.exchange(visit.form.text("token")):
            return visit.page("enter.html", "", 403, is_used=True)
        bench = visit.bench  # a table that the command named is shown once it is open
        answer = RedirectResponse("/job" if bench.job is not None else "/", 303)
        answer.headers["set-cookie"] = site.keys.set_cookie(secure)
        return answer

    def end(visit: Visit) -> Response:
        if (asked := ask_about_work(visit, site.texts.app.yes_end)) is not None:
            return asked
        Timer(SECONDS_TO_SAY_SO, visit.bench.end).start()
        return visit.page("ended.html", "")

    return [site.get("/enter", show_enter), site.post("/enter", enter, show_enter), site.post("/end", end, show_enter)]


def show_enter(visit: Visit) -> Response:
    """A page that hands in the token of the link, which stands behind `#` and so in no log."""
    return visit.page("enter.html", "", is_used=False)
