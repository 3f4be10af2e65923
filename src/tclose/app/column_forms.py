"""The fields of a column's form: which keys a schema knows for it, and what a person wrote into each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from tclose.app.posted_forms import PostedForm
from tclose.app.texts import said
from tclose.errors import SchemaError, TableError
from tclose.schema.columns import DISTANCES, KINDS, PUBLISH, Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.table.coded import CodedColumn
from tclose.table.proposing.column_evidence import Evidence
from tclose.table.proposing.guesses import ColumnGuess
from tclose.table.proposing.table_proposal import why_not
from tclose.table.quasi import build_axes
from tclose.table.reading import Reader
from tclose.table.sensitive import build_domain


@dataclass(frozen=True)
class FormField:
    """One key on a form.

    Attributes
    ----------
    key
        As a schema has it.
    choices
        What can be chosen; empty if it is written.
    of
        The kinds or distances that have it; empty for all.
    sort
        How a written value is read: text, number, whole or either (a number, else a text); for several of them numbers,
        texts or eithers.
    """

    key: str
    choices: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    sort: str = "text"


# Keys that this version's schema does not know are left out below.
FIELDS = {
    "quasi": (
        FormField("kind", KINDS),
        FormField("step", of=("numeric", "date"), sort="either"),
        FormField("bottom", of=("numeric", "date"), sort="either"),
        FormField("top", of=("numeric", "date"), sort="either"),
        FormField("range", of=("numeric", "date"), sort="eithers"),
        FormField("publish", PUBLISH, of=("numeric", "date")),
        FormField("format", of=("date",)),
        FormField("weight", sort="number"),
        FormField("finest", of=("categorical", "text"), sort="either"),
        FormField("coarsest", sort="either"),
    ),
    "sensitive": (
        FormField("distance", DISTANCES),
        FormField("bins", of=("ordered",), sort="whole"),
        FormField("edges", of=("ordered",), sort="numbers"),
        FormField("order", of=("ordered",), sort="texts"),
        FormField("range", of=("numeric",), sort="numbers"),
        FormField("format", of=("ordered",)),
    ),
}
KNOWN = {
    "quasi": {field.name for field in fields(Quasi)},
    "sensitive": {field.name for field in fields(Sensitive)},
}
CHOOSING = {"quasi": "kind", "sensitive": "distance"}  # the key that says which of the others there are


def shown_fields(role: str, keys: Mapping[str, Any], form: str) -> list[FormField]:
    """The fields that a page shows: a column of numbers has no format of dates, unless one is settled already."""
    found = fields_of(role, keys)
    if role != "sensitive" or form not in ("whole", "fractions"):
        return found
    return [each for each in found if each.key != "format" or "format" in keys]


def fields_of(role: str, keys: Mapping[str, Any]) -> list[FormField]:
    """The fields of a column in a role, as far as its kind or distance has them."""
    if role not in FIELDS:
        return []
    chosen = keys.get(CHOOSING[role], "")
    return [each for each in FIELDS[role] if each.key in KNOWN[role] and (not each.of or chosen in each.of)]


def shown_value(value: Any) -> str:
    """A key's value as a form shows it.

    Examples
    --------
    >>> shown_value([1, Decimal("2.5")]), shown_value(None), shown_value("month")
    ('1; 2.5', '', 'month')
    """
    if value is None:
        return ""
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def read_keys(role: str, before: Mapping[str, Any], form: PostedForm) -> dict[str, Any]:
    """The keys of a column after a form; what the form does not show stays, unless another kind has no such key."""
    keys = dict(before)
    chooser = CHOOSING[role]
    if form.text(chooser):
        keys[chooser] = form.text(chooser)
    is_other = keys.get(chooser) != before.get(chooser)
    allowed = {field.key: field for field in fields_of(role, keys)}
    for field in FIELDS[role]:
        if field.key == chooser:
            continue
        if field.key not in allowed:
            keys.pop(field.key, None)
        elif form.has(field.key) and not is_other:
            keys[field.key] = read_value(field, form.text(field.key))
    if is_other:
        for key in ("hierarchy", "matrix", "levels"):  # which belong to the kind or distance before
            keys.pop(key, None)
    return {key: value for key, value in keys.items() if value is not None}


def read_value(field: FormField, text: str) -> Any:
    """What was written, as the schema takes it; None for nothing."""
    if not text or text == (field.choices or ("",))[0] == "interval":
        return None
    if field.sort in ("numbers", "texts", "eithers"):
        one = FormField(field.key, sort={"numbers": "number", "texts": "text", "eithers": "either"}[field.sort])
        return [read_value(one, part.strip()) for part in text.split(";") if part.strip()]
    if field.sort == "number":
        return _number(text, field.key)
    if field.sort == "whole":
        number = _number(text, field.key)
        return int(number) if number == int(number) else number
    if field.sort == "either":
        try:
            return _number(text, field.key)
        except SchemaError:
            return text
    return text


def _number(text: str, key: str) -> Decimal | int:
    try:
        number = Decimal(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except InvalidOperation:
        raise SchemaError(said("number", key=key)) from None
    if not number.is_finite() or abs(number.adjusted()) > 300:
        raise SchemaError(said("long_number", key=key))
    return int(number) if number == number.to_integral_value() else number


def check_column(guess: ColumnGuess, role: str, keys: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
    """Refuse keys that no schema could keep, or that the column's values do not fit.

    Raises
    ------
    TcloseError
        The message names the column and the key.
    """
    name, evidence = guess.column, guess.evidence
    if role not in FIELDS:
        return
    if evidence.coded is None:
        raise TableError(said("unusable", name=name, problem=evidence.problem))
    if CHOOSING[role] not in keys:
        raise TableError(said("unusable", name=name, problem=why_not(guess)))
    if role == "quasi":
        schema = Schema.from_dict({"k": 1, "quasi": {name: dict(keys)}, **_signs(whole)})
        build_axes(*filled(evidence, whole), schema.quasi[0], schema)
        return
    build_domain(*filled(evidence, whole), sensitive_schema(name, keys, whole).sensitive[0])


def filled(evidence: Evidence, whole: Mapping[str, Any]) -> tuple[Reader, CodedColumn]:
    """A column to be read, without missing values where their rows are left out."""
    assert evidence.coded is not None
    if whole.get("missing") != "drop" or not evidence.n_missing:
        return evidence.reader, evidence.coded
    rows = np.flatnonzero(~evidence.coded.spread(evidence.coded.values.is_null().to_numpy()))
    return replace(evidence.reader, rows=evidence.reader.rows[rows]), evidence.coded.take(rows)


def sensitive_schema(name: str, keys: Mapping[str, Any], whole: Mapping[str, Any]) -> Schema:
    """A schema that has this sensitive attribute, and nothing else that matters."""
    stand_in = {f"{name} ": {"kind": "categorical"}}
    return Schema.from_dict({"k": 1, "quasi": stand_in, "sensitive": {name: dict(keys)}, **_signs(whole)})


def _signs(whole: Mapping[str, Any]) -> dict[str, Any]:
    return {key: whole[key] for key in ("delimiter", "decimal", "thousands") if key in whole}
