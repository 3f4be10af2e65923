"""Certificates: what may be published about a release, and whether one fits the file it lies beside."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tclose.errors import SchemaError
from tclose.schema.guarding import read_small
from tclose.schema.schema import Schema
from tclose.table.source import file_digest
from tclose.verification.measure_release import Measured, exact_and_float

JOINT_DISTANCE = "between two combinations of values, the mean of the distances of the columns"
LIMITS = (
    "t-closeness limits what a class tells about a sensitive attribute beyond what the whole table tells. It does "
    "not hide the distribution of the whole table, nor that someone is in it; it does not stop learning from the "
    "release as a whole, nor from several releases of the same people put together."
)


@dataclass(frozen=True)
class Certificate:
    """What may be published about a release: it follows from the file, the schema and the method alone."""

    fields: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return json.loads(json.dumps(self.fields))  # type: ignore[no-any-return]

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]


def certificate_path(path: Path) -> Path:
    """Where the certificate of a release lies."""
    return path.with_name(path.name + ".certificate.json")


def promise(schema: Schema) -> dict[str, Any]:
    """What a certificate says of a schema: `required` of every class, and of its `columns`."""
    asked: dict[str, Any] = {"k": schema.k, "t": {}, "l": {}}
    columns: dict[str, Any] = {}
    for quasi in schema.quasi:
        told = {key: getattr(quasi, key) for key in ("step", "bottom", "top") if getattr(quasi, key) is not None}
        told = {key: value if isinstance(value, str | int) else str(value) for key, value in told.items()}
        told |= {"publish": quasi.publish} if quasi.kind in ("numeric", "date") else {}
        columns[quasi.column] = {"role": "quasi", "kind": quasi.kind, **told}
    for sensitive in schema.sensitive:
        entry: dict[str, Any] = {"role": "sensitive", "distance": sensitive.distance}
        if sensitive.bins or sensitive.edges:
            entry["guarantee"] = "on the bins, not on the values inside one"
            entry |= (
                {"bins": sensitive.bins} if sensitive.bins else {"edges": [float(e) for e in sensitive.edges or ()]}
            )
        columns[sensitive.column] = entry
        if sensitive.t is not None:
            asked["t"][sensitive.column] = exact_and_float(sensitive.t)
        if sensitive.l is not None:
            asked["l"][sensitive.column] = {
                name: {"c": str(value[0]), "l": value[1]} if name == "recursive" else str(value)
                for name, value in sensitive.l.items()
            }
    asked["t"] |= {joint.name: exact_and_float(joint.t) for joint in schema.joint}
    columns |= {name: {"role": "keep"} for name in schema.keep}
    return {"required": asked, "columns": columns}


def certify(
    schema: Schema,
    measured: Measured,
    loss: float | None,
    method: str,
    parameters: dict[str, Any],
    facts: dict[str, Any],
    hidden: int | None = None,
) -> Certificate:
    """The certificate of a verified release; `hidden` cells are told of one that suppresses."""
    promised = promise(schema)
    reached = measured.as_dict()
    if any(quasi.publish == "mean" for quasi in schema.quasi):  # losses then depend on ends that are not released
        loss, facts = None, {name: fact for name, fact in facts.items() if "loss" not in name}
    fields: dict[str, Any] = {
        "certificate": 1,
        "rows": reached.pop("rows"),
        "classes": reached.pop("classes"),
        "required": promised["required"],
        "reached": reached,
        "loss": loss,
        "recode": schema.recode,
        "missing": schema.missing,
        "method": {"name": method, "parameters": parameters, **facts},
        "columns": promised["columns"],
        "unit": "one row a unit, checked" if schema.unit else "one row is taken to be one person",
        "limits": LIMITS,
        "versions": {name: version(name) for name in ("tclose", "numpy", "numba", "polars")},
    }
    if hidden is not None:
        fields["suppressed_cells"] = hidden
    if schema.joint:
        joints = {joint.name: {"columns": list(joint.columns), "distance": JOINT_DISTANCE} for joint in schema.joint}
        fields["joint"] = joints
    fields["versions"]["python"] = platform.python_version()
    if schema.keep:
        fields["keep"] = (
            "not checked: with these columns groups may be smaller than k"
            if schema.keep_unchecked
            else "checked: with these columns every group has at least k rows"
        )
        fields["keep"] += "; t and l hold for classes, not for groups that also agree on these columns"
    return Certificate(fields)


def fit_certificate(
    measured: Measured | None, given: Certificate | Mapping[str, Any] | Path | str | None, path: Path | None
) -> tuple[bool | None, list[str]]:
    """Whether a certificate fits what was measured, and what is wrong with it.

    Parameters
    ----------
    measured
        What the released table reaches; None if that was not measured.
    given
        The certificate or its path; if None, the one beside the file.
    path
        The released file, if it is one.

    Returns
    -------
    :
        None if there is no certificate; and a sentence for each thing that is wrong.
    """
    if given is None:
        if path is None or not certificate_path(path).is_file():
            return None, []
        given = certificate_path(path)
    name = f"'{Path(given).name}'" if isinstance(given, str | Path) else "What was given"
    try:
        fields = _read_fields(given)
        told = {key: fields[key] for key in ("rows", "classes", "reached")}
        promised = fields["required"]["k"], {at: Fraction(t["exact"]) for at, t in fields["required"]["t"].items()}
        for entry in told["reached"]["l"].values():
            entry["entropy"] = round(entry["entropy"], 9)  # logarithms may differ in the last bit between machines
    except (SchemaError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return False, [f"{name} is not a certificate."]
    if measured is None:
        return False, []
    reached = json.loads(json.dumps(measured.as_dict()))
    for entry in reached["l"].values():
        entry["entropy"] = round(entry["entropy"], 9)
    rows, classes = reached.pop("rows"), reached.pop("classes")
    digest = path is None or fields.get("sha256") == file_digest(path)
    if not digest or told != {"rows": rows, "classes": classes, "reached": reached}:
        return False, [f"{name} is not the certificate of this table, or the table was changed."]
    if measured.k < promised[0] or any(measured.t[at] > t for at, t in promised[1].items()):
        return False, [f"{name} promises more than the table keeps."]
    return True, []


def _read_fields(given: Certificate | Mapping[str, Any] | Path | str) -> dict[str, Any]:
    if isinstance(given, Certificate):
        return given.as_dict()
    if isinstance(given, Mapping):
        return json.loads(json.dumps(dict(given)))  # type: ignore[no-any-return]
    return json.loads(read_small(Path(given), "Certificate"))  # type: ignore[no-any-return]
