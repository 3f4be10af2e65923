"""The registry of methods: one line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from tclose.algorithms.clusters.clusters import Clusters
from tclose.algorithms.clusters.microaggregation import Microaggregation
from tclose.algorithms.clusters.pca import PCA
from tclose.algorithms.exact.exact import Exact
from tclose.algorithms.fragments.fragments import Fragments
from tclose.algorithms.fragments.fragments_strict import FragmentsStrict
from tclose.algorithms.incognito.incognito import Incognito
from tclose.algorithms.k_approx.k_approx import KApprox
from tclose.algorithms.milp.milp import Milp
from tclose.algorithms.mondrian.mondrian import Mondrian
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.sabre.sabre_ak import SabreAK
from tclose.algorithms.sabre.sabre_knn import SabreKNN
from tclose.algorithms.tight.tight import Tight
from tclose.algorithms.two_diversity.two_diversity import TwoDiversity
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable
from tclose.table.partition import Control, Partition


class Algorithm(Protocol):
    """What a method is: capabilities as plain data, parameters as fields, and one function.

    Attributes
    ----------
    name, summary, paper, needs
        For people.
    several_sensitive, distances, guarantees
        What it can promise: a schema that asks for more is refused.
    needs_levels
        Whether every quasi-identifier must have a hierarchy to climb; else the schema is refused.
    small_only
        Whether it refuses tables that are too large for it, with SizeError.
    recodings
        The values of `recode` it takes.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    needs: ClassVar[str]
    several_sensitive: ClassVar[bool]
    distances: ClassVar[frozenset[str]]
    guarantees: ClassVar[frozenset[str]]
    needs_levels: ClassVar[bool]
    small_only: ClassVar[bool]
    recodings: ClassVar[frozenset[str]]

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        """Group the rows into classes that meet the requirement, or raise InfeasibleError."""
        ...


@runtime_checkable
class Choosy(Protocol):
    """A method whose limits its capabilities cannot tell: it looks at the schema itself."""

    def refuse(self, schema: Schema) -> None:
        """Raise SchemaError if it cannot do what the schema asks."""
        ...


REGISTRY: dict[str, type[Algorithm]] = {
    Tight.name: Tight,
    Mondrian.name: Mondrian,
    Incognito.name: Incognito,
    SabreAK.name: SabreAK,
    SabreKNN.name: SabreKNN,
    Fragments.name: Fragments,
    FragmentsStrict.name: FragmentsStrict,
    Clusters.name: Clusters,
    PCA.name: PCA,
    Microaggregation.name: Microaggregation,
    KApprox.name: KApprox,
    TwoDiversity.name: TwoDiversity,
    Exact.name: Exact,
    Milp.name: Milp,
}

DEFAULT = Tight.name


def find(method: str | Algorithm, options: Mapping[str, str] | None = None) -> Algorithm:
    """The method of this name, with options given as text; a method itself comes back as it is.

    Examples
    --------
    >>> find("sabre-ak", {"search_budget": "true"}).search_budget
    True
    """
    if not isinstance(method, str):
        return method
    if method not in REGISTRY:
        raise SchemaError(f"There is no method '{method}'. Known: {', '.join(REGISTRY)}.")
    defaults = _options(REGISTRY[method])
    read: dict[str, Any] = {}
    for name, value in (options or {}).items():
        if name not in defaults:
            allowed = f"Allowed: {', '.join(defaults)}." if defaults else "It has none."
            raise SchemaError(f"'{method}' has no option '{name}'. {allowed}")
        read[name] = _read(method, name, value, defaults[name])
    return REGISTRY[method](**read)


def _options(kind: type[Algorithm]) -> dict[str, Any]:
    """The options of a method with their defaults."""
    return {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]


def _read(method: str, name: str, value: str, default: Any) -> Any:
    """An option from text, of the type its default has."""
    if isinstance(default, bool):
        if value not in ("true", "false"):
            raise SchemaError(f"'{method}': option '{name}' must be true or false.")
        return value == "true"
    if not isinstance(default, int | float):
        return None if default is None and not value else value
    try:
        return type(default)(value)
    except ValueError:
        raise SchemaError(f"'{method}': option '{name}' must be a number.") from None


def methods() -> list[dict[str, str]]:
    """The registry, for people: name, what it does, needs and guarantees, its options and defaults, and its paper.

    Examples
    --------
    >>> [method["name"] for method in methods()][:3]
    ['tight', 'mondrian', 'incognito']
    """
    return [
        {
            "name": kind.name,
            "summary": kind.summary,
            "needs": kind.needs,
            "options": ", ".join(f"{name}={_written(value)}" for name, value in _options(kind).items()),
            "guarantees": ", ".join(sorted(kind.guarantees)),
            "paper": kind.paper,
        }
        for kind in REGISTRY.values()
    ]


def _written(value: Any) -> str:
    """A default as it would be given on the command line."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
