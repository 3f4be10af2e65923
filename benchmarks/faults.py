"""Streams are killed with kill -9 at many points: how many end, after a restart, as if nothing had happened."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from benchmarks.results import show, verdict
from tests.stream.brokers import SERVER, Broker, came_out, put
from tests.stream.feeding import check, go, killed, lines, put_in, schema, settings, written
from tests.stream.killing import HOW, sent_until, stream_files, stream_redis

ROWS = 110
POINTS = int(os.environ.get("TCLOSE_POINTS", "100"))
Kill = Callable[[Path, int, str], tuple[bool, bool]]


def run(console: Console) -> dict[str, Any]:
    given = lines(ROWS)
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        figures.append(_files(Path(folder), given))
        if SERVER is None:
            console.print("redis-server is not installed: Redis is left out")
        else:
            figures.append(_redis(Path(folder), given))
    rows = [[each["name"], *(str(each[key]) for key in ("calls", "points", "killed", "identical"))] for each in figures]
    header = ["", "calls in a run", "points", "killed", "identical after a restart"]
    show(console, f"{len(given)} lines, kill -9 before, after and in the midst of a call", header, rows)
    for each in figures:
        met = each["identical"] == each["killed"] == each["points"]
        verdict(console, met, f"{each['name']}: {each['identical']} of {each['points']}, in {each['seconds']:.0f} s")
    return {"lines": len(given), "feeds": figures}


def _files(folder: Path, given: list[bytes]) -> dict[str, Any]:
    reference = put_in(folder / "reference", given)
    with killed(None, "before") as killer:
        go(reference)
    check(reference, len(given))

    def kill(here: Path, at: int, how: str) -> tuple[bool, bool]:
        put_in(here, given)
        died = stream_files(here, at, how) == -signal.SIGKILL
        ended = stream_files(here) == 0
        return died, ended and written(here) == written(reference)

    return {"name": "files", **_points(folder / "files", killer.calls, kill)}


def _redis(folder: Path, given: list[bytes]) -> dict[str, Any]:
    from tclose.stream.feeds import run as run_stream
    from tclose.stream.feeds.redis_client import RedisKeys
    from tclose.stream.feeds.redis_feed import RedisFeed

    (folder / "broker").mkdir()
    broker = Broker(folder / "broker")
    try:
        with broker.client() as client:
            put(client, given)
            keys = RedisKeys("in", "out", certificates="certificates", ledger="ledger")
            feed = RedisFeed(schema(), broker.url, keys, json_field="row", consumer="one")
            with sent_until(None, "before") as killer:
                run_stream(feed, schema(), settings())
            reference = came_out(client)

            def kill(here: Path, at: int, how: str) -> tuple[bool, bool]:
                here.mkdir(parents=True)
                client.flushall()
                put(client, given)
                died = stream_redis(here, broker.url, at, how) == -signal.SIGKILL
                ended = stream_redis(here, broker.url) == 0
                settled = client.xpending("in", "tclose")["pending"] == 0
                return died, ended and settled and came_out(client) == reference

            return {"name": "redis", **_points(folder / "redis", killer.calls, kill)}
    finally:
        broker.kill()


def _points(folder: Path, n_calls: int, kill: Kill) -> dict[str, Any]:
    """Kill at points spread evenly over all calls, each before, after and in the midst of it."""
    started = time.perf_counter()
    n_all = n_calls * len(HOW)
    chosen = [place * n_all // POINTS for place in range(POINTS)]
    found = [kill(folder / str(point), 1 + point // len(HOW), HOW[point % len(HOW)]) for point in track(chosen)]
    n_killed, n_same = (sum(each[side] for each in found) for side in (0, 1))
    seconds = time.perf_counter() - started
    return {"calls": n_calls, "points": POINTS, "killed": n_killed, "identical": n_same, "seconds": seconds}
