"""Kernels that another process compiles: what it makes is loaded here, and it never outlives this one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.curve_loops import interleave
from tclose.algorithms.shared.demand import decidable, soften
from tclose.algorithms.tight import regrowing_loops as regrowing
from tclose.algorithms.tight.pieces import Piece
from tclose.datasets import census
from tclose.kernels import ahead
from tclose.kernels.compile import compiling_timed
from tclose.table.encode import encode
from tclose.table.source import read

WORDS = (np.zeros(2, np.int64), np.zeros(2, np.int32), np.zeros(2, np.int64))


@pytest.fixture
def not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_is_kept", lambda kernel, arguments: False)
    monkeypatch.setattr(ahead, "_has_a_core", lambda: True)


@pytest.mark.usefixtures("not_kept")
def test_another_process_compiles_a_kernel_and_this_one_waits_for_it() -> None:
    with compiling_timed() as clock, ahead.compiled_ahead(interleave, *WORDS):
        process = ahead._running[ahead._name(interleave)]
        ahead.wait_for(interleave)
        assert process.returncode == 0
    assert clock.seconds > 0, "waiting counts as compiling"
    assert not ahead._running


@pytest.mark.usefixtures("not_kept")
def test_a_process_that_is_not_waited_for_is_ended() -> None:
    with ahead.compiled_ahead(interleave, *WORDS):
        process = ahead._running[ahead._name(interleave)]
    assert process.returncode is not None
    ahead.wait_for(interleave)  # there is none: it comes back at once


@pytest.mark.usefixtures("not_kept")
def test_an_error_here_ends_it_too() -> None:
    started: list[Any] = []

    def interrupted() -> None:
        with ahead.compiled_ahead(interleave, *WORDS):
            started.append(ahead._running[ahead._name(interleave)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert started[0].returncode is not None


@pytest.mark.usefixtures("not_kept")
@pytest.mark.parametrize("program", ["", "/nowhere/python3", "/usr/bin/some-other-program"])
def test_where_no_process_can_be_started_nothing_happens(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with ahead.compiled_ahead(interleave, *WORDS):
        assert not ahead._running
        ahead.wait_for(interleave)


def test_what_is_kept_or_has_no_core_is_not_compiled_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    interleave(*WORDS)
    assert ahead._is_kept(interleave, WORDS)
    with ahead.compiled_ahead(interleave, *WORDS):
        assert not ahead._running
    monkeypatch.setattr(ahead, "_is_kept", lambda kernel, arguments: False)
    monkeypatch.setattr(ahead, "_has_a_core", lambda: False)
    with ahead.compiled_ahead(interleave, *WORDS):
        assert not ahead._running


def test_it_ends_when_whoever_started_it_is_killed() -> None:
    program = (
        "import os, sys, numpy as np\n"
        "from tclose.kernels import ahead\n"
        "from tclose.algorithms.shared.curve_loops import interleave\n"
        "ahead._is_kept, ahead._has_a_core = (lambda *given: False), (lambda: True)\n"
        "words = np.zeros(2, np.int64), np.zeros(2, np.int32), np.zeros(2, np.int64)\n"
        "with ahead.compiled_ahead(interleave, *words):\n"
        "    print(ahead._running[ahead._name(interleave)].pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    process = Path("/proc") / done.stdout.strip()
    if not Path("/proc").is_dir():
        pytest.skip("there is no /proc here")
    end = time.monotonic() + 30
    while process.exists() and _is_alive(process) and time.monotonic() < end:
        time.sleep(0.05)
    assert not process.exists() or not _is_alive(process)


def _is_alive(process: Path) -> bool:
    try:
        return (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_rebuilding_is_compiled_ahead_for_the_types_it_is_called_with(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = census(300, seed=2)
    table = encode(read(frame), schema)
    requirement = decidable(Requirement.of(schema, table))
    piece = Piece.of(table, requirement, soften(requirement), len(table))
    asked: list[Any] = []
    monkeypatch.setattr(ahead, "compiled_ahead", lambda kernel, *arguments: asked.append(ahead._types(arguments)))
    piece.rebuilding_ahead()
    called: list[Any] = []
    monkeypatch.setattr(regrowing, "rebuild", lambda *arguments: called.append(ahead._types(arguments)))
    piece.rebuilt(np.arange(len(table)) // (len(table) // 10 + 1), 2, 0.0, 2, 1, Control())
    assert called
    assert set(called) == set(asked)


def test_linear_algebra_is_loaded_by_whoever_uses_it() -> None:
    program = (
        "import sys, numba, numpy as np\n"
        "from tclose.algorithms.shared.curve_loops import interleave\n"
        "interleave(np.zeros(2, np.int64), np.zeros(2, np.int32), np.zeros(2, np.int64))\n"
        "assert 'scipy.linalg' not in sys.modules\n"
        "assert numba.njit(lambda a: np.dot(a, a))(np.ones((2, 2)))[0, 0] == 2\n"
        "assert 'scipy.linalg' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120, env=dict(os.environ))
