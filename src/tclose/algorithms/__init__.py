"""The registry of methods: one line each."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from tclose.algorithms.incognito import Incognito
from tclose.algorithms.mondrian import Mondrian
from tclose.algorithms.sabre_ak import SabreAK
from tclose.algorithms.sabre_knn import SabreKNN
from tclose.encode import EncodedTable
from tclose.errors import SchemaError
from tclose.partition import Control, Partition
from tclose.requirement import Requirement


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
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    needs: ClassVar[str]
    several_sensitive: ClassVar[bool]
    distances: ClassVar[frozenset[str]]
    guarantees: ClassVar[frozenset[str]]
    needs_levels: ClassVar[bool]

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


REGISTRY: dict[str, type[Algorithm]] = {
    Mondrian.name: Mondrian,
    Incognito.name: Incognito,
    SabreAK.name: SabreAK,
    SabreKNN.name: SabreKNN,
}

DEFAULT = Mondrian.name


def find(method: str | Algorithm) -> Algorithm:
    """The method of this name, with its default parameters; a method itself comes back as it is."""
    if not isinstance(method, str):
        return method
    if method not in REGISTRY:
        raise SchemaError(f"There is no method '{method}'. Known: {', '.join(REGISTRY)}.")
    return REGISTRY[method]()


def methods() -> list[dict[str, str]]:
    """The registry, for people: name, what it does, what it needs, what it guarantees, and its paper.

    Examples
    --------
    >>> [method["name"] for method in methods()]
    ['mondrian', 'incognito', 'sabre-ak', 'sabre-knn']
    """
    return [
        {
            "name": kind.name,
            "summary": kind.summary,
            "needs": kind.needs,
            "guarantees": ", ".join(sorted(kind.guarantees)),
            "paper": kind.paper,
        }
        for kind in REGISTRY.values()
    ]
