"""Dates and times in their order, over their whole range: nothing is counted in nanoseconds from 1970."""

from __future__ import annotations

import polars as pl

FORMS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%:z", "%Y-%m-%d %H:%M:%S%:z")


def rank_times(values: pl.Series) -> pl.Series | None:
    """The rank of each date or time among the distinct ones, from 1 up, null where missing; None if they are neither.

    Texts count if all are written as ISO 8601 has it, in one and the same form.

    Examples
    --------
    >>> rank_times(pl.Series(["2020-01-01", "9999-12-31", "0001-01-01"])).to_list()
    [2, 3, 1]
    >>> rank_times(pl.Series(["2020-01-01T00:00:00.0000000010", "2020-01-01T00:00:00"])).to_list()
    [2, 1]
    """
    if values.dtype == pl.String:
        return _rank_texts(values)
    if not (values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime)):
        return None
    return values.rank("dense")


def _rank_texts(values: pl.Series) -> pl.Series | None:
    sample = values.drop_nulls().head(1)
    if not len(sample) or not sample.str.contains(r"^\d{4}-\d\d-\d\d").all():
        return None
    # Fractions of a second may be longer than any unit of time: they are compared as text of one length.
    fractions = values.str.extract(r"[.,](\d+)", 1).fill_null("").str.strip_chars_end("0")
    width = int(fractions.str.len_chars().max() or 0)  # type: ignore[arg-type]
    whole = values.str.replace(r"[.,]\d+", "")
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
