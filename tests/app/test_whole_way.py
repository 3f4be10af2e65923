"""From a file to a release by forms alone, as a browser without scripts would do it; and back after a restart."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.app import file_writing, run_step, take_step
from tclose.app.background_job import BackgroundJob
from tclose.app.kept_runs import KeptRun
from tclose.app.workbench import OpenProject
from tests.app.serving import TABLE, Client, opened, problem, serving


def project_of(client: Client) -> OpenProject:
    found = client.server.bench.project
    assert found is not None
    return found


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A project with one run by mondrian."""
    with serving(tmp_path_factory.mktemp("way")) as client:
        opened(client)
        assert client.form("/promise", {"k": 4, "t-3": "0.4"}).status == 303
        reply = client.follow(client.form("/run", {"method": "mondrian", "seed": "7"}))
        assert project_of(client).runs[1].state == "done", (problem(reply), project_of(client).runs[1].problem)
        yield client


def test_every_page_of_a_project_is_shown(done: Client) -> None:
    pages = ("/", "/table", "/table/rows/1", "/columns", "/columns/1", "/columns/3", "/hierarchies", "/hierarchies/1")
    for path in (*pages, "/hierarchies/2", "/promise", "/run", "/look/1", "/look/1/rows/1", "/look/1/classes/1"):
        assert done.get(path).status == 200, path
    for path in ("/look/1/class/0", "/take/1"):
        assert done.get(path).status == 200, path
    assert done.get("/look").headers["location"] == "/look/1"


def test_titles_and_addresses_hold_no_data(done: Client) -> None:
    for path in ("/table", "/columns/1", "/look/1/class/0", "/take/1"):
        text = done.get(path).text
        title = re.search("<title>(.*?)</title>", text)
        assert title is not None
        assert "people" not in title[1]
        assert not re.search(r'(?:href|action)="[^"]*(?:people|sex|flu)', text)


