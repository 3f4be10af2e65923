"""Compiling ahead: every method on small tables that reach its kernels."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from tclose.algorithms import Algorithm
from tclose.algorithms.requirement import Requirement
from tclose.errors import MissingExtraError
from tclose.table.encode import encode
from tclose.table.source import read
from tclose.testing import AWKWARD, run, why_not

TABLES = ("census", "hospital, eight sensitive attributes", "k alone", "a joint", "t and l", "suppression")


def warm(methods: Sequence[Algorithm], tell: Callable[[str, float | None, float | None], None], jobs: int = 1) -> None:
    """Run each method where it can, several at once: the compiler works for one thread of a process at a time."""
    if jobs == 1 or len(methods) == 1:
        for number, method in enumerate(methods):
            tell(f"compiling {method.name}", None, number / len(methods))
            compile_for(method)
        if len(methods) > 1:
            compile_bound()
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        tell("compiling", None, 0.0)
        jobs_given = [pool.submit(compile_bound), *(pool.submit(compile_for, method) for method in methods)]
        for number, done in enumerate(as_completed(jobs_given), 1):
            done.result()
            tell("compiling", None, number / len(jobs_given))


def compile_bound() -> None:
    """Bound the loss of a small table, which `gap` does."""
    from tclose.algorithms.loss_bound.loss_bound import bound_loss
    from tclose.datasets import census

    frame, schema = census(30, seed=1)
    table = encode(read(frame), schema)
    bound_loss(table, Requirement.of(schema, table), steps=1)


def compile_for(method: Algorithm) -> None:
    """Run a method on every table it takes; one that needs an extra that is not there is passed by."""
    for case in AWKWARD:
        if case.name not in TABLES or why_not(method, case):
            continue
        frame, schema = case.make(method.capabilities)
        table = encode(read(frame), schema)
        try:
            run(method, table, Requirement.of(schema, table))
        except MissingExtraError:
            return
