"""Requests that nobody who was let in would make, over real HTTP: each is refused, and nothing is changed by it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tclose.app import gate, uploads, web_server
from tests.app.serving import Client, Reply, opened, problem, serving

FORM, STREAM = "application/x-www-form-urlencoded", "application/octet-stream"
LIMIT = 1 << 20


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret.csv").write_text("a,b\n1,2\n")
    with serving(folder, LIMIT) as found:
        opened(found)
        (found.server.bench.allowed.folder / "link.csv").symlink_to(folder / "secret.csv")
        yield found


def state(client: Client) -> Any:
    """All that a request could change."""
    bench = client.server.bench
    project = bench.project
    assert project is not None
    files = {
        (str(path.relative_to(bench.shelf.folder)), path.stat().st_mtime_ns if path.is_file() else 0)
        for path in bench.shelf.folder.rglob("*")
    }
    held = (project.history.revision, project.history.place, project.settings.to_text(), sorted(project.runs))
    keys = client.server.gate.keys
    return files, held, keys.link_token, id(bench.job), client.server.server.should_exit


def stranger(client: Client) -> Client:
    """Somebody without the cookie."""
    return Client(client.server)


def role_form(client: Client, **changes: str) -> bytes:
    project = client.server.bench.project
    assert project is not None
    fields = {"form_token": client.token, "revision": project.history.revision, "column": 1, "role": "keep"}
    return urlencode({**fields, **changes}).encode()


def role(client: Client, headers: dict[str, str | None] | None = None, **changes: str) -> Reply:
    """The post that would change a role, but for what is said."""
    return client.ask("POST", "/columns/roles", role_form(client, **changes), headers)


def upload(client: Client, body: bytes = b"a,b\n1,2\n", **headers: str | None) -> Reply:
    usual = {"Content-Type": STREAM, "X-Form-Token": client.token, "X-File-Name": "x.csv"}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.ask("POST", "/upload", body, {**usual, **given})


PAGES = (
    *("/", "/table", "/table/rows/1", "/columns", "/columns/1", "/hierarchies", "/hierarchies/2", "/promise", "/run"),
    *("/look", "/take", "/job", "/job.json", "/static/app.js", "/static/pages.css", "/nothing", "/hierarchies/2/file"),
)
POSTS = (
    *(
        "/open/path",
        "/open/sample",
        "/open/project",
        "/project/remove",
        "/project/close",
        "/job/stop",
        "/undo",
    ),
    *("/columns/roles", "/columns/guesses", "/columns/1", "/columns/table", "/hierarchies/1/build", "/promise", "/run"),
    *("/promise/curve", "/promise/t", "/run/again", "/run/remove", "/run/compare", "/end", "/take/1", "/redo"),
    *("/open/database", "/open/otherwise", "/columns/schema", "/promise/joint", "/promise/joint/remove"),
    *("/promise/objective",),
)


@pytest.mark.everyday(8)
@pytest.mark.parametrize("path", PAGES)
def test_without_the_cookie_no_page_is_shown(client: Client, path: str) -> None:
    before = state(client)
    reply = stranger(client).get(path)
    assert reply.status == 403
    assert "people" not in reply.text
    assert "age" not in reply.text.split()
    assert state(client) == before


@pytest.mark.everyday(8)
@pytest.mark.parametrize("path", POSTS)
def test_without_the_cookie_nothing_is_done(client: Client, path: str) -> None:
    before = state(client)
    assert stranger(client).form(path, {"column": 1, "role": "keep", "sample": "hospital"}).status == 403
    assert state(client) == before


@pytest.mark.everyday(8)
@pytest.mark.parametrize("path", POSTS)
def test_a_stolen_cookie_with_a_foreign_origin_does_nothing(client: Client, path: str) -> None:
    before = state(client)
    fields = {"column": 1, "role": "keep", "sample": "hospital"}
    assert client.form(path, fields, {"Origin": "http://evil.example"}).status == 403
    assert state(client) == before


@pytest.mark.everyday(8)
@pytest.mark.parametrize("path", POSTS)
def test_get_changes_nothing(client: Client, path: str) -> None:
    before = state(client)
    assert client.get(path).status in (200, 404, 405)
    assert state(client) == before


Hostile = Callable[[Client], Reply]
CASES: dict[str, tuple[tuple[int, ...], Hostile]] = {
    "a wrong cookie": ((403,), lambda c: Client(c.server, c.cookie[:-2] + "xx").get("/columns")),
    "an empty cookie": ((403,), lambda c: Client(c.server, c.cookie.partition("=")[0] + "=").get("/columns")),
    "the cookie twice": ((403,), lambda c: Client(c.server, f"{c.cookie}; {c.cookie}").get("/columns")),
    "the cookie under another name": ((403,), lambda c: Client(c.server, "session=" + c.cookie[24:]).get("/columns")),
    "the cookie in a header of its own": ((403,), lambda c: stranger(c).get("/columns", Authorization=c.cookie)),
    "DNS rebinding": ((421,), lambda c: c.get("/columns", Host="evil.example")),
    "DNS rebinding with the port": (
        (421,), lambda c: c.get("/columns", Host="evil.example:" + c.authority.partition(":")[2]),
    ),
    "localhost instead of the address": (
        (421,), lambda c: c.get("/columns", Host="localhost:" + c.authority.partition(":")[2]),
    ),
    "another port": ((421,), lambda c: c.get("/columns", Host="127.0.0.1:1")),
    "no Host": ((400, 421), lambda c: c.get("/columns", Host=None)),
    "a Host with a user": ((400, 421), lambda c: c.get("/columns", Host=f"me@{c.authority}")),
    "rebinding of a post": ((421,), lambda c: role(c, {"Host": "evil.example"})),
    "a post without an Origin": ((403,), lambda c: role(c, {"Origin": None})),
    "a post with Origin null": ((403,), lambda c: role(c, {"Origin": "null"})),
    "another port's Origin": ((403,), lambda c: role(c, {"Origin": "http://127.0.0.1:1"})),
    "https for http": ((403,), lambda c: role(c, {"Origin": c.origin.replace("http:", "https:")})),
    "an Origin that begins like ours": ((403,), lambda c: role(c, {"Origin": c.origin + ".evil.example"})),
    "a foreign Origin on a page": ((403,), lambda c: c.get("/columns", Origin="http://evil.example")),
    "another site's request": ((403,), lambda c: c.get("/columns", Sec_Fetch_Site="cross-site")),
    "a sibling site's request": ((403,), lambda c: c.get("/columns", Sec_Fetch_Site="same-site")),
    "another site's post": ((403,), lambda c: role(c, {"Sec-Fetch-Site": "cross-site"})),
    "in a frame": ((403,), lambda c: c.get("/columns", Sec_Fetch_Dest="iframe")),
    "as an object": ((403,), lambda c: c.get("/columns", Sec_Fetch_Dest="object")),
    "no form token": ((403,), lambda c: role(c, form_token="")),
    "a wrong form token": ((403,), lambda c: role(c, form_token="x" * 43)),
    "the cookie as a form token": ((403,), lambda c: role(c, form_token=c.cookie.partition("=")[2])),
    "the form token in the address": (
        (400,), lambda c: c.ask("POST", f"/columns/roles?form_token={c.token}", role_form(c, form_token="")),
    ),
    "a query": ((400,), lambda c: c.get("/columns?role=keep")),
    "JSON": ((415,), lambda c: role(c, {"Content-Type": "application/json"})),
    "text, as a form of another site can send": ((415,), lambda c: role(c, {"Content-Type": "text/plain"})),
    "multipart": ((415,), lambda c: role(c, {"Content-Type": "multipart/form-data; boundary=x"})),
    "no type": ((415,), lambda c: role(c, {"Content-Type": None})),
    "a stream where a form is meant": ((403,), lambda c: role(c, {"Content-Type": STREAM})),
    "a form that is no text": ((400,), lambda c: c.ask("POST", "/columns/roles", b"\xff\xfe=1")),
    "a form with 100,000 fields": ((400,), lambda c: c.ask("POST", "/columns/roles", b"a=1&" * 100_000)),
    "a form of 9 MB": ((413, 0), lambda c: c.ask("POST", "/columns/roles", b"a=" + b"x" * (9 << 20))),
    "a stranger's form of 5 kB": (
        (413, 0), lambda c: stranger(c).ask("POST", "/enter", b"token=" + b"x" * 5000),
    ),
    "a form that says it has 1 TB": (
        (413,), lambda c: c.ask("POST", "/columns/roles", None, {"Content-Length": str(1 << 40)}),
    ),
    "PUT": ((405,), lambda c: c.ask("PUT", "/columns", b"")),
    "DELETE": ((405,), lambda c: c.ask("DELETE", "/columns")),
    "OPTIONS, before a request across origins": (
        (403, 405), lambda c: c.ask("OPTIONS", "/columns", None, {"Origin": "http://evil.example"}),
    ),
    "TRACE": ((405,), lambda c: c.ask("TRACE", "/columns")),
    "a method to hide another": (
        (303, 404, 405), lambda c: c.ask("GET", "/end", None, {"X-HTTP-Method-Override": "POST"}),
    ),
    "a wrong token": ((403,), lambda c: stranger(c).form("/enter", {"token": "x" * 43})),
    "no token": ((403,), lambda c: stranger(c).form("/enter")),
    "a used token": ((403,), lambda c: stranger(c).form("/enter", {"token": c.token})),
    "a token from another site": (
        (403,), lambda c: stranger(c).form("/enter", {"token": "x"}, {"Origin": "http://evil.example"}),
    ),
    "a token as a stream": ((415,), lambda c: stranger(c).ask("POST", "/enter", b"x", {"Content-Type": STREAM})),
    "traversal of static files": ((404,), lambda c: c.get("/static/../texts.toml")),
    "encoded traversal of static files": ((404,), lambda c: c.get("/static/%2e%2e%2ftexts.toml")),
    "a template as a static file": ((404,), lambda c: c.get("/static/base.html")),
    "traversal of taken files": ((404,), lambda c: c.get("/take/1/file/%2e%2e%2frun.json")),
    "an absolute taken file": ((404,), lambda c: c.get("/take/1/file/%2fetc%2fpasswd")),
    "a path of 10,000 characters": ((414,), lambda c: c.get("/" + "a" * 10_000)),
    "a null byte in a path": ((404,), lambda c: c.get("/columns/%00")),
    "a negative column": ((404,), lambda c: c.get("/columns/-1")),
    "a column of 40 digits": ((404,), lambda c: c.get("/columns/" + "9" * 40)),
    "a run that is not there": ((404,), lambda c: c.get("/look/99")),
    "a path outside": ((422,), lambda c: c.form("/open/path", {"path": "../secret.csv"})),
    "an absolute path outside": ((422,), lambda c: c.form("/open/path", {"path": "/etc/passwd"})),
    "a path by the home folder": ((422,), lambda c: c.form("/open/path", {"path": "~/x.csv"})),
    "a link that leads outside": ((422,), lambda c: c.form("/open/path", {"path": "link.csv"})),
    "a null byte in a file's path": ((422,), lambda c: c.form("/open/path", {"path": "people.csv\0.csv"})),
    "a folder": ((422,), lambda c: c.form("/open/path", {"path": "."})),
    "standard input": ((422,), lambda c: c.form("/open/path", {"path": "-"})),
    "a database elsewhere": ((422,), lambda c: c.form("/open/path", {"path": "postgresql://evil.example/x"})),
    "a project that is a path": ((422,), lambda c: c.form("/open/project", {"project": "../../etc"})),
    "removing what is no project": ((422,), lambda c: c.form("/project/remove", {"project": "."})),
    "a dropped file for what is no project": ((422,), lambda c: upload(c, X_Project="../../projects")),
    "a database outside the folder": (
        (422,), lambda c: c.form("/open/database", {"address": "sqlite:///../secret.db", "table": "a"}),
    ),
    "a database that is none": ((422,), lambda c: c.form("/open/database", {"address": "file:///etc/passwd"})),
    "a schema that names a file outside": (
        (422,),
        lambda c: c.form(
            "/columns/schema", {"text": 'k = 2\n[quasi.sex]\nkind = "categorical"\nhierarchy = "/etc/passwd"\n'}
        ),
    ),
    "a schema outside the folder": ((422,), lambda c: c.form("/columns/schema", {"path": "../secret.csv"})),
    "a matrix of a column that has none": ((422,), lambda c: c.form("/columns/1/matrix", {"text": ",a\na,0\n"})),
    "a target that is no column": (
        (404,), lambda c: c.form("/promise/objective", {"objective": "classify", "target": "99"}),
    ),
    "a joint of no columns": (
        (404,), lambda c: c.form("/promise/joint", [("column", "98"), ("column", "99"), ("t", "0.1")]),
    ),
    "removing a joint that is not there": ((404,), lambda c: c.form("/promise/joint/remove", {"joint": "0"})),
    "ending the app without a token": ((403,), lambda c: c.form("/end", {"sure": "yes", "form_token": ""})),
    "removing the shelf": ((422,), lambda c: c.form("/project/remove", {"project": ""})),
    "a sample that is none": ((422,), lambda c: c.form("/open/sample", {"sample": "../x"})),
    "a role that is none": ((422,), lambda c: c.form("/columns/roles", {"column": 1, "role": "<script>"})),
    "a column that is none": ((404,), lambda c: c.form("/columns/roles", {"column": 99, "role": "keep"})),
    "a k of words": ((422,), lambda c: c.form("/promise", {"k": "many"})),
    "a k of 0": ((422,), lambda c: c.form("/promise", {"k": "0"})),
    "a t beyond 1": ((422,), lambda c: c.form("/promise", {"k": "5", "t-3": "2"})),
    "a t with a large exponent": ((422,), lambda c: c.form("/promise", {"k": "5", "t-3": "1e999999999"})),
    "a method that is none": ((422,), lambda c: c.form("/run", {"method": "__import__"})),
    "an effort that is none": ((422,), lambda c: c.form("/run", {"method": "tight", "effort": "__class__"})),
    "an old revision": ((409,), lambda c: c.form("/columns/roles", {"column": 1, "role": "keep", "revision": 0})),
    "no revision": ((409,), lambda c: c.form("/columns/roles", {"column": 1, "role": "keep", "revision": ""})),
    "a file without a token": ((403,), lambda c: upload(c, X_Form_Token=None)),
    "a file with the token in its body": (
        (403,), lambda c: upload(c, f"form_token={c.token}".encode(), X_Form_Token=""),
    ),
    "a file from another site": ((403,), lambda c: upload(c, Origin="http://evil.example")),
    "a file without a cookie": ((403,), lambda c: upload(stranger(c))),
    "a file that is too large": ((413, 0), lambda c: upload(c, b"x" * (LIMIT + 1))),
    "a file that says it is too large": ((413,), lambda c: upload(c, b"x", Content_Length=str(1 << 50))),
    "an empty file": ((400,), lambda c: upload(c, b"")),
    "a file whose name is no table": ((422,), lambda c: upload(c, X_File_Name="x.exe")),
    "a file whose name leads out": ((422,), lambda c: upload(c, X_File_Name="..%2F..%2F.bashrc")),
    "a file without a name": ((422,), lambda c: upload(c, X_File_Name=None)),
    "a file whose name is no text": ((422,), lambda c: upload(c, X_File_Name="%ff%fe.csv")),
    "a file whose name has line ends": ((422,), lambda c: upload(c, X_File_Name="a%0d%0ab.csv")),
}  # fmt: skip


@pytest.mark.everyday(200)
@pytest.mark.parametrize("name", CASES)
def test_a_hostile_request_is_refused_and_changes_nothing(client: Client, name: str) -> None:
    statuses, hostile = CASES[name]
    before = state(client)
    reply = hostile(client)
    assert reply.status in statuses, (reply.status, reply.text[:300])
    assert state(client) == before
    assert "1,2" not in reply.text


def test_there_are_at_least_sixty() -> None:
    assert len(CASES) + len(PAGES) + 3 * len(POSTS) >= 60


def test_every_answer_has_its_headers(client: Client) -> None:
    """Also one that is refused, one that is not found, and a style sheet."""
    replies = [client.get(path) for path in ("/columns", "/nothing", "/static/app.css", "/job.json", "/?x")]
    replies += [stranger(client).get("/columns"), stranger(client).get("/enter"), role(client, form_token="")]
    for reply in replies:
        for name, value in gate.HEADERS.items():
            assert reply.headers[name] == value
        assert "server" not in reply.headers
        assert "set-cookie" not in reply.headers


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    assert gate.POLICY.startswith("default-src 'none'")
    assert "unsafe" not in gate.POLICY
    assert "http" not in gate.POLICY
    assert "frame-ancestors 'none'" in gate.POLICY


def test_the_cookie_is_for_this_server_and_no_script(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        reply = client.enter()
        assert reply.status == 303
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(reply.headers["set-cookie"].split("; "))
        assert client.get("/").status == 200
        again = Client(client.server)
        assert again.ask("POST", "/enter", b"token=").status == 403  # the link was used
        assert again.get("/").status == 403


def test_no_page_has_inline_script_or_style(client: Client) -> None:
    for path in PAGES:
        text = client.get(path).text
        for mark in ("<style", " style=", " onclick", "javascript:", "<script>"):
            assert mark not in text, (path, mark)


@pytest.mark.slow
def test_names_that_are_html_stay_text(tmp_path: Path) -> None:
    bad = "<img src=x onerror=alert(1)>"
    text = f'"{bad}",age\n' + "".join(f'"{bad}{n % 3}",{20 + n}\n' for n in range(40))
    with serving(tmp_path) as client:
        opened(client, text)
        client.form("/columns/roles", [("column", 0), ("column", 1), ("role", "quasi")])
        client.form("/hierarchies/0/begin")
        for path in ("/table", "/columns", "/columns/0", "/hierarchies", "/hierarchies/0", "/table/rows/1", "/run"):
            reply = client.get(path)
            assert reply.status == 200
            assert "<img src=x" not in reply.text
            assert "&lt;img" in reply.text or path == "/run"


@pytest.mark.slow
def test_a_dropped_file_with_a_name_that_is_html_is_opened_as_text(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.enter()
        reply = upload(client, b"a,b\n1,2\n3,4\n", X_File_Name="%3Cb%3Ex.csv")
        assert reply.status == 200
        client.wait()
        page = client.get("/table")
        assert "&lt;b&gt;x.csv" in page.text
        assert "<b>x.csv" not in page.text
        [folder] = client.server.bench.shelf.incoming.iterdir()
        [file] = folder.iterdir()
        assert file.name == "table.csv"
        assert file.stat().st_mode & 0o077 == 0


def test_a_double_submit_counts_once(client: Client) -> None:
    body = role_form(client)
    project = client.server.bench.project
    assert project is not None
    n_steps = len(project.history.steps)
    first = client.ask("POST", "/columns/roles", body)
    second = client.ask("POST", "/columns/roles", body)
    assert (first.status, second.status) == (303, 409)
    assert "another tab" in problem(second)
    assert len(project.history.steps) == n_steps + 1
    client.form("/undo")


def test_a_slow_form_is_given_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "FORM_SECONDS", 0.2)
    before = state(client)
    head = f"POST /columns/roles HTTP/1.1\r\nHost: {client.authority}\r\nOrigin: {client.origin}\r\n"
    head += f"Cookie: {client.cookie}\r\nContent-Type: {FORM}\r\nContent-Length: 1000\r\n\r\nform_token="
    answer = client.raw(head.encode())
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert state(client) == before


@pytest.mark.slow
def test_a_connection_that_asks_for_nothing_is_closed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred of them would keep everybody out."""
    monkeypatch.setattr(web_server, "SILENT_SECONDS", 0.1)
    began = time.monotonic()
    assert client.raw(b"GET / HTTP/1.1\r\nHost: ", seconds=10) == b""
    assert time.monotonic() - began < 8


