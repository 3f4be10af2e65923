"""How far the release of a small table is from what any release loses at least; for its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose.algorithms.loss_bound.nearest_rows import nearest_bound
from tclose.algorithms.loss_bound.rounded_losses import rounded_down
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable

MOST_ROWS = 400  # for which it takes a fraction of a second
MOST_PLACES = 4096  # of all axes, which take time too


def gap_of_small(
    table: EncodedTable, requirement: Requirement, facts: Mapping[str, Any], loss: float
) -> dict[str, float | None]:
    """The bound and how far a loss is above it; nothing where the table is large, or rows may be left out.

    Which it is depends on the table alone. A bound that the method proved counts too.
    """
    if requirement.left_out is not None or len(table) > MOST_ROWS:
        return {}
    if sum(axis.size for axis in table.axes) > MOST_PLACES or table.objective.name != "loss":
        return {}
    proven = facts.get("loss_at_least")
    found = max(rounded_down(nearest_bound(table, requirement)), 0.0 if proven is None else float(proven))
    above = loss / found - 1 if found > 0 else None if loss > 0 else 0.0
    return {"loss_at_least": found, "above": None if above is None else max(above, 0.0)}
