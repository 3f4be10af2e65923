"""Certificates: what may be published about a release, and whether one fits the file it lies beside."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tclose.errors import VerificationError
from tclose.schema.schema import Schema
from tclose.table.source import file_digest
from tclose.verification.verify import Measured, fraction

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
            asked["t"][sensitive.column] = fraction(sensitive.t)
        if sensitive.l is not None:
            asked["l"][sensitive.column] = {
                name: {"c": str(value[0]), "l": value[1]} if name == "recursive" else str(value)
                for name, value in sensitive.l.items()
            }
    asked["t"] |= {joint.name: fraction(joint.t) for joint in schema.joint}
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


def check_certificate(path: Path, measured: Measured) -> bool:
    """Whether a certificate lies beside a release; raises if it is of another file."""
    beside = certificate_path(path)
    if not beside.is_file():
        return False
    reached = json.loads(json.dumps(measured.as_dict()))
    try:
        fields = json.loads(beside.read_text(encoding="utf-8"))
        told = (fields["sha256"], fields["rows"], fields["classes"], fields["reached"])
        promised = fields["required"]["k"], {name: Fraction(t["exact"]) for name, t in fields["required"]["t"].items()}
        for entry in (*fields["reached"]["l"].values(), *reached["l"].values()):
            entry["entropy"] = round(entry["entropy"], 9)  # logarithms may differ in the last bit between machines
    except (ValueError, KeyError, TypeError, AttributeError):
        raise VerificationError(f"'{beside.name}' is not a certificate.") from None
    if told != (file_digest(path), reached.pop("rows"), reached.pop("classes"), reached):
        raise VerificationError(f"'{beside.name}' is not the certificate of this file, or the file was changed.")
    if measured.k < promised[0] or any(measured.t[name] > t for name, t in promised[1].items()):
        raise VerificationError(f"'{beside.name}' promises more than the file keeps.")
    return True
