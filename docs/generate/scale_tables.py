"""Tables of what shards lose, take and hold, and what they would cost on a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable
from textwrap import fill
from typing import Any

from docs.generate import results
from docs.generate.marked import table

STAGES = ("read", "plan", "route", "partition", "write", "verify")
NAMES = {
    "census": "census",
    "adult-occupation": "Adult by occupation",
    "adult-education": "Adult by education",
    "hospital": "hospital, eight attributes",
}
# A cluster of the estimate: its machines, the cores of each, and what its network moves.
MACHINES, CORES, GIGABYTES_A_SECOND = 10, 16, 1.0
BILLION = 1_000_000_000


def shard_losses() -> str:
    """What a table loses in small shards, beside the same table in memory, and what was lost by two plainer rules."""
    found = results.result("shard_losses")
    rows = [
        [
            cell["table"],
            cell["t"],
            f"{cell['in_memory']:.4f}",
            str(cell["shards"]),
            _blended(cell),
            _beside(cell["loss"], cell["in_memory"]),
        ]
        for cell in found["cells"]
    ]
    copies, slack = (found["plainer_rules"][name] for name in ("copies_sent_one_way", "slack_of_whole_t"))
    lines = [
        f"Measured {found['date']}, with one seed. Two rules matter. First, copies of a row are assigned one by one.",
        "When all copies of a row went to the same shard, each shard had few different rows, and "
        f"{copies['table']} at t = {copies['t']}",
        f"lost {copies['loss']:.3f}. Second, the slack of `tight` is a part of what the distance of a shard leaves of",
        "t. When it was a part of the whole t, a shard that was far from the table stayed one class, and "
        f"{slack['rows']:,} rows",
        f"of the {slack['table']} at t = {slack['t']} lost {slack['loss']:.3f} instead of",
        f"{slack['loss_as_it_is']:.3f}. (Both were measured once, with the plan run in memory, by a script that is",
        "not in `benchmarks/`.)",
    ]
    header = ["", "t", "in memory", "shards", "cuts blended", "loss in shards"]
    return table(header, rows) + "\n\n" + "\n".join(lines)


def large_losses() -> str:
    """What large tables lose in shards of the usual size, beside `tight` fast on the same table in memory."""
    runs = _runs()
    rows, ratios = [], []
    for name, whole in runs.items():
        kind, folder, t = name.split()
        if kind != "whole":
            continue
        shards = runs[f"local {folder} {t}"]
        ratios.append(shards["loss"] / whole["loss"])
        rows.append(
            [
                _table_of(folder),
                f"{_rows_of(folder):,}",
                t,
                f"{whole['loss']:.4f}",
                str(shards["shards"]),
                _blended(shards),
                _beside(shards["loss"], whole["loss"]),
            ]
        )
    within = [sum(ratio <= most for ratio in ratios) for most in (1.05, 1.10)]
    told = (
        f"The aim is a loss within 5 % of that in memory: met in {within[0]} of {len(ratios)} cases, and within 10 %\n"
        f"in {within[1]}. {_measured()}"
    )
    header = ["", "rows", "t", "in memory", "shards", "cuts blended", "loss in shards"]
    return table(header, rows) + f"\n\n{told}"


def growth() -> str:
    """How the seconds of the local engine grow."""
    sizes = sorted(
        (_rows_of(name.split()[1]), each)
        for name, each in _runs().items()
        if name.startswith("local census-") and _rows_of(name.split()[1]) in (10**6, 10**7, 10**8)
    )
    rows = [
        [f"{n:,}", *(f"{each['stages'][stage]:.0f}" for stage in STAGES), *_summary(each), str(each["shards"])]
        for n, each in sizes
    ]
    (first, small), (last, large) = sizes[0], sizes[-1]
    exponent = math.log(large["seconds"] / small["seconds"]) / math.log(last / first)
    losses = [each["loss"] for _, each in sizes]
    falls = "falls" if losses == sorted(losses, reverse=True) else "does not always fall"
    told = (
        f"From {first:,} to {last:,} rows the seconds grow with an exponent of {exponent:.2f} (the aim is at most\n"
        f"1.1), and the loss {falls}. {_measured()}"
    )
    header = ["rows", *(f"{stage}, s" for stage in STAGES), "in all, s", "peak MB", "loss", "shards"]
    return table(header, rows) + f"\n\n{told}"


def engines() -> str:
    """Both engines on the same table."""
    runs = _runs()
    found = {"`local`": runs["local census-20000000 0.2"], "`spark`": runs["tasks census-20000000 0.2"]}
    rows = [
        [name, *(f"{each['stages'][stage]:.0f}" for stage in STAGES), *_summary(each)] for name, each in found.items()
    ]
    header = ["", *(f"{stage}, s" for stage in STAGES), "in all, s", "peak MB", "loss"]
    return table(header, rows) + f"\n\n{_measured()}"


def estimate() -> str:
    """What a billion rows would cost on a cluster: an estimate, from what was measured."""
    runs = _runs()
    usual, small = runs["tasks census-20000000 0.2"], runs["spark shards 2000"]
    n_usual, n_small = 20_000_000, 1_500_000
    a_row = usual["task_seconds"] / n_usual
    a_shard = max(small["task_seconds"] - a_row * n_small, 0.0) / small["shards"]
    of_driver = max(small["seconds"] - small["task_seconds"] / 2, 0.0) / small["shards"]
    shuffled = usual["shuffled_bytes"] / n_usual
    n_shards = round(BILLION / n_usual * usual["shards"])
    cores = MACHINES * CORES
    seconds = {
        "work on rows": BILLION * a_row / cores,
        "what a shard costs beside its rows": n_shards * a_shard / cores,
        "shuffled data over the network": BILLION * shuffled / 1e9 / (MACHINES * GIGABYTES_A_SECOND),
        "the driver, shard by shard": n_shards * of_driver,
    }
    rows = [[name, f"{each / 60:,.1f}"] for name, each in (seconds | {"in all": sum(seconds.values())}).items()]
    told = (
        f"This is an **estimate**, for {MACHINES} machines of {CORES} cores whose network moves {GIGABYTES_A_SECOND:g} "
        f"GB a second each; nobody has run it. A million rows take {1e6 * a_row:.1f} core-seconds and {shuffled:,.0f} "
        f"MB of shuffled data, measured with {n_usual:,} census rows in {usual['shards']} shards on 2 cores "
        f"({usual['tasks']:,} tasks). A shard takes {a_shard:.2f} core-seconds beside, and {of_driver:.2f} s of the "
        f"driver, measured with {n_small:,} rows in {small['shards']:,} shards. A billion rows are {n_shards:,} "
        f"shards, and {BILLION * shuffled / 1e9:,.0f} GB of shuffled data. It takes for granted that all cores are "
        f"busy, and leaves out storage that is slow to read. {_measured()}"
    )
    return table(["a billion rows", "minutes"], rows) + "\n\n" + fill(told, 118)


def _runs() -> dict[str, Any]:
    runs: dict[str, Any] = results.result("scale_runs")["runs"]
    return runs


def _measured() -> str:
    return f"Measured {results.result('scale_runs')['date']}, on 2 cores."


def _rows_of(folder: str) -> int:
    return int(folder.rpartition("-")[2])


def _table_of(folder: str) -> str:
    return NAMES[folder.rpartition("-")[0]]


def _summary(each: dict[str, Any]) -> list[str]:
    return [f"{each['seconds']:,.0f}", f"{each['max_mb']:,.0f}", f"{each['loss']:.4f}"]


def _blended(each: dict[str, Any]) -> str:
    return f"{sum(blend > 0 for blend in each['blends'])} of {len(each['blends'])}"


def _beside(loss: float, whole: float) -> str:
    return f"{loss:.4f} ({100 * (loss / whole - 1):+.1f} %)"


SCALE_TABLES: dict[str, Callable[[], str]] = {
    "scale/losses": shard_losses,
    "scale/large-losses": large_losses,
    "scale/growth": growth,
    "scale/engines": engines,
    "scale/estimate": estimate,
}
