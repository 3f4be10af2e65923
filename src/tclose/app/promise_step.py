"""The promise: k, t, l and caps, what each means in this table, and the curve of loss and of risk."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from starlette.responses import Response
from starlette.routing import Route

from tclose.app.background_job import BackgroundJob
from tclose.app.column_forms import FormField, check_column, read_value
from tclose.app.column_profile import bare
from tclose.app.site import Site, Visit, go
from tclose.distances.belief_rise import largest_rise
from tclose.errors import SchemaError, TcloseError
from tclose.evaluation.choosing.suggest import Suggestion, suggest
from tclose.evaluation.choosing.suggest_words import curve_words
from tclose.pages.charts import Axis, ChartLine, chart, nice_ticks
from tclose.pages.svg import Drawing
from tclose.schema.columns import Sensitive
from tclose.schema.schema import Schema
from tclose.schema.toml import exact
from tclose.table.proposing.guesses import Guess
from tclose.table.sensitive import build_domain

SAMPLE = 5000  # rows of the first curve
MOST_VALUES = 400  # of an attribute whose rise is computed while a page is made
KEYS = ("t", "rise", "beta")


def routes(site: Site) -> list[Route]:
    """The addresses of this step."""
    return [
        site.get("/promise", show_promise),
        site.post("/promise", set_promise, show_promise),
        site.post("/promise/curve", begin_curve, show_promise),
        site.post("/promise/t", take_t, show_promise),
    ]


@dataclass(frozen=True)
class AttributePromise:
    """What is promised of one sensitive attribute.

    Attributes
    ----------
    number, name, distance
        Its place in the table, its name and its distance.
    asked
        t, rise and beta as they were written; empty where not asked.
    distinct
        The least number of distinct values in a class; empty where not asked.
    points
        By how many points t lets the share of a value rise at most; None where it is not computed.
    values
        How many there are.
    """

    number: int
    name: str
    distance: str
    asked: dict[str, str]
    distinct: str
    points: float | None
    values: int


def show_promise(visit: Visit) -> Response:
    """What is promised, and what that means."""
    project = visit.bench.the_project()
    settings = project.settings
    attributes = [
        _attribute(number, project.table.proposal.guesses[name], column.sensitive)
        for number, (name, column) in enumerate(settings.columns.items())
        if column.role == "sensitive"
    ]
    trouble = settings.trouble(project.folder.folder)
    curves = [found for of, found in project.suggestions if of.columns == settings.columns or _same_but_t(of, settings)]
    shown = curves[-1] if curves else None
    return visit.page(
        "promise.html", "promise", k=settings.keys.get("k", 5), attributes=attributes, trouble=trouble,
        curve=None if shown is None else curve_of(shown), rows=project.table.source.n_rows,
        is_sample=shown is not None and shown.rows < project.table.source.n_rows, sample=SAMPLE,
    )  # fmt: skip


def _same_but_t(one: Any, other: Any) -> bool:
    """Whether a curve is still that of the settings: t is what it is swept over."""

    def without_t(settings: Any) -> dict[str, Any]:
        return {
            name: (column.role, column.quasi, {key: value for key, value in column.sensitive.items() if key != "t"})
            for name, column in settings.columns.items()
        }

    return one.keys == other.keys and without_t(one) == without_t(other)


def _attribute(number: int, guess: Guess, keys: Mapping[str, Any]) -> AttributePromise:
    l_asked = keys.get("l", {})
    distinct = l_asked.get("distinct", "") if isinstance(l_asked, Mapping) else l_asked
    asked = {key: str(keys.get(key, "")) for key in KEYS}
    points = None
    with suppress(TcloseError):  # the column's own page says what is wrong
        points = allowed_points(guess, keys)
    return AttributePromise(
        number, guess.column, str(keys.get("distance", "")), asked, str(distinct), points, guess.evidence.n_distinct
    )


def allowed_points(guess: Guess, keys: Mapping[str, Any]) -> float | None:
    """By how many points t lets a value's share in a class be above its share in the table."""
    evidence = guess.evidence
    if "t" not in keys or evidence.coded is None:
        return None
    schema = Schema.from_dict(
        {"k": 1, "quasi": {f"{guess.column} ": {"kind": "categorical"}}, "sensitive": {guess.column: dict(keys)}}
    )
    sensitive: Sensitive = schema.sensitive[0]
    assert sensitive.t is not None
    if sensitive.distance == "equal":
        return float(100 * sensitive.t)  # every two values are at distance 1, so t is the most that can move
    form, codes, _ = build_domain(evidence.reader, evidence.coded, sensitive)
    if form.size > MOST_VALUES:
        return None
    return float(100 * largest_rise(form, np.bincount(codes, minlength=form.size).tolist(), sensitive.t))


