"""A command that is told to end leaves what was there before, and nothing else."""

import hashlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

import tclose
from tclose.cli import signals
from tclose.cli.main import main
from tclose.release.certificate import certificate_path
from tests.strategies import as_csv, people, promise, run

FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(
    ["tests.cli.test_signals", "tclose.pipeline", "tclose.algorithms.mondrian.mondrian_loops", "rich.progress"]
)
ENDED = {signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """Those of `anonymize`, with the files of an older release in the folder `out`."""
    (tmp_path / "out").mkdir()
    (tmp_path / "schema.toml").write_text(promise(), encoding="utf-8")
    out = tmp_path / "out"
    given = ["-s", str(tmp_path / "schema.toml"), "-o", str(out / "release.csv"), "--record", str(out / "record.json")]
    (tmp_path / "older.csv").write_bytes(as_csv(people(24)))
    assert run("anonymize", tmp_path / "older.csv", "--method", "mondrian", *given).code == 0
    (tmp_path / "data.csv").write_bytes(as_csv(people(3_000)))
    return ["anonymize", str(tmp_path / "data.csv"), "--method", "mondrian", *given]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def child(arguments: list[str], prepare: Callable[[Path], None] | None = None) -> None:
    """The command line in a process of its own, which first prepares itself, in silence."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    if prepare is not None:
        prepare(Path(arguments[-1]).parent.parent)
    sys.argv = ["tclose", *arguments]
    main()


def started(arguments: list[str], prepare: Callable[[Path], None] | None = None) -> BaseProcess:
    process = FORK.Process(target=child, args=(arguments, prepare))
    process.start()
    return process


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.001)
    assert condition()


def is_writing(process: BaseProcess, out: Path) -> bool:
    """Or has ended already."""
    return any(".tmp" in name for name in os.listdir(out)) or not process.is_alive()


@pytest.mark.parametrize("rounds", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", ENDED, ids=lambda number: number.name)
@pytest.mark.everyday(1)
def test_a_run_that_is_told_to_end_leaves_what_was_there_or_a_whole_release(
    number: signal.Signals, rounds: int, arguments: list[str], tmp_path: Path
) -> None:
    """At any time from when a temporary file is seen."""
    chance, out = random.Random(number), tmp_path / "out"
    before, codes = files(out), set()
    for _ in range(rounds):
        process = started(arguments)
        wait_for(partial(is_writing, process, out))
        time.sleep(chance.uniform(0, 0.01 if rounds == 2 else 0.03))
        assert process.pid is not None
        with suppress(ProcessLookupError):  # it may have ended by now
            os.kill(process.pid, number)
        process.join()
        codes.add(process.exitcode)
        after = files(out)
        assert sorted(after) == sorted(before)
        if after["release.csv"] == before["release.csv"]:
            assert after == before
        verdict = tclose.verify(out / "release.csv", tmp_path / "schema.toml")
        assert (verdict.holds, verdict.certificate) == (True, True)
        before = after
    assert codes <= {0, ENDED[number], -number}  # 0 where it came too late; -15 after all was done


def stay_in_compiled_code(folder: Path) -> None:
    """Write the file, and then compute without coming back to Python for minutes."""
    signals.GRACE = 0.2
    module: Any = import_module("tclose.release.release")
    write = module.write_frame

    def writing(*given: Any) -> None:
        write(*given)
        (folder / "reached").touch()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 1_000_000_000)

    module.write_frame = writing


@pytest.mark.slow
def test_it_ends_while_compiled_code_runs(arguments: list[str], tmp_path: Path) -> None:
    before = files(tmp_path / "out")
    process = started(arguments, stay_in_compiled_code)
    wait_for((tmp_path / "reached").exists)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    process.join(30)
    assert process.exitcode == 143
    assert files(tmp_path / "out") == before


def ignore_hangups(folder: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    module: Any = import_module("tclose.release.release")
    write = module.write_frame

    def writing(*given: Any) -> None:
        write(*given)
        (folder / "reached").touch()
        time.sleep(0.2)

    module.write_frame = writing


@pytest.mark.slow
def test_a_signal_that_is_ignored_stays_so(arguments: list[str], tmp_path: Path) -> None:
    """As `nohup` has it."""
    process = started(arguments, ignore_hangups)
    wait_for((tmp_path / "reached").exists)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGHUP)
    process.join(30)
    assert process.exitcode == 0
    assert (tmp_path / "out" / "release.csv").read_bytes().count(b"\n") == 3_001


def test_handlers_are_those_of_before_when_a_command_has_ended(arguments: list[str]) -> None:
    """The library installs none, and the command line puts back what it found."""
    before = [signal.getsignal(number) for number in ENDED]
    assert run(*arguments).code == 0
    assert [signal.getsignal(number) for number in ENDED] == before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_target_that_another_process_writes_is_refused_before_any_work(arguments: list[str], tmp_path: Path) -> None:
    hold = (
        "import sys; from pathlib import Path; from tclose.release.file_lock import TargetLocks\n"
        "locks = TargetLocks([Path(sys.argv[1])]); print('held', flush=True); sys.stdin.read()"
    )
    out = tmp_path / "out"
    page = ["--report", str(out / "report.html")]
    for target in (out / "release.csv", certificate_path(out / "release.csv"), out / "record.json", Path(page[1])):
        with subprocess.Popen(
            [sys.executable, "-c", hold, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other:
            assert other.stdout is not None
            assert other.stdin is not None
            assert other.stdout.readline() == b"held\n"
            before = files(out)
            ended = run(*arguments, *page)
            assert ended.code == 1
            assert f"'{target.name}' is being written by another process." in ended.err
            assert files(out) == before
            other.stdin.close()
    assert run(*arguments, *page).code == 0
