"""What is told of compiling, and what tells machine code apart."""

from __future__ import annotations

from typing import Any

import numba

from tclose.kernels.compile import STAMP, compiling_told


def test_compiling_is_told_when_it_happens() -> None:
    compile_: Any = numba.njit
    twice, told = compile_(lambda number: 2 * number), []
    with compiling_told(lambda: told.append("compiling")):
        assert twice(2) == 4
        assert twice(3) == 6
    assert twice(2.5) == 5
    assert told == ["compiling"]


def test_the_stamp_says_whether_bounds_are_checked() -> None:
    assert ("bounds are checked", "False") in STAMP
