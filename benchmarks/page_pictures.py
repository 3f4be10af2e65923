"""Take the pictures of docs/choosing.md from real runs, with Chromium: `python -m benchmarks.page_pictures`."""

from __future__ import annotations

import subprocess
import tempfile
import warnings
from pathlib import Path

import tclose
from benchmarks.results import ROOT
from tclose.algorithms.tight.tight import Tight

FOLDER = ROOT / "docs" / "pictures"
ROWS = 4000
METHODS = (Tight("fast"), "mondrian", "sabre-knn", "sabre-ak", "fragments", "clusters", "incognito")
THRESHOLDS = ("0.05", "0.1", "0.15", "0.2", "0.3", "0.4", "0.5")
BROWSER = (
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
)  # fmt: skip


def pages() -> dict[str, tuple[str, int]]:
    """Every page, and how high its picture is."""
    frame, schema = tclose.datasets.census(ROWS, seed=1)
    found = tclose.compare(frame, schema, methods=METHODS, t=THRESHOLDS, jobs=1)
    suggested = tclose.suggest(frame, schema, max_rise="0.2", max_risk="0.2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        release = tclose.anonymize(frame, schema, method=Tight("fast"), seed=1)
    return {
        "comparison": (found.html(), 1000),
        "suggestion": (suggested.html(), 1080),
        "report": (tclose.report_html(frame, release), 1000),
    }


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        for name, (html, height) in pages().items():
            page = Path(place) / f"{name}.html"
            page.write_text(html, encoding="utf-8")
            picture = FOLDER / f"{name}.png"
            options = (f"--user-data-dir={place}/profile", f"--screenshot={picture}", f"--window-size=1040,{height}")
            subprocess.run([*BROWSER, *options, page.as_uri()], check=True, capture_output=True, timeout=120)
            print(picture.relative_to(ROOT), f"{picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
