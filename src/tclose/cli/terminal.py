"""What people see on standard output: names are shown as they are written, and never obeyed."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from tclose.errors import printable


def console() -> Console:
    """Standard output, where `:name:` is no picture."""
    return Console(emoji=False)


def shown(text: str) -> str:
    """A name or a sentence within markup: neither brackets nor control characters of it are obeyed.

    Examples
    --------
    >>> print(shown("[red]age\\x1b[2J"))
    \\[red]age\\u001b[2J
    """
    return escape(printable(text))
