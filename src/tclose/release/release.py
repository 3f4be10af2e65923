"""Release: the generalized table with its certificate. The only way out."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.pages.card import release_card
from tclose.release.atomic import check_targets, open_to_others, put_both, temporary_beside
from tclose.release.certificate import Certificate, certificate_path
from tclose.release.column_types import ColumnTypes
from tclose.release.formulas import ESCAPED, check_suffix, escape_frame, note_formulas
from tclose.release.record import Record
from tclose.release.writing import check_written, write_frame
from tclose.schema.guarding import guarded
from tclose.schema.schema import Schema
from tclose.table.source import file_digest, suffix_of
from tclose.verification.measure_release import Measured

LOG = logging.getLogger(__name__)


class Written(NamedTuple):
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


@dataclass(frozen=True, eq=False, repr=False)
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
    record: Record
    loss: float
    measured: Measured
    _frame: pl.DataFrame
    _rows: NDArray[np.int64]
    _restore: Callable[[pl.DataFrame], Any]
    _types: ColumnTypes

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The class of each input row, -1 where it was dropped."""
        classes = np.full(self.record.input_rows, -1, np.int64)
        classes[self._rows] = self.measured.grouping.labels
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
        return self._restore(self._types.given(self._shuffled))

    def __repr__(self) -> str:
        rows, classes = self.measured.rows, self.measured.classes
        reached = ", ".join(f"t of '{name}' {float(t):.4g}" for name, t in list(self.measured.t.items())[:3])
        more = ", ..." if len(self.measured.t) > 3 else ""
        told = f"{rows} rows in {classes} classes, k {self.measured.k}{', ' if reached else ''}{reached}{more}"
        return f"Release({told}, loss {self.loss:.4f}, {self.record.method})"

    def _repr_html_(self) -> str:
        return release_card(self.certificate.fields).inline()

    def aligned(self) -> Any:
        """The released rows in the order of the input, dropped rows left out."""
        return self._restore(self._types.given(self._frame))

    def write(
        self,
        path: Path | str,
        *,
        keep_order: bool = False,
        record: Path | str | None = None,
        escape_formulas: bool = False,
    ) -> Written:
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
        escape_formulas
            In CSV, write an apostrophe before texts that a spreadsheet would take for formulas; the certificate says
            so, and `verify` undoes it.

        Returns
        -------
        :
            The certificate with the digest of the file, and the record with the time that writing took.
        """
        path = Path(path)
        suffix = suffix_of(path)
        if escape_formulas:
            check_suffix(path, suffix)
        check_targets([path, certificate_path(path), *([Path(record)] if record is not None else [])])
        frame = self._frame if keep_order else self._shuffled
        frame = self._types.with_numbers(frame) if suffix == ".parquet" else frame
        if suffix != ".parquet" and not escape_formulas:
            note_formulas(frame)
        shown = escape_frame(frame) if escape_formulas else frame
        clock = [time.perf_counter()]
        with temporary_beside(path, suffix) as temporary, temporary_beside(certificate_path(path)) as beside:
            problem = f"The release cannot be written as {suffix}"
            guarded(problem, lambda: write_frame(shown, temporary, suffix, self.schema))
            clock.append(time.perf_counter())
            check_written(frame, temporary, suffix, self.schema, self.measured, escape_formulas)
            clock.append(time.perf_counter())
            order = "as in the input" if keep_order else "random"
            told = {"order": order, **({"formulas": ESCAPED} if escape_formulas else {})}
            fields = {**self.certificate.fields, **told, "file": path.name, "sha256": file_digest(temporary)}
            beside.write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            for file in (temporary, beside):
                open_to_others(file)
            put_both(temporary, path, beside, certificate_path(path))
        full = self.record.with_seconds(write=clock[1] - clock[0], verify=clock[2] - clock[1])
        if record is not None:
            full.write(record)
        LOG.info("wrote %d rows as %s, read back and verified", len(frame), suffix)
        return Written(Certificate(fields), full)
