"""Verdict: what `tclose.verify` says of a released table."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tclose.schema.schema import Schema
from tclose.verification.belief_rises import ReachedRise
from tclose.verification.class_diversity import LeastDiversity
from tclose.verification.measure_release import Measured
from tclose.verification.person_rises import rises_as_dict


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """Whether a released table keeps its promise, and what it reaches.

    Attributes
    ----------
    problems
        What is wrong, a sentence each; none if it keeps its promise.
    measured
        What was measured; None where that could not be: a column is not there, or cannot be read.
    certificate
        Whether its certificate fits; None if there is none.
    unchecked
        What the certificate claims and neither the file nor the schema can show, each with the reason.
    persons
        The persons of the class that has fewest, where an original was given that says whose a row is; else None.
    schema
        The schema it was judged by, patterns being columns.
    person_rises
        By sensitive attribute, how far shares of persons with a value rise, where persons are counted and known.
    compared
        How it was compared with its original: "row by row", or "matched" where the order of rows is not known and each
        fits a row of its own; None where it was not.
    warning
        What kept columns do that nobody checked (`keep_unchecked`); it comes first wherever the verdict is shown.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> ages, illnesses = ["[21, 23]"] * 3 + ["61"] * 2, ["flu", "cold", "flu", "cold", "flu"]
    >>> released = pl.DataFrame({"age": ages, "illness": illnesses})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> verdict = tclose.verify(released, asked)
    >>> verdict.holds, verdict.k
    (False, 2)
    >>> print(verdict.problems[0])
    The smallest class has 2 rows, and k is 3.
    """

    problems: tuple[str, ...]
    measured: Measured | None
    certificate: bool | None = None
    unchecked: dict[str, str] = field(default_factory=dict)
    persons: int | None = None
    schema: Schema | None = None
    warning: str | None = None
    person_rises: dict[str, ReachedRise] = field(default_factory=dict)
    compared: str | None = None

    def __repr__(self) -> str:
        told = f"problems={self.problems!r}, certificate={self.certificate!r}, unchecked={self.unchecked!r}"
        first = "" if self.warning is None else f"{self.warning}; "
        return f"Verdict({first}holds={self.holds}, {told}, persons={self.persons!r})"

    @property
    def holds(self) -> bool:
        """Whether it keeps its promise."""
        return not self.problems

    @property
    def rows(self) -> int | None:
        """The number of rows."""
        return None if self.measured is None else self.measured.rows

    @property
    def classes(self) -> int | None:
        """The number of classes."""
        return None if self.measured is None else self.measured.classes

    @property
    def k(self) -> int | None:
        """The persons of the class that has fewest; its rows where it is not known whose a row is."""
        if self.measured is None:
            return None
        return self.measured.k if self.persons is None else self.persons

    @property
    def t(self) -> dict[str, Fraction]:
        """By sensitive attribute and joint, the largest distance of a class from the whole table."""
        return self.measured.t if self.measured else {}

    @property
    def l(self) -> dict[str, LeastDiversity]:  # noqa: E743
        """By sensitive attribute, the diversity of the least diverse classes."""
        return self.measured.l if self.measured else {}

    @property
    def rises(self) -> dict[str, ReachedRise]:
        """By sensitive attribute with caps on belief, how far shares of its values rise."""
        return self.measured.rises if self.measured else {}

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        told: dict[str, Any] = {}
        if self.measured is not None:
            counted = "rows" if self.persons is None else "persons"
            told = self.measured.as_dict() | {"k": self.k, "counted": counted, "k_rows": self.measured.k}
            told |= {"in_persons": rises_as_dict(self.person_rises)} if self.person_rises else {}
        return {
            **({} if self.warning is None else {"warning": self.warning}),
            "holds": self.holds,
            "problems": list(self.problems),
            **told,
            **({} if self.compared is None else {"original": self.compared}),
            "certificate": self.certificate,
            "unchecked": dict(self.unchecked),
        }
