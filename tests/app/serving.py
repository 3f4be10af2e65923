"""The app on a real socket in a thread, and a client that says exactly what it is told to."""

from __future__ import annotations

import http.client
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tclose.app.web_server import ServerOptions, WebServer, make_bench


@dataclass
class Reply:
    """An answer."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Client:
    """A browser that can be made to lie."""

    server: WebServer
    cookie: str = ""
    seen: list[int] = field(default_factory=list)

    @property
    def authority(self) -> str:
        return self.server.gate.authority

    @property
    def origin(self) -> str:
        return self.server.gate.origin

    @property
    def token(self) -> str:
        return self.server.gate.keys.form_token

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str | None] | None = None
    ) -> Reply:
        """One request; a header that is None is left out."""
        usual: dict[str, str | None] = {"Host": self.authority, "Cookie": self.cookie or None}
        if method == "POST":
            usual |= {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
        sent = {**usual, **(headers or {})}
        host, port = self.server.listening.getsockname()[:2]
        connection = http.client.HTTPConnection(host, port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None and "Content-Length" not in sent:
                connection.putheader("Content-Length", str(len(body)))
            with suppress(ConnectionError):
                connection.endheaders(body)
            answer = connection.getresponse()
            found = Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
        except ConnectionError:
            found = Reply(0, {}, "")  # it hung up before all was sent
        finally:
            connection.close()
        self.seen.append(found.status)
        return found

    def get(self, path: str, **headers: str | None) -> Reply:
        return self.ask("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def form(self, path: str, fields: Any = (), headers: Mapping[str, str | None] | None = None) -> Reply:
        """Post a form with its token and the revision of now."""
        project = self.server.bench.project
        given = list(fields.items() if isinstance(fields, Mapping) else fields)
        names = [name for name, _ in given]
        usual = [("form_token", self.token), ("revision", "" if project is None else project.history.revision)]
        body = urlencode([pair for pair in usual if pair[0] not in names] + given).encode()
        return self.ask("POST", path, body, headers)

    def enter(self) -> Reply:
        """Exchange the link for the cookie."""
        token = self.server.gate.keys.link_token or ""
        reply = self.ask("POST", "/enter", urlencode({"token": token}).encode())
        self.cookie = reply.headers.get("set-cookie", "").partition(";")[0]
        return reply

    def wait(self, seconds: float = 60.0) -> None:
        """Until the work that goes on is over."""
        ends = time.monotonic() + seconds
        while self.server.bench.is_busy:
            assert time.monotonic() < ends
            time.sleep(0.01)

    def follow(self, reply: Reply) -> Reply:
        """The page that an answer leads to, once work is over."""
        assert reply.status == 303, (reply.status, problem(reply))
        self.wait()
        found = self.get(reply.headers["location"])
        return self.follow(found) if found.status == 303 else found

    def raw(self, data: bytes, seconds: float = 5.0) -> bytes:
        """Bytes as they are, and what comes back within some seconds."""
        with socket.create_connection(self.server.listening.getsockname()[:2], timeout=seconds) as wire:
            wire.sendall(data)
            parts = []
            try:
                while part := wire.recv(65536):
                    parts.append(part)
            except TimeoutError:
                pass
            return b"".join(parts)


def problem(reply: Reply) -> str:
    """What a page says went wrong."""
    found = re.search(r'id="problem">.*?<p>(.*?)</p>', reply.text, re.S)
    return found[1] if found else ""


@contextmanager
def serving(folder: Path, most_upload: int = 1 << 20, options: ServerOptions | None = None) -> Iterator[Client]:
    """The app over a folder of tables, with a shelf of its own."""
    tables = folder / "tables"
    tables.mkdir(exist_ok=True)
    bench = make_bench(tables, folder / "projects", most_upload)
    server = WebServer.of(bench, options or ServerOptions())
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    ends = time.monotonic() + 20
    while not server.server.started:
        assert time.monotonic() < ends
        time.sleep(0.005)
    try:
        yield Client(server)
    finally:
        server.server.should_exit = True
        thread.join(20)


TABLE = "name,age,sex,ill\n" + "".join(
    f"p{n},{20 + n % 47},{'fm'[n % 2]},{('flu', 'cold', 'acne', 'none')[n * 7 % 4]}\n" for n in range(240)
)
ROLES = {0: "identifier", 1: "quasi", 2: "quasi", 3: "sensitive"}


def opened(client: Client, text: str = TABLE, name: str = "people.csv") -> None:
    """Enter, and open a small table whose columns are all settled."""
    if not client.cookie:
        client.enter()
    (client.server.bench.allowed.folder / name).write_text(text, encoding="utf-8")
    assert client.follow(client.form("/open/path", {"path": name})).status == 200
    if text == TABLE:
        for number, role in ROLES.items():
            reply = client.form("/columns/roles", {"column": number, "role": role})
            assert reply.status == 303, problem(reply)
