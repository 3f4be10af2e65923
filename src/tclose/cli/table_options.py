"""The options by which every command finds and reads its table."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from tclose.errors import TableError

if TYPE_CHECKING:
    from tclose.table.table_location import TableLocation

PANEL = "How the table is read"
OPTIONS = {
    "format": (
        Annotated[
            str | None,
            typer.Option(
                help="Format of - or of a file with another suffix: csv, tsv, jsonl, json, parquet, arrow, excel, ...",
                rich_help_panel=PANEL,
            ),
        ],
        None,
    ),
    "sheet": (
        Annotated[str | None, typer.Option(help="Sheet of a spreadsheet, by name or number.", rich_help_panel=PANEL)],
        None,
    ),
    "codes": (
        Annotated[
            bool,
            typer.Option("--codes", help="Keep the codes of SPSS and Stata, not their labels.", rich_help_panel=PANEL),
        ],
        False,
    ),
    "table": (Annotated[str | None, typer.Option(help="Table of a database.", rich_help_panel=PANEL)], None),
    "query": (
        Annotated[str | None, typer.Option(help="Query of a database: its rows are the table.", rich_help_panel=PANEL)],
        None,
    ),
}


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options above: its `data` is then where the table is and how it is read.

    A command that has one of them itself, such as the table that it writes to, gets that one too.
    """
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    parameters = [each.replace(annotation=hints[name]) for name, each in own.items()]
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, keyword, default=given, annotation=kind) for name, (kind, given) in OPTIONS.items()
    ]
    parameters = [each.replace(kind=keyword) for each in parameters] + added

    def located(**given: Any) -> None:
        options = {name: value for name in OPTIONS if (value := given.pop(name))}
        place, original = given.pop("data"), given.get("original")
        if "output_table" in given and given["output_table"] is None and not _fits(place, "table", options):
            given["output_table"] = options.pop("table")
        if original is not None:  # what does not fit the one is said of the other
            others = {name: options.pop(name) for name in list(options) if not _fits(place, name, options)}
            given["original"] = locate(original, **others)
        command(data=locate(place, **options), **given)

    located.__name__, located.__doc__ = command.__name__, command.__doc__
    located.__annotations__ = {each.name: each.annotation for each in parameters}
    located.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return located


def _fits(place: str, name: str, options: dict[str, Any]) -> bool:
    """Whether an option, if it is given, can be said of a place."""
    from tclose.table.table_location import TableLocation

    try:
        TableLocation(place, **{name: options[name]} if name in options else {})
    except TableError:
        return name not in options
    return True


def locate(place: str, **options: Any) -> TableLocation:
    """Where a table is; options that do not fit are wrong usage."""
    from tclose.table.table_location import TableLocation

    try:
        return TableLocation(place, **options)
    except TableError as error:
        if place != "-" and not any(options.values()):
            raise
        raise typer.BadParameter(str(error)) from None
