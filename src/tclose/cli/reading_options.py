"""Options that say how a text file is read: the same on every command, and stronger than the schema."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from tclose.errors import SchemaError

if TYPE_CHECKING:
    from tclose.schema.schema import Schema

Command = TypeVar("Command", bound=Callable[..., None])
PANEL = "Text files"


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, show_default=False, rich_help_panel=PANEL)


OPTIONS: dict[str, Any] = {
    "delimiter": Annotated[str | None, _option("What divides columns: ',', ';', '|' or tab.")],
    "encoding": Annotated[str | None, _option("utf-8, utf-16, cp1252 or another that Python knows.")],
    "decimal": Annotated[str | None, _option("The decimal sign: '.' or ','.")],
    "thousands": Annotated[str | None, _option("The sign between groups of three digits; '' for none.")],
    "header": Annotated[
        bool | None,
        _option("Whether the first line names the columns; else they are column_1 ...", "--header/--no-header"),
    ],
}
_CHOSEN: ContextVar[dict[str, Any]] = ContextVar("chosen", default={})  # noqa: B039 - it is never changed


def takes_reading(command: Command) -> Command:
    """Give a command these options; `load_schema` and `chosen_reading` see what was given."""
    signature = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    own = [each.replace(annotation=hints[each.name]) for each in signature.parameters.values()]
    more = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=hint)
        for name, hint in OPTIONS.items()
    ]

    @functools.wraps(command)
    def with_reading(*arguments: Any, **named: Any) -> None:
        given = {name: named.pop(name, None) for name in OPTIONS}
        token = _CHOSEN.set(_checked({name: value for name, value in given.items() if value is not None}))
        try:
            command(*arguments, **named)
        finally:
            _CHOSEN.reset(token)

    with_reading.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    with_reading.__annotations__ = {**hints, **OPTIONS}
    return with_reading  # type: ignore[return-value]


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """What was given, if a schema could say it."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(given.get("delimiter", ""), given.get("delimiter"))
    if delimiter is not None:
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise typer.BadParameter("the delimiter must be one plain character.")
        given["delimiter"] = delimiter
    if "encoding" in given:
        try:
            "".encode(given["encoding"])
        except (LookupError, ValueError):
            raise typer.BadParameter("--encoding is none that Python knows: utf-8, utf-16, cp1252, ...") from None
    if given.get("decimal", ".") not in (".", ","):
        raise typer.BadParameter("--decimal is '.' or ','.")
    return given


def chosen_reading() -> dict[str, Any]:
    """What the options say, by the keys of a schema."""
    return dict(_CHOSEN.get())


def load_schema(path: Path) -> Schema:
    """The schema of a command, with what the options say."""
    from tclose.schema.schema import Schema

    schema = Schema.load(path)
    try:
        return replace(schema, **_CHOSEN.get())
    except SchemaError as error:
        raise typer.BadParameter(str(error)) from None
