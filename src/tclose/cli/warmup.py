"""Compiling ahead: every method on small tables that reach its kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tclose.algorithms import Algorithm
from tclose.algorithms.requirement import Requirement
from tclose.errors import MissingExtraError
from tclose.table.encode import encode
from tclose.table.source import read
from tclose.testing import AWKWARD, run, why_not

TABLES = ("census", "hospital, eight sensitive attributes", "k alone", "a joint", "t and l", "suppression")


def warm(methods: Sequence[Algorithm], tell: Callable[[str, float | None, float | None], None]) -> None:
    """Run each method where it can; what needs an extra that is not there is passed by."""
    cases = [case for case in AWKWARD if case.name in TABLES]
    for number, method in enumerate(methods):
        tell(f"compiling {method.name}", None, number / len(methods))
        for case in cases:
            if why_not(method, case):
                continue
            frame, schema = case.make(method.capabilities)
            table = encode(read(frame), schema)
            try:
                run(method, table, Requirement.of(schema, table))
            except MissingExtraError:
                break
