"""The promise: k, t, l and caps, what each means in this table, and the curve of loss and of risk."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from starlette.responses import Response
from starlette.routing import Route

from tclose.app.background_job import BackgroundJob
from tclose.app.column_forms import FormField, check_column, filled, read_value, sensitive_schema
from tclose.app.column_profile import bare
from tclose.app.site import Site, Visit, go
from tclose.app.texts import load_texts, said
from tclose.app.workbench import OpenProject
from tclose.distances.belief_rise import largest_rise
from tclose.errors import SchemaError, TcloseError
from tclose.evaluation.choosing.suggest import Suggestion, suggest
from tclose.evaluation.choosing.suggest_words import curve_words
from tclose.pages.charts import ChartAxis, ChartLine, chart, nice_ticks
from tclose.pages.svg import Drawing
from tclose.schema.columns import Sensitive
from tclose.schema.toml import as_number, exact
from tclose.table.proposing.guesses import ColumnGuess
from tclose.table.sensitive import build_domain

SAMPLE = 5000  # rows of the first curve
MOST_VALUES = 400  # of an attribute whose rise is computed while a page is made
KEYS = ("t", "rise", "beta")
DIVERSITIES = ("distinct", "entropy", "frequency")


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
    diversity
        Other kinds of l as they were written.
    points
        By how many points t lets the share of a value rise at most; None where it is not computed.
    manner
        What the points are about: single values, groups of them (bins), or a table without some rows (about).
    is_enhanced, has_levels
        Whether beta is the stricter one, and whether caps hold for inner nodes of the hierarchy.
    """

    number: int
    name: str
    distance: str
    asked: dict[str, str]
    distinct: str
    diversity: dict[str, str]
    points: float | None
    manner: str
    is_enhanced: bool
    has_levels: bool

    @property
    def has_more(self) -> bool:
        """Whether anything beside t is asked."""
        return bool(self.distinct or self.asked["rise"] or self.asked["beta"] or any(self.diversity.values()))


def show_promise(visit: Visit) -> Response:
    """What is promised, and what that means."""
    project = visit.bench.the_project()
    settings = project.settings
    attributes = [
        _attribute(number, project.table.proposal.guesses[name], column.sensitive, settings.keys)
        for number, (name, column) in enumerate(settings.columns.items())
        if column.role == "sensitive"
    ]
    trouble = project.trouble
    curves = [each for each in project.suggestions if _same_but_t(each[0], settings)]
    shown, is_sample = curves[-1][1:] if curves else (None, False)
    return visit.page(
        "promise.html", "promise", k=settings.keys.get("k", 5), attributes=attributes, trouble=trouble,
        persons=settings.keys.get("unit_rows", "") if settings.having("unit") else "", objective=objective_of(project),
        joints=[(name, each["columns"], each["t"]) for name, each in settings.keys.get("joint", {}).items()],
        curve=None if shown is None else curve_of(shown), rows=project.table.source.n_rows,
        is_sample=is_sample, sample=SAMPLE,
    )  # fmt: skip


def _same_but_t(one: Any, other: Any) -> bool:
    """Whether a curve is still that of the settings: t is what it is swept over."""

    def without_t(settings: Any) -> dict[str, Any]:
        return {
            name: (column.role, column.quasi, {key: value for key, value in column.sensitive.items() if key != "t"})
            for name, column in settings.columns.items()
        }

    return one.keys == other.keys and without_t(one) == without_t(other)


@dataclass(frozen=True)
class ObjectiveState:
    """What may be given up and what counts, as the page shows it.

    Attributes
    ----------
    keys
        Those of the schema that are settled.
    percent
        Of rows that may be left out; empty where none may.
    workload
        The queries as text.
    targets
        Places and names of columns that can be predicted.
    has_kept
        Whether a column is kept as it is.
    """

    keys: Mapping[str, Any]
    percent: str
    workload: str
    targets: list[tuple[int, str]]
    has_kept: bool


def objective_of(project: OpenProject) -> ObjectiveState:
    """What is settled of it in a project."""
    settings = project.settings
    share, named = settings.keys.get("suppress_rows"), settings.keys.get("workload")
    percent = "" if share is None else str(as_number(100 * exact(share, "", "suppress_rows")))
    text = ""
    if isinstance(named, str):
        with suppress(OSError, UnicodeDecodeError):
            text = (project.folder.folder / named).read_text(encoding="utf-8")
    targets = [
        (number, name)
        for number, (name, column) in enumerate(settings.columns.items())
        if column.role in ("sensitive", "keep")
    ]
    return ObjectiveState(settings.keys, percent, text, targets, bool(settings.having("keep")))


def _attribute(number: int, guess: ColumnGuess, keys: Mapping[str, Any], whole: Mapping[str, Any]) -> AttributePromise:
    asked = {key: str(keys.get(key, "")) for key in KEYS}
    points = None
    with suppress(TcloseError):  # the column's own page says what is wrong
        points = allowed_points(guess, keys, whole)
    diversity = _diversity(keys.get("l", {}))
    return AttributePromise(
        number, guess.column, str(keys.get("distance", "")), asked, diversity.pop("distinct"), diversity, points,
        _manner(keys, whole), bool(keys.get("enhanced")), bool(keys.get("levels")),
    )  # fmt: skip


def _diversity(given: Any) -> dict[str, str]:
    """Every kind of l as it was written; empty where not asked."""
    held = given if isinstance(given, Mapping) else {"distinct": given}
    recursive = held.get("recursive", {})
    plain = {kind: str(held.get(kind, "")) for kind in DIVERSITIES}
    return plain | {"recursive_c": str(recursive.get("c", "")), "recursive_l": str(recursive.get("l", ""))}


