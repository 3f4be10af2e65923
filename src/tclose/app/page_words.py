"""Messages of the library in the words of the pages: fields and ticks instead of options and keys of a schema.

Whoever reads a page types no command. The library's advice names options (`--sheet`) and tables of a schema
(`[quasi.age]`); the same thing has a label on a page, and `texts.toml` says which.
"""

from __future__ import annotations

import re
from functools import cache

from tclose.app.texts import load_texts

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])")
_SCHEMA_KEY = re.compile(r"`(\w+)(?: = [^`]*)?` in the schema \(--[a-z][^)]*\)")
_SECTION = re.compile(r"\[(quasi|sensitive|joint)\.([^\]\n]+)\]")
_WORKLOAD = re.compile(r"Workload 'workload-[0-9a-f]{12}\.csv'")
_QUOTED_KEY = re.compile(r"'([a-z]+)'")
_BARE_KEY = re.compile(r"`?\b([a-z]+_[a-z]+)\b`?")


def in_page_words(message: str) -> str:
    """A message of the library as a page shows it; one that names neither an option nor a key is left as it is.

    Examples
    --------
    >>> print(in_page_words("Schema: [quasi.age]: 'step' must be above 0."))
    Column 'age': “Step” must be above 0.
    >>> print(in_page_words("'clinic.db' has 2 tables. Name one with --table, or give a --query."))
    'clinic.db' has 2 tables. Name one with “Table of a database”, or give a “Query”.
    """
    for plain, spoken in _phrases():
        message = message.replace(plain, spoken)
    message = _SCHEMA_KEY.sub(lambda found: _label("options", found[1]) or found[0], message)
    message = _OPTION.sub(lambda found: _label("options", found[1]) or found[0], message)
    message = _SECTION.sub(_section, message)
    message = _WORKLOAD.sub(str(load_texts().objective.own), message)
    message = _QUOTED_KEY.sub(lambda found: _quoted(_label("keys", found[1])) or found[0], message)
    return _BARE_KEY.sub(lambda found: _quoted(_label("table_keys", found[1])) or found[0], message)


def _section(found: re.Match[str]) -> str:
    """A column or a joint in the place of its table; in the middle of a sentence it has no capital letter."""
    spoken = _label("sections", found[1]).format(name=found[2])
    before = found.string[: found.start()].rstrip(" ")
    is_first = not before or before[-1] in ".:-\n"
    return spoken if is_first else spoken[0].lower() + spoken[1:]


def _label(group: str, name: str) -> str:
    return str(load_texts()[group].get(name.replace("-", "_")))


def _quoted(label: str) -> str:
    return f"“{label}”" if label else ""


@cache
def _phrases() -> tuple[tuple[str, str], ...]:
    """Advice that only makes sense as a whole, with what a page says instead; the longest first."""
    pairs = [(each["library"], each["page"]) for each in load_texts()["phrases"]]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))
