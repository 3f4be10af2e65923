"""Schemas of a history: which can be kept over several releases, and whether one promises at least what another did."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.errors import SchemaError
from tclose.schema.changes import keys_beyond
from tclose.schema.columns import Diversity, Sensitive
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema

# Keys that a history understands. One that is added to schemas later is refused until it is understood here, too.
HANDLED = (
    *("k", "quasi", "sensitive", "joint", "recode", "missing", "missing_values", "identifiers", "unit", "unit_rows"),
    *("unit_pick", "unit_order", "roles", "delimiter", "encoding", "decimal", "thousands", "header"),
    *("keep", "keep_unchecked"),  # refused before by a sentence of its own; the other says nothing without it
)
HANDLED_OF_SENSITIVE = (
    *("column", "distance", "t", "l", "hierarchy", "order", "range", "matrix", "bins", "edges", "format", "rise"),
    *("beta", "enhanced", "levels"),
)
SAME = ("missing", "missing_values", "unit", "decimal", "thousands")  # by these, what was released is read
SAME_OF_SENSITIVE = ("distance", "order", "range", "matrix", "bins", "edges", "format")


def check_supported(schema: Schema) -> None:
    """Refuse a schema whose promise cannot be kept over several releases.

    Raises
    ------
    SchemaError
        The message says which key, and what to do.
    """
    if schema.unit is None:
        raise SchemaError(
            "A history knows persons by their unit, and the schema names none. Name the column that says whose a row "
            'is: unit = "patient_id".'
        )
    if not schema.sensitive:
        raise SchemaError(
            "A history keeps what is promised of sensitive attributes, and the schema names none. Name at least one: "
            "[sensitive.diagnosis]."
        )
    if schema.unit_rows == "all":
        raise SchemaError(
            'unit_rows = "all" cannot be kept over several releases: whoever knows several rows of a person can '
            'combine their classes. Use unit_rows = "one", or join the rows of each person into one.'
        )
    if schema.unit_rows == "one" and schema.unit_order is None:
        raise SchemaError(
            "unit_pick would draw another row of the same person for every release. Name the row by unit_pick = "
            '"first" or "last" and unit_order, or join the rows of each person into one.'
        )
    if schema.keep:
        raise SchemaError(
            "Kept columns are released as they are, and nothing is known of what they tell over several releases. "
            "Make them quasi-identifiers, or name them in `identifiers`."
        )
    for key in keys_beyond(schema, HANDLED):
        raise SchemaError(f"'{key}' cannot be kept over several releases. Leave it out, or release the table once.")
    for sensitive in schema.sensitive:
        for key in keys_beyond(sensitive, HANDLED_OF_SENSITIVE):
            raise SchemaError(
                f"[sensitive.{sensitive.column}]: '{key}' cannot be kept over several releases. Leave it out, or "
                "release the table once."
            )


def check_follows(before: Schema, after: Schema) -> None:
    """Refuse a schema that promises less than the one before, or that reads what was released in another way.

    Raises
    ------
    SchemaError
        The message says what is looser, or differs.
    """
    problems = [*_different(before, after), *_looser(before, after)]
    if problems:
        raise SchemaError(
            "The schema does not follow on that of the last release:", *(f"- {each}" for each in problems)
        )


def _different(before: Schema, after: Schema) -> Iterator[str]:
    for key in SAME:
        if getattr(before, key) != getattr(after, key):
            yield f"`{key}` is not what it was. What was released is read by it, so leave it as it was."
    for role, named in (("quasi-identifiers", "quasi"), ("sensitive attributes", "sensitive")):
        if _columns(before, named) != _columns(after, named):
            yield f"The {role} are other columns than before. Begin a new history, of which nobody has a release yet."
    joints = {each.name: set(each.columns) for each in after.joint}
    for joint in before.joint:
        if joints.get(joint.name) != set(joint.columns):
            yield f"The joint '{joint.name}' is not what it was. Leave it as it was; others may be added."


def _columns(schema: Schema, named: str) -> set[str]:
    return {each.column for each in getattr(schema, named)}


def _looser(before: Schema, after: Schema) -> Iterator[str]:
    if after.k < before.k:
        yield f"k is {after.k}, and was {before.k}. {_LOOSER}"
    known = {each.column: each for each in after.sensitive}
    for one in before.sensitive:
        if one.column in known:
            yield from _looser_column(one, known[one.column])
    joints = {each.name: each.t for each in after.joint}
    for joint in before.joint:
        if joints.get(joint.name, joint.t) > joint.t:
            yield f"t of '{joint.name}' is larger than before. {_LOOSER}"


_LOOSER = "A looser promise would break that of the releases before: raise it again, or make it stricter."


def _looser_column(before: Sensitive, after: Sensitive) -> Iterator[str]:
    where = f"[sensitive.{before.column}]"
    for key in SAME_OF_SENSITIVE:
        if getattr(before, key) != getattr(after, key):
            yield f"{where}: '{key}' is not what it was. Distances are measured by it, so leave it as it was."
    if _tree(before.hierarchy) != _tree(after.hierarchy):
        yield f"{where}: its hierarchy is not what it was. Distances are measured by it, so leave it as it was."
    for key in ("t", "rise", "beta"):
        old, new = getattr(before, key), getattr(after, key)
        if old is not None and (new is None or new > old):
            yield f"{where}: {key} is {'not asked any more' if new is None else 'larger than before'}. {_LOOSER}"
    for key in ("enhanced", "levels"):
        if getattr(before, key) and not getattr(after, key):
            yield f"{where}: '{key}' is not asked any more. {_LOOSER}"
    yield from (f"{where}: l.{kind} asks less than before. {_LOOSER}" for kind in _less_diverse(before.l, after.l))


def _less_diverse(before: Diversity | None, after: Diversity | None) -> Iterator[str]:
    asked = dict(after.items()) if after is not None else {}
    for kind, old in before.items() if before is not None else ():
        new = asked.get(kind)
        if kind == "recursive":
            if new is None or new[0] > old[0] or new[1] < old[1]:
                yield kind
        elif new is None or new < old:
            yield kind


def _tree(hierarchy: Hierarchy | None) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    """The tree without the name of its root, which distances do not depend on."""
    return None if hierarchy is None else (hierarchy.labels[1:], tuple(hierarchy.parents.tolist()))
