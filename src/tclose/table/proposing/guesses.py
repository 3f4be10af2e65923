"""Guesses by evidence: what a column seems to be, the keys it would have, and why. Never certain, always said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tclose.distances.belief_rise import largest_rise, largest_t
from tclose.errors import TableError
from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.table.proposing.column_evidence import Evidence, points_at_a_person
from tclose.table.quasi import build_axes
from tclose.table.sensitive import build_domain

NEARLY_UNIQUE = 0.95
ENOUGH = 20  # rows below which nothing is told from how many differ
BINS = 5  # of an attribute with an order: the belief that must not rise is that a value is in such a fifth
RISE = Fraction(1, 5)  # the largest rise of a belief that a proposal allows
FEW_NAMES = 10  # distinct values below which a column called `phone` or `patient` names nobody
ROUND = (1, 2, 5)


@dataclass(frozen=True, eq=False)
class ColumnGuess:
    """What a column seems to be.

    Attributes
    ----------
    evidence
        What is known of it.
    role
        quasi, sensitive, identifier or unit; open where nothing speaks for one.
    reason
        Why, in a few words.
    is_ordered
        Whether larger values mean more of something.
    """

    evidence: Evidence = field(repr=False)
    role: str
    reason: str
    is_ordered: bool

    @property
    def column(self) -> str:
        """Its name."""
        return self.evidence.column

    @property
    def laws(self) -> tuple[str, ...]:
        """Who calls it an identifier or a special category."""
        topics = [
            topic for topic in self.evidence.topics if topic.role != "unit" or self.role in ("unit", "identifier")
        ]
        laws = [topic.law for topic in topics if topic.law]
        known = points_at_a_person(self.evidence)
        return tuple(dict.fromkeys([*laws, *([f"HIPAA: {known}"] if known and not laws else [])]))

    def with_format(self, form: str) -> ColumnGuess:
        """The same, where someone said how its dates are written."""
        return guess(replace(self.evidence, form="dates", formats=(form,)))

    def with_order(self, is_ordered: bool) -> ColumnGuess:
        """The same, where someone said whether larger values mean more."""
        return replace(self, is_ordered=is_ordered)

    @cached_property
    def quasi(self) -> dict[str, Any] | None:
        """The keys it would have as a quasi-identifier; None if it cannot be one."""
        return next((keys for keys in self._quasi_choices() if self._fits(keys)), None)

    def _quasi_choices(self) -> list[dict[str, Any]]:
        kind = kind_of(self.evidence, self.is_ordered)
        keys: dict[str, Any] = {"kind": kind}
        if kind == "numeric" and (step := step_of(self.evidence)):
            keys["step"] = step
        if kind == "numeric" and self.evidence.is_grouped:
            keys["grouped"] = True
        if kind == "date":
            keys["step"] = period_of(self.evidence)
        if kind == "date" and self.evidence.format is not None:
            keys["format"] = self.evidence.format
        return [keys, {"kind": "categorical"}] if self.evidence.form != "unusable" else []

    def _fits(self, keys: Mapping[str, Any]) -> bool:
        """Whether the column can be read so; what only few types or numbers cannot is tried."""
        evidence = self.evidence
        if keys["kind"] not in ("numeric", "date") and evidence.form in ("texts", "codes", "empty", "prose"):
            return True
        if evidence.form in ("whole", "fractions") and evidence.has_short_numbers:
            return True
        if evidence.form == "fractions" and not np.isfinite(evidence.numbers).all():
            return False  # no interval holds an infinite number
        assert evidence.coded is not None
        quasi = Quasi(self.column, **keys)
        try:
            signs: dict[str, Any] = {
                "delimiter": ";",
                "decimal": evidence.reader.decimal,
                "thousands": evidence.reader.thousands,
            }
            build_axes(evidence.reader, evidence.coded, quasi, Schema(1, (quasi,), **signs))
        except TableError:
            return False
        return True

    @cached_property
    def domain(self) -> tuple[Any, tuple[int, ...], dict[str, Any]] | None:
        """The ground distance it would have as a sensitive attribute, the rows of each value, and its keys."""
        evidence = self.evidence
        for keys in self._sensitive_choices():
            try:
                assert evidence.coded is not None
                form, codes, _ = build_domain(evidence.reader, evidence.coded, Sensitive(self.column, **keys))
            except TableError:
                continue
            return form, tuple(np.bincount(codes, minlength=form.size).tolist()), keys
        return None

    def _sensitive_choices(self) -> list[dict[str, Any]]:
        if self.evidence.form == "unusable":
            return []
        ordered: dict[str, Any] = {"distance": "ordered"}
        if self.evidence.n_distinct > BINS:
            ordered["bins"] = BINS
        if self.evidence.form == "dates" and self.evidence.format is not None:
            ordered["format"] = self.evidence.format
        return [ordered, {"distance": "equal"}] if self.is_ordered else [{"distance": "equal"}]

    @cached_property
    def sensitive(self) -> dict[str, Any] | None:
        """The keys it would have as a sensitive attribute, its t such that no belief rises by more than `RISE`.

        Where only classes of half of the rows could be within that t, the same is asked by `rise` instead.
        """
        if self.domain is None:
            return None
        form, counts, keys = self.domain
        equal = keys["distance"] == "equal"
        if self.is_beyond_t:
            return {**keys, "rise": _written(RISE)}
        return {**keys, "t": _written(RISE if equal else largest_t(form, counts, RISE))}

    @property
    def is_beyond_t(self) -> bool:
        """Whether no class of less than half of the rows is within the t that would be proposed."""
        return 2 * self.least_rows > self.evidence.n_rows >= ENOUGH

    @property
    def least_rows(self) -> int:
        """Fewer rows than these no class within t = `RISE` has, where every two values are equally far apart.

        A class of s rows has at most s values. The values it lacks have a share in the table of at most t.
        """
        if self.domain is None or self.domain[2]["distance"] != "equal":
            return 1
        counts = np.sort(np.array(self.domain[1], np.int64))[::-1]
        needed = (1 - RISE) * int(counts.sum())
        return int(np.searchsorted(np.cumsum(counts), -(-needed.numerator // needed.denominator))) + 1

    def points(self, t: Decimal | float | int) -> Fraction:
        """The largest rise of a belief that a t allows, in points."""
        if self.domain is None:
            return Fraction(0)
        form, counts, _ = self.domain
        return 100 * largest_rise(form, counts, Fraction(str(t)))


def guess(evidence: Evidence) -> ColumnGuess:
    """What a column seems to be."""
    role, reason = _role(evidence)
    return ColumnGuess(evidence, role, reason, evidence.form == "dates" or evidence.is_measure or evidence.is_clock)


def _role(evidence: Evidence) -> tuple[str, str]:
    if evidence.form == "unusable":
        return "identifier", evidence.problem
    if evidence.form == "empty":
        return "identifier", "no row has a value"
    if len(evidence.formats) > 1:
        return "open", "dates, and nothing says whether the day or the month comes first; --date-format does"
    known = points_at_a_person(evidence)
    if known:
        return "identifier", f"its values are {known}"
    if evidence.form == "prose":
        return "identifier", "free text, which may name anyone"
    return _numbered(evidence) or _by_topic(evidence) or _by_values(evidence)


def _numbered(evidence: Evidence) -> tuple[str, str] | None:
    """Identifiers by how many values differ, and numbers of persons that repeat."""
    persons = any(topic.role == "unit" for topic in evidence.topics)
    told = f"{evidence.n_distinct:,} distinct values in {evidence.n_filled:,} rows"
    if evidence.n_filled <= ENOUGH or evidence.form in ("dates", "fractions"):
        return None
    if evidence.share_distinct >= NEARLY_UNIQUE and _is_identifying(evidence):
        return "identifier", f"nearly every row has a value of its own ({told})"
    if persons and evidence.n_distinct > FEW_NAMES and (evidence.is_numbered or evidence.form in ("texts", "codes")):
        return "unit", f"it tells whose row it is, and repeats ({told}), so a row is not a person"
    if evidence.is_numbered and evidence.n_distinct > 50 and not evidence.is_measure:
        return "identifier", f"a number for someone or something, which repeats ({told}); `unit` if it is a person's"
    return None


def _is_identifying(evidence: Evidence) -> bool:
    """Whether values that are nearly all different point at someone, and are no measurements."""
    if evidence.form != "whole":
        return True
    if any(topic.nature == "measure" for topic in evidence.topics):
        return False
    numbers = evidence.numbers
    in_a_row = float(numbers.max() - numbers.min()) < 1.5 * len(numbers)
    lengths = {len(str(int(abs(number)))) for number in (numbers.min(), numbers.max())}
    return evidence.is_numbered or in_a_row or (len(lengths) == 1 and min(lengths) >= 5)


def _by_topic(evidence: Evidence) -> tuple[str, str] | None:
    for topic in evidence.topics:
        if topic.role == "identifier":
            if evidence.form in ("fractions", "dates") or (
                evidence.n_distinct <= FEW_NAMES and evidence.share_distinct < 0.5
            ):
                continue  # `phone_service` has two values, and is no telephone number
            if topic.nature == "" and evidence.form == "whole" and evidence.is_measure:
                continue
            return "identifier", f"its name says that it is {topic.name}"
        if topic.role in ("quasi", "sensitive"):
            return topic.role, f"its name says that it is {topic.name}"
    return None


def _by_values(evidence: Evidence) -> tuple[str, str]:
    if evidence.form == "dates":
        return "quasi", "dates can be known"
    if evidence.form == "codes":
        return "quasi", "codes such as postal ones can be known"
    if evidence.is_measure:
        return "sensitive", "numbers that were measured or counted"
    named = next((topic.name for topic in evidence.topics if topic.role == "identifier"), None)
    if named is not None:
        return "open", f"its name says that it is {named}, but it has few values ({evidence.n_distinct:,} distinct)"
    if evidence.form == "whole":
        return "open", "whole numbers, and nothing says what they mean"
    return "open", "nothing says what it is"


def kind_of(evidence: Evidence, is_ordered: bool | None = None) -> str:
    """numeric, date, text (codes such as postal ones) or categorical."""
    is_ordered = evidence.is_measure if is_ordered is None else is_ordered
    if evidence.form == "dates":
        return "date"
    if evidence.form == "codes":
        return "text"
    if evidence.form == "fractions":
        return "numeric"
    if evidence.form != "whole":
        return "categorical"
    if any(topic.name == "a postal code" for topic in evidence.topics) and evidence.n_distinct > 1:
        return "text"
    if is_ordered:
        return "numeric"
    coded = any(topic.nature == "codes" for topic in evidence.topics)
    repeated = evidence.n_filled >= 3 * evidence.n_distinct
    return "categorical" if coded or repeated or evidence.n_distinct <= 2 else "numeric"


def step_of(evidence: Evidence) -> int | Decimal | None:
    """1, 2 or 5 times a power of ten, about a twentieth of where most values lie; None where the values are few.

    Ages and years get 5, or less where they are close together. Whole numbers get no step below 1.
    """
    numbers = evidence.numbers[np.isfinite(evidence.numbers)]
    if len(np.unique(numbers)) < 20:
        return None
    low, high = np.quantile(numbers, [0.01, 0.99])
    width = float(high - low) / 20
    if width <= 0:
        return None
    if any(topic.name in ("an age", "a date of birth") for topic in evidence.topics):
        return 5 if width > 2 else 2 if width > 1 else 1
    power = Decimal(10) ** int(np.floor(np.log10(width)))
    step = max((factor * power for factor in ROUND if float(factor * power) <= width), default=power)
    if evidence.form == "whole":
        step = max(step, Decimal(1))
    return int(step) if step >= 1 else step


def period_of(evidence: Evidence) -> str | int:
    """The step of dates: about a twentieth of the time they span; the year where they are dates of birth."""
    days = evidence.dates[2].days
    if any(topic.name == "a date of birth" for topic in evidence.topics) or days > 10 * 365:
        return "year"
    return "quarter" if days > 3 * 365 else "month" if days > 180 else 7


def _written(t: Fraction) -> Decimal:
    """A t rounded down to two decimals, or to the first digit where it is smaller."""
    number = Decimal(t.numerator) / Decimal(t.denominator)
    if t <= 0:
        return Decimal(0)
    places = max(2, -number.adjusted())
    return number.quantize(Decimal(1).scaleb(-places), rounding=ROUND_FLOOR).normalize()
