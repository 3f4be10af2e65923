"""Requirement: k, t and l, and the reference they are measured against."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Line, Transport, Tree
from tclose.errors import InfeasibleError
from tclose.schema.columns import Diversity
from tclose.schema.schema import Schema
from tclose.table.encode import Domain, EncodedTable
from tclose.verification.diversity import entropy_at_least

if TYPE_CHECKING:
    from tclose.kernels.closeness import Rules, Scratch

Integers = NDArray[np.int64]
LARGEST = 2**31  # kernels multiply numerators and denominators with row counts; larger ones they leave to us


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
    """

    domain: Domain
    reference: Integers
    t: Fraction | None
    l: Diversity | None  # noqa: E741

    @property
    def kernel_form(self) -> int:
        """How the kernels see it: some they leave to `holds`."""
        from tclose.kernels.closeness import LINE, NONE, OTHER, TRANSPORT, TREE

        asked = self.l or Diversity()
        fractions = [self.t, asked.frequency, asked.recursive[0] if asked.recursive else None]
        sizes = [max(number.as_integer_ratio()) for number in fractions if number is not None]
        if max(sizes, default=0) > LARGEST:
            return OTHER
        forms = {Line: LINE, Tree: TREE, Transport: TRANSPORT}
        return NONE if self.t is None else forms[type(self.domain.form)]

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

    def holds(self, counts: Integers) -> bool:
        """Whether a class with these counts is close and diverse; exact, and slow."""
        return (self.t is None or self.distance(counts) <= self.t) and (self.l is None or is_diverse(counts, self.l))


@dataclass(frozen=True, eq=False)
class Requirement:
    """What every class must meet.

    Attributes
    ----------
    k
        The least number of rows.
    attributes
        One a sensitive attribute, then one a joint.
    n
        The number of rows of the reference.
    """

    k: int
    attributes: tuple[Attribute, ...]
    n: int

    @classmethod
    def of(cls, schema: Schema, table: EncodedTable) -> Requirement:
        """What a schema asks, measured against the table itself."""
        asked = [(sensitive.t, sensitive.l) for sensitive in schema.sensitive]
        asked += [(joint.t, None) for joint in schema.joint]
        attributes = tuple(
            Attribute(domain, np.bincount(codes, minlength=domain.size).astype(np.int64), t, diversity)
            for domain, codes, (t, diversity) in zip(table.domains, table.codes, asked, strict=True)
        )
        return cls(schema.k, attributes, len(table))

    @property
    def pace(self) -> int:
        """What a kernel's budget of row visits is to be divided by, so that it comes back in time.

        A class of a matrix or a joint takes as long as about a thousand visits.
        """
        from tclose.kernels.closeness import TRANSPORT

        return 1000 if any(attribute.kernel_form == TRANSPORT for attribute in self.attributes) else 1

    def holds(self, codes: Sequence[NDArray[np.int32]]) -> bool:
        """Whether a class is close and diverse; `codes` are those of its rows, an array for each attribute.

        That it has k rows the caller sees.
        """
        return all(attribute.holds(counts) for attribute, counts in self._counted(codes))

    def holds_in_all(self, table: EncodedTable, labels: Integers) -> bool:
        """Whether every class has k rows and is close and diverse; exact."""
        from tclose.kernels.closeness import ASK, NO, judge_classes

        sizes = np.bincount(labels)
        if sizes.min() < self.k:
            return False
        order, starts = np.argsort(labels, kind="stable"), np.concatenate([[0], np.cumsum(sizes)])
        rows = np.empty((len(labels), len(table.codes)), np.int32)
        for column, codes in zip(rows.T, table.codes, strict=True):
            column[:] = codes[order]
        verdicts = np.empty(len(sizes), np.int8)
        judge_classes(rows, starts, self.rules(), self.scratch(), verdicts)
        asked = np.flatnonzero(verdicts == ASK)
        return not (verdicts == NO).any() and all(
            self.holds(list(rows[starts[each] : starts[each + 1]].T)) for each in asked
        )

    def _counted(self, codes: Sequence[NDArray[np.int32]]) -> Iterator[tuple[Attribute, Integers]]:
        """Each attribute with how often its values occur."""
        for attribute, column in zip(self.attributes, codes, strict=True):
            yield attribute, np.bincount(column, minlength=attribute.domain.size)

    def check_whole(self, table: EncodedTable) -> None:
        """Raise InfeasibleError where even one class of all rows fails, for then every partition does.

        The reference may be another table. If it is this one, the distance is 0, and only k and
        diversity can fail.
        """
        n = len(table)
        if n < self.k:
            rows = "1 row" if n == 1 else f"{n} rows"
            raise InfeasibleError(f"The table has {rows}, and k = {self.k} asks for more in every class.")
        for attribute, counts in self._counted(table.codes):
            column = attribute.domain.column
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

    def rules(self) -> Rules:
        """The same as arrays, for kernels."""
        from tclose.kernels import closeness as columns

        table = np.zeros((len(self.attributes), columns.N_COLUMNS), np.int64)
        entropy = np.full(len(self.attributes), -1.0)
        data = [np.zeros(0, np.int64)]
        for place, attribute in enumerate(self.attributes):
            row = table[place]
            row[columns.FORM], row[columns.SIZE] = attribute.kernel_form, attribute.domain.size
            t = attribute.t if attribute.t is not None else Fraction(1)
            row[columns.T_OVER], row[columns.T_UNDER] = t.limit_denominator(LARGEST).as_integer_ratio()
            if attribute.kernel_form != columns.OTHER:
                entropy[place] = _put_diversity(row, attribute.l or Diversity())
            for column, part in _parts(attribute, row):
                row[column] = sum(map(len, data))
                data.append(part)
        carried = np.flatnonzero(table[:, columns.FORM] == columns.TRANSPORT)
        return columns.Rules(
            self.n, table, entropy, np.concatenate(data, dtype=np.int64), carried if len(carried) else None
        )

    def scratch(self) -> Scratch:
        """Room for the kernels to count in."""
        from tclose.kernels.closeness import Scratch

        domains = [attribute.domain for attribute in self.attributes]
        nodes = (len(domain.form.parents) if isinstance(domain.form, Tree) else 0 for domain in domains)
        most = max((domain.size + more for domain, more in zip(domains, nodes, strict=True)), default=0)
        return Scratch(np.zeros(most, np.int64), np.zeros(most, np.int32))


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


