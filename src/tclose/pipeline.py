"""anonymize, assess and verify: the whole way, readable on one screen."""

from __future__ import annotations

import logging
import secrets
import time as clock
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.algorithms import DEFAULT, Algorithm, find, parameters_of, run_method
from tclose.algorithms.alike_classes import settle_alike
from tclose.algorithms.capable import check_capable
from tclose.algorithms.control import Control, check_watching
from tclose.algorithms.explain import explain_single_class
from tclose.algorithms.held_classes import held_classes
from tclose.algorithms.loss_bound.small_gap import gap_of_small
from tclose.algorithms.requirement import Requirement
from tclose.distances import Tree
from tclose.errors import (
    HighLossWarning,
    InfeasibleError,
    RepeatedIdentifierWarning,
    TableError,
    VerificationError,
)
from tclose.release.binding import find_binding, losses_by_column
from tclose.release.certificate import certify, keep_warning, said_order
from tclose.release.certificate_check import CertificateLike, check_certificate
from tclose.release.column_types import ColumnTypes
from tclose.release.database_certificates import read_database_certificate
from tclose.release.earlier import Earlier, histories_among, named_earlier, read_earlier, warn_of_same_table
from tclose.release.formulas import says_escaped, undo_source, unescaped_problems
from tclose.release.known_persons import warn_of_known_persons
from tclose.release.recode import recode
from tclose.release.record import Record
from tclose.release.release import Release
from tclose.release.release_folder import folder_files, hidden_problems
from tclose.schema.keys import SchemaKeys, takes_keys
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.arguments import check_flags, check_order, check_run, take_in
from tclose.table.class_distances import Distances
from tclose.table.class_rises import largest_rises
from tclose.table.classes import Tally
from tclose.table.coded import CodedColumn
from tclose.table.column_digests import column_digests
from tclose.table.encode import EncodedTable, encode_rows, with_objective
from tclose.table.measuring import measure_classes
from tclose.table.partition import Partition
from tclose.table.row_selection import select_rows
from tclose.table.source import Source, read
from tclose.table.table_location import TableLocation, file_of
from tclose.table.unit_rows import count_unpicked
from tclose.verification.assessment import Report, assess_source
from tclose.verification.column_widths import count_beyond_limits, limit_sentences
from tclose.verification.exact_loss import ReleasedRows, exact_loss
from tclose.verification.judge_folder import judge_frames
from tclose.verification.judge_release import KEPT, Judgement, judge
from tclose.verification.measure_release import Measured
from tclose.verification.persons import repeated_identifiers
from tclose.verification.published_loss import PublishedLoss, published_loss
from tclose.verification.release_parts import ReleaseCounts
from tclose.verification.released_classes import group_rows
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
    earlier: Earlier | Iterable[Earlier] = (),
    **keys: Unpack[SchemaKeys],
) -> Release:
    """Turn a table into a verified release.

    Parameters
    ----------
    df
        A dataframe (pandas, polars, pyarrow, or any with an Arrow stream), a path, or a `TableLocation`.
    schema
        What each column is and what is promised: a `Schema`, a dict with its keys, or a path to TOML.
    keys
        The keys of a schema instead: `quasi=[...]`, `sensitive={column: t}`, `k=...` and the rest.
        Kinds that are not given are inferred, and a message says so.
    method
        A name of `tclose.methods()`, or an algorithm object.
    seed
        For the method's random choices; the operating system's entropy if None.
    time
        Seconds after which the method returns the best it has found.
    allow_single_class
        Accept one class holding the whole table.
    show_values
        Let errors quote the values they are about.
    progress
        Called with a stage, the loss so far and the share done.
    start
        A partition to improve on. With `time=0` it is released as it is if it holds, so that an earlier run whose
        `release.partition` was kept is made again, even one that was stopped.
    control
        Another way to stop the method: after `control.end()`, from any thread, it comes back with the best it has.
    earlier
        Records of earlier releases, files that hold one, or folders of them: if one is of the same table, an
        `EarlierReleaseWarning` says so. So it does if the folder of a history knows persons of the table.

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
    parameters = parameters_of(algorithm)  # as they were given, and not as a run may leave them
    check_watching(progress, control)
    check_flags(allow_single_class=allow_single_class, show_values=show_values)
    earlier = named_earlier(earlier)
    before = read_earlier(earlier)
    if isinstance(schema, Schema):
        check_capable(algorithm, schema)  # before any row is read
    with _stage("read", seconds, tell):
        schema, source = take_in(df, schema, keys, anonymize)
        digest = source.digest()
        warn_of_known_persons(source, schema, histories_among(earlier))
    check_capable(algorithm, schema)
    check_run(seed, time)
    if start is not None and not (isinstance(start, Partition) and start.is_numbered):
        raise TableError("start must be a Partition, such as `release.partition` of an earlier run.")
    seed = secrets.randbits(63) if seed is None else seed
    with _stage("encode", seconds, tell):
        selected, rows = select_rows(source, schema, seed=seed)
        table = with_objective(encode_rows(source, selected, rows, schema, show_values), source, selected, schema)
        requirement = Requirement.of(schema, table)
        if repeated := repeated_identifiers(source, schema):
            warnings.warn(repeated, RepeatedIdentifierWarning, stacklevel=2)
        unpicked, columns = count_unpicked(source, schema), column_digests(selected)
    dropped = source.n_rows - unpicked - len(table)
    record = Record(seed, digest, source.n_rows, dropped, algorithm.name, seconds, input_columns=columns)
    record = replace(record, unpicked_rows=unpicked, objective=schema.objective)
    warn_of_same_table(record, before)
    LOG.info("%d rows of %d, %d axes; method %s", len(table), source.n_rows, len(table.axes), algorithm.name)
    if start is not None and len(start.labels) != len(table):
        raise TableError(f"The start has {len(start.labels)} rows, and the table has {len(table)}.")
    with _compiled_stage("partition", seconds, tell):
        control = control or Control()
        control.begin(time, lambda loss, done: tell("partition", loss, done))
        rng = np.random.default_rng(seed)
        partition = run_method(algorithm, table, requirement, rng=rng, control=control, start=start)
    with _stage("recode", seconds, tell):
        left_out = int((partition.labels < 0).sum())
        whole, labels = table, partition.labels
        if left_out:
            table, selected, partition = _without_left_out(table, partition, source, schema, show_values)
            requirement = Requirement.of(schema, table)
        partition = settle_alike(
            table, requirement, partition, lambda found: _shown(found, table, source, selected, schema)
        )
        spans = table.spans(partition.labels, partition.n_classes)
        loss = whole.loss(labels) if left_out else table.loss(partition.labels, spans)
        frame = recode(table, partition, source, selected, schema, spans)
    with _compiled_stage("verify", seconds, tell):
        found, measured = _verified(frame, schema, table, source)
        distances = _check_agreement(measured, table, schema)
        _check_loss(loss, frame, schema, source, ReleasedRows(table.rows, whole.rows, partition.labels))
        published = _published(frame, schema)
    LOG.info("verified: %d classes, k %d, loss %.6f", measured.classes, measured.k, loss)
    if measured.classes == 1 and loss > 0 and not allow_single_class:
        raise explain_single_class(algorithm, table, requirement, partition, control)
    if loss > 0.5:
        warnings.warn(
            f"The release keeps its promise but loses {loss:.0%} of the information. {_how_to_lose_less(schema)}",
            HighLossWarning,
            stacklevel=2,
        )
    certificate = certify(schema, measured, published, algorithm.name, parameters)
    record = replace(
        record,
        left_out_rows=left_out,
        notes=partition.notes,
        loss=loss,
        facts=partition.facts,
        persons=found.persons_as_dict(),
        bound=gap_of_small(table, requirement, partition.facts, loss),
    )
    with _stage("binding", seconds, tell):
        held = held_classes(table, requirement, measured.grouping.labels)
        losses = losses_by_column(table, partition.labels, spans)
        binding = find_binding(schema, measured.grouping.sizes, distances, held, losses)
    return Release(
        schema, certificate, record, loss, measured, frame, table.rows, source.restore,
        ColumnTypes.of(source, schema), partition=partition,
    ).with_binding(binding)  # fmt: skip


@takes_keys
def assess(
    df: Any, schema: SchemaLike | None = None, *, show_values: bool = False, **keys: Unpack[SchemaKeys]
) -> Report:
    """Measure a table as it stands, raw or already generalized: k, t and l, and the worst classes.

    `disclosure` has, by sensitive attribute, what classes tell of single values: (alpha, k), beta, delta and rise.
    k counts persons where the schema has a `unit` and the table its column, else rows.
    The parameters are those of `anonymize`, but that k need not be given. Quasi-identifiers are
    compared as they are, so hierarchies of theirs need not cover them.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(2000, seed=1)
    >>> tclose.assess(frame, schema).k
    1
    """
    check_flags(show_values=show_values)
    if isinstance(schema, Mapping):
        schema = {"k": 1, **schema}
    keys = keys if schema is not None else {"k": 1, **keys}
    path = file_of(df)
    undo = undo_source if says_escaped(None, path) else None  # a release may be assessed too
    given, source = take_in(df, schema, keys, assess, released=True, undo=undo)
    LOG.info("assess %d rows", source.n_rows)
    report = assess_source(source, given, show_values)
    for note in report.notes:
        warnings.warn(note, RepeatedIdentifierWarning, stacklevel=2)
    return report


def verify(
    df: Any,
    schema: SchemaLike,
    *,
    original: Any = None,
    certificate: CertificateLike | None = None,
    escaped_formulas: bool | None = None,
    in_order: bool | None = None,
) -> Verdict:
    """Check whether a released table keeps the promise of its schema, and whether its certificate is right.

    Nothing that a certificate says is believed: each field is recomputed from the table and the schema and
    compared, or listed in `unchecked` as claimed.

    Parameters
    ----------
    df
        The released table: a dataframe, a path, or a folder of Parquet files.
    schema
        The schema it was released by: a `Schema`, a dict with its keys, or a path to TOML.
    original
        The table it was made of: then truth is judged too, that every released value covers its original one. Rows
        in another order are matched to rows that they fit. Where the order was kept and the original has the `unit`
        of the schema, k is judged in persons.
    certificate
        Its certificate, or where that lies; if None, the one beside the file, if there is one.
    escaped_formulas
        Whether formulas are escaped in it; if None, the certificate says so.
    in_order
        Whether its rows stand in the order of the original; if None, the certificate says so, and without one any
        order will do.

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
    said = {"escaped_formulas": escaped_formulas, "in_order": in_order}
    check_flags(**{name: given for name, given in said.items() if given is not None})
    schema = Schema.of(schema)
    path = file_of(df)
    if path is not None and path.is_dir():
        return _verify_folder(path, schema, original, certificate)
    if certificate is None and isinstance(df, TableLocation) and df.database is not None:
        certificate = read_database_certificate(df)
    source = read(df, schema.delimiter, as_shown=True)  # a release is UTF-8
    broken: list[str] = []
    if says_escaped(certificate, path) if escaped_formulas is None else escaped_formulas:
        broken, source = list(unescaped_problems(source)), undo_source(source)
    before = None if original is None else read(original, schema.delimiter, schema.encoding, header=schema.header)
    schema = schema.resolve(source.names, released=True) if before is None else schema.resolve(before.names)
    LOG.info("verify %d rows%s", source.n_rows, "" if before is None else ", with the original")
    found = judge(source, schema, before, in_order=said_order(certificate, path) if in_order is None else in_order)
    beside = check_certificate(partial(published_loss, source, schema), schema, found.measured, certificate, path)
    problems = (*broken, *found.problems, *beside.problems)
    warning, unchecked = keep_warning(schema, found.measured), beside.unchecked | found.unchecked(schema)
    compared = None if found.beside_original is None else found.beside_original.compared
    return Verdict(
        problems, found.measured, beside.fits, unchecked, found.persons, schema, warning, found.person_rises, compared
    )


