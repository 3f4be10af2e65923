"""The figures that pages show, as they were measured: `docs/results`, counts of campaigns, data of pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docs.generate.marked import DOCS, ROOT

RESULTS = DOCS / "results"
COUNTS = ROOT / "benchmarks" / "campaigns" / "counts"
PAPERS = DOCS / "pictures" / "papers"


class NoSourceError(Exception):
    """A figure without a result, or a result that does not say where it comes from."""


def result(name: str) -> dict[str, Any]:
    """A result by name.

    Raises
    ------
    NoSourceError
        There is none, or it says neither on which machine and when it was measured, nor where else and when it was
        entered.
    """
    places = (folder / f"{name}.json" for folder in (RESULTS, COUNTS, PAPERS))
    path = next((each for each in places if each.exists()), None)
    if path is None:
        raise NoSourceError(f"There is no result '{name}'.")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if problem := origin_problem(found, path):
        raise NoSourceError(problem)
    return found


def origin_problem(found: dict[str, Any], path: Path) -> str | None:
    """What a result fails to say of where it comes from; None if nothing."""
    if "origin" in found:
        return (
            None
            if found.get("entered")
            else f"{path.name} was measured elsewhere, and does not say when it was entered."
        )
    missing = [key for key in ("cores", "python", "versions") if key not in found.get("machine", {})]
    if path.parent == RESULTS and "date" not in found:
        missing.append("date")
    return f"{path.name} does not say {', '.join(missing)}." if missing else None
