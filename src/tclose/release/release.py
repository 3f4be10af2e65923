"""Release: the generalized table with its certificate. The only way out."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.pages.card import release_card
from tclose.release.atomic import (
    PRIVATE,
    check_targets,
    locked,
    open_to_others,
    put_together,
    temporary_beside,
    write_whole,
)
from tclose.release.binding import Binding
from tclose.release.certificate import KEPT_ORDER, NO_ORDER, Certificate, certificate_path, keep_warning
from tclose.release.column_types import ColumnTypes
from tclose.release.database_certificates import certificate_table_of
from tclose.release.database_writing import write_to_database
from tclose.release.earlier import warn_of_earlier
from tclose.release.file_lock import TargetLocks
from tclose.release.formulas import AS_THEY_ARE, ESCAPED, check_suffix, escape_frame, note_formulas
from tclose.release.record import Record
from tclose.release.writing import check_written, in_form, write_frame
from tclose.schema.guarding import guarded
from tclose.schema.schema import Schema
from tclose.table.arguments import check_flags, check_path
from tclose.table.formats.file_formats import is_delimited, suffix_of
from tclose.table.partition import Partition
from tclose.table.source import Source, file_digest
from tclose.verification.measure_release import Measured

LOG = logging.getLogger(__name__)


class WrittenRelease(NamedTuple):
    """What came of writing a release.

    Attributes
    ----------
    certificate
        With the file's name and digest; it lies beside the file.
    record
        With the time that writing took; never to be published.
    """

    certificate: Certificate
    record: Record


class Continuation(Protocol):
    """The history that a release continues: it must know of the release before anyone sees it."""

    @property
    def is_recorded(self) -> bool:
        """Whether the release was written, and the history knows it."""
        ...

    @property
    def whole(self) -> Source:
        """The rows that were generalized, in the order of the release: of the table, or held by the history."""
        ...

    def recorded(self, certificate: bytes, files: Sequence[tuple[Path, Path]]) -> AbstractContextManager[None]:
        """Record the release; within, its temporary files get their names."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A verified release: the generalized table with its certificate.

    Attributes
    ----------
    schema
        The schema it was made by.
    certificate
        What is promised and was reached; publishable.
    record
        Seed, digest and timings; not publishable.
    loss
        The general loss metric of 004 section 3.2, measured with the original at hand: not publishable. The
        certificate has the loss that the released values tell by themselves.
    measured
        What the verifier found.
    binding
        What keeps k, t and loss where they are; not publishable.
    partition
        The classes as the method gave them, to start another run from; not publishable.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63], "illness": ["flu", "cold"] * 3})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method="mondrian", seed=1)
    >>> release.aligned()["age"].to_list()
    ['[21, 23]', '[21, 23]', '[21, 23]', '[61, 63]', '[61, 63]', '[61, 63]']
    >>> release.measured.k, release.measured.t["illness"]
    (3, Fraction(1, 6))
    """

    schema: Schema
    certificate: Certificate
    record: Record
    loss: float
    measured: Measured
    _frame: pl.DataFrame
    _rows: NDArray[np.int64]
    _restore: Callable[[pl.DataFrame], Any]
    _types: ColumnTypes
    binding: Binding | None = None
    _history: Continuation | None = None
    partition: Partition | None = None

    def with_binding(self, binding: Binding) -> Release:
        """The same with what binds it, which is in the record too and nowhere else."""
        notes = {**self.record.notes, "binding": binding.as_dict()}
        return replace(self, binding=binding, record=replace(self.record, notes=notes))

    @property
    def facts(self) -> dict[str, Any]:
        """What the method says of its run, such as a proven bound; it may depend on what is hidden, so keep it."""
        return self.record.facts

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The class of each input row, -1 where it was dropped, not picked or left out."""
        classes = np.full(self.record.input_rows, -1, np.int64)
        known = self._rows >= 0  # a row that a history holds is none of the input
        classes[self._rows[known]] = self.measured.grouping.labels[known]
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
        self._check_shown()
        return self._restore(self._types.given(self._shuffled))

    def __repr__(self) -> str:
        rows, classes = self.measured.rows, self.measured.classes
        reached = ", ".join(f"t of '{name}' {float(t):.4g}" for name, t in list(self.measured.t.items())[:3])
        more = ", ..." if len(self.measured.t) > 3 else ""
        told = f"{rows} rows in {classes} classes, k {self.measured.k}{', ' if reached else ''}{reached}{more}"
        if (warning := keep_warning(self.schema, self.measured)) is not None:
            told = f"{warning}; {told}"
        return f"Release({told}, loss {self.loss:.4f}, {self.record.method})"

    def _repr_html_(self) -> str:
        return release_card(self.certificate.fields).inline()

    def aligned(self) -> Any:
        """The released rows in the order of the input, without those that are not released."""
        self._check_shown()
        self._check_ordered()
        return self._restore(self._types.given(self._frame))

    def as_made(self) -> tuple[Source, Release] | None:
        """The rows that it was made of, and the release in their order; None where these are the rows of the input.

        A release that continues a history has rows which the history held, and may lack rows of the input.
        """
        if self._history is None:
            return None
        self._check_shown()
        n_rows = len(self._frame)
        record = replace(self.record, input_rows=n_rows, unpicked_rows=0, dropped_rows=0)
        return self._history.whole, replace(self, record=record, _rows=np.arange(n_rows), _history=None)

    def _check_shown(self) -> None:
        if self._history is not None and not self._history.is_recorded:
            raise TableError(
                "This release continues a history, which must know of it before anyone sees it. Write it first: "
                "release.write(path)."
            )

    def _check_ordered(self) -> None:
        if (np.diff(self._rows, prepend=-1) <= 0).any():
            raise TableError(
                "This release continues a history, and has rows that are not those of the input, or stand there in "
                "another order. Take the rows in random order."
            )

    def write_partition(self, path: Path | str, *, locks: TargetLocks | None = None) -> None:
        """Write the classes, for their owner alone: `Partition.load` reads them, and a run can start from them.

        `locks` are those that the caller holds already, if it does.
        """
        if self.partition is None:
            raise TableError("This release has no classes to write. Take it from `anonymize`.")
        held = locks is not None and locks.covers(Path(path))
        write_whole(Path(path), self.partition.to_bytes(), PRIVATE, alone=held)

    def write(
        self,
        path: Path | str,
        *,
        keep_order: bool = False,
        record: Path | str | None = None,
        escape_formulas: bool = False,
        locks: TargetLocks | None = None,
    ) -> WrittenRelease:
        """Write the release and, beside it, its certificate; read both back and verify.

        There is a complete, verified file of this name afterwards, or what was there before. No other process can
        write any of the files at the same time. A record of an earlier release of the same table is replaced with
        a warning.

        Parameters
        ----------
        path
            CSV, TSV, either gzipped, JSON lines, Parquet or Arrow, by its suffix.
        keep_order
            Keep the order of the input, which may itself tell who is who.
        record
            Where to write the record, if anywhere.
        escape_formulas
            In CSV and TSV, write an apostrophe before texts that a spreadsheet would take for formulas; the
            certificate says so, and `verify` undoes it.
        locks
            Locks of all these files, if the caller holds them already.

        Returns
        -------
        :
            The certificate with the digest of the file, and the record with the time that writing took.

        Raises
        ------
        BusyError
            Another process is writing one of the files.
        """
        check_path("path", path)
        check_flags(keep_order=keep_order, escape_formulas=escape_formulas)
        path = Path(path)
        suffix = suffix_of(path)
        if keep_order:
            self._check_ordered()
        if escape_formulas:
            check_suffix(path, suffix)
        beside = certificate_path(path)
        targets = [path, *([] if record is None else [Path(record)]), beside]
        check_targets(targets)
        frame = self._frame if keep_order else self._shuffled
        frame = in_form(frame, self.schema) if is_delimited(suffix) else self._types.with_numbers(frame)
        if is_delimited(suffix) and not escape_formulas:
            note_formulas(frame)
        with locked(targets, locks), ExitStack() as stack:
            warn_of_earlier(self.record, targets[1:-1], stacklevel=3)
            made = [stack.enter_context(temporary_beside(each, suffix if each is path else "")) for each in targets]
            seconds = self._write_verified(frame, made[0], suffix, escape_formulas)
            manner = _manner(keep_order, escape_formulas)
            fields = {**self.certificate.fields, **manner, "file": path.name, "sha256": file_digest(made[0])}
            told = (json.dumps(fields, indent=2, ensure_ascii=False) + "\n").encode()
            made[-1].write_bytes(told)
            for file in (made[0], made[-1]):
                open_to_others(file)
            full = self.record.with_seconds(**seconds)
            for file in made[1:-1]:
                file.write_text(full.as_json(), encoding="utf-8")
            files = list(zip(made, targets, strict=True))
            with nullcontext() if self._history is None else self._history.recorded(told, files):
                put_together(files)
        LOG.info("wrote %d rows as %s, read back and verified", len(frame), suffix)
        return WrittenRelease(Certificate(fields), full)

    def write_table(
        self,
        url: str,
        table: str,
        *,
        certificate_table: str | None = None,
        replace_table: bool = False,
        keep_order: bool = False,
        record: Path | str | None = None,
        locks: TargetLocks | None = None,
    ) -> WrittenRelease:
        """Write the release into a table of a database, and its certificate into another.

        All happens within one transaction: the rows are read back and verified before it is committed.

        Parameters
        ----------
        url
            `sqlite:///people.db` or `postgresql://host/people`.
        table, certificate_table
            Where the rows and the certificate go; `<table>_certificate` if that is not named.
        replace_table
            Replace tables of these names, which are refused if not.
        keep_order, record, locks
            As in `write`.

        Raises
        ------
        TableError
            A table of this name is there, or the database cannot be written to.
        """
        if self._history is not None:
            raise TableError(
                "A release that continues a history is written as a file: a database cannot be written in one step "
                "with the history."
            )
        check_flags(keep_order=keep_order, replace_table=replace_table)
        beside = certificate_table or certificate_table_of(table)
        targets = [] if record is None else [Path(record)]
        check_targets(targets)
        frame = self._types.with_numbers(self._frame if keep_order else self._shuffled)
        fields = {**self.certificate.fields, **_manner(keep_order, False), "file": table}
        full = self.record
        with locked(targets, locks), ExitStack() as stack:
            warn_of_earlier(self.record, targets, stacklevel=3)
            made = [stack.enter_context(temporary_beside(each)) for each in targets]

            def note(seconds: dict[str, float]) -> None:
                nonlocal full
                full = self.record.with_seconds(**seconds)
                for file in made:
                    file.write_text(full.as_json(), encoding="utf-8")

            write_to_database(
                frame, url, table, fields, beside, self.schema, self.measured, replace=replace_table, before_commit=note
            )
            if made:
                put_together(list(zip(made, targets, strict=True)))
        LOG.info("wrote %d rows into a table, read back and verified", len(frame))
        return WrittenRelease(Certificate(fields), full)

    def _write_verified(self, frame: pl.DataFrame, file: Path, suffix: str, escaped: bool) -> dict[str, float]:
        """Write the file, read it back and verify it; the seconds that each took."""
        shown = escape_frame(frame, self.schema.decimal) if escaped else frame
        clock = [time.perf_counter()]
        guarded(f"The release cannot be written as {suffix}", lambda: write_frame(shown, file, suffix, self.schema))
        clock.append(time.perf_counter())
        check_written(frame, file, suffix, self.schema, self.measured, escaped)
        clock.append(time.perf_counter())
        return {"write": clock[1] - clock[0], "verify": clock[2] - clock[1]}


def _manner(keep_order: bool, escape_formulas: bool) -> dict[str, str]:
    """What a certificate says of how the rows were written."""
    return {
        "order": KEPT_ORDER if keep_order else NO_ORDER,
        "formulas": ESCAPED if escape_formulas else AS_THEY_ARE,
    }
