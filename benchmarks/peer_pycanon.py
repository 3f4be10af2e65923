"""Run by the interpreter of `.venv-peers`: what pycanon reports of a CSV file, and the seconds of it, as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from pycanon import anonymity
from pycanon.anonymity.utils import aux_functions

CALLS: dict[str, Callable[..., Any]] = {
    "t": anonymity.t_closeness,
    "alpha": lambda *table: anonymity.alpha_k_anonymity(*table)[0],
    "beta": anonymity.basic_beta_likeness,
    "enhanced_beta": anonymity.enhanced_beta_likeness,
    "delta": anonymity.delta_disclosure,
}


def main() -> None:
    """The path, the sensitive column, and the names of the calls."""
    path, sensitive, *names = sys.argv[1:]
    table = aux_functions.read_file(path)
    quasi = [name for name in table.columns if name != sensitive]
    found: dict[str, Any] = {"version": version("pycanon")}
    for name in names:
        started, used = time.perf_counter(), time.process_time()
        value = CALLS[name](table, quasi, [sensitive])
        found[name] = {
            "value": float(value),
            "seconds": time.perf_counter() - started,
            "processor_seconds": time.process_time() - used,
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
