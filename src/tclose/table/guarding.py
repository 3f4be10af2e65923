"""Errors that never quote a cell, and column names that can be told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tclose.errors import MissingExtraError, TableError, TcloseError

Result = TypeVar("Result")


def guarded(problem: str, action: Callable[[], Result], kind: type[TcloseError] = TableError) -> Result:
    """Do it, and turn any error of another library into ours: its message, and those behind it, may quote a cell."""
    try:
        return action()
    except (TcloseError, OSError) as error:
        caught: Exception = kind(str(error)) if isinstance(error, TableError) else error
    except ModuleNotFoundError as error:
        caught = MissingExtraError(error.name or "pyarrow", "pandas", "Reading this dataframe")
    except Exception as error:
        caught = kind(f"{problem} ({type(error).__name__}).")
    raise caught  # out here, so that it carries no trace of the other


def check_names(names: list[Any]) -> None:
    """Every column has a name of its own, and that is text."""
    if not names:
        raise TableError("The table has no columns.")
    if not all(isinstance(name, str) for name in names):
        raise TableError("Some column names are not text. Rename the columns to text first.")
    if "" in names:
        raise TableError(f"Column {names.index('') + 1} has no name. Name it, or take it out.")
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise TableError(f"Column {', '.join(map(repr, repeated))} stands in the table more than once. Rename one.")
