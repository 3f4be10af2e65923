"""The reference of all keys of a schema, from the classes that hold them and what their docstrings say."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from docs.generate.marked import GENERATED, code, sentence, table
from docs.generate.numpydoc_sections import section, summary
from tclose.schema.builders import Dates, Intervals, Prefixes
from tclose.schema.columns import Diversity, Joint, Quasi, Sensitive
from tclose.schema.schema import Schema

TABLES = {  # what they are called in a schema, and the class that holds their keys
    "[quasi.COLUMN]": Quasi,
    "[sensitive.COLUMN]": Sensitive,
    "[joint.NAME]": Joint,
}
BUILDERS = (Intervals, Prefixes, Dates)


class UndocumentedKeyError(Exception):
    """A key that no docstring explains."""


def keys(held_by: type[Any]) -> dict[str, tuple[Field[Any], str]]:
    """Every key of a class, with its field and what it means.

    Raises
    ------
    UndocumentedKeyError
        The docstring of the class has no line for a key, or one for what is no key.
    """
    told = section(held_by, "Attributes")
    found = {each.name: each for each in fields(held_by)}
    if missing := found.keys() - told.keys():
        raise UndocumentedKeyError(f"{held_by.__name__} says nothing of {sorted(missing)} under Attributes.")
    if unknown := told.keys() - found.keys():
        raise UndocumentedKeyError(f"{held_by.__name__} explains {sorted(unknown)}, which it does not have.")
    return {name: (each, told[name]) for name, each in found.items()}


def schema_page() -> str:
    """The whole page."""
    parts = [
        "# Keys of a schema",
        GENERATED,
        "Every key that a schema can have. [The schema](../schema.md) explains them with examples, and "
        "[A first schema](../first-schema.md) shows how to get one. In Python the keys are those of a dictionary "
        "(`Schema.from_dict`), or keywords of `tclose.anonymize`.",
        "## At the top",
        _rows(Schema),
    ]
    for title, held_by in TABLES.items():
        parts += [f"## {title}", sentence(summary(held_by)), _rows(held_by, own_name=fields(held_by)[0].name)]
    parts += ["## l", sentence(summary(Diversity)), "A whole number is short for `distinct`.", _rows(Diversity)]
    parts += ["## hierarchy, built from the values", _builders()]
    return "\n\n".join(parts)


def _rows(held_by: type[Any], own_name: str | None = None) -> str:
    hints = get_type_hints(held_by)
    rows = [
        [code(name), sentence(told), _allowed(hints[name]), _default(each)]
        for name, (each, told) in keys(held_by).items()
        if name != own_name
    ]
    return table(["key", "what it means", "allowed", "if not given"], rows)


def _allowed(hint: Any) -> str:
    """The words that a key may have, where its type lists them."""
    choices = [hint, *get_args(hint)]
    words = [word for choice in choices if get_origin(choice) is Literal for word in get_args(choice)]
    if words:
        return ", ".join(map(code, words))
    return "`true`, `false`" if hint is bool else ""


def _default(each: Field[Any]) -> str:
    if each.default is MISSING:
        return "required"
    if each.default in (None, ()):
        return ""
    return code(str(each.default).lower() if isinstance(each.default, bool) else f'"{each.default}"')


def _builders() -> str:
    rows = []
    for builder in BUILDERS:
        names = [each.name for each in fields(builder)]
        rows.append([code(f'build = "{builder.name}"'), ", ".join(map(code, names)), sentence(summary(builder))])
    return table(["build", "its keys", "what it builds"], rows)
