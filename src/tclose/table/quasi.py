"""Quasi-identifiers to axes, one kind after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.builders import Builder, Dates, Intervals
from tclose.schema.columns import Quasi
from tclose.schema.decimals import text
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.schema.written_forms import DateForm, NumberForm
from tclose.table.axes import Axis, SpanAxis, TreeAxis
from tclose.table.coded import CodedColumn, codes_of
from tclose.table.kept_apart import allowed_nodes, blocks_of_days, blocks_of_leaves, numbered_blocks, reach_of
from tclose.table.reading import Reader, texts

Places = NDArray[np.int32]
Integers = NDArray[np.int64]
MOST_POSITIONS = 256  # of kind digits, each of which is an axis; no number for someone or something comes near


def build_axes(reader: Reader, column: CodedColumn, quasi: Quasi, schema: Schema) -> list[tuple[Axis, Places]]:
    """The axes of one quasi-identifier, each with the place of every row."""
    found = _build_axes(reader, column, quasi, schema)
    if quasi.weight == 1:
        return found
    return [(replace(axis, column_weight=Fraction(quasi.weight)), places) for axis, places in found]


def _build_axes(reader: Reader, column: CodedColumn, quasi: Quasi, schema: Schema) -> list[tuple[Axis, Places]]:
    share, form = schema.shares[quasi.column], schema.written_form(quasi)
    if quasi.kind == "digits":
        return _digits(reader, column, share)
    if form is None and column.values.dtype.is_numeric() and quasi.kind == "categorical" and not quasi.hierarchy:
        form = schema.number_form()  # a category that is a number by its type is called by it
    if schema.recode == "suppress":
        return [_tree(reader, _plain(reader, column, quasi), None, share, form)]
    if quasi.kind == "text":
        axis, places = _text(reader, column, quasi, share)
        return [(replace(axis, builder=_builder(quasi)), places)]
    if isinstance(form, DateForm) and quasi.kind == "date":
        span, places = _date(reader, column, quasi, share, form)
        return [(replace(span, builder=_builder(quasi)), places)]
    if isinstance(form, NumberForm) and quasi.kind == "numeric":
        span, places = _numeric(reader, column, quasi, share, form)
        return [(replace(span, builder=_builder(quasi)), places)]
    is_limited = quasi.coarsest is not None or quasi.finest is not None
    if quasi.hierarchy is None or isinstance(quasi.hierarchy, Hierarchy):
        labels = _as_texts(column, column.values)
        if is_limited and quasi.hierarchy is None:
            _refuse_stars(reader, labels)
        return [_tree(reader, labels, quasi.hierarchy, share, form, quasi)]
    labels = _spelled_for(quasi.hierarchy, reader, column)
    if is_limited:
        _refuse_stars(reader, labels)
    return [_tree(reader, labels, quasi.hierarchy.build(labels.values.drop_nulls().to_list()), share, form, quasi)]


def _builder(quasi: Quasi) -> Builder | None:
    return None if isinstance(quasi.hierarchy, Hierarchy) else quasi.hierarchy


def _plain(reader: Reader, column: CodedColumn, quasi: Quasi) -> CodedColumn:
    """The column as the text under which a value is kept or hidden."""
    if isinstance(quasi.hierarchy, Intervals | Dates):
        return _spelled_for(quasi.hierarchy, reader, column)
    if quasi.kind == "numeric":
        return _as_texts(column, reader.numbers(column).texts())
    return _as_texts(column, reader.dates(column, quasi.format) if quasi.kind == "date" else column.values)


def _spelled_for(builder: Builder, reader: Reader, column: CodedColumn) -> CodedColumn:
    """The column as the text a builder understands: plain numbers, ISO dates."""
    if isinstance(builder, Intervals):
        return _as_texts(column, reader.numbers(column).texts())
    return _as_texts(column, reader.dates(column, None) if isinstance(builder, Dates) else column.values)


def _as_texts(column: CodedColumn, values: pl.Series) -> CodedColumn:
    return column.with_values(texts(values.alias(column.name)))


def _tree(
    reader: Reader,
    labels: CodedColumn,
    hierarchy: Hierarchy | None,
    share: Fraction,
    form: NumberForm | DateForm | None = None,
    quasi: Quasi | None = None,
) -> tuple[TreeAxis, Places]:
    """The axis of a tree, cut off and kept apart as the limits of a quasi-identifier say, if there are any."""
    if hierarchy is None:
        hierarchy = Hierarchy.flat(labels.values.drop_nulls().to_list())
    codes = codes_of(labels.values, pl.Series(hierarchy.leaves, dtype=pl.String))
    missing = labels.values.is_null().to_numpy()
    absent = (codes < 0) & ~missing
    if absent.any():
        fix = "Add them to the hierarchy, or list them under `missing_values`."
        raise reader.refuse(labels, absent, "are not in its hierarchy", fix)
    allowed = None
    if quasi is not None and quasi.coarsest is not None:
        allowed = allowed_nodes(hierarchy, quasi.coarsest)
    if quasi is not None and quasi.finest and len(hierarchy.leaves):
        hierarchy, codes, allowed = _cut(hierarchy, codes, allowed, quasi.finest)
    axis, places = _tree_axis(labels, hierarchy, codes, share, form)
    if allowed is not None and len(hierarchy.leaves):
        axis = replace(axis, blocks=blocks_of_leaves(hierarchy, allowed, axis.leaves, axis.missing, axis.column))
    return axis, places


def _tree_axis(
    labels: CodedColumn,
    hierarchy: Hierarchy,
    codes: NDArray[Any],
    share: Fraction,
    form: NumberForm | DateForm | None = None,
) -> tuple[TreeAxis, Places]:
    """The axis of a tree of which each value has a leaf, -1 where it is missing."""
    missing = codes < 0
    counts = np.zeros(len(hierarchy.leaves), np.int64)
    np.add.at(counts, codes[~missing], labels.counts[~missing])
    order = hierarchy.by_frequency(counts)
    ranks = np.empty(len(order) + 1, np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    ranks[-1] = len(order)  # code -1, missing, is the last place
    axis = TreeAxis(labels.name, share, hierarchy, hierarchy.leaf_nodes[order], bool(missing.any()), form=form)
    return axis, labels.spread(ranks[codes])


def _cut(
    hierarchy: Hierarchy, codes: NDArray[Any], allowed: NDArray[np.bool_] | None, level: int
) -> tuple[Hierarchy, NDArray[Any], NDArray[np.bool_] | None]:
    """The tree without what is finer than a level, the leaf of each value in it, and which of its nodes are allowed."""
    tree, nodes = hierarchy.cut(level)
    above = hierarchy.leaf_nodes.copy()
    while (lost := nodes[above] < 0).any():
        above[lost] = hierarchy.parents[above[lost]]
    leaf_of = np.full(len(tree.labels), -1, np.int64)
    leaf_of[tree.leaf_nodes] = np.arange(len(tree.leaf_nodes))
    found = np.where(codes < 0, -1, leaf_of[nodes[above]][np.maximum(codes, 0)])
    return tree, found, None if allowed is None else allowed[nodes >= 0]


def _refuse_stars(reader: Reader, labels: CodedColumn) -> None:
    """Limits count the characters that are shown: a star of a value could not be told from one that hides some."""
    starred = labels.values.str.ends_with("*").fill_null(False).to_numpy()
    if starred.any():
        fix = "A star stands for what a release hides; `coarsest` and `finest` need values without one at their end."
        raise reader.refuse(labels, starred, "end in a star", fix)


def _text(reader: Reader, column: CodedColumn, quasi: Quasi, share: Fraction) -> tuple[TreeAxis, Places]:
    labels = _as_texts(column, column.values)
    if quasi.finest is None and quasi.coarsest is None:
        return _tree(reader, labels, Hierarchy.from_prefixes(labels.values.drop_nulls()), share)
    _refuse_stars(reader, labels)
    hierarchy = Hierarchy.from_prefixes(labels.values.drop_nulls(), quasi.finest)
    shown = labels.values if quasi.finest is None else labels.values.str.slice(0, quasi.finest)
    beginnings = sorted(set(shown.drop_nulls()))  # the leaves, in their order
    axis, places = _tree_axis(labels, hierarchy, codes_of(shown, pl.Series(beginnings, dtype=pl.String)), share)
    if quasi.coarsest is None or not len(hierarchy.leaves):
        return axis, places
    kept = np.array([beginning[: int(quasi.coarsest)] for beginning in beginnings], object)
    leaf_of = np.full(len(hierarchy.labels), -1, np.int64)
    leaf_of[hierarchy.leaf_nodes] = np.arange(len(beginnings))
    of_places = kept[leaf_of[axis.leaves]]
    return replace(axis, blocks=numbered_blocks(of_places[1:] != of_places[:-1], len(kept), axis.missing)), places


def _digits(reader: Reader, column: CodedColumn, share: Fraction) -> list[tuple[Axis, Places]]:
    labels = _as_texts(column, column.values)
    widths = labels.values.str.len_chars()
    width = int(widths.max() or 0)  # type: ignore[arg-type]
    if width > MOST_POSITIONS:
        long = (widths > MOST_POSITIONS).fill_null(False).to_numpy()
        fix = "Kind digits looks at each position; give the column kind text or categorical."
        raise reader.refuse(labels, long, f"are longer than {MOST_POSITIONS} characters", fix)
    uneven = (widths != width).fill_null(False).to_numpy()
    if uneven.any():
        raise reader.refuse(labels, uneven, "are shorter than the longest", "Kind digits needs texts of one length.")
    axes: list[tuple[Axis, Places]] = []
    for position in range(width):
        axis, places = _tree(reader, labels.with_values(labels.values.str.slice(position, 1)), None, share / width)
        axes.append((replace(axis, position=position), places))
    if not axes:  # all missing
        axes.append(_tree(reader, labels, None, share))
    return axes


def _numeric(
    reader: Reader, column: CodedColumn, quasi: Quasi, share: Fraction, form: NumberForm
) -> tuple[SpanAxis, Places]:
    numbers = reader.numbers(column)
    assert not isinstance(quasi.coarsest, str)
    limits = [quasi.bottom, quasi.top, *(quasi.range or (None, None)), quasi.step, quasi.coarsest]
    known, (bottom, top, low, high, step, width) = numbers.known.beside(limits)
    distinct, inverse = np.unique(known.integers, return_inverse=True)
    _check_range(reader, column, numbers.missing, known.integers, (low, high))
    snapped = (distinct, distinct) if step is None else (distinct // step * step, -(-distinct // step) * step)
    missing = bool(numbers.missing.any())
    axis, ends = _span_axis(
        column.name, share, distinct, snapped, (bottom, top), (low, high), missing, known.places, form
    )
    if width is not None:
        reach = reach_of(*ends, width, quasi)
        apart = reach[:-1] < np.arange(1, len(reach))  # from here on nothing may be mixed with what is before
        axis = replace(axis, reach=reach, blocks=numbered_blocks(apart, len(reach), missing))
    return axis, column.spread(_fill(numbers.missing, inverse, len(distinct)))


def _date(
    reader: Reader, column: CodedColumn, quasi: Quasi, share: Fraction, form: DateForm
) -> tuple[SpanAxis, Places]:
    dates = reader.dates(column, quasi.format)
    missing = dates.is_null().to_numpy()
    days = dates.to_physical().fill_null(0).to_numpy().astype(np.int64)
    distinct, inverse = np.unique(days[~missing], return_inverse=True)
    limits = [
        None if limit is None else _day(limit) for limit in (quasi.bottom, quasi.top, *(quasi.range or (None,) * 2))
    ]
    _check_range(reader, column, missing, days[~missing], (limits[2], limits[3]))
    axis, ends = _span_axis(
        column.name,
        share,
        distinct,
        _snap_days(distinct, quasi.step),
        (limits[0], limits[1]),
        (limits[2], limits[3]),
        bool(missing.any()),
        None,
        form,
    )
    if quasi.coarsest is not None:
        axis = replace(axis, blocks=blocks_of_days(*ends, str(quasi.coarsest), axis.missing, quasi))
    return axis, column.spread(_fill(missing, inverse, len(distinct)))


def _span_axis(
    column: str,
    share: Fraction,
    numbers: NDArray[Any],
    snapped: tuple[NDArray[Any], NDArray[Any]],
    tails: tuple[int | None, int | None],
    limits: tuple[int | None, int | None],
    missing: bool,
    decimals: int | None,
    form: NumberForm | DateForm,
) -> tuple[SpanAxis, tuple[NDArray[Any], NDArray[Any]]]:
    """The axis of snapped ends, tails and losses, and the ends, a tail being where it begins.

    `decimals` None means days.

    The range runs between what is released: declared limits, else the outermost snapped ends,
    a tail ending where it begins. So the loss tells nothing about extremes that are not shown.
    """
    bottom, top = tails
    floor = max((limit for limit in (bottom, limits[0]) if limit is not None), default=None)
    ceiling = min((limit for limit in (top, limits[1]) if limit is not None), default=None)
    lows, highs = np.clip(snapped[0], floor, ceiling), np.clip(snapped[1], floor, ceiling)
    least = limits[0] if limits[0] is not None else int(lows.min()) if len(lows) else 0
    most = limits[1] if limits[1] is not None else int(highs.max()) if len(highs) else 0
    label = _writer(column, decimals, form)
    low_labels, high_labels = np.array(label(lows), object), np.array(label(highs), object)
    low_ends, high_ends = lows, highs
    if bottom is not None:
        below = numbers < bottom
        low_labels[below] = high_labels[below] = f"<{label(np.array([bottom]))[0]}"
        low_ends, high_ends = np.where(below, least, low_ends), np.where(below, bottom, high_ends)
    if top is not None:
        above = numbers > top
        low_labels[above] = high_labels[above] = f">{label(np.array([top]))[0]}"
        low_ends, high_ends = np.where(above, top, low_ends), np.where(above, most, high_ends)
    one = len(numbers) <= 1 and limits[0] is None  # one value tells all
    scale = max(most - least, 1)
    low_share, high_share = (
        np.zeros(len(numbers)) if one else ((ends - least) / scale).astype(np.float64) for ends in (low_ends, high_ends)
    )
    clipped = np.clip(numbers, bottom, top)
    axis = SpanAxis(
        column,
        share,
        low_share,
        high_share,
        low_labels,
        high_labels,
        clipped,
        decimals or 0,
        missing,
        decimals is None,
        scale=int(scale),
        form=form,
    )
    return axis, (lows, highs)


def _writer(column: str, decimals: int | None, form: NumberForm | DateForm) -> Callable[[NDArray[Any]], list[str]]:
    """Writes numbers over 10^`decimals`, or days, as they are released."""
    if isinstance(form, NumberForm):
        return lambda given: [form.write(text(number, decimals or 0)) for number in given.tolist()]

    def write(days: NDArray[Any]) -> list[str]:
        try:
            return form.write(days.tolist())
        except ValueError:
            raise TableError(
                f"Column '{column}': its format has years of two digits, which stand for 1969 to 2068, and `step`, "
                "`bottom`, `top` or `range` lead beyond. Choose others, or write years with four digits."
            ) from None

    return write


def _check_range(
    reader: Reader, column: CodedColumn, missing: NDArray[np.bool_], known: NDArray[Any], limits: tuple[Any, Any]
) -> None:
    """Refuse values outside the declared range; `known` are those that are not missing."""
    low, high = limits
    if low is None or high is None:
        return
    outside = np.zeros(len(missing), bool)
    outside[~missing] = (known < low) | (known > high)
    if outside.any():
        fix = "Widen `range`, or fix them."
        raise reader.refuse(column, outside, "lie outside the range that the schema declares", fix)


def _fill(missing: NDArray[np.bool_], inverse: NDArray[Any], last: int) -> Places:
    places = np.full(len(missing), last, np.int32)
    places[~missing] = inverse
    return places


def _day(given: Any) -> int:
    if not isinstance(given, date):
        raise TableError("A limit of a date must be a date.")
    return (given - date(1970, 1, 1)).days


def _snap_days(days: Integers, step: Any) -> tuple[Integers, Integers]:
    """The first and last day of the period each day lies in."""
    if step is None or step == "day":
        return days, days
    if not isinstance(step, str):
        return _in_calendar(days, days // step * step, days // step * step + step - 1)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    length = {"month": 1, "quarter": 3, "year": 12}[step]
    first = months // length * length
    ends = [
        (month.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) for month in (first, first + length)
    ]
    return _in_calendar(days, ends[0], ends[1] - 1)


def _in_calendar(days: Integers, first: Integers, last: Integers) -> tuple[Integers, Integers]:
    """The same ends, none of them outside the years 1 to 9999 unless the day itself is."""
    return np.minimum(days, np.maximum(first, _day(date.min))), np.maximum(days, np.minimum(last, _day(date.max)))
