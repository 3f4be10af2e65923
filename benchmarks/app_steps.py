"""How long pages of the app take, by HTTP on this machine: `python -m benchmarks.app_steps [rows]`."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tclose
from tests.app.serving import Client, serving

STEPS = ("/table", "/table/rows/1", "/columns", "/columns/0", "/hierarchies", "/promise", "/run")
LOOKS = ("/look/1", "/look/1/rows/1", "/look/1/classes/1", "/look/1/class/0", "/take/1")


def seconds(action: Callable[..., object], *given: object) -> float:
    began = time.perf_counter()
    action(*given)
    return round(time.perf_counter() - began, 3)


def measure(rows: int) -> dict[str, float]:
    """Seconds of every page, and of what runs in the background."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place, serving(Path(place)) as client:
        client.enter()
        frame, _ = tclose.datasets.census(rows, seed=1)
        frame.write_csv(Path(place) / "tables" / "census.csv")
        found["open"] = seconds(work, client, "/open/path", {"path": "census.csv"})
        for number, role in enumerate(["quasi"] * 7 + ["sensitive"]):
            name = f"role of column {number}"
            found[name] = seconds(client.form, "/columns/roles", {"column": number, "role": role})
        found |= {path: seconds(client.get, path) for path in STEPS}
        found["run mondrian"] = seconds(work, client, "/run", {"method": "mondrian", "seed": "1"})
        found |= {path: seconds(client.get, path) for path in LOOKS}
        found["write and verify"] = seconds(work, client, "/take/1", {"format": "csv"})
        found["with the private report"] = seconds(work, client, "/take/1", {"format": "csv", "private": "yes"})
    return found


def work(client: Client, path: str, fields: dict[str, str]) -> None:
    """Begin work, and wait until it is over."""
    reply = client.form(path, fields)
    assert reply.status == 303, reply.status
    client.wait(600)
    job = client.server.bench.job
    assert job is not None
    assert job.state == "done", job.problem


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    print(json.dumps({"rows": rows, "seconds": measure(rows)}, indent=2))


if __name__ == "__main__":
    main()
