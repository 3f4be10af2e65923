"""The report of a release: what was asked and reached, what attackers and analysts can do, what is not promised.

It may be given along with the release. It holds what follows from the released file, from the certificate, and
shares of the original; no row, no row number, no seed, and no value that few rows have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.evaluation.attacks.attack import AttackResults, Attacks, attack
from tclose.evaluation.report.report_values import WORST, Distribution, distributions
from tclose.evaluation.utility.loss import loss_by_column
from tclose.evaluation.utility.queries import query_error
from tclose.evaluation.utility.reading_back import ReadBack
from tclose.evaluation.utility.utility import beside
from tclose.pages.card import ASKED, promise_rows
from tclose.pages.charts import (
    Axis,
    Bar,
    Beside,
    bars,
    bars_beside,
    bars_height,
    beside_height,
    nice_ticks,
    shares,
    shares_height,
)
from tclose.pages.page import Page
from tclose.pages.svg import Drawing
from tclose.release.certificate import LIMITS
from tclose.release.release import Release
from tclose.table.arguments import check_order
from tclose.table.source import read

WIDTH = 940.0
QUERIES = 1000
DEGREES = ("kept", "up to a quarter of its range", "more", "hidden")
NOT_PROTECTED = (
    "It trusts the schema. A column that is called sensitive or kept is released as it is; if people can be "
    "found by it, it should have been a quasi-identifier.",
    "It knows nothing of what an attacker knows besides the quasi-identifiers: who knows that a neighbour does not "
    "have one illness learns more than the rest of us from the others of the class.",
    "It takes near values for nearly the same, where the distance of an attribute does: t bounds how far beliefs "
    "move, not how much every single one rises.",
    "It looks at one class at a time. A learner that looks at all of them guesses better; how much better is "
    "measured above, for one kind of learner, and another may be better still.",
    "It does not hide how it was made: who knows the method may run it on guesses, and rule some of them out.",
    "It looks at one release. Another table about the same people, or a later release of this one, may undo it.",
    "If one person has several rows, k rows are fewer than k persons.",
)


def report_html(df: Any, release: Release, *, queries: int = QUERIES) -> str:
    """The report of a release as one page of HTML that opens offline and prints well.

    Parameters
    ----------
    df
        The table it was made of, as `anonymize` took it.
    release
        What `anonymize` gave.
    queries
        COUNT queries to ask of both; 0 for none.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(500, seed=1)
    >>> release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    >>> "What was asked" in tclose.report_html(frame, release, queries=100)
    True
    """
    check_order(df, release, "report_html", "release")
    if not isinstance(release, Release):
        raise TableError(f"report_html takes the table and its release: (df, release), not a {type(release).__name__}.")
    return report_page(df, release, queries).html()


def report_page(df: Any, release: Release, queries: int = QUERIES) -> Page:
    """The same as a page."""
    schema, certificate = release.schema, release.certificate
    source = read(df, schema.delimiter, schema.encoding)
    found = attack(source, release)
    both = beside(source, release)
    assert found.after is not None
    page = Page("Report of a release")
    page.text(_summary(release, found), "lead")
    told = "not told" if certificate["loss"] is None else f"{certificate['loss']:.3f}"
    page.tiles(
        [
            (f"{release.measured.rows:,}", "rows"),
            (f"{release.measured.classes:,}", "classes"),
            (str(release.measured.k), f"rows of the smallest class; asked {schema.k}"),
            (told, "loss: 0 is nothing, 1 is everything"),
        ]
    )
    _promise(page, release)
    _risks(page, found.before, found.after)
    _distributions(page, release, both)
    _generalized(page, release, both, queries)
    _sizes(page, release)
    page.heading("What is not promised")
    page.text(LIMITS)
    page.points(NOT_PROTECTED)
    return page


def _summary(release: Release, found: Attacks) -> str:
    assert found.after is not None
    measured, before = release.measured, found.before.linkage
    loss = release.certificate["loss"]
    lost = "" if loss is None else f" Of what the quasi-identifiers told, {loss:.0%} is lost (general loss metric)."
    close = ", and every sensitive attribute is distributed nearly as in the whole table" if measured.t else ""
    return (
        f"The release keeps what was asked: in every class at least {measured.k} rows look the same{close}. Before, "
        f"{_share(before.unique)} of the rows were alone with their quasi-identifiers; now "
        f"{_none(found.after.linkage.unique)}.{lost}"
    )


def _promise(page: Page, release: Release) -> None:
    page.heading("What was asked, and what was reached")
    certificate = release.certificate
    page.table(ASKED, promise_rows(certificate.fields), words=True)
    method = certificate["method"]
    options = ", ".join(f"{name} = {value}" for name, value in method["parameters"].items())
    early = (
        " It was stopped before it was done, which costs loss and no privacy." if method.get("stopped_early") else ""
    )
    page.text(
        "All of it was decided exactly, by code that shares nothing with the method and looks at the released values "
        f"alone. Method: {method['name']}{f' ({options})' if options else ''}.{early} Recoding: "
        f"{certificate['recode']}. Unit: {certificate['unit']}.",
        "soft",
    )
    binned = [name for name, column in certificate["columns"].items() if "guarantee" in column]
    if binned:
        page.text(f"For {_quoted(binned)} the promise is on bins of values, not on values inside one.", "soft")
    if "keep" in certificate.fields:
        page.text(f"Kept as they are: {_quoted(release.schema.keep)}. {certificate['keep'].capitalize()}.", "soft")


def _risks(page: Page, before: AttackResults, after: AttackResults) -> None:
    page.heading("What attackers can do, before and after")
    page.points(_sentences(before, after))
    old, new = before.reidentification, after.reidentification
    rows = [
        ("rows that are alone in their class", _share(before.linkage.unique), _share(after.linkage.unique)),
        ("rows in classes smaller than k", _share(before.linkage.small), _share(after.linkage.small)),
        ("largest chance of finding a person's row", _share(old.prosecutor.largest), _share(new.prosecutor.largest)),
        ("rows found by guessing for everyone", _share(old.marketer), _share(new.marketer)),
    ]
    page.table(("", "before", "after"), rows)
    if not after.skewness:
        return
    page.text("By sensitive attribute, before and after:")
    header = ("", "largest rise of a belief", "rows in classes of one value", "of one sort of values", "guessed right*")
    page.table(header, [_of_attribute(name, before, after) for name in after.skewness])
    page.text(
        "* By a learner that takes all classes together and may know everyone's quasi-identifiers (deFinetti attack); "
        "in brackets, by whoever always says the most frequent value. Many values are guessed by stretches of them.",
        "soft",
    )


def _of_attribute(name: str, before: AttackResults, after: AttackResults) -> tuple[str, ...]:
    old, new = before.skewness[name], after.skewness[name]
    alike = before.similarity[name].revealed, after.similarity[name].revealed
    right, blind = (before.definetti[name].right, _learned(after, name)), after.definetti[name].of_table
    return (
        name,
        f"{100 * old.worst_rise:.1f} → {_points(new.worst_rise)}",
        f"{_share(old.certain)} → {_share(new.certain)}",
        f"{_share(alike[0])} → {_share(alike[1])}",
        f"{_share(right[0])} → {_share(right[1])} ({_share(blind)})",
    )


def _sentences(before: AttackResults, after: AttackResults) -> list[str]:
    """What the numbers mean to a person in the table."""
    old, new = before.reidentification.prosecutor, after.reidentification.prosecutor
    told = [
        f"Who knows a person's quasi-identifiers finds the person's row with a chance of {_share(new.largest)} at "
        f"most, and of {_share(new.average)} on average; before, {_share(old.largest)} and {_share(old.average)}."
    ]
    if not after.skewness:
        return told
    worst = max(after.skewness, key=lambda name: after.skewness[name].worst_rise)
    rise, others = after.skewness[worst], len(after.skewness) > 1
    told.append(
        f"Seeing a person's class raises the belief in some value of '{worst}' by {_points(rise.worst_rise)} at most"
        f"{', more than of any other attribute' if others else ''}; before, by "
        f"{_points(before.skewness[worst].worst_rise)}. Over all rows, the belief that rises most in a class rises by "
        f"{_points(rise.average_worst_rise)} on average."
    )
    easiest = max(after.skewness, key=lambda name: _learned(after, name) - after.definetti[name].of_table)
    gain = max(_learned(after, easiest) - after.definetti[easiest].of_table, 0.0)
    told.append(
        f"A learner that takes all classes together guesses '{easiest}' {_points(gain)} more often right than whoever "
        f"always says the most frequent value{'; of the other attributes it learns less' if others else ''}."
    )
    alike = [name for name, found in after.similarity.items() if found.of_table]
    if alike:
        told.append(f"The whole table already has one sort of values of {_quoted(alike)}, which no release can hide.")
    return told


def _distributions(page: Page, release: Release, both: ReadBack) -> None:
    found = list(distributions(release, both))
    if not found:
        return
    page.heading("Sensitive values: the whole table and the farthest classes")
    page.text(f"For each attribute the {WORST} classes that are farthest from the whole table.")
    for each in found:
        _distribution(page, each)


def _distribution(page: Page, found: Distribution) -> None:
    most = max(max(found.whole), *(max(share) for _, _, share in found.classes))
    groups = [f"{size:,} rows at distance {distance:.3f}" for size, distance, _ in found.classes]
    by_class = [class_shares for _, _, class_shares in found.classes]
    entries = [
        Beside(name, 100 * found.whole[place], [100 * each[place] for each in by_class])
        for place, name in enumerate(found.names)
    ]
    drawing = Drawing(WIDTH, beside_height(len(groups), len(entries)))
    bars_beside(drawing, Axis(f"{found.column}: percent of rows", nice_ticks(0.0, 100 * most, 6)), groups, entries)
    page.figure(drawing.svg(f"{found.column} in the whole table and in the farthest classes", inside=True), found.note)


def _generalized(page: Page, release: Release, both: ReadBack, queries: int) -> None:
    if release.certificate["loss"] is None:  # it would depend on ends that are not released
        return
    page.heading("What was generalized, and how far")
    losses = loss_by_column(both)
    entries = [(column, [float(share) for share in degrees(both, column)]) for column in losses]
    drawing = Drawing(WIDTH, shares_height(len(entries)))
    shares(drawing, DEGREES, entries)
    page.figure(
        drawing.svg("How far each column was generalized, by share of rows", inside=True),
        "By share of rows: how much of the column's range, or of the leaves of its hierarchy, a released value covers.",
    )
    rows = [(column, f"{losses[column]:.3f}", *(_share(share) for share in lengths)) for column, lengths in entries]
    page.table(("column", "loss", *DEGREES), rows)
    asked = query_error(both, queries) if queries else None
    if asked is not None and asked.answered:
        page.text(
            f"Of {asked.answered:,} random COUNT queries over {asked.attributes} quasi-identifiers and a sensitive "
            f"attribute, half are answered from the release with an error of {asked.median:.1%} or less."
        )


def degrees(both: ReadBack, column: str) -> NDArray[np.float64]:
    """The share of rows whose value of a column is kept, little generalized, more, or hidden."""
    cost, weight = np.zeros(len(both.sizes)), 0.0
    for axis, span in zip(both.table.axes, both.spans, strict=True):
        if axis.column == column:
            cost += axis.weight * axis.cost(*span)
            weight += axis.weight
    cost /= weight
    degree = np.select([cost <= 1e-12, cost <= 0.25, cost < 1 - 1e-12], [0, 1, 2], 3)
    counted: NDArray[np.float64] = np.bincount(degree, weights=both.sizes, minlength=4) / both.sizes.sum()
    return counted


def _sizes(page: Page, release: Release) -> None:
    page.heading("Sizes of classes")
    sizes, k = release.measured.grouping.sizes, release.schema.k
    entries, low = [], k
    while 2 * low <= int(sizes.min()):
        low *= 2
    while low <= int(sizes.max()):
        high = 2 * low
        inside = (sizes >= low) & (sizes < high)
        share = float(sizes[inside].sum() / sizes.sum())
        name = _rows(low) if high == low + 1 else f"{low:,} to {_rows(high - 1)}"
        entries.append(Bar(name, 100 * share, f"{share:.1%}, in {int(inside.sum()):,} classes"))
        low = high
    drawing = Drawing(WIDTH, bars_height(len(entries)))
    bars(drawing, Axis("percent of all rows", nice_ticks(0.0, max(entry.value for entry in entries), 5)), entries)
    page.figure(drawing.svg("Rows by the size of their class", inside=True), "Rows by the size of their class.")


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _learned(found: AttackResults, name: str) -> float:
    guesses = found.definetti[name]
    return max(guesses.right, guesses.right_with_rows)


def _share(share: float) -> str:
    return f"{share:.1%}" if share == 0 or share >= 0.001 else "below 0.1%"


def _none(share: float) -> str:
    return "none is" if share == 0 else f"{_share(share)} are"


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
