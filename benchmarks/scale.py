"""Tables in shards: loss beside `tight` on one machine, seconds by stage, memory, and how both grow with rows.

Each measurement is a process of its own and can be run alone:

    python -m benchmarks.scale make census 5000000 FOLDER          a folder of Parquet files, and its schema
    python -m benchmarks.scale whole FOLDER 0.2                    `tight` fast, in memory
    python -m benchmarks.scale local FOLDER 0.2                    --engine local
    python -m benchmarks.scale spark FOLDER 0.2                    --engine spark, in local mode on two cores
    python -m benchmarks.scale sizes FOLDER 1000000,10000000       --engine local at sizes that grow
    python -m benchmarks.scale shards 2000                         Spark with as many small shards
    python -m benchmarks.scale tasks FOLDER 0.2                    seconds of Spark's tasks, and bytes they shuffled

Each of these is kept in benchmarks/results/scale_runs.json, beside those that were run before it.

Tables: census, adult-occupation and adult-education (Adult's rows repeated with noise), hospital. `make bench` runs the
census of TCLOSE_SCALE_ROWS rows, a million if not said, by all three.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

import tclose
from benchmarks.results import RESULTS, ROOT, machine, show, today, verdict
from benchmarks.tables import TABLES, K
from tclose.schema.changes import with_k
from tclose.schema.schema import Schema

ROWS = int(os.environ.get("TCLOSE_SCALE_ROWS", 1_000_000))
PIECE = 1_000_000
TS = ("0.2", "0.1")
NOISE = 0.05  # share of cells of a repeated row that are drawn anew
AIM, LEAST_AIM, MOST_EXPONENT = 1.05, 1.10, 1.1
SMALL_SHARD = 1_000  # rows of each of many small shards


def run(console: Console) -> dict[str, Any]:
    """The census at one size, by all three."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TCLOSE_LARGE_FOLDER")) as name:
        folder = Path(name) / "census"
        make("census", ROWS, folder)
        found = {t: {engine: measure(engine, folder, t) for engine in ("whole", "local", "spark")} for t in TS}
    for t, engines in found.items():
        show_engines(console, f"census, {ROWS:,} rows, t = {t}", engines)
        ratio = engines["local"]["loss"] / engines["whole"]["loss"]
        told = f"loss {ratio:.3f} times that of `tight` in memory; the aim is {AIM}, at the least {LEAST_AIM}"
        verdict(console, ratio <= AIM, told)
    return {"rows": ROWS, "found": found}


def show_engines(console: Console, title: str, engines: dict[str, Any]) -> None:
    """Print seconds, memory and loss."""
    rows = [
        [name, f"{each['loss']:.4f}", f"{each['seconds']:.1f}", f"{each['max_mb']:,.0f}", _stages(each["stages"])]
        for name, each in engines.items()
    ]
    show(console, title, ["", "loss", "seconds", "peak MB", "by stage"], rows)


def _stages(stages: dict[str, float]) -> str:
    return "  ".join(f"{stage} {seconds:.1f}" for stage, seconds in stages.items())


def make(table: str, rows: int, folder: Path) -> None:
    """Write a table in pieces, none of which depends on the others; it never is in memory as a whole."""
    folder.mkdir(parents=True)
    schema: Schema | None = None
    for number, first in enumerate(range(0, rows, PIECE)):
        frame, schema = _piece(table, min(PIECE, rows - first), number)
        frame.write_parquet(folder / f"{number:05d}.parquet", row_group_size=1 << 18)
    assert schema is not None
    with_k(schema, K).save(folder.with_suffix(".toml"))


def _piece(table: str, rows: int, number: int) -> tuple[pl.DataFrame, Schema]:
    if table == "census":
        return tclose.datasets.census(rows, seed=number)
    if table == "hospital":
        return tclose.datasets.hospital(rows, seed=number)
    adult = TABLES[table]()
    return _repeated(adult.frame, rows, np.random.default_rng(number)), adult.schema(TS[0])


def _repeated(frame: pl.DataFrame, rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Rows of a table, drawn with replacement; some cells are those of another row."""
    taken = rng.integers(0, len(frame), rows)
    columns = []
    for column in frame:
        at = np.where(rng.random(rows) < NOISE, rng.integers(0, len(frame), rows), taken)
        columns.append(column.gather(at))
    return pl.DataFrame(columns)


def measure(engine: str, folder: Path, t: str, shard_rows: int | None = None) -> dict[str, Any]:
    """Release a folder by an engine, or in memory, in processes of their own: loss, seconds by stage, and memory."""
    out = folder.with_name(f"{folder.name}-{engine}-{t}")
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "benchmarks.scale", f"run-{engine}", str(folder), t, str(out)]
    command += [] if shard_rows is None else [str(shard_rows)]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    watch = TreeMemory(process.pid)
    watch.start()
    out_text, errors = process.communicate()
    seconds = time.perf_counter() - started
    watch.done.set()
    watch.join()
    if process.returncode:
        raise SystemExit(errors[-2000:])
    figures = json.loads(out_text.strip().splitlines()[-1])
    shutil.rmtree(out, ignore_errors=True)
    return {**figures, "seconds": seconds, "max_mb": watch.peak, "load": os.getloadavg()[0]}


class TreeMemory(threading.Thread):
    """Samples the memory of a process and all below it, shared pages counted once; keeps the highest."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root, self.peak, self.done = root, 0.0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.25):
            self.peak = max(self.peak, sum(map(_proportional_mb, self._below())))

    def _below(self) -> list[int]:
        parents: dict[int, list[int]] = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(stat.parent.name))
        found, waiting = [], [self.root]
        while waiting:
            found.append(waiting.pop())
            waiting += parents.get(found[-1], [])
        return found


