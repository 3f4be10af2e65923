"""Take the pictures of docs/app.md from the app itself, with Chromium: `python -m benchmarks.app_pictures`.

The table is the made-up hospital. Each step is taken in light and in dark, and made small: some colours are enough.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from benchmarks.results import ROOT
from tclose.app.web_server import ServerOptions, WebServer, make_bench

FOLDER = ROOT / "docs" / "pictures" / "app"
WIDTH, HEIGHT = 1280, 860
COLOURS = 144
LONG = 240_000  # milliseconds
DROPPED = range(7, 14)  # laboratory values, stay and charge: left out, so that the pictures stay readable


def open_and_settle(page: Page, origin: str, take: Any) -> None:
    """From the first page to settled columns and hierarchies."""
    take("1-open")
    page.click("#sample-hospital")
    page.wait_for_url("**/table", timeout=LONG)
    take("1-table")
    page.goto(f"{origin}/columns")
    page.click("#take-guesses")
    page.wait_for_selector("text=Every column is settled")
    for number in DROPPED:
        page.check(f"input[type=checkbox][value='{number}']")
    page.select_option("#bulk-role", "identifier")
    page.click("#bulk-go")
    page.wait_for_selector(f"#role-{DROPPED[-1]}.role-identifier")
    page.click("h1")
    take("2-columns")
    page.goto(f"{origin}/columns/1")
    take("2-column")
    page.goto(f"{origin}/hierarchies/6")
    take("3-hierarchy")


def promise_and_run(page: Page, origin: str, take: Any) -> None:
    """From the promise to files to take away."""
    page.goto(f"{origin}/promise")
    page.click("#curve")
    page.wait_for_selector("[data-curve]", timeout=LONG)
    page.wait_for_selector("[data-job]", state="detached", timeout=LONG)
    take("4-promise")
    page.goto(f"{origin}/run")
    for number, method in enumerate(("mondrian", "tight"), 1):
        page.select_option("#method", method)
        page.fill("#seed", "1")
        page.click("#run")
        page.wait_for_selector(f"#run-{number} a.main", timeout=LONG)
    page.click("h1")
    take("5-run")
    page.goto(f"{origin}/look/2")
    take("6-look")
    page.goto(f"{origin}/look/2/class/3")
    take("6-class")
    page.goto(f"{origin}/take/2")
    page.click("#write")
    page.wait_for_selector(".public", timeout=LONG)
    take("7-take")


def shoot(page: Page, name: str) -> None:
    """One step in both schemes."""
    page.wait_for_load_state("networkidle")  # icons come last
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate("scrollTo(0, 0)")
        file = FOLDER / f"{name}-{scheme}.png"
        page.screenshot(path=file)
        with Image.open(file) as picture:
            small = picture.convert("RGB").resize((WIDTH * 3 // 4, HEIGHT * 3 // 4), Image.Resampling.LANCZOS)
            small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(file, optimize=True)
        print(file.relative_to(ROOT), f"{file.stat().st_size / 1000:.0f} kB")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.gettempdir()) / "clinic"  # which the pictures show
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    with sync_playwright() as driver:
        bench = make_bench(place, place / "projects", 4 * 10**9)
        server = WebServer.of(bench, ServerOptions())
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.server.started:
            time.sleep(0.01)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
        page.set_default_timeout(LONG)
        page.goto(server.link)
        page.wait_for_selector("#sample-hospital")
        for part in (open_and_settle, promise_and_run):
            part(page, server.gate.origin, lambda name: shoot(page, name))
        browser.close()
        bench.end()
        thread.join(10)
    shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
