"""Weights and limits of quasi-identifiers: what one counts in the loss, and how coarse or fine it may be released."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tclose.errors import SchemaError
from tclose.schema.builders import PERIODS, Dates, Intervals, Prefixes
from tclose.schema.decimals import BOUNDED, is_bounded
from tclose.schema.hierarchy import Hierarchy

MOST_WEIGHT = 1_000_000

if TYPE_CHECKING:
    from tclose.schema.columns import Quasi


def check_weight(weight: object, where: str) -> None:
    """Refuse what is no share in a loss."""
    if not isinstance(weight, Fraction | int) or not weight > 0:
        raise SchemaError(f"{where}: weight must be above 0: 2 counts twice as much in the loss as 1.")
    if not 1 <= weight * MOST_WEIGHT <= MOST_WEIGHT**2:
        raise SchemaError(f"{where}: weight must be from 1/{MOST_WEIGHT} to {MOST_WEIGHT}.")


def check_column_limits(quasi: Quasi, where: str) -> None:
    """Refuse `coarsest` and `finest` that the kind of a column cannot have, or that leave nothing to release."""
    for key in ("coarsest", "finest"):
        if getattr(quasi, key) is not None and quasi.kind == "digits":
            raise SchemaError(f"{where}: '{key}' is not for kind digits. Use kind text, whose ends alone are hidden.")
    if quasi.finest is not None:
        _check_finest(quasi, where)
    if quasi.coarsest is None:
        return
    checks = {"numeric": _check_width, "date": _check_period, "text": _check_kept, "categorical": _check_level}
    checks[quasi.kind](quasi, where)
    if quasi.publish == "mean":
        raise SchemaError(f"{where}: 'coarsest' limits intervals; a mean has none. Take one of them out.")


def levels_above(quasi: Quasi) -> int:
    """The height of the hierarchy of a categorical column: 1 without one, where only `*` is above the values."""
    hierarchy = quasi.hierarchy
    if isinstance(hierarchy, Hierarchy):
        return hierarchy.height
    if isinstance(hierarchy, Intervals):
        return len(hierarchy.widths) + 1
    if isinstance(hierarchy, Dates):
        return len(hierarchy.levels) + 1
    return len(hierarchy.lengths) + 1 if isinstance(hierarchy, Prefixes) else 1


def _check_finest(quasi: Quasi, where: str) -> None:
    if quasi.kind in ("numeric", "date"):
        raise SchemaError(f"{where}: 'finest' is for kind categorical or text; use 'step' for kind {quasi.kind}.")
    finest: Any = quasi.finest
    if quasi.kind == "text":
        if not _is_count(finest) or finest < 1:
            raise SchemaError(f"{where}: 'finest' must be the number of characters shown at most, from 1 up.")
    elif not _is_count(finest) or not 0 <= finest < levels_above(quasi):
        raise SchemaError(
            f"{where}: 'finest' must be a level of the hierarchy, from 0 (the values) to {levels_above(quasi) - 1}."
        )


def _check_width(quasi: Quasi, where: str) -> None:
    coarsest: Any = quasi.coarsest
    if isinstance(coarsest, str) or not is_bounded(coarsest) or coarsest < 0:
        raise SchemaError(f"{where}: 'coarsest' must be the greatest width of an interval, a number {BOUNDED}.")
    if quasi.step is not None and coarsest < quasi.step:
        raise SchemaError(f"{where}: 'coarsest' is below 'step', so that not even a single value could be released.")
    if quasi.bottom is not None and quasi.top is not None:
        _check_both_tails(quasi, where, _exact(quasi.top) - _exact(quasi.bottom) <= _exact(coarsest))


def _check_both_tails(quasi: Quasi, where: str, both_fit: bool) -> None:
    """An interval from below `bottom` to above `top` has no bounds to be seen, so that nobody could check its width."""
    if quasi.publish == "bounds" and both_fit:
        raise SchemaError(
            f"{where}: 'bottom' and 'top' lie within 'coarsest', and bounds that are both open show nothing. Publish "
            "intervals, or make 'coarsest' narrower."
        )


def _check_period(quasi: Quasi, where: str) -> None:
    if quasi.coarsest not in PERIODS:
        raise SchemaError(f"{where}: 'coarsest' of a date must be one of {', '.join(PERIODS)}.")
    if isinstance(quasi.step, str) and PERIODS.index(quasi.step) > PERIODS.index(quasi.coarsest):
        raise SchemaError(f"{where}: 'coarsest' is below 'step', so that not even a single value could be released.")
    if isinstance(quasi.bottom, date) and isinstance(quasi.top, date):
        _check_both_tails(quasi, where, _period(quasi.bottom, quasi.coarsest) == _period(quasi.top, quasi.coarsest))


def _period(day: date, period: object) -> tuple[int, ...]:
    """What all days of a period have in common."""
    by_period = {"day": (day.month, day.day), "month": (day.month,), "quarter": ((day.month - 1) // 3,), "year": ()}
    return day.year, *by_period[str(period)]


def _check_kept(quasi: Quasi, where: str) -> None:
    if not _is_count(quasi.coarsest) or quasi.coarsest < 1:  # type: ignore[operator]
        raise SchemaError(f"{where}: 'coarsest' must be the number of characters shown at least, from 1 up.")
    if quasi.finest is not None and quasi.finest < quasi.coarsest:  # type: ignore[operator]
        raise SchemaError(
            f"{where}: 'coarsest' shows more characters than 'finest' allows, so that nothing could be released."
        )


def _check_level(quasi: Quasi, where: str) -> None:
    coarsest = quasi.coarsest
    if isinstance(coarsest, str):
        if not isinstance(quasi.hierarchy, Hierarchy):
            raise SchemaError(f"{where}: 'coarsest' can be a label only of a hierarchy that is given. Name a level.")
        if coarsest not in quasi.hierarchy.labels:
            raise SchemaError(f"{where}: 'coarsest' is not a label of the hierarchy.")
        return
    if not _is_count(coarsest) or not 0 <= coarsest <= levels_above(quasi):  # type: ignore[operator]
        raise SchemaError(
            f"{where}: 'coarsest' must be a level of the hierarchy, from 0 (the values) to {levels_above(quasi)} (*), "
            "or a label of it."
        )
    if quasi.finest is not None and quasi.finest > coarsest:  # type: ignore[operator]
        raise SchemaError(f"{where}: 'finest' is above 'coarsest', so that nothing could be released.")


def _exact(given: object) -> Fraction:
    return Fraction(str(given))


def _is_count(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)
