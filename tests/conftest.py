"""Which cases of a test run every day: a few of many, spread over all of them; and commands, run in this process."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

settings.register_profile("tclose", deadline=None)  # how long an example takes depends on what else the machine does
settings.load_profile("tclose")

MOST = 2
"""That many cases of a test run every day, unless it says otherwise by `@pytest.mark.everyday(n)`."""


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Among tests only a file that has examples is looked through for them."""
    found = yield
    has_examples = file_path.suffix == ".py" and ">>>" in file_path.read_text(encoding="utf-8")
    return [each for each in found if has_examples or not isinstance(each, DoctestModule)]


def spread(n: int, most: int) -> set[int]:
    """At most so many of n places, spread over all of them by the golden ratio.

    With equal steps a test of all methods on all tables would run the same two methods on each of them.

    Examples
    --------
    >>> spread(6, 2), spread(2, 3)
    ({0, 3}, {0, 1})
    """
    ratio, found, turn = (math.sqrt(5) - 1) / 2, set[int](), 0
    while len(found) < min(n, most):
        found.add(int(n * (turn * ratio % 1)))
        turn += 1
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("slow") is None:
            tests.setdefault(item.nodeid.split("[")[0], []).append(item)
    for cases in tests.values():
        mark = cases[0].get_closest_marker("everyday")
        kept = spread(len(cases), mark.args[0] if mark else MOST)
        for place, item in enumerate(cases):
            if place not in kept:
                item.add_marker("slow")


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Run a command in a folder of its own: how it ended, and what it said on stderr."""
    from tclose.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main sets its own

    def command(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["tclose", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), capsys.readouterr().err

    return command
