"""The equal-distance t of the Adult table, and what else pycanon reports: `tclose.assess` beside it, in one run."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

import tclose
from benchmarks import adult
from benchmarks.results import ROOT, show, verdict

AIM = 200  # times faster than pycanon
AIM_OF_OTHERS = 100
OTHERS = ("alpha", "beta", "enhanced_beta", "delta")
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
        measured = _measure_pycanon(path, sensitive, ("t",))
    peer = None if measured is None else {"version": measured["version"], **measured["t"], "t": measured["t"]["value"]}
    ours = _summed_up(before[1:] + _time_ours(frame, sensitive)[1:], frame, sensitive)
    ours["first_call"] = before[0][0]
    _show(console, ours, peer)
    figures = {"table": source, "sensitive": sensitive, "tclose": ours, **_compared(console, ours, peer)}
    return figures | {"others": [_measure_others(console, *each) for each in _tables(source, table, sensitive)]}


def _tables(source: str, table: pl.DataFrame, sensitive: str) -> list[tuple[str, pl.DataFrame, str]]:
    """The table as it stands, and a release of it that keeps enhanced beta-likeness."""
    quasi = {name: {"kind": "categorical"} for name in table.columns if name != sensitive}
    asked = {sensitive: {"distance": "equal", "beta": 1, "enhanced": True}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        keys = {"k": 6, "quasi": quasi, "sensitive": asked}
        release = tclose.anonymize(table, keys, method="mondrian", seed=1).table
    return [(source, table, sensitive), (f"{source}, released with beta = 1", release, sensitive)]


def _measure_others(console: Console, source: str, table: pl.DataFrame, sensitive: str) -> dict[str, Any]:
    """(alpha, k), beta and delta of one table by both; how long that takes is asked of one that stands as it is."""
    is_raw = "released" not in source
    frame = table.to_pandas()
    schema, seconds = _schema(frame, sensitive), []
    for _ in range(REPEATS):
        started = time.perf_counter()
        found = tclose.assess(frame, schema).disclosure[sensitive]
        seconds.append(time.perf_counter() - started)
    ours: dict[str, float | None] = {name: _number(getattr(found, name)) for name in (*OTHERS, "log_ratio")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        table.write_csv(path)
        peer = _measure_pycanon(path, sensitive, OTHERS)
    figures = {"table": source, "seconds": statistics.median(seconds), "tclose": ours, "pycanon": peer}
    if peer is None:
        return figures
    rows = [[name, _told(ours[name]), _told(peer[name]["value"]), f"{peer[name]['seconds']:.1f}"] for name in OTHERS]
    show(console, f"{source}: what classes tell of single values", ["", "tclose", "pycanon", "its seconds"], rows)
    ratio = sum(peer[name]["seconds"] for name in OTHERS) / figures["seconds"]
    told = (
        f"all in {figures['seconds']:.3f} s, {ratio:.0f} times faster than pycanon; asked as it stands: {AIM_OF_OTHERS}"
    )
    if is_raw:
        verdict(console, ratio >= AIM_OF_OTHERS, told)
    pairs = [(ours["log_ratio"] if name == "delta" else ours[name], peer[name]["value"]) for name in OTHERS]
    agree = all(one is None or abs(one - other) < 1e-9 for one, other in pairs)
    verdict(console, agree, "wherever both have a number it is the same, pycanon's delta being the log-ratio")
    return figures | {"ratio": ratio, "agree": agree}


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _told(value: float | None) -> str:
    return "none" if value is None else f"{value:.6f}"


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


def _measure_pycanon(path: Path, sensitive: str, names: tuple[str, ...]) -> dict[str, Any] | None:
    if not PEER.is_file():
        return None
    script = Path(__file__).with_name("peer_pycanon.py")
    done = subprocess.run([PEER, script, path, sensitive, *names], capture_output=True, text=True, check=True)
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
