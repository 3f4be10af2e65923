"""What is told of compiling, and what tells machine code apart."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numba

from tclose.kernels.compile import STAMP, CompileClock, compiling_timed


def test_compiling_is_timed_and_told_when_it_happens() -> None:
    compile_: Any = numba.njit
    twice: Any = compile_(lambda number: 2 * number)
    told: list[tuple[bool, int]] = []
    with compiling_timed(lambda compiling, n_loops: told.append((compiling, n_loops))) as clock:
        began = perf_counter()
        assert twice(2) == 4
        spent = perf_counter() - began
        assert twice(3) == 6
    assert twice(2.5) == 5
    assert told == [(True, 0), (False, 1)]
    assert clock.n_loops == 1
    assert 0 < clock.seconds <= spent


def test_a_loop_within_another_is_not_counted_twice() -> None:
    compile_: Any = numba.njit
    inside: Any = compile_(lambda number: 2 * number)
    outside: Any = compile_(lambda number: inside(number) + 1)
    with compiling_timed() as clock:
        began = perf_counter()
        assert outside(2) == 5
        spent = perf_counter() - began
    assert clock.n_loops == 2
    assert clock.seconds <= spent


def test_an_end_without_a_start_counts_nothing() -> None:
    clock = CompileClock()
    clock.end()
    assert (clock.n_loops, clock.seconds) == (0, 0.0)
    clock.start()
    clock.end()
    assert clock.n_loops == 1


def test_the_stamp_says_whether_bounds_are_checked() -> None:
    assert ("bounds are checked", "False") in STAMP
