"""Which cases of a test run every day: a few of many, spread over all of them; `make test` runs the others, too."""

from __future__ import annotations

import pytest

MOST = 6
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
