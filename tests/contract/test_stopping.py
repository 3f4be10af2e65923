"""Every method comes back soon after it is told to, in every phase: counted in looks at the clock, not in seconds.

Between two looks a kernel spends at most its budget, and what Python does is counted here: function calls.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms import REGISTRY, Algorithm, find, run_method
from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.capable import is_capable
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import AWKWARD, why_not
from tests.seeds import one_in

MOST_LOOKS = 200  # after the one that says stop
MOST_CALLS = 60_000  # of functions between two looks: some milliseconds to some tens of them
STOPS = (0, 1, 3, 10, 40)


class CountedControl(Control):
    """Says stop from some look on, and counts the looks after it and the calls of functions between two."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left, self.after, self.calls, self.most = looks, 0, 0, 0

    @property
    def stop(self) -> bool:
        """One look."""
        self.most, self.calls = max(self.most, self.calls), 0
        self.left -= 1
        self.after += self.left < -1
        return self.left < 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        def count(_frame: FrameType, event: str, _what: Any) -> None:
            self.calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.most = max(self.most, self.calls)


def many_sensitive(n: int = 90) -> tuple[pl.DataFrame, Schema]:
    """Forty sensitive attributes with many values, of all forms."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {"age": rng.integers(0, 90, n), "job": rng.choice(list("abcd"), n)}
    tree = {f"n{tens}": [str(10 * tens + ones) for ones in range(10)] for tens in range(20)}
    forms: list[dict[str, Any]] = [
        {"distance": "ordered"}, {"distance": "equal"}, {"distance": "hierarchical", "hierarchy": tree},
        {"distance": "numeric"},
    ]  # fmt: skip
    columns |= {f"s{place}": rng.integers(0, 200, n) for place in range(40)}
    sensitive = {f"s{place}": forms[place % 4] | {"t": 0.3} for place in range(40)}
    frame = pl.DataFrame(columns)
    levels = {"build": "intervals", "widths": [5, 10, 30]}
    quasi = {"age": {"kind": "numeric", "hierarchy": levels}, "job": {"kind": "categorical"}}
    return frame, Schema.from_dict({"k": 3, "quasi": quasi, "sensitive": sensitive})


def tables(method: Algorithm) -> Iterator[tuple[str, EncodedTable, Requirement]]:
    """What the method takes of the table above and of the contract's larger ones."""
    made = [("forty sensitive", *many_sensitive())] if not method.capabilities.small_only else []
    names = ["census", "hospital, eight sensitive attributes", "a joint", "a matrix", "k alone, suppression"]
    names += ["queries", "classify a sensitive attribute"]
    cases = [case for case in AWKWARD if case.name in names and why_not(method, case) is None]
    made += [(case.name, *case.make(method.capabilities)) for case in cases]
    for name, frame, schema in made:
        if is_capable(method, schema):
            table = encode(read(frame), schema)
            yield name, table, Requirement.of(schema, table)


def run(method: Algorithm, table: EncodedTable, requirement: Requirement, control: Control) -> Partition:
    return run_method(method, table, requirement, rng=np.random.default_rng(3), control=control)


class OneClass:
    """Finds nothing, and is then out of time."""

    name: ClassVar[str] = "one-class"
    capabilities: ClassVar[Capabilities] = Capabilities(summary="all rows are one class", paper="none")

    def __init__(self) -> None:
        self._runs = 0

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        self._runs += 1
        control.end()
        return Partition(np.zeros(len(table), np.int64))


def test_what_binds_is_not_looked_for_when_the_time_is_over() -> None:
    """That once took up to 20 s for every attribute."""
    frame, schema = tclose.datasets.hospital(60, seed=1)
    method = OneClass()
    with pytest.raises(tclose.InfeasibleError, match="There was no time to find out what binds"):
        tclose.anonymize(frame, schema, method=method)
    assert method._runs == 1


VARIANTS: list[Any] = [
    *(name for name in REGISTRY if name != "tight"),
    ("tight", {"effort": "fast"}),  # the same phases as with more effort, and fewer rounds of them
    ("sabre-ak", {"search_budget": "true", "try_first": "true"}),
    ("sabre-knn", {"metric": "loss", "slack": "true"}),
    ("mondrian", {"textbook": "true"}),
    ("microaggregation", {"variant": "k-first"}),
    ("microaggregation", {"variant": "merge"}),
    ("k-approx", {"cut": "true"}),
]


@pytest.mark.parametrize("variant", one_in(7, VARIANTS), ids=str)
@pytest.mark.everyday(1)
def test_every_phase_looks_at_the_clock(variant: Any) -> None:
    name, options = (variant, {}) if isinstance(variant, str) else variant
    method = find(name, options)
    for title, table, requirement in tables(method):
        whole = run(method, table, requirement, Control())  # compiles what is not yet compiled, too
        for looks in STOPS:
            control = CountedControl(looks)
            with control.counting():
                found = run(method, table, requirement, control)
            if control.left >= 0:
                break
            assert requirement.holds_in_all(table, found.labels), (title, looks)
            assert found.facts.get("stopped_early") or (found.labels == whole.labels).all(), (title, looks)
            assert control.after <= MOST_LOOKS, (title, looks)
            assert control.most <= MOST_CALLS, (title, looks)
