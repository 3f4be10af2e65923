"""The equal-distance t of the Adult table: `tclose.assess` against pycanon, both in one run."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

import tclose
from benchmarks import adult
from benchmarks.results import ROOT, show, verdict

AIM = 200  # times faster than pycanon
REPEATS = 10  # before pycanon, and as many after
PEER = ROOT / ".venv-peers" / "bin" / "python"


def run(console: Console) -> dict[str, Any]:
    source, table, sensitive = _table()
    console.print(f"{source}: {len(table):,} rows, sensitive {sensitive}, equal distance", highlight=False)
    frame = table.to_pandas()
    # Half before and half after pycanon, so that what else the machine does meanwhile touches both.
    before = _time_ours(frame, sensitive)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        table.write_csv(path)
        peer = _measure_pycanon(path, sensitive)
    ours = _summed_up(before[1:] + _time_ours(frame, sensitive)[1:], frame, sensitive)
    ours["first_call"] = before[0][0]
    _show(console, ours, peer)
    return {"table": source, "sensitive": sensitive, "tclose": ours, **_compared(console, ours, peer)}


def _table() -> tuple[str, pl.DataFrame, str]:
    if adult.is_there():
        return "Adult, complete training rows", adult.training_rows(), "occupation"
    census, _ = tclose.datasets.census(30_162, seed=1)
    # As text, so that pycanon takes the equal distance and not the ordered one.
    bands = pl.format("band {}", pl.col("salary"))
    return "synthetic census (the shared data is not there)", census.with_columns(salary=bands), "salary"


def _schema(frame: Any, sensitive: str) -> tclose.Schema:
    quasi = {name: {"kind": "categorical"} for name in frame.columns if name != sensitive}
    return tclose.Schema.from_dict({"k": 1, "quasi": quasi, "sensitive": {sensitive: {"distance": "equal", "t": 1}}})


def _time_ours(frame: Any, sensitive: str) -> list[tuple[float, float]]:
    """Seconds and processor seconds (of all threads) of one call after the other."""
    schema, seconds = _schema(frame, sensitive), []
    for _ in range(REPEATS + 1):
        started, used = time.perf_counter(), time.process_time()
        tclose.assess(frame, schema)
        seconds.append((time.perf_counter() - started, time.process_time() - used))
    return seconds


def _summed_up(seconds: list[tuple[float, float]], frame: Any, sensitive: str) -> dict[str, Any]:
    report = tclose.assess(frame, _schema(frame, sensitive))
    passed, used = zip(*seconds, strict=True)
    return {
        "seconds": statistics.median(passed),
        "processor_seconds": statistics.median(used),
        "fastest": min(passed),
        "slowest": max(passed),
        "t": float(report.t[sensitive]),
        "exact": str(report.t[sensitive]),
        "classes": report.classes,
        "rows": report.rows,
    }


def _measure_pycanon(path: Path, sensitive: str) -> dict[str, Any] | None:
    if not PEER.is_file():
        return None
    script = Path(__file__).with_name("peer_pycanon.py")
    done = subprocess.run([PEER, script, path, sensitive], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def _show(console: Console, ours: dict[str, Any], peer: dict[str, Any] | None) -> None:
    named = {"tclose.assess": ours} | ({f"pycanon {peer['version']}": peer} if peer else {})
    rows = [
        [
            name,
            f"{each['seconds']:.3f}",
            f"{each['processor_seconds']:.3f}",
            f"{each['t']:.15f}",
            each.get("exact", "-"),
        ]
        for name, each in named.items()
    ]
    show(console, f"{ours['classes']:,} classes", ["", "seconds", "processor seconds", "t", "exactly"], rows)
    console.print(
        f"tclose: median of {2 * REPEATS}, from {ours['fastest']:.3f} to {ours['slowest']:.3f} s, "
        f"first call {ours['first_call']:.2f} s{'; pycanon: one run' if peer else ''}",
        highlight=False,
    )


def _compared(console: Console, ours: dict[str, Any], peer: dict[str, Any] | None) -> dict[str, Any]:
    if peer is None:
        console.print("pycanon is not measured: there is no .venv-peers. Make it with `make peers`.")
        return {"pycanon": None}
    ratio = peer["seconds"] / ours["seconds"]
    by_processor = peer["processor_seconds"] / ours["processor_seconds"]
    difference = abs(peer["t"] - ours["t"])
    met, agree = ratio >= AIM, difference < 1e-12
    verdict(console, met, f"{ratio:.0f} times faster than pycanon ({by_processor:.0f} by processor time); asked: {AIM}")
    verdict(console, agree, f"the two values differ by {difference:.1e}")
    ratios = {"ratio": ratio, "ratio_by_processor": by_processor, "aim": AIM, "met": met}
    return {"pycanon": peer, **ratios, "difference": difference, "agree": agree}