def _without_left_out(
    table: EncodedTable, partition: Partition, source: Source, schema: Schema, show_values: bool
) -> tuple[EncodedTable, dict[str, CodedColumn], Partition]:
    """The rows that are released, read anew: no type, range or hierarchy may tell of those that are left out."""
    kept = partition.labels >= 0
    selected, rows = select_rows(source, schema, table.rows[kept])
    released = encode_rows(source, selected, rows, schema, show_values)
    return released, selected, replace(partition, labels=partition.labels[kept])


def _verify_folder(folder: Path, schema: Schema, original: Any, certificate: CertificateLike | None) -> Verdict:
    """Judge a release that is a folder of Parquet files, read one after the other."""
    if original is not None:
        raise TableError("A folder is in no order, so it cannot be compared with its original. Leave that out.")
    sources = [read(file, as_shown=True) for file in folder_files(folder)]
    schema = schema.resolve(sources[0].names, released=True)
    n_rows = sum(source.n_rows for source in sources)
    LOG.info("verify %d rows in %d files", n_rows, len(sources))
    found, counts = judge_frames([partial(getattr, source, "frame") for source in sources], n_rows, schema)
    beyond = sum((_beyond_limits(source, schema) for source in sources), Counter[tuple[str, str]]())
    beside = check_certificate(partial(_loss_of, counts), schema, found.measured, certificate, folder)
    warning, unchecked = keep_warning(schema, found.measured), beside.unchecked | found.unchecked(schema)
    problems = (*hidden_problems(folder), *limit_sentences(beyond), *found.problems, *beside.problems)
    return Verdict(problems, found.measured, beside.fits, unchecked, None, schema, warning)


