"""Every text of the app, from one file, so that a translation can follow."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


class TextGroup:
    """Texts by name; one that is not there is an error and not an empty place.

    Examples
    --------
    >>> TextGroup({"title": "Open a table", "rows": "{n} rows"}).title
    'Open a table'
    """

    def __init__(self, held: dict[str, Any]) -> None:
        self._held = {key: TextGroup(value) if isinstance(value, dict) else value for key, value in held.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._held:
            raise AttributeError(f"there is no text '{name}'")
        return self._held[name]

    def __getitem__(self, name: str) -> Any:
        return self._held[name]

    def get(self, name: str) -> Any:
        """A text; empty if there is none."""
        return self._held.get(name, "")

    def items(self) -> list[tuple[str, Any]]:
        """All texts of the group, in the order of the file."""
        return list(self._held.items())


@cache
def load_texts() -> TextGroup:
    """The English texts."""
    return TextGroup(tomllib.loads(files("tclose.app").joinpath("texts.toml").read_text(encoding="utf-8")))


def said(name: str, /, **given: object) -> str:
    """A sentence of the app about what does not go, with what it names.

    Examples
    --------
    >>> said("tick_column")
    'Tick at least one column.'
    """
    return str(load_texts().sentences[name]).format(**given)
