"""A kernel compiled by a process of its own, while this one goes on: the compiler works for one thread at a time.

Both keep machine code in the same place, from where this process then loads it. Where no process can be started, or
it fails, nothing is lost: the kernel is compiled when it is called.
"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import event

AWAITED = "tclose:awaited"  # the event of waiting for the other process, which counts as compiling
_running: dict[str, subprocess.Popen[bytes]] = {}
_starting = threading.Lock()


@contextmanager
def compiled_ahead(kernel: Any, *arguments: Any) -> Iterator[None]:
    """Have a kernel compiled for the types of these arguments, if its machine code is not kept yet.

    Parameters
    ----------
    kernel
        What `compile.kernel` made.
    arguments
        Any that it could be called with.
    """
    name, process = _name(kernel), None
    with _starting:
        if name not in _running and _has_a_core() and not _is_kept(kernel, arguments):
            process = _started(kernel, arguments)
        if process is not None:
            _running[name] = process
    try:
        yield
    finally:
        if process is not None:
            _running.pop(name, None)
            _end(process)


def wait_for(kernel: Any) -> None:
    """Wait until the other process is done with this kernel, if there is one."""
    process = _running.get(_name(kernel))
    if process is not None and process.poll() is None:
        with event.trigger_event(AWAITED):
            process.wait()


def _name(kernel: Any) -> str:
    function = getattr(kernel, "py_func", kernel)
    return f"{function.__module__}:{function.__name__}"


def _has_a_core() -> bool:
    """Whether there is one for another process."""
    known: Any = getattr(os, "sched_getaffinity", None)
    return (len(known(0)) if known else os.cpu_count() or 1) > 1


def _is_kept(kernel: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether the kernel is compiled, here or on disk, or cannot be kept at all."""
    stored: Any = getattr(kernel, "_cache", None)
    if not getattr(stored, "can_be_kept", False):  # it is not compiled, or there is no place to keep it
        return True
    kinds = _types(arguments)
    if kinds in kernel.overloads:
        return True
    kernel.targetctx.refresh()
    return stored._cache_file.load(stored._index_key(kinds, kernel.targetctx.codegen())) is not None


def _types(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    typeof: Any = numba.typeof
    return tuple(typeof(each) for each in arguments)


def _started(kernel: Any, arguments: tuple[Any, ...]) -> subprocess.Popen[bytes] | None:
    """The process, which knows its task; None where there is no Python to start one with."""
    program = sys.executable or ""
    if getattr(sys, "frozen", False) or not Path(program).name.lower().startswith(("python", "pypy")):
        return None
    given = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    config: Any = numba.config
    if config.CACHE_DIR:
        given["NUMBA_CACHE_DIR"] = str(config.CACHE_DIR)
    try:
        process = subprocess.Popen(
            [program, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **given},
            start_new_session=True,  # Ctrl-C is for this process: the other ends with it
        )
    except OSError:
        return None
    assert process.stdin is not None
    try:
        process.stdin.write(pickle.dumps((_name(kernel), _types(arguments))))
        process.stdin.flush()
    except OSError:
        _end(process)
        return None
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()


def serve() -> None:
    """Compile the kernel that is named on the standard input; end at once when whoever named it is gone."""
    name, kinds = pickle.load(sys.stdin.buffer)

    def watch() -> None:
        sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    module, function = name.split(":")
    getattr(importlib.import_module(module), function).compile(kinds)
    os._exit(0)


if __name__ == "__main__":
    serve()
