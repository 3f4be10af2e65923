"""Debian's chromium, driven by Playwright: pages as people see them, with every complaint and every request noted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]


@dataclass
class Noted:
    """What went on behind a page."""

    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def watch(self, page: Any) -> None:
        """Note what a page logs, which errors it has and what it asks for."""
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def _hear(self, told: Any) -> None:
        if told.type in ("error", "warning"):
            self.complaints.append(told.text)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser while it is needed; skips where there is none."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("Chromium is not installed (on Debian: chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def axe_problems(page: Any, rules: list[str]) -> list[str]:
    """What axe finds on a page: the rule, and where; by all rules of WCAG 2 A and AA if none are named."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    found = axe.run(page, options={"runOnly": rules or ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
    return [
        f"{each['id']}: {', '.join(str(node['target']) for node in each['nodes'][:3])}"
        for each in found.response["violations"]
    ]
