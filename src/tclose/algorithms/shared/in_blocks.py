"""Classes within what `coarsest` keeps apart: each block of rows that may be mixed is partitioned by itself.

No class may mix blocks, so a partition of the table is one of each block, and the least loss is the sum of theirs.
Every class is measured against the whole table all the same. What is asked holds for unions of classes: if a block does
not meet it as one class, no partition does, and the columns that part it from the others are named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.whole_costs import WholeCosts
from tclose.errors import InfeasibleError
from tclose.table.axes import SpanAxis
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Labels = NDArray[np.int64]


class FormsClasses(Protocol):
    """What forms the classes of rows that may all be mixed: a method's own `partition`."""

    def __call__(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None,
    ) -> Partition:
        """The classes of these rows."""
        ...


def in_blocks(
    form: FormsClasses,
    table: EncodedTable,
    requirement: Requirement,
    *,
    rng: np.random.Generator,
    control: Control,
    start: Partition | None,
    shares_time: bool = False,
) -> Partition:
    """The classes that a method forms of each block; of all rows at once, where no column keeps any apart.

    A method that uses all the time it gets has it shared out: each block gets its part, by rows, of what is left.

    Raises
    ------
    InfeasibleError
        A block does not meet what is asked, or no classes were found that are as narrow as `coarsest` asks.
    """
    limited = _limited(table)
    if not limited or not len(table):
        return form(table, requirement, rng=rng, control=control, start=start)
    blocks = _blocks(table, limited)
    members = np.split(np.argsort(blocks, kind="stable"), np.cumsum(np.bincount(blocks))[:-1])
    seeds = rng.spawn(len(members)) if len(members) > 1 else [rng]
    found = []
    rows_left = len(table)
    for number, rows in enumerate(members):
        if shares_time and (gone := control.share) is not None:
            watch = control.part(gone, gone + (1 - gone) * len(rows) / rows_left)
        else:
            watch = Control(control.seconds, _share_of(control, number, len(members)), control, control.uncounted)
        rows_left -= len(rows)
        own = None if start is None else Partition.of(start.labels[rows])
        try:
            part = form(table.take(rows), requirement, rng=seeds[number], control=watch, start=own)
        except InfeasibleError as error:
            raise _names_columns(table, requirement, limited, error) from None
        _check_width(table.take(rows), part.labels, control.stop)
        found.append(part)
    return _joined(table, members, found)


def columns_mixed(table: EncodedTable, labels: Labels) -> list[str]:
    """The columns in which some class is coarser than their `coarsest`."""
    return [axis.column for axis, mixed in zip(table.axes, classes_mixed(table, labels), strict=True) if mixed.any()]


def classes_mixed(table: EncodedTable, labels: Labels) -> list[NDArray[np.bool_]]:
    """By axis, which classes are coarser than `coarsest` of its column allows."""
    found = []
    spans = table.spans(labels, int(labels.max(initial=-1)) + 1)
    for axis, (low, high) in zip(table.axes, spans, strict=True):
        mixed = np.zeros(len(low), bool) if axis.blocks is None else axis.blocks[low] != axis.blocks[high]
        found.append(mixed | axis.too_wide(low, high) if isinstance(axis, SpanAxis) else mixed)
    return found


def _limited(table: EncodedTable) -> list[int]:
    """The axes whose `coarsest` keeps something apart."""
    return [place for place, axis in enumerate(table.axes) if axis.blocks is not None]


def _blocks(table: EncodedTable, limited: Sequence[int]) -> Labels:
    """The block of each row: rows are in one if these axes let them be mixed."""
    labels = np.zeros(len(table), np.int64)
    for place in limited:
        blocks = table.axes[place].blocks
        assert blocks is not None
        own = blocks[table.places[place]].astype(np.int64)
        labels = np.unique(labels * (int(own.max()) + 1) + own, return_inverse=True)[1].astype(np.int64)
    return labels


