"""Writers: four processes write different releases to one target, some are killed, and one reads all the time.

Each process writes its own release on command: file, certificate and record. After each round there must
be a release with its own certificate and record, verified; a process that was killed with SIGKILL may leave the release
without its certificate, and nothing else. SIGTERM is handled as by the command line. The reader looks for a moment
in which a certificate lies beside a file that is not its own. `WRITER_ROUNDS` and `WRITER_SEED` say otherwise.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
import warnings
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import tclose
from tclose.cli.signals import ended_by_signals
from tclose.errors import BusyError
from tclose.release.certificate import certificate_path
from tclose.table.source import file_digest

SPAWN = multiprocessing.get_context("forkserver")
SPAWN.set_forkserver_preload(["benchmarks.campaigns.writers", "tclose.pipeline"])
SCHEMA: dict[str, Any] = {
    "k": 2,
    "quasi": {"age": {"kind": "numeric"}},
    "sensitive": {"disease": {"distance": "equal", "t": 0.5}},
}
N_WRITERS = 4
BUSY = "is being written by another process"


def make_release(which: int) -> tclose.Release:
    """A small release of its own for each writer."""
    n = 12 + 4 * which
    frame = pl.DataFrame({"age": [20 + row for row in range(n)], "disease": ["flu", "cold"] * (n // 2)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tclose.anonymize(frame, SCHEMA, method="mondrian", seed=which)


def write_on_command(release: tclose.Release, target: Path, pipe: Connection, locks: bool) -> None:
    """Write the release after each delay that is received, and send what came of it."""
    if not locks:
        module: Any = import_module("tclose.release.release")
        module.locked = lambda *_given: nullcontext()
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)
    with ended_by_signals():
        pipe.send("ready")
        while (delay := pipe.recv()) is not None:
            time.sleep(delay)
            try:
                written = release.write(target, record=target.with_name("record.json"))
                pipe.send(("written", written.certificate["sha256"]))
            except BusyError as error:
                pipe.send(("refused", "") if BUSY in str(error) else ("other error", str(error)))
            except Exception as error:
                pipe.send(("other error", type(error).__name__))


def read_all_the_time(target: Path, pipe: Connection) -> None:
    """Until told to stop: how often the same certificate lay there before and after a file that is not its own."""
    counts: Counter[str] = Counter()
    while not pipe.poll():
        before = _state(certificate_path(target))
        try:
            digest = file_digest(target)
        except FileNotFoundError:
            digest = ""
        if before is not None and before == _state(certificate_path(target)):
            told = json.loads(before.content)["sha256"]
            counts["pairs read"] += 1
            counts["foreign certificates seen"] += told != digest
        else:
            counts["no certificate, or another one a moment later"] += 1
        time.sleep(0.0005)
    pipe.send(dict(counts))


class _State(NamedTuple):
    """A file with all that tells it from another of the same content."""

    inode: int
    changed: int
    content: bytes


def _state(path: Path) -> _State | None:
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            return _State(found.st_ino, found.st_mtime_ns, file.read())
    except FileNotFoundError:
        return None


@dataclass
class Writer:
    """A process that writes, and its release."""

    which: int
    target: Path
    locks: bool
    release: tclose.Release = field(init=False)
    process: BaseProcess = field(init=False)
    pipe: Connection = field(init=False)

    def __post_init__(self) -> None:
        self.release = make_release(self.which)
        self.start()

    def start(self) -> None:
        """Start it, also in the place of one that was killed."""
        self.pipe, there = SPAWN.Pipe()
        self.process = SPAWN.Process(
            target=write_on_command, args=(self.release, self.target, there, self.locks), daemon=True
        )
        self.process.start()
        there.close()
        self.pipe.recv()

    def outcome(self) -> tuple[str, str]:
        """What came of writing; of a process that was killed, that it ended."""
        try:
            what, told = self.pipe.recv()
            return what, told
        except (EOFError, ConnectionResetError):
            self.process.join()
            self.start()
            return "killed", ""


def writers(rounds: int | None = None, seed: int | None = None, locks: bool = True) -> dict[str, Any]:
    """How often was written, refused and killed, and what was found; without locks much must be found."""
    rounds = int(os.environ.get("WRITER_ROUNDS", "1000")) if rounds is None else rounds
    seed = int(os.environ.get("WRITER_SEED", "1")) if seed is None else seed
    chance, counts, findings = random.Random(seed), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as room:
        target = Path(room) / "release.csv"
        team = [Writer(which, target, locks) for which in range(N_WRITERS)]
        here, there = SPAWN.Pipe()
        reader = SPAWN.Process(target=read_all_the_time, args=(target, there), daemon=True)
        reader.start()
        for number in range(rounds):
            for problem in _round(team, target, chance, counts):
                findings.append(f"round {number}: {problem}")
        here.send(None)
        counts.update(here.recv())
        for writer in team:
            writer.pipe.send(None)
            writer.process.join()
        reader.join()
    if counts["foreign certificates seen"]:
        findings.append("a certificate lay beside a file that is not its own")
    return {
        "rounds": rounds,
        "writers": N_WRITERS,
        "seed": seed,
        "counts": dict(sorted(counts.items())),
        "findings": findings,
    }


def _round(team: list[Writer], target: Path, chance: random.Random, counts: Counter[str]) -> list[str]:
    """One round; what was wrong with it."""
    kill = chance.choice([signal.SIGKILL, signal.SIGTERM, None, None, None, None, None, None])
    victim = chance.choice(team)
    for writer in team:
        writer.pipe.send(chance.uniform(0, 0.02))
    if kill is not None:
        time.sleep(chance.uniform(0, 0.06))
        os.kill(victim.process.pid or 0, kill)
    outcomes = [writer.outcome() for writer in team]
    if kill is not None and outcomes[victim.which][0] != "killed":
        victim.process.join()  # it had answered before the signal came
        victim.start()
    counts.update(f"writes {what}" for what, _ in outcomes)
    counts["rounds with SIGKILL"] += kill == signal.SIGKILL
    counts["rounds with SIGTERM"] += kill == signal.SIGTERM
    problems = [f"{what}: {told}" for what, told in outcomes if what == "other error"]
    if kill is None and not any(what == "written" for what, _ in outcomes):
        problems.append("nobody got through")
    return problems + _look(team, target, kill, outcomes, counts)


def _look(
    team: list[Writer], target: Path, kill: int | None, outcomes: list[tuple[str, str]], counts: Counter[str]
) -> list[str]:
    """What is wrong with what the round has left behind."""
    beside, record = certificate_path(target), target.with_name("record.json")
    left = {path.name for path in target.parent.iterdir()} - {target.name, beside.name, record.name}
    crashed = kill == signal.SIGKILL
    counts["files left by a killed process"] += len(left)
    problems = [] if crashed or not left else [f"left behind: {', '.join(sorted(left))}"]
    if not target.exists():
        return problems if not beside.exists() and kill is not None else [*problems, "there is no release"]
    if not beside.exists():
        counts["releases without certificate"] += 1
        return problems if crashed else [*problems, "there is no certificate"]
    told = json.loads(beside.read_text(encoding="utf-8"))
    verdict = tclose.verify(target, SCHEMA)
    counts["matching pairs"] += bool(verdict.holds and verdict.certificate)
    if told["sha256"] != file_digest(target) or not (verdict.holds and verdict.certificate):
        problems.append("the certificate is not that of the file")
    written = {digest for what, digest in outcomes if what == "written"}
    if kill is None and told["sha256"] not in written:
        problems.append("the pair is of no writer of this round")
    rows = {writer.release.record.input_sha256: writer.release.measured.rows for writer in team}
    if not crashed and rows[json.loads(record.read_text(encoding="utf-8"))["input_sha256"]] != told["rows"]:
        problems.append("the record is not that of the release")
    return problems
