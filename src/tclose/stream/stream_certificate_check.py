"""Whether the certificate of a class says what is so, and nothing that does not follow from what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isclose
from typing import Any

from tclose.errors import VerificationError
from tclose.schema.schema import Schema
from tclose.stream.items import Released
from tclose.stream.window_measure import WindowMeasure

Told = Mapping[str, Any]
ALWAYS, WHERE_WHOLE = {"class", "k", "l", "required", "method"}, {"t", "window"}


def check_certificates(
    certificates: Sequence[Told], released: Released, sizes: Sequence[int], measured: WindowMeasure, schema: Schema
) -> None:
    """Compare certificates with what was measured.

    Parameters
    ----------
    certificates
        One a class, in the order of the classes.
    released, sizes
        The classes, and the rows of each.
    measured
        What they reach.
    schema
        What was asked.

    Raises
    ------
    VerificationError
        One says something else, or tells how far its class is from a window that is not all released with it.
    """
    if len(certificates) != len(sizes):
        raise VerificationError("There are not as many certificates as classes.")
    whole = released.is_whole_window
    numbers = sorted(set(released.classes.tolist()))
    window = {"classes": [numbers[0], numbers[-1]], "rows": len(released.classes)}
    binned = {each.column for each in schema.sensitive if each.bins is not None and not whole}
    for place, told in enumerate(certificates):
        number = numbers[place]
        if set(told) != (ALWAYS | WHERE_WHOLE if whole else ALWAYS):
            raise VerificationError(f"The certificate of class {number} tells more, or less, than it may.")
        if told["class"] != number or told["k"] != sizes[place] or not isinstance(told["method"], str):
            raise VerificationError(f"The certificate of class {number} is that of another class.")
        diversity = {name: each[place] for name, each in measured.diversity.items() if name not in binned}
        if not _is_same(told["l"], diversity):
            raise VerificationError(f"The certificate of class {number} does not say how diverse it is.")
        if not _asks(told["required"], schema):
            raise VerificationError(f"The certificate of class {number} does not say what was asked.")
        reached = {name: each[place] for name, each in measured.distances.items()}
        if whole and (told["window"] != window or not _are_distances(told["t"], reached)):
            raise VerificationError(f"The certificate of class {number} does not say how far it is from its window.")


def _is_same(told: Any, found: Any) -> bool:
    """Whether both are the same but for roundings of numbers."""
    if isinstance(found, Mapping):
        same = isinstance(told, Mapping) and told.keys() == found.keys()
        return same and all(_is_same(told[name], each) for name, each in found.items())
    if isinstance(found, float):
        return isinstance(told, int | float) and isclose(told, found, rel_tol=1e-8, abs_tol=1e-8)
    return bool(told == found)


def _are_distances(told: Any, found: Mapping[str, Fraction]) -> bool:
    """Whether each is given exactly, and as the nearest float."""
    expected = {name: {"exact": str(each), "value": float(each)} for name, each in found.items()}
    return bool(told == expected)


def _asks(told: Any, schema: Schema) -> bool:
    """Whether k, every t, every l and every cap are those of the schema."""
    asked = [(each.column, each.t) for each in schema.sensitive] + [(each.name, each.t) for each in schema.joint]
    diverse = {
        each.column: {
            kind: {"c": str(value[0]), "l": value[1]} if kind == "recursive" else str(value)
            for kind, value in each.l.items()
        }
        for each in schema.sensitive
        if each.l is not None
    }
    if not isinstance(told, Mapping) or told.get("k") != schema.k or told.get("l") != diverse:
        return False
    if told.get("rise", {}) != _caps(schema, "rise") or told.get("beta", {}) != _caps(schema, "beta"):
        return False
    return _are_distances(told.get("t"), {name: t for name, t in asked if t is not None})


def _caps(schema: Schema, key: str) -> dict[str, Any]:
    """What is asked of single values by one key, as certificates have it."""
    found: dict[str, Any] = {}
    for each in schema.sensitive:
        most = each.rise if key == "rise" else each.beta
        if most is not None:
            enhanced = {"enhanced": True} if key == "beta" and each.enhanced else {}
            found[each.column] = {"exact": str(most), "value": float(most), **enhanced}
    return found
