"""A first schema for a table, for a person to finish."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import polars as pl
import tomli_w
from numpy.typing import NDArray

from tclose.errors import printable
from tclose.table.coded import codes_of
from tclose.table.inference import guess_kind
from tclose.table.reading import clean, is_flat
from tclose.table.source import Source

MARKERS = ("?", "NA", "N/A", "n/a", "na", "NULL", "null", "None", "NaN", "nan", "-", ".", "unknown", "Unknown")
NEARLY_UNIQUE = 0.95
WORTH_SAYING = 0.0005
SAMPLE = 100_000
MOST_COLUMNS = 16
MOST_LOOKED_AT = 500


def first_schema(source: Source, name: str, delimiter: str = ",") -> str:
    """The text of a schema: what can be guessed is, what must be chosen is left open under [undecided.NAME]."""
    frame = source.frame
    nested = [column.name for column in frame if not is_flat(column)]
    frame = frame.drop(nested)
    lines = [
        f"# A first schema for {_comment(name)}: {source.n_rows:,} rows, {len(source.names):,} columns.",
        "",
    ]
    lines += ["k = 5  # the least number of rows in a class", ""]
    if delimiter != ",":
        lines += [tomli_w.dumps({"delimiter": delimiter}).strip(), ""]
    looked_at = frame.columns[:MOST_LOOKED_AT]
    lines += _missing(frame[:, :MOST_LOOKED_AT])  # polars takes some names for patterns
    unique = [column for column in looked_at if _looks_unique(frame[column])]
    if unique or nested:
        lines += ["# Never released. Nearly every row has a value of its own in these, or they hold nested values:"]
        lines += [tomli_w.dumps({"identifiers": unique + nested}).strip(), ""]
    taken = set(unique)
    rest = [column for column in frame.columns if column not in taken]
    lines += _ranking(frame, [column for column in looked_at if column not in taken])
    lines += [
        "# Settle each column below: take the line [undecided.NAME] and its `about` out, and take the # off either",
        "# [quasi.NAME] (could be known about a person) or [sensitive.NAME] (must not be learned); or name the column",
        "# in identifiers (never released) or keep (released untouched).",
        "",
    ]
    known = set(looked_at)
    for column in rest:
        lines += _choices(frame[column]) if column in known else _unseen(column)
    # Outside of comments, what is not printable stands in quotes, where TOML reads the escape.
    return "\n".join(printable(line) for text in lines for line in text.split("\n")) + "\n"


def singled_out(frame: pl.DataFrame, columns: list[str]) -> list[tuple[float, tuple[str, ...]]]:
    """For combinations of up to three columns, the share of rows that are alone in theirs; largest first.

    Every single column and pair is tried, and the best pairs are widened to triples.
    """
    frame = frame.head(SAMPLE)
    codes = {name: _codes(frame[name]) for name in columns}
    sizes = {name: int(code.max(initial=0)) + 1 for name, code in codes.items()}
    varied = [name for name in columns if len(np.unique(codes[name])) > 1]
    chosen = sorted(varied, key=lambda name: -sizes[name])[:MOST_COLUMNS]

    def share(names: tuple[str, ...]) -> float:
        key = np.zeros(len(frame), np.int64)
        for name in names:
            key = key * (sizes[name] + 1) + codes[name]
        counts = np.unique(key, return_counts=True)[1]
        return float((counts == 1).sum() / max(len(frame), 1))

    ranked = [(share(names), names) for size in (1, 2) for names in combinations(chosen, size)]
    best = [names for _, names in sorted(ranked, reverse=True) if len(names) == 2][:8]
    triples = {tuple(sorted((*pair, name))) for pair in best for name in chosen if name not in pair}
    ranked += [(share(names), names) for names in sorted(triples)]
    return sorted(ranked, key=lambda entry: (-entry[0], len(entry[1]), entry[1]))


def _ranking(frame: pl.DataFrame, columns: list[str]) -> list[str]:
    ranked = singled_out(frame, columns)
    if not ranked:
        return []
    of = f"the first {SAMPLE:,}" if len(frame) > SAMPLE else "all"
    lines = [f"# Which columns single rows out: the share of {of} rows that are alone in their combination."]
    for size in (1, 2, 3):
        for share, names in [entry for entry in ranked if len(entry[1]) == size][:5]:
            if share >= WORTH_SAYING:
                lines.append(f"#   {share:6.1%}  {' + '.join(map(_comment, names))}")
    return [*lines, ""]


def _missing(frame: pl.DataFrame) -> list[str]:
    texts = [column for column in frame.columns if frame[column].dtype == pl.String]
    markers = sorted({marker for name in texts for marker in frame[name].unique() if marker in MARKERS})
    empty = sum(clean(frame[name], (), numeric=False).null_count() > 0 for name in frame.columns)
    if not markers and not empty:
        return []
    lines = [f"# {empty} columns have empty values."] if empty else []
    lines += ["# What shall a missing value be?"]
    lines += ['# missing = "category"  # a value of its own; or "drop" its row; or "error"']
    if markers:
        lines.append("# These may mean missing too; take the # off and keep those that do:")
        lines.append(f"# missing_values = {json.dumps(markers)}")
    return [*lines, ""]


def _unseen(name: str) -> list[str]:
    """A column of a table so wide that nobody would read on."""
    about = f"not looked at: only the first {MOST_LOOKED_AT} columns are"
    return [*tomli_w.dumps({"undecided": {name: {"about": about}}}).strip().split("\n"), ""]


def _choices(column: pl.Series) -> list[str]:
    kind = guess_kind(column)
    distance = "ordered" if kind in ("numeric", "date") else "equal"
    filled = clean(column, (), numeric=False)
    about = f"{filled.drop_nulls().n_unique():,} distinct values, {filled.null_count():,} missing"
    quasi: dict[str, object] = {"kind": kind}
    if kind == "numeric":
        step = _nice_step(filled)
        quasi |= {"step": step} if step else {}
    if kind == "date":
        quasi["step"] = "month"
    open_choice = tomli_w.dumps({"undecided": {column.name: {"about": about}}}).strip()
    lines = open_choice.split("\n")
    for role, keys in (("quasi", quasi), ("sensitive", {"distance": distance, "t": 0.2})):
        lines += [f"# {line}" for line in tomli_w.dumps({role: {column.name: keys}}).strip().split("\n")]
    return [*lines, ""]


def _nice_step(column: pl.Series) -> int | float | None:
    """1, 2 or 5 times a power of ten: about a twentieth of the range; None where the values are few."""
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False).drop_nulls()
    numbers = numbers.filter(numbers.is_finite())
    if numbers.n_unique() < 20:
        return None
    values = numbers.to_numpy()
    width = float(values.max() - values.min()) / 20
    power = 10.0 ** np.floor(np.log10(width))
    step = float(max((factor * power for factor in (1, 2, 5) if factor * power <= width), default=power))
    return int(step) if step >= 1 else round(step, 12)


def _looks_unique(column: pl.Series) -> bool:
    filled = clean(column, (), numeric=False).drop_nulls()
    if column.dtype.is_float() or (column.dtype == pl.String and filled.str.contains(r"^-?\d*[.,]\d+$").any()):
        return False  # measurements are often all different, and are not identifiers
    return len(filled) > 20 and filled.n_unique() >= NEARLY_UNIQUE * len(filled)


def _codes(column: pl.Series) -> NDArray[np.int64]:
    return codes_of(column, column.drop_nulls().unique()).astype(np.int64) + 1


def _comment(text: str) -> str:
    """A name within a comment: it must not end the line."""
    return repr(text)[1:-1]
