"""Certificates: what may be published about a release."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tclose.errors import SchemaError
from tclose.schema.guarding import read_small
from tclose.schema.schema import Schema
from tclose.verification.measure_release import Measured, exact_and_float
from tclose.verification.published_loss import PublishedLoss

VERSION = 2
FOLDER_CERTIFICATE = "_certificate.json"  # readers of folders of Parquet pass by what begins so
KEPT_ORDER, NO_ORDER = "as in the input", "random"  # what a certificate says under `order`
CLASSES_ALONE = "t and l hold for classes, not for groups that also agree on these columns"

COUNTED = "k, rise and beta in persons, which the release does not show; t and l in rows"
JOINT_DISTANCE = "between two combinations of values, the mean of the distances of the columns"
LIMITS = (
    "t-closeness limits what a class tells about a sensitive attribute beyond what the whole table tells. It does "
    "not hide the distribution of the whole table, nor that someone is in it; it does not stop learning from the "
    "release as a whole, nor from several releases of the same people put together."
)


@dataclass(frozen=True)
class Certificate:
    """What may be published about a release: it follows from the file, the schema and the method alone.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63], "illness": ["flu", "cold"] * 3})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method="mondrian", seed=1)
    >>> release.certificate["required"]["k"], release.certificate["reached"]["k"]
    (3, 3)
    >>> release.certificate["reached"]["t"]["illness"]["exact"]
    '1/6'
    """

    fields: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return json.loads(json.dumps(self.fields))  # type: ignore[no-any-return]

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]


def certificate_path(path: Path) -> Path:
    """Where the certificate of a release lies: beside a file, in a folder."""
    if path.is_dir():
        return path / FOLDER_CERTIFICATE
    return path.with_name(path.name + ".certificate.json")


def claimed_fields(
    certificate: Certificate | Mapping[str, Any] | Path | str | None, path: Path | None
) -> Mapping[str, Any]:
    """What a certificate says, or that beside a file if none is given; nothing if it cannot be read."""
    if certificate is None:
        certificate = certificate_path(path) if path is not None and certificate_path(path).is_file() else {}
    try:
        if isinstance(certificate, str | Path):
            certificate = json.loads(read_small(Path(certificate), "Certificate"))
    except (SchemaError, ValueError, RecursionError):  # whoever compares the certificate says what is wrong with it
        return {}
    fields = certificate.fields if isinstance(certificate, Certificate) else certificate
    return fields if isinstance(fields, Mapping) else {}


def said_order(certificate: Certificate | Mapping[str, Any] | Path | str | None, path: Path | None) -> bool | None:
    """Whether a certificate says that rows stand as in the input; None if it says nothing of it."""
    said = claimed_fields(certificate, path).get("order")
    return said == KEPT_ORDER if said in (KEPT_ORDER, NO_ORDER) else None


def promise(schema: Schema) -> dict[str, Any]:
    """What a certificate says of a schema: `required` of every class, and of its `columns`."""
    asked: dict[str, Any] = {"k": schema.k, "t": {}, "l": {}}
    columns: dict[str, Any] = {}
    for quasi in schema.quasi:
        keys = ("step", "bottom", "top", "coarsest", "finest")
        told = {key: getattr(quasi, key) for key in keys if getattr(quasi, key) is not None}
        told |= {"weight": str(quasi.weight)} if quasi.weight != 1 else {}
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
        entry |= {"levels": "rise and beta hold for inner nodes of its hierarchy too"} if sensitive.levels else {}
        columns[sensitive.column] = entry
        if sensitive.rise is not None:
            asked.setdefault("rise", {})[sensitive.column] = exact_and_float(sensitive.rise)
        if sensitive.beta is not None:
            enhanced = {"enhanced": True} if sensitive.enhanced else {}
            asked.setdefault("beta", {})[sensitive.column] = exact_and_float(sensitive.beta) | enhanced
        if sensitive.t is not None:
            asked["t"][sensitive.column] = exact_and_float(sensitive.t)
        if sensitive.l is not None:
            asked["l"][sensitive.column] = {
                name: {"c": str(value[0]), "l": value[1]} if name == "recursive" else str(value)
                for name, value in sensitive.l.items()
            }
    if schema.counts_persons:
        asked["counted"] = COUNTED
    if schema.suppress_rows:
        asked["suppress_rows"] = exact_and_float(schema.suppress_rows)
    asked["t"] |= {joint.name: exact_and_float(joint.t) for joint in schema.joint}
    columns |= {name: {"role": "keep"} for name in schema.keep}
    return {"required": asked, "columns": columns}


def certify(
    schema: Schema, measured: Measured, loss: PublishedLoss, method: str, parameters: dict[str, Any]
) -> Certificate:
    """The certificate of a verified release; its numbers are all measured on the released values."""
    promised = promise(schema)
    reached = measured.as_dict()
    fields: dict[str, Any] = {
        "certificate": VERSION,
        "rows": reached.pop("rows"),
        "classes": reached.pop("classes"),
        "required": promised["required"],
        "reached": reached,
        "loss": loss.as_dict(),
        "recode": schema.recode,
        "missing": schema.missing,
        "method": {"name": method, "parameters": parameters},
        "columns": promised["columns"],
        "unit": unit_words(schema),
        "limits": LIMITS,
        "versions": dict(_versions()),
    }
    if schema.recode == "suppress":
        fields["suppressed_cells"] = loss.stars
    if schema.joint:
        joints = {joint.name: {"columns": list(joint.columns), "distance": JOINT_DISTANCE} for joint in schema.joint}
        fields["joint"] = joints
    if schema.keep:
        told = {"keep": f"{kept_words(schema, measured)}; {CLASSES_ALONE}"}
        fields = told | fields if schema.keep_unchecked else fields | told  # what nobody checked comes first
    return Certificate(fields)


def unit_words(schema: Schema) -> str:
    """What a certificate says of persons, from the schema alone.

    Examples
    --------
    >>> unit_words(Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}}))
    'one row is taken to be one person'
    """
    if schema.unit is None:
        return "one row is taken to be one person"
    if schema.counts_persons:
        return "a unit may have several rows; what is asked in persons was checked, and what is reached counts rows"
    if schema.unit_rows == "one":
        how = f"the {schema.unit_pick} in an order" if schema.unit_order is not None else "one at random"
        return f"one row a unit, checked; of several rows of a unit {how} was picked"
    return "one row a unit, checked"


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """What made the release; looked up once, for that reads files."""
    packages = ((name, version(name)) for name in ("tclose", "numpy", "numba", "polars"))
    return (*packages, ("python", platform.python_version()))


def keep_warning(schema: Schema, measured: Measured | None = None) -> str | None:
    """What is to be said first where kept columns were not checked, in numbers if they are known; else None.

    Examples
    --------
    >>> keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "keep": ["town"], "keep_unchecked": True}
    >>> keep_warning(Schema.from_dict(keys))
    'kept columns not checked: with these columns groups may be smaller than k'
    """
    if not (schema.keep and schema.keep_unchecked):
        return None
    unmeasured = "not checked: with these columns groups may be smaller than k"
    return f"kept columns {unmeasured if measured is None else kept_words(schema, measured)}"


def warned(warning: str | None, told: dict[str, Any]) -> dict[str, Any]:
    """What is told as JSON, a warning before all else."""
    return told if warning is None else {"warning": warning, **told}


def kept_words(schema: Schema, measured: Measured) -> str:
    """What kept columns do to k; under `keep_unchecked`, in numbers.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.table.source import Source
    >>> from tclose.verification.measure_release import measure
    >>> keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "keep": ["town"], "keep_unchecked": True}
    >>> table = pl.DataFrame({"age": ["[20, 30]"] * 4, "town": ["a", "a", "b", "c"]})
    >>> kept_words(Schema.from_dict(keys), measure(Source.of(table), Schema.from_dict(keys)))
    'not checked: with these columns the smallest group has 1 row, and 2 of 4 rows are alone'
    """
    if not schema.keep_unchecked:
        return "checked: with these columns every group has at least k rows"
    groups = measured.kept_groups
    return (
        f"not checked: with these columns the smallest group has {groups.smallest} "
        f"row{'' if groups.smallest == 1 else 's'}, and {groups.n_alone:,} of {measured.rows:,} rows are alone"
    )
