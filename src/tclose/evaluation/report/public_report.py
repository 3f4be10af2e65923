"""The report that may be given away: a function of the released file, its schema and its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from typing import Any

from tclose.errors import VerificationError
from tclose.evaluation.report.report_words import (
    add_claims,
    add_degrees,
    add_distributions,
    add_limits,
    add_opening,
    add_promise,
    add_sizes,
    add_tiles,
    rows_of,
    share_words,
    summary,
    title_of,
)
from tclose.pages.page import Page
from tclose.pipeline import verify
from tclose.release.certificate import certificate_path
from tclose.release.certificate_check import CertificateLike, read_certificate
from tclose.release.formulas import read_released
from tclose.release.history_words import published_sentences
from tclose.schema.changes import with_k, with_t
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.arguments import check_order
from tclose.table.table_location import file_of
from tclose.verification.measure_release import Measured
from tclose.verification.published_loss import PublishedLoss, published_loss
from tclose.verification.verdict import Verdict

AWAY = (
    "This report may be given away: it follows from the released file, its schema and its certificate, and from "
    "nothing else."
)


def public_report_html(
    df: Any, schema: SchemaLike, *, certificate: CertificateLike | None = None, day: date | None = None
) -> str:
    """The report of a released table as one page of HTML, which may be given away with it.

    It is made from the released table, and not from the original: whoever holds the release can make it too.

    Parameters
    ----------
    df
        The released table: a path, or a dataframe.
    schema
        The schema it was released by.
    certificate
        Its certificate, or where that lies; if None, the one beside the file.
    day
        The day that the report bears; today if None.

    Raises
    ------
    VerificationError
        The table does not keep its promise, or the certificate is not its own or not there.

    Examples
    --------
    >>> import tclose
    >>> frame, schema = tclose.datasets.census(500, seed=1)
    >>> release = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    >>> page = tclose.public_report_html(release.table, schema, certificate=release.certificate)
    >>> "This report may be given away" in page
    True
    """
    check_order(df, schema, "public_report_html")
    schema = Schema.of(schema)
    path = file_of(df)
    beside = certificate_path(path) if certificate is None and path is not None else certificate
    source = read_released(df, schema, certificate=beside)
    verdict = verify(df, schema, certificate=beside)
    schema = schema.resolve(source.names, released=True)
    if not verdict.holds:
        raise VerificationError(
            " ".join(["The table does not keep its promise, so no report is made.", *verdict.problems])
        )
    if beside is None or verdict.measured is None:
        raise VerificationError(
            "A report is made of a release with its certificate, and there is none. Give `certificate`."
        )
    fields, loss = read_certificate(beside), published_loss(source, schema)
    return _page(as_required(schema, fields["required"]), verdict, loss, fields, day).html()


def as_required(schema: Schema, required: Mapping[str, Any]) -> Schema:
    """The schema with the k and t of a verified certificate, which may be stricter.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 5, "quasi": {"age": {"kind": "numeric"}}})
    >>> as_required(schema, {"k": 10, "t": {}, "l": {}}).k
    10
    """
    for name, t in required["t"].items():
        schema = with_t(schema, Fraction(t["exact"]), name)
    return with_k(schema, required["k"])


def _page(schema: Schema, verdict: Verdict, loss: PublishedLoss, certificate: dict[str, Any], day: date | None) -> Page:
    measured, claimed = verdict.measured, verdict.unchecked
    assert measured is not None
    page = Page(title_of(schema, "Report of a release"))
    add_opening(page, schema, measured, certificate, AWAY, day, claimed)
    page.text(summary(schema, measured))
    value = loss.value
    add_tiles(page, schema, measured, None if value is None else float(value), "loss by released values")
    add_promise(page, schema, measured, certificate, claimed)
    add_claims(page, certificate, claimed)
    if "history" in certificate:
        page.heading("Released again and again")
        page.points(published_sentences(certificate["history"]))
    _risks(page, schema, measured)
    add_distributions(page, schema, measured)
    _generalized(page, schema, measured, loss)
    add_sizes(page, schema, measured)
    add_limits(page, schema, claimed)
    return page


def _risks(page: Page, schema: Schema, measured: Measured) -> None:
    page.heading("What an attacker can do with the release")
    largest, average = 1 / max(measured.k, 1), measured.classes / max(measured.rows, 1)
    told = [
        f"Whoever knows a person's quasi-identifiers finds the person's row with a chance of {share_words(largest)} at "
        f"most, and of {share_words(average)} on average."
    ]
    if schema.keep:
        groups = measured.kept_groups
        largest, average = 1 / max(groups.smallest, 1), groups.n_groups / max(measured.rows, 1)
        told.append(
            f"Whoever knows the kept columns too finds it with a chance of {share_words(largest)} at most, and of "
            f"{share_words(average)} on average: the smallest group has {rows_of(groups.smallest)}."
        )
    page.points(told)


def _generalized(page: Page, schema: Schema, measured: Measured, loss: PublishedLoss) -> None:
    found = {column: each for column, each in loss.columns.items() if each is not None}
    page.heading("What was generalized, and how far")
    without = [column for column, each in loss.columns.items() if each is None]
    if without:
        page.text(f"Published as the mean of each class, which has no loss of its own: {', '.join(without)}.")
    if not found:
        return
    entries = [(column, [count / measured.rows for count in each.degrees]) for column, each in found.items()]
    losses = {column: float(each.value) for column, each in found.items()}
    what = (
        "By share of rows: how much of the column's range a released value covers. The range is the declared one, or "
        "that of all released values; for hierarchies it is all leaves or levels, for text the characters."
    )
    add_degrees(page, schema, entries, losses, what)
