"""Truth: every released cell covers its original, and sensitive and kept values are what they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.calendar_times import clocks_of, moments_of
from tclose.verification.cell_meanings import missing_among, names_of
from tclose.verification.covering import HIDDEN, Originals, covered, limits_of, read_originals
from tclose.verification.distinct_values import FactoredColumn, factorize
from tclose.verification.exact_numbers import numbers_of
from tclose.verification.mean_truth import wrong_means
from tclose.verification.persons import read_units
from tclose.verification.picked_rows import picked_rows
from tclose.verification.released_classes import Grouping, group_rows
from tclose.verification.released_forms import ReleasedForm
from tclose.verification.released_spans import PLAIN, Span, is_as_declared, read_span, within
from tclose.verification.sensitive_domains import factored_column
from tclose.verification.value_pairs import distinct_pairs, rows_of_pairs

ExactPoint = tuple[str, int, int]  # what it is, and an integer over a power of ten
Rule = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]


def truth_problems(
    original: Source,
    released: Source,
    schema: Schema,
    rows: NDArray[np.int64] | None = None,
    groups: Grouping | None = None,
) -> list[str]:
    """What a release says that its original does not bear out: sentences that name columns and rows, never a cell.

    Parameters
    ----------
    released
        The release, whose columns are as the schema says.
    rows
        The row of the original that each released row came from; None if they are the same in the same order.
    groups
        The class of each row, where more is known of it than that rows of a class are released alike.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    >>> original = Source.of(pl.DataFrame({"age": [20, 30, 40]}))
    >>> truth_problems(original, Source.of(pl.DataFrame({"age": ["[20, 30]", "[20, 30]", "41"]})), schema)
    ["Column 'age': 1 row is released as a value that does not cover it (row 2)."]
    """
    check = _Truth(original, released, schema, rows, groups)
    problems = list(check.wrong_rows())
    if problems:
        return problems
    for quasi in schema.quasi:
        problems += check.wrong_cells(quasi)
    for name in (*(each.column for each in schema.sensitive), *schema.keep):
        problems += check.changed(name)
    return problems


def changed_values(original: Source, released: Source, schema: Schema) -> list[str]:
    """What sensitive and kept columns say that those of another table, row by row, do not."""
    check = _Truth(original, released, schema, None, None)
    names = (*(each.column for each in schema.sensitive), *schema.keep)
    return [*check.wrong_rows(), *(problem for name in names for problem in check.changed(name))]


def rows_lacking_values(original: Source, schema: Schema, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows of an original lack a quasi-identifier or a sensitive value."""
    found = np.zeros(len(rows), bool)
    columns: list[Quasi | Sensitive] = [*schema.quasi, *schema.sensitive]
    for column in columns:
        values = factorize(original.column(column.column))
        gone = missing_among(values.values, schema.missing_values, column.is_measured, schema.decimal)
        found |= np.append(gone, True)[values.codes[rows]]
    return found


