"""The rows of a small stream, and what it publishes when nothing goes wrong; a module says how many in `ROWS`."""

from __future__ import annotations

import pytest

from tests.stream.feeding import check, go, lines, put_in, written


@pytest.fixture(scope="module")
def given(request: pytest.FixtureRequest) -> list[bytes]:
    return lines(request.module.ROWS)


@pytest.fixture(scope="module")
def reference(given: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = put_in(tmp_path_factory.mktemp("reference"), given)
    go(folder)
    check(folder, len(given))
    return written(folder)
