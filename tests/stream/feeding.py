"""A small stream behind feeds, and ends that come at a chosen moment."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tclose.algorithms import find
from tclose.schema.schema import Schema
from tclose.stream.feeds import FileFeed, LineTargets, StreamEnding, StreamSettings, StreamStatus, run
from tclose.stream.feeds.replay import replay_files
from tclose.stream.stream_header_check import check_stream_certificate

SCHEMA = {
    "k": 3,
    "identifiers": ["name"],
    "keep": ["id"],
    "keep_unchecked": True,
    "missing": "category",
    "quasi": {"age": {"kind": "numeric"}, "zip": {"kind": "text"}},
    "sensitive": {"ill": {"distance": "equal", "t": 0.4}, "pay": {"distance": "numeric", "t": 0.5}},
}
WINDOW, STEP = 40, 20
NAMES = ("output", "rejected", "certificates", "ledger")
BROKEN = (
    b"nonsense SECRET",
    b"",
    b'{"age": NaN}',
    b"[1, 2]",
    b'{"age": 1, "age": 2}',
    b"\xff\xfe",
    b'{"id": "\\ud800"}',
)
ODD: list[dict[str, Any]] = [{"age": "SECRET"}, {"more": 1}, {"pay": [1]}, {"zip": None}, {"pay": None}]


def schema() -> Schema:
    return Schema.from_dict(SCHEMA)


def settings(seed: int | None = 7) -> StreamSettings:
    return StreamSettings(WINDOW, STEP, find("mondrian"), seed)


def row(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "name": "Ann",
        "age": int(rng.integers(18, 90)),
        "zip": f"{int(rng.integers(0, 30)):04}",
        "ill": str(rng.choice(["flu", "cold", "none"])),
        "pay": float(rng.integers(0, 9)) / 4,
    }


def lines(n: int, seed: int = 1, broken: bool = True) -> list[bytes]:
    """JSON lines, some of them malformed in each way there is."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(n):
        given = row(number, rng)
        if broken and number % 11 == 5:
            given |= ODD[number // 11 % len(ODD)]
        made.append(json.dumps(given).encode())
        if broken and number % 13 == 7:
            made.append(BROKEN[number // 13 % len(BROKEN)])
    return made


def targets(folder: Path, output: str = "out.jsonl") -> LineTargets:
    return LineTargets(
        folder / output, folder / "rejected", folder / "certificates", folder / "ledger", folder / "state"
    )


def go(folder: Path, seed: int | None = 7, ending: StreamEnding | None = None, **options: Any) -> StreamStatus:
    """Run the stream of a folder, or go on with it."""
    source = folder / options.pop("source", "in.jsonl")
    feed = FileFeed(schema(), source, targets(folder, options.pop("output", "out.jsonl")), **options)
    return run(feed, schema(), settings(seed), ending)


def put_in(folder: Path, given: list[bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "in.jsonl").write_bytes(b"".join(line + b"\n" for line in given))
    return folder


def written(folder: Path, output: str = "out.jsonl") -> dict[str, bytes]:
    """All that came out."""
    where = vars(targets(folder, output))
    found: dict[str, bytes] = {}
    for name in NAMES:
        path = where[name]
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        found |= {f"{name} {file.name}": file.read_bytes() for file in files}
    return found


def objects(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def check(
    folder: Path, n_lines: int, output: str = "out.jsonl", source: str = "in.jsonl", checkpoint: Path | None = None
) -> dict[str, int]:
    """Every line came out once, and every class keeps its promise."""
    where = targets(folder, output)
    beside = {"certificates": where.certificates, "ledger": where.ledger, "rejected": where.rejected}
    assert where.output is not None
    format: Any = "csv" if source.endswith("csv") else "jsonl"
    counts = replay_files(
        schema(), WINDOW, folder / source, where.output, beside, format, "class", checkpoint,
        check_head=lambda told: check_stream_certificate(told, schema(), WINDOW),
    )  # fmt: skip
    assert counts["rows"] == n_lines
    assert counts["released"] + counts["withheld"] + counts["rejected"] == n_lines
    return counts


class Killed(BaseException):
    """What ends a process, in this one: nothing that is patched is done after it."""


class Killer:
    """Lets a process die at the n-th call of what is patched: before it, after it, or in the midst of it."""

    def __init__(self, at: int | None, how: str, die: Callable[[], None]) -> None:
        self.calls, self._at, self._how, self._die = 0, at, how, die
        self._dead = False

    def around(self, function: Callable[..., Any], torn: Callable[..., Any] | None = None) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            if self._dead:
                self._die()
            self.calls += 1
            now = self.calls == self._at
            if now and self._how != "after":
                self._dead = True
                if self._how == "torn" and torn is not None:
                    torn(function, *arguments)
                self._die()
            result = function(*arguments, **named)
            if now:
                self._dead = True
                self._die()
            return result

        return called


def half(write: Callable[..., Any], descriptor: int, data: Any) -> None:
    write(descriptor, bytes(data)[: len(data) // 2])


def die() -> None:
    raise Killed


@contextmanager
def killed(at: int | None, how: str, die: Callable[[], None] = die) -> Iterator[Killer]:
    """Everything that makes files durable is counted, and the n-th such call is the last."""
    killer = Killer(at, how, die)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", killer.around(os.write, half))
        for name in ("fsync", "replace", "ftruncate"):
            patch.setattr(os, name, killer.around(getattr(os, name)))
        yield killer
