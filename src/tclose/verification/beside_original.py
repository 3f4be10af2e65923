"""A release beside its original: which row is which where that can be told, truth, and rows that are left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.left_out_check import left_out_problems
from tclose.verification.persons import read_units
from tclose.verification.rows_to_release import persons_to_release, rows_to_release
from tclose.verification.truth import same_combinations, truth_problems
from tclose.verification.unordered_truth import can_match, unordered_problems

NO_ORDER = "the rows are in another order than those of the original"


class BesideOriginal(NamedTuple):
    """What the original says of a release.

    Attributes
    ----------
    problems
        What is wrong, a sentence each.
    unchecked
        What could not be judged, with the reason.
    rows
        The row of the original that each released row came from, where that is known.
    """

    problems: list[str]
    unchecked: dict[str, str]
    rows: NDArray[np.int64] | None

    @property
    def compared(self) -> str | None:
        """How the rows of both were compared: row by row, or matched; None where they were too many."""
        return "row by row" if self.rows is not None else None if "truth" in self.unchecked else "matched"


def compare_with_original(
    original: Source,
    released: Source,
    schema: Schema,
    rows: NDArray[np.int64] | None = None,
    in_order: bool | None = None,
) -> BesideOriginal:
    """Judge the truth of a release, and what it leaves out.

    Rows are compared in the order in which they stand. Where another order is said or none, and the release is not
    true in that one, each row is matched to a row of the original that it fits.

    Parameters
    ----------
    rows
        The row of the original that each released row came from, if that is known.
    in_order
        Whether the rows are said to stand in the order of the original, or in another; None if nothing is said.

    Examples
    --------
    >>> import polars as pl
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    >>> original, released = (Source.of(pl.DataFrame({"age": ages})) for ages in ([20, 30, 40], [40, 20, 30]))
    >>> compare_with_original(original, released, schema).problems
    []
    >>> compare_with_original(original, released, schema, in_order=True).problems
    ["Column 'age': 3 rows are released as a value that does not cover it (rows 0, 1, 2)."]
    """
    left_out = left_out_problems(original, released, schema, rows)
    if rows is not None:
        return BesideOriginal([*left_out, *truth_problems(original, released, schema, rows)], {}, rows)
    eligible = rows_to_release(original, schema)
    same = eligible if len(eligible) == released.n_rows else np.arange(original.n_rows)
    as_they_stand: list[str] = []
    if len(same) == released.n_rows:
        as_they_stand = truth_problems(original, released, schema, same)
        if in_order or (in_order is None and not as_they_stand):
            return BesideOriginal([*left_out, *as_they_stand], {}, same)
        if not as_they_stand:  # so they fit, but which row is which is not known
            return BesideOriginal(left_out, _unknown_persons(original, schema, eligible), None)
    found, unchecked = _in_any_order(original, released, schema, eligible)
    if found and in_order is None:
        found = [*as_they_stand, *found]
    return BesideOriginal([*left_out, *found], unchecked, None)


def _wrong_count(original: Source, released: Source, schema: Schema, n_eligible: int) -> str | None:
    """What is wrong with how many rows are released, if something is."""
    if schema.unit_rows == "one":
        persons = persons_to_release(original, schema)
        if persons is None:
            return f"The original has no column '{schema.unit}', so it is not known whose a row is."
        n_must, n_may = int(persons.must.sum()), int(persons.may.sum())
        if not n_must <= released.n_rows <= n_may:
            told = f"{n_may}" if n_must == n_may else f"{n_must} to {n_may}"
            return f"The release has {released.n_rows} rows, and one row of each of {told} persons is to be kept."
        return None
    if released.n_rows > n_eligible or (released.n_rows < n_eligible and schema.suppress_rows is None):
        return f"The release has {released.n_rows} rows, and {n_eligible} rows of its original are to be released."
    return None


def _unknown_persons(original: Source, schema: Schema, eligible: NDArray[np.int64]) -> dict[str, str]:
    """Whether persons cannot be counted as it is not known whose a row is; they can where each has but one row."""
    if schema.unit is None:
        return {}
    units = read_units(original, schema, eligible)
    if units is not None and units.n == len(eligible):
        return {}
    return {"persons": f"{NO_ORDER}, so it is not known whose a row is"}


def _in_any_order(
    original: Source, released: Source, schema: Schema, eligible: NDArray[np.int64]
) -> tuple[list[str], dict[str, str]]:
    """What is wrong with a release whatever its order, and what cannot be told."""
    wrong = _wrong_count(original, released, schema, len(eligible))
    if wrong is not None:
        return [wrong], {}
    unchecked = _unknown_persons(original, schema, eligible)
    means = [quasi.column for quasi in schema.quasi if quasi.publish == "mean"]
    if means:
        unchecked["means"] = f"{NO_ORDER}, so it is not known which rows a mean is of"
    names = [*(each.column for each in schema.sensitive), *schema.keep]
    own, shown = same_combinations(original, released, schema, names, eligible)
    size = int(max(own.max(initial=0), shown.max(initial=0))) + 1
    if (np.bincount(own, minlength=size) < np.bincount(shown, minlength=size)).any():
        return ["The release has sensitive and kept values, or combinations of them, more often than its original."], {}
    if not can_match():
        return [], unchecked | {"truth": f"{NO_ORDER}, and matching them needs SciPy: pip install 'tclose[match]'"}
    found = unordered_problems(original, released, schema, eligible)
    if found is None:
        unchecked["truth"] = f"{NO_ORDER}, and they are too many to be matched"
    return found or [], unchecked