def _put_diversity(row: Integers, asked: Diversity) -> float:
    """Fill in what is asked of l, and return the logarithm of what is asked of entropy."""
    from tclose.kernels import closeness as columns

    row[columns.DISTINCT] = min(asked.distinct or 0, LARGEST)
    row[columns.FREQUENCY_OVER], row[columns.FREQUENCY_UNDER] = (asked.frequency or Fraction(0)).as_integer_ratio()
    factor, place = asked.recursive or (Fraction(0), 0)
    row[columns.RECURSIVE_L] = min(place, LARGEST)  # no class has so many values: it fails either way
    row[columns.RECURSIVE_OVER], row[columns.RECURSIVE_UNDER] = factor.as_integer_ratio()
    return -1.0 if asked.entropy is None else math.log(asked.entropy)


def _parts(attribute: Attribute, row: Integers) -> list[tuple[int, NDArray[Any]]]:
    """The long arrays of an attribute, by the column that says where each begins."""
    from tclose.kernels import closeness as columns

    form, reference = attribute.domain.form, attribute.reference
    if isinstance(form, Line):
        below = np.cumsum(reference)
        area = np.concatenate([[0], np.cumsum(np.diff(form.positions) * below[:-1])])
        row[columns.DENOMINATOR] = form.span
        return [(columns.POSITION, form.positions), (columns.BELOW, below), (columns.AREA, area)]
    if isinstance(form, Transport):
        row[columns.DENOMINATOR] = form.denominator
        return [(columns.WEIGHT, form.costs.ravel()), (columns.MASS, reference), (columns.POSITION, form.pairs.ravel())]
    mass = np.zeros(len(form.parents), np.int64)
    for level in range(form.paths.shape[1]):
        known = form.paths[:, level] >= 0
        np.add.at(mass, form.paths[known, level], reference[known])
    row[columns.DENOMINATOR], row[columns.DEPTH] = form.denominator, form.paths.shape[1]
    row[columns.TOTAL] = int((form.weights * mass).sum())
    return [(columns.WEIGHT, form.weights), (columns.MASS, mass), (columns.PATH, form.paths.ravel())]