def _beyond_limits(source: Source, schema: Schema) -> Counter[tuple[str, str]]:
    """The rows of a file that are beyond limits; none where a column is not there, which is said elsewhere."""
    return count_beyond_limits(source, schema) if {*schema.released_quasi} <= {*source.names} else Counter()


def _loss_of(counts: ReleaseCounts) -> PublishedLoss:
    if counts.loss_problem is not None:
        raise TableError(counts.loss_problem)
    return counts.loss


def _shown(
    partition: Partition, table: EncodedTable, source: Source, selected: Mapping[str, CodedColumn], schema: Schema
) -> NDArray[np.int64]:
    """The class of each row as the release of a partition shows it."""
    frame = recode(table, partition, source, selected, schema)
    return group_rows(Source.of(frame), schema.released_quasi).labels


def _verified(frame: pl.DataFrame, schema: Schema, table: EncodedTable, source: Source) -> tuple[Judgement, Measured]:
    """What the verifier finds; raises if the release breaks its promise, or is not true to its original."""
    found = judge(Source.of(frame), schema, source, table.rows)
    if found.measured is None or found.problems:
        told = " ".join(found.problems)
        if found.problems and all(problem.startswith(KEPT) for problem in found.problems):
            raise InfeasibleError(f"The release would not keep its promise. {told}")
        raise VerificationError(f"The release would not keep its promise, and nothing is released. {told}")
    return found, found.measured


