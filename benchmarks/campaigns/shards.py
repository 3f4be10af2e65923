"""Shards: engines whose workers are killed, whose driver is killed, and whose disk is full.

After each run there is a release that is complete and verified, the same rows as of a run that nobody disturbed; or
none. The local engine runs until `SHARD_KILLS` of its workers were killed (100 if not said), at random moments; then
its driver is killed at random moments, and its files may not grow beyond random sizes. On Spark, where that is there,
the Python worker of every shard is killed the first time.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

import tclose
from benchmarks.results import ROOT
from benchmarks.scale import make

ROWS, DRIVER_KILLS, FULL_DISKS, SPARK_RUNS = 20_000, 15, 15, 3
T = "0.2"
PROGRAM = """
import sys
from pathlib import Path
from benchmarks.scale import _schema
from tclose.scale.local_engine import LocalOptions, anonymize_folder
options = LocalOptions(jobs=2, shard_rows=2500, piece_rows=4000, file_rows=6000)
data = Path(sys.argv[1])
anonymize_folder(data, _schema(data, sys.argv[2]), sys.argv[3], seed=3, method="mondrian", options=options)
"""


def shards() -> dict[str, Any]:
    """All of it, and how often each outcome was seen."""
    rng = random.Random(int(os.environ.get("SHARD_SEED", "0")))
    wanted = int(os.environ.get("SHARD_KILLS", "100"))
    with tempfile.TemporaryDirectory() as name:
        trial = _Trial(Path(name), rng)
        trial.undisturbed()
        while trial.counts["workers killed"] < wanted:
            trial.once("workers", trial.kill_workers)
        for _ in range(DRIVER_KILLS):
            trial.once("driver", trial.kill_driver)
        for _ in range(FULL_DISKS):
            trial.once("full disk", trial.wait, most_bytes=int(10 ** rng.uniform(3.5, 6.0)))
        if find_spec("pyspark") is not None and shutil.which("java"):
            trial.on_spark()
        return {"rows": ROWS, **dict(sorted(trial.counts.items())), "findings": trial.findings}


class _Trial:
    """A table, what comes of it undisturbed, and runs that are disturbed."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.rng = folder, rng
        self.data, self.out = folder / "census", folder / "out"
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []
        make("census", ROWS, self.data)

    def undisturbed(self) -> None:
        started = time.monotonic()
        if self.start().wait():
            raise SystemExit("an undisturbed run fails")
        self.seconds = time.monotonic() - started
        self.expected = self.rows()
        self.schema = tclose.Schema.load(self.data.with_suffix(".toml"))

    def start(self, most_bytes: int | None = None) -> subprocess.Popen[bytes]:
        shutil.rmtree(self.out, ignore_errors=True)

        def limited() -> None:
            if most_bytes is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

        command = [sys.executable, "-c", PROGRAM, str(self.data), T, str(self.out)]
        return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, preexec_fn=limited)

    def rows(self) -> pl.DataFrame:
        frame = pl.concat([pl.read_parquet(file) for file in sorted(self.out.glob("*.parquet"))])
        return frame.sort(frame.columns)

    def once(self, what: str, disturb: Callable[[subprocess.Popen[bytes]], None], **given: Any) -> None:
        process = self.start(**given)
        disturb(process)
        self.judge(what, process.wait() == 0)

    def judge(self, what: str, done: bool) -> None:
        """A release that is complete, verified and the expected one; or none."""
        if not self.out.exists():
            self.counts[f"{what}: none"] += 1
            if done:
                self.findings.append(f"{what}: no release, and no error")
            return
        self.counts[f"{what}: complete"] += 1
        if not self.rows().equals(self.expected):
            self.findings.append(f"{what}: other rows than undisturbed")
        verdict = tclose.verify(self.out, self.schema)
        if not verdict.holds or verdict.certificate is not True:
            self.findings.append(f"{what}: not verified")

    def kill_workers(self, process: subprocess.Popen[bytes]) -> None:
        """Kill up to three workers, of those that are there at random moments."""
        for _ in range(self.rng.randint(1, 3)):
            time.sleep(self.rng.uniform(0.1, 0.4) * self.seconds)
            workers = _children(process.pid)
            if workers and process.poll() is None:
                os.kill(self.rng.choice(workers), signal.SIGKILL)
                self.counts["workers killed"] += 1

    def kill_driver(self, process: subprocess.Popen[bytes]) -> None:
        time.sleep(self.rng.uniform(0.2, 1.1) * self.seconds)
        if process.poll() is None:
            process.kill()
            self.counts["drivers killed"] += 1

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()

    def on_spark(self) -> None:
        from pyspark import cloudpickle

        from tclose.scale.spark_engine import anonymize_folder_on_spark
        from tclose.scale.spark_session import open_session
        from tests.scale import killing_methods

        register: Any = cloudpickle.register_pickle_by_value
        register(killing_methods)
        session = open_session("local[2,4]", **{"spark.speculation": "true"})
        methods: list[Any] = ["mondrian"]
        for number in range(SPARK_RUNS):
            marks = self.folder / f"marks-{number}"
            marks.mkdir()
            methods.append(killing_methods.KillingMondrian(str(marks)))
        for number, method in enumerate(methods):
            shutil.rmtree(self.out, ignore_errors=True)
            anonymize_folder_on_spark(session, self.data, self.schema, self.out, seed=3, method=method, shard_rows=2500)
            if not number:
                self.expected = self.rows()
                continue
            self.counts["workers of Spark killed"] += len(list((self.folder / f"marks-{number - 1}").iterdir()))
            self.judge("Spark", True)
        session.stop()


def _children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found
