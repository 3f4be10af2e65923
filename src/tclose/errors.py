"""Every error tclose raises on purpose, and the warnings it gives.

An error says what is wrong, where, what is allowed and what to do next. None of them
quotes a cell of the table: they name columns, counts and line numbers. Names come from files,
and are shown so that a terminal obeys none of them.
"""

from __future__ import annotations

import re
from typing import Any

MOST_LINES = 21  # of what is wrong with a schema: a heading, and 20 problems
LONGEST_LINE = 2000  # characters
# Letters and marks that Python calls printable and nobody sees: joiners, fillers, variation selectors.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def printable(text: str) -> str:
    """The text with all that is not seen, or that a terminal would obey, written as `\\u001b`.

    That is what Python's `str.isprintable` refuses: control characters, terminal escapes, line ends,
    characters that turn the direction of text, zero-width ones, and spaces other than the usual one.
    JSON and TOML read the same escapes.

    Examples
    --------
    >>> print(printable("age\\x1b[2J"), printable("Größe"), printable("a\\u202eb"))
    age\\u001b[2J Größe a\\u202eb
    """
    if text.isprintable() and not _UNSEEN.search(text):
        return text
    return "".join(each if each.isprintable() and not _UNSEEN.match(each) else _escape(ord(each)) for each in text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _sentences(parts: tuple[Any, ...]) -> str:
    """What an error or a warning says, a line for each of its arguments; a name cannot begin another line."""
    return "\n".join(printable(str(part)) for part in parts)


class TcloseError(Exception):
    """The common parent: `except TcloseError` catches all that is raised on purpose.

    Each argument is a line of its message.

    Examples
    --------
    >>> print(TableError("Column 'a\\x07' is empty."))
    Column 'a\\u0007' is empty.
    """

    def __str__(self) -> str:
        return _sentences(self.args)


class SchemaError(TcloseError):
    """The schema or one of its hierarchies is wrong; found before any row is read.

    Its message is never long, whatever the schema holds: the first problems, and both ends of each.

    Examples
    --------
    >>> str(SchemaError(*["wrong"] * 10_000)).splitlines()[-1]
    'and 9979 more.'
    """

    def __str__(self) -> str:
        half = LONGEST_LINE // 2  # what is wrong often stands at the end
        lines = map(str, self.args)
        shown = [f"{line[:half]} ... {line[-half:]}" if len(line) > LONGEST_LINE else line for line in lines]
        more = len(shown) - MOST_LINES
        return _sentences((*shown[:MOST_LINES], f"and {more} more.") if more > 0 else tuple(shown))


class TableError(TcloseError):
    """The table cannot be read, or does not fit its schema.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [30, 40], "town": ["A", "B"]})
    >>> tclose.anonymize(table, {"k": 2, "quasi": {"age": {"kind": "numeric"}}})
    Traceback (most recent call last):
        ...
    tclose.errors.TableError: ...town...
    """


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
    """No release meets the requirement, or only a useless one does.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [30, 40]})
    >>> tclose.anonymize(table, {"k": 3, "quasi": {"age": {"kind": "numeric"}}}, method="mondrian")
    Traceback (most recent call last):
    tclose.errors.InfeasibleError: The table has 2 rows, and k = 3 asks for more in every class.
    """


class VerificationError(TcloseError):
    """A table does not keep the promise that was made for it."""


class LockError(TcloseError):
    """A file cannot be kept from being written by two processes at once, so nothing is written."""


class BusyError(LockError):
    """A file is being written by another process."""


class EngineError(TcloseError):
    """An engine, or a process of its, was ended while it worked on a large table; nothing is released."""


class MeasureError(TcloseError, ValueError):
    """A measure was asked for that the table does not have, such as a cube over more columns than there are."""


class MissingExtraError(TcloseError):
    """An optional dependency is needed and absent.

    Examples
    --------
    >>> print(MissingExtraError("weasyprint", "pdf", "A page as PDF"))
    A page as PDF needs 'weasyprint'. Install it with: pip install 'tclose[pdf]'
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs '{package}'. Install it with: pip install 'tclose[{extra}]'")


class TcloseWarning(UserWarning):
    """The common parent of the warnings; the result is valid all the same."""

    def __str__(self) -> str:
        return _sentences(self.args)


class InferredSchemaWarning(TcloseWarning):
    """Kinds and distances were guessed from the table; the message says which."""


class HighLossWarning(TcloseWarning):
    """The release keeps its promise but says little: more than half of the information is lost."""


class EarlierReleaseWarning(TcloseWarning):
    """The same table was released before: whoever has both releases can intersect them."""


class RepeatedIdentifierWarning(TcloseWarning):
    """An identifier names several rows, and no unit is named: k counts rows, which may be fewer persons."""


class FormulaWarning(TcloseWarning):
    """Cells or names in a CSV release would be formulas in a spreadsheet; the message says how many, and where."""
