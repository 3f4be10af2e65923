"""What people see of a history on the terminal."""

from __future__ import annotations

from pathlib import Path

from tclose.cli.fitted_tables import print_table
from tclose.cli.terminal import console, shown
from tclose.history.history_check import HistoryVerdict
from tclose.history.history_state import HistoryState
from tclose.history.intersection_attack import Intersected
from tclose.release.history_words import WAITING, counted_sentences

COLUMNS = ("added", "changed", "deleted", "returned", "withdrawn")


def show_counts(counts: dict[str, int]) -> None:
    """What a release did, and what waits."""
    terminal = console()
    first, *waiting = counted_sentences(counts)
    terminal.print(first, highlight=False)
    for sentence in waiting:
        terminal.print(f"  {sentence}", highlight=False)


def show_history(state: HistoryState, verdict: HistoryVerdict, attacks: list[Intersected]) -> None:
    """The releases, the check and the attack."""
    terminal = console()
    if not state.number:
        terminal.print("The history has no release yet.")
        return
    rows = []
    for entry in state.releases:
        waits = sum(entry.counts.get(name, 0) for name in WAITING if name != "barred")
        numbers = [f"{entry.counts[name]:,}" for name in COLUMNS]
        file = Path(entry.outputs[0][1]).name if entry.outputs else ""
        rows.append(
            [
                str(entry.number),
                shown(file),
                f"{entry.rows:,}",
                f"{entry.classes:,}",
                f"{entry.loss:.4f}",
                *numbers,
                f"{waits:,}",
            ]
        )
    print_table(terminal, ("release", "file", "rows", "classes", "loss", *COLUMNS, "waiting"), rows, n_words=2)
    last = state.releases[-1]
    if last.outputs and Path(last.outputs[0][1]).exists() and not last.is_as_written:
        terminal.print(
            f"'{shown(Path(last.outputs[0][1]).name)}' is not as it was written: it was changed or replaced since.",
            highlight=False,
        )
    if verdict.holds:
        far = ", ".join(f"{float(t):.4f} in '{shown(name)}'" for name, t in verdict.t.items())
        terminal.print(
            f"[green]All releases together keep their promise[/green]: {verdict.atoms:,} atoms of at least "
            f"{verdict.smallest} persons; the farthest from its release is at {far}.",
            highlight=False,
        )
    for name, count in verdict.waiting.items():
        if count:
            terminal.print(f"  By the table, {count:,} {WAITING[name]}.", highlight=False)
    for found in attacks:
        terminal.print(_attacked(found), highlight=False)


def _attacked(found: Intersected) -> str:
    releases = "1 release" if found.releases == 1 else f"{found.releases} releases"
    return (
        f"Whoever intersects and subtracts {releases} finds {found.alone:,} of {found.persons:,} persons alone, "
        f"{found.below_k:,} among fewer than k, and a value of {found.certain:,} for certain; the largest share known "
        f"for certain is {found.known_share:.3f}."
    )
