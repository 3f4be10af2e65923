"""Histories: random small ones against attackers who try all worlds, and the same tables released anew each time."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from fractions import Fraction
from typing import Any

import tclose
from tests.history.attacking import Run, who_believes, who_ignores, who_knows
from tests.history.histories import Asked, Ran, Table, random_history, run_history, run_naively
from tests.oracles.history_attackers import TooManyWorlds

SEEDS = range(1000, 1000 + int(os.environ.get("HISTORIES", "400")))
MOST_WORLDS_RUN = 12  # for whoever knows the program: each is a run of the whole history
EVENTS = (
    "added",
    "changed",
    "moved",
    "deleted",
    "returned",
    "withdrawn",
    "new_waiting",
    "changes_held",
    "deletions_held",
)


def histories() -> dict[str, Any]:
    """How often each attacker believes more than is allowed, and by how much; of ours, the first must never."""
    warnings.simplefilter("ignore", tclose.HighLossWarning)
    started, events, findings = time.monotonic(), Counter[str](), []
    ours, naive, alone = _Found(), _Found(), _Found()
    for seed in SEEDS:
        asked, tables = random_history(seed)
        hold = seed % 4 != 0

        def run(asked: Asked, tables: Any, hold: bool = hold) -> Ran:
            return run_history(asked, tables, "hold" if hold else "withdraw")

        ran = run(asked, tables)
        for counts in ran.counts:
            events.update({name: counts[name] for name in EVENTS})
        believed = ours.look(asked, tables, ran, run)
        if believed is not None and believed > 0:
            findings.append(f"seed {seed}: a belief is {float(believed):.4f} beyond what is allowed")
        naive.look(asked, tables, run_naively(asked, tables), run_naively)
        alone.look(asked, tables[:1], run_naively(asked, tables[:1]), run_naively)
    if ours.counts["no world"]:
        findings.append(f"{ours.counts['no world']} histories in which the true world does not fit the promise")
    return {
        "seconds": round(time.monotonic() - started),
        "histories": len(SEEDS),
        "events": dict(events),
        "ours": ours.as_dict(),
        "naive": naive.as_dict(),
        "first_release_alone": alone.as_dict(),
        "findings": findings,
    }


class _Found:
    """What the attackers found of one way to release."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.worst: dict[str, Fraction] = {}

    def look(self, asked: Asked, tables: list[Table], ran: Ran, run: Run) -> Fraction | None:
        """Attack a history; what the one who believes the promise finds."""
        try:
            believes, ignores = who_believes(asked, ran.shown), who_ignores(asked, ran.shown)
        except TooManyWorlds:
            self.counts["too many worlds"] += 1
            return None
        self.counts["attacked"] += 1
        self.counts["no world"] += believes is None
        self._note("believes releases and promise", believes)
        self._note("believes releases alone", ignores)
        knows = who_knows(asked, tables, ran, run, MOST_WORLDS_RUN)
        self._note("knows the program", None if knows is None else knows[0])
        self._note("knows the program and the record", None if knows is None else knows[1])
        return believes

    def _note(self, who: str, found: Fraction | None) -> None:
        if found is None:
            return
        self.counts[f"{who}: tried"] += 1
        self.counts[f"{who}: beyond what is allowed"] += found > 0
        self.worst[who] = max(found, self.worst.get(who, found))

    def as_dict(self) -> dict[str, Any]:
        return {"counts": dict(self.counts), "worst_excess": {who: float(each) for who, each in self.worst.items()}}
