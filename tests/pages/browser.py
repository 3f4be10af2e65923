"""A headless Chromium, driven over plain HTTP (WebDriver): it opens files and tells what it sees."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--window-size=1100,1400",
)  # fmt: skip


@dataclass(frozen=True)
class Browser:
    """A session of a browser."""

    address: str

    def ask(self, method: str, command: str, **parameters: Any) -> Any:
        """One command of the WebDriver protocol."""
        data = json.dumps(parameters).encode() if method == "POST" else None
        request = urllib.request.Request(f"{self.address}/{command}".rstrip("/"), data, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, path: Path) -> None:
        """Open a file."""
        self.ask("POST", "url", url=path.as_uri())

    def run(self, script: str) -> Any:
        """What a script returns."""
        return self.ask("POST", "execute/sync", script=script, args=[])

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What was logged since the last look: `browser` is the console, `performance` has every request."""
        found: list[dict[str, Any]] = self.ask("POST", "se/log", type=kind)
        return found

    def colours(self, scheme: str) -> None:
        """Prefer light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("POST", "goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params={"features": features})

    def wide(self, pixels: int) -> None:
        """Take a screen of this width."""
        size = {"width": pixels, "height": 1400, "deviceScaleFactor": 1, "mobile": pixels < 600}
        self.ask("POST", "goog/cdp/execute", cmd="Emulation.setDeviceMetricsOverride", params=size)

    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        told = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [each["params"]["request"]["url"] for each in told if each["method"] == "Network.requestWillBeSent"]


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser while it is needed; skips where there is none."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("Chromium and its driver are not installed (on Debian: chromium, chromium-driver)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            session = _begin(f"http://127.0.0.1:{port}", chromium, profile)
            try:
                yield session
            finally:
                session.ask("DELETE", "")
        finally:
            process.terminate()
            process.wait(30)


def _begin(address: str, chromium: str, profile: str) -> Browser:
    options = {"binary": chromium, "args": [*ARGUMENTS, f"--user-data-dir={profile}"]}
    wanted = {
        "browserName": "chrome",
        "goog:chromeOptions": options,
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
    }
    ends = time.monotonic() + 60
    while True:
        try:
            Browser(address).ask("GET", "status")
            break
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.2)
    session = Browser(address).ask("POST", "session", capabilities={"alwaysMatch": wanted})
    browser = Browser(f"{address}/session/{session['sessionId']}")
    browser.ask("POST", "url", url="about:blank")  # away from its own first page, which asks for much
    return browser
