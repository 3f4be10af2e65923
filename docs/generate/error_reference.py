"""The reference of errors and warnings, from their docstrings."""

from __future__ import annotations

import inspect
from typing import Any

import tclose.errors
from docs.generate.marked import GENERATED, code, sentence, table
from docs.generate.numpydoc_sections import summary
from tclose.cli.exit_codes import exit_code_of
from tclose.errors import TcloseError, TcloseWarning


def kinds_of(parent: type[Any]) -> list[type[Any]]:
    """The classes of `tclose.errors` that descend from one, as they stand there."""
    found = [each for each in vars(tclose.errors).values() if inspect.isclass(each) and issubclass(each, parent)]
    return [each for each in found if each.__module__ == tclose.errors.__name__]


def errors_page() -> str:
    """The whole page."""
    errors = [
        [code(each.__name__), code(each.__bases__[0].__name__), str(exit_code_of(each)), sentence(summary(each))]
        for each in kinds_of(TcloseError)
    ]
    warnings = [[code(each.__name__), sentence(summary(each))] for each in kinds_of(TcloseWarning)]
    return "\n\n".join(
        [
            "# Errors and warnings",
            GENERATED,
            "All of them are in `tclose.errors`, and those you are likely to catch also in `tclose`. A message names "
            "the column, what is wrong, and what to do. It never quotes a cell of your table, unless you ask with "
            "`show_values=True` or `--show-values`.",
            "`except tclose.TcloseError` catches every error that is raised on purpose. On the command line an error "
            "is one sentence on standard error, and an [exit code](cli.md#exit-codes).",
            "## Errors",
            table(["error", "is a", "exit code", "when"], errors),
            "## Warnings",
            "A warning says that the result is valid, and that you should know something about it.",
            table(["warning", "when"], warnings),
        ]
    )