def test_the_release_on_the_page_is_the_library_s(done: Client) -> None:
    project = project_of(done)
    schema = tclose.Schema.load(project.folder.run_folder(1) / "schema.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = tclose.anonymize(project.request.location, schema, method="mondrian", seed=7)
    assert np.array_equal(own.classes, project.releases[1].classes)
    assert own.certificate.as_dict() == project.releases[1].certificate.as_dict()


def test_rows_of_the_original_are_shown_only_if_asked_for(done: Client) -> None:
    assert "before" not in done.get("/look/1/rows/1").text.split("<main")[1]
    assert "before" in done.form("/look/1/rows/1").text.split("<main")[1]
    text = done.form("/look/1/rows/1").text
    assert not any(f">p{n}<" in text for n in range(240))  # an identifier is never shown


def test_classes_are_filtered_by_size_and_by_what_they_show(done: Client) -> None:
    def count(**fields: object) -> int:
        text = done.form("/look/1/classes/1", fields).text
        found = re.search(r"(\d+) classes", text)
        assert found is not None
        return int(found[1])

    release = project_of(done).releases[1]
    sizes = release.measured.grouping.sizes
    assert count() == len(sizes)
    middle = int(np.median(sizes))
    assert count(least=middle) == int((sizes >= middle).sum())
    shown = release.aligned().select("age", "sex").unique()
    assert count(shows="f") == len(shown.filter(pl.any_horizontal(pl.all().cast(pl.String).str.contains("f"))))
    assert count(shows="<nobody>") == 0


def test_classes_are_walked_through_from_the_worst_on(done: Client) -> None:
    release = project_of(done).releases[1]
    far = release.measured.distances("ill").floats
    found = re.search(r'href="/look/1/class/(\d+)">The worst class', done.get("/look/1").text)
    assert found is not None
    walked = [int(found[1])]
    while after := re.search(r'href="/look/1/class/(\d+)">Next', done.get(f"/look/1/class/{walked[-1]}").text):
        walked.append(int(after[1]))
    assert sorted(walked) == list(range(len(far)))
    assert [far[place] for place in walked] == sorted(far, reverse=True)


def test_files_are_written_verified_and_told_apart(done: Client) -> None:
    page = done.follow(done.form("/take/1", {"format": "csv", "escape": "yes", "private": "yes"}))
    assert page.status == 200, problem(page)
    out = project_of(done).folder.run_folder(1) / "out"
    assert {each.name for each in out.iterdir()} == {
        *("release.csv", "release.csv.certificate.json", "report.html", "schema.toml", "record.json"),
        "private-report.html",
    }
    assert tclose.verify(out / "release.csv", out / "schema.toml").holds
    given, own = page.text.split("For you only")
    assert "private-report.html" not in given
    assert "record.json" not in given
    assert "private-report.html" in own
    record = done.get("/take/1/file/record.json")
    assert record.headers["content-disposition"].startswith("attachment")
    assert json.loads(record.text)["seed"] == 7
    assert (out / "record.json").stat().st_mode & 0o077 == 0


def run_script(client: Client, folder: Path, number: int) -> None:
    text = client.get(f"/take/{number}/file/anonymize.py").text
    done = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def same_rows(client: Client, file: Path, number: int) -> bool:
    """Whether a file has the rows of a run, in whatever order."""
    own: pl.DataFrame = project_of(client).releases[number].table
    other = pl.read_csv(file, infer_schema=False)
    columns = own.columns
    as_texts = own.select(pl.col(each).cast(pl.String).fill_null("") for each in columns)
    return sorted(as_texts.rows()) == sorted(other.select(columns).fill_null("").rows())


def test_files_that_cannot_be_written_leave_what_was_there(done: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    out = project_of(done).folder.run_folder(1) / "out"
    done.follow(done.form("/take/1", {"format": "csv", "private": "yes"}))
    before = {each.name: each.read_bytes() for each in out.iterdir()}

    def fail(*_given: object, **_named: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file_writing, "report_html", fail)
    asked = {"format": "parquet", "private": "yes"}
    assert "No space left" in problem(done.follow(done.form("/take/1", asked)))
    assert {each.name: each.read_bytes() for each in out.iterdir()} == before
    assert not out.with_name("out.new").exists()


def test_writing_says_how_far_it_is_and_attacks_nothing_twice(done: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, float | None]] = []
    listen = BackgroundJob.listen

    def note(job: BackgroundJob, stage: str, loss: float | None, share: float | None) -> None:
        told.append((stage, share))
        listen(job, stage, loss, share)

    monkeypatch.setattr(BackgroundJob, "listen", note)
    project = project_of(done)
    done.follow(done.form("/take/1", {"format": "csv", "private": "yes"}))
    assert [stage for stage, _ in told] == ["write", "report", "private", "private"]
    shares = [share for _, share in told]
    assert shares == sorted(shares, key=lambda share: share or 0)  # it never goes back
    assert shares[0] is None
    assert shares[-1] == 1
    project.attacks.clear()
    project.releases.clear()
    told.clear()
    done.follow(done.form("/take/1", {"format": "csv", "private": "yes"}))
    assert list(dict.fromkeys(stage for stage, _ in told)) == ["restore", "write", "report", "attacks", "private"]
    assert 1 in project.attacks
    told.clear()
    done.follow(done.form("/take/1", {"format": "csv"}))
    assert not (project.folder.run_folder(1) / "out" / "private-report.html").exists()


def test_writing_that_is_stopped_changes_nothing(done: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(done)
    out = project.folder.run_folder(1) / "out"
    done.follow(done.form("/take/1", {"format": "csv"}))
    before = {each.name: each.read_bytes() for each in out.iterdir()}
    make = tclose.public_report_html

    def stopped(*given: Any, **named: Any) -> str:
        job = done.server.bench.job
        assert job is not None
        assert job.as_dict()["stop_means"] == "stop"
        done.form("/job/stop")
        return make(*given, **named)

    monkeypatch.setattr(file_writing, "public_report_html", stopped)
    page = done.follow(done.form("/take/1", {"format": "parquet", "private": "yes"}))
    assert "Writing and verifying the files: stopped" in page.text
    assert "It was stopped. Nothing was changed by it." in problem(page)
    assert {each.name: each.read_bytes() for each in out.iterdir()} == before
    assert not out.with_name("out.new").exists()


def test_what_a_run_measures_at_its_end_can_be_skipped(done: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_given: object, progress: Any, **_named: object) -> None:
        progress("attacks", None, 0.0)
        job = done.server.bench.job
        assert job is not None
        assert job.as_dict()["stop_means"] == "skip"
        done.form("/job/stop")
        progress("attacks", None, 0.5)

    monkeypatch.setattr(run_step, "attack", slow)
    done.follow(done.form("/run", {"method": "mondrian", "seed": "7"}))
    run = project_of(done).runs[2]
    assert run.state == "done"
    assert run.is_repeatable  # its search was not stopped
    assert 2 not in project_of(done).attacks
    assert 'id="report"' in done.get("/look/2").text


def test_a_run_without_a_loss_so_far_has_no_best_to_take() -> None:
    job = BackgroundJob("run", "/run", stage="partition")
    assert job.stop_means == "stop"
    job.listen("partition", 0.5, None)
    assert job.stop_means == "stop_best"
    job.listen("verify", None, None)
    assert job.stop_means == ""


def test_a_second_release_of_the_same_table_is_warned_of(done: Client) -> None:
    """Whoever has both can intersect them; a release that is written again is none."""
    assert 'id="notes"' not in done.follow(done.form("/take/1", {"format": "parquet"})).text
    done.follow(done.form("/run", {"method": "mondrian", "seed": "8"}))
    page = done.follow(done.form("/take/2", {"format": "parquet"}))
    assert "This table was released before: run 1" in page.text
    asked = done.form("/run/remove", {"run": 2})
    assert "Are you sure?" in asked.text
    assert 2 in project_of(done).runs
    done.form("/run/remove", {"run": 2, "sure": "yes"})
    assert 2 not in project_of(done).runs


def test_a_schema_that_lists_values_is_not_given_away_unseen() -> None:
    keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.2}}}
    assert not take_step.lists_values(tclose.Schema.from_dict(keys))
    tree = {**keys, "quasi": {"sex": {"kind": "categorical", "hierarchy": {"all": ["f", "m"]}}}}
    assert take_step.lists_values(tclose.Schema.from_dict(tree))
    ordered = {**keys, "sensitive": {"ill": {"distance": "ordered", "order": ["low", "high"], "t": 0.2}}}
    assert take_step.lists_values(tclose.Schema.from_dict(ordered))


