"""Real tables for tests: they lie beside the repository, and tests skip where they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1].parent / "shared" / "data"


def shared(name: str) -> Path:
    """The path of a shared file; skips the test where it is absent."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"the real tables are not beside this checkout: ../shared/data/{name} is absent")
    return path
