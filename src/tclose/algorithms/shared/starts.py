"""What becomes of a partition that is there already, in methods that form classes anew."""

from __future__ import annotations

from dataclasses import replace

from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition


def or_start(
    found: Partition, loss: float, start: Partition | None, table: EncodedTable, requirement: Requirement
) -> Partition:
    """What was found, which loses so much; or `start`, with the facts of both, if it holds and loses no more."""
    if start is not None and table.loss(start.labels) <= loss and requirement.holds_in_all(table, start.labels):
        return replace(start, facts=start.facts | found.facts)
    return found