@pytest.mark.slow
def test_command_and_script_make_the_same_classes(done: Client, tmp_path: Path) -> None:
    run_script(done, tmp_path, 1)
    assert same_rows(done, tmp_path / "release.csv", 1)
    (tmp_path / "record.json").unlink()
    command = shlex.split(done.get("/take/1/file/anonymize.sh").text)
    found = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert same_rows(done, tmp_path / "release.csv", 1)


@pytest.mark.slow
def test_a_stopped_run_is_made_again_from_its_classes(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        opened(client)
        client.form("/promise", {"k": 4, "t-3": "0.4"})
        client.follow(client.form("/run", {"method": "tight", "effort": "best", "seconds": "1"}))
        client.follow(client.form("/take/1", {"format": "parquet", "pdf": "yes"}))
        report = project_of(client).folder.run_folder(1) / "out" / "report.pdf"
        job = client.server.bench.job
        assert job is not None
        if "weasyprint" not in job.problem.lower():  # which `tclose[pdf]` and Pango bring
            assert report.read_bytes().startswith(b"%PDF")
        run = project_of(client).runs[1]
        assert run.state == "done", run.problem
        assert not run.is_repeatable
        assert "--start" in client.get("/take/1/file/anonymize.sh").text
        run_script(client, tmp_path, 1)
        assert same_rows(client, tmp_path / "release.csv", 1)


def test_undo_and_redo_go_back_and_on(done: Client) -> None:
    history = project_of(done).history
    before = history.now
    assert done.form("/columns/roles", {"column": 2, "role": "keep"}).status == 303
    assert history.now.columns["sex"].role == "keep"
    assert done.form("/undo", {"back": "/promise"}).headers["location"] == "/promise"
    assert history.now == before
    done.form("/redo")
    assert history.now.columns["sex"].role == "keep"
    done.form("/undo", {"back": "http://evil.example"})
    assert history.now == before
    assert not [each for each in done.seen if each >= 500]


def test_what_is_wrong_is_said_where_it_was_written(done: Client) -> None:
    """Nothing is changed, and the page has the reason."""
    before = project_of(done).settings
    for path, fields, words in (
        ("/columns/1", {"role": "quasi", "kind": "numeric", "step": "wide"}, "Step"),
        ("/columns/1", {"role": "quasi", "kind": "date"}, "age"),
        ("/columns/2", {"role": "quasi", "kind": "numeric"}, "sex"),
        ("/promise", {"k": "4", "t-3": "much"}, "0.2"),
        ("/promise", {"k": "4", "t-3": "0.4", "l-3": "-1"}, "whole number"),
        ("/hierarchies/1/build", {"numbers": "5, 7"}, "multiple"),
        ("/hierarchies/2/edit", {"what": "group", "label": "x"}, "Begin"),
        ("/run", {"method": "tight", "seconds": "-1"}, "seconds"),
        ("/columns/roles", {"role": "keep"}, "Tick"),
        ("/run/compare", {}, "two methods"),
        ("/take/1", {"format": "exe"}, "format"),
    ):
        reply = done.form(path, fields)
        assert reply.status == 422, path
        assert words in problem(reply), (path, problem(reply))
        assert project_of(done).settings == before


@pytest.mark.slow
def test_dates_that_can_be_read_in_two_ways_are_asked_about(tmp_path: Path) -> None:
    text = "day,ill\n" + "".join(f"{1 + n % 12:02}/{1 + n % 11:02}/2020,{'ab'[n % 2]}\n" for n in range(60))
    with serving(tmp_path) as client:
        opened(client, text)
        assert "Which is it?" in client.get("/columns/0").text
        assert client.form("/columns/0", {"date_format": "%d/%m/%Y"}).status == 303
        assert client.form("/columns/0", {"role": "quasi"}).status == 303
        found = project_of(client).settings.columns["day"]
        assert (found.role, found.quasi["kind"], found.quasi["format"]) == ("quasi", "date", "%d/%m/%Y")
        assert "Which is it?" not in client.get("/columns/0").text


def test_a_tree_is_begun_grouped_and_saved(done: Client) -> None:
    try:
        assert done.form("/hierarchies/2/begin").status == 303
        page = done.get("/hierarchies/2")
        assert "240 rows" in page.text
        assert (
            done.form("/hierarchies/2/edit", [("what", "group"), ("label", "all"), ("node", 1), ("node", 2)]).status
            == 303
        )
        text = done.get("/hierarchies/2/file")
        assert text.text == "f;all;*\nm;all;*\n"
        assert done.form("/hierarchies/2/read", {"text": "f;one;*\nm;two;*\n"}).status == 303
        assert project_of(done).settings.columns["sex"].quasi["hierarchy"] == {"one": ["f"], "two": ["m"]}
        lacking = done.form("/hierarchies/2/read", {"text": "f;one;*\n"})
        assert lacking.status == 422
        assert "sex" in problem(lacking)
    finally:
        while "hierarchy" in project_of(done).settings.columns["sex"].quasi:
            done.form("/undo")


def test_a_project_is_found_again_after_a_restart(tmp_path: Path) -> None:
    """With its settings, its runs, and its release, which is made again from its classes and verified."""
    with serving(tmp_path) as client:
        opened(client)
        client.form("/promise", {"k": 4, "t-3": "0.4"})
        client.follow(client.form("/run", {"method": "mondrian", "seed": "7"}))
        first = project_of(client)
        project, settings, classes = first.folder.id, first.settings, first.releases[1].classes
    with serving(tmp_path) as client:
        client.enter()
        assert "people.csv" in client.get("/").text
        assert client.follow(client.form("/open/project", {"project": project})).status == 200
        again = project_of(client)
        assert again.settings == settings
        assert again.history.can_undo
        assert "Make it again" in client.get("/look/1").text
        assert client.follow(client.form("/look/1/again")).status == 200
        assert np.array_equal(again.releases[1].classes, classes)
        assert client.get("/look/1").status == 200


@pytest.mark.slow
def test_a_run_that_was_under_way_is_said_to_be_lost(tmp_path: Path) -> None:
    """The app was killed: its file says that it ran, and nobody runs it."""
    with serving(tmp_path) as client:
        opened(client)
        client.form("/promise", {"k": 4, "t-3": "0.4"})
        project = project_of(client)
        folder = project.folder.run_folder(1)
        KeptRun(1, "mondrian", {}, 7).write(folder)
        project.settings.schema().save(folder / "schema.toml")
        given = project.folder.id
    with serving(tmp_path) as client:
        client.enter()
        client.follow(client.form("/open/project", {"project": given}))
        assert "Lost" in client.get("/run").text
        client.follow(client.form("/run/again", {"run": 1}))
        assert project_of(client).runs[1].state == "done"


@pytest.mark.slow
def test_a_table_that_was_changed_is_not_taken_for_the_same_and_one_that_was_moved_is(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        opened(client)
        given = project_of(client).folder.id
        (tmp_path / "tables" / "people.csv").write_text(TABLE + "x,1,f,flu\n")
        client.form("/project/close")
        page = client.follow(client.form("/open/project", {"project": given}))
        assert "its bytes are others" in problem(page)
        assert client.server.bench.project is None
        (tmp_path / "tables" / "people.csv").unlink()
        (tmp_path / "tables" / "moved.csv").write_text(TABLE)
        assert client.follow(client.form("/open/project", {"project": given, "path": "moved.csv"})).status == 200
        assert project_of(client).folder.id == given


@pytest.mark.slow
def test_a_file_that_is_no_table_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.enter()
        (tmp_path / "tables" / "x.parquet").write_bytes(b"no parquet")
        page = client.follow(client.form("/open/path", {"path": "x.parquet"}))
        assert "x.parquet" in problem(page)
        assert client.server.bench.shelf.entries() == []


@pytest.mark.slow
def test_a_project_can_be_removed(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        opened(client)
        given = project_of(client).folder.id
        assert "Are you sure?" in client.form("/project/remove", {"project": given}).text
        assert client.server.bench.shelf.entries() != []
        assert client.form("/project/remove", {"project": given, "sure": "yes"}).status == 303
        assert client.server.bench.project is None
        assert client.server.bench.shelf.entries() == []
        assert (tmp_path / "tables" / "people.csv").exists()


def test_work_can_be_stopped_and_is_one_at_a_time(done: Client) -> None:
    """A job that waits to be stopped; meanwhile nothing else is begun."""

    def work(job: BackgroundJob) -> None:
        while not job.control.stop:
            job.listen("partition", 0.5, 0.25)

    done.server.bench.begin("gains", "/look/1", work)
    told = json.loads(done.get("/job.json").text)
    assert (told["state"], told["kind"]) == ("running", "gains")
    reply = done.form("/run", {"method": "mondrian"})
    assert reply.status == 409
    assert "still going on" in problem(reply)
    assert done.form("/job/stop").status == 303
    done.wait()
    assert json.loads(done.get("/job.json").text)["state"] == "done"


def test_an_unforeseen_error_is_told_without_its_message(done: Client) -> None:
    def work(job: BackgroundJob) -> None:
        raise ValueError("a secret cell")

    job = done.server.bench.begin("gains", "/look/1", work)
    done.wait()
    assert job.state == "failed"
    for path in ("/job", "/look/1"):  # the page that waited says so too
        page = done.get(path)
        assert "secret" not in page.text
        assert "ValueError" in problem(page)


@pytest.mark.slow
def test_a_dropped_file_is_removed_with_the_app_unless_it_is_to_be_kept(tmp_path: Path) -> None:
    for keep in ("no", "yes"):
        with serving(tmp_path) as client:
            client.enter()
            headers = {"Content-Type": "application/octet-stream", "X-Form-Token": client.token}
            headers |= {"X-File-Name": "people.csv", "X-Keep-Copy": keep}
            assert client.ask("POST", "/upload", TABLE.encode(), headers).status == 200
            client.wait()
            place = Path(project_of(client).request.location.place)
            assert place.exists()
            assert place.stat().st_mode & 0o077 == 0
        assert place.exists() == (keep == "yes")
