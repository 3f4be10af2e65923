"""Three attackers on a small history: what each comes to believe beyond what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from tests.history.histories import Asked, Ran, Table
from tests.oracles.history_attackers import Shown, Worlds, beliefs, believing, worlds_of

Run = Callable[[Asked, Sequence[Table]], Ran]


def excess(asked: Asked, shown: Shown, worlds: Worlds) -> Fraction:
    """How far the belief about some value of some person is beyond what is allowed; not above 0 if none is."""
    found = beliefs(shown, worlds)
    return max(asked.excess(believed, shown.shares(shown.origin(place))) for place, believed in enumerate(found))


def who_believes(asked: Asked, shown: Shown) -> Fraction | None:
    """The one who believes the releases and the promise; None if no world fits both."""
    worlds = believing(shown, worlds_of(shown), asked.k, asked.keeps)
    return excess(asked, shown, worlds) if len(worlds) else None


def who_ignores(asked: Asked, shown: Shown) -> Fraction:
    """The one who believes the releases alone."""
    return excess(asked, shown, worlds_of(shown))


def who_knows(asked: Asked, tables: Sequence[Table], ran: Ran, run: Run, most: int) -> tuple[Fraction, Fraction] | None:
    """The one who keeps only worlds for which the program does the same; None if there are too many to try.

    This attacker is also told what nobody was shown: the values of those who wait. The second figure is that of one who
    has the record, too, which counts who waits and is never published.
    """
    shown = ran.shown
    worlds = worlds_of(shown)
    if len(worlds) > most:
        return None
    again = [run(asked, _tables_in(tables, shown, world)) for world in worlds]
    same = np.array([_looks_the_same(each, ran) for each in again])
    counted = same & np.array([each.counts == ran.counts for each in again])
    return excess(asked, shown, worlds[same]), excess(asked, shown, worlds[counted])


def _looks_the_same(again: Ran, ran: Ran) -> bool:
    """Whether the same persons share classes and enter at the same times."""
    same = (again.released, again.partitions) == (ran.released, ran.partitions)
    return same and again.shown.entered() == ran.shown.entered()


def _tables_in(tables: Sequence[Table], shown: Shown, world: Sequence[int]) -> list[Table]:
    """The tables of a world: a value that was released, then or later, is that of the world."""
    changed = []
    for table in tables:
        found = {}
        for person, (age, value) in table.items():
            released = [versions[person] for versions in shown.versions if person in versions]
            same = [variable for variable in released if shown.truth[variable] == value]
            found[person] = (age, int(world[same[0]]) if same else value)
        changed.append(found)
    return changed
