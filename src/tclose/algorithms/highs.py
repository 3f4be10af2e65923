"""HiGHS, the solver of linear and integer programs: an extra."""

from __future__ import annotations

from typing import Any

from tclose.errors import MissingExtraError


def load(method: str) -> Any:
    """The solver's module, for a method of this name."""
    try:
        import highspy
    except ImportError:
        raise MissingExtraError("highspy", "optimum", f"Method '{method}'") from None
    return highspy