def _how_to_lose_less(schema: Schema) -> str:
    """Which of the demands that were made can be loosened."""
    asked = ["t"] * (bool(schema.joint) or any(each.t is not None for each in schema.sensitive))
    asked += [cap for cap in ("rise", "beta") if any(getattr(each, cap) is not None for each in schema.sensitive)]
    raised = f"Raise {' or '.join(asked)}, lower k" if asked else "Lower k"
    return f"{raised}{', lower l' if any(each.l for each in schema.sensitive) else ''}, or use fewer quasi-identifiers."


def _published(frame: pl.DataFrame, schema: Schema) -> PublishedLoss:
    """The loss that the released cells tell; each of them must be one that the schema lets a release say."""
    try:
        return published_loss(Source.of(frame), schema)
    except TableError as error:
        raise VerificationError(
            f"The loss of the release cannot be measured, and nothing is released. {error}"
        ) from None


def _check_agreement(measured: Measured, table: EncodedTable, schema: Schema) -> dict[str, Distances]:
    """What methods go by and what the verifier measures of the released classes must be the same, to the last digit."""
    n = len(schema.sensitive)
    columns = zip(table.domains[:n], table.codes[:n], strict=True)
    classes = measure_classes(columns, schema.joint, measured.grouping.labels)
    found = classes.distances
    _check_rises(measured, table, schema, classes.tallies)
    for name, distances in found.items():
        if distances.largest() != measured.t[name]:
            raise VerificationError(
                f"'{name}': the farthest class is at {float(distances.largest()):.6g} by what methods go by, and at "
                f"{float(measured.t[name]):.6g} by the verifier. One of them is wrong, so nothing is released. Please "
                "report this."
            )
    return found


def _check_rises(measured: Measured, table: EncodedTable, schema: Schema, tallies: Mapping[str, Tally]) -> None:
    """The same for the shares of values that are capped."""
    for domain, sensitive in zip(table.domains, schema.sensitive, strict=False):
        name, caps = sensitive.column, sensitive.caps
        if caps is None or name not in measured.rises:  # of persons the verifier counts alone
            continue
        paths = domain.form.paths if caps.levels and isinstance(domain.form, Tree) else None
        if largest_rises(tallies[name], paths) != (measured.rises[name].rise, measured.rises[name].beta):
            raise VerificationError(
                f"'{name}': the shares of its values rise otherwise by what methods go by than by the verifier. One of "
                "them is wrong, so nothing is released. Please report this."
            )


def _check_loss(loss: float, frame: pl.DataFrame, schema: Schema, source: Source, taken: ReleasedRows) -> None:
    """The loss that methods go by, which is told to whoever releases, is what the released values lose."""
    found = exact_loss(source, Source.of(frame), schema, taken)
    if not found.holds(loss):
        told = f"{found.least:.6g}" if found.least == found.most else f"{found.least:.6g} to {found.most:.6g}"
        raise VerificationError(
            f"The loss is {loss:.6g} by what methods go by, and {told} by the verifier. One of them is wrong, so "
            "nothing is released. Please report this."
        )


@contextmanager
def _stage(name: str, seconds: dict[str, float], tell: Listener) -> Iterator[None]:
    tell(name, None, None)
    started = clock.perf_counter()
    yield
    seconds[name] = clock.perf_counter() - started
    LOG.info("%s: %.3f s", name, seconds[name])


@contextmanager
def _compiled_stage(name: str, seconds: dict[str, float], tell: Listener) -> Iterator[None]:
    """A stage that runs loops: what is compiled within it, on a machine's first run, is a stage of its own."""
    with _stage(name, seconds, tell):
        from tclose.kernels.compile import compiling_timed  # loads the compiler, which reading does without

        with compiling_timed() as compiling:
            yield
    seconds["compile"] = seconds.get("compile", 0.0) + compiling.seconds
    seconds[name] = max(seconds[name] - compiling.seconds, 0.0)
