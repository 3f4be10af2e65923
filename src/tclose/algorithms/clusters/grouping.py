"""What the methods of 003 have in common: groups, classes with a share of each, merging."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.clusters.groups import Groups
from tclose.algorithms.control import Control, Stage
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.merge import merge
from tclose.algorithms.shared.nearest import take_nearest
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Labels = NDArray[np.int64]
TakesRows = Callable[..., tuple[Labels, Labels]]


def partition(
    ways: Sequence[Callable[[Stage], Groups]],
    table: EncodedTable,
    requirement: Requirement,
    rng: np.random.Generator,
    control: Control,
    take_out: TakesRows = take_nearest,
) -> Partition:
    """Form classes in each of these ways, and keep the one of least loss.

    A way makes the groups. Classes take their rows of each by `take_out`, and those that do not
    hold are merged.
    """
    seed = int(rng.integers(2**63))
    best, least, complete = np.zeros(len(table), np.int64), np.inf, True
    for number, stage in _stages(control, len(ways)):
        if number and control.stop:
            complete = False
            break
        groups = ways[number](replace(stage, end=_between(stage, 0.3)))
        complete &= not control.stop
        taking = replace(stage, begin=_between(stage, 0.3), end=_between(stage, 0.6))
        labels, seeds = take_out(table, groups.owners, groups.sizes, seed, taking)
        labels, is_whole = merge(table, requirement, labels, replace(stage, begin=_between(stage, 0.6)))
        complete &= is_whole and len(seeds) == len(groups.sizes)
        loss = table.loss(labels)
        if loss < least:
            best, least = labels, loss
        control.report(loss=least, done=stage.end)
    return Partition(best, facts={} if complete else {"stopped_early": True})


def _stages(control: Control, n_ways: int) -> Iterator[tuple[int, Stage]]:
    for number in range(n_ways):
        yield number, Stage(control, number / n_ways, (number + 1) / n_ways)


def _between(stage: Stage, share: float) -> float:
    return stage.begin + (stage.end - stage.begin) * share
