"""Jobs that go wrong on purpose."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclose.errors import TableError


def refuse(_number: int) -> None:
    raise TableError("not this one")


def fill_disk(_number: int) -> None:
    raise OSError(28, "No space left on device")


def die(_number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_first(folder: Path, number: int) -> int:
    """The first process that tries it dies."""
    mark = folder / f"tried-{number}"
    if not mark.exists():
        mark.touch()
        die(number)
    return number


@dataclass
class Killed:
    """Work whose process dies the first time of its kind, after it was done and before anyone was told."""

    work: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        result = self.work(*arguments)
        mark = Path(os.environ["TCLOSE_TEST_KILLS"]) / self.work.__name__
        if not mark.exists():
            mark.touch()
            die(0)
        return result


PROGRAM = """
import os, signal, sys
from tclose.scale.local_engine import LocalOptions, anonymize_folder
from tests.scale.test_local_engine import LOOSE

def tell(stage, loss, done):
    if stage == sys.argv[3] and done:
        os.kill(os.getpid(), signal.SIGKILL)

options = LocalOptions(jobs=1, shard_rows=1500, piece_rows=2000, file_rows=3000)
anonymize_folder(sys.argv[1], LOOSE, sys.argv[2], seed=3, method="mondrian", options=options, progress=tell)
"""


def run_and_die(data: Path, out: Path, stage: str) -> int:
    """Run the engine in a process that is killed within a stage; its exit code."""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(data), str(out), stage], cwd=root, capture_output=True)
    return done.returncode
