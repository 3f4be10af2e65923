"""The verdict: whether a released table keeps every promise of its schema, and what it does not keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError, VerificationError
from tclose.schema.columns import Quasi
from tclose.schema.schema import Schema
from tclose.table.column_names import MOST_SHOWN, numbered
from tclose.table.source import Source
from tclose.verification.belief_rises import ReachedRise
from tclose.verification.beside_original import BesideOriginal, compare_with_original
from tclose.verification.class_diversity import LeastDiversity
from tclose.verification.column_widths import limit_problems
from tclose.verification.distinct_values import TEXTS, FactoredColumn, factorize
from tclose.verification.measure_release import Measured, measure
from tclose.verification.person_rises import rises_as_dict, rises_in_persons
from tclose.verification.persons import RowPersons, read_units
from tclose.verification.released_classes import group_rows
from tclose.verification.sensitive_domains import factored_column
from tclose.verification.single_spellings import missing_spellings, spelling_problems, value_spelling_problems

KEPT = "Kept columns"  # how the sentence begins that a release without them would not deserve


@dataclass(frozen=True)
class Judgement:
    """What a release keeps of its promise.

    Attributes
    ----------
    k, t, l
        What it reaches; without t and l where it could not be measured.
    problems
        A sentence for each promise it breaks, naming the attribute, what is reached and what is asked.
    measured
        All that was measured; None if a column is not there or not readable.
    persons
        The persons of the class that has fewest, where the original says whose a row is; else None.
    person_rises
        Of each sensitive attribute, how far shares of persons with a value rise, where persons are counted and known.
    beside_original
        What the original says of it; None where it was not at hand.
    """

    k: int
    t: dict[str, Fraction]
    l: dict[str, LeastDiversity]  # noqa: E741 - the name of the field's literature
    problems: list[str]
    measured: Measured | None = field(default=None, repr=False)
    persons: int | None = None
    person_rises: dict[str, ReachedRise] = field(default_factory=dict)
    beside_original: BesideOriginal | None = None

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return not self.problems

    def unchecked(self, schema: Schema) -> dict[str, str]:
        """What could not be judged, with the reason: rows left out, truth row by row, what is promised in persons."""
        if self.beside_original is not None:
            found = dict(self.beside_original.unchecked)
        else:
            found = {"suppress_rows": "only the original shows which rows are left out"} if schema.suppress_rows else {}
        if found or not schema.counts_persons or self.persons is not None:
            return found
        capped = [each.column for each in schema.sensitive if each.caps is not None]
        told = f"k, and the caps of {', '.join(map(repr, capped))}," if capped else "k"
        verb = "are" if capped else "is"
        return {"persons": f"{told} {verb} promised in persons, and only the original says whose a row is"}

    def persons_as_dict(self) -> dict[str, Any]:
        """What was counted in persons, as JSON has it; empty where it is not known whose a row is."""
        if self.persons is None:
            return {}
        return {"k": self.persons, **(rises_as_dict(self.person_rises) if self.person_rises else {})}


def judge(
    source: Source,
    schema: Schema,
    original: Source | None = None,
    rows: NDArray[np.int64] | None = None,
    in_order: bool | None = None,
) -> Judgement:
    """Judge a released table by its values alone, and by its original if that is given.

    Parameters
    ----------
    original
        The table that was released. Where it has the unit of the schema, k is judged in persons too.
    rows
        The row of the original that each released row came from, if that is known.
    in_order
        Whether the rows are said to stand in the order of the original, or in another; None if nothing is said.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 3, "quasi": {"age": {"kind": "numeric"}},
    ...     "sensitive": {"ill": {"distance": "equal", "t": 0.2}}})
    >>> table = pl.DataFrame({"age": ["20", "20", "[30, 40]", "[30, 40]"], "ill": ["a", "b", "a", "a"]})
    >>> for problem in judge(Source.of(table), schema).problems:
    ...     print(problem)
    The smallest class has 2 rows, and k is 3.
    t of 'ill': the farthest class is at a distance of 1/4 = 0.25 from the table, and t is 1/5 = 0.2.
    """
    problems = list(wrong_columns(source, schema))
    present = set(source.names)
    absent = [name for name in needed_columns(schema) if name not in present]
    if absent:
        return Judgement(0, {}, {}, problems)
    problems += spelling_problems(source, needed_columns(schema))
    problems += _value_spellings(source, schema)
    problems += _missing_cells(source, schema)
    problems += limit_problems(source, schema)
    try:
        found = measure(source, schema, keep_classes=original is not None)
    except TableError as error:
        smallest = group_rows(source, schema.released_quasi).smallest
        return Judgement(smallest, {}, {}, [*problems, str(error)])
    problems += broken_promises(found, schema)
    beside, units = None, None
    try:
        if original is not None:
            beside = compare_with_original(original, source, schema, rows, in_order)
            units = _units_of(source, schema, original, beside.rows)
    except TableError as error:
        problems.append(str(error))
    persons = None if units is None else units.fewest(found.grouping)
    problems += _few_persons(persons, found, schema)
    in_persons = {} if units is None or not schema.counts_persons else rises_in_persons(found, schema, units)
    problems += _broken_caps(in_persons, schema, " in persons")
    problems += _told_by_kept(source, schema, found, units)
    problems += [
        f"'{name}': {_rows(count)} no value, and the schema does not say missing = \"category\"."
        for name, count in found.n_missing.items()
        if count and schema.missing != "category"
    ]
    if beside is None:
        return Judgement(found.k, found.t, found.l, problems, found)
    problems += beside.problems
    return Judgement(found.k, found.t, found.l, problems, found, persons, in_persons, beside)


def check_release(
    source: Source, schema: Schema, original: Source | None = None, rows: NDArray[np.int64] | None = None
) -> Measured:
    """Judge a released table, and raise if it does not keep its promise; the parameters are those of `judge`.

    Raises
    ------
    VerificationError
        A promise is broken; the message says which.
    """
    found = judge(source, schema, original, rows)
    if found.problems or found.measured is None:
        raise VerificationError(" ".join(["The table does not keep its promise.", *found.problems]))
    return found.measured


def _units_of(source: Source, schema: Schema, original: Source, rows: NDArray[np.int64] | None) -> RowPersons | None:
    """The person of each released row: only the original says it, and only where rows can be matched to it."""
    if (
        rows is None
        or len(rows) != source.n_rows
        or not 0 <= rows.min(initial=0) <= rows.max(initial=-1) < original.n_rows
    ):
        return None
    return read_units(original, schema, rows)


def _few_persons(persons: int | None, found: Measured, schema: Schema) -> Iterator[str]:
    if persons is not None and persons < min(schema.k, found.k):
        yield f"By '{schema.unit}' the rows of some class are those of {_persons(persons)}, and k is {schema.k}."


def needed_columns(schema: Schema) -> tuple[str, ...]:
    """The columns that a release must have."""
    return (*schema.released_quasi, *(each.column for each in schema.sensitive), *schema.keep)


def wrong_columns(source: Source, schema: Schema) -> Iterator[str]:
    """Columns that a release lacks, or must not have."""
    needed, present, identifiers = set(needed_columns(schema)), set(source.names), set(schema.identifiers)
    for name in needed_columns(schema):
        if name not in present:
            yield f"Column '{name}' is part of the release and not in the table."
    others = []
    for place, name in enumerate(source.names):
        if name in identifiers:
            yield f"Column '{name}' is an identifier and must not be released."
        elif name == schema.unit:
            yield f"Column '{name}' tells whose row it is and must not be released."
        elif name not in needed:
            others.append(place)
    if others and 2 * len(needed & present) < len(needed):  # what stands for names may be a row
        yield f"Of the table, {numbered(others)}: not part of the release, or the first line is no header."
        return
    for place in others[:MOST_SHOWN]:
        yield f"Column '{source.names[place]}' is not part of the release."
    if len(others) > MOST_SHOWN:
        yield f"{len(others) - MOST_SHOWN} more columns are not part of the release."


def _value_spellings(source: Source, schema: Schema) -> Iterator[str]:
    """Sensitive columns that spell one value in several ways."""
    for sensitive in schema.sensitive:
        column = source.column(sensitive.column)
        is_text = column.dtype in TEXTS
        if column.dtype.is_nested() or not (schema.missing_values or (is_text and sensitive.is_measured)):
            continue
        values = factorize(column.unique()).values
        yield from value_spelling_problems(sensitive.column, values, bool(missing_spellings(column)), schema)


def _missing_cells(source: Source, schema: Schema) -> Iterator[str]:
    """Empty cells of quasi-identifiers, where the schema knows no missing values and no open end explains them."""
    if schema.missing == "category":
        return
    for quasi in schema.quasi:
        if not any(_may_be_empty(source.column(name)) for name in quasi.released):
            continue
        found = source.each(quasi.released, factored_column)
        empty = [found[name].codes == -1 for name in quasi.released]
        for place, name in enumerate(quasi.released):
            count = int(_unexplained(quasi, found[name], place, empty).sum())
            if count:
                yield f"'{name}': {_rows(count)} no value, and the schema does not say missing = \"category\"."


def _may_be_empty(column: pl.Series) -> bool:
    """Whether some cell is null, a NaN or empty text; far quicker than finding all distinct values."""
    if column.null_count():
        return True
    if column.dtype.is_float():
        return bool(column.is_nan().any())
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.unique().cast(pl.String)
    return column.dtype == pl.String and bool((column.str.len_bytes() == 0).any())


def _unexplained(quasi: Quasi, found: FactoredColumn, place: int, empty: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    if quasi.publish != "bounds":
        return empty[place]
    is_open = (quasi.bottom, quasi.top)[place] is not None
    return empty[place] & np.bool_(not is_open)


def broken_promises(found: Measured, schema: Schema) -> Iterator[str]:
    """A sentence for each promise that the classes of a release do not keep."""
    if found.rows and found.k < schema.k:
        yield f"The smallest class has {_count(found.k)}, and k is {schema.k}."
    asked = [(each.column, each.t) for each in schema.sensitive] + [(each.name, each.t) for each in schema.joint]
    for name, t in asked:
        if t is not None and found.t[name] > t:
            yield (
                f"t of '{name}': the farthest class is at a distance of {_shown(found.t[name])} from the table, "
                f"and t is {_shown(t)}."
            )
    for sensitive in schema.sensitive:
        reached = found.l[sensitive.column]
        for kind, asked_l in sensitive.l.items() if sensitive.l else ():
            if not reached.meets[kind]:
                least = _diverse(getattr(reached, kind))
                yield (
                    f"l of '{sensitive.column}': the least diverse class reaches {kind} {least}, and "
                    f"{_diverse(asked_l)} is asked."
                )

    yield from _broken_caps(found.rises, schema)


def _broken_caps(rises: Mapping[str, ReachedRise], schema: Schema, counted: str = "") -> Iterator[str]:
    """Caps that are broken; `counted` says what shares are of, if not of rows."""
    for sensitive in schema.sensitive:
        caps, reached = sensitive.caps, rises.get(sensitive.column)
        if caps is None or reached is None:
            continue
        what, name = "a value or a node" if caps.levels else "a value", f"'{sensitive.column}'{counted}"
        if caps.rise is not None and not reached.meets["rise"]:
            yield (
                f"rise of {name}: the share of {what} in some class is {_shown(reached.rise)} above that "
                f"in the table, and rise is {_shown(caps.rise)}."
            )
        if caps.beta is not None and not reached.meets["beta"]:
            yield (
                f"beta of {name}: the share of {what} in some class is 1 + b times that in the table, b "
                f"being {_shown(reached.beta)}, and beta is {_shown(caps.beta)}."
            )
        elif caps.enhanced and not reached.meets["enhanced"]:
            yield (
                f"beta of {name}: the share p of {what} in the table is more than 1 - ln p times as high "
                "in some class, which `enhanced` forbids."
            )


def _count(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


def _persons(count: int) -> str:
    return "1 person" if count == 1 else f"{count} persons"


def _rows(count: int) -> str:
    return f"{_count(count)} {'has' if count == 1 else 'have'}"


def _shown(value: Fraction) -> str:
    return f"{value} = {float(value):.6g}" if value.denominator > 1 else str(value)


def _diverse(value: object) -> str:
    if isinstance(value, tuple):
        return f"(c = {'none' if value[0] is None else _shown(value[0])}, l = {value[1]})"
    return _shown(value) if isinstance(value, Fraction) else f"{value:.6g}" if isinstance(value, float) else str(value)


def _told_by_kept(source: Source, schema: Schema, found: Measured, units: RowPersons | None = None) -> Iterator[str]:
    """Kept columns must not divide classes into groups below k."""
    if not schema.keep or schema.keep_unchecked or not found.rows:
        return
    groups = group_rows(source, (*schema.released_quasi, *schema.keep))
    if units is None:
        yield from kept_problem(schema, found, groups.smallest)
    else:
        smallest = units.fewest(groups)
        yield from kept_problem(schema, found, smallest, _persons(smallest))


def kept_problem(schema: Schema, found: Measured, smallest: int, told: str | None = None) -> Iterator[str]:
    """What is wrong if the smallest group by kept columns has so many rows, or what else is `told`."""
    if not schema.keep_unchecked and found.rows and smallest < min(schema.k, found.k):
        yield (
            f"{KEPT} and released quasi-identifiers together single out a group of {told or _count(smallest)}, and k "
            f"is {schema.k}. Make the columns of `keep` quasi-identifiers, or leave them out."
        )
