"""How long a method may take: what is compiled on a first run does not count."""

from __future__ import annotations

from typing import Any, ClassVar

import numba
import numpy as np
import polars as pl
import pytest

from tclose.algorithms import run_method
from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.partition import Partition
from tclose.table.source import read


def test_time_that_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    control = Control(seconds=5, uncounted=lambda: 30.0)
    started = control._started
    for now, stops in ((4.0, False), (34.0, False), (36.0, True)):
        monkeypatch.setattr("tclose.algorithms.control.time.monotonic", lambda now=now: started + now)
        assert control.stop is stops
    control = Control(seconds=5, uncounted=lambda: 30.0)
    control.end()
    assert control.stop


class Compiling:
    """A method that compiles a loop, and then asks for the time."""

    name: ClassVar[str] = "compiling"
    capabilities: ClassVar[Capabilities] = Capabilities("one class", "none")

    def partition(self, table: Any, requirement: Any, *, rng: Any, control: Control, start: Any = None) -> Partition:
        compile_: Any = numba.njit
        assert compile_(lambda value: value + 1)(1) == 2
        assert control.uncounted is not None
        self.uncounted = control.uncounted()
        return Partition(np.zeros(len(table), np.int64))


def test_compiling_does_not_count() -> None:
    schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    table = encode(read(pl.DataFrame({"age": [1, 2, 3]})), schema)
    method, control = Compiling(), Control()
    control.begin(10, lambda loss, done: None)
    run_method(method, table, Requirement.of(schema, table), rng=np.random.default_rng(1), control=control)
    assert method.uncounted > 0
    control.begin(10, lambda loss, done: None)
    assert control.uncounted is None
