"""The server: on this machine alone, at a free port, until the terminal ends it or nobody uses it."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from tclose.algorithms import methods
from tclose.app import (
    columns_step,
    entrance,
    hierarchies_step,
    joint_forms,
    look_step,
    matrix_step,
    objective_form,
    open_step,
    promise_step,
    run_step,
    schema_step,
    take_step,
)
from tclose.app.access_keys import AccessKeys
from tclose.app.gate import Gate
from tclose.app.open_table import AllowedFolder
from tclose.app.project_shelf import ProjectShelf
from tclose.app.site import Site
from tclose.app.workbench import Workbench
from tclose.errors import SchemaError

LOOPBACK = "127.0.0.1"
STEPS = (
    open_step, matrix_step, schema_step, columns_step, hierarchies_step, promise_step, joint_forms, objective_form,
    run_step, look_step, take_step,
)  # fmt: skip
LOOK_SECONDS = 1.0  # between two looks at whether anybody uses it
SILENT_SECONDS = 20.0  # of a connection that asks for nothing


@dataclass(frozen=True)
class ServerOptions:
    """Where the app listens, and for how long.

    Attributes
    ----------
    host, port
        Loopback, and any free port, unless someone says otherwise.
    certificate, key
        TLS files: without them it is refused to listen where others could reach it.
    is_known
        Someone said that they know what it means to listen there.
    idle_minutes
        Without use, after which it ends.
    """

    host: str = LOOPBACK
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None
    is_known: bool = False
    idle_minutes: float = 60.0

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def check(self) -> None:
        """Refuse to listen where others could reach it, unless that is known and encrypted.

        Examples
        --------
        >>> ServerOptions("0.0.0.0", is_known=True).check()
        Traceback (most recent call last):
        tclose.errors.SchemaError: Others could reach this host. That needs --i-know, --tls-certificate and --tls-key.
        """
        if (self.certificate is None) != (self.key is None):
            raise SchemaError("TLS needs both files: --tls-certificate and --tls-key.")
        if not self.is_loopback and not (self.is_known and self.certificate is not None):
            raise SchemaError("Others could reach this host. That needs --i-know, --tls-certificate and --tls-key.")
        if not self.idle_minutes > 0:
            raise SchemaError("The minutes without use must be more than 0.")


@dataclass(eq=False)
class WebServer:
    """The app on a socket.

    Attributes
    ----------
    bench
        What all pages share.
    gate
        What every request passes.
    link
        What opens it, once.
    silent_since
        Connections that have asked for nothing yet, and since when.
    """

    bench: Workbench
    gate: Gate
    server: uvicorn.Server
    listening: socket.socket
    idle_minutes: float
    silent_since: dict[Any, float] = field(default_factory=dict)

    @classmethod
    def of(cls, bench: Workbench, options: ServerOptions) -> WebServer:
        """Listen, so that the port is known, and answer nobody yet."""
        options.check()
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        listening = socket.create_server((options.host, options.port), family=family)
        port = listening.getsockname()[1]
        shown = f"[{options.host}]" if ":" in options.host else options.host
        keys, scheme = AccessKeys(), "https" if options.certificate is not None else "http"
        gate = Gate(application(bench, keys, scheme == "https"), keys, f"{shown}:{port}", scheme)
        config = uvicorn.Config(
            gate, log_level="critical", access_log=False, server_header=False, lifespan="off", ws="none",
            limit_concurrency=100, timeout_keep_alive=10, timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=16384, ssl_certfile=options.certificate, ssl_keyfile=options.key,
        )  # fmt: skip
        server = uvicorn.Server(config)
        bench.end = lambda: setattr(server, "should_exit", True)
        return cls(bench, gate, server, listening, options.idle_minutes)

    @property
    def link(self) -> str:
        """What opens it, once: the token stands behind `#`, which no browser sends and no server logs."""
        return f"{self.gate.origin}/enter#{self.gate.keys.link_token}"

    def run(self) -> None:
        """Serve until someone ends it, or nobody uses it."""
        threading.Thread(target=methods, name="tclose methods", daemon=True).start()  # loads them before they are shown
        try:
            asyncio.run(self._serve())
        finally:
            self.bench.after()
            self.listening.close()

    async def _serve(self) -> None:
        watching = asyncio.create_task(self._end_when_idle())
        try:
            await self.server.serve(sockets=[self.listening])
        finally:
            watching.cancel()

    async def _end_when_idle(self) -> None:
        while not self.server.should_exit:
            await asyncio.sleep(min(LOOK_SECONDS, self.idle_minutes * 60))
            self._close_silent()
            idle = time.monotonic() - self.gate.last_used
            if idle > self.idle_minutes * 60 and not self.bench.is_busy and not self.bench.is_receiving:
                self.server.should_exit = True

    def _close_silent(self) -> None:
        """Close connections that have not asked for anything in a while: a hundred of them would keep everybody out."""
        now = time.monotonic()
        silent = {each for each in self.server.server_state.connections if getattr(each, "cycle", None) is None}
        self.silent_since = {each: self.silent_since.get(each, now) for each in silent}
        for each, since in self.silent_since.items():
            if now - since > SILENT_SECONDS and each.transport is not None:
                each.transport.close()


def application(bench: Workbench, keys: AccessKeys, secure: bool) -> Starlette:
    """All pages, behind no gate yet."""
    site = Site(bench, keys)
    pages = [route for step in STEPS for route in step.routes(site)]
    return site.application([*pages, *entrance.routes(site, secure)])


def make_bench(folder: Path, projects: Path | None, most_upload: int) -> Workbench:
    """A workbench over a folder of tables and a shelf of projects."""
    if not folder.is_dir():
        raise SchemaError("The folder of tables is not there.")
    shelf = ProjectShelf.usual() if projects is None else ProjectShelf(projects)
    shelf.prepare()
    return Workbench(shelf, AllowedFolder(folder.resolve()), most_upload)


@contextlib.contextmanager
def link_file(link: str) -> Iterator[Path]:
    """A page that only its owner can read and that leads to the link.

    A browser is started with this file and not with the link: other users see the arguments of a process.
    """
    descriptor, name = tempfile.mkstemp(prefix="tclose-", suffix=".html")
    page = (
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={link}"><title>tclose</title>'
    )
    try:
        os.write(descriptor, page.encode())
        os.close(descriptor)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
