"""What people see on the terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from tclose.cli.terminal import console, shown
from tclose.evaluation.choosing.gap import Gap
from tclose.release.release import Release
from tclose.schema.schema import Schema
from tclose.verification.assessment import Report
from tclose.verification.measure_release import Measured
from tclose.verification.verdict import Verdict


def show_report(report: Report, measures: bool = False) -> None:
    """k, l, t and the worst classes of a table as it stands, and other measures if asked."""
    terminal = console()
    terminal.print(f"{report.rows:,} rows in {report.classes:,} classes; the smallest has k = {report.k}.")
    terminal.print(_attributes(report.measured, report.schema))
    for column in report.t:
        worst = "; ".join(
            f"{entry['size']} rows at {entry['t']['value']:.4f} ({entry['first']})" for entry in report.worst(column, 3)
        )
        terminal.print(f"Farthest in [bold]{shown(column)}[/bold]: {worst}.", highlight=False)
        if report._show_values:
            for entry in report.worst(column, 3):
                terminal.print(f"  {shown(str(entry['values']))}", highlight=False)
    for column, found in report.measures.items() if measures else ():
        terminal.print(
            f"Other measures of [bold]{shown(column)}[/bold], which certify nothing: Euclidean {found.euclidean:.4f}, "
            f"Hamming {found.hamming} values, root of Jensen-Shannon {found.jensen_shannon:.4f}.",
            highlight=False,
        )


def show_release(release: Release, told: dict[str, Any]) -> None:
    """What was reached, and where it is."""
    terminal = console()
    measured = release.measured
    terminal.print(
        f"Released {measured.rows:,} rows in {measured.classes:,} classes of at least {measured.k} rows "
        f"(asked: {release.schema.k}); loss {release.loss:.4f}."
    )
    if "suppressed_cells" in told:
        terminal.print(f"{told['suppressed_cells']:,} cells are suppressed.")
    if release.record.dropped_rows:
        terminal.print(f"{release.record.dropped_rows:,} rows with missing values were dropped.")
    terminal.print(_attributes(measured, release.schema))
    seconds = "  ".join(f"{stage} {spent:.2f}" for stage, spent in told["seconds"].items())
    terminal.print(f"Seconds: {seconds}", highlight=False)
    terminal.print(f"Release:     {shown(told['output'])}", highlight=False)
    terminal.print(f"Certificate: {shown(told['certificate'])}", highlight=False)
    if "report" in told:
        terminal.print(f"Report:      {shown(told['report'])}", highlight=False)


def show_verified(verdict: Verdict, schema: Schema) -> None:
    """That a file keeps its promise."""
    terminal, measured = console(), verdict.measured
    assert measured is not None
    terminal.print(
        f"[green]It keeps its promise[/green]: {measured.rows:,} rows, {measured.classes:,} classes, k = {measured.k}."
    )
    terminal.print(_attributes(measured, schema))
    terminal.print("The certificate beside it fits." if verdict.certificate else "There is no certificate beside it.")


def show_gap(found: Gap) -> None:
    """Methods beside the optimum."""
    terminal = console()
    what = (
        "The least loss possible is"
        if found.is_optimum
        else "No partition is known to reach it, but none loses less than"
    )
    cells = found.hidden(found.at_least)
    told = "" if cells is None else f" ({cells:,} of {found.cells:,} cells suppressed)"
    terminal.print(f"{found.rows:,} rows. {what} {found.at_least:.6f}{told}.", highlight=False)
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
    for heading in ("method", "loss", *(() if cells is None else ("cells",)), "above", "seconds"):
        table.add_column(heading, no_wrap=True, justify="left" if heading == "method" else "right")
    for entry in found.entries:
        if entry.loss is None:
            continue
        above = found.above(entry)
        share = "" if above is None else f"{above:.2%}"
        numbers = [f"{entry.loss:.6f}", *(() if cells is None else (f"{found.hidden(entry.loss):,}",)), share]
        table.add_row(entry.method, *numbers, f"{entry.seconds:.2f}")
    terminal.print(table)
    for entry in found.entries:
        if entry.refused is not None:
            terminal.print(f"[bold]{entry.method}[/bold]: {shown(entry.refused)}", highlight=False)


def show_methods(methods: list[dict[str, str]]) -> None:
    """The registry: a method and what there is to know of it."""
    table = Table.grid(padding=(0, 2, 1, 0))
    for method in methods:
        lines = [f"{method['summary']} (guarantees {method['guarantees']})"]
        lines += [f"[dim]{key}[/dim] {shown(method[key])}" for key in ("needs", "options", "paper") if method[key]]
        table.add_row(f"[bold]{method['name']}[/bold]", "\n".join(lines))
    console().print(table)


def _attributes(measured: Measured, schema: Schema) -> Table:
    caption = "distinct, entropy, frequency: l of the least diverse class"
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), caption=caption, caption_justify="left")
    for heading in ("sensitive", "distance", "t", "asked", "distinct", "entropy", "frequency"):
        table.add_column(heading, no_wrap=True)
    for sensitive in schema.sensitive:
        name = sensitive.column
        color = "green" if sensitive.t is None or measured.t[name] <= sensitive.t else "red"
        diversity = measured.l[name]
        table.add_row(
            shown(name),
            sensitive.distance,
            f"[{color}]{float(measured.t[name]):.4f}[/{color}]",
            "" if sensitive.t is None else f"{float(sensitive.t):g}",
            str(diversity.distinct),
            f"{diversity.entropy:.2f}",
            f"{float(diversity.frequency):.2f}",
        )
    for joint in schema.joint:
        color = "green" if measured.t[joint.name] <= joint.t else "red"
        reached = f"[{color}]{float(measured.t[joint.name]):.4f}[/{color}]"
        table.add_row(shown(joint.name), "joint", reached, f"{float(joint.t):g}", "", "", "")
    return table
