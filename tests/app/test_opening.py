"""Tables from everywhere: read otherwise, dropped again, from databases; and what two tabs and undo make of it."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tclose.app import project_shelf
from tclose.app.background_job import BackgroundJob
from tclose.app.change_history import ChangeHistory
from tclose.app.kept_runs import KeptRun
from tclose.app.project_settings import ColumnSettings, ProjectSettings
from tclose.app.project_shelf import ProjectFolder
from tclose.app.workbench import OpenProject
from tests.app.serving import TABLE, Client, Reply, opened, problem, serving
from tests.table.formats.postgresql_server import PASSWORD, needs_postgresql, running


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("opening")) as found:
        found.enter()
        yield found


def project_of(client: Client) -> OpenProject:
    found = client.server.bench.project
    assert found is not None
    return found


def drop(client: Client, text: str, name: str = "people.csv", **headers: str) -> Reply:
    usual = {"Content-Type": "application/octet-stream", "X-Form-Token": client.token, "X-File-Name": name}
    return client.ask("POST", "/upload", text.encode(), {**usual, **headers})


def test_a_dropped_file_that_is_read_wrongly_is_read_otherwise(client: Client) -> None:
    """It has no path that the app may open, so its own page must offer it."""
    text = "".join(f"{n},{n % 7},{'ab'[n % 2]}\n" for n in range(100, 160))
    assert drop(client, text).status == 200
    client.wait()
    page = client.get("/job")
    assert "“no” under “The first line names the columns”" in problem(page)
    assert "--" not in problem(page)
    assert "Read “people.csv” otherwise" in page.text
    assert client.follow(client.form("/open/otherwise", {"header": "no"})).status == 200
    assert project_of(client).table.names == ["column_1", "column_2", "column_3"]
    assert "Read “people.csv” otherwise" in client.get("/table").text
    assert client.follow(client.form("/open/otherwise", {"header": "yes"})).status == 200
    assert project_of(client).table.names[0] == "100"


def test_a_form_of_one_project_is_none_of_another(client: Client) -> None:
    """Two tabs: what was loaded before another table was opened changes nothing in it, though both are new."""
    opened(client, name="one.csv")
    client.form("/undo")
    before = project_of(client).history.revision
    opened_again = client.follow(client.form("/open/path", {"path": "one.csv"}))
    assert opened_again.status == 200
    revisions = {each.revision for each in (project_of(client).history,)}
    assert before not in revisions
    for old in range(before + 1):
        assert client.form("/columns/roles", {"column": 1, "role": "keep", "revision": old}).status == 409
    assert project_of(client).settings.columns["age"].role == "open"


SPELLED = "age,day,ill\n" + "".join(
    f"{'kA' if n % 9 == 0 else 20 + n % 30},{1 + n % 12:02}/{1 + n % 11:02}/2020,{'ab'[n % 2]}\n" for n in range(90)
)


def test_spellings_of_missing_are_followed_by_undo_and_found_again(client: Client) -> None:
    (client.server.bench.allowed.folder / "spelled.csv").write_text(SPELLED)
    client.follow(client.form("/open/path", {"path": "spelled.csv"}))
    project = project_of(client)
    assert project.table.proposal.guesses["age"].evidence.form != "whole"
    client.follow(client.form("/columns/table", {"missing": "category", "missing_values": "kA"}))
    assert project.table.proposal.guesses["age"].evidence.n_missing == 10
    assert project.settings.columns["age"].quasi["kind"] == "numeric"  # as it seems now; nobody had said otherwise
    assert len(project.table.proposal.guesses["day"].evidence.formats) == 2  # still to be asked about
    client.follow(client.form("/undo"))
    assert project.table.proposal.guesses["age"].evidence.n_missing == 0
    client.follow(client.form("/redo"))
    assert project.table.spelled == ("kA",)
    client.form("/project/close")
    client.follow(client.form("/open/project", {"project": project.folder.id}))
    again = project_of(client)
    assert again.table.proposal.guesses["age"].evidence.n_missing == 10
    assert again.settings == project.settings


def test_a_change_while_columns_are_looked_at_is_not_lost(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(client, name="two.csv")
    project = project_of(client)
    table = project.table
    goes_on = threading.Event()
    monkeypatch.setattr(type(table), "with_missing", lambda *given: table if goes_on.wait(20) else None)
    assert client.form("/columns/table", {"missing_values": "kA"}).status == 303
    assert client.form("/columns/roles", {"column": 2, "role": "keep"}).status == 303
    goes_on.set()
    client.wait()
    assert project.settings.columns["sex"].role == "keep"
    assert "missing_values" not in project.settings.keys
    assert "while the columns were looked at" in problem(client.get("/columns"))


def test_a_table_of_sqlite_is_opened_by_its_address(client: Client) -> None:
    folder = client.server.bench.allowed.folder
    for place in (folder / "clinic.db", folder.parent / "other.db"):
        with sqlite3.connect(place) as made:
            made.execute("CREATE TABLE people (age INT, ill TEXT)")
            made.execute("CREATE TABLE visits (day TEXT)")
            made.executemany("INSERT INTO people VALUES (?, ?)", [(20 + n % 9, "ab"[n % 2]) for n in range(40)])
        made.close()
    address = {"address": "sqlite:///clinic.db"}
    assert client.follow(client.form("/open/database", {**address, "table": "people"})).status == 200
    assert project_of(client).table.names == ["age", "ill"]
    query = "SELECT age FROM people WHERE age > 22"
    assert client.follow(client.form("/open/database", {**address, "query": query})).status == 200
    assert project_of(client).table.source.n_rows == 25
    given = project_of(client).folder.id
    client.form("/project/close")
    assert client.follow(client.form("/open/project", {"project": given})).status == 200
    assert project_of(client).request.location.query == query
    for fields, words in (
        ({**address, "table": "people", "query": query}, "not both"),
        ({"address": "sqlite:///../other.db", "table": "people"}, "below the folder"),
        ({"address": f"sqlite:///{quote(str(folder.parent / 'other.db'))}"}, "below the folder"),
        ({"address": "mysql://host/people"}, "PostgreSQL"),
        ({"address": "postgresql://host/people", "password": "5ecret"}, "needs a user"),
    ):
        reply = client.form("/open/database", fields)
        assert reply.status == 422
        assert words in problem(reply)
        assert "5ecret" not in reply.text
    page = client.follow(client.form("/open/database", address))
    assert "Name one with “Table of a database”" in problem(page)


@needs_postgresql
@pytest.mark.slow
def test_the_password_of_a_database_is_kept_nowhere(client: Client) -> None:
    for server in running():
        server.run("CREATE TABLE people (age int, ill text)")
        server.run("INSERT INTO people SELECT 20 + n % 30, chr(97 + n % 2) FROM generate_series(1, 60) AS n")
        address = {"address": server.url.replace(f":{PASSWORD}@", "@"), "table": "people"}
        page = client.follow(client.form("/open/database", {**address, "password": "wrong-5ecret"}))
        assert page.status == 422
        assert "wrong-5ecret" not in page.text
        assert client.follow(client.form("/open/database", {**address, "password": PASSWORD})).status == 200
        project = project_of(client)
        for number, role in enumerate(("quasi", "sensitive")):
            client.form("/columns/roles", {"column": number, "role": role})
        client.form("/promise", {"k": 3, "t-1": "0.5"})
        client.follow(client.form("/run", {"method": "mondrian", "seed": "1"}))
        taken = client.follow(client.form("/take/1", {"format": "csv"}))
        assert "PGPASSWORD" in taken.text
        pages = [client.get(path).text for path in ("/", "/table", "/take/1", "/take/1/file/anonymize.sh")]
        assert not [page for page in (*pages, taken.text) if PASSWORD in page]
        for path in project.folder.folder.rglob("*"):
            assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path.name
        client.form("/project/close")
        again = {"project": project.folder.id, "password": PASSWORD}
        assert client.follow(client.form("/open/project", again)).status == 200


@pytest.mark.slow
def test_a_dropped_file_is_dropped_again_for_its_project(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.enter()
        drop(client, TABLE)
        client.wait()
        given = project_of(client).folder.id
        client.form("/columns/roles", {"column": 1, "role": "quasi"})
    with serving(tmp_path) as client:
        client.enter()
        assert f'data-project="{given}"' in client.get("/").text
        reply = client.form("/open/project", {"project": given})
        assert "Choose the file again" in problem(reply)
        assert drop(client, TABLE + "x,1,f,flu\n", **{"X-Project": given}).status == 200
        client.wait()
        assert "its bytes are others" in problem(client.get("/job"))
        assert drop(client, TABLE, **{"X-Project": given}).status == 200
        client.wait()
        assert project_of(client).folder.id == given
        assert project_of(client).settings.columns["age"].role == "quasi"
        assert drop(client, TABLE, **{"X-Project": "../x"}).status == 422


def test_what_work_would_lose_is_asked_first(client: Client) -> None:
    """Ending the app, closing the project and removing a run while work goes on."""
    opened(client, name="three.csv")

    def work(job: BackgroundJob) -> None:
        while not job.control.stop:
            time.sleep(0.005)

    client.server.bench.begin("gains", "/look/1", work)
    for path in ("/end", "/project/close"):
        assert "Work is still going on" in client.form(path).text
        assert client.server.bench.project is not None
        assert not client.server.server.should_exit
    KeptRun(1, "mondrian", {}, 1, state="failed").write(project_of(client).folder.run_folder(1))
    project_of(client).runs[1] = KeptRun(1, "mondrian", {}, 1, state="failed")
    assert client.form("/run/remove", {"run": 1, "sure": "yes"}).status == 409
    assert client.form("/project/close", {"sure": "yes"}).status == 303
    assert client.server.bench.project is None


@pytest.mark.slow
def test_a_run_that_was_lost_after_its_search_goes_on_from_its_classes(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        opened(client)
        client.form("/promise", {"k": 4, "t-3": "0.4"})
        client.follow(client.form("/run", {"method": "mondrian", "seed": "7"}))
        project = project_of(client)
        classes, folder = project.releases[1].classes.tolist(), project.folder.run_folder(1)
        held = json.loads((folder / "run.json").read_text())
        held |= {"state": "running", "found": {}, "was_stopped": True}
        (folder / "run.json").write_text(json.dumps(held))  # as if it was killed while attacks were tried
    with serving(tmp_path) as client:
        client.enter()
        client.follow(client.form("/open/project", {"project": project.folder.id}))
        assert "Its classes had been found" in client.get("/run").text
        client.follow(client.form("/run/again", {"run": 1}))
        run = project_of(client).runs[1]
        assert (run.state, run.was_stopped) == ("done", True)
        assert project_of(client).releases[1].classes.tolist() == classes
        assert client.form("/run/again", {"run": 1}).status == 422  # it is not lost any more


@pytest.mark.slow
def test_one_class_is_released_only_if_somebody_says_so(tmp_path: Path) -> None:
    text = "age,ill\n" + "".join(f"{20 + n % 30},{'ab'[n // 30]}\n" for n in range(60))
    with serving(tmp_path) as client:
        opened(client, text)
        client.form("/columns/roles", {"column": 0, "role": "quasi"})
        client.form("/columns/roles", {"column": 1, "role": "sensitive"})
        client.form("/promise", {"k": 50, "t-1": "0.1"})
        client.follow(client.form("/run", {"method": "mondrian", "seed": "1"}))
        page = client.get("/run").text
        assert "tick “One class holding all rows will do”" in page
        assert "--" not in page.split("<main")[1]
        client.follow(client.form("/run", {"method": "mondrian", "seed": "1", "single": "yes"}))
        assert project_of(client).runs[2].found["classes"] == 1
        assert "--allow-single-class" in client.get("/take/2/file/anonymize.sh").text
        assert "allow_single_class=True" in client.get("/take/2/file/anonymize.py").text


@pytest.mark.slow
def test_files_of_a_project_that_are_damaged_are_said_to_be(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        opened(client)
        folder = project_of(client).folder
        client.form("/project/close")
        whole = folder.file.read_text()
        for path, text in (
            (folder.changes, "{}"), (folder.changes, '{"place": 7, "steps": []}'), (folder.changes, "["),
            (folder.file, "[]"), (folder.file, '{"format": 2, "name": "x"}'),
        ):  # fmt: skip
            path.write_text(text)
            reply = client.form("/open/project", {"project": folder.id})
            page = client.follow(reply) if reply.status == 303 else reply
            assert "cannot be read" in problem(page), (text, problem(page))
            assert client.get("/").status == 200
        folder.file.write_text(whole)


@pytest.mark.slow
def test_a_project_is_open_in_one_app_at_a_time(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        opened(client)
        given = project_of(client).folder.id
        assert client.follow(client.form("/open/project", {"project": given})).status == 200  # the same app may
        with serving(tmp_path) as other:
            other.enter()
            assert "open in another app" in problem(other.follow(other.form("/open/project", {"project": given})))
            assert "open in another app" in problem(other.form("/project/remove", {"project": given, "sure": "yes"}))
            client.form("/project/close")
            assert other.follow(other.form("/open/project", {"project": given})).status == 200


def test_a_project_keeps_as_many_changes_as_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All changes are written with each: with a tree of many values, a change once took longer with every one."""
    keys = {"kind": "categorical", "hierarchy": {"group": [str(n) for n in range(100)]}}
    columns = {"code": ColumnSettings("quasi", keys)}
    steps = [ProjectSettings(columns, {"k": k}) for k in range(2, 22)]
    size = len(steps[0].to_text())
    monkeypatch.setattr(project_shelf, "MOST_OF_STEPS", 5 * size)
    folder = ProjectFolder(tmp_path)
    for place, can_undo, can_redo in ((19, True, False), (4, False, True), (0, False, True)):
        folder.write({"name": "codes.csv"}, ChangeHistory(steps, place))
        again = folder.history()
        assert (again.now, again.can_undo, again.can_redo) == (steps[place], can_undo, can_redo)
        assert len(again.steps) in (4, 5)


def test_rows_of_the_release_are_shown_as_the_file_has_them(tmp_path: Path) -> None:
    lines = "".join(f"{20 + n % 30};{n % 40 + 0.5:.2f}\n".replace(".", ",") for n in range(200))
    with serving(tmp_path) as client:
        opened(client, f"age;dose\n{lines}", "doses.csv")
        for number, role in enumerate(("quasi", "sensitive")):
            client.form("/columns/roles", {"column": number, "role": role})
        client.follow(client.form("/run", {"method": "mondrian", "seed": "1"}))
        client.follow(client.form("/take/1", {"format": "csv"}))
        project = client.server.bench.project
        assert project is not None
        written = (project.folder.run_folder(1) / "out" / "release.csv").read_text(encoding="utf-8")
        (doses,) = {line.rpartition(";")[2] for line in written.split("\n")[1:2]}
        assert "," in doses
        for page in (client.get("/look/1/rows/1"), client.form("/look/1/rows/1")):
            assert page.status == 200
            shown = re.findall(r"<td>(\d+[.,]5)</td>", page.text)
            assert len(shown) == 20
            assert {each for each in shown if "." in each} == set()
