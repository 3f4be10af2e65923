"""Using up t: classes that are formed are cut on by the real distance, and searched as `tight` searches."""

from __future__ import annotations

import numpy as np

from tclose.algorithms import ImprovesClasses, find
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

CUTTING = 0.1  # of the work; the rest is the search


def cut_on(
    table: EncodedTable, requirement: Requirement, start: Partition, *, rng: np.random.Generator, control: Control
) -> Partition:
    """The classes of `start` cut as `mondrian` cuts, then moved, swapped and built anew as `tight` does.

    Both decide exactly, and neither loses more than what it begins from.
    """
    watch = control.stretch(0.0, CUTTING)
    cut = find("mondrian").partition(table, requirement, rng=rng, control=watch, start=start)
    method = find("tight")
    assert isinstance(method, ImprovesClasses)
    found = method.improve(table, requirement, cut, rng=rng, control=control.stretch(CUTTING, 1.0))
    control.report(done=1.0)
    stopped = any(each.facts.get("stopped_early") for each in (start, cut, found))
    return Partition(found.labels, facts={"stopped_early": True} if stopped else {})
