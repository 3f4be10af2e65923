"""The gate: every request passes it before any route sees it, and every answer on its way out.

A request is let in if it is addressed to this very server (`Host`), comes from its own pages (`Origin`,
`Sec-Fetch-Site`), brings the cookie, and, if it changes anything, the token of a form. Nothing is changed by GET.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from tclose.app.access_keys import AccessKeys
from tclose.app.posted_forms import MOST_BYTES, PostedForm
from tclose.app.texts import said

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG = logging.getLogger(__name__)  # says what kind of thing happened, and never a path, a name or a cell
ENTER = "/enter"
OPEN_TO_ALL = frozenset({ENTER, "/static/enter.js", "/static/app.css", "/static/icon.svg"})
FORM, STREAM = "application/x-www-form-urlencoded", "application/octet-stream"
SHOWN_AS = ("document", "empty", "script", "style", "image")  # what browsers say a request is for; no frame
LONGEST_PATH = 512
FORM_SECONDS = 15.0
MOST_OF_STRANGERS = 4096  # bytes of the form that anybody may send: a token
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # `no-referrer` would make the Origin of a form `null`
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
    "x-robots-tag": "noindex",
}


class Refused(Exception):  # noqa: N818 - it is an answer
    """A request that is not let in: a status and a sentence."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


@dataclass(eq=False)
class Gate:
    """The app behind its checks.

    Attributes
    ----------
    inside
        The app itself.
    keys
        What opens it.
    authority, scheme
        What `Host` must be, and how the browser speaks to us: `127.0.0.1:40123`, `http`.
    last_used
        When somebody who was let in last asked for something.
    """

    inside: Application
    keys: AccessKeys
    authority: str
    scheme: str = "http"
    last_used: float = field(default_factory=time.monotonic)

    @property
    def origin(self) -> str:
        """What `Origin` is for our own pages."""
        return f"{self.scheme}://{self.authority}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and hand it on."""
        if scope["type"] == "lifespan":
            return await self.inside(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        answer = Answer(send)
        try:
            await self._let_in(scope, receive, answer)
        except Refused as refused:
            await answer.refuse(refused.status, refused.why)
        except Exception as error:  # its message may quote a cell
            LOG.error("something unforeseen went wrong (%s)", type(error).__name__)
            await answer.refuse(500, said("unforeseen"))
        return None

    async def _let_in(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        headers = _headers(scope)
        self._check_address(scope, headers)
        self._check_sender(scope, headers)
        is_public = scope["path"] in OPEN_TO_ALL
        if not is_public and not self.keys.is_cookie("; ".join(headers.get("cookie", []))):
            raise Refused(403, said("not_entered"))
        if scope["method"] == "POST":
            receive = await self._check_form(scope, headers, receive)
        if not is_public:
            self.last_used = time.monotonic()
        await self.inside(scope, receive, answer)

    def _check_address(self, scope: Scope, headers: dict[str, list[str]]) -> None:
        if headers.get("host") != [self.authority]:
            raise Refused(421, said("other_host"))
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise Refused(405, said("other_verb"))
        if scope.get("query_string"):
            raise Refused(400, said("no_query"))
        if len(scope.get("raw_path") or b"") > LONGEST_PATH:
            raise Refused(414, said("long_address"))

    def _check_sender(self, scope: Scope, headers: dict[str, list[str]]) -> None:
        origins, changes = headers.get("origin", []), scope["method"] == "POST"
        if (changes or origins) and origins != [self.origin]:
            raise Refused(403, said("other_origin"))
        is_entering = scope["path"] == ENTER and not changes  # from the terminal's link, or another program
        if not is_entering and any(site not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
            raise Refused(403, said("other_site"))
        if any(place not in SHOWN_AS for place in headers.get("sec-fetch-dest", [])):
            raise Refused(403, said("framed"))

    async def _check_form(self, scope: Scope, headers: dict[str, list[str]], receive: Receive) -> Receive:
        """Read a form and look for its token; a stream of bytes brings the token in a header, and is read later."""
        [kind, *others] = headers.get("content-type", [""])
        kind = kind.partition(";")[0].strip().lower()
        token = "".join(headers.get("x-form-token", []))
        if others or kind not in (FORM, STREAM):
            raise Refused(415, said("no_form"))
        if kind == FORM:
            form = await _read_form(headers, receive, MOST_OF_STRANGERS if scope["path"] == ENTER else MOST_BYTES)
            scope["tclose.form"] = form
            token = token or form.text("form_token")
        elif scope["path"] == ENTER:
            raise Refused(415, said("no_stream"))
        if scope["path"] != ENTER and not self.keys.is_form_token(token):
            raise Refused(403, said("old_form"))
        return receive if kind == STREAM else _after_form(receive)


class Answer:
    """The way out: every answer gets the headers that protect it, and none is sent twice."""

    def __init__(self, send: Send) -> None:
        self.send, self.has_begun = send, False

    async def __call__(self, message: Message) -> None:
        """Send a part of an answer."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            own = [(name, value) for name, value in message.get("headers", []) if name.decode().lower() not in HEADERS]
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*own, *added]}
        await self.send(message)

    async def refuse(self, status: int, why: str) -> None:
        """Send a sentence instead of a page."""
        if self.has_begun:
            return
        body = f"{why}\n".encode()
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await self({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
        await self.send({"type": "http.response.body", "body": body})


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


async def _read_form(headers: dict[str, list[str]], receive: Receive, most: int) -> PostedForm:
    told = "".join(headers.get("content-length", []))
    if told.isdigit() and int(told) > most:
        raise Refused(413, said("large_form"))
    try:
        return PostedForm.parse(await asyncio.wait_for(_read_all(receive, most), FORM_SECONDS))
    except TimeoutError:
        raise Refused(408, said("slow_form")) from None
    except ValueError:
        raise Refused(400, said("unread_form")) from None


async def _read_all(receive: Receive, most: int) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ValueError
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise Refused(413, said("large_form"))
        if not message.get("more_body"):
            return b"".join(parts)


def _after_form(receive: Receive) -> Receive:
    """What comes after a form that was read: nothing, and then whatever the connection says."""
    is_told = False

    async def rest() -> Message:
        nonlocal is_told
        if is_told:
            return await receive()
        is_told = True
        return {"type": "http.request", "body": b"", "more_body": False}

    return rest
