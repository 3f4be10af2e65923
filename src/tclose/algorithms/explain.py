"""Why nothing better than one class was found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tclose.algorithms import Algorithm
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.errors import InfeasibleError
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

SECONDS_TO_EXPLAIN = 20.0  # for each attribute by itself


def explain_single_class(
    algorithm: Algorithm, table: EncodedTable, requirement: Requirement, partition: Partition
) -> InfeasibleError:
    """Name what binds: the demands under which alone nothing better than a single class is found, or the time."""
    if partition.facts.get("stopped_early"):
        return InfeasibleError(
            "It was stopped before anything better than one class holding the whole table was found. Allow more time."
        )
    worst = table.loss(np.zeros(len(table), np.int64))

    def alone(attributes: tuple[Attribute, ...]) -> bool:
        chosen = [place for place, attribute in enumerate(requirement.attributes) if attribute in attributes]
        lone = replace(
            table,
            domains=tuple(table.domains[place] for place in chosen),
            codes=tuple(table.codes[place] for place in chosen),
        )
        asked = replace(requirement, attributes=attributes)
        rng = np.random.default_rng(0)
        labels = algorithm.partition(lone, asked, rng=rng, control=Control(SECONDS_TO_EXPLAIN)).labels
        return table.loss(labels) > worst - 1e-9

    if alone(()):
        binding = f"k = {requirement.k}"
    else:
        names = [repr(one.domain.column) for one in requirement.attributes if alone((one,))]
        binding = ("the requirement on " + " and that on ".join(names)) if names else "all requirements together"
    return InfeasibleError(
        f"Only one class holding the whole table was found, which is useless. What binds is {binding}. Loosen it, "
        "or say that one class will do (--allow-single-class, allow_single_class=True)."
    )
