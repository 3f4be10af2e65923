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
    algorithm: Algorithm, table: EncodedTable, requirement: Requirement, partition: Partition, control: Control
) -> InfeasibleError:
    """Name what binds: the demands under which alone nothing better than a single class is found, or the time.

    What the method left of its time is all there is to find out.
    """
    if partition.facts.get("stopped_early"):
        return InfeasibleError(
            "It was stopped before anything better than one class holding the whole table was found. Allow more time."
        )
    if partition.facts.get("greatest_common_divisor") == 1:
        return InfeasibleError(
            "Exact shares of the boxes of sensitive values are whole rows for one class only, that of the whole table: "
            "the greatest common divisor of their rows is 1. Take 'fragments' instead, whose shares need not be exact."
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
        watch = Control(SECONDS_TO_EXPLAIN, whole=control)
        return table.loss(algorithm.partition(lone, asked, rng=rng, control=watch).labels) > worst - 1e-9

    binding = ""
    if not control.stop and alone(()):
        binding = f"k = {requirement.k}"
    elif not control.stop:
        names = [repr(one.domain.column) for one in requirement.attributes if not control.stop and alone((one,))]
        binding = ("the requirement on " + " and that on ".join(names)) if names else "all requirements together"
    found = "Only one class holding the whole table was found, which is useless."
    advice = "or say that one class will do (--allow-single-class, allow_single_class=True)."
    if control.stop:
        return InfeasibleError(
            f"{found} There was no time to find out what binds: allow more, loosen a t or k, {advice}"
        )
    return InfeasibleError(f"{found} What binds is {binding}. Loosen it, {advice}")
