"""Docstrings as numpydoc writes them: their first sentence, and what a section says of each name."""

from __future__ import annotations

import inspect
import re


def summary(documented: object) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())


def section(documented: object, title: str) -> dict[str, str]:
    """What a section such as `Attributes` says of each name; two names may share a line.

    Examples
    --------
    >>> class Box:
    ...     '''A box.
    ...
    ...     Attributes
    ...     ----------
    ...     width, height
    ...         In points.
    ...     '''
    >>> section(Box, "Attributes")
    {'width': 'In points.', 'height': 'In points.'}
    """
    text = inspect.getdoc(documented) or ""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.MULTILINE | re.DOTALL)
    told: dict[str, str] = {}
    names: list[str] = []
    for line in (found[1] if found else "").split("\n"):
        if line[:1].strip():
            names = [name.strip() for name in line.split(",")]
        else:
            for name in names:
                told[name] = f"{told.get(name, '')} {line.strip()}".strip()
    return told
