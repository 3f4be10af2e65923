"""Where the app listens, and when it ends."""

from __future__ import annotations

import socket
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tclose.app.background_job import BackgroundJob
from tclose.app.open_table import TableRequest
from tclose.app.project_shelf import INCOMING, ProjectShelf
from tclose.app.texts import load_texts
from tclose.app.web_server import ServerOptions, WebServer, link_file, make_bench
from tclose.errors import SchemaError
from tclose.table.table_location import TableLocation
from tests.app.serving import TABLE, serving

Run = Callable[..., tuple[int, str]]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_it_listens_where_others_reach_it_only_if_that_is_known_and_encrypted(host: str, run: Run) -> None:
    with pytest.raises(SchemaError, match="--i-know"):
        ServerOptions(host).check()
    with pytest.raises(SchemaError, match="--tls-key"):
        ServerOptions(host, is_known=True).check()
    with pytest.raises(SchemaError, match="--i-know"):
        ServerOptions(host, certificate=Path("c"), key=Path("k")).check()
    ServerOptions(host, certificate=Path("c"), key=Path("k"), is_known=True).check()
    assert run("app", "--no-browser", "--host", host)[0] == 2


def test_half_of_the_tls_files_is_refused(run: Run) -> None:
    code, told = run("app", "--no-browser", "--tls-key", "k.pem")
    assert code == 2
    assert "--tls-certificate" in told


def test_it_listens_on_loopback_alone(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        assert client.server.listening.getsockname()[0] == "127.0.0.1"
        port = client.server.listening.getsockname()[1]
        others = {each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
        for address in others - {"127.0.0.1"}:
            if not str(address).startswith("127."):
                with pytest.raises((ConnectionRefusedError, TimeoutError)):
                    socket.create_connection((str(address), port), timeout=1)


def test_it_ends_when_nobody_uses_it_but_not_while_it_works(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    bench = make_bench(tmp_path / "tables", tmp_path / "projects", 1000)
    server = WebServer.of(bench, ServerOptions(idle_minutes=0.05 / 60))
    done = threading.Event()

    def work(job: BackgroundJob) -> None:
        done.wait(5)

    bench.begin("gains", "/", work)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    time.sleep(0.4)
    assert thread.is_alive()
    done.set()
    thread.join(10)
    assert not thread.is_alive()


def test_the_button_ends_it(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.enter()
        assert client.form("/end").status == 200
        ends = time.monotonic() + 10
        while not client.server.server.should_exit:
            assert time.monotonic() < ends
            time.sleep(0.01)


def test_the_link_is_shown_to_its_owner_alone() -> None:
    with link_file("http://127.0.0.1:1/enter#token") as page:
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert "enter#token" in page.read_text()
    assert not page.exists()


def test_dropped_files_of_a_killed_app_are_removed_and_those_of_another_are_not(tmp_path: Path) -> None:
    shelf = ProjectShelf(tmp_path)
    for number in ("999999999", "1"):  # no process has the first number, and one always has the second
        (tmp_path / f"{INCOMING}{number}").mkdir()
    shelf.prepare()
    assert [each.name for each in tmp_path.iterdir()] == [f"{INCOMING}1"]


def test_a_folder_that_is_not_there_is_refused(run: Run) -> None:
    code, told = run("app", "--no-browser", "--folder", "absent")
    assert code == 3
    assert "folder" in told


def test_a_table_that_the_command_names_is_what_is_seen_first(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        place = tmp_path / "tables" / "people.csv"
        place.write_text(TABLE)
        client.server.bench.open_new(TableRequest(TableLocation(str(place)), "people.csv", {}))
        assert client.follow(client.enter()).text.count("What is in the table")


def test_every_text_is_a_plain_sentence_or_word() -> None:
    """No text is empty, and none has what a page would take for a tag."""
    groups = [load_texts()]
    while groups:
        for name, text in groups.pop().items():
            if hasattr(text, "items"):
                groups.append(text)
            elif name != "phrases":  # which are about the library's words, and may leave some out
                assert text.strip() == text, name
                assert text, name
                assert "<" not in text.replace("< ", ""), name


def test_without_the_extra_it_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "tclose.app.web_server")
    code, told = run("app", "--no-browser")
    assert code == 3
    assert "pip install 'tclose[app]'" in told
