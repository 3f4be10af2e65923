"""The fuzzer of readers finds what it looks for: a traceback, an echo, and what takes too long."""

from __future__ import annotations

import random
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.campaigns import reader_targets
from benchmarks.campaigns.reader_harness import Harness
from benchmarks.campaigns.reader_targets import MARK, TARGETS, Target, shaken
from tclose.errors import TableError, TcloseError


def harness(folder: Path, act: Any, **how: Any) -> closing[Harness]:
    target = Target(lambda: [b"seed"], act, **how)
    targets = SimpleNamespace(TARGETS={"it": ("file", target)}, MARK=MARK, TcloseError=TcloseError)
    return closing(Harness("it", folder, targets))


def refuse(data: bytes, path: Path) -> object:
    raise TableError("It cannot be read.")


def fail(data: bytes, path: Path) -> object:
    raise ValueError("other")


def echo(data: bytes, path: Path) -> object:
    raise TableError(f"It cannot be read: {data.decode()}.")


def echo_behind(data: bytes, path: Path) -> object:
    try:
        raise ValueError(data.decode())
    except ValueError:
        raise TableError("It cannot be read.") from None


def linger(data: bytes, path: Path) -> object:
    until = time.process_time() + 1.1
    while time.process_time() < until:
        pass
    return None


@pytest.mark.parametrize(
    ("act", "finding"),
    [
        (refuse, None), (fail, "finding: traceback ValueError"), (echo, "finding: echo"),
        (echo_behind, "finding: echo"), (lambda data, path: print(data.decode()), "finding: echo"),
    ],
)  # fmt: skip
def test_what_must_not_be_is_noted(act: Any, finding: str | None, tmp_path: Path) -> None:
    with harness(tmp_path, act) as made:
        made.feed(MARK.encode())
        made.tell()
    assert {name for name in made.counts if name.startswith("finding")} == ({finding} if finding else set())
    assert len(list(tmp_path.glob("*.txt"))) == (finding is not None)
    assert made.counts["inputs"] == 1


@pytest.mark.slow
def test_what_takes_too_long_is_noted(tmp_path: Path) -> None:
    with harness(tmp_path, linger) as made:
        made.counts["inputs"] = 30  # long after the first ones, for which things are compiled
        made.feed(b"x")
    assert made.counts["finding: slow"] == 1


def test_a_name_that_is_allowed_is_none(tmp_path: Path) -> None:
    with harness(tmp_path, echo, names=lambda data: True) as made:
        made.feed(MARK.encode())
    assert not list(tmp_path.glob("*.txt"))


@pytest.mark.parametrize("name", TARGETS)
def test_every_reader_takes_its_seeds_and_holds_against_some_changes(name: str, tmp_path: Path) -> None:
    """Few, so that it is quick; the campaign has many."""
    target = TARGETS[name][1]
    seeds, rng = target.seeds(), random.Random(5)
    with closing(Harness(name, tmp_path, reader_targets)) as made:
        for seed in seeds:
            made.feed(seed)
        assert made.counts["read"] >= 1, made.counts
        for _ in range(0 if target.may_die else 15):
            seed = rng.choice(seeds)
            made.feed(target.wrap(seed, lambda inner: shaken(inner, rng)) if target.wrap else shaken(seed, rng))
    assert not {finding for finding in made.counts if finding.startswith("finding")}, made.counts
