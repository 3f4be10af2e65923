"""Files that are read here once they were read in another process, which did not die of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from tclose.errors import MissingExtraError, TableError
from tclose.schema.guarding import guarded
from tclose.table.formats import reader_trial

Result = TypeVar("Result")
Argument = str | int | bool | None
PATIENCE, BYTES_A_SECOND = 60.0, 100_000


def read_tried(
    problem: str, path: Path, reader: Callable[..., Result], *arguments: Argument, made_here: bool = False
) -> Result:
    """What a reader makes of a file, once another process has tried.

    Parameters
    ----------
    problem
        What to say where it fails.
    path
        Of the file, which is the first argument of the reader.
    reader
        A function of a module.
    arguments
        What else it takes.
    made_here
        This process wrote the file just now: it need not be tried in another.
    """
    found = path.stat()
    given = (os.path.abspath(path), *arguments)
    state = (found.st_ino, found.st_size, found.st_mtime_ns)
    if not made_here and not _survives(reader.__module__, reader.__name__, given, state):
        raise TableError(f"{problem}.")
    return guarded(problem, lambda: reader(*given), silent=True)


@lru_cache(maxsize=16)
def _survives(module: str, function: str, arguments: tuple[Argument, ...], state: tuple[int, int, int]) -> bool:
    """Whether a process that reads the file, as it is in this state, ends by itself.

    Where no process can be started the file is taken as it is: what it raises is still caught, what ends a process
    is not.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "RUST_BACKTRACE": "0"}
    script = str(reader_trial.__file__)
    command = [sys.executable or "python", "-P", script, module, function, json.dumps(arguments)]
    silent = subprocess.DEVNULL
    try:
        done = subprocess.run(
            command, env=environment, stdin=silent, stdout=silent, stderr=silent,
            timeout=PATIENCE + state[1] / BYTES_A_SECOND,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    except OSError:
        return True
    return done.returncode == 0


def need(package: str, extra: str, purpose: str) -> None:
    """Refuse what needs a package that is not there, and name the extra that has it."""
    if find_spec(package) is None:
        raise MissingExtraError(package, extra, purpose)
