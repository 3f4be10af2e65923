"""What people see of a comparison, of a suggestion and of measures on the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.table import Table

from tclose.cli.fitted_tables import print_table
from tclose.cli.show import show_warning
from tclose.cli.terminal import console, shown
from tclose.evaluation.choosing.best_methods import best_by_measure
from tclose.evaluation.choosing.best_methods import verdict as verdict_of_comparison
from tclose.evaluation.choosing.compare import Comparison
from tclose.evaluation.choosing.compare_page import spent
from tclose.evaluation.choosing.suggest import Suggestion
from tclose.evaluation.choosing.suggest_words import criterion, t_of, tenths, title
from tclose.evaluation.choosing.suggest_words import verdict as verdict_of_suggestion
from tclose.evaluation.choosing.trials import Trial
from tclose.evaluation.utility.utility import Utility

HEADINGS = ("k", "t", "loss", "queries", "rise", "guess", "risk", "classes", "s")
CAPTION = (
    "queries: median error. For attackers, rise: largest rise of a belief; guess: how much more often a learner is "
    "right; risk: largest chance of finding a row's person"
)


def show_comparison(found: Comparison) -> None:
    """All runs, which method is best by each measure, and where the measures disagree."""
    terminal = console()
    show_warning(terminal, found.warning)
    terminal.print(shown(verdict_of_comparison(found)), highlight=False)
    if found.done:
        rows = [
            [shown(run.method) + ("*" if run in found.frontier else ""), *_numbers(run, f"{run.gains.rise:.0%}")]
            for run in found.done
        ]
        print_table(terminal, ("method", *HEADINGS), rows, n_keys=3, caption=f"{CAPTION}. *: on the frontier")
    if found.done and len({run.method for run in found.done}) > 1:
        for each in best_by_measure(found.done):
            terminal.print(f"Best by [bold]{each.measure.name}[/bold]: {shown(each.told())}", highlight=False)
    for reason in dict.fromkeys(run.refused for run in found.runs if run.refused is not None):
        names = ", ".join(_name(run) for run in found.runs if run.refused == reason)
        terminal.print(f"[bold]{shown(names)}[/bold]: {shown(reason)}", highlight=False)


def show_suggestion(found: Suggestion) -> None:
    """What the bounds choose, and both curves with their marks."""
    terminal = console()
    show_warning(terminal, found.warning)
    terminal.print(f"[bold]{shown(title(found))}[/bold]", highlight=False)
    terminal.print(shown(verdict_of_suggestion(found)), highlight=False)
    names = {place: [name for name, at in found.marks.items() if at == place] for place in found.marks.values()}
    rows = [
        [t_of(run), f"{run.loss:.4f}", tenths(run.rise), *_numbers(run, "")[3:4], *_numbers(run, "")[5:],
         f"[bold]{', '.join(names.get(place, []))}[/bold]"]
        for place, run in enumerate(found.runs)
    ]  # fmt: skip
    headings = ("t", "loss", "rise", "queries", "guess", "risk", "classes", "s", "mark")
    print_table(terminal, headings, rows, n_words=0, caption=f"{CAPTION}; rise in percentage points")
    terminal.print(shown(criterion(found)), highlight=False)
    terminal.print("It is advice, not a proof.", highlight=False)


def show_utility(found: Utility) -> None:
    """Measures of one release, one a line."""
    terminal = console()
    show_warning(terminal, found.warning)
    terminal.print(f"{found.rows:,} rows in {found.classes:,} classes; {found.suppressed_rows:,} left out or hidden.")
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), show_header=False)
    for name, value in _measures(found):
        table.add_row(name, value)
    terminal.print(table)


def _measures(found: Utility) -> Iterator[tuple[str, str]]:
    yield "loss", f"{found.loss:.4f}"
    for column, loss in found.loss_by_column.items():
        yield f"  of {shown(column)}", f"{loss:.4f}"
    yield "summed loss (003)", f"{found.summed_loss:.4f}"
    yield "suppressed cells", f"{found.suppressed_cells:,}"
    yield "bits hidden", f"{found.entropy.share:.1%}"
    yield "discernibility", f"{found.discernibility:,}"
    yield "rows a class", f"{found.average_class_size:.2f} ({found.normalized_class_size:.2f} times k)"
    if found.queries is not None:
        error = f"{found.queries.median:.1%}" if found.queries.answered else "every answer is 0"
        yield "median error of queries", f"{error} ({found.queries.answered:,} of {found.queries.asked:,} not 0)"
    for level, divergence in (found.cubes or {}).items():
        yield f"KL divergence of cubes, level {level}", f"{divergence:.4f}"
    if found.classification is not None:
        yield "rows without the label of their class", f"{found.classification:.1%}"
    if found.classifier is not None:
        learned = found.classifier
        yield "classifier right, trained on it", f"{learned.released:.1%} (on the original {learned.original:.1%})"


def _numbers(run: Trial, rise: str) -> list[str]:
    return [
        str(run.k), "" if run.t is None else f"{float(run.t):g}", f"{run.loss:.4f}",
        "" if run.query_error is None else f"{run.query_error:.0%}", rise,
        f"{run.gains.guess:.0%}", f"{run.gains.risk:.1%}", f"{run.classes:,}", spent(run.seconds),
    ]  # fmt: skip


def _name(run: Trial) -> str:
    return f"{run.method} at t = {float(run.t):g}, k = {run.k}" if run.t is not None else f"{run.method}, k = {run.k}"