def test_a_slow_file_is_given_up_and_nothing_is_left(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "PATIENCE", 0.2)
    before = state(client)
    head = f"POST /upload HTTP/1.1\r\nHost: {client.authority}\r\nOrigin: {client.origin}\r\nX-File-Name: x.csv\r\n"
    head += f"X-Form-Token: {client.token}\r\nCookie: {client.cookie}\r\nContent-Type: {STREAM}\r\n"
    answer = client.raw((head + "Content-Length: 1000\r\n\r\na,b\n").encode(), 1.0)
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert not any(path.is_file() for path in client.server.bench.shelf.incoming.rglob("*"))
    assert [each for each in state(client)[0] if "incoming" not in each[0]] == [
        each for each in before[0] if "incoming" not in each[0]
    ]


def test_a_file_without_a_length_that_grows_too_large_is_refused(client: Client) -> None:
    head = f"POST /upload HTTP/1.1\r\nHost: {client.authority}\r\nOrigin: {client.origin}\r\nX-File-Name: x.csv\r\n"
    head += f"X-Form-Token: {client.token}\r\nCookie: {client.cookie}\r\nContent-Type: {STREAM}\r\n"
    head += "Transfer-Encoding: chunked\r\n\r\n"
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    answer = b""
    with socket.create_connection(client.server.listening.getsockname()[:2], timeout=5) as wire:
        wire.sendall(head.encode())
        try:
            for _ in range(40):
                wire.sendall(piece)
        except OSError:
            pass  # it hung up on us
        try:
            answer = wire.recv(65536)
        except OSError:
            return
    assert not answer or b" 413 " in answer.split(b"\r\n")[0]


