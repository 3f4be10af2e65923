"""What people see on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from tclose.cli.fitted_tables import print_table
from tclose.cli.terminal import console, shown
from tclose.evaluation.choosing.gap import Gap
from tclose.evaluation.report.report_page import run_words
from tclose.release.release import Release
from tclose.schema.columns import Sensitive
from tclose.schema.schema import Schema
from tclose.verification.assessment import Report
from tclose.verification.disclosure import Disclosure
from tclose.verification.measure_release import Measured
from tclose.verification.person_rises import rises_as_dict
from tclose.verification.verdict import Verdict

COMPARED = {
    "row by row": "compared row by row",
    "matched": "each row was matched to a row of it that it fits, since their order is not known",
}


def show_report(report: Report, measures: bool = False) -> None:
    """k, l, t and the worst classes of a table as it stands, and other measures if asked."""
    terminal = console()
    terminal.print(_counted(report), highlight=False)
    _print_attributes(terminal, report.measured, report.schema)
    for column in report.t:
        worst = "; ".join(
            f"{entry['size']} rows{_of_persons(entry)} at {entry['t']['value']:.4f} ({entry['first']})"
            for entry in report.worst(column, 3)
        )
        terminal.print(f"Farthest in [bold]{shown(column)}[/bold]: {worst}.", highlight=False)
        if report._show_values:
            for entry in report.worst(column, 3):
                terminal.print(f"  {shown(str(entry['values']))}", highlight=False)
    for column, told in report.disclosure.items():
        terminal.print(_disclosed(shown(column), told, report.k), highlight=False)
    if report.persons is not None and report.persons < report.rows:
        terminal.print("t, l and shares count rows, of which a person may have several.", highlight=False)
        for line in _person_rises(rises_as_dict(report.person_rises)["rise"], report.schema):
            terminal.print(line, highlight=False)
    for column, found in report.measures.items() if measures else ():
        terminal.print(
            f"Other measures of [bold]{shown(column)}[/bold], which certify nothing: Euclidean {found.euclidean:.4f}, "
            f"Hamming {found.hamming} values, root of Jensen-Shannon {found.jensen_shannon:.4f}.",
            highlight=False,
        )


def _disclosed(column: str, found: Disclosure, k: int) -> str:
    """What classes tell of single values of one attribute."""
    enhanced = "no beta is enough for the enhanced form"
    if found.enhanced_beta is not None:
        enhanced = "the enhanced form holds with it too"
    delta = "infinite, as a class lacks a value of the table" if found.delta is None else f"{found.delta:.4f}"
    return (
        f"Single values of [bold]{column}[/bold]: ({float(found.alpha):.4f}, {k})-anonymous; a share rises by up to "
        f"{float(100 * found.rise):.2f} points; beta = {float(found.beta):.4f}, and {enhanced}; largest log-ratio of a "
        f"class {found.log_ratio:.4f}; delta-disclosure {delta}."
    )


def _counted(report: Report) -> str:
    """k, and what it counts."""
    from tclose.table.proposing.proposal_text import counted

    classes, unit = counted(report.classes, "class", "classes"), report.schema.unit
    rows = counted(report.rows, "row", "rows")
    if report.persons is not None and unit is not None:
        return (
            f"{rows} of {counted(report.persons, 'person', 'persons')} in {classes}; k = {report.k}, counted in "
            f"persons by '{shown(unit)}'. The smallest class has {counted(report.measured.k, 'row', 'rows')}."
        )
    told = f"{rows} in {classes}; the smallest has k = {report.k}, counted in rows"
    if unit is None:
        return f"{told}: one row is taken to be one person."
    return f"{told}: the table has no column '{shown(unit)}', which would say whose row it is."


def _of_persons(entry: dict[str, Any]) -> str:
    return f" of {entry['persons']} persons" if "persons" in entry else ""


def show_release(release: Release, told: dict[str, Any]) -> None:
    """What was reached, and where it is."""
    terminal = console()
    measured = release.measured
    show_warning(terminal, told.get("warning"))
    terminal.print(
        f"Released {measured.rows:,} rows in {measured.classes:,} classes of at least {measured.k} rows "
        f"(asked: {release.schema.k}); loss {release.loss:.4f}."
    )
    if "suppressed_cells" in told:
        terminal.print(f"{told['suppressed_cells']:,} cells are suppressed.")
    for words in run_words(release.facts):
        terminal.print(shown(words), highlight=False)
    if release.record.unpicked_rows:
        terminal.print(f"{release.record.unpicked_rows:,} rows were left out: one row of each person is kept.")
    _print_in_persons(terminal, release.schema, release.record.persons)
    if release.record.left_out_rows:
        terminal.print(
            f"{release.record.left_out_rows:,} rows were left out: suppress_rows allows it, and it saves most."
        )
    if release.record.dropped_rows:
        terminal.print(f"{release.record.dropped_rows:,} rows with missing values were dropped.")
    _print_attributes(terminal, measured, release.schema)
    if release.binding is not None:
        terminal.print("[bold]What binds[/bold] (for you, not for release):", highlight=False)
        for sentence in release.binding.sentences():
            terminal.print(f"  {shown(sentence)}", highlight=False)
        if release.binding.measured is None:
            terminal.print("  What a change would gain is measured with --what-binds.", highlight=False)
    spent = {stage: each for stage, each in told["seconds"].items() if stage != "compile" or each >= 0.005}
    seconds = "  ".join(f"{stage} {each:.2f}" for stage, each in spent.items())
    terminal.print(f"Seconds: {seconds}", highlight=False)
    terminal.print(f"Release:     {shown(told['output'])}", highlight=False)
    terminal.print(f"Certificate: {shown(told['certificate'])}", highlight=False)
    for name, what in (("report", "Report:      "), ("private_report", "For you only:")):
        if name in told:
            terminal.print(f"{what}{'' if what[-1] == ' ' else ' '}{shown(told[name])}", highlight=False)


def _print_in_persons(terminal: Console, schema: Schema, found: Mapping[str, Any]) -> None:
    """What was counted in persons, where these may have several rows."""
    if not found or not schema.counts_persons:
        return
    terminal.print(f"The class with fewest persons has {found['k']:,} (asked: {schema.k}); t and l count rows.")
    for line in (*_person_rises(found["rise"], schema), *_person_times(found["beta"], schema)):
        terminal.print(line, highlight=False)


def _person_times(betas: Mapping[str, Any], schema: Schema) -> Iterator[str]:
    """The same in times, where that is asked."""
    for sensitive in schema.sensitive:
        if sensitive.beta is not None:
            yield (
                f"The share of persons with a value of [bold]{shown(sensitive.column)}[/bold] is up to "
                f"{1 + betas[sensitive.column]['value']:.3f} times that in the table; allowed: {_times(sensitive)}."
            )


def _times(sensitive: Sensitive) -> str:
    """How many times its share in the table that in a class may be."""
    enhanced = ", and 1 - ln p times for a share of p" if sensitive.enhanced else ""
    return f"{float(1 + (sensitive.beta or 0)):g} times{enhanced}"


def _person_rises(rises: Mapping[str, Any], schema: Schema) -> Iterator[str]:
    for sensitive in schema.sensitive:
        allowed = "" if sensitive.rise is None or not schema.counts_persons else float(100 * sensitive.rise)
        told = "" if allowed == "" else f"; allowed: {allowed:g}"
        yield (
            f"The share of persons with a value of [bold]{shown(sensitive.column)}[/bold] rises by up to "
            f"{100 * rises[sensitive.column]['value']:.2f} points in a class{told}."
        )


def show_verified(verdict: Verdict) -> None:
    """That a file keeps its promise."""
    terminal, measured, schema = console(), verdict.measured, verdict.schema
    assert measured is not None
    assert schema is not None
    show_warning(terminal, verdict.warning)
    counted = "" if verdict.persons is None else ", counted in persons"
    kept = "[green]It keeps its promise[/green]"
    if "persons" in verdict.unchecked:
        counted, kept = ", counted in rows", "[green]It keeps its promise as far as rows show[/green]"
    terminal.print(f"{kept}: {measured.rows:,} rows, {measured.classes:,} classes, k = {verdict.k}{counted}.")
    _print_attributes(terminal, measured, schema)
    in_persons = {} if verdict.persons is None else {"k": verdict.persons, **rises_as_dict(verdict.person_rises)}
    _print_in_persons(terminal, schema, in_persons)
    if verdict.compared is not None:
        terminal.print(f"It is true of its original: {COMPARED[verdict.compared]}.")
    terminal.print("The certificate beside it fits." if verdict.certificate else "There is no certificate beside it.")
    if verdict.unchecked:
        terminal.print("What cannot be checked by the file:", highlight=False)
    for name, reason in verdict.unchecked.items():
        terminal.print(f"  {shown(name)}: {shown(reason)}.", highlight=False)


def show_warning(terminal: Console, warning: str | None) -> None:
    """The first line where kept columns were not checked."""
    if warning is not None:
        terminal.print(f"[red]{shown(warning[:1].upper() + warning[1:])}.[/red]", highlight=False)


def show_gap(found: Gap) -> None:
    """Methods beside the optimum."""
    terminal = console()
    if found.is_optimum:
        what = "The least loss possible is"
    elif found.confidence is None:
        what = "No release is known to reach it, but none loses less than"
    else:
        what = f"With {found.confidence:.0%} confidence, estimated from a sample of rows, no release loses less than"
    cells = found.hidden(found.at_least)
    told = "" if cells is None else f" ({cells:,} of {found.cells:,} cells suppressed)"
    terminal.print(f"{found.rows:,} rows. {what} {found.at_least:.6f}{told}.", highlight=False)
    rows = []
    for entry in found.entries:
        if entry.loss is None:
            continue
        above = found.above(entry)
        share = "" if above is None else f"{above:.2%}"
        numbers = [f"{entry.loss:.6f}", *(() if cells is None else (f"{found.hidden(entry.loss):,}",)), share]
        rows.append([shown(entry.method), *numbers, f"{entry.seconds:.2f}"])
    print_table(terminal, ("method", "loss", *(() if cells is None else ("cells",)), "above", "seconds"), rows)
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


def _print_attributes(terminal: Console, measured: Measured, schema: Schema) -> None:
    rows = []
    for sensitive in schema.sensitive:
        name = sensitive.column
        color = "green" if sensitive.t is None or measured.t[name] <= sensitive.t else "red"
        diversity = measured.l[name]
        rows.append(
            [
                shown(name),
                sensitive.distance,
                f"[{color}]{float(measured.t[name]):.4f}[/{color}]",
                "" if sensitive.t is None else f"{float(sensitive.t):g}",
                str(diversity.distinct),
                f"{diversity.entropy:.2f}",
                f"{float(diversity.frequency):.2f}",
            ]
        )
    for joint in schema.joint:
        color = "green" if measured.t[joint.name] <= joint.t else "red"
        reached = f"[{color}]{float(measured.t[joint.name]):.4f}[/{color}]"
        rows.append([shown(joint.name), "joint", reached, f"{float(joint.t):g}", "", "", ""])
    headings = ("sensitive", "distance", "t", "asked", "distinct", "entropy", "frequency")
    caption = "distinct, entropy, frequency: l of the least diverse class"
    print_table(terminal, headings, rows, n_words=2, caption=caption)
    for line in _caps(measured, schema):
        terminal.print(line, highlight=False)


def _caps(measured: Measured, schema: Schema) -> Iterator[str]:
    """What caps on belief allow, and what is reached."""
    for sensitive in schema.sensitive:
        reached, name = measured.rises.get(sensitive.column), f"[bold]{shown(sensitive.column)}[/bold]"
        if reached is None:
            continue
        if sensitive.rise is not None:
            color, allowed = "green" if reached.meets["rise"] else "red", float(100 * sensitive.rise)
            points = f"[{color}]{float(100 * reached.rise):.2f}[/{color}]"
            yield f"A share of {name} rises by up to {points} points in a class; allowed: {allowed:g}."
        if sensitive.beta is not None:
            kept = reached.meets["beta"] and reached.meets.get("enhanced", True)
            color, times = "green" if kept else "red", f"{float(1 + reached.beta):.3f}"
            yield (
                f"A share of {name} is up to [{color}]{times}[/{color}] times that in the table; allowed: "
                f"{_times(sensitive)}."
            )
