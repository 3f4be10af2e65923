"""One verification in a process of its own: what is judged, and three files; seconds and memory as JSON.

It also runs under the Python of an older checkout, so that one program measures both: give it the path of this file.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PERIOD = 0.005
STATM = Path("/proc/self/statm")
WARM = 200  # rows that are verified first: what is loaded or compiled only once is not measured


def megabytes() -> float:
    """The resident memory of this process."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class PeakWatch(threading.Thread):
    """Samples the resident memory until it is told to end."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = megabytes()
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(PERIOD):
            self.peak = max(self.peak, megabytes())


def judged_before(what: str, release: Any, schema: Any, _original: Any) -> Callable[[], Any]:
    """How the first verifier judged: by the released values alone."""
    if what != "release":
        raise SystemExit("This version judges the release alone.")
    verify: Any = importlib.import_module("tclose.verify").verify
    read: Any = importlib.import_module("tclose.frames").read
    source = read(release, schema.delimiter)
    return lambda: verify(source, schema)


def judged_now(what: str, release: Any, schema: Any, original: Any) -> Callable[[], Any]:
    """How a release is judged: alone, beside its original, and beside what methods go by as well."""
    from tclose.table.source import read
    from tclose.verification.judge_release import check_release

    source = read(release, schema.delimiter)
    before = None if what == "release" else read(original, schema.delimiter)
    if what != "agreement":
        return lambda: check_release(source, schema, before)
    from tclose.pipeline import _check_agreement
    from tclose.table.encode import encode

    table = encode(read(original, schema.delimiter), schema)

    def judge() -> Any:
        found = check_release(source, schema, before)
        _check_agreement(found, table, schema)
        return found

    return judge


def main() -> None:
    import polars as pl

    import tclose
    from tclose.errors import VerificationError

    what, release, schema, original = sys.argv[1:]
    loaded = tclose.Schema.load(schema)
    judged = judged_before if importlib.util.find_spec("tclose.verify") else judged_now
    few = pl.scan_parquet(release).head(WARM).collect(), pl.scan_parquet(original).head(WARM).collect()
    with contextlib.suppress(VerificationError):  # some rows of a release are none
        judged(what, few[0], loaded, few[1])()
    judge = judged(what, release, loaded, original)
    watch, first = PeakWatch(), megabytes()
    watch.start()
    started, used = time.perf_counter(), time.process_time()
    found = judge()
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    watch.done.set()
    watch.join()
    figures = {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "first_mb": first,
        "peak_mb": watch.peak,
        "growth_mb": watch.peak - first,
    }
    reached = {name: str(value) for name, value in found.t.items()}
    print(json.dumps({**figures, "rows": found.rows, "classes": found.classes, "k": found.k, "t": reached}))


if __name__ == "__main__":
    main()
