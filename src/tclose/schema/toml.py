"""The TOML form of a schema: parsing that names everything wrong at once, and writing back."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from tclose.errors import SchemaError
from tclose.schema.builders import Builder, builder_as_dict, builder_from_dict, plain
from tclose.schema.columns import Diversity, Joint, Quasi, Sensitive
from tclose.schema.cost_matrix import CostMatrix
from tclose.schema.decimals import BOUNDED, is_bounded
from tclose.schema.guarding import guarded, read_small
from tclose.schema.hierarchy import Hierarchy

Column = TypeVar("Column", Quasi, Sensitive, Joint)
Found = TypeVar("Found")
LARGEST_EXPONENT = 30
MOST_NAMED = 20
LONG_KEY = re.compile(r"""(?<![\w-])(?>(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")
LISTS = ("missing_values", "identifiers", "keep")
STAND_INS: dict[str, dict[str, Any]] = {"quasi": {"kind": "categorical"}, "sensitive": {"distance": "equal"}}
UNIT_KEYS = ("unit", "unit_rows", "unit_pick", "unit_order")
TEXTS = ("recode", "missing", *UNIT_KEYS, "objective", "target", "delimiter", "encoding", "decimal", "thousands")
SWITCHES = ("keep_unchecked", "header")


def read_toml(path: Path) -> dict[str, Any]:
    """The keys of a TOML file, decimals as written."""
    return keys_of_text(read_small(path, "Schema", pipes=True), path)


def keys_of_text(text: str, path: Path) -> dict[str, Any]:
    """The keys of a schema's text, decimals as written; messages call it by its path.

    Examples
    --------
    >>> keys_of_text("k = 5", Path("people.toml"))
    {'k': 5}
    """
    if long := LONG_KEY.search(text):  # which takes the parser time that grows with the square of its parts
        line = text.count("\n", 0, long.start()) + 1
        raise SchemaError(f"Schema '{path}' is nested too deeply: line {line} has a key of more than 64 parts.")
    return guarded(f"Schema '{path}' is not valid TOML", lambda: _parsed(text, path), SchemaError)


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
    except RecursionError:
        raise SchemaError(f"Schema '{path}' is nested too deeply.") from None
    # Up to where it begins to quote the text, and where that stands.
    reason = re.split("['\"(]", said, maxsplit=1)[0].strip()
    place = re.search(r"\((at [a-z0-9 ,]+)\)$", said)
    raise SchemaError(f"Schema '{path}' is not valid TOML: {reason}{f' ({place[1]})' if place else ''}.")


def parse(keys: Mapping[str, Any], base: Path, known: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The arguments of a schema, whose `known` keys are given, and all that is wrong with them."""
    allowed = [*known, "undecided"]
    problems = [f"unknown key '{key}'. Allowed: {', '.join(allowed)}." for key in keys if key not in allowed]
    undecided = keys.get("undecided") or {}
    if not isinstance(undecided, Mapping):
        problems.append("undecided must be tables, one a column.")
    elif undecided:
        names = ", ".join(f"'{name}'" for name in list(undecided)[:MOST_NAMED])
        names += f" and {len(undecided) - MOST_NAMED} more" if len(undecided) > MOST_NAMED else ""
        problems.append(
            f"undecided: {names}. Move each to [quasi.NAME] or [sensitive.NAME], or name it in identifiers or keep."
        )
    if "k" not in keys:
        problems.append("k is required: the least number of rows in a class.")
    problems += [f"{key} must be a list of texts." for key in LISTS if not _is_texts(keys.get(key, []))]
    problems += [f"{key} must be a text." for key in TEXTS if not isinstance(keys.get(key, ""), str)]
    problems += [f"{key} must be true or false." for key in SWITCHES if not isinstance(keys.get(key, False), bool)]
    quasi = _columns(keys, "quasi", lambda name, table: _quasi(name, table, base), problems)
    sensitive = _columns(keys, "sensitive", lambda name, table: _sensitive(name, table, base), problems)
    joint = _columns(keys, "joint", _joint, problems)
    rest = {key: keys[key] for key in (*TEXTS, *SWITCHES) if isinstance(keys.get(key), str | bool)}
    rest |= {key: tuple(keys[key]) for key in LISTS if _is_texts(keys.get(key))}
    rest |= {"workload": _workload(keys["workload"], base, problems)} if keys.get("workload") is not None else {}
    rest |= {"roles": _roles(keys["roles"], problems)} if "roles" in keys else {}
    if "suppress_rows" in keys:
        try:
            rest["suppress_rows"] = exact(keys["suppress_rows"], "", "suppress_rows")
        except SchemaError as error:
            problems.append(str(error))
    return {"k": keys.get("k", 1), "quasi": quasi, "sensitive": sensitive, "joint": joint, **rest}, problems


def _workload(given: object, base: Path, problems: list[str]) -> str | None:
    """Where the file lies: it is read when a table is to be anonymized, for nobody else needs it."""
    if isinstance(given, str) and given:
        return os.path.abspath(base / given)
    problems.append("workload must be the name of a file.")
    return None


def _roles(given: object, problems: list[str]) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, Mapping) or not _is_texts([*given.keys(), *given.values()]):
        problems.append('roles must be a table from names or patterns to roles: { "lab_*" = "sensitive" }.')
        return ()
    return tuple((str(name), str(role)) for name, role in given.items())


def exact(given: object, where: str, key: str) -> Fraction:
    """A fraction from a number's decimal text, or from a text such as "1/3"."""
    try:
        if isinstance(given, bool) or not isinstance(given, int | float | Decimal | Fraction | str):
            raise ValueError
        if "e" in str(given).lower() and abs(Decimal(str(given)).adjusted()) > LARGEST_EXPONENT:
            raise ValueError
        return Fraction(given) if isinstance(given, Fraction) else Fraction(str(given))
    except (ArithmeticError, ValueError):
        place = f"{where}: " if where else ""
        raise SchemaError(f'{place}{key} must be a number such as 0.2, or a fraction such as "1/3".') from None


def _columns(
    keys: Mapping[str, Any], role: str, build: Callable[[str, Mapping[str, Any]], Column], problems: list[str]
) -> tuple[Column, ...]:
    tables = keys.get(role, {})
    if not isinstance(tables, Mapping):
        problems.append(f"{role} must be tables, each with a name: [{role}.NAME].")
        return ()
    columns = []
    for name, table in tables.items():
        try:
            if not isinstance(table, Mapping):
                raise SchemaError(f"[{role}.{name}] must be a table of keys.")
            columns.append(build(name, table))
        except SchemaError as error:
            problems.append(str(error))
            if role in STAND_INS:  # its role can still be checked
                columns.append(build(name, STAND_INS[role]))
    return tuple(columns)


def _quasi(name: str, table: Mapping[str, Any], base: Path) -> Quasi:
    where = f"[quasi.{name}]"
    given = _known(table, Quasi, where)
    if "kind" not in given:
        raise SchemaError(f"{where}: kind is required: numeric, categorical, date, text or digits.")
    if "hierarchy" in given:
        given["hierarchy"] = _located(where, lambda: _hierarchy(table["hierarchy"], base, where))
    if "range" in given:
        given["range"] = _pair(given["range"], where)
    if given["kind"] == "date":
        for key in ("bottom", "top"):
            given |= {key: _date(given[key], where)} if key in given else {}
        if "range" in given:
            given["range"] = tuple(_date(limit, where) for limit in given["range"])
    given |= {"weight": exact(given["weight"], where, "weight")} if "weight" in given else {}
    return Quasi(name, **given)


def _sensitive(name: str, table: Mapping[str, Any], base: Path) -> Sensitive:
    where = f"[sensitive.{name}]"
    given = _known(table, Sensitive, where)
    if "distance" not in given:
        raise SchemaError(f"{where}: distance is required: equal, ordered, numeric, hierarchical or matrix.")
    given |= {key: exact(given[key], where, key) for key in ("t", "rise", "beta") if key in given}
    for key in ("enhanced", "levels"):
        if not isinstance(given.get(key, False), bool):
            raise SchemaError(f"{where}: {key} must be true or false.")
    if "l" in given:
        given["l"] = _diversity(given["l"], where)
    if "hierarchy" in given:
        given["hierarchy"] = _located(where, lambda: _hierarchy(table["hierarchy"], base, where))
        if not isinstance(given["hierarchy"], Hierarchy):
            raise SchemaError(f"{where}: a sensitive attribute needs its hierarchy as a file or nested tables.")
    if "matrix" in given:
        given["matrix"] = _located(where, lambda: _matrix(table["matrix"], base, where))
    if "order" in given:
        if not isinstance(given["order"], list | tuple):
            raise SchemaError(f"{where}: 'order' must be a list, from lowest to highest.")
        given["order"] = tuple(_label(value, where) for value in given["order"])
    if "edges" in given:
        given["edges"] = tuple(given["edges"]) if isinstance(given["edges"], list | tuple) else ("",)
    if "range" in given:
        given["range"] = _pair(given["range"], where)
    return Sensitive(name, **given)


def _joint(name: str, table: Mapping[str, Any]) -> Joint:
    where = f"[joint.{name}]"
    given = _known(table, Joint, where)
    if not _is_texts(given.get("columns")):
        raise SchemaError(f"{where}: columns is required: a list of sensitive attributes.")
    if "t" not in given:
        raise SchemaError(f"{where}: t is required: how far the combinations in a class may be from the whole table.")
    return Joint(name, tuple(given["columns"]), exact(given["t"], where, "t"))


def _known(table: Mapping[str, Any], column: type[Column], where: str) -> dict[str, Any]:
    allowed = [field.name for field in fields(column)][1:]
    for key in table:
        if key not in allowed:
            raise SchemaError(f"{where}: unknown key '{key}'. Allowed: {', '.join(allowed)}.")
    return dict(table)


def _located(where: str, action: Callable[[], Found]) -> Found:
    """Say of which column an error is."""
    try:
        return action()
    except SchemaError as error:
        raise SchemaError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None
    except RecursionError:
        raise SchemaError(f"{where}: it is nested too deeply.") from None


def _hierarchy(given: object, base: Path, where: str) -> Hierarchy | Builder:
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, str):
        return Hierarchy.read(base / given, os.path.abspath(base / given))
    if isinstance(given, Mapping) and isinstance(given.get("build"), str):
        return builder_from_dict(given, where)
    if isinstance(given, Mapping) and given:
        return Hierarchy.from_nested(given, name=f"{where} hierarchy")
    raise SchemaError(f"{where}: hierarchy must be a file name, nested tables, or a table with 'build'.")


def _matrix(given: object, base: Path, where: str) -> CostMatrix:
    if isinstance(given, CostMatrix):
        return given
    if isinstance(given, str):
        return CostMatrix.read(base / given, os.path.abspath(base / given))
    if isinstance(given, Mapping) and set(given) == {"values", "costs"} and _is_texts(given["values"]):
        return CostMatrix.of(given["costs"], given["values"])
    raise SchemaError(f"{where}: matrix must be a file name, or a table with 'values' and 'costs'.")


def _diversity(given: object, where: str) -> Diversity:
    if isinstance(given, int) and not isinstance(given, bool):
        given = {"distinct": given}
    if not isinstance(given, Mapping) or not given or set(given) - {f.name for f in fields(Diversity)}:
        raise SchemaError(f"{where}: l must be a whole number, or a table of distinct, entropy, frequency, recursive.")
    asked: dict[str, Any] = {}
    if "distinct" in given:
        asked["distinct"] = _whole(given["distinct"], where, "l.distinct")
    for name in ("entropy", "frequency"):
        if name in given:
            asked[name] = exact(given[name], where, f"l.{name}")
            if asked[name] < 1:
                raise SchemaError(f"{where}: l.{name} must be at least 1.")
    if "recursive" in given:
        table = given["recursive"]
        if not isinstance(table, Mapping) or set(table) != {"c", "l"}:
            raise SchemaError(f"{where}: l.recursive needs exactly c and l.")
        asked["recursive"] = (exact(table["c"], where, "l.recursive.c"), _whole(table["l"], where, "l.recursive.l"))
        if asked["recursive"][0] <= 0:
            raise SchemaError(f"{where}: l.recursive.c must be above 0.")
    return Diversity(**asked)


def _whole(given: object, where: str, key: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise SchemaError(f"{where}: {key} must be a whole number from 1 up.")
    return given


def _pair(given: object, where: str) -> tuple[Any, Any]:
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise SchemaError(f"{where}: 'range' must be two values, lowest and highest.")
    return given[0], given[1]


def _date(given: object, where: str) -> date:
    try:
        return date.fromisoformat(given) if isinstance(given, str) else date(given.year, given.month, given.day)  # type: ignore[attr-defined]
    except (ValueError, AttributeError):
        raise SchemaError(f"{where}: 'bottom', 'top' and 'range' of a date must be dates: 2021-03-31.") from None


def _label(given: object, where: str) -> str:
    """A value of `order` as the text a column of its type has."""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, int | float | Decimal):
        if not is_bounded(given):
            raise SchemaError(f"{where}: numbers in 'order' must be {BOUNDED}.")
        return plain(Decimal(str(given)))
    return str(given)


def _is_texts(given: object) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(item, str) for item in given)


def column_as_dict(column: Quasi | Sensitive | Joint, base: Path) -> dict[str, Any]:
    """The keys of a column, without those at their default."""
    keys = {}
    for field in fields(column)[1:]:
        given = getattr(column, field.name)
        if given is not None and given != field.default:
            keys[field.name] = _plain(given, base)
    return keys


def _plain(given: Any, base: Path) -> Any:
    if isinstance(given, Fraction):
        return as_number(given)
    if isinstance(given, Diversity):
        return {
            name: {"c": as_number(asked[0]), "l": asked[1]} if name == "recursive" else _plain(asked, base)
            for name, asked in given.items()
        }
    if isinstance(given, Hierarchy | CostMatrix) and given.source:
        return relative_path(given.source, base)
    if isinstance(given, Hierarchy):
        return given.nested()
    if isinstance(given, CostMatrix):
        return {"values": list(given.values), "costs": [[as_number(cost) for cost in row] for row in given.costs]}
    if isinstance(given, Builder):
        return builder_as_dict(given)
    return list(given) if isinstance(given, tuple) else given


def relative_path(path: str, base: Path) -> str:
    """A path as a schema in `base` has it."""
    return Path(os.path.relpath(path, base)).as_posix()


def as_number(given: Fraction) -> Decimal | int | str:
    """As short a TOML value as says exactly this fraction."""
    if given.denominator == 1:
        return given.numerator
    rest = given.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    short = Decimal(given.numerator) / Decimal(given.denominator)
    return short if rest == 1 and Fraction(short) == given else str(given)
