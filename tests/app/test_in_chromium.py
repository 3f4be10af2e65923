"""The app in a real browser: the whole way, by mouse and by keyboard, stopped, killed, and without a complaint."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tests.app.browsing import Noted, axe_problems, chromium
from tests.app.serving import TABLE, Client, opened, serving

pytestmark = pytest.mark.slow
PAGES = (
    *(
        "/",
        "/table",
        "/columns",
        "/columns/1",
        "/columns/4/matrix",
        "/hierarchies",
        "/hierarchies/1",
        "/hierarchies/2",
        "/promise",
        "/run",
    ),
    *("/look/1", "/look/1/rows/1", "/look/1/classes/1", "/look/1/class/0", "/take/1", "/enter"),
)
CHANGE_AT_ONCE = """
roles => Object.entries(roles).forEach(([number, role]) => {
  const list = document.getElementById(`role-${number}`);
  list.value = role;
  list.dispatchEvent(new Event("change", { bubbles: true }));
})
"""
LONG = 60_000  # milliseconds, for what computes


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@contextmanager
def visiting(browser: Any, link: str, **options: Any) -> Iterator[Any]:
    """A page that has entered; afterwards nothing may have complained, and nothing have left the machine."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
    page, noted = context.new_page(), Noted()
    noted.watch(page)
    try:
        page.goto(link)
        page.wait_for_url(re.compile(r"://[^/]+/$"))
        yield page
        here = link.split("/enter")[0]
        assert not [url for url in noted.requests if not url.startswith(here)]
        assert noted.complaints == []
        storage = page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")
        assert storage == [0, 0, ""]  # no data is kept in the browser, and no script sees the cookie
    finally:
        context.close()


def settle(page: Any, roles: dict[int, str]) -> None:
    """Give columns their roles on the page of columns, faster than the server answers: every one must count."""
    page.click("nav a[href='/columns']")
    page.wait_for_selector("#role-0")
    page.evaluate(CHANGE_AT_ONCE, {str(number): role for number, role in roles.items()})
    for number, role in roles.items():
        page.wait_for_selector(f"#role-{number}.role-{role}")


def run(page: Any, method: str, number: int) -> None:
    page.click("nav a[href='/run']")
    page.select_option("#method", method)
    page.click("#run")
    page.wait_for_selector(f"#run-{number} a.main", timeout=LONG)


def take(page: Any, number: int, kind: str = "csv") -> Path:
    """Write the files of a run, and download the release."""
    page.click(f"#run-{number} a[href='/take/{number}']")
    page.select_option("#format", kind)
    page.click("#write")
    page.wait_for_selector(".public", timeout=LONG)
    with page.expect_download() as found:
        page.click(f"a[href='/take/{number}/file/release.{kind}']")
    return Path(found.value.path())


