"""Can this method promise what the schema asks? Settled before any row is read."""

from __future__ import annotations

from tclose.algorithms import DEFAULT, Algorithm, ChecksSchema
from tclose.errors import SchemaError
from tclose.schema.schema import Schema


def check_capable(algorithm: Algorithm, schema: Schema) -> None:
    """Refuse a schema that asks for more than the method guarantees."""
    asked, can = {"k in persons" if schema.counts_persons else "k"}, algorithm.capabilities
    for column in schema.unprotected:
        raise SchemaError(
            f"[sensitive.{column}] asks none of t, l, rise and beta, so nothing would protect it. "
            "Give it one of them, or name the column in `keep`."
        )
    for joint in schema.joint:
        asked.add("t")
        if "joint" not in can.distances:
            raise SchemaError(f"'{algorithm.name}' does not know joints ('{joint.name}'). Use '{DEFAULT}'.")
    for sensitive in schema.sensitive:
        asked |= {"t"} if sensitive.t is not None else set()
        asked |= {"l"} if sensitive.l is not None else set()
        caps = sensitive.caps.items() if sensitive.caps is not None else ()
        asked |= {f"{name} in persons" if schema.counts_persons else name for name, _ in caps}
        if "t" in can.guarantees and sensitive.t is not None and sensitive.distance not in can.distances:
            raise SchemaError(f"'{algorithm.name}' does not know distance {sensitive.distance} ('{sensitive.column}').")
    if asked - can.guarantees:
        lacking = ", ".join(sorted(asked - can.guarantees))
        other = f"Use '{DEFAULT}'" if schema.counts_persons else "Use another method"
        raise SchemaError(f"'{algorithm.name}' does not guarantee {lacking}, which the schema asks. {other}.")
    if len(schema.sensitive) > 1 and not can.several_sensitive:
        raise SchemaError(
            f"'{algorithm.name}' takes one sensitive attribute, and the schema has {len(schema.sensitive)}."
        )
    if schema.recode not in can.recodings:
        raise SchemaError(
            f"'{algorithm.name}' does not take recode = \"{schema.recode}\". Allowed: {', '.join(can.recodings)}."
        )
    _check_kept(algorithm, schema)
    if schema.objective not in can.objectives:
        raise SchemaError(
            f"'{algorithm.name}' does not take objective = \"{schema.objective}\". Use '{DEFAULT}', or leave it out."
        )
    if can.needs_levels and schema.without_levels:
        raise SchemaError(_lacking_hierarchies(algorithm.name, schema.without_levels))
    if isinstance(algorithm, ChecksSchema):
        algorithm.refuse(schema)


def _check_kept(algorithm: Algorithm, schema: Schema) -> None:
    """Refuse weights and limits of columns, and rows left out, that the method does not keep."""
    if schema.suppress_rows and "suppress_rows" not in algorithm.capabilities.keeps:
        raise SchemaError(
            f"'{algorithm.name}' does not leave rows out, and the schema has suppress_rows. Take it out, or use "
            f"'{DEFAULT}'."
        )
    for quasi in schema.quasi:
        asked = {
            "weight": quasi.weight != 1,
            "coarsest": quasi.coarsest is not None,
            "finest": quasi.finest is not None,
        }
        for key, is_asked in asked.items():
            if is_asked and key not in algorithm.capabilities.keeps:
                raise SchemaError(
                    f"'{algorithm.name}' does not keep `{key}`, which [quasi.{quasi.column}] asks. Take it out, or use "
                    f"'{DEFAULT}'."
                )


def _lacking_hierarchies(method: str, columns: tuple[str, ...]) -> str:
    tables = " and ".join(f"[quasi.{column}]" for column in columns)
    if len(columns) == 1:
        what = f"Column '{columns[0]}' is a quasi-identifier without a hierarchy, and '{method}' needs one"
        return f"{what}. Give {tables} a hierarchy, or use '{DEFAULT}'."
    names = " and ".join(f"'{column}'" for column in columns)
    what = f"Columns {names} are quasi-identifiers without a hierarchy, and '{method}' needs one for each"
    return f"{what}. Give {tables} hierarchies, or use '{DEFAULT}'."


def is_capable(algorithm: Algorithm, schema: Schema) -> bool:
    """Whether a method can promise what a schema asks."""
    try:
        check_capable(algorithm, schema)
    except SchemaError:
        return False
    return True
