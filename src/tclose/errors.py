"""Every error tclose raises on purpose, and the warnings it gives.

An error says what is wrong, where, what is allowed and what to do next. None of them
quotes a cell of the table: they name columns, counts and line numbers.
"""

from __future__ import annotations

from typing import Any


class TcloseError(Exception):
    """The common parent: `except TcloseError` catches all that is raised on purpose."""


class SchemaError(TcloseError):
    """The schema or one of its hierarchies is wrong; found before any row is read."""


class TableError(TcloseError):
    """The table cannot be read, or does not fit its schema."""


class ValuesError(TableError):
    """Some values of a column do not fit the schema, whatever the others are.

    Attributes
    ----------
    rows
        The numbers of the rows that hold them: an array.
    what
        What is wrong with them, for people: `are not numbers`.
    """

    def __init__(self, message: str, rows: Any, what: str) -> None:
        super().__init__(message)
        self.rows, self.what = rows, what


class SizeError(TableError):
    """The table is too large for the method that was chosen; the message says what would work."""


class InfeasibleError(TcloseError):
    """No release meets the requirement, or only a useless one does."""


class VerificationError(TcloseError):
    """A table does not keep the promise that was made for it."""


class LockError(TcloseError):
    """A file cannot be kept from being written by two processes at once, so nothing is written."""


class BusyError(LockError):
    """A file is being written by another process."""


class MeasureError(TcloseError, ValueError):
    """A measure was asked for that the table does not have, such as a cube over more columns than there are."""


class MissingExtraError(TcloseError):
    """An optional dependency is needed and absent."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs '{package}'. Install it with: pip install 'tclose[{extra}]'")


class InferredSchemaWarning(UserWarning):
    """Kinds and distances were guessed from the table; the message says which."""


class HighLossWarning(UserWarning):
    """The release keeps its promise but says little: more than half of the information is lost."""