def _check_width(table: EncodedTable, labels: Labels, stopped: bool) -> None:
    """Refuse classes that are wider than `coarsest`: those of a block lie in it, but an interval may be too wide."""
    columns = columns_mixed(table, labels)
    if columns and stopped:
        raise InfeasibleError(
            f"It was stopped before classes were found that are as narrow as `coarsest` of {_quoted(columns)} asks. "
            "Allow more time."
        )
    if columns:
        raise InfeasibleError(
            f"No classes were found that meet what is asked and whose intervals are as narrow as `coarsest` of "
            f"{_quoted(columns)} asks. Allow wider intervals there, or loosen k or t."
        )


def _names_columns(
    table: EncodedTable, requirement: Requirement, limited: Sequence[int], error: InfeasibleError
) -> InfeasibleError:
    """The same, saying which columns forbid it: those that do so alone, or all that keep rows apart."""
    alone = [place for place in limited if not _all_hold(table, requirement, [place])]
    names = dict.fromkeys(table.axes[place].column for place in alone or limited)
    return InfeasibleError(
        f"`coarsest` of {_quoted(list(names))} keeps some rows apart from all others, and by themselves they do not "
        f"meet what is asked. {_reason(error)} Allow coarser values there, or ask for less."
    )


def _reason(error: InfeasibleError) -> str:
    """Why rows that are kept apart do not do, in words about them and not about the whole table.

    Examples
    --------
    >>> _reason(InfeasibleError("The table has 3 rows, and k = 5 asks for more in every class."))
    'A group has 3 rows, and k = 5 asks for more in every class.'
    """
    told = str(error).split(", so ")[0].rstrip(".")
    for words, instead in (
        ("The table has", "A group has"),
        ("The whole table", "A group"),
        ("the whole table", "a group"),
    ):
        told = told.replace(words, instead)
    return f"{told}."


def _all_hold(table: EncodedTable, requirement: Requirement, limited: Sequence[int]) -> bool:
    blocks = _blocks(table, limited)
    return requirement.holds_in_all(table, blocks)


def _quoted(columns: Sequence[str]) -> str:
    return " and ".join(f"'{column}'" for column in columns)


def _share_of(control: Control, number: int, n: int) -> Callable[[float | None, float | None], None]:
    """Tells the share of all blocks done."""
    return lambda loss, done: control.report(done=(number + (done or 0.0)) / n)


@dataclass(frozen=True)
class _BlockFacts:
    """The facts of a block, and its share of the rows."""

    facts: dict[str, Any]
    share: float


def _joined(table: EncodedTable, members: Sequence[Labels], found: Sequence[Partition]) -> Partition:
    """The labels of all blocks, those of one after those of the other, and what is known of all of them."""
    labels, first = np.empty(len(table), np.int64), 0
    for rows, part in zip(members, found, strict=True):
        labels[rows] = part.labels + first
        first += part.n_classes
    if len(found) == 1:
        return replace(found[0], labels=labels)
    parts = [_BlockFacts(part.facts, len(rows) / len(table)) for rows, part in zip(members, found, strict=True)]
    facts: dict[str, Any] = {"stopped_early": True} if any(each.facts.get("stopped_early") for each in parts) else {}
    if all("loss_at_least" in each.facts for each in parts):
        facts["optimal"] = all(each.facts["optimal"] for each in parts)
        facts["loss_at_least"] = _least(table, labels, parts, facts["optimal"])
        facts["proved_by"] = parts[0].facts["proved_by"]
    return Partition(labels, facts=facts)


def _least(table: EncodedTable, labels: Labels, parts: Sequence[_BlockFacts], optimal: bool) -> float:
    """What no partition loses less than: the loss itself where it is the least, else the sum over the blocks."""
    if optimal and (whole := WholeCosts.of(table)) is not None:
        return whole.loss_of(labels)
    least = float(sum(each.facts["loss_at_least"] * each.share for each in parts))
    return min(least, table.loss(labels)) if optimal else max(least - 1e-12, 0.0)
