"""Caps on belief: how far the share of one value in a class may be above its share in the whole table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tclose.errors import SchemaError


@dataclass(frozen=True)
class BeliefCaps:
    """What is asked of the share of every single value, p in the table and q in a class.

    Attributes
    ----------
    rise
        q - p is at most this.
    beta
        q is at most (1 + beta) p: basic beta-likeness.
    enhanced
        q is at most (1 + min(beta, -ln p)) p: enhanced beta-likeness.
    levels
        All that holds for the inner nodes of the hierarchy too.

    Examples
    --------
    >>> dict(BeliefCaps(rise=Fraction(1, 10)).items())
    {'rise': Fraction(1, 10)}
    """

    rise: Fraction | None = None
    beta: Fraction | None = None
    enhanced: bool = False
    levels: bool = False

    def items(self) -> Iterator[tuple[str, Fraction]]:
        """Name and threshold of what is asked."""
        if self.rise is not None:
            yield "rise", self.rise
        if self.beta is not None:
            yield "beta", self.beta

    def check(self, where: str, has_hierarchy: bool) -> None:
        """Refuse what no share can mean, and keys without the ones they belong to."""
        if self.rise is not None and not 0 <= self.rise <= 1:
            raise SchemaError(f"{where}: rise must be from 0 to 1: 0.1 is ten percentage points.")
        if self.beta is not None and not self.beta > 0:
            raise SchemaError(f"{where}: beta must be above 0: 1 lets a share double.")
        if self.enhanced and self.beta is None:
            raise SchemaError(
                f"{where}: 'enhanced' makes beta stricter, and there is none. Give beta, or leave it out."
            )
        if self.levels and not has_hierarchy:
            raise SchemaError(f"{where}: 'levels' is for distance hierarchical, whose inner nodes it means.")
        if self.levels and self.rise is None and self.beta is None:
            raise SchemaError(
                f"{where}: 'levels' extends rise and beta to inner nodes. Give one of them, or leave it out."
            )
