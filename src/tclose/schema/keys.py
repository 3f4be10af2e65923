"""The keys of a schema as typed keywords: what `anonymize` and its like take instead of a schema."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypedDict, TypeVar, get_type_hints

from tclose.errors import SchemaError

Function = TypeVar("Function", bound=Callable[..., Any])
Threshold = int | float | Decimal | Fraction | str


class ColumnKeys(TypedDict, total=False):
    """Every key of a schema but k."""

    quasi: Sequence[str] | Mapping[str, str | Mapping[str, Any]]
    sensitive: Mapping[str, Threshold | Mapping[str, Any]]
    joint: Mapping[str, Mapping[str, Any]]
    recode: Literal["generalize", "suppress"]
    suppress_rows: Threshold | None
    missing: Literal["category", "drop", "error"] | None
    missing_values: Sequence[str]
    identifiers: Sequence[str]
    keep: Sequence[str]
    keep_unchecked: bool
    unit: str | None
    unit_rows: Literal["one", "all"] | None
    unit_pick: Literal["random", "first", "last"] | None
    unit_order: str | None
    objective: Literal["loss", "queries", "classify"]
    workload: str | None
    target: str | None
    roles: Mapping[str, Literal["quasi", "sensitive", "identifier", "keep"]]
    delimiter: str
    encoding: str
    decimal: str
    thousands: str
    header: bool


class SchemaKeys(ColumnKeys, total=False):
    """Every key of a schema."""

    k: int


def takes_keys(function: Function) -> Function:
    """Show the keys of a schema in the signature of a function that takes them as `**keys`, for `help` and editors.

    Examples
    --------
    >>> @takes_keys
    ... def assess(df, **keys): ...
    >>> "quasi" in inspect.signature(assess).parameters
    True
    """
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    hints = get_type_hints(SchemaKeys)
    keys = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=..., annotation=hint)
        for name, hint in hints.items()
        if name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=[*own, *keys])  # type: ignore[attr-defined]
    return function


def check_names(given: Iterable[str], function: Callable[..., Any]) -> None:
    """Refuse a keyword that is none of a function which `takes_keys`, and name the one that was meant.

    Examples
    --------
    >>> @takes_keys
    ... def assess(df, *, method="tight", **keys): ...
    >>> check_names(["metod"], assess)
    Traceback (most recent call last):
    tclose.errors.SchemaError: assess has no parameter 'metod', and a schema has no such key. Did you mean 'method'?
    """
    known = list(inspect.signature(function).parameters)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"It takes: {', '.join(known)}."
            raise SchemaError(f"{function.__name__} has no parameter '{name}', and a schema has no such key. {hint}")
