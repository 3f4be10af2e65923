"""Release: the generalized table with its certificate. The only way out."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import platform
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError, VerificationError
from tclose.pages.card import release_card
from tclose.release.atomic import open_to_others, put, put_both, temporary_beside
from tclose.schema.schema import Schema
from tclose.table.coded import as_enum, as_text
from tclose.table.source import HashSink, Source, file_digest, guarded, read, suffix_of
from tclose.verification.verify import Measured, fraction, verify

ROW_GROUP = 1 << 18
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


@dataclass(frozen=True)
class Record:
    """For the one who releases: never to be published.

    Attributes
    ----------
    seed
        What the method's random choices came from.
    input_sha256
        The digest of the input.
    input_rows, dropped_rows
        Rows read, and rows left out for missing values.
    seconds
        Time by stage.
    notes
        What else the method found.
    """

    seed: int
    input_sha256: str
    input_rows: int
    dropped_rows: int
    method: str
    seconds: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it; the notes stand beside the rest."""
        told = {name: value for name, value in vars(self).items() if name != "notes"}
        seconds = {stage: round(spent, 6) for stage, spent in self.seconds.items()}
        return {**told, "seconds": seconds, **self.notes}

    def write(self, path: Path | str) -> None:
        """Write it as JSON that only its owner can read."""
        path = Path(path)
        with temporary_beside(path) as temporary:
            temporary.write_text(json.dumps(self.as_dict(), indent=2) + "\n", encoding="utf-8")
            put(temporary, path)


@dataclass(frozen=True, eq=False)
class Release:
    """A verified release.

    Attributes
    ----------
    schema
        The schema it was made by.
    certificate
        What is promised and was reached; publishable.
    record
        Seed, digest and timings; not publishable.
    loss
        The general loss metric of 004 section 3.2.
    measured
        What the verifier found.
    """

    schema: Schema
    certificate: Certificate
    record: Record = field(repr=False)
    loss: float
    measured: Measured = field(repr=False)
    _frame: pl.DataFrame = field(repr=False)
    _rows: NDArray[np.int64] = field(repr=False)
    _restore: Callable[[pl.DataFrame], Any] = field(repr=False)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The class of each input row, -1 where it was dropped."""
        classes = np.full(self.record.input_rows, -1, np.int64)
        classes[self._rows] = self.measured.grouped.labels
        return classes

    @cached_property
    def _shuffled(self) -> pl.DataFrame:
        # The order comes from the operating system, never from the seed: who knows the seed
        # must not be able to undo it.
        rows = np.arange(len(self._frame), dtype=np.uint32)  # as polars counts rows
        return self._frame[np.random.default_rng(secrets.randbits(128)).permutation(rows)]

    @cached_property
    def table(self) -> Any:
        """The released rows in random order, in the library the input came in."""
        return self._restore(as_text(self._shuffled))

    def _repr_html_(self) -> str:
        return release_card(self.certificate.fields).inline()

    def aligned(self) -> Any:
        """The released rows in the order of the input, dropped rows left out."""
        return self._restore(as_text(self._frame))

    def write(self, path: Path | str, *, keep_order: bool = False, record: Path | str | None = None) -> Certificate:
        """Write the release and, beside it, its certificate; read both back and verify.

        There is a complete, verified file of this name afterwards, or what was there before.

        Parameters
        ----------
        path
            CSV, gzipped CSV or Parquet, by its suffix.
        keep_order
            Keep the order of the input, which may itself tell who is who.
        record
            Where to write the record, if anywhere.

        Returns
        -------
        :
            The certificate with the digest of the file.
        """
        path = Path(path)
        suffix = suffix_of(path)
        _check_targets(path, record)
        started = time.perf_counter()
        frame = self._frame if keep_order else self._shuffled
        with temporary_beside(path, suffix) as temporary, temporary_beside(certificate_path(path)) as beside:
            guarded(
                f"The release cannot be written as {suffix}",
                lambda: _write_frame(frame, temporary, suffix, self.schema),
            )
            self.record.seconds["write"] = time.perf_counter() - started
            started = time.perf_counter()
            self._check_written(frame, temporary, suffix)
            self.record.seconds["verify"] = self.record.seconds.get("verify", 0.0) + time.perf_counter() - started
            order = "as in the input" if keep_order else "random"
            fields = {**self.certificate.fields, "order": order, "file": path.name, "sha256": file_digest(temporary)}
            beside.write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            for file in (temporary, beside):
                open_to_others(file)
            put_both(temporary, path, beside, certificate_path(path))
        if record is not None:
            self.record.write(record)
        return Certificate(fields)

    def _check_written(self, frame: pl.DataFrame, path: Path, suffix: str) -> None:
        """The file holds exactly what was to be released, and keeps its promise by itself."""
        problem = "The written file does not hold what was to be released; nothing is left of it"
        try:
            source = read(path, self.schema.delimiter)
            written = pl.DataFrame(source.each(source.names, as_enum))
            found = verify(Source.of(written), self.schema)
        except TableError:
            raise VerificationError(f"{problem}.") from None
        if suffix == ".parquet":
            same = written.schema == frame.schema and written.equals(frame)
        else:
            expected = HashSink()
            _in_pieces(frame).sink_csv(cast(Any, expected), **_csv_options(frame, self.schema))
            with gzip.open(path) if suffix == ".csv.gz" else path.open("rb") as file:
                same = hashlib.file_digest(cast(Any, file), "sha256").hexdigest() == expected.hash.hexdigest()
        if not same or found.as_dict() != self.measured.as_dict():
            raise VerificationError(f"{problem}.")


def _check_targets(path: Path, record: Path | str | None) -> None:
    """Refuse what could not be written, or would overwrite one file by another, before anything is."""
    targets = [path, certificate_path(path), *([Path(record)] if record is not None else [])]
    for target in targets:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file", str(target))
    if len({target.absolute() for target in targets}) < len(targets):
        raise FileExistsError(errno.EEXIST, "The record would overwrite the release or its certificate", str(record))


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


def _csv_options(frame: pl.DataFrame, schema: Schema) -> dict[str, Any]:
    # In a single column an empty value would be an empty line, which many readers skip.
    return {"separator": schema.delimiter, "quote_style": "always" if len(frame.columns) == 1 else "necessary"}


def _in_pieces(frame: pl.DataFrame) -> pl.LazyFrame:
    """The table as it is written: its text is made some rows at a time."""
    return frame.lazy().map_batches(as_text, streamable=True, schema=as_text(frame.head(0)).schema)


def _write_frame(frame: pl.DataFrame, path: Path, suffix: str, schema: Schema) -> None:
    try:
        if suffix == ".parquet":
            _in_pieces(frame).sink_parquet(path, compression="zstd", compression_level=1, row_group_size=ROW_GROUP)
        else:
            compression: Any = "gzip" if suffix == ".csv.gz" else "uncompressed"
            options = _csv_options(frame, schema)
            _in_pieces(frame).sink_csv(path, compression=compression, check_extension=False, **options)
    except Exception as error:
        # What the system said, such as that the disk is full, stands only in the message.
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        reason = int(number.group(1))
    else:
        return
    raise OSError(reason, os.strerror(reason), str(path))


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
