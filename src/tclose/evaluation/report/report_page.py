"""The private report of a release: what attackers could do before and can do now, and what analysts lose.

It depends on the original, and is for whoever releases. It holds no row, no row number, no seed, and no value that few
rows have. The report that may be given away is in `public_report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.evaluation.attacks.allowed_rise import AllowedRise, allowed_words
from tclose.evaluation.attacks.attack import AttackResults, Attacks, attack
from tclose.evaluation.attacks.left_out_rows import left_out_words
from tclose.evaluation.report.cap_words import is_binned
from tclose.evaluation.report.report_words import (
    add_degrees,
    add_distributions,
    add_limits,
    add_opening,
    add_promise,
    add_sizes,
    add_tiles,
    quoted,
    share_words,
    summary,
    title_of,
)
from tclose.evaluation.utility.loss import loss_by_column
from tclose.evaluation.utility.queries import QueryError, query_error
from tclose.evaluation.utility.reading_back import ReadBack
from tclose.evaluation.utility.utility import beside
from tclose.pages.page import Page
from tclose.release.certificate import Certificate
from tclose.release.history_words import counted_sentences
from tclose.release.release import Release
from tclose.table.arguments import check_order
from tclose.table.axes import Axis, SpanAxis
from tclose.table.source import read

QUERIES = 1000
PRIVATE = (
    "Keep this report to yourself: it compares the release with the original table, so parts of it depend on what the "
    "release hides. The report that may be given away is another one (--report, tclose.public_report_html)."
)


def report_html(
    df: Any,
    release: Release,
    *,
    queries: int = QUERIES,
    certificate: Certificate | None = None,
    day: date | None = None,
    attacks: Attacks | None = None,
) -> str:
    """The private report of a release as one page of HTML that opens offline and prints well.

    It depends on the original table: keep it. `public_report_html` makes the one that may be given away.

    Parameters
    ----------
    df
        The table it was made of, as `anonymize` took it.
    release
        What `anonymize` gave.
    queries
        COUNT queries to ask of both; 0 for none.
    certificate
        What `release.write` gave, so that the report names the file and its digest.
    day
        The day that the report bears; today if None.
    attacks
        What `attack(df, release)` gave, if that is known already: it takes most of the time.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(500, seed=1)
    >>> release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    >>> "Keep this report to yourself" in tclose.report_html(frame, release, queries=100)
    True
    """
    check_order(df, release, "report_html", "release")
    if not isinstance(release, Release):
        raise TableError(f"report_html takes the table and its release: (df, release), not a {type(release).__name__}.")
    return report_page(df, release, queries, certificate, day, attacks).html()


def report_page(
    df: Any,
    release: Release,
    queries: int = QUERIES,
    certificate: Certificate | None = None,
    day: date | None = None,
    attacks: Attacks | None = None,
) -> Page:
    """The same as a page. Of a release that continues a history, it is about the rows that were generalized."""
    df, release = release.as_made() or (df, release)
    schema, measured = release.schema, release.measured
    fields = (certificate or release.certificate).fields
    source = read(df, schema.delimiter, schema.encoding, header=schema.header)
    found = attacks or attack(source, release)
    both = beside(source, release)
    assert found.after is not None
    page = Page(title_of(schema, "Private report of a release"))
    add_opening(page, schema, measured, fields, PRIVATE, day)
    page.text(f"{summary(schema, measured, release.record.persons)} {_before(found)}")
    add_tiles(page, schema, measured, release.loss, "loss, measured on the original")
    add_promise(page, schema, measured, fields, persons=release.record.persons)
    if told := [*run_words(release.facts), *left_out_words(found.left_out or {})]:
        page.points(told)
    if (counts := release.record.notes.get("history")) is not None:
        page.heading("What came, went and waits")
        page.points(counted_sentences(counts))
    if release.binding is not None:
        page.heading("What binds")
        page.points(release.binding.sentences())
    add_findings(page, release, found, both, query_error(both, queries) if queries else None)
    add_limits(page, schema)
    return page


def add_findings(page: Page, release: Release, found: Attacks, both: ReadBack, asked: QueryError | None) -> None:
    """What attackers and analysts find: risks, distributions, what was generalized how far, and sizes of classes."""
    assert found.after is not None
    on_bins = {each.column for each in release.schema.sensitive if each.caps is not None and is_binned(each)}
    _risks(page, found.before, found.after, found.allowed, on_bins)
    add_distributions(page, release.schema, release.measured)
    _generalized(page, both, asked)
    add_sizes(page, release.schema, release.measured)


def _before(found: Attacks) -> str:
    assert found.after is not None
    old, new = found.before.linkage.unique, found.after.linkage.unique
    return (
        f"In the original, {share_words(old)} of the rows were alone with their quasi-identifiers; with the released "
        f"ones, {share_words(new)} are."
    )


def run_words(facts: dict[str, Any]) -> list[str]:
    """What a method says of its run, as sentences.

    Examples
    --------
    >>> run_words({"optimal": True, "proved_by": "an exhaustive search"})
    ['No partition that meets the requirement loses less: proved by an exhaustive search.']
    """
    told = []
    if facts.get("stopped_early"):
        told.append("The method was stopped before it was done, which costs loss and no privacy.")
    if facts.get("optimal"):
        told.append(
            f"No partition that meets the requirement loses less: proved by {facts.get('proved_by', 'the method')}."
        )
    elif "loss_at_least" in facts:
        told.append(f"Every partition that meets the requirement loses at least {facts['loss_at_least']:.6g}.")
    return told


def _risks(
    page: Page, before: AttackResults, after: AttackResults, allowed: Mapping[str, AllowedRise], on_bins: set[str]
) -> None:
    page.heading("What attackers can do, before and after")
    page.points([*_sentences(before, after), *allowed_words(allowed)])
    old, new = before.reidentification, after.reidentification
    rows = [
        ("rows that are alone in their class", share_words(before.linkage.unique), share_words(after.linkage.unique)),
        ("rows in classes smaller than k", share_words(before.linkage.small), share_words(after.linkage.small)),
        (
            "largest chance of finding a person's row",
            share_words(old.prosecutor.largest),
            share_words(new.prosecutor.largest),
        ),
        ("share of rows re-identified by guessing", share_words(old.marketer), share_words(new.marketer)),
    ]
    page.table(("", "before", "after"), rows)
    if not after.skewness:
        return
    page.text("By sensitive attribute, before and after:")
    header = (
        "",
        "largest rise of a belief",
        "allowed by caps",
        "rows in classes of one value",
        "whose values are all similar",
        "guessed right*",
    )
    caps = {name: _cap(allowed.get(name), name in on_bins) for name in after.skewness}
    page.table(header, [_of_attribute(name, before, after, caps[name]) for name in after.skewness])
    page.text(
        "* By a learner that takes all classes together and may know everyone's quasi-identifiers (deFinetti attack); "
        "in brackets, by whoever always guesses the most frequent value. Of an attribute with many values, ranges are "
        "guessed.",
        "soft",
    )


def _of_attribute(name: str, before: AttackResults, after: AttackResults, cap: str) -> tuple[str, ...]:
    old, new = before.skewness[name], after.skewness[name]
    alike = before.similarity[name].revealed, after.similarity[name].revealed
    right, blind = (before.definetti[name].right, _learned(after, name)), after.definetti[name].of_table
    return (
        name,
        f"{100 * old.worst_rise:.1f} → {_points(new.worst_rise)}",
        cap,
        f"{share_words(old.certain)} → {share_words(new.certain)}",
        f"{share_words(alike[0])} → {share_words(alike[1])}",
        f"{share_words(right[0])} → {share_words(right[1])} ({share_words(blind)})",
    )


def _cap(allowed: AllowedRise | None, on_bins: bool) -> str:
    """The most that a belief may rise by caps."""
    if allowed is None:
        return "on its bins, none on a value" if on_bins else "no cap"
    return _points(float(allowed.rise)) + (" in persons" if allowed.counted == "persons" else "")


def _sentences(before: AttackResults, after: AttackResults) -> list[str]:
    """What the numbers mean to a person in the table."""
    old, new = before.reidentification.prosecutor, after.reidentification.prosecutor
    told = [
        f"Whoever knows a person's quasi-identifiers finds the person's row with a chance of "
        f"{share_words(new.largest)} at most, and of {share_words(new.average)} on average; before, "
        f"{share_words(old.largest)} and {share_words(old.average)}."
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
        told.append(
            f"In the whole table the values of {quoted(alike)} are already all similar, which no release can hide."
        )
    return told


def _generalized(page: Page, both: ReadBack, asked: QueryError | None) -> None:
    page.heading("What was generalized, and how far")
    losses = loss_by_column(both)
    entries = [(column, [float(share) for share in degrees(both, column)]) for column in losses]
    what = "By share of rows: how much of the column's range, or of the leaves of its hierarchy, a class covers."
    add_degrees(page, both.schema, entries, losses, what)
    if asked is not None and asked.answered:
        page.text(
            f"Of {asked.answered:,} random COUNT queries over {asked.attributes} quasi-identifiers and a sensitive "
            f"attribute, half are answered from the release with an error of {asked.median:.1%} or less."
        )


def degrees(both: ReadBack, column: str) -> NDArray[np.float64]:
    """The share of rows whose value of a column is kept, little generalized, more, or hidden; tails are more."""
    cost, weight = np.zeros(len(both.sizes)), 0.0
    in_tail = np.zeros(len(both.sizes), bool)
    for axis, span in zip(both.table.axes, both.spans, strict=True):
        if axis.column == column:
            cost += axis.weight * axis.cost(*span)
            weight += axis.weight
            in_tail |= _reaches_a_tail(axis, span)
    cost /= weight
    degree = np.select([cost <= 1e-12, cost <= 0.25, cost < 1 - 1e-12], [0, 1, 2], 3)
    degree = np.where(in_tail, np.maximum(degree, 2), degree)
    counted: NDArray[np.float64] = np.bincount(degree, weights=both.sizes, minlength=4) / both.sizes.sum()
    return counted


def _reaches_a_tail(axis: Axis, span: tuple[NDArray[np.int32], NDArray[np.int32]]) -> NDArray[np.bool_]:
    """Which classes have values beyond `bottom` or `top`."""
    if not isinstance(axis, SpanAxis):
        return np.zeros(len(span[0]), bool)
    beyond = np.array([label[:1] in ("<", ">") for label in axis.low_labels] + [False] * axis.missing, bool)
    found: NDArray[np.bool_] = beyond[span[0]] | beyond[span[1]]
    return found


def _learned(found: AttackResults, name: str) -> float:
    guesses = found.definetti[name]
    return max(guesses.right, guesses.right_with_rows)


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"
