"""Tables that were measured earlier and not on this code: their cells lie in `docs/results/earlier.json` as they were.

They hold times, which need a quiet machine, or what takes long to measure. Each says by which command it was made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from docs.generate import results
from docs.generate.marked import table

NAME = "earlier"


def earlier(name: str) -> str:
    """A table as it was measured, and below it where it comes from."""
    found = results.result(NAME)
    entry = found["tables"][name]
    return f"{table(entry['header'], entry['rows'])}\n\n{origin(found, entry)}"


def origin(found: dict[str, Any], entry: dict[str, Any]) -> str:
    """What stands below such a table."""
    by = f"by `{entry['command']}`" if "command" in entry else "by a script that is not in `benchmarks/`"
    return f"*Measured earlier, {by}, with version {found['version']}; not measured on this code.*"


def earlier_tables() -> dict[str, Callable[[], str]]:
    """Every such table, by the name of its block."""
    return {f"{NAME}/{name}": partial(earlier, name) for name in results.result(NAME)["tables"]}
