"""What both reports say of a release: every sentence is computed from the released values and the schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from tclose.evaluation.report.cap_words import NONE_COUNTED, allowed_rise, cap_sentences, is_binned
from tclose.evaluation.report.report_values import WORST, Distribution, distributions
from tclose.pages.card import ASKED, promise_rows
from tclose.pages.charts import (
    Bar,
    BarsBeside,
    ChartAxis,
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
from tclose.release.certificate import CLASSES_ALONE, LIMITS, kept_words
from tclose.schema.schema import Schema
from tclose.verification.measure_release import Measured
from tclose.verification.share_changes import ShareChange

WIDTH = 940.0
DEGREES = ("kept", "up to a quarter of its range", "more", "hidden")
NOT_PROTECTED = (
    "It trusts the schema. A column that is called sensitive or kept is released as it is; if people can be "
    "found by it, it should have been a quasi-identifier.",
    "It does not know what an attacker knows besides the quasi-identifiers. Whoever knows that a neighbour does not "
    "have a certain illness learns more from the class than others do.",
    "Where the distance of an attribute counts some values as near, t bounds how far beliefs move on the whole, and "
    "not how much the belief in a single value rises.",
    "It looks at one class at a time. A learner that looks at all classes guesses better.",
    "It does not hide how it was made. Whoever knows the method can run it on guesses, and rule some of them out.",
    "It looks at one release. Another table about the same people, or another release of this one, may undo it.",
)
NOTHING: Mapping[str, str] = {}
NAMED = {"method": "Method", "recode": "Recoding", "unit": "Unit"}
LONGEST = 500  # characters of a claim
TAILS = (
    "A value that is coded as beyond `bottom` or `top` counts as more, whatever its loss, which reaches to the end of "
    "the range alone."
)
SEVERAL_CLASSES = (
    "Whoever knows several rows of one person finds each in its class, and a value that all these classes have becomes "
    "likelier than any cap allows for one of them."
)
SEVERAL_ROWS = "If one person has several rows, k rows are fewer than k persons."


def title_of(schema: Schema, name: str) -> str:
    """The first line of a report, which says so if kept columns were not checked."""
    return f"Kept columns not checked: {name}" if _is_unchecked(schema) else name


def _is_unchecked(schema: Schema) -> bool:
    return bool(schema.keep) and schema.keep_unchecked


def add_opening(
    page: Page,
    schema: Schema,
    measured: Measured,
    certificate: Mapping[str, Any],
    away: str,
    day: date | None,
    claimed: Mapping[str, str] = NOTHING,
) -> None:
    """Whether the report may be given away, and what it is about: file, digest, version and day.

    What is `claimed`, and cannot be checked, is left to `add_claims`; so it is in all that follows.
    """
    if _is_unchecked(schema):
        page.text(f"{quoted(schema.keep)}: {kept_words(schema, measured)}.", "lead")
    page.text(away, "lead")
    told = []
    if "file" not in certificate:
        told.append("No file yet.")
    elif "file" not in claimed:
        told.append(f"File: {certificate['file']}. SHA-256: {certificate['sha256']}.")
    if "versions" not in claimed:
        told.append(f"tclose {certificate['versions']['tclose']}.")
    page.text(" ".join([*told, f"Report of {(day or date.today()).isoformat()}."]), "soft")


def add_tiles(page: Page, schema: Schema, measured: Measured, loss: float | None, what: str) -> None:
    """The numbers that matter most."""
    page.tiles(
        [
            (f"{measured.rows:,}", "rows"),
            (f"{measured.classes:,}", "classes"),
            (str(measured.k), f"rows of the smallest class; asked {schema.k}"),
            ("none" if loss is None else f"{loss:.3f}", f"{what}: 0 is nothing, 1 is everything"),
        ]
    )


def summary(schema: Schema, measured: Measured, persons: Mapping[str, Any] = NONE_COUNTED) -> str:
    """What is reached, with the worst class in numbers; in persons where a record says what was counted of them."""
    told = [
        f"The release keeps what was asked: every combination of released quasi-identifiers is that of at least "
        f"{rows_of(measured.k)}."
    ]
    if schema.counts_persons:
        told.append(
            f"A person may have several rows. It is promised that the rows of every combination are those of at least "
            f"{schema.k} persons; {_fewest(persons)}."
        )
    if schema.keep:
        groups = measured.kept_groups
        told.append(
            f"Whoever also knows the kept columns, {quoted(schema.keep)}, sees groups of at least "
            f"{rows_of(groups.smallest)}, and {groups.n_alone:,} of {measured.rows:,} rows are alone."
        )
    told += list(_closeness(schema, measured, persons))
    return " ".join(told)


def _closeness(schema: Schema, measured: Measured, persons: Mapping[str, Any]) -> Iterator[str]:
    """The farthest class of each attribute with a t, and how far a single share moves."""
    asked = {each.column: each.t for each in schema.sensitive if each.t is not None}
    asked |= {each.name: each.t for each in schema.joint}
    far = [f"{float(measured.t[name]):.3g} in '{name}' (asked: at most {float(t):g})" for name, t in asked.items()]
    if far:
        yield f"The farthest class is at a distance from the table of {', '.join(far)}."
    yield from cap_sentences(schema, measured, persons)
    changes = measured.share_changes
    if changes:
        name = max(changes, key=lambda each: max(changes[each][0].points, -changes[each][1].points))
        rise, fall = changes[name]
        what = "values and bins of values" if any(is_binned(each) for each in schema.sensitive) else "values"
        yield (
            f"Of all single {what}, the share of one of '{name}' moves most: up by {rise.points:.1f} points at most "
            f"({_moved(rise)}), and down by {-fall.points:.1f} points at most ({_moved(fall)})."
        )


def _fewest(persons: Mapping[str, Any]) -> str:
    """How many persons the class with fewest has, or that nobody sees it."""
    return f"the fewest are {persons['k']:,}" if persons else "the release does not show whose a row is"


def _moved(change: ShareChange) -> str:
    return f"from {share_words(float(change.table))} of the table to {share_words(float(change.in_class))} of a class"


def add_promise(
    page: Page,
    schema: Schema,
    measured: Measured,
    certificate: Mapping[str, Any],
    claimed: Mapping[str, str] = NOTHING,
    persons: Mapping[str, Any] = NONE_COUNTED,
) -> None:
    """What was asked beside what was reached, what decided it, and what was not checked."""
    page.heading("What was asked, and what was reached")
    page.table(ASKED, promise_rows(certificate, persons), words=True)
    changes = measured.share_changes
    if changes:
        or_bin = ", or of a bin where values are binned," if any(is_binned(each) for each in schema.sensitive) else ""
        page.text(f"The share of a single value{or_bin} in a class, beside that in the table, in percentage points:")
        header = ("", "allowed rise", "largest rise", "table → class", "largest fall", "table → class")
        allowed = {each.column: allowed_rise(each, measured, schema.counts_persons) for each in schema.sensitive}
        rows = [(name, allowed[name], *_points(rise), *_points(fall)) for name, (rise, fall) in changes.items()]
        page.table(header, rows)
    page.text(" ".join(decided(schema, "unit" in claimed)), "soft")
    names = [name for name in ("method", "recode", "unit") if name not in claimed]
    page.text(" ".join(f"{NAMED[name]}: {_value(name, certificate[name])}." for name in names), "soft")
    binned = [name for name, column in certificate["columns"].items() if "guarantee" in column]
    if binned:
        page.text(f"For {quoted(binned)} the promise is on bins of values, not on values inside one.", "soft")
    if schema.keep:
        words = _sentence(f"{kept_words(schema, measured)}; {CLASSES_ALONE}")
        page.text(f"Kept as they are: {quoted(schema.keep)}. {words}", "soft")


def add_claims(page: Page, certificate: Mapping[str, Any], claimed: Mapping[str, str]) -> None:
    """What the certificate says and nothing shows, each with the reason."""
    told = [
        f"{name}: {_value(name, certificate[name])} ({claimed[name]})" if name in certificate else claimed[name]
        for name in claimed
        if name != "required"
    ]
    if told:
        page.text("The certificate claims, and the file cannot show:")
        page.points(told)
    if "required" in claimed:
        page.text(f"Of what was asked: {claimed['required']}.", "soft")


def _value(name: str, value: Any) -> str:
    """A field of a certificate in words, those of a forged one cut short."""
    if name == "method":
        options = ", ".join(f"{option} = {given}" for option, given in value["parameters"].items())
        words = f"{value['name']}{f' ({options})' if options else ''}"
    elif name == "history":
        words = f"release {value['number']} of its table"
    else:
        words = ", ".join(f"{each} {found}" for each, found in value.items()) if name == "versions" else str(value)
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}..."


def _points(change: ShareChange) -> tuple[str, str]:
    shares = f"{share_words(float(change.table))} → {share_words(float(change.in_class))}"
    return f"{change.points:+.1f}", shares


def decided(schema: Schema, is_claimed: bool = False) -> Iterator[str]:
    """What the verifier decided, and what nobody did; that units have one row is claimed where no original is there."""
    t = [each.column for each in schema.sensitive if each.t is not None] + [each.name for each in schema.joint]
    diverse = [each.column for each in schema.sensitive if each.l is not None]
    found = ["k", *([f"t of {quoted(t)}"] if t else []), *([f"l of {quoted(diverse)}"] if diverse else [])]
    for key in () if schema.counts_persons and is_claimed else ("rise", "beta"):
        capped = [each.column for each in schema.sensitive if getattr(each, key) is not None]
        found += [f"{key} of {quoted(capped)}"] if capped else []
    what, shown = "; ".join(found), "released values"
    if schema.counts_persons:
        shown += ", where k, t and l count rows"
        shown += "" if is_claimed else ", and on the original, where k, rise and beta count persons"
    yield f"Decided without rounding on the {shown}, by code that shares nothing with the method: {what}."
    if schema.unprotected:
        yield f"Nothing was asked of {quoted(schema.unprotected)}: what is reported of it is measured, not limited."
    if _is_unchecked(schema):
        yield f"Not checked: whether {quoted(schema.keep)} single out fewer than k rows."
    if schema.unit is None:
        yield "Not checked: whether every person has one row."
    elif schema.counts_persons and is_claimed:
        yield "Not checked here: what is promised in persons, for the release does not show whose a row is."
    elif schema.counts_persons:
        yield "What is promised in persons was checked on the original; the release does not show whose a row is."
    elif is_claimed:
        yield "Not checked here: whether every unit has one row, which the release does not show."
    else:
        yield "That every unit has one row was checked on the original; the release does not show it."


def add_distributions(page: Page, schema: Schema, measured: Measured) -> None:
    """Each sensitive attribute in the whole table and in the farthest classes."""
    found = list(distributions(schema, measured))
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
        BarsBeside(name, 100 * found.whole[place], [100 * each[place] for each in by_class])
        for place, name in enumerate(found.names)
    ]
    drawing = Drawing(WIDTH, beside_height(len(groups), len(entries)))
    bars_beside(drawing, ChartAxis(f"{found.column}: percent of rows", nice_ticks(0.0, 100 * most, 6)), groups, entries)
    page.figure(drawing.svg(f"{found.column} in the whole table and in the farthest classes", inside=True), found.note)


def has_tails(schema: Schema) -> bool:
    """Whether some column codes its tails."""
    return any(quasi.bottom is not None or quasi.top is not None for quasi in schema.quasi)


def add_degrees(
    page: Page, schema: Schema, entries: Sequence[tuple[str, Sequence[float]]], losses: Mapping[str, float], what: str
) -> None:
    """How far each column was generalized: shares of rows by degree, and the loss."""
    drawing = Drawing(WIDTH, shares_height(len(entries)))
    shares(drawing, DEGREES, [(column, list(each)) for column, each in entries])
    words = f"{what} {TAILS}" if has_tails(schema) else what
    page.figure(drawing.svg("How far each column was generalized, by share of rows", inside=True), words)
    rows = [(column, f"{losses[column]:.3f}", *(share_words(each) for each in lengths)) for column, lengths in entries]
    page.table(("column", "loss", *DEGREES), rows)


def add_sizes(page: Page, schema: Schema, measured: Measured) -> None:
    """Rows by the size of their class."""
    page.heading("Sizes of classes")
    sizes, k = measured.grouping.sizes, schema.k
    entries, low = [], k
    while 2 * low <= int(sizes.min()):
        low *= 2
    while low <= int(sizes.max()):
        high = 2 * low
        inside = (sizes >= low) & (sizes < high)
        share = float(sizes[inside].sum() / sizes.sum())
        name = rows_of(low) if high == low + 1 else f"{low:,} to {rows_of(high - 1)}"
        entries.append(Bar(name, 100 * share, f"{share:.1%}, in {int(inside.sum()):,} classes"))
        low = high
    drawing = Drawing(WIDTH, bars_height(len(entries)))
    bars(drawing, ChartAxis("percent of all rows", nice_ticks(0.0, max(entry.value for entry in entries), 5)), entries)
    page.figure(drawing.svg("Rows by the size of their class", inside=True), "Rows by the size of their class.")


def add_limits(page: Page, schema: Schema, claimed: Mapping[str, str] = NOTHING) -> None:
    """What no release promises."""
    page.heading("What is not promised")
    page.text(LIMITS)
    knows_units = schema.unit is not None and "unit" not in claimed
    several = (SEVERAL_CLASSES,) if schema.counts_persons else () if knows_units else (SEVERAL_ROWS,)
    page.points([*NOT_PROTECTED, *several])


def rows_of(number: int) -> str:
    """A number of rows."""
    return "1 row" if number == 1 else f"{number:,} rows"


def share_words(share: float) -> str:
    """A share in percent; a small one is not shown as none, nor a large one as all.

    Examples
    --------
    >>> share_words(0.25), share_words(0.0001), share_words(0.0), share_words(0.9999)
    ('25.0%', 'below 0.1%', '0.0%', 'above 99.9%')
    """
    if 0 < share < 0.001:
        return "below 0.1%"
    return "above 99.9%" if 0.999 < share < 1 else f"{share:.1%}"


def quoted(names: Sequence[str]) -> str:
    """Names of columns."""
    return ", ".join(f"'{name}'" for name in names)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