def set_promise(visit: Visit) -> Response:
    """Settle k, and for every sensitive attribute t, l and caps."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        k = form.number("k")
        if k is None or k < 1:
            raise SchemaError("k must be a whole number from 1 up.")
        settings = project.settings.with_keys(k=k)
        for number, name in enumerate(settings.columns):
            column = settings.columns[name]
            if column.role != "sensitive" or not form.has(f"t-{number}"):
                continue
            keys = _asked(dict(column.sensitive), visit, number, name)
            check_column(project.table.proposal.guesses[name], "sensitive", keys, settings.keys)
            settings = settings.with_column(name, sensitive=keys)
        project.change(settings)
    return go("/promise")


def _asked(keys: dict[str, Any], visit: Visit, number: int, name: str) -> dict[str, Any]:
    for key in KEYS:
        keys.pop(key, None)
        if given := visit.form.text(f"{key}-{number}").replace(",", "."):
            exact(given, f"'{name}'", key)
            keys[key] = Decimal(given) if "/" not in given else given
    distinct = visit.form.text(f"l-{number}")
    other = {key: value for key, value in keys.pop("l", {}).items() if key != "distinct"}
    if distinct:
        other["distinct"] = read_value(FormField("l", sort="whole"), distinct)
    return {**keys, "l": other} if other else keys


def begin_curve(visit: Visit) -> Response:
    """Sweep t in the background: on a sample, and then on all rows."""
    with visit.bench.lock:
        project = visit.bench.check_revision(visit.form.number("revision"))
        settings = project.settings
        schema = settings.schema(project.folder.folder)
        source, sample = project.table.source, project.table.sample(SAMPLE)

        def work(job: BackgroundJob) -> None:
            for rows in [sample] if sample is source else [sample, source]:
                found = suggest(rows, schema, queries=0, progress=job.listen, control=job.control)
                with visit.bench.lock:
                    project.suggestions = [*project.suggestions, (settings, found)][-4:]
                if job.control.stop:
                    return

        visit.bench.begin("suggest", "/promise", work)
    return go("/promise")


def take_t(visit: Visit) -> Response:
    """Take the t of a point of the curve for every attribute that has one."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        t = exact(form.text("t"), "The curve", "t")
        if not 0 <= t <= 1:
            raise SchemaError("t must be from 0 to 1.")
        settings = project.settings
        for name in settings.having("sensitive"):
            keys = dict(settings.columns[name].sensitive)
            if "t" in keys:
                settings = settings.with_column(name, sensitive={**keys, "t": _as_written(t)})
        project.change(settings)
    return go("/promise")


def _as_written(t: Fraction) -> Any:
    short = Decimal(t.numerator) / Decimal(t.denominator)
    return short if Fraction(short) == t else str(t)


@dataclass(frozen=True)
class CurvePicture:
    """The curve of a suggestion.

    Attributes
    ----------
    loss, rise
        Charts against t as SVG.
    points
        t, loss, rise in points and classes of every run.
    words
        What it says.
    rows
        That it was made of.
    """

    loss: str
    rise: str
    points: list[tuple[str, float, float, int, bool]]
    words: str
    rows: int


def curve_of(found: Suggestion) -> CurvePicture:
    """The curves of a sweep, and its points to choose from."""
    runs = found.runs
    thresholds = [float(run.t or 0) for run in runs]
    rises = [float(100 * run.rise) for run in runs]
    points = [
        (str(run.t), run.loss, rise, run.classes, place == found.knee)
        for place, (run, rise) in enumerate(zip(runs, rises, strict=True))
    ]
    loss = _drawn("loss of information", thresholds, [run.loss for run in runs])
    rise = _drawn("largest rise of a belief, points", thresholds, rises)
    return CurvePicture(loss, rise, points, curve_words(found), found.rows)


def _drawn(name: str, thresholds: list[float], values: list[float]) -> str:
    told = [f"t = {t:g}: {value:.3g}" for t, value in zip(thresholds, values, strict=True)]
    line = ChartLine("", list(zip(thresholds, values, strict=True)), told=told)
    drawing = Drawing(460, 260)
    across, up = Axis("t", nice_ticks(0.0, thresholds[-1], 5)), Axis(name, nice_ticks(0.0, max(*values, 1e-6), 5))
    chart(drawing, across, up, [line], margin=20)
    return bare(drawing.svg(f"{name} against t", inside=True))
