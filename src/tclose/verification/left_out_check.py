"""Rows that a release leaves out under `suppress_rows`: together they must be a class, beside what is released.

Else whoever is missing from the release would be known to have a rare value. Only the original shows which rows these
are. Where it is not known which of its rows is which of the release, the values that it has more often are those left
out: sensitive values are released as they are, and what is promised of an attribute depends on its counts alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.belief_caps import BeliefCaps
from tclose.schema.columns import Diversity
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.belief_rises import CountedShares, is_at_most_log
from tclose.verification.class_diversity import DiversitySearch
from tclose.verification.class_work import closed_form, one_class
from tclose.verification.ground_definitions import Ground, LineGround, StarGround, TreeGround
from tclose.verification.measure_release import join
from tclose.verification.rows_to_release import rows_to_release
from tclose.verification.sensitive_domains import PlacedValues, place_values
from tclose.verification.transport_work import TransportWork
from tclose.verification.truth import same_combinations

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def left_out_problems(original: Source, released: Source, schema: Schema, rows: Integers | None) -> list[str]:
    """What rows that are left out break of their promise: sentences that name attributes and count rows.

    Parameters
    ----------
    original, released
        The table, and its release.
    schema
        With `suppress_rows`.
    rows
        The row of the original that each released row came from, if that is known.

    Examples
    --------
    >>> import polars as pl
    >>> schema = Schema.from_dict({"k": 1, "suppress_rows": 0.2, "quasi": {"age": {"kind": "numeric"}},
    ...     "sensitive": {"ill": {"distance": "equal", "t": 0.5}}})
    >>> table = pl.DataFrame({"age": [20] * 5 + [90], "ill": ["flu"] * 5 + ["hiv"]})
    >>> left_out_problems(Source.of(table), Source.of(table[:5]), schema, None)
    ["t of 'ill': the rows left out are at a distance of 1 from what is released, and t is 1/2 = 0.5."]
    """
    if schema.suppress_rows is None:
        return []
    eligible = rows_to_release(original, schema)
    n_left = len(eligible) - released.n_rows
    if n_left <= 0:
        return []
    check = _LeftOut(original, released, schema, eligible, rows)
    problems = list(check.counted(n_left))
    try:
        problems += check.broken()
    except TableError as error:
        problems.append(str(error))
    return problems


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """The rows of an original that could be released, beside those that are."""

    original: Source
    released: Source
    schema: Schema
    eligible: Integers
    rows: Integers | None

    def counted(self, n_left: int) -> Iterator[str]:
        """Whether they are no more than allowed, and no fewer than a class has."""
        share, n = self.schema.suppress_rows, len(self.eligible)
        assert share is not None
        if n_left > share * n:
            yield f"{_many(n_left)} left out of {n}, and suppress_rows = {_shown(share)} allows fewer."
        if n_left < self.schema.k:
            yield f"{_many(n_left)} left out, and k is {self.schema.k}: they must be a class together, or none is."

    def broken(self) -> Iterator[str]:
        """What they break of t, l and caps, against what is released."""
        placed: dict[str, PlacedValues] = {}
        for sensitive in self.schema.sensitive:
            name = sensitive.column
            column = self.original.column(name).gather(self.eligible)
            placed[name] = place_values(column, sensitive, self.schema)
            left = self._left([name])
            if left is None:
                yield f"'{name}': the release has values more often than its original."
                continue
            yield from _far(name, sensitive.t, placed[name], left)
            yield from _not_diverse(name, sensitive.l, placed[name], left)
            yield from _above(name, sensitive.caps, placed[name], left)
        for name in self.schema.keep:
            if self._left([name]) is None:
                yield f"'{name}': the release has values more often than its original."
        shown = [*placed, *self.schema.keep]
        if len(shown) > 1 and self._left(shown) is None:
            yield "The release has combinations of sensitive and kept values more often than its original."
        for joint in self.schema.joint:
            left = self._left(list(joint.columns))
            if left is not None:
                yield from _far(joint.name, joint.t, join(joint, placed), left)

    def _left(self, names: list[str]) -> Flags | None:
        """Rows that are left out, or others of the same values of these columns; None where there are none such."""
        if self.rows is not None:
            return ~np.isin(self.eligible, self.rows)
        before, after = same_combinations(self.original, self.released, self.schema, names, self.eligible)
        return _surplus(before, after)


def _surplus(before: Integers, after: Integers) -> Flags | None:
    """The first rows of each value, as many as `before` has more of it than `after`; None where it has fewer."""
    size = int(max(before.max(initial=0), after.max(initial=0))) + 1
    more = np.bincount(before, minlength=size) - np.bincount(after, minlength=size)
    if (more < 0).any():
        return None
    order = np.argsort(before, kind="stable")
    starts = np.cumsum(np.bincount(before, minlength=size)) - np.bincount(before, minlength=size)
    number = np.arange(len(before)) - starts[before[order]]
    left = np.zeros(len(before), bool)
    left[order] = number < more[before[order]]
    return left


def _counts(placed: PlacedValues, left: Flags) -> tuple[Integers, Integers]:
    """How often each value is left out, and released."""
    size = placed.ground.size
    return tuple(np.bincount(placed.codes[each], minlength=size).astype(np.int64) for each in (left, ~left))  # type: ignore[return-value]


def _far(name: str, t: Fraction | None, placed: PlacedValues, left: Flags) -> Iterator[str]:
    if t is None:
        return
    counts, reference = _counts(placed, left)
    ground: Ground = placed.ground
    work = (
        closed_form(ground, reference, int(reference.sum()))
        if isinstance(ground, StarGround | LineGround | TreeGround)
        else TransportWork(ground, reference, int(reference.sum()))
    )
    codes = np.flatnonzero(counts)
    far = work.exact(int(counts.sum()), codes, counts[codes])
    if far > t:
        yield (
            f"t of '{name}': the rows left out are at a distance of {_shown(far)} from what is released, and t is "
            f"{_shown(t)}."
        )


def _not_diverse(name: str, asked: Diversity | None, placed: PlacedValues, left: Flags) -> Iterator[str]:
    if asked is None:
        return
    counts, _ = _counts(placed, left)
    codes, search = np.flatnonzero(counts), DiversitySearch(asked)
    search.look(one_class(int(counts.sum()), codes, counts[codes]))
    for kind, met in search.result().meets.items():
        if not met:
            yield f"l of '{name}': the rows left out are less diverse than asked ({kind})."


def _above(name: str, caps: BeliefCaps | None, placed: PlacedValues, left: Flags) -> Iterator[str]:
    """Caps by their definitions; a value that nothing released has may not be left out under beta at all."""
    if caps is None:
        return
    counts, reference = _counts(placed, left)
    of_left, of_rest = (CountedShares.of(placed.ground, each, caps.levels) for each in (counts, reference))
    broken = set()
    for own, whole in zip(of_left.whole.tolist(), of_rest.whole.tolist(), strict=True):
        q, p = Fraction(own, of_left.n), Fraction(whole, of_rest.n)
        if caps.rise is not None and q - p > caps.rise:
            broken.add("rise")
        if (caps.beta is not None and q > (1 + caps.beta) * p) or (
            caps.enhanced and q > p and not is_at_most_log(q / p - 1, 1 / p)
        ):
            broken.add("beta")
    for cap in sorted(broken):
        yield f"{cap} of '{name}': the share of some value is higher among the rows left out than {cap} allows."


def _many(rows: int) -> str:
    return "1 row is" if rows == 1 else f"{rows} rows are"


def _shown(value: Fraction) -> str:
    return f"{value} = {float(value):.6g}" if value.denominator > 1 else str(value)
