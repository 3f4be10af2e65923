"""Which cases of a test run every day: a few of many, spread over all of them; and commands, run in this process."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("tclose", deadline=None)  # how long an example takes depends on what else the machine does
settings.load_profile("tclose")

MOST = 2
"""So many cases of a test run every day, unless it says otherwise by `@pytest.mark.everyday(n)`."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("slow") is None:
            tests.setdefault(item.nodeid.split("[")[0], []).append(item)
    for cases in tests.values():
        mark = cases[0].get_closest_marker("everyday")
        most = mark.args[0] if mark else MOST
        kept = {place * len(cases) // most for place in range(most)}
        for place, item in enumerate(cases):
            if len(cases) > most and place not in kept:
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