def same_combinations(
    original: Source, released: Source, schema: Schema, names: list[str], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A number for what columns say together in each of some rows of the original, and in each released row.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"q": {"kind": "text"}},
    ...     "sensitive": {"pay": {"distance": "ordered", "t": 1}}})
    >>> original, released = (Source.of(pl.DataFrame({"pay": pay})) for pay in (["1.0", "2", "3"], [2, 1]))
    >>> before, after = (each.tolist() for each in same_combinations(original, released, schema, ["pay"], np.arange(3)))
    >>> before[1] == after[0], before[0] == after[1], before[2] in after
    (True, True, False)
    """
    check = _Truth(original, released, schema, None, None)
    before, after = np.zeros(len(rows), np.int64), np.zeros(released.n_rows, np.int64)
    for name in names:
        own, shown = check.same_values(name, rows)
        bound = int(max(own.max(initial=0), shown.max(initial=0))) + 1
        both = np.unique(np.concatenate([before * bound + own, after * bound + shown]), return_inverse=True)[1]
        before, after = both[: len(before)], both[len(before) :]
    return before, after


@dataclass(frozen=True, eq=False)
class ColumnFit:
    """A released column beside the quasi-identifier it shows.

    Attributes
    ----------
    released, originals
        The values of both.
    rule
        Whether released value number `at` may stand for original number `which`, pair by pair; -1 is no value.
    """

    released: FactoredColumn
    originals: FactoredColumn
    rule: Rule


def fits_of(
    original: Source, released: Source, schema: Schema, quasi: Quasi, rows: NDArray[np.int64]
) -> list[ColumnFit]:
    """Which released values of a quasi-identifier may stand for which of those in some rows of the original.

    One for each released column, and one for bounds that are both empty; none for means, which stand for no single row.
    """
    if quasi.publish == "mean":
        return []
    check = _Truth(original, released, schema, rows, None)
    values = factorize(check.taken(quasi.column))
    originals = read_originals(values.values, quasi, schema)
    empty = [check.empty_bounds(quasi, values, originals)] if quasi.publish == "bounds" else []
    return [*check.fits(quasi, values, originals), *empty]


class _Truth:
    """An original and its release, row by row."""

    def __init__(
        self,
        original: Source,
        released: Source,
        schema: Schema,
        rows: NDArray[np.int64] | None,
        groups: Grouping | None,
    ) -> None:
        self.original, self.released, self.schema, self.rows = original, released, schema, rows
        self.groups = groups

    def wrong_rows(self) -> Iterator[str]:
        """Whether each row of the original is there once, but for those left out under `missing` or `unit_rows`."""
        n_original, n_released = self.original.n_rows, self.released.n_rows
        if self.rows is None:
            if n_original != n_released:
                told = " Give the rows of it that were picked." if self.schema.unit_rows == "one" else ""
                yield f"The release has {n_released} rows, and its original {n_original}.{told}"
            return
        if len(self.rows) != n_released or (
            len(self.rows) and not 0 <= self.rows.min() <= self.rows.max() < n_original
        ):
            yield f"The {n_released} released rows do not come from {n_original} original ones."
            return
        times = np.bincount(self.rows, minlength=n_original)
        if (times > 1).any():
            yield f"{int((times > 1).sum())} rows of the original are released more than once."
        left_out = np.flatnonzero(times == 0)
        if self.schema.unit_rows == "one":
            yield from self._wrong_picks(times > 0)
        elif self.schema.suppress_rows is not None:
            return  # `left_out_check` judges them
        elif len(left_out) and self.schema.missing != "drop":
            yield f'{len(left_out)} rows of the original are left out, and that is for `missing = "drop"` only.'
        elif len(left_out):
            complete = left_out[~self._has_missing(left_out)]
            if len(complete):
                yield f"{len(complete)} rows of the original without a missing value are left out."

    def _wrong_picks(self, released: NDArray[np.bool_]) -> Iterator[str]:
        """Whether one row of every person is released, but for persons of whom a row lacks a value under `drop`."""
        units = read_units(self.original, self.schema)
        if units is None:
            yield f"The original has no column '{self.schema.unit}', so it is not known whose a row is."
            return
        rows_of = np.bincount(units.codes[released], minlength=units.n)
        if (rows_of > 1).any():
            several = int((rows_of > 1).sum())
            yield f"Of {several} of the persons several rows are released, and one of each is to be kept."
        picked = picked_rows(self.original, self.schema)
        if picked is not None and (wrong := int((released & ~picked).sum())):
            yield (
                f"Of {wrong} of the persons another row is released than the {self.schema.unit_pick} by "
                f"'{self.schema.unit_order}'."
            )
        absent = rows_of == 0
        if self.schema.missing == "drop" and absent.any():
            lacking = np.flatnonzero(absent[units.codes] & (True if picked is None else picked))
            absent[units.codes[lacking[self._has_missing(lacking)]]] = False
        if absent.any():
            yield f"Of {int(absent.sum())} of the persons no row is released, and one of each is to be kept."

    def _has_missing(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows of the original lack a quasi-identifier or a sensitive value."""
        return rows_lacking_values(self.original, self.schema, rows)

    def _missing(self, values: pl.Series, column: Quasi | Sensitive) -> NDArray[np.bool_]:
        return missing_among(values, self.schema.missing_values, column.is_measured, self.schema.decimal)

    def same_values(self, name: str, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A number for the value of a column in each of these rows of the original, and in each released row."""
        one = factored_column(self.released.column(name))
        other = factored_column(self.original.column(name).gather(pl.Series(rows)))
        same = self._translated(one, other, name)
        alone = len(one.values) + np.arange(len(same))  # values that no released row has
        numbers = np.append(np.where(same == -2, alone, same), -1)
        return numbers[other.codes] + 1, one.codes.astype(np.int64) + 1

    def taken(self, name: str) -> pl.Series:
        """A column of the original in the order of the release."""
        column = self.original.column(name)
        return column if self.rows is None else column.gather(pl.Series(self.rows))

    def sentence(self, name: str, wrong: NDArray[np.int64], what: str) -> list[str]:
        """A problem of some rows of a column; nothing if there are none."""
        if not len(wrong):
            return []
        many = "1 row is" if len(wrong) == 1 else f"{len(wrong)} rows are"
        return [f"Column '{name}': {many} {what} ({self.released.name_rows(wrong)})."]

    def wrong_cells(self, quasi: Quasi) -> list[str]:
        """The rows that a released quasi-identifier does not cover."""
        values = factorize(self.taken(quasi.column))
        originals = read_originals(values.values, quasi, self.schema)
        if quasi.publish == "bounds":
            return self._wrong_bounds(quasi, values, originals)
        if quasi.publish == "mean":
            released = factored_column(self.released.column(quasi.column))
            names, form = names_of(released.values), ReleasedForm.of(released.values, quasi, self.schema)
            groups = self.groups or group_rows(self.released, self.schema.released_quasi)
            wrong = wrong_means(groups, quasi, released, names, values, originals, form)
            return self.sentence(quasi.column, wrong, "released as something else than the mean of its class")
        return self.sentence(
            quasi.column, self._unfit(quasi, values, originals), "released as a value that does not cover it"
        )

    def fits(self, quasi: Quasi, values: FactoredColumn, originals: Originals) -> list[ColumnFit]:
        """The released columns of a quasi-identifier that is not published as a mean."""
        columns = [factored_column(self.released.column(name)) for name in quasi.released]
        return [
            ColumnFit(column, values, self._end_rule(quasi, place, column, originals))
            if quasi.publish == "bounds"
            else ColumnFit(column, values, self._cover_rule(quasi, column, originals))
            for place, column in enumerate(columns)
        ]

    def empty_bounds(self, quasi: Quasi, values: FactoredColumn, originals: Originals) -> ColumnFit:
        """Two empty bounds are a missing value where there are any: those that are open at both ends have stars."""
        ends = [factored_column(self.released.column(name)).codes == -1 for name in quasi.released]
        shown = FactoredColumn(np.where(ends[0] & ends[1], 0, -1).astype(np.int32), pl.Series(["both empty"]))
        no_value = np.append(originals.missing, True)
        if not no_value[values.codes].any():
            return ColumnFit(shown, values, lambda at, which: np.ones(len(at), bool))
        return ColumnFit(shown, values, lambda at, which: (at == -1) | no_value[which])

    def _cover_rule(self, quasi: Quasi, released: FactoredColumn, originals: Originals) -> Rule:
        names, form = names_of(released.values), ReleasedForm.of(released.values, quasi, self.schema)
        return lambda at, which: covered(names, at, originals, which, quasi, self.schema.recode, form)

    def _end_rule(self, quasi: Quasi, place: int, end: FactoredColumn, originals: Originals) -> Rule:
        """A low bound is no higher, a high bound no lower; only a declared end is open."""
        names, form = names_of(end.values), ReleasedForm.of(end.values, quasi, self.schema)
        spans = [one_sided(text, quasi, place, form) for text in names]
        is_open = limits_of(quasi)[place] is not None

        def rule(at: NDArray[np.int64], which: NDArray[np.int64]) -> NDArray[np.bool_]:
            no_original = np.append(originals.missing, True)[which]
            hidden = np.array([*(text == HIDDEN for text in names), False], bool)[at]
            fine: NDArray[np.bool_] = hidden | ((at == -1) & (no_original | is_open))
            rest = np.flatnonzero(~fine & (at >= 0) & ~no_original)
            fine[rest] = within(spans, at[rest], originals.points, which[rest]) & originals.readable[which[rest]]
            return fine

        return rule

    def _unfit(self, quasi: Quasi, values: FactoredColumn, originals: Originals) -> NDArray[np.int64]:
        """The rows of which a released column does not fit."""
        wrong = np.zeros(self.released.n_rows, bool)
        for fit in self.fits(quasi, values, originals):
            at, which = distinct_pairs(fit.released, values)
            bad = ~fit.rule(at, which)
            wrong[rows_of_pairs(fit.released, values, at[bad], which[bad])] = True
        return np.flatnonzero(wrong)

    def _wrong_bounds(self, quasi: Quasi, values: FactoredColumn, originals: Originals) -> list[str]:
        """Bounds cover each row; one without a value is so on both sides, and looks like no other."""
        problems = self.sentence(
            quasi.column, self._unfit(quasi, values, originals), "released between bounds that do not cover it"
        )
        ends = [factored_column(self.released.column(name)) for name in quasi.released]
        no_value = np.append(originals.missing, True)[values.codes]
        both_empty = (ends[0].codes == -1) & (ends[1].codes == -1)
        half = np.flatnonzero(no_value & ((ends[0].codes == -1) != (ends[1].codes == -1)))
        problems += self.sentence(quasi.column, half, "without a value and released with one bound")
        if (both_empty & no_value).any() and (both_empty & ~no_value).any():
            unclear = np.flatnonzero(both_empty & no_value)
            problems += self.sentence(quasi.column, unclear, "without a value and look like ones open at both ends")
        return problems

    def changed(self, name: str) -> list[str]:
        """The rows whose value of a column is another one than before."""
        before, after = self.taken(name), self.released.column(name)
        if before.dtype == after.dtype and before.equals(after.alias(before.name), null_equal=True):
            return []
        one, other = factored_column(after), factored_column(before)
        at, which = distinct_pairs(one, other)
        same = np.append(self._translated(one, other, name), -1)
        bad = same[which] != at
        return self.sentence(name, rows_of_pairs(one, other, at[bad], which[bad]), "released as another value")

    def _translated(self, one: FactoredColumn, other: FactoredColumn, name: str) -> NDArray[np.int64]:
        """The number among the released values of each original one; -1 is none, -2 one that is not there.

        Values are the same if they are called the same. Where the attribute is read as numbers or times, or one side
        is text and the other is not, they are the same too if they are the same number or the same moment.
        """
        places = {text: place for place, text in enumerate(names_of(one.values))}
        found = np.array([places.get(text, -2) for text in names_of(other.values)], np.int64)
        column = next((each for each in self.schema.sensitive if each.column == name), None)
        by_value = one.values.dtype != other.values.dtype or (column is not None and column.is_measured)
        if by_value and (found == -2).any():
            signs = self.schema.decimal, self.schema.thousands
            form = None if column is None else column.format
            points = [_points(each.values, *signs, form) for each in (one, other)]
            known = {point: place for place, point in enumerate(points[0]) if point is not None}
            for place in np.flatnonzero(found == -2).tolist():
                point = points[1][place]
                found[place] = -2 if point is None else known.get(point, -2)
        if column is not None and (found == -2).any():
            gone = self._missing(other.values, column)  # a spelling of missing may be released as an empty cell
            found[gone & (found == -2)] = -1
        return found


def _points(values: pl.Series, mark: str, thousands: str, form: str | None) -> list[ExactPoint | None]:
    """Moments, times of day or numbers of values, with what they are, in lowest terms; None where it is none of them.

    Examples
    --------
    >>> _points(pl.Series(["1970-01-02", "1970-01-03"]), ".", "", None), _points(pl.Series([86400.0]), ".", "", None)
    ([('moment', 86400, 0), ('moment', 172800, 0)], [('number', 86400, 0)])
    """
    moments, clocks = moments_of(values, form), clocks_of(values)
    known = np.ones(len(values), bool)
    if moments is not None:
        numbers, what = moments[0], "zoned moment" if moments[1] else "moment"
    elif clocks is not None:
        numbers, what = clocks, "time of day"
    else:
        (numbers, known), what = numbers_of(values, mark, thousands), "number"
    found: list[ExactPoint | None] = []
    for integer, is_known in zip(numbers.integers.tolist(), known.tolist(), strict=True):
        places, number = numbers.places, int(integer)
        while places and number % 10 == 0:
            places, number = places - 1, number // 10
        found.append((what, number, places) if is_known else None)
    return found


def one_sided(text: str, quasi: Quasi, place: int, form: ReleasedForm = PLAIN) -> Span | None:
    """What a low (place 0) or high bound covers: all from it up, or down to it; None if the schema allows none such.

    Examples
    --------
    >>> one_sided("20", Quasi("age", "numeric", step=5, publish="bounds"), 0)
    Span(low=Fraction(20, 1), high=None, below=None, above=None, strict=False)
    """
    span = read_span(text, quasi.kind == "date", form)
    if span is None or not span.is_single:
        return None
    side = Span(span.low, None) if place == 0 else Span(None, span.high)
    return side if is_as_declared(side, quasi, limits_of(quasi)) else None
