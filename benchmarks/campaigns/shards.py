"""Shards: engines whose workers are killed, whose driver is killed, and whose disk is full.

After each run there is a release that is complete and verified, the same rows as of a run that nobody disturbed; or
none. The local engine runs until `SHARD_KILLS` of its workers were killed (100 if not said), at random moments; then
its driver is killed at random moments, and its files may not grow beyond random sizes. On Spark, where that is there,
with speculative execution: the Python worker of every shard is killed the first time, until as many were; driver and
disk as before; and the released rows of 8 and of 200 tasks are compared byte for byte.
"""

from __future__ import annotations

import hashlib
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

ROWS, DRIVER_KILLS, FULL_DISKS = 20_000, 15, 15
SPARK_DRIVER_KILLS, SPARK_FULL_DISKS, TASKS = 6, 4, (8, 200)
SHARD_ROWS = 2_500
T = "0.2"
LOCAL = """
import sys
from pathlib import Path
from benchmarks.scale import schema_of
from tclose.scale.local_engine import LocalOptions, anonymize_folder
options = LocalOptions(jobs=2, shard_rows=2500, piece_rows=4000, file_rows=6000)
data = Path(sys.argv[1])
anonymize_folder(data, schema_of(data, sys.argv[2]), sys.argv[3], seed=3, method="mondrian", options=options)
"""
SPARK = """
import sys
from pathlib import Path
from benchmarks.scale import schema_of
from tclose.scale.spark_engine import anonymize_folder_on_spark
from tclose.scale.spark_session import open_session
session = open_session("local[2,4]", **{"spark.speculation": "true", "spark.local.dir": sys.argv[4]})
data = Path(sys.argv[1])
anonymize_folder_on_spark(
    session, data, schema_of(data, sys.argv[2]), sys.argv[3], seed=3, method="mondrian", shard_rows=2500
)
"""


def shards() -> dict[str, Any]:
    """All of it, and how often each outcome was seen."""
    rng = random.Random(int(os.environ.get("SHARD_SEED", "0")))
    wanted = int(os.environ.get("SHARD_KILLS", "100"))
    with tempfile.TemporaryDirectory() as name:
        trial = _Trial(Path(name), rng)
        trial.disturb(LOCAL, "", DRIVER_KILLS, FULL_DISKS, wanted)
        if find_spec("pyspark") is not None and shutil.which("java"):
            trial.disturb(SPARK, "Spark, ", SPARK_DRIVER_KILLS, SPARK_FULL_DISKS, 0)
            trial.in_one_session(wanted)
        return {"rows": ROWS, **dict(sorted(trial.counts.items())), "findings": trial.findings}


class _Trial:
    """A table, what comes of it undisturbed, and runs that are disturbed."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.rng = folder, rng
        self.data, self.out = folder / "census", folder / "out"
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []
        make("census", ROWS, self.data)
        self.schema = tclose.Schema.load(self.data.with_suffix(".toml"))

    def disturb(self, program: str, engine: str, n_drivers: int, n_disks: int, n_workers: int) -> None:
        """One engine, undisturbed and then disturbed in every way."""
        self.program = program
        started = time.monotonic()
        if self.start().wait():
            raise SystemExit("an undisturbed run fails")
        self.seconds = time.monotonic() - started
        self.expected = self.rows()
        while self.counts[f"{engine}workers killed"] < n_workers:
            self.once(f"{engine}workers", lambda process: self.kill_workers(process, engine))
        for _ in range(n_drivers):
            self.once(f"{engine}driver", lambda process: self.kill_driver(process, engine))
        for _ in range(n_disks):
            self.once(f"{engine}full disk", self.wait, most_bytes=int(10 ** self.rng.uniform(3.5, 6.0)))

    def start(self, most_bytes: int | None = None) -> subprocess.Popen[bytes]:
        shutil.rmtree(self.out, ignore_errors=True)

        def limited() -> None:
            if most_bytes is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

        command = [sys.executable, "-c", self.program, str(self.data), T, str(self.out), str(self.folder / "spark")]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=ROOT, stdout=quiet, stderr=quiet, preexec_fn=limited)

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

    def kill_workers(self, process: subprocess.Popen[bytes], engine: str) -> None:
        """Kill up to three workers, of those that are there at random moments."""
        for _ in range(self.rng.randint(1, 3)):
            time.sleep(self.rng.uniform(0.1, 0.4) * self.seconds)
            workers = _children(process.pid)
            if workers and process.poll() is None:
                os.kill(self.rng.choice(workers), signal.SIGKILL)
                self.counts[f"{engine}workers killed"] += 1

    def kill_driver(self, process: subprocess.Popen[bytes], engine: str) -> None:
        time.sleep(self.rng.uniform(0.2, 1.1) * self.seconds)
        if process.poll() is None:
            process.kill()
            self.counts[f"{engine}drivers killed"] += 1

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()

    def in_one_session(self, wanted: int) -> None:
        """On Spark: workers of shards are killed; and the same table in few and in many tasks."""
        from pyspark import cloudpickle

        from tclose.scale.spark_session import open_session
        from tests.scale import killing_methods

        register: Any = cloudpickle.register_pickle_by_value
        register(killing_methods)
        # A task with several shards is begun again for each; Spark gives up after so many times, four if not said.
        session = open_session("local[2,64]", **{"spark.speculation": "true"})
        while self.counts["Spark, workers killed"] < wanted:
            marks = Path(tempfile.mkdtemp(dir=self.folder))
            done = self.on_spark(session, killing_methods.KillingMondrian(str(marks)))
            self.counts["Spark, workers killed"] += len(list(marks.iterdir()))
            self.judge("Spark, workers", done)
        digests = {self.digest_with(session, n_tasks) for n_tasks in TASKS}
        self.counts["Spark, runs in 8 and in 200 tasks"] += len(TASKS)
        if len(digests) > 1:
            self.findings.append("Spark: other rows in other tasks")
        session.stop()

    def on_spark(self, session: Any, method: Any) -> bool:
        """Release the table; whether Spark came to an end with it."""
        from tclose.scale.spark_engine import anonymize_folder_on_spark

        shutil.rmtree(self.out, ignore_errors=True)
        try:
            anonymize_folder_on_spark(
                session, self.data, self.schema, self.out, seed=3, method=method, shard_rows=SHARD_ROWS
            )
        except tclose.errors.EngineError:
            return False
        return True

    def digest_with(self, session: Any, n_tasks: int) -> str:
        """Of the released rows in order, as bytes, when input and shuffles have so many partitions."""
        from tclose.spark import anonymize

        session.conf.set("spark.sql.shuffle.partitions", str(n_tasks))
        session.conf.set("spark.sql.adaptive.enabled", "false")  # which would put small tasks together
        table = session.read.parquet(str(self.data)).repartition(n_tasks)
        made = anonymize(table, self.schema, seed=3, method="mondrian", shard_rows=SHARD_ROWS)
        frame = pl.DataFrame(pl.from_arrow(made.table.toArrow()))
        made.release()
        return hashlib.sha256(frame.sort(frame.columns).write_csv().encode()).hexdigest()


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
