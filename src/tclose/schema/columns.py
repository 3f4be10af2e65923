"""The columns of a schema: quasi-identifiers, sensitive attributes alone and joint, and the diversity they may ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tclose.errors import SchemaError
from tclose.schema.belief_caps import BeliefCaps
from tclose.schema.builders import PERIODS, Builder, Dates, Intervals, Prefixes
from tclose.schema.column_limits import check_column_limits, check_weight
from tclose.schema.cost_matrix import CostMatrix
from tclose.schema.decimals import BOUNDED, is_bounded
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.written_forms import DateForm

Number = Decimal | int | float
KINDS = ("numeric", "categorical", "date", "text", "digits")
DISTANCES = ("equal", "ordered", "numeric", "hierarchical", "matrix")
LARGEST = Decimal(10) ** 300
LONGEST_STEP = 1_000_000  # days
MOST_VALUES = 500  # of a matrix, as many as a joint may have combinations
PUBLISH = ("interval", "bounds", "mean")


@dataclass(frozen=True)
class Quasi:
    """A quasi-identifier: a column that could link a row to a person, and is generalized.

    Attributes
    ----------
    column
        Its name in the table.
    kind
        numeric, categorical, date, text (common prefix) or digits (position by position).
    hierarchy
        A tree (categorical), or a builder of levels from the values.
    step
        Interval ends snap outward to multiples of it: a number, or for dates a number of days
        or one of day, month, quarter, year.
    bottom
        Values below it are only said to be below it.
    top
        Values above it are only said to be above it.
    range
        Lowest and highest possible value; the observed ones if not given.
    publish
        interval, bounds (two columns) or mean.
    format
        How a date is written, if not ISO (as `strptime` has it).
    grouped
        Whether its numbers are released with the thousands sign of the schema.
    weight
        What it counts in the loss beside the others.
    coarsest
        Never coarser than this: the width of an interval (numeric), one of day, month, quarter, year (date), a level
        or a label of the hierarchy (categorical), the characters shown at least (text).
    finest
        Never finer than this: a level of the hierarchy (categorical), the characters shown at most (text).
    """

    column: str
    kind: str
    hierarchy: Hierarchy | Builder | None = None
    step: Number | str | None = None
    bottom: Number | date | None = None
    top: Number | date | None = None
    range: tuple[Any, Any] | None = None
    publish: str = "interval"
    format: str | None = None
    grouped: bool = False
    weight: Fraction = Fraction(1)
    coarsest: Number | str | None = None
    finest: int | None = None

    def __post_init__(self) -> None:
        where = f"[quasi.{self.column}]"
        one_of(self.kind, KINDS, where, "kind")
        one_of(self.publish, PUBLISH, where, "publish")
        for key in ("step", "bottom", "top", "range"):
            if getattr(self, key) is not None and self.kind not in ("numeric", "date"):
                raise SchemaError(f"{where}: '{key}' is for kind numeric or date, and this is {self.kind}.")
        if self.format is not None and self.kind != "date":
            raise SchemaError(f"{where}: 'format' is for kind date, and this is {self.kind}.")
        check_format(self.format, where)
        if not isinstance(self.grouped, bool) or (self.grouped and self.kind != "numeric"):
            raise SchemaError(f"{where}: 'grouped' is true or false, and for kind numeric.")
        allowed = {"numeric": PUBLISH, "date": PUBLISH[:2]}.get(self.kind, PUBLISH[:1])
        if self.publish not in allowed:
            raise SchemaError(f"{where}: kind {self.kind} can be published as {' or '.join(allowed)} only.")
        if self.publish == "mean" and self.step is not None:
            raise SchemaError(f"{where}: 'step' snaps the ends of intervals; a mean has none. Take one of them out.")
        self._check_hierarchy(where)
        self._check_step(where)
        self._check_limits(where)
        check_weight(self.weight, where)
        check_column_limits(self, where)

    def _check_hierarchy(self, where: str) -> None:
        builders: dict[str, type[Builder]] = {"numeric": Intervals, "date": Dates, "text": Prefixes}
        builder = builders.get(self.kind)
        if self.kind == "digits" and self.hierarchy is not None:
            raise SchemaError(f"{where}: kind digits has no hierarchy.")
        if builder and self.hierarchy is not None and not isinstance(self.hierarchy, builder):
            raise SchemaError(
                f'{where}: kind {self.kind} takes only a hierarchy built with build = "{builder.name}". '
                'For any other, use kind = "categorical".'
            )

    def _check_step(self, where: str) -> None:
        if isinstance(self.step, str):
            if self.kind != "date":
                raise SchemaError(f"{where}: 'step' must be a number.")
            one_of(self.step, PERIODS, where, "step")
        elif self.step is not None:
            if self.kind == "date" and not (is_whole(self.step) and self.step <= LONGEST_STEP):
                raise SchemaError(f"{where}: 'step' must be a whole number of days, or one of {', '.join(PERIODS)}.")
            if not is_bounded(self.step):
                raise SchemaError(f"{where}: 'step' must be a number {BOUNDED}.")
            if not self.step > 0:
                raise SchemaError(f"{where}: 'step' must be above 0.")

    def _check_limits(self, where: str) -> None:
        limits = [limit for limit in (self.bottom, self.top, *(self.range or ())) if limit is not None]
        for limit in limits:
            if self.kind == "date" and not isinstance(limit, date):
                raise SchemaError(f"{where}: 'bottom', 'top' and 'range' of a date must be dates: 2021-03-31.")
            if self.kind == "numeric" and not is_bounded(limit):
                raise SchemaError(f"{where}: 'bottom', 'top' and 'range' must be numbers {BOUNDED}.")
        for low, high, names in (
            (self.bottom, self.top, "'bottom' and 'top'"),
            (*(self.range or (None, None)), "'range'"),
        ):
            if low is not None and high is not None and not low < high:
                raise SchemaError(f"{where}: {names} must ascend.")

    @property
    def is_measured(self) -> bool:
        """Whether its values are read as numbers or dates, of which `nan` is none."""
        return self.kind in ("numeric", "date") or isinstance(self.hierarchy, Intervals | Dates)

    @property
    def has_levels(self) -> bool:
        """Whether a method can climb it: numbers and dates need a hierarchy for that, others are trees anyway."""
        return self.kind not in ("numeric", "date") or self.hierarchy is not None

    @property
    def released(self) -> tuple[str, ...]:
        """The columns it becomes in a release."""
        return (f"{self.column}_low", f"{self.column}_high") if self.publish == "bounds" else (self.column,)


@dataclass(frozen=True)
class Diversity:
    """How varied the sensitive values of each class must be (004 section 2).

    Attributes
    ----------
    distinct
        At least so many distinct values.
    entropy
        Entropy at least the logarithm of this.
    frequency
        The most frequent value in at most one of so many rows.
    recursive
        (c, l): the most frequent value less often than c times all from the l-th on.
    """

    distinct: int | None = None
    entropy: Fraction | None = None
    frequency: Fraction | None = None
    recursive: tuple[Fraction, int] | None = None

    def items(self) -> Iterator[tuple[str, Any]]:
        """Name and parameter of what is asked."""
        for name in ("distinct", "entropy", "frequency", "recursive"):
            if getattr(self, name) is not None:
                yield name, getattr(self, name)


@dataclass(frozen=True)
class Sensitive:
    """A sensitive attribute: released as it is, and protected by `t`, `l`, `rise` or `beta`, or by several of them.

    Attributes
    ----------
    column
        Its name in the table.
    distance
        equal, ordered, numeric, hierarchical or matrix.
    t
        The largest distance of a class from the whole table.
    l
        The diversity of each class.
    hierarchy
        Of distance hierarchical: the tree of its values.
    order
        Of distance ordered: its values from first to last. Numbers, dates and times need none.
    range
        Of distance numeric: the lowest and the highest possible value; the observed ones if not given.
    matrix
        Of distance matrix: how far each value is from each other.
    bins
        Of distance ordered: bin the values first, as many bins of equal frequency. The promise is then on the bins.
    edges
        Of distance ordered: bin the values first, between these numbers. The promise is then on the bins.
    format
        How dates or times of an ordered attribute are written, if not ISO (as `strptime` has it).
    rise
        A cap: the share of a value in a class is at most this much above its share in the table.
    beta
        A cap: the share of a value in a class is at most 1 + beta times its share in the table.
    enhanced
        The stricter form of beta, which also protects frequent values.
    levels
        Of distance hierarchical: rise and beta hold for the inner nodes of the tree too.
    """

    column: str
    distance: str
    t: Fraction | None = None
    l: Diversity | None = None  # noqa: E741 - the name of the field's literature
    hierarchy: Hierarchy | None = None
    order: tuple[str, ...] | None = None
    range: tuple[Number, Number] | None = None
    matrix: CostMatrix | None = None
    bins: int | None = None
    edges: tuple[Number, ...] | None = None
    format: str | None = None
    rise: Fraction | None = None
    beta: Fraction | None = None
    enhanced: bool = False
    levels: bool = False

    def __post_init__(self) -> None:
        where = f"[sensitive.{self.column}]"
        one_of(self.distance, DISTANCES, where, "distance")
        check_t(self.t, where)
        BeliefCaps(self.rise, self.beta, self.enhanced, self.levels).check(where, self.distance == "hierarchical")
        owners = {"hierarchy": "hierarchical", "matrix": "matrix", "range": "numeric", "order": "ordered"}
        owners |= {"bins": "ordered", "edges": "ordered", "format": "ordered"}
        for key, owner in owners.items():
            if getattr(self, key) is not None and self.distance != owner:
                raise SchemaError(f"{where}: '{key}' belongs to distance {owner}, and this is {self.distance}.")
        for key in ("hierarchy", "matrix"):
            if self.distance == owners[key] and getattr(self, key) is None:
                raise SchemaError(f"{where}: distance {self.distance} needs '{key}'.")
        if self.matrix is not None and len(self.matrix.values) > MOST_VALUES:
            raise SchemaError(
                f"{where}: the matrix has {len(self.matrix.values)} values, and at most {MOST_VALUES} are decided "
                "exactly. Join some of them, or use distance hierarchical."
            )
        if sum(given is not None for given in (self.order, self.bins, self.edges)) > 1:
            raise SchemaError(f"{where}: give only one of 'order', 'bins' and 'edges'.")
        if self.format is not None and (self.order is not None or self.edges is not None):
            raise SchemaError(f"{where}: 'format' is for dates, and 'order' and 'edges' are for other values.")
        check_format(self.format, where)
        if self.bins is not None and not (is_whole(self.bins) and self.bins >= 1):
            raise SchemaError(f"{where}: 'bins' must be a whole number from 1 up.")
        if self.order is not None and len(set(self.order)) != len(self.order):
            raise SchemaError(f"{where}: 'order' names a value twice.")
        for key in ("edges", "range"):
            limits: Sequence[Any] | None = getattr(self, key)
            if limits is not None and not (all(map(is_bounded, limits)) and _ascending(limits)):
                raise SchemaError(f"{where}: '{key}' must be ascending numbers {BOUNDED}.")

    @property
    def is_measured(self) -> bool:
        """Whether its values are read as numbers or dates, of which `nan` is none."""
        return self.distance == "numeric" or (self.distance == "ordered" and not self.order)

    @property
    def caps(self) -> BeliefCaps | None:
        """What is asked of the share of every single value; None where nothing is."""
        if self.rise is None and self.beta is None:
            return None
        return BeliefCaps(self.rise, self.beta, self.enhanced, self.levels)

    @property
    def is_protected(self) -> bool:
        """Whether anything is asked of its classes."""
        return self.t is not None or self.l is not None or self.caps is not None


@dataclass(frozen=True)
class Joint:
    """Sensitive attributes bound together: what is close is how their combinations are distributed.

    The distance of two combinations is the mean of the distances of their values.

    Attributes
    ----------
    name
        What it is called; no column has that name.
    columns
        Sensitive attributes, two or more.
    t
        The largest distance of a class from the whole table.
    """

    name: str
    columns: tuple[str, ...]
    t: Fraction

    def __post_init__(self) -> None:
        where = f"[joint.{self.name}]"
        if len(self.columns) < 2:
            raise SchemaError(f"{where}: 'columns' must name two sensitive attributes or more.")
        if len(set(self.columns)) < len(self.columns):
            raise SchemaError(f"{where}: 'columns' names a column twice.")
        check_t(self.t, where)


def check_t(t: Fraction | None, where: str) -> None:
    """Refuse what is no distance."""
    if t is not None and not 0 <= t <= 1:
        shown = f", and is {float(t):g}" if abs(t) < LARGEST else ""
        raise SchemaError(f"{where}: t must be from 0 to 1{shown}.")


def check_format(given: object, where: str) -> None:
    """Refuse a format of dates that no release could be written in."""
    if given is None:
        return
    if not isinstance(given, str) or "%" not in given:
        raise SchemaError(f"{where}: 'format' must be a text such as \"%d.%m.%Y\".")
    if (problem := DateForm(given).problem) is not None:
        raise SchemaError(f"{where}: 'format' cannot be written: {problem}.")


def one_of(given: object, allowed: Sequence[str], where: str, key: str) -> None:
    """Refuse what is not allowed."""
    if given not in allowed:
        raise SchemaError(f"{where}: {key} must be one of {', '.join(allowed)}.")


def is_whole(given: object) -> bool:
    """Whether it is a whole number."""
    return isinstance(given, int) and not isinstance(given, bool)


def _ascending(limits: Sequence[Any]) -> bool:
    return all(low < high for low, high in pairwise(limits)) and len(limits) > 0