def _manner(keys: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """What a sentence in points is about: the table as it is, groups of values, or the table without some rows."""
    if "bins" in keys or "edges" in keys:
        return "bins"
    loses_rows = whole.get("missing") == "drop" or whole.get("unit_rows") == "one" or "suppress_rows" in whole
    return "about" if loses_rows and keys.get("distance") != "equal" else "values"


def allowed_points(guess: ColumnGuess, keys: Mapping[str, Any], whole: Mapping[str, Any]) -> float | None:
    """By how many points t and a cap let a value's share in a class be above its share in the table."""
    evidence = guess.evidence
    if "t" not in keys or evidence.coded is None:
        return None
    sensitive: Sensitive = sensitive_schema(guess.column, keys, whole).sensitive[0]
    assert sensitive.t is not None
    cap = 1 if sensitive.rise is None else sensitive.rise
    if sensitive.distance == "equal":
        return float(100 * min(sensitive.t, cap))  # every two values are at distance 1, so t is the most that can move
    form, codes, _ = build_domain(*filled(evidence, whole), sensitive)
    if form.size > MOST_VALUES:
        return None
    by_t = largest_rise(form, np.bincount(codes, minlength=form.size).tolist(), sensitive.t)
    return float(100 * min(by_t, cap))


def set_promise(visit: Visit) -> Response:
    """Settle k, and for every sensitive attribute t, l and caps."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        k = form.number("k")
        if k is None or k < 1:
            raise SchemaError(said("k"))
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
    if visit.form.has(f"more-{number}"):  # a tick that is not set sends nothing
        for key in ("enhanced", "levels"):
            keys.pop(key, None)
            keys |= {key: True} if visit.form.has(f"{key}-{number}") else {}
    before = keys.pop("l", {})
    asked = _asked_diversity(dict(before) if isinstance(before, Mapping) else {"distinct": before}, visit, number, name)
    return {**keys, "l": asked} if asked else keys


def _asked_diversity(asked: dict[str, Any], visit: Visit, number: int, name: str) -> dict[str, Any]:
    """The kinds of l that a form asks for; one that it does not show stays."""
    form = visit.form
    if form.has(f"l-{number}"):
        asked.pop("distinct", None)
        if given := form.text(f"l-{number}"):
            asked["distinct"] = read_value(FormField("l", sort="whole"), given)
    for kind in DIVERSITIES[1:]:
        if form.has(f"{kind}-{number}"):
            asked.pop(kind, None)
            if given := form.text(f"{kind}-{number}").replace(",", "."):
                exact(given, f"'{name}'", kind)
                asked[kind] = Decimal(given) if "/" not in given else given
    c, least = form.text(f"recursive_c-{number}").replace(",", "."), form.text(f"recursive_l-{number}")
    if form.has(f"recursive_c-{number}"):
        asked.pop("recursive", None)
        if c or least:
            exact(c, f"'{name}'", "c")
            asked["recursive"] = {
                "c": Decimal(c) if "/" not in c else c, "l": read_value(FormField("l", sort="whole"), least) or 0,
            }  # fmt: skip
    return asked


def begin_curve(visit: Visit) -> Response:
    """Sweep t in the background: on a sample, and then on all rows."""
    with visit.bench.lock:
        project = visit.bench.check_revision(visit.form.number("revision"))
        settings = project.settings
        schema = project.schema()
        source, sample = project.table.source, project.table.sample(SAMPLE)

        def work(job: BackgroundJob) -> None:
            for rows in [source] if sample is source else [sample, source]:
                found = suggest(rows, schema, queries=0, progress=job.listen, control=job.control)
                with visit.bench.lock:
                    project.suggestions = [*project.suggestions, (settings, found, rows is not source)][-4:]
                if job.control.stop:
                    return

        visit.bench.begin("suggest", "/promise", work)
    return go("/promise")


def take_t(visit: Visit) -> Response:
    """Take the t of a point of the curve for every attribute that has one."""
    form = visit.form
    with visit.bench.lock:
        project = visit.bench.check_revision(form.number("revision"))
        t = exact(form.text("t"), said("the_curve"), "t")
        if not 0 <= t <= 1:
            raise SchemaError(said("t"))
        settings = project.settings
        for name in settings.having("sensitive"):
            keys = dict(settings.columns[name].sensitive)
            if "t" in keys:
                settings = settings.with_column(name, sensitive={**keys, "t": as_number(t)})
        project.change(settings)
    return go("/promise")


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
    words = load_texts().pictures
    loss = _drawn(words.loss, thresholds, [run.loss for run in runs])
    rise = _drawn(words.rise, thresholds, rises)
    return CurvePicture(loss, rise, points, curve_words(found), found.rows)


def _drawn(name: str, thresholds: list[float], values: list[float]) -> str:
    told = [f"t = {t:g}: {value:.3g}" for t, value in zip(thresholds, values, strict=True)]
    line = ChartLine("", list(zip(thresholds, values, strict=True)), told=told)
    drawing = Drawing(460, 260)
    across, up = (
        ChartAxis("t", nice_ticks(0.0, thresholds[-1], 5)),
        ChartAxis(name, nice_ticks(0.0, max(*values, 1e-6), 5)),
    )
    chart(drawing, across, up, [line], margin=20)
    return bare(drawing.svg(load_texts().pictures.against_t.format(name=name), inside=True))
