"""Bounds on what a release may lead to: the rise of a belief, the risk of a row, and loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tclose.errors import SchemaError
from tclose.evaluation.choosing.trials import Trial, exact_or_none
from tclose.schema.toml import exact

ROUNDING = Fraction(1, 10**12)  # a loss is a sum of floats


@dataclass(frozen=True)
class Bounds:
    """Shares from 0 to 1 that must not be exceeded; None where nothing is asked.

    Attributes
    ----------
    rise
        Of the belief in a sensitive value, in any class.
    risk
        The chance that a row is given its person.
    loss
        The general loss metric.

    Examples
    --------
    >>> Bounds.of(max_rise="0.1", max_risk=0.3).k
    4
    """

    rise: Fraction | None = None
    risk: Fraction | None = None
    loss: Fraction | None = None

    @classmethod
    def of(cls, max_rise: object = None, max_risk: object = None, max_loss: object = None) -> Bounds:
        """Read them as the decimals they are written in.

        Raises
        ------
        SchemaError
            One is no share, or the risk is 0, which no k keeps.
        """
        bounds = cls(_share(max_rise, "max_rise"), _share(max_risk, "max_risk"), _share(max_loss, "max_loss"))
        if bounds.risk == 0:
            raise SchemaError("max_risk must be above 0: the risk of a row is 1/k at most, and no k makes it 0.")
        return bounds

    @property
    def k(self) -> int | None:
        """The least k that promises the risk, which is at most 1/k; None where none is asked."""
        return None if self.risk is None else math.ceil(1 / self.risk)

    @property
    def choose_t(self) -> bool:
        """Whether they say anything of t: the risk alone is a matter of k."""
        return self.rise is not None or self.loss is not None

    def keeps_rise(self, run: Trial) -> bool:
        """Whether no belief rises by more; exact."""
        return self.rise is None or run.rise <= self.rise

    def keeps_loss(self, run: Trial) -> bool:
        """Whether it loses no more."""
        return self.loss is None or Fraction(run.loss) <= self.loss + ROUNDING

    def choose(self, runs: tuple[Trial, ...]) -> int | None:
        """Which run of a sweep: the loosest that keeps them, or if loss alone is bounded the strictest.

        Runs stand by t, the strictest first. A bound on the rise forbids loose t, and a bound on loss strict ones. Runs
        whose classes are those of a stricter t, and one class holding the whole table, are passed by.
        """
        if not self.choose_t:
            return None
        keeping = [place for place, run in enumerate(runs) if self.is_kept_by(run)]
        if not keeping:
            return None
        return keeping[0] if self.rise is None else keeping[-1]

    def is_kept_by(self, run: Trial) -> bool:
        """Whether this release could be made, and keeps all of them."""
        own = not run.is_useless and run.taken_from is None
        return own and self.keeps_rise(run) and self.keeps_loss(run)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {f"max_{name}": exact_or_none(bound) for name, bound in vars(self).items()}


def _share(given: object, name: str) -> Fraction | None:
    if given is None:
        return None
    share = exact(given, "suggest", name)
    if not 0 <= share <= 1:
        raise SchemaError(f"{name} must be a share from 0 to 1: 10 % or 10 points are 0.1.")
    return share
