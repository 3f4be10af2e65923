"""anonymize, assess and verify: the whole way, readable on one screen."""

from __future__ import annotations

import logging
import secrets
import time as clock
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from tclose.algorithms import DEFAULT, Algorithm, find, parameters_of, run_method
from tclose.algorithms.capable import check_capable
from tclose.algorithms.control import Control
from tclose.algorithms.explain import explain_single_class
from tclose.algorithms.requirement import Requirement
from tclose.errors import HighLossWarning, InfeasibleError, SchemaError, TableError, VerificationError
from tclose.release.certificate import Certificate, certify, fit_certificate
from tclose.release.column_types import ColumnTypes
from tclose.release.formulas import says_escaped, undo_source, unescaped_problems
from tclose.release.recode import recode
from tclose.release.record import Record
from tclose.release.release import Release
from tclose.schema.keys import SchemaKeys, takes_keys
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.arguments import check_order, take_in
from tclose.table.encode import EncodedTable, encode_rows
from tclose.table.measuring import measure_classes
from tclose.table.partition import Partition
from tclose.table.row_selection import select_rows
from tclose.table.source import Source, read
from tclose.verification.assessment import Report, assess_source
from tclose.verification.judge_release import KEPT, judge
from tclose.verification.measure_release import Measured
from tclose.verification.verdict import Verdict

LOG = logging.getLogger(__name__)  # says what is done, and never a cell
Listener = Callable[[str, float | None, float | None], None]


@takes_keys
def anonymize(
    df: Any,
    schema: SchemaLike | None = None,
    *,
    method: str | Algorithm = DEFAULT,
    seed: int | None = None,
    time: float | None = None,
    allow_single_class: bool = False,
    show_values: bool = False,
    progress: Listener | None = None,
    start: Partition | None = None,
    control: Control | None = None,
    **keys: Unpack[SchemaKeys],
) -> Release:
    """Turn a table into a verified release.

    Parameters
    ----------
    df
        A dataframe (pandas, polars, pyarrow, or any with an Arrow stream), or a path.
    schema
        What each column is and what is promised: a `Schema`, a dict with its keys, or a path to TOML.
    keys
        The keys of a schema instead: `quasi=[...]`, `sensitive={column: t}`, `k=...` and the rest.
        Kinds that are not given are inferred, and said.
    method
        A name of `tclose.methods()`, or an algorithm object.
    seed
        For the method's random choices; the operating system's entropy if None.
    time
        Seconds after which the method comes back with the best it has.
    allow_single_class
        Accept one class holding the whole table.
    show_values
        Let errors quote the values they are about.
    progress
        Called with a stage, the loss so far and the share done.
    start
        A partition to improve on.
    control
        Another way to stop the method: after `control.end()`, from any thread, it comes back with the best it has.

    Raises
    ------
    SchemaError, TableError, InfeasibleError, VerificationError
        Nothing weaker than the requirement is ever returned.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(2000, seed=1)
    >>> release = tclose.anonymize(frame, schema, method="mondrian")
    >>> release.measured.k >= schema.k, release.measured.t["salary"] <= schema.sensitive[0].t
    (True, True)
    """
    seconds: dict[str, float] = {}
    tell = progress or (lambda stage, loss, done: None)
    algorithm = find(method)
    if isinstance(schema, Schema):
        check_capable(algorithm, schema)  # before any row is read
    with _stage("read", seconds, tell):
        schema, source = take_in(df, schema, keys, anonymize)
        digest = source.digest()
    check_capable(algorithm, schema)
    _check_numbers(seed, time)
    seed = secrets.randbits(63) if seed is None else seed
    with _stage("encode", seconds, tell):
        selected, rows = select_rows(source, schema)
        table = encode_rows(source, selected, rows, schema, show_values)
        requirement = Requirement.of(schema, table)
    LOG.info("%d rows of %d, %d axes; method %s", len(table), source.n_rows, len(table.axes), algorithm.name)
    if start is not None and len(start.labels) != len(table):
        raise TableError(f"The start has {len(start.labels)} rows, and the table has {len(table)}.")
    with _stage("partition", seconds, tell):
        control = control or Control()
        control.begin(time, lambda loss, done: tell("partition", loss, done))
        rng = np.random.default_rng(seed)
        partition = run_method(algorithm, table, requirement, rng=rng, control=control, start=start)
        spans = table.spans(partition.labels, partition.n_classes)
        loss = table.loss(partition.labels, spans)
    with _stage("recode", seconds, tell):
        frame = recode(table, partition, source, selected, schema, spans)
    with _stage("verify", seconds, tell):
        measured = _verified(frame, schema, table, source)
    LOG.info("verified: %d classes, k %d, loss %.6f", measured.classes, measured.k, loss)
    if measured.classes == 1 and loss > 0 and not allow_single_class:
        raise explain_single_class(algorithm, table, requirement, partition, control)
    if loss > 0.5:
        warnings.warn(
            f"The release keeps its promise but loses {loss:.0%} of the information. Raise t, lower k, or use "
            "fewer quasi-identifiers.",
            HighLossWarning,
            stacklevel=2,
        )
    hidden = table.hidden_cells(partition.labels, spans) if schema.recode == "suppress" else None
    certificate = certify(schema, measured, loss, algorithm.name, parameters_of(algorithm), partition.facts, hidden)
    record = Record(seed, digest, source.n_rows, source.n_rows - len(table), algorithm.name, seconds, partition.notes)
    return Release(
        schema, certificate, record, loss, measured, frame, table.rows, source.restore, ColumnTypes.of(source, schema)
    )