def test_a_clean_table_from_file_to_release(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as client, visiting(browser, client.server.link) as page:
        (tmp_path / "tables" / "people.csv").write_text(TABLE)
        page.fill("#path", "people.csv")
        page.press("#path", "Enter")
        page.wait_for_url("**/table", timeout=LONG)
        settle(page, {0: "identifier", 1: "quasi", 2: "quasi", 3: "sensitive"})
        page.wait_for_selector("#alone svg")
        page.click("#undo")
        page.wait_for_selector("#role-3.role-open")
        page.click("#redo")
        page.wait_for_selector("#role-3.role-sensitive")
        page.click("nav a[href='/promise']")
        page.fill("#t-3", "0.4")
        page.press("#t-3", "Tab")
        page.wait_for_selector("text=40 points")
        run(page, "mondrian", 1)
        released = take(page, 1)
        project = client.server.bench.project
        assert project is not None
        out = project.folder.run_folder(1) / "out"
        assert released.read_bytes() == (out / "release.csv").read_bytes()
        assert tclose.verify(out / "release.csv", out / "schema.toml").holds


EARLY = {
    "a number typed": "document.getElementById('t-3').value = '0.4'",
    "a slider moved": "document.querySelector('input[data-for=t-3]').value = '0.4'",
}


@pytest.mark.parametrize("change", EARLY.values(), ids=EARLY)
def test_what_is_changed_before_the_scripts_are_there_counts(browser: Any, tmp_path: Path, change: str) -> None:
    with serving(tmp_path) as client, visiting(browser, client.server.link) as page:
        (tmp_path / "tables" / "people.csv").write_text(TABLE)
        page.fill("#path", "people.csv")
        page.press("#path", "Enter")
        page.wait_for_url("**/table", timeout=LONG)
        settle(page, {0: "identifier", 1: "quasi", 2: "quasi", 3: "sensitive"})
        held: list[Any] = []
        page.route("**/static/app.js", lambda route: held.append(route))  # held back until the change is made
        page.goto(client.origin + "/promise", wait_until="commit")
        page.wait_for_selector("#t-3")
        page.evaluate(change)
        assert "40 points" not in page.inner_text("main")
        held[0].continue_()
        page.wait_for_selector("text=40 points")


MESSY = "Patient;Geburtsdatum;PLZ;<b>Größe</b>;Befund\n" + "".join(
    f"N{n:04};{1 + n % 28:02}.{1 + n % 12:02}.{1950 + n % 50};{'?' if n % 19 == 0 else f'0{1000 + n % 40}'};"
    f"{150 + n % 45},{n % 10};{('ok', 'krank', 'k.A.', 'x<y')[n % 4]}\n"
    for n in range(300)
)


def test_a_messy_export_dropped_on_the_page(browser: Any, tmp_path: Path) -> None:
    """Semicolons, a decimal comma, dates with points, another encoding, a name that is HTML."""
    file = tmp_path / "Export <1>.csv"
    file.write_bytes(MESSY.encode("cp1252"))
    with serving(tmp_path) as client, visiting(browser, client.server.link) as page:
        page.set_input_files("#file", str(file))
        page.wait_for_url("**/table", timeout=LONG)
        assert "<b>Größe</b>" in page.inner_text("main")
        settle(page, {0: "identifier", 1: "quasi", 2: "quasi", 3: "quasi", 4: "sensitive"})
        page.click("nav a[href='/promise']")
        page.fill("#t-4", "0.5")
        page.press("#t-4", "Tab")
        page.wait_for_selector("text=50 points")
        run(page, "mondrian", 1)
        rows = pl.read_csv(take(page, 1), separator=";", infer_schema=False)
        assert len(rows) == 300
        assert rows.columns == ["Geburtsdatum", "PLZ", "<b>Größe</b>", "Befund"]


def test_errors_are_said_in_every_step(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as client, visiting_with_errors(browser, client) as page:
        (tmp_path / "tables" / "people.csv").write_text(TABLE)
        (tmp_path / "tables" / "broken.json").write_text("{")
        for wrong in ("../etc/passwd", "absent.csv", "broken.json"):
            page.fill("#path", wrong)
            page.press("#path", "Enter")
            page.wait_for_selector("#problem", timeout=LONG)
            page.goto(client.origin + "/")
        page.fill("#path", "people.csv")
        page.press("#path", "Enter")
        page.wait_for_url("**/table", timeout=LONG)
        settle(page, {0: "identifier", 1: "quasi", 2: "quasi", 3: "sensitive"})
        for path, field, value, button in (
            ("/columns/1", "#key-step", "wide", "#save"),
            ("/hierarchies/1", "#numbers", "5, 7", "button.main"),
            ("/promise", "#t-3", "2", "#save"),
            ("/run", "#seconds", "long", "#run"),
        ):
            page.goto(client.origin + path)
            page.fill(field, value)
            page.click(f"main {button}")
            page.wait_for_selector("#problem")
        page.goto(client.origin + "/take")
        assert "Run a method first" in page.inner_text("main")


@contextmanager
def visiting_with_errors(browser: Any, client: Client) -> Iterator[Any]:
    """The same, where answers that refuse are meant: the browser logs each."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page, noted = context.new_page(), Noted()
    noted.watch(page)
    page.goto(client.server.link)
    page.wait_for_url(re.compile(r"://[^/]+/$"))
    yield page
    assert [each for each in noted.complaints if "422" not in each and "409" not in each] == []
    context.close()


def tab_to(page: Any, selector: str, most: int = 150) -> None:
    """Press Tab until the keyboard is there."""
    for _ in range(most):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {selector}")


def test_the_whole_way_by_keyboard_alone(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as client, visiting(browser, client.server.link) as page:
        (tmp_path / "tables" / "people.csv").write_text(TABLE)
        tab_to(page, "#path")
        page.keyboard.type("people.csv")
        page.keyboard.press("Enter")
        page.wait_for_url("**/table", timeout=LONG)
        tab_to(page, "a[href='/columns'].main")
        page.keyboard.press("Enter")
        page.wait_for_url("**/columns")
        typed = (("Ne", "identifier"), ("May", "quasi"), ("May", "quasi"), ("Mu", "sensitive"))
        for number, (letter, role) in enumerate(typed):
            tab_to(page, f"#role-{number}")
            page.keyboard.type(letter)
            page.keyboard.press("Tab")
            page.wait_for_selector(f"#role-{number}.role-{role}")
        page.keyboard.press("Home")
        tab_to(page, "nav a[href='/promise']")
        page.keyboard.press("Enter")
        page.wait_for_url("**/promise")
        tab_to(page, "#t-3")
        page.keyboard.press("Control+a")
        page.keyboard.type("0.4")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=40 points")
        tab_to(page, "a[href='/run'].main")
        page.keyboard.press("Enter")
        page.wait_for_url("**/run")
        tab_to(page, "#method")
        page.keyboard.type("mond")
        tab_to(page, "#run")
        page.keyboard.press("Enter")
        page.wait_for_selector("#run-1 a.main", timeout=LONG)
        tab_to(page, "#run-1 a[href='/take/1']")
        page.keyboard.press("Enter")
        page.wait_for_url("**/take/1")
        tab_to(page, "#write")
        page.keyboard.press("Enter")
        page.wait_for_selector(".public", timeout=LONG)


def test_a_tree_is_changed_by_mouse_and_by_keyboard(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as client, visiting(browser, client.server.link) as page:
        (tmp_path / "tables" / "people.csv").write_text(TABLE)
        page.fill("#path", "people.csv")
        page.press("#path", "Enter")
        page.wait_for_url("**/table", timeout=LONG)
        settle(page, {0: "identifier", 1: "identifier", 2: "identifier", 3: "quasi"})
        page.goto(client.origin + "/hierarchies/3")
        page.click("#begin")
        page.wait_for_selector(".tree")
        page.goto(client.origin + "/hierarchies/3")
        names = page.locator(".tree li").all_inner_texts()
        assert any("60 rows" in name for name in names)
        page.check("#node-1")
        page.check("#node-3")
        page.fill("#label", "both")
        page.click("#group")
        page.wait_for_selector(".tree >> text=both")
        page.drag_and_drop(".tree li.leaf >> nth=3", ".tree li.group >> text=both")
        page.wait_for_selector(".tree li:has-text('both'):has-text('3 values')")
        take_a_schema_and_change_it(client, page, tmp_path)


SCHEMA = """k = 4
identifiers = ["name"]
[quasi.age]
kind = "numeric"
[sensitive.sex]
distance = "equal"
t = 0.4
[sensitive.ill]
distance = "equal"
t = 0.4
"""


def take_a_schema_and_change_it(client: Client, page: Any, folder: Path) -> None:
    """A schema from a file that is no UTF-8, a matrix, a joint, an objective; what is removed is asked about."""
    (folder / "own.toml").write_bytes(SCHEMA.replace('["name"]', '["name"] # Größe').encode("cp1252"))
    page.goto(client.origin + "/columns")
    page.click("#schema summary")
    page.set_input_files("#schema-file", str(folder / "own.toml"))
    page.wait_for_function("document.getElementById('schema-text').value.includes('Größe')")
    page.click("#schema form button")
    page.wait_for_selector("#role-2.role-sensitive")
    page.goto(client.origin + "/columns/3")
    page.select_option("#key-distance", "matrix")
    page.click("a[href='/columns/3/matrix']")
    page.fill("[name=c-0-1]", "0,5")
    page.press("[name=c-0-1]", "Enter")
    page.wait_for_selector("[name=c-0-1][value='0.5']")
    page.goto(client.origin + "/promise")
    for box in page.locator("#joints input[type=checkbox]").all():
        box.check()
    page.click("#add-joint")
    page.wait_for_selector("#joints .means:has-text('at most 0.2')")
    page.fill("#suppress_rows", "3")
    page.click("#save-objective")
    page.wait_for_selector("#suppress_rows[value='3']")
    page.click("nav a[href='/run']")
    page.select_option("#method", "mondrian")
    page.click("#run")
    page.wait_for_selector("#run-1 a.main, #told-1 b.warn", timeout=LONG)
    page.click("#run-1 form[action='/run/remove'] button")
    page.click("#cancel")
    page.click("#run-1 form[action='/run/remove'] button")
    page.click("#sure")
    page.wait_for_selector("text=Nothing was run yet")


@contextmanager
def own_process(folder: Path) -> Iterator[tuple[Any, str]]:
    """`tclose app` as a command, and its link."""
    command = [sys.executable, "-m", "tclose", "app", "--no-browser", "--folder", str(folder / "tables")]
    command += ["--projects", str(folder / "projects")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    link = ""
    while not link:
        line = process.stderr.readline()
        assert line, "it ended before it had a link"
        link = line.strip() if line.strip().startswith("http") else ""
    try:
        yield process, link
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(20)
        process.stderr.close()


def test_a_crash_in_the_middle_of_a_run_and_a_stop(browser: Any, tmp_path: Path) -> None:
    """The server is killed while it searches. Then the run is said to be lost; it is run again and stopped."""
    (tmp_path / "tables").mkdir()
    frame, _ = tclose.datasets.census(8000, seed=1)
    frame.write_csv(tmp_path / "tables" / "census.csv")
    roles = {0: "quasi", 1: "quasi", 2: "quasi", 3: "quasi", 4: "quasi", 5: "quasi", 6: "quasi", 7: "sensitive"}
    context = browser.new_context()
    page = context.new_page()
    with own_process(tmp_path) as (process, link):
        page.goto(link)
        page.wait_for_url(re.compile(r"://[^/]+/$"))
        page.fill("#path", "census.csv")
        page.press("#path", "Enter")
        page.wait_for_url("**/table", timeout=LONG)
        settle(page, roles)
        page.click("nav a[href='/run']")
        page.select_option("#effort", "best")
        page.click("#run")
        page.wait_for_selector("[data-job]")
        page.wait_for_load_state("load")  # its scripts come from the server that is killed next
        os.kill(process.pid, signal.SIGKILL)
        page.click("#stop")
        page.wait_for_selector("#unreachable")  # a sentence, and not the browser's own page
        assert "Your projects are kept" in page.inner_text("#unreachable")
    context.close()
    with own_process(tmp_path) as (_, link), visiting(browser, link) as page:
        page.click("form[action='/open/project'] button")
        page.wait_for_url("**/table", timeout=LONG)
        page.click("nav a[href='/run']")
        assert "Lost" in page.inner_text("#told-1")
        page.click("#again-1")
        page.wait_for_selector("[data-loss-line]:not([hidden])", timeout=LONG)
        page.click("#stop")
        page.wait_for_selector("#run-1 a.main", timeout=LONG)
        assert "stopped early" in page.inner_text("#run-1")


def test_a_million_rows(browser: Any, tmp_path: Path) -> None:
    """Only a page of rows is ever in the browser."""
    (tmp_path / "tables").mkdir()
    frame, _ = tclose.datasets.census(1_000_000, seed=1)
    frame.write_parquet(tmp_path / "tables" / "census.parquet")
    with serving(tmp_path) as client, visiting(browser, client.server.link) as page:
        began = time.monotonic()
        page.fill("#path", "census.parquet")
        page.press("#path", "Enter")
        page.wait_for_url("**/table", timeout=LONG)
        assert time.monotonic() - began < 30
        page.click("a[href='/table/rows/1']")
        page.wait_for_selector("tbody tr:nth-child(20)", timeout=LONG)
        assert page.locator("tbody tr").count() == 20
        others = dict.fromkeys((2, 4, 5, 6), "identifier")
        settle(page, {0: "quasi", 1: "quasi", 3: "quasi", 7: "sensitive", **others})
        run(page, "mondrian", 1)
        page.click("#run-1 a[href='/look/1']")
        page.click("a[href='/look/1/classes/1']")
        page.wait_for_selector("h1:has-text('Classes')")
        assert len(page.content()) < 200_000


def prepare(client: Client) -> None:
    """A project with all that pages can show: a tree, a matrix, a joint, a curve, a run and its files."""
    lines = TABLE.splitlines()
    wider = [f"{line},{'abc'[n % 3]}" for n, line in enumerate(lines[1:])]
    opened(client, "\n".join([f"{lines[0]},ward", *wider]))
    for number, role in enumerate(("identifier", "quasi", "quasi", "sensitive", "sensitive")):
        client.form("/columns/roles", {"column": number, "role": role})
    client.form("/hierarchies/2/begin")
    client.form("/columns/4", {"role": "sensitive", "distance": "matrix"})
    client.form("/promise", {"k": 4, "t-3": "0.4", "t-4": "0.4", "l-3": "2"})
    client.form("/promise/joint", [("column", 3), ("column", 4), ("t", "0.5")])
    client.follow(client.form("/promise/curve"))
    client.follow(client.form("/run", {"method": "mondrian", "seed": "1"}))
    client.follow(client.form("/take/1", {"format": "csv"}))


def test_pages_are_accessible_and_fit_every_screen(browser: Any, tmp_path: Path) -> None:
    """By axe (WCAG A and AA, contrast too), in light on a small screen and in dark on a large one; no page is wider."""
    with serving(tmp_path) as client:
        prepare(client)
        name, _, value = client.cookie.partition("=")
        for scheme, widths in (("light", (768, 2000, 360)), ("dark", (1280,))):
            context = browser.new_context(color_scheme=scheme)
            context.add_cookies([{"name": name, "value": value, "url": client.origin}])
            page = context.new_page()
            for path in PAGES:
                page.goto(client.origin + path)
                for wide in widths:
                    page.set_viewport_size({"width": wide, "height": 800})
                    assert page.evaluate("document.documentElement.scrollWidth") <= wide, (path, wide)
                assert axe_problems(page, []) == [], (scheme, path)
            context.close()
