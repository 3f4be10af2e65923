"""Run by the interpreter of `.venv-peers`: pycanon's t of a CSV file, and the seconds of that call alone, as JSON."""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

from pycanon import anonymity
from pycanon.anonymity.utils import aux_functions


def main() -> None:
    path, sensitive = sys.argv[1:]
    table = aux_functions.read_file(path)
    quasi = [name for name in table.columns if name != sensitive]
    started, used = time.perf_counter(), time.process_time()
    t = anonymity.t_closeness(table, quasi, [sensitive])
    seconds = {"seconds": time.perf_counter() - started, "processor_seconds": time.process_time() - used}
    print(json.dumps({"version": version("pycanon"), **seconds, "t": float(t)}))


if __name__ == "__main__":
    main()
