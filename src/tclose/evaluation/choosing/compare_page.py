"""The page of a comparison: what came out in words, the frontier, charts against t, and every number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from tclose.evaluation.attacks.allowed_rise import AllowedRise, allowed_words
from tclose.evaluation.choosing.best_methods import asked, best_by_measure, verdict
from tclose.evaluation.choosing.trials import Gains, Trial
from tclose.pages.charts import (
    N_COLOURS,
    Bar,
    BoxOfValues,
    ChartAxis,
    ChartLine,
    bars,
    bars_height,
    boxes,
    boxes_height,
    chart,
    cloud,
    log_ticks,
    nice_ticks,
)
from tclose.pages.page import Page
from tclose.pages.svg import Drawing

WIDTH, HEIGHT = 940.0, 380.0
MOST_BOXES = 40
FASTEST = 1e-3  # seconds: what is shorter is drawn as long
HEADER = (
    "method", "k", "t", "loss", "query error", "t reached", "classes", "median size", "rise", "guess", "risk",
    "seconds",
)  # fmt: skip
EXPLAINED = (
    "Loss is the general loss metric: 0 if every value is as it was, 1 if no quasi-identifier tells anything.",
    "Query error is the median relative error of random COUNT queries, answered from the release as if the rows of "
    "a class lay evenly in what it covers.",
    "Rise: a belief rises by the share of a sensitive value in a class minus its share in the whole table; told is the "
    "largest rise anywhere, in percentage points. Only under the equal distance is it at most t: the other distances "
    "take near values for nearly the same. `rise` and `beta` cap it under every distance.",
    "Guess: a learner looks at the whole release and may know everyone's quasi-identifiers (deFinetti attack). By how "
    "many percentage points it is right more often than whoever always says the most frequent value. A part of this is "
    "what any useful table teaches.",
    "Risk is the largest chance of giving a row its person: one over the rows of its class.",
)


class Compared(Protocol):
    """What a page needs of a `Comparison`."""

    @property
    def warning(self) -> str | None:
        """That kept columns are not checked."""
        ...

    @property
    def allowed(self) -> Mapping[str, AllowedRise]:
        """The most that caps let a belief rise by."""
        ...

    @property
    def rows(self) -> int:
        """Of the table."""
        ...

    @property
    def runs(self) -> tuple[Trial, ...]:
        """All of them."""
        ...

    @property
    def before(self) -> Gains:
        """What attackers gain from the table as it stands."""
        ...

    @property
    def jobs(self) -> int:
        """How many ran at once."""
        ...

    @property
    def done(self) -> tuple[Trial, ...]:
        """Those that led to a release."""
        ...

    @property
    def frontier(self) -> tuple[Trial, ...]:
        """Those that none beats."""
        ...


def _begun(found: Compared) -> Page:
    """A page that says first what was not checked."""
    title = f"{_count(len(_methods(found)), 'method')} compared on {_count(found.rows, 'row')}"
    return Page(title if found.warning is None else f"Kept columns not checked: {title}")


def comparison_page(found: Compared) -> Page:
    """All of it."""
    page = _begun(found)
    page.text(verdict(found), "lead")
    page.tiles(_tiles(found))
    if found.done:
        _best(page, found)
        _frontier(page, found)
        for k in sorted({run.k for run in found.done}):
            _against_t(page, found, k)
        _sizes(page, found)
        _seconds(page, found)
    _numbers(page, found)
    page.heading("What the numbers mean")
    page.points([*EXPLAINED, *allowed_words(found.allowed)])
    page.text(
        "Nothing was released for this page, and no value of the table is in it. Methods are heuristics: on another "
        "table, or with another seed, another may be ahead.",
        "soft",
    )
    return page


def comparison_note(found: Compared) -> Page:
    """The same in short, for a notebook."""
    page = _begun(found)
    page.text(verdict(found))
    _table(page, found)
    page.text("Charts and all numbers: Path('comparison.html').write_text(comparison.html())", "soft")
    return page


def _tiles(found: Compared) -> list[tuple[str, str]]:
    tiles = [(f"{found.rows:,}", "rows"), (f"{len(found.done)} of {len(found.runs)}", "runs with a release")]
    if found.done:
        least = min(found.done, key=lambda run: run.loss)
        tiles.append((f"{least.loss:.3f}", f"least loss: {least.method}, {_asked(least)}"))
        asked = [run for run in found.done if run.query_error is not None]
        if asked:
            exact = min(asked, key=lambda run: run.query_error or 0.0)
            tiles.append((f"{exact.query_error:.1%}", f"least query error: {exact.method}, {_asked(exact)}"))
        safest = min(found.done, key=lambda run: run.gains.rise)
        tiles.append((_points(safest.gains.rise), f"least rise: {safest.method}, {_asked(safest)}"))
    return [*tiles, (f"{found.before.guess * 100:+.0f} points", "a learner's guesses, before any release")]


def _best(page: Page, found: Compared) -> None:
    if len(_by_method(found.done, found)) < 2:
        return
    page.heading("The best by each measure")
    rows = [(each.measure.name, each.told()) for each in best_by_measure(found.done)]
    page.table(("by", "best"), rows, words=True)


def _frontier(page: Page, found: Compared) -> None:
    page.heading("What attackers gain and what analysts lose")
    groups = [
        ChartLine(
            name,
            [(100 * run.gains.rise, run.loss) for run in runs],
            told=[f"{name}, {_asked(run)}: belief rises by {_points(run.gains.rise)}, loss {run.loss:.3f}"
                  for run in runs],
        )
        for name, runs in _by_method(found.done, found).items()
    ]  # fmt: skip
    rises = [100 * run.gains.rise for run in found.done]
    drawing = Drawing(WIDTH, max(HEIGHT, 110.0 + 18 * len(groups)))
    across = ChartAxis("largest rise of a belief, percentage points", nice_ticks(min(0.0, *rises), max(rises), 8))
    edge = [(100 * run.gains.rise, run.loss) for run in found.frontier]
    cloud(drawing, across, _axis("loss", [run.loss for run in found.done]), groups, edge)
    page.figure(
        drawing.svg("Loss against the largest rise of a belief, by method", inside=True),
        "One mark a run: the lower the more useful, the farther left the safer. On the dashed line are the runs than "
        "which no other is both; above and to the right of it something better was found.",
    )
    told = [
        f"{run.method}, {_asked(run)}: loss {run.loss:.3f}, a belief rises by up to {_points(run.gains.rise)}."
        for run in found.frontier
    ]
    page.text("On the frontier, the safest first:")
    page.points(told)


def _against_t(page: Page, found: Compared, k: int) -> None:
    """Loss and query error, against t if there are several."""
    runs = [run for run in found.done if run.k == k]
    several = len({run.k for run in found.done}) > 1
    page.heading("Loss and query error" + (f" at k = {k}" if several else ""))
    measures: list[tuple[str, str, Callable[[Trial], float | None]]] = [
        ("loss", "Loss by t: how much the quasi-identifiers no longer tell.", lambda run: run.loss),
        ("query error, %", "Median relative error of COUNT queries by t.", _query_percent),
    ]
    for name, caption, value in measures:
        drawn = [run for run in runs if value(run) is not None]
        if drawn:
            _measure(page, found, drawn, name, caption, value)


def _measure(
    page: Page,
    found: Compared,
    runs: Sequence[Trial],
    name: str,
    caption: str,
    value: Callable[[Trial], float | None],
) -> None:
    thresholds = sorted({float(run.t) for run in runs if run.t is not None})
    values = [value(run) or 0.0 for run in runs]
    title = f"{name} by method"
    if len(thresholds) < 2:
        entries = [
            Bar(run.method, value(run) or 0.0, _short(value(run) or 0.0), _colour(found, run.method)) for run in runs
        ]
        drawing = Drawing(WIDTH, bars_height(len(entries)))
        bars(drawing, _axis(name, values), entries)
        page.figure(drawing.svg(title, inside=True), caption.replace(" by t", ""))
        return
    lines = [
        ChartLine(
            method,
            [(float(run.t or 0), value(run) or 0.0) for run in own],
            told=[f"{method}, {_asked(run)}: {name} {_short(value(run) or 0.0)}" for run in own],
            look=_place(found, method),
        )
        for method, chosen in _by_method(runs, found).items()
        if (own := sorted(chosen, key=lambda run: run.t or 0))
    ]
    drawing = Drawing(WIDTH, max(HEIGHT, 100.0 + 16 * len(lines)))
    chart(drawing, ChartAxis("t", nice_ticks(0.0, thresholds[-1], 8)), _axis(name, values), lines)
    page.figure(drawing.svg(f"{title}, against t", inside=True), caption)


def _sizes(page: Page, found: Compared) -> None:
    page.heading("Sizes of classes")
    shown, which = _to_show(found)
    entries = [
        BoxOfValues(_name(run), (run.sizes[0], run.sizes[1], run.sizes[2], run.sizes[3], run.sizes[4]),
            _colour(found, run.method))
        for run in shown
    ]  # fmt: skip
    drawing = Drawing(WIDTH, boxes_height(len(entries)))
    least, most = min(run.sizes[0] for run in shown), max(run.sizes[4] for run in shown)
    boxes(drawing, ChartAxis("rows of a class", log_ticks(max(least, 1), most), logarithmic=True), entries)
    page.figure(
        drawing.svg("Sizes of classes by run", inside=True),
        "From the smallest class to the largest; the box holds the middle half of the classes, the stroke in it is the "
        f"median. The scale is logarithmic.{which}",
    )


def _to_show(found: Compared) -> tuple[list[Trial], str]:
    """All runs, or if they are too many those at the middle t; and which they are."""
    middle = _middle(found)
    if len(found.done) <= MOST_BOXES or middle is None:
        return list(found.done[:MOST_BOXES]), ""
    chosen = [run for run in found.done if run.t == middle]
    return chosen[:MOST_BOXES], f" Shown for t = {float(middle):g}; the others are in the table below."


def _seconds(page: Page, found: Compared) -> None:
    page.heading("Time")
    spent = {name: [run.seconds for run in runs] for name, runs in _by_method(found.done, found).items()}
    entries = [
        Bar(name, max(max(times), FASTEST), _range(times), _colour(found, name)) for name, times in spent.items()
    ]
    drawing = Drawing(WIDTH, bars_height(len(entries)))
    longest, shortest = max(map(max, spent.values())), min(max(times) for times in spent.values())
    ticks = log_ticks(min(max(shortest, FASTEST), 0.1), max(longest, FASTEST))
    bars(drawing, ChartAxis("seconds, the longest run", ticks, logarithmic=True), entries)
    at_once = (
        "One run at a time."
        if found.jobs == 1
        else f"{found.jobs} runs shared the processors, so take times as rough; with one job they can be compared."
    )
    stopped = " Some runs were stopped when their time was up." if any(run.stopped_early for run in found.done) else ""
    caption = f"Of the method alone, without reading and writing; the scale is logarithmic. {at_once}{stopped}"
    page.figure(drawing.svg("Seconds by method", inside=True), caption)


def _numbers(page: Page, found: Compared) -> None:
    if found.done:
        page.heading("All runs")
        page.text("On the frontier: in bold.", "soft")
        _table(page, found)
    refused = [run for run in found.runs if run.refused is not None]
    if refused:
        page.heading("Runs that led to no release")
        page.table(("run", "why"), [(_name(run), run.refused or "") for run in refused], words=True)


def _table(page: Page, found: Compared) -> None:
    on_frontier = [place for place, run in enumerate(found.done) if run in found.frontier]
    rows = [
        (
            run.method, str(run.k), "schema's" if run.t is None else f"{float(run.t):g}", f"{run.loss:.4f}",
            "" if run.query_error is None else f"{run.query_error:.1%}",
            f"{max((run.reached or {}).values(), default=0.0):.4f}", f"{run.classes:,}", f"{run.sizes[2]:,}",
            f"{100 * run.gains.rise:.1f}", f"{100 * run.gains.guess:.1f}", f"{run.gains.risk:.1%}",
            spent(run.seconds),
        )
        for run in found.done
    ]  # fmt: skip
    page.table(HEADER, rows, on_frontier)


def _methods(found: Compared) -> list[str]:
    return list(dict.fromkeys(run.method for run in found.runs))


def _by_method(runs: Sequence[Trial], found: Compared) -> dict[str, list[Trial]]:
    """Runs by method, those without any left out."""
    grouped = {name: [run for run in runs if run.method == name] for name in _methods(found)}
    return {name: own for name, own in grouped.items() if own}


def _place(found: Compared, method: str) -> int:
    """Which of the methods it is, so that it looks the same in every chart."""
    return list(_by_method(found.done, found)).index(method)


def _colour(found: Compared, method: str) -> str:
    return f"line{_place(found, method) % N_COLOURS}"


def _axis(title: str, values: Sequence[float]) -> ChartAxis:
    return ChartAxis(title, nice_ticks(0.0, max(max(values), 1e-6), 6))


def _query_percent(run: Trial) -> float | None:
    return None if run.query_error is None else 100 * run.query_error


def _asked(run: Trial) -> str:
    return asked((run.t, run.k))


def _name(run: Trial) -> str:
    return f"{run.method}, {_asked(run)}"


def _middle(found: Compared) -> Fraction | None:
    """The middle t, which stands for all where only one can be told of: neither end is typical."""
    thresholds = sorted({run.t for run in found.done if run.t is not None})
    return thresholds[len(thresholds) // 2] if thresholds else None


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


def _range(times: Sequence[float]) -> str:
    least, most = spent(min(times)), spent(max(times))
    return f"{most} s" if least == most else f"{least} to {most} s"


def spent(seconds: float) -> str:
    """Seconds, short ones with what counts of them."""
    if seconds < 0.001:
        return "0.001"
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:,.0f}"


def _short(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
