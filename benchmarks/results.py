"""What all benchmarks share: the table on the screen, the file of figures, and the machine they were taken on."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = ("tclose", "numpy", "numba", "polars", "pandas")


def show(console: Console, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, its first column to the left and the others to the right."""
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(header):
        table.add_column(name, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def verdict(console: Console, met: bool, text: str) -> None:
    """Say plainly whether an aim is met."""
    console.print(f"[bold green]met:[/] {text}" if met else f"[bold red]MISSED:[/] {text}", highlight=False)


def save(name: str, measured: dict[str, Any], load: float) -> None:
    """Write the figures of a benchmark as JSON, with the machine they were taken on."""
    RESULTS.mkdir(exist_ok=True)
    figures: dict[str, Any] = {"benchmark": name, "date": today(), "machine": machine()}
    figures |= {"load_before": load, "load_after": round(os.getloadavg()[0], 2)}
    (RESULTS / f"{name}.json").write_text(json.dumps(figures | measured, indent=2) + "\n", encoding="utf-8")


def today() -> str:
    """The day of a measurement, as the pages tell it."""
    return datetime.now(UTC).date().isoformat()


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(gigabytes),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in PACKAGES},
    }


def wait_for_quiet(most: float, below: float = 1.0) -> float:
    """Wait, but not longer than `most` seconds, until the machine's load is low; returns the load."""
    end = time.monotonic() + most
    while os.getloadavg()[0] >= below and time.monotonic() < end:
        time.sleep(2)
    return round(os.getloadavg()[0], 2)