def _proportional_mb(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000


def schema_of(folder: Path, t: str) -> Schema:
    from dataclasses import replace
    from fractions import Fraction

    schema = Schema.load(folder.with_suffix(".toml"))
    return replace(schema, sensitive=tuple(replace(each, t=Fraction(t)) for each in schema.sensitive))


def run_whole(folder: Path, t: str, _out: Path, _shard_rows: int | None) -> dict[str, Any]:
    frame = pl.read_parquet(folder / "*.parquet")
    release = tclose.anonymize(frame, schema_of(folder, t), method=tclose.Tight(effort="fast"), seed=1)
    return {"loss": release.loss, "classes": release.measured.classes, "stages": release.record.seconds}


def run_local(folder: Path, t: str, out: Path, shard_rows: int | None) -> dict[str, Any]:
    from tclose.scale.local_engine import anonymize_folder, local_options

    made = anonymize_folder(folder, schema_of(folder, t), out, seed=1, options=local_options(shard_rows=shard_rows))
    return _figures(made)


def run_spark(folder: Path, t: str, out: Path, shard_rows: int | None, **settings: str) -> dict[str, Any]:
    from tclose.scale.shard_plan import SHARD_ROWS
    from tclose.scale.spark_engine import anonymize_folder_on_spark
    from tclose.scale.spark_session import open_session

    session = open_session("local[2,4]", **{"spark.driver.memory": "3g"}, **settings)
    try:
        made = anonymize_folder_on_spark(
            session, folder, schema_of(folder, t), out, seed=1, shard_rows=shard_rows or SHARD_ROWS
        )
    finally:
        session.stop()
    return _figures(made)


def _figures(made: Any) -> dict[str, Any]:
    record = made.record
    return {
        "loss": record.loss, "classes": made.certificate["classes"], "stages": record.seconds,
        "shards": record.notes["shards"], "undone": record.notes["undone"], "blends": record.notes["blends"],
    }  # fmt: skip


def sizes(console: Console, folder: Path, counts: list[int], t: str = "0.2") -> dict[str, Any]:
    """The local engine at sizes that grow: seconds, memory, and the exponent between neighbours."""
    found = {}
    for rows in counts:
        data = folder / f"census-{rows}"
        if not data.exists():
            make("census", rows, data)
        found[rows] = measure("local", data, t)
        keep(f"local census-{rows} {t}", found[rows])
        show_engines(console, f"census, {rows:,} rows, t = {t}", {"local": found[rows]})
    pairs = list(itertools.pairwise(counts))
    exponents = [math.log(found[b]["seconds"] / found[a]["seconds"]) / math.log(b / a) for a, b in pairs]
    for (a, b), exponent in zip(pairs, exponents, strict=True):
        verdict(console, exponent <= MOST_EXPONENT, f"exponent {exponent:.2f} from {a:,} to {b:,} rows")
    return {"found": found, "exponents": exponents}


def many_shards(n_shards: int) -> dict[str, Any]:
    """Spark with many small shards: what a shard costs beside its rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "census"
        make("census", n_shards * SMALL_SHARD * 3 // 4, folder)
        return measure("tasks", folder, "0.2", SMALL_SHARD)


def run_tasks(folder: Path, t: str, out: Path, shard_rows: int | None) -> dict[str, Any]:
    """The same on Spark, with what its log of events says about every task."""
    with tempfile.TemporaryDirectory() as logs:
        settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": Path(logs).as_uri()}
        settings |= {"spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"}
        found = run_spark(folder, t, out, shard_rows, **settings)
        (log,) = Path(logs).iterdir()
        return found | _of_tasks(log)


def _of_tasks(log: Path) -> dict[str, Any]:
    """Tasks, their seconds, and the bytes they read and shuffled, summed over a log of events."""
    summed = {"tasks": 0, "task_seconds": 0.0, "read_bytes": 0, "shuffled_bytes": 0, "written_bytes": 0}
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            metrics = event.get("Task Metrics")
            if event["Event"] != "SparkListenerTaskEnd" or not metrics:
                continue
            summed["tasks"] += 1
            summed["task_seconds"] += metrics["Executor Run Time"] / 1000
            summed["read_bytes"] += metrics["Input Metrics"]["Bytes Read"]
            summed["shuffled_bytes"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            summed["written_bytes"] += metrics["Output Metrics"]["Bytes Written"]
    return summed


def keep(name: str, figures: dict[str, Any]) -> None:
    """Put the figures of one run beside those of others, with the machine and the day."""
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / "scale_runs.json"
    runs = json.loads(file.read_text(encoding="utf-8"))["runs"] if file.exists() else {}
    runs[name] = figures
    told = {"benchmark": "scale_runs", "date": today(), "machine": machine(), "runs": runs}
    file.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """See the module."""
    command, *given = sys.argv[1:]
    console = Console()
    if command.startswith("run-"):
        works = {"whole": run_whole, "local": run_local, "spark": run_spark, "tasks": run_tasks}
        figures = works[command.removeprefix("run-")](
            Path(given[0]), given[1], Path(given[2]), int(given[3]) if len(given) > 3 else None
        )
        print(json.dumps(figures))
    elif command == "make":
        make(given[0], int(given[1]), Path(given[2]))
    elif command == "sizes":
        print(json.dumps(sizes(console, Path(given[0]), [int(each) for each in given[1].split(",")]), default=str))
    elif command == "shards":
        found = many_shards(int(given[0]))
        keep(f"spark shards {given[0]}", found)
        print(json.dumps(found))
    else:
        found = measure(command, Path(given[0]), given[1])
        show_engines(console, f"{Path(given[0]).name}, t = {given[1]}", {command: found})
        keep(f"{command} {Path(given[0]).name} {given[1]}", found)
        print(json.dumps(found))


if __name__ == "__main__":
    main()
