"""Released frames as files, and whether a written file holds what it should."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from pathlib import Path
from typing import Any, cast

import polars as pl

from tclose.errors import TableError, VerificationError
from tclose.release.formulas import escape_frame, undo_source, unescaped_problems
from tclose.schema.schema import Schema
from tclose.schema.written_forms import DateForm, NumberForm
from tclose.table.coded import as_enum, as_text
from tclose.table.formats.file_formats import delimiter_of, is_binary, is_delimited
from tclose.table.reading import texts
from tclose.table.source import HashSink, Source, read
from tclose.verification.judge_release import check_release
from tclose.verification.measure_release import Measured
from tclose.verification.truth import changed_values

ROW_GROUP = 1 << 18


def _csv_options(frame: pl.DataFrame, suffix: str, schema: Schema) -> dict[str, Any]:
    # In a single column an empty value would be an empty line, which many readers skip.
    quote_style = "always" if len(frame.columns) == 1 else "necessary"
    separator = delimiter_of(suffix, schema.delimiter)
    return {"separator": separator, "quote_style": quote_style, "decimal_comma": schema.decimal == ","}


def in_form(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """A table as text files have it: numbers and days of quasi-identifiers, and formatted dates, in their form.

    Numbers have no trailing zeros, so that a category has one name in every kind of file.
    """
    columns: list[pl.Series] = []
    for quasi in schema.quasi:
        other = schema.number_form() if quasi.kind == "categorical" else NumberForm()
        form = schema.written_form(quasi) or other
        columns += [_formed(frame[name], form) for name in quasi.released]
    dated = [each for each in schema.sensitive if each.format is not None]
    columns += [_formed(frame[each.column], DateForm(each.format)) for each in dated]
    return frame.with_columns(columns)


def _formed(column: pl.Series, form: NumberForm | DateForm) -> pl.Series:
    """A typed column as texts in a form, as an Enum; one that is written so anyway, or is text, as it is."""
    if column.dtype == pl.Date and isinstance(form, DateForm) and form.day_format is not None:
        known = column.drop_nulls().unique()
        labels = form.write(known.to_physical().to_list())
    elif column.dtype.is_numeric() and isinstance(form, NumberForm) and _is_reformed(column, form):
        known = column.drop_nulls().unique()
        labels = [form.write(each) for each in texts(known)]
    else:
        return column
    named = pl.Series(labels, dtype=pl.String)
    return as_enum(column.replace_strict(known, named, return_dtype=pl.String))


def _is_reformed(column: pl.Series, form: NumberForm) -> bool:
    return not column.dtype.is_integer() or bool(form.thousands)


def _for_csv(frame: pl.DataFrame) -> pl.DataFrame:
    """What CSV has no type for: durations as text, and timestamps with a zone in UTC.

    An offset is written in minutes, and those of old have seconds.
    """
    kinds = frame.schema.items()
    zoned = [name for name, kind in kinds if isinstance(kind, pl.Datetime) and kind.time_zone]
    lengths = [name for name, kind in kinds if isinstance(kind, pl.Duration)]
    in_utc = frame.with_columns(frame[name].dt.convert_time_zone("UTC") for name in zoned)
    return in_utc.with_columns(texts(frame[name]) for name in lengths)


def _in_pieces(frame: pl.DataFrame) -> pl.LazyFrame:
    """The table as it is written: its text is made some rows at a time."""
    return frame.lazy().map_batches(as_text, streamable=True, schema=as_text(frame.head(0)).schema)


def _for_json(frame: pl.DataFrame) -> pl.DataFrame:
    """What JSON has no type for, as text: dates and times as ISO 8601 has them, decimals digit by digit."""
    told = [name for name, kind in frame.schema.items() if kind.is_temporal() or kind.is_decimal()]
    return frame.with_columns(texts(frame[name]) for name in told)


def _write_text(frame: pl.DataFrame, target: Any, suffix: str, schema: Schema, compression: Any = None) -> None:
    """Write what is text: with delimiters, or as JSON."""
    if is_delimited(suffix):
        options = _csv_options(frame, suffix, schema) | ({} if compression is None else {"compression": compression})
        _in_pieces(_for_csv(frame)).sink_csv(target, check_extension=False, **options)
    else:
        _in_pieces(_for_json(frame)).sink_ndjson(target)


def write_frame(frame: pl.DataFrame, path: Path, suffix: str, schema: Schema) -> None:
    """Write a frame as its suffix says; what the system said, such as that the disk is full, is an OSError."""
    try:
        if suffix == ".parquet":
            _in_pieces(frame).sink_parquet(path, compression="zstd", compression_level=1, row_group_size=ROW_GROUP)
        elif is_binary(suffix):
            _in_pieces(frame).sink_ipc(path, compression="zstd", compat_level=pl.CompatLevel.oldest())  # no views
        else:
            _write_text(frame, path, suffix, schema, "gzip" if suffix.endswith(".gz") else "uncompressed")
    except Exception as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        reason = int(number.group(1))
    else:
        return
    raise OSError(reason, os.strerror(reason), str(path))


def check_written(
    frame: pl.DataFrame, path: Path, suffix: str, schema: Schema, measured: Measured, escaped: bool = False
) -> None:
    """The file holds exactly what was to be released, its formulas escaped or not, and keeps its promise by itself."""
    problem = "The written file does not hold what was to be released; nothing is left of it"
    try:
        source = read(path, schema.delimiter, made_here=True, as_shown=True)
        if escaped and any(unescaped_problems(source)):
            raise VerificationError(f"{problem}: cells are formulas that were to be escaped.")
        source = undo_source(source) if escaped else source
        written = pl.DataFrame(source.each(source.names, as_enum))
        found = check_release(Source.of(written), schema)
    except TableError:
        raise VerificationError(f"{problem}.") from None
    if is_binary(suffix):
        same = written.schema == frame.schema and written.equals(frame)
    else:
        expected = HashSink()
        _write_text(escape_frame(frame, schema.decimal) if escaped else frame, expected, suffix, schema)
        with gzip.open(path) if suffix.endswith(".gz") else path.open("rb") as file:
            same = hashlib.file_digest(cast(Any, file), "sha256").hexdigest() == expected.hash.hexdigest()
        # The same bytes may yet say something else than the frame does: the verifier reads both.
        same = same and not changed_values(Source.of(frame), Source.of(written), schema)
    if not same or found.as_dict() != measured.as_dict():
        raise VerificationError(f"{problem}.")
