"""One run in a process of its own: input, schema, output and method; seconds and memory by stage as JSON."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import tclose

PERIOD = 0.005
STATM = Path("/proc/self/statm")


class MemoryWatch(threading.Thread):
    """Samples the resident memory of this process; keeps the first and the highest of each stage."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.stage = "start"
        self.first: dict[str, float] = {}
        self.peak: dict[str, float] = {}
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(PERIOD):
            self.sample()

    def sample(self) -> None:
        if STATM.exists():
            megabytes = int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
            self.first.setdefault(self.stage, megabytes)
            self.peak[self.stage] = max(self.peak.get(self.stage, 0.0), megabytes)

    def enter(self, stage: str, loss: float | None = None, done: float | None = None) -> None:
        if stage != self.stage:
            self.sample()
            self.stage = stage
            self.sample()


def main() -> None:
    data, schema, output, method = sys.argv[1:]
    warnings.simplefilter("ignore", tclose.HighLossWarning)
    watch = MemoryWatch()
    watch.start()
    release = tclose.anonymize(data, tclose.Schema.load(schema), method=method, progress=watch.enter)
    watch.enter("write")  # this writes the file, reads it back and verifies it again
    release.write(output)
    watch.sample()
    watch.done.set()
    print(json.dumps(_figures(release, watch)))


def _figures(release: Any, watch: MemoryWatch) -> dict[str, Any]:
    return {
        "stages": release.record.seconds,
        "peak_mb": watch.peak,
        "growth_mb": {stage: watch.peak[stage] - watch.first[stage] for stage in watch.peak},
        "max_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        "classes": release.measured.classes,
        "loss": release.loss,
        "k": release.measured.k,
        "t": float(release.measured.t["salary"]),
    }


if __name__ == "__main__":
    main()
