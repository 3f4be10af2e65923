"""Requirement: k, t, l and caps on belief, and the reference they are measured against."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.person_limits import PersonLimits
from tclose.algorithms.share_limits import ShareLimits
from tclose.distances import Transport
from tclose.errors import InfeasibleError
from tclose.schema.belief_caps import BeliefCaps
from tclose.schema.columns import Diversity
from tclose.schema.schema import Schema
from tclose.table.encode import Domain, EncodedTable

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Attribute:
    """What is asked of one sensitive attribute, or of a joint of several.

    Attributes
    ----------
    domain
        Its values and their distance.
    reference
        How often each value occurs in the reference.
    t, l
        The largest distance of a class, and its diversity; None where not asked.
    caps
        How far the share of a single value may rise; None where not asked.
    cap_reference
        What shares rise from, where that is another table than `reference`: that of a window of a stream, of which
        some rows are partitioned.
    """

    domain: Domain
    reference: Integers
    t: Fraction | None
    l: Diversity | None  # noqa: E741
    caps: BeliefCaps | None = None
    cap_reference: Integers | None = None

    @property
    def believed(self) -> Integers:
        """How often each value occurs in the table that caps are about."""
        return self.reference if self.cap_reference is None else self.cap_reference

    @cached_property
    def limits(self) -> ShareLimits | None:
        """What the caps come to beside the reference; None where they count persons."""
        if self.caps is None or self.domain.holders is not None:
            return None
        return ShareLimits.of(self.caps, self.domain.form, self.believed)

    @cached_property
    def person_limits(self) -> PersonLimits | None:
        """The same where they count persons."""
        if self.caps is None or self.domain.holders is None:
            return None
        return PersonLimits.of(self.caps, self.domain.holders, self.reference)

    @property
    def asks_beyond_t(self) -> bool:
        """Whether something is asked that a class within t may break."""
        return self.l is not None or self.caps is not None

    def distance(self, counts: Integers) -> Fraction:
        """The distance of a class from the reference, straight from the definition."""
        if np.array_equal(counts, self.reference):
            return Fraction(0)
        if isinstance(self.domain.form, Transport):
            return self.domain.form.distance(counts, self.reference)
        n, s = int(self.reference.sum()), int(counts.sum())
        return self.domain.form.emd(
            [Fraction(int(count), s) for count in counts], [Fraction(int(count), n) for count in self.reference]
        )

    def left_of_t(self, counts: Integers) -> Fraction:
        """What remains of t for classes measured against a table with these counts, by the triangle inequality.

        At 0 classes are distributed as the table is, which holds.
        """
        assert self.t is not None
        return max(self.t - self.distance(counts), Fraction(0))

    def keeps_caps(self, counts: Integers) -> bool:
        """Whether a class with these counts is within its caps, be they of rows or of persons."""
        limits = self.limits or self.person_limits
        return limits is None or limits.hold(counts)

    def holds(self, counts: Integers) -> bool:
        """Whether a class with these counts is close, diverse and within its caps; exact, and slow."""
        return (
            self.keeps_caps(counts)
            and (self.l is None or is_diverse(counts, self.l))
            and (self.t is None or self.distance(counts) <= self.t)
        )


@dataclass(frozen=True, eq=False)
class Requirement:
    """What every class must meet.

    Attributes
    ----------
    k
        The least number of rows.
    attributes
        One a sensitive attribute, then one a joint; then those of persons, where these are counted: that a class
        has k persons is a diversity of k distinct persons.
    n
        The number of rows of the reference.
    left_out
        The share of rows that may be left out, if any may: `run_method` sees to it, a method does not.
    """

    k: int
    attributes: tuple[Attribute, ...]
    n: int
    left_out: Fraction | None = None

    @classmethod
    def of(cls, schema: Schema, table: EncodedTable) -> Requirement:
        """What a schema asks, measured against the table itself."""
        references = [
            np.bincount(codes, minlength=domain.size).astype(np.int64)
            for domain, codes in zip(table.domains, table.codes, strict=True)
        ]
        return cls.from_counts(schema, table.domains, references, len(table))

    @classmethod
    def from_counts(
        cls, schema: Schema, domains: Sequence[Domain], references: Sequence[Integers], n: int
    ) -> Requirement:
        """What a schema asks, measured against a table of n rows in which the values of each domain occur so often."""
        by_rows = not schema.counts_persons
        asked: list[tuple[Fraction | None, Diversity | None, BeliefCaps | None]] = [
            (sensitive.t, sensitive.l, sensitive.caps if by_rows else None) for sensitive in schema.sensitive
        ]
        asked += [(joint.t, None, None) for joint in schema.joint]
        if not by_rows:
            asked += [(None, Diversity(distinct=schema.k), None)]
            asked += [(None, None, sensitive.caps) for sensitive in schema.sensitive if sensitive.caps is not None]
        attributes = tuple(
            Attribute(domain, reference, *of_column)
            for domain, reference, of_column in zip(domains, references, asked, strict=True)
        )
        return cls(schema.k, attributes, n, schema.suppress_rows or None)

    def with_k(self, k: int) -> Requirement:
        """The same with another k, of rows and of persons where these are counted."""
        attributes = tuple(
            replace(each, l=Diversity(distinct=k)) if each.domain.of_persons and each.l is not None else each
            for each in self.attributes
        )
        return replace(self, k=k, attributes=attributes)

    def holds(self, codes: Sequence[NDArray[np.int32]]) -> bool:
        """Whether a class meets what is asked; `codes` are those of its rows, an array for each attribute.

        That it has k rows the caller sees.
        """
        return all(attribute.holds(counts) for attribute, counts in self._counted(codes))

    def holds_in_all(self, table: EncodedTable, labels: Integers) -> bool:
        """Whether every class has k rows and meets all that is asked; exact."""
        return bool(np.bincount(labels).min() >= self.k) and bool(
            self.verdicts(table, labels, until_one_fails=True).all()
        )

    def verdicts(self, table: EncodedTable, labels: Integers, *, until_one_fails: bool = False) -> NDArray[np.bool_]:
        """Of each class, whether it has k rows and meets all that is asked; exact.

        Parameters
        ----------
        labels
            0, 1, 2, ..., none left out.
        until_one_fails
            If one fails, what takes long is not decided of the others, and they fail too.
        """
        from tclose.algorithms.packing import rules_of, scratch_of
        from tclose.kernels.closeness import ASK, NO, judge_classes

        sizes = np.bincount(labels)
        order, starts = np.argsort(labels, kind="stable"), np.concatenate([[0], np.cumsum(sizes)])
        rows = np.empty((len(labels), len(table.codes)), np.int32)
        for column, codes in zip(rows.T, table.codes, strict=True):
            column[:] = codes[order]
        verdicts = np.empty(len(sizes), np.int8)
        judge_classes(rows, starts, rules_of(self), scratch_of(self), verdicts)
        found: NDArray[np.bool_] = (verdicts != NO) & (sizes >= self.k)
        asked = np.flatnonzero((verdicts == ASK) & found)
        if until_one_fails and not found.all():
            found[asked] = False
            return found
        for each in asked.tolist():
            found[each] = self.holds(list(rows[starts[each] : starts[each + 1]].T))
        return found

    def keeps(self, n: int, counted: Sequence[Integers]) -> bool:
        """Whether n rows, in which the values of each attribute occur so often, are a class that meets all; exact."""
        return n >= self.k and all(
            attribute.holds(counts) for attribute, counts in zip(self.attributes, counted, strict=True)
        )

    def _counted(self, codes: Sequence[NDArray[np.int32]]) -> Iterator[tuple[Attribute, Integers]]:
        """Each attribute with how often its values occur."""
        for attribute, column in zip(self.attributes, codes, strict=True):
            yield attribute, np.bincount(column, minlength=attribute.domain.size)

    def check_whole(self, table: EncodedTable) -> None:
        """Raise InfeasibleError where even one class of all rows fails, for then every partition does.

        The reference may be another table. If it is this one, the distance is 0 and every share is its own, and
        only k and diversity can fail.
        """
        self.check_counts(len(table), [counts for _, counts in self._counted(table.codes)])

    def check_counts(self, n: int, counted: Sequence[Integers]) -> None:
        """The same of n rows, in which the values of each attribute occur so often."""
        if n < self.k:
            rows = "1 row" if n == 1 else f"{n} rows"
            raise InfeasibleError(f"The table has {rows}, and k = {self.k} asks for more in every class.")
        for attribute, counts in zip(self.attributes, counted, strict=True):
            column = attribute.domain.column
            if attribute.domain.of_persons and attribute.l is not None and not is_diverse(counts, attribute.l):
                n_persons = int((counts > 0).sum())
                raise InfeasibleError(
                    f"The rows are those of {n_persons} units of '{column}', and k = {self.k} asks for more in every "
                    "class."
                )
            if attribute.l is not None and not is_diverse(counts, attribute.l):
                raise InfeasibleError(
                    f"The whole table is not as diverse in '{column}' as its l asks, so no class division can be. "
                    "Lower l."
                )
            if attribute.t is not None and attribute.distance(counts) > attribute.t:
                raise InfeasibleError(
                    f"The whole table is farther than t from the reference in '{column}', so in every class division "
                    "some class is. Raise t."
                )
            if not attribute.keeps_caps(counts):
                raise InfeasibleError(
                    f"In the whole table the share of some value of '{column}' is farther above its share in the "
                    "reference than rise or beta allows, so in every class division it is in some class. Raise them."
                )


def is_diverse(counts: Integers, asked: Diversity) -> bool:
    """Whether a class with these counts is as diverse as asked; entropy by integers of any length."""
    ordered = sorted((int(count) for count in counts if count), reverse=True)
    s = sum(ordered)
    if asked.distinct is not None and len(ordered) < asked.distinct:
        return False
    if asked.frequency is not None and ordered[0] * asked.frequency > s:
        return False
    if asked.recursive is not None and not ordered[0] < asked.recursive[0] * sum(ordered[asked.recursive[1] - 1 :]):
        return False
    return asked.entropy is None or entropy_at_least(ordered, asked.entropy)


def entropy_at_least(counts: Sequence[int], bound: Fraction) -> bool:
    """Whether the entropy of these counts, none of them 0, is at least the logarithm of `bound`.

    With s their sum and bound = a / b, that is (s b)^s >= a^s times the product of c^c. Dividing
    all counts by their greatest common divisor g takes the g-th root of both sides.
    """
    s = sum(counts)
    surplus = math.log(s) - sum(count * math.log(count) for count in counts) / s - math.log(bound)
    if abs(surplus) > 1e-9:
        return surplus > 0
    common = math.gcd(*counts)
    small = [count // common for count in counts]
    s //= common
    return bool((s * bound.denominator) ** s >= bound.numerator**s * math.prod(count**count for count in small))
