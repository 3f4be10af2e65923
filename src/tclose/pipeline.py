"""anonymize and assess: the whole way, readable on one screen."""

from __future__ import annotations

import secrets
import time as clock
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from tclose.algorithms import DEFAULT, Algorithm, find, parameters_of, run_method
from tclose.algorithms.capable import check_capable
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.errors import HighLossWarning, InfeasibleError, SchemaError, TableError, VerificationError
from tclose.release.certificate import certify
from tclose.release.recode import recode
from tclose.release.record import Record
from tclose.release.release import Release
from tclose.schema.columns import Quasi
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode_rows, select_rows
from tclose.table.inference import check_keywords, infer_schema
from tclose.table.partition import Partition
from tclose.table.reading import Reader
from tclose.table.source import Source, read
from tclose.verification.assessment import Report
from tclose.verification.verify import Measured, measure, verify

SECONDS_TO_EXPLAIN = 20.0  # for each attribute by itself

Listener = Callable[[str, float | None, float | None], None]


def anonymize(
    df: Any,
    schema: Schema | None = None,
    *,
    method: str | Algorithm = DEFAULT,
    seed: int | None = None,
    time: float | None = None,
    allow_single_class: bool = False,
    show_values: bool = False,
    progress: Listener | None = None,
    start: Partition | None = None,
    control: Control | None = None,
    **keys: Any,
) -> Release:
    """Turn a table into a verified release.

    Parameters
    ----------
    df
        A dataframe (pandas, polars, pyarrow, or any with an Arrow stream), or a path.
    schema
        What each column is and what is promised; or give its keys as keywords instead:
        `quasi=[...]`, `sensitive={column: t}`, `k=...`, and kinds are inferred, and said.
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
    if schema is not None:
        check_capable(algorithm, schema)
    with _stage("read", seconds, tell):
        schema, source = take_in(df, schema, keys)
        digest = source.digest()
    check_capable(algorithm, schema)
    seed = secrets.randbits(63) if seed is None else seed
    with _stage("encode", seconds, tell):
        selected, rows = select_rows(source, schema)
        table = encode_rows(source, selected, rows, schema, show_values)
        requirement = Requirement.of(schema, table)
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
        measured = _verified(frame, schema)
    if measured.classes == 1 and loss > 0 and not allow_single_class:
        raise _useless(algorithm, table, requirement, partition, control)
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
    return Release(schema, certificate, record, loss, measured, frame, table.rows, source.restore)


def assess(df: Any, schema: Schema | None = None, *, show_values: bool = False, **keys: Any) -> Report:
    """Measure a table as it stands, raw or already generalized: k, t and l, and the worst classes.

    The parameters are those of `anonymize`. Quasi-identifiers are compared as they are, so
    hierarchies of theirs need not cover them.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(2000, seed=1)
    >>> tclose.assess(frame, schema).k
    1
    """
    schema, source = take_in(df, schema, keys)
    columns = tuple(
        name for quasi in schema.quasi for name in ((quasi.column,) if quasi.column in source.names else quasi.released)
    )
    source = _with_open_ends(source, schema)
    # What is never released may be gone already, and a generalized value is compared as it is.
    present = [name for name in (*schema.identifiers, *schema.keep, schema.unit) if name in source.names]
    as_found = tuple(Quasi(name, "categorical") for name in columns)
    coded, rows = select_rows(
        source, replace(schema, quasi=as_found, identifiers=(), keep=tuple(present), recode="generalize", unit=None)
    )
    measured = measure(coded, columns, schema, Reader(source, rows, schema.decimal, show_values))
    return Report(measured, schema, rows, source, columns, show_values)


def _with_open_ends(source: Source, schema: Schema) -> Source:
    """Bounds that are empty because a tail is open are values, not missing."""
    names = {name for quasi in schema.quasi if quasi.publish == "bounds" for name in quasi.released}

    def column(name: str) -> pl.Series:
        given = source.column(name)
        if name not in names:
            return given
        ends = given.cast(pl.String)
        return ends.set(ends == "", None).fill_null("open")

    return replace(source, column=column)


def take_in(df: Any, schema: Schema | None, keys: dict[str, Any]) -> tuple[Schema, Source]:
    """A table with its schema, given or inferred from keywords."""
    if schema is not None:
        if keys:
            raise SchemaError(f"Give a schema or keywords, not both: {', '.join(keys)}.")
        return schema, read(df, schema.delimiter, schema.encoding)
    if "quasi" not in keys or "k" not in keys:
        raise SchemaError("Give a schema, or at least quasi=[...], sensitive={column: t} and k=...")
    check_keywords(keys)
    source = read(df, keys.get("delimiter", ","), keys.get("encoding", "utf-8"))
    return infer_schema(source, keys), source


def _useless(
    algorithm: Algorithm, table: EncodedTable, requirement: Requirement, partition: Partition, control: Control
) -> InfeasibleError:
    """Name what binds: the demands under which alone nothing better than a single class is found, or the time.

    What the method left of its time is all there is to find out.
    """
    if partition.facts.get("stopped_early"):
        return InfeasibleError(
            "It was stopped before anything better than one class holding the whole table was found. Allow more time."
        )
    worst = table.loss(np.zeros(len(table), np.int64))

    def alone(attributes: tuple[Attribute, ...]) -> bool:
        chosen = [place for place, attribute in enumerate(requirement.attributes) if attribute in attributes]
        lone = replace(
            table,
            domains=tuple(table.domains[place] for place in chosen),
            codes=tuple(table.codes[place] for place in chosen),
        )
        asked = replace(requirement, attributes=attributes)
        rng = np.random.default_rng(0)
        watch = Control(SECONDS_TO_EXPLAIN, whole=control)
        return table.loss(algorithm.partition(lone, asked, rng=rng, control=watch).labels) > worst - 1e-9

    binding = ""
    if not control.stop and alone(()):
        binding = f"k = {requirement.k}"
    elif not control.stop:
        names = [repr(one.domain.column) for one in requirement.attributes if not control.stop and alone((one,))]
        binding = ("the requirement on " + " and that on ".join(names)) if names else "all requirements together"
    found = "Only one class holding the whole table was found, which is useless."
    advice = "or say that one class will do (--allow-single-class, allow_single_class=True)."
    if control.stop:
        return InfeasibleError(
            f"{found} There was no time to find out what binds: allow more, loosen a t or k, {advice}"
        )
    return InfeasibleError(f"{found} What binds is {binding}. Loosen it, {advice}")


def _verified(frame: pl.DataFrame, schema: Schema) -> Measured:
    try:
        return verify(Source.of(frame), schema)
    except VerificationError as error:
        if schema.keep and "`keep`" in str(error):
            raise InfeasibleError(str(error)) from None
        raise


@contextmanager
def _stage(name: str, seconds: dict[str, float], tell: Listener) -> Iterator[None]:
    tell(name, None, None)
    started = clock.perf_counter()
    yield
    seconds[name] = clock.perf_counter() - started
