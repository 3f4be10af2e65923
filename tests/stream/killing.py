"""The command line in processes of its own, killed in earnest when something is written or sent for the n-th time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.stream.feeding import STEP, WINDOW, Killer, die, killed, schema, settings, targets

FORK = multiprocessing.get_context("forkserver")  # a child in little time, without the threads of this process
FORK.set_forkserver_preload(
    ["tests.stream.killing", "tclose.cli.main", "tclose.cli.stream_options", "tclose.algorithms"]
)
HOW = ("before", "after", "torn")
SIZES = ["--window", str(WINDOW), "--step", str(STEP), "--method", settings().method.name, "--seed", "7"]


@contextmanager
def sent_until(at: int | None, how: str, die: Callable[[], None] = die) -> Iterator[Killer]:
    """Everything that is sent to Redis is counted, and the n-th is the last."""
    import redis.connection as module

    def half(send: Callable[..., Any], connection: Any, command: Any, **_: Any) -> None:
        data = b"".join(command)
        send(connection, [data[: len(data) // 2]], check_health=False)

    killer = Killer(at, how, die)
    around = killer.around(module.AbstractConnection.send_packed_command, half)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.AbstractConnection, "send_packed_command", lambda *a, **k: around(*a, **k))
        yield killer


def stream_files(folder: Path, at: int | None = None, how: str = "before") -> int | None:
    """Run the stream of a folder; how the process ended."""
    named = [f"--{name}={path}" for name, path in vars(targets(folder)).items()]
    return _spawned(folder, ["--input", str(folder / "in.jsonl"), *named], "files", at, how)


def stream_redis(folder: Path, url: str, at: int | None = None, how: str = "before") -> int | None:
    """Run the stream of a broker; how the process ended."""
    named = ["--from=in", "--to=out", "--certificates=certificates", "--ledger=ledger", "--json-field=row"]
    return _spawned(folder, ["--redis", url, *named, "--consumer=one"], "redis", at, how)


def _spawned(folder: Path, options: list[str], what: str, at: int | None, how: str) -> int | None:
    schema().save(folder / "schema.toml")
    arguments = ["stream", "-s", str(folder / "schema.toml"), *SIZES, *options]
    process = FORK.Process(target=_child, args=(arguments, what, at, how))
    process.start()
    process.join()
    return process.exitcode


def _child(arguments: list[str], what: str, at: int | None, how: str) -> None:
    from tclose.cli.main import main

    sys.argv = ["tclose", *arguments]
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    patched = killed if what == "files" else sent_until
    with patched(at, how, partial(os.kill, os.getpid(), signal.SIGKILL)):
        main()