def test_an_aborted_file_leaves_nothing(client: Client) -> None:
    head = f"POST /upload HTTP/1.1\r\nHost: {client.authority}\r\nOrigin: {client.origin}\r\nX-File-Name: x.csv\r\n"
    head += f"X-Form-Token: {client.token}\r\nCookie: {client.cookie}\r\nContent-Type: {STREAM}\r\n"
    with socket.create_connection(client.server.listening.getsockname()[:2], timeout=5) as wire:
        wire.sendall((head + "Content-Length: 1000\r\n\r\na,b\n").encode())
        time.sleep(0.1)
    ends = time.monotonic() + 5
    while client.server.bench.is_receiving and time.monotonic() < ends:
        time.sleep(0.01)
    assert not any(path.is_file() for path in client.server.bench.shelf.incoming.rglob("*"))


def test_a_web_socket_is_refused(client: Client) -> None:
    head = f"GET /job HTTP/1.1\r\nHost: {client.authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    head += (
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nCookie: {client.cookie}\r\n\r\n"
    )
    answer = client.raw(head.encode(), 0.2)
    assert b" 101 " not in answer.split(b"\r\n")[0]


def test_two_tabs_do_not_overwrite_each_other(client: Client) -> None:
    """The second tab was loaded before the first changed something: it is told, and shown how things are."""
    project = client.server.bench.project
    assert project is not None
    old = project.history.revision
    assert client.form("/columns/roles", {"column": 2, "role": "keep"}).status == 303
    settled = project.settings
    late = client.form("/columns/roles", {"column": 1, "role": "keep", "revision": old})
    assert late.status == 409
    assert project.settings == settled
    assert client.form("/undo").status == 303
