"""The way in and out: the link's token is exchanged for a cookie, and a button ends the app."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tclose.app.site import Site, Visit


def routes(site: Site, secure: bool) -> list[Route]:
    """The addresses of both."""

    def enter(visit: Visit) -> Response:
        if not site.keys.exchange(visit.form.text("token")):
            return visit.page("enter.html", "", 403, is_used=True)
        answer = RedirectResponse("/", 303)
        answer.headers["set-cookie"] = site.keys.set_cookie(secure)
        return answer

    def end(visit: Visit) -> Response:
        visit.bench.end()
        return visit.page("ended.html", "")

    return [site.get("/enter", show_enter), site.post("/enter", enter, show_enter), site.post("/end", end, show_enter)]


def show_enter(visit: Visit) -> Response:
    """A page that hands in the token of the link, which stands behind `#` and so in no log."""
    return visit.page("enter.html", "", is_used=False)
