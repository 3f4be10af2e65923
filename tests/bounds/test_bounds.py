"""Every kernel with its indices checked: `make bounds`, part of `make test`.

Kernels check no index. Here they are compiled once more so that they do (NUMBA_BOUNDSCHECK), into a cache
of their own, and run on tables that reach all their branches.
"""

from __future__ import annotations

import importlib
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tclose
from tclose.algorithms import REGISTRY, find
from tclose.kernels.compile import STAMP, kernel
from tclose.testing import AWKWARD, Case, check_method, why_not
from tests.algorithms.loss_bound.mutants import bounds_of, made
from tests.bounds.branches import BRANCHES

pytestmark = [
    pytest.mark.bounds,
    pytest.mark.skipif(os.environ.get("NUMBA_BOUNDSCHECK") != "1", reason="indices are not checked: `make bounds`"),
]
PACKAGE = Path(tclose.__file__).parent
# Kernels that only others call, though from Python they could be.
WITHIN = {"closeness.holds", "closeness.judge", "costs.span_cost", "farthest_loops.farthest"}
WITHIN |= {"merge_loops.join", "merge_loops.nearest"}
ANNEALED = (
    *("one row apart", "distinct values and entropy", "caps in persons", "limits and weights of columns"),
    *("500 values in an order", "one value everywhere"),
)


@kernel
def past_the_end(values: Any, place: int) -> int:
    """What no kernel may do."""
    return int(values[place])


def test_indices_are_checked() -> None:
    with pytest.raises(IndexError):
        past_the_end(np.zeros(3, np.int64), 3)
    assert ("bounds are checked", "True") in STAMP


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("case", [*AWKWARD, *BRANCHES], ids=lambda case: str(case.name))
def test_methods(name: str, case: Case) -> None:
    method = find(name)
    if reason := why_not(method, case):
        pytest.skip(reason)
    try:
        check_method(method, case)
    except (tclose.SizeError, tclose.SchemaError) as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("variant", ["k-first", "merge"])
@pytest.mark.parametrize("case", BRANCHES, ids=lambda case: str(case.name))
def test_variants_of_microaggregation(variant: str, case: Case) -> None:
    method = find("microaggregation", {"variant": variant})
    if reason := why_not(method, case):
        pytest.skip(reason)
    check_method(method, case)


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of annealing."""
    monkeypatch.setattr("tclose.algorithms.tight.cooling.ROUNDS", 2)
    monkeypatch.setattr("tclose.algorithms.tight.cooling.FEW_ROUNDS", 2)
    monkeypatch.setattr("tclose.algorithms.tight.cooling.STEPS", 40.0)


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("name", ANNEALED)
def test_tight_annealed(name: str) -> None:
    check_method(find("tight", {"effort": "best"}), next(case for case in BRANCHES if case.name == name))


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("effort", ["fast", "best"])
def test_tight_on_a_class_of_very_many_rows(effort: str) -> None:
    """More rows than are lined up exactly, hardly any of which can be cut off."""
    rng, n = np.random.default_rng(3), 21_000
    frame = tclose.datasets.census(n, seed=1)[0].head(n)
    columns = {"age": rng.integers(0, 3, n), "ill": np.sort(rng.integers(0, 2, n))}
    schema = {"k": 5, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.01}}}
    assert len(frame) == n
    released = tclose.anonymize(
        type(frame)(columns), tclose.Schema.from_dict(schema), method=find("tight", {"effort": effort}), seed=1,
        allow_single_class=True,
    )  # fmt: skip
    assert released.measured.k >= 5


def test_evaluation() -> None:
    frame, schema = tclose.datasets.hospital(300, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = tclose.anonymize(frame, schema, seed=1, allow_single_class=True)
        tclose.utility(frame, release, seed=1)
        tclose.attack(frame, release, population=frame, seed=1)


@pytest.mark.parametrize("seed", range(28))
def test_bounds_of_the_loss(seed: int) -> None:
    frame, schema = made(seed)
    assert min(bounds_of(frame, schema, seed)) >= 0


def test_every_kernel_ran() -> None:
    """The last test: each kernel that Python calls was called by one of those above."""
    left = set()
    for file in sorted([*PACKAGE.glob("kernels/*.py"), *PACKAGE.glob("**/*_loops.py")]):
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
        for key, value in vars(importlib.import_module(f"tclose.{name}")).items():
            options = getattr(value, "targetoptions", None)
            if options is None or value.__module__ != f"tclose.{name}":
                continue
            if not (options.get("no_cpython_wrapper") or options.get("inline") == "always" or value.signatures):
                left.add(f"{file.stem}.{key}")
    assert left - WITHIN == set()
