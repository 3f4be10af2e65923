"""Requirement: k, t and l, and the reference they are measured against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Line, Matrix, Tree
from tclose.encode import Domain, EncodedTable
from tclose.metrics.diversity import entropy_at_least
from tclose.schema import Schema
from tclose.schema_columns import Diversity

if TYPE_CHECKING:
    from tclose.kernels.closeness import Rules, Scratch

Integers = NDArray[np.int64]
LARGEST = 2**31  # kernels multiply numerators and denominators with row counts; larger ones they leave to us


@dataclass(frozen=True, eq=False)
class Attribute:
    """What is asked of one sensitive attribute.

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

    def distance(self, counts: Integers) -> Fraction | float:
        """The distance of a class from the reference, straight from the definition."""
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
        One a sensitive attribute.
    n
        The number of rows of the reference.
    """

    k: int
    attributes: tuple[Attribute, ...]
    n: int

    @classmethod
    def of(cls, schema: Schema, table: EncodedTable) -> Requirement:
        """What a schema asks, measured against the table itself."""
        attributes = tuple(
            Attribute(domain, np.bincount(codes, minlength=domain.size).astype(np.int64), sensitive.t, sensitive.l)
            for domain, codes, sensitive in zip(table.domains, table.codes, schema.sensitive, strict=True)
        )
        return cls(schema.k, attributes, len(table))

    def holds(self, codes: Sequence[NDArray[np.int32]]) -> bool:
        """Whether a class is close and diverse; `codes` are those of its rows, an array for each attribute.

        That it has k rows the caller sees.
        """
        return all(
            attribute.holds(np.bincount(column, minlength=attribute.domain.size))
            for attribute, column in zip(self.attributes, codes, strict=True)
        )

    def rules(self) -> Rules:
        """The same as arrays, for kernels."""
        from tclose.kernels.closeness import Rules

        parts = [_attribute_arrays(attribute) for attribute in self.attributes]

        def numbers(key: str, dtype: type = np.int64) -> NDArray[Any]:
            return np.array([part[key] for part in parts], dtype)

        def joined(key: str, dtype: type = np.int64) -> NDArray[Any]:
            return np.concatenate([np.zeros(0, dtype), *(part[key] for part in parts)]).astype(dtype)

        def starts(key: str) -> Integers:
            lengths = [len(part[key]) for part in parts]
            return np.array([sum(lengths[:place]) for place in range(len(parts))], np.int64)

        single: tuple[str, ...] = ("form", "size", "t_over", "t_under", "denominator", "depth", "total", "distinct")
        single += ("frequency_over", "frequency_under", "recursive_over", "recursive_under", "recursive_l")
        return Rules(
            n=self.n,
            **{key: numbers(key) for key in single},
            entropy=numbers("entropy", np.float64),
            **{key: joined(key) for key in ("position", "below", "area", "weight", "mass")},
            path=joined("path", np.int32),
            line_start=starts("position"),
            node_start=starts("weight"),
            path_start=starts("path"),
        )

    def scratch(self) -> Scratch:
        """Room for the kernels to count in."""
        from tclose.kernels.closeness import Scratch

        values = max((attribute.domain.size for attribute in self.attributes), default=0)
        forms = (attribute.domain.form for attribute in self.attributes)
        nodes = max((len(form.parents) for form in forms if isinstance(form, Tree)), default=0)
        return Scratch(
            np.zeros(values, np.int64),
            np.zeros(values, np.int32),
            np.zeros(nodes, np.int64),
            np.zeros(nodes, np.int32),
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


def _attribute_arrays(attribute: Attribute) -> dict[str, Any]:
    from tclose.kernels.closeness import LINE, NONE, OTHER, TREE

    form, reference = attribute.domain.form, attribute.reference
    empty = np.zeros(0, np.int64)
    arrays: dict[str, Any] = {"position": empty, "below": empty, "area": empty, "weight": empty, "mass": empty}
    arrays |= {"path": np.zeros(0, np.int32), "depth": 0, "total": 0, "denominator": 1, "size": attribute.domain.size}
    t = attribute.t if attribute.t is not None else Fraction(1)
    arrays |= {"t_over": t.numerator, "t_under": t.denominator, "form": NONE}
    asked = attribute.l or Diversity()
    fractions = [t, asked.frequency or t, asked.recursive[0] if asked.recursive else t]
    if max(max(number.numerator, number.denominator) for number in fractions) > LARGEST:
        return arrays | _diversity_arrays(Diversity()) | {"form": OTHER, "t_over": 1, "t_under": 1}
    arrays |= _diversity_arrays(asked)
    if attribute.t is None:
        return arrays
    if isinstance(form, Matrix):
        return arrays | {"form": OTHER}
    if isinstance(form, Line):
        below = np.cumsum(reference)
        area = np.concatenate([[0], np.cumsum(np.diff(form.positions) * below[:-1])]) if len(below) else empty
        return arrays | {
            "form": LINE, "position": form.positions, "below": below, "area": area, "denominator": form.span
        }  # fmt: skip
    mass = np.zeros(len(form.parents), np.int64)
    for level in range(form.paths.shape[1]):
        known = form.paths[:, level] >= 0
        np.add.at(mass, form.paths[known, level], reference[known])
    return arrays | {
        "form": TREE, "path": form.paths.ravel(), "depth": form.paths.shape[1], "weight": form.weights, "mass": mass,
        "total": int((form.weights * mass).sum()), "denominator": form.denominator,
    }  # fmt: skip


def _diversity_arrays(asked: Diversity) -> dict[str, Any]:
    frequency = asked.frequency or Fraction(0)
    factor, place = asked.recursive or (Fraction(0), 0)
    return {
        "distinct": asked.distinct or 0,
        "frequency_over": frequency.numerator,
        "frequency_under": frequency.denominator,
        "entropy": -1.0 if asked.entropy is None else math.log(asked.entropy),
        "recursive_over": factor.numerator,
        "recursive_under": factor.denominator,
        "recursive_l": place,
    }
