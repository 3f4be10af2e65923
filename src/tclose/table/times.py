"""Dates and times in their order, over their whole range: nothing is counted in nanoseconds from 1970."""

from __future__ import annotations

import polars as pl

from tclose.schema.written_forms import LATEST_SHORT, MONTHS, DateForm

CLOCK = r"^(-?)([0-9]{1,6}):([0-5][0-9])(?::([0-5][0-9])(?:[.,]([0-9]{1,9}))?)?$"
FORMS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%:z", "%Y-%m-%d %H:%M:%S%:z")


def rank_times(values: pl.Series) -> pl.Series | None:
    """The rank of each date or time among the distinct ones, from 1 up, null where missing; None if they are neither.

    Texts count if all are written as ISO 8601 has it, in one and the same form, or all as hours and minutes.

    Examples
    --------
    >>> rank_times(pl.Series(["2020-01-01", "9999-12-31", "0001-01-01"])).to_list()
    [2, 3, 1]
    >>> rank_times(pl.Series(["2020-01-01T00:00:00.0000000010", "2020-01-01T00:00:00"])).to_list()
    [2, 1]
    """
    if values.dtype == pl.String:
        return _rank_texts(values) if _begins_as_a_day(values) else _rank_clocks(values)
    if not (values.dtype in (pl.Date, pl.Time) or isinstance(values.dtype, pl.Datetime | pl.Duration)):
        return None
    return values.rank("dense")


def _begins_as_a_day(values: pl.Series) -> bool:
    sample = values.drop_nulls().head(1)
    return len(sample) > 0 and bool(sample.str.contains(r"^\d{4}-\d\d-\d\d").all())


def _rank_clocks(values: pl.Series) -> pl.Series | None:
    """Ranks of texts such as 08:30 or 08:30:15.5, if all have as many parts; a duration may have a sign."""
    known = values.drop_nulls()
    if not len(known) or not known.str.contains(CLOCK).all() or known.str.count_matches(":").n_unique() > 1:
        return None
    parts = values.str.extract_groups(CLOCK).struct.unnest()
    hours, minutes, seconds = (parts.to_series(place).cast(pl.Int64) for place in range(1, 4))
    fraction = parts.to_series(4).fill_null("").str.pad_end(9, "0").cast(pl.Int64)
    length = ((hours * 60 + minutes) * 60 + seconds.fill_null(0)) * 10**9 + fraction
    return length.zip_with(parts.to_series(0) == "", -length).rank("dense")


def iso_texts(values: pl.Series, form: DateForm) -> pl.Series | None:
    """Texts in a format as ISO 8601 has them, null where they are none; None if the format is not known here.

    What is no day of the calendar, such as a 30th of February, is still one of the texts.

    Examples
    --------
    >>> iso_texts(pl.Series(["31.12.2024", "1.2.24"]), DateForm("%d.%m.%Y")).to_list()
    ['2024-12-31', None]
    >>> iso_texts(pl.Series(["12/31/99 08:05 PM"]), DateForm("%m/%d/%y %I:%M %p")).to_list()
    ['1999-12-31T20:05:00']
    """
    if form.pattern is None:
        return None
    found = values.str.strip_chars().str.extract_groups(form.pattern).struct.unnest()
    day = pl.col("day").str.pad_start(2, "0")
    days = found.select(_year(found.columns) + "-" + _month(found.columns, form) + "-" + day).to_series()
    if "hour" not in found.columns:
        return days.alias(values.name)
    clock = found.select(_clock(found.columns)).to_series()
    return (days + "T" + clock).alias(values.name)


def _year(parts: list[str]) -> pl.Expr:
    if "year" in parts:
        return pl.col("year")
    century = pl.when(pl.col("short").cast(pl.Int64) <= LATEST_SHORT % 100).then(pl.lit("20")).otherwise(pl.lit("19"))
    return century + pl.col("short")


def _month(parts: list[str], form: DateForm) -> pl.Expr:
    if "month" in parts:
        return pl.col("month").str.pad_start(2, "0")
    short = "%b" in (form.long_format or "")
    numbers = {(name[:3] if short else name).lower(): f"{place:02}" for place, name in enumerate(MONTHS, 1)}
    return pl.col("name").str.to_lowercase().replace_strict(numbers, default=None, return_dtype=pl.String)


def _clock(parts: list[str]) -> pl.Expr:
    hour = pl.col("hour").cast(pl.Int64)
    if "half" in parts:
        half = pl.when(pl.col("half").str.to_lowercase() == "p").then(12).otherwise(0)
        hour = pl.when(hour.is_between(1, 12)).then(hour % 12 + half)
    found: pl.Expr = pl.when(hour <= 23).then(hour.cast(pl.String).str.pad_start(2, "0"))
    for name in ("minute", "second"):
        part = pl.when(pl.col(name) < "60").then(pl.col(name)) if name in parts else pl.lit("00")
        found = found + ":" + part
    if "fraction" in parts:
        found = found + "." + pl.col("fraction")
    if "zone" in parts:
        found = found + pl.col("zone").str.replace("^Z$", "+00:00").str.replace(r"^([+-]\d\d)(\d\d)$", "${1}:${2}")
    return found


def _rank_texts(values: pl.Series) -> pl.Series | None:
    # Fractions of a second may be longer than any unit of time: they are compared as text of one length.
    fractions = values.str.extract(r"[.,](\d+)", 1).fill_null("").str.strip_chars_end("0")
    width = int(fractions.str.len_chars().max() or 0)  # type: ignore[arg-type]
    whole = values.str.replace(r"[.,]\d+", "")
    whole = whole.set(whole.str.contains(r":\d\d:6\d").fill_null(False), None)  # polars would read a second that leaps
    for form in FORMS:
        moments = whole.str.to_datetime(form, time_unit="us", strict=False)
        if moments.null_count() == values.null_count():
            break
    else:
        return None
    seconds = moments.to_physical().alias("seconds")
    if not width:
        return seconds.rank("dense")
    keys = pl.DataFrame([seconds, fractions.str.pad_end(width, "0").alias("fraction")])
    order = keys.unique().drop_nulls().sort("seconds", "fraction").with_row_index("rank", 1)
    return keys.join(order, on=["seconds", "fraction"], how="left", maintain_order="left")["rank"].cast(pl.Int64)