@takes_keys
def assess(
    df: Any, schema: SchemaLike | None = None, *, show_values: bool = False, **keys: Unpack[SchemaKeys]
) -> Report:
    """Measure a table as it stands, raw or already generalized: k, t and l, and the worst classes.

    The parameters are those of `anonymize`, but that k need not be given. Quasi-identifiers are
    compared as they are, so hierarchies of theirs need not cover them.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(2000, seed=1)
    >>> tclose.assess(frame, schema).k
    1
    """
    if isinstance(schema, Mapping):
        schema = {"k": 1, **schema}
    given, source = take_in(df, schema, keys if schema is not None else {"k": 1, **keys}, assess)
    LOG.info("assess %d rows", source.n_rows)
    return assess_source(source, given, show_values)


def verify(
    df: Any,
    schema: SchemaLike,
    *,
    original: Any = None,
    certificate: Certificate | Mapping[str, Any] | Path | str | None = None,
    escaped_formulas: bool | None = None,
) -> Verdict:
    """Judge a released table: does it keep the promise of its schema, and fit its certificate?

    Parameters
    ----------
    df
        The released table: a dataframe, or a path.
    schema
        The schema it was released by: a `Schema`, a dict with its keys, or a path to TOML.
    original
        The table it was made of, whose rows stand in the same order: then truth is judged too, that every
        released value covers its original one.
    certificate
        Its certificate, or where that lies; if None, the one beside the file, if there is one.
    escaped_formulas
        Whether formulas are escaped in it; if None, the certificate says so.

    Raises
    ------
    TableError
        The table cannot be read.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(2000, seed=1)
    >>> release = tclose.anonymize(frame, schema, method="mondrian")
    >>> tclose.verify(release.table, schema).holds
    True
    """
    check_order(df, schema, "verify")
    schema = Schema.of(schema)
    path = Path(df) if isinstance(df, str | Path) else None
    source = read(df, schema.delimiter)  # a release is UTF-8
    broken: list[str] = []
    if says_escaped(certificate, path) if escaped_formulas is None else escaped_formulas:
        broken, source = list(unescaped_problems(source)), undo_source(source)
    before = None if original is None else read(original, schema.delimiter, schema.encoding)
    LOG.info("verify %d rows%s", source.n_rows, "" if before is None else ", with the original")
    found = judge(source, schema, before)
    fits, wrong = fit_certificate(found.measured, certificate, path)
    return Verdict((*broken, *found.problems, *wrong), found.measured, fits)


def _verified(frame: pl.DataFrame, schema: Schema, table: EncodedTable, source: Source) -> Measured:
    """What the verifier measures of a release; raises if it breaks its promise, or is not true to its original."""
    found = judge(Source.of(frame), schema, source, table.rows)
    if found.measured is None or found.problems:
        told = " ".join(found.problems)
        if found.problems and all(problem.startswith(KEPT) for problem in found.problems):
            raise InfeasibleError(f"The release would not keep its promise. {told}")
        raise VerificationError(f"The release would not keep its promise, and nothing is released. {told}")
    _check_agreement(found.measured, table, schema)
    return found.measured


def _check_agreement(measured: Measured, table: EncodedTable, schema: Schema) -> None:
    """What methods go by and what the verifier measures of the released classes must be the same, to the last digit."""
    n = len(schema.sensitive)
    columns = zip(table.domains[:n], table.codes[:n], strict=True)
    for name, distances in measure_classes(columns, schema.joint, measured.grouping.labels).distances.items():
        if distances.largest() != measured.t[name]:
            raise VerificationError(
                f"'{name}': the farthest class is at {float(distances.largest()):.6g} by what methods go by, and at "
                f"{float(measured.t[name]):.6g} by the verifier. One of them is wrong, so nothing is released. Please "
                "report this."
            )


def _check_numbers(seed: object, time: object) -> None:
    if seed is not None and not (isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0):
        raise SchemaError("seed must be a whole number from 0 up, or None.")
    if time is not None and not (isinstance(time, int | float) and time >= 0):
        raise SchemaError("time must be a number of seconds from 0 up, or None.")


@contextmanager
def _stage(name: str, seconds: dict[str, float], tell: Listener) -> Iterator[None]:
    tell(name, None, None)
    started = clock.perf_counter()
    yield
    seconds[name] = clock.perf_counter() - started
    LOG.info("%s: %.3f s", name, seconds[name])
