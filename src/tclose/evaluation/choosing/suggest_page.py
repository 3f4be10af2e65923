"""The page of a suggestion: the knee in words, what lies on either side of it, and the curves."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from tclose.evaluation.choosing.knee import LEAST_FALL, MARGIN, Curve, height
from tclose.evaluation.choosing.trials import Gains, Trial
from tclose.pages.charts import Axis, ChartLine, chart, nice_ticks
from tclose.pages.page import Page
from tclose.pages.svg import Drawing

WIDTH, HEIGHT = 940.0, 360.0
HEADER = ("", "t", "loss", "query error", "rise", "guess", "risk", "classes")


class Swept(Protocol):
    """What a page needs of a `Suggestion`."""

    @property
    def method(self) -> str:
        """The method that was swept with."""
        ...

    @property
    def k(self) -> int:
        """The k of all trials."""
        ...

    @property
    def column(self) -> str | None:
        """The attribute whose t was swept; None for all."""
        ...

    @property
    def by(self) -> Curve:
        """The curve whose knee was looked for."""
        ...

    @property
    def runs(self) -> tuple[Trial, ...]:
        """One a t, the strictest first."""
        ...

    @property
    def knee(self) -> int | None:
        """Which of them is suggested."""
        ...

    @property
    def depth(self) -> float:
        """How far below the chord the curve gets."""
        ...

    @property
    def before(self) -> Gains:
        """What attackers gain from the table as it stands."""
        ...

    @property
    def t(self) -> Fraction | None:
        """What is suggested."""
        ...

    @property
    def beside(self) -> dict[str, Trial]:
        """The knee and its neighbours."""
        ...


def suggestion_page(found: Swept) -> Page:
    """All of it."""
    page = Page(_title(found))
    page.text(verdict(found), "lead")
    _tiles(page, found)
    _sides(page, found)
    _curves(page, found)
    page.heading("All that was tried")
    page.table(HEADER[1:], [_row(run)[1:] for run in found.runs], [] if found.knee is None else [found.knee])
    page.heading("How it was found")
    page.text(criterion(found))
    page.text(
        "This is advice by one criterion and not a proof: it does not know what a disclosure would cost the people "
        "in the table, nor what the analysts need. A law, a promise or the worst case may ask for a stricter t. The "
        "knee also depends on where the sweep begins and ends, and on the method."
    )
    page.text("Nothing was released for this page, and no value of the table is in it.", "soft")
    return page


def suggestion_note(found: Swept) -> Page:
    """The same in short, for a notebook."""
    page = Page(_title(found))
    page.text(verdict(found))
    _sides(page, found, heading=False)
    page.text("Advice by one criterion, not a proof. Charts: suggestion.html()", "soft")
    return page


def verdict(found: Swept) -> str:
    """What came out, in words."""
    first, last = found.runs[0], found.runs[-1]
    what = "the loss" if found.by == "loss" else "the median error of queries"
    if found.knee is None:
        if height(first, found.by) - height(last, found.by) <= 0:
            how = f"{what} does not fall from t = {_t(first)} to {_t(last)}"
        else:
            how = (
                f"{what} falls from {_told(first, found)} at t = {_t(first)} to {_told(last, found)} at {_t(last)} "
                "without a bend"
            )
        return (
            f"There is no knee: {how}. So no t stands out by itself. Choose by what people were promised, and by what "
            "the table must still tell."
        )
    knee = found.runs[found.knee]
    return (
        f"t = {_t(knee)} stands out. Up to there a looser t lowers {what} by {_fall(first, knee, found)} for every "
        f"0.1, from {_told(first, found)} at t = {_t(first)} to {_told(knee, found)}; beyond it by only "
        f"{_fall(knee, last, found)}, to {_told(last, found)} at t = {_t(last)}."
    )


def sides(found: Swept) -> list[str]:
    """What changes on either side of the knee, a sentence or two each."""
    if found.knee is None:
        return []
    beside, told = found.beside, []
    knee = beside["suggested"]
    for name, other in beside.items():
        if name == "suggested":
            continue
        loss, rise = other.loss - knee.loss, other.gains.rise - knee.gains.rise
        guess = other.gains.guess - knee.gains.guess
        queries = ""
        if other.query_error is not None and knee.query_error is not None:
            queries = f" (the median error of queries goes from {knee.query_error:.1%} to {other.query_error:.1%})"
        told.append(
            f"At t = {_t(other)}, one step {name}: analysts lose {abs(loss):.3f} {_more(loss)}{queries}; the largest "
            f"rise of a belief is {abs(100 * rise):.1f} points {_higher(rise)}, a learner is right "
            f"{abs(100 * guess):.1f} points {_more(guess)} often, and the largest risk of a row "
            f"{_risk(other, knee)}."
        )
    return told


def criterion(found: Swept) -> str:
    """What a knee is, and what was found."""
    what = "loss" if found.by == "loss" else "query error"
    swept = f"the t of '{found.column}'" if found.column else "the t of every attribute that has one"
    return (
        f"With '{found.method}' and k = {found.k}, {swept} was swept from {_t(found.runs[0])} to {_t(found.runs[-1])}; "
        "where a looser t found nothing better, the classes of the stricter one were kept. Both axes of the curve of "
        f"{what} were scaled to length 1 between its ends. The knee is where the curve lies farthest below the "
        "straight line between them (as in Kneedle, Satopää and others 2011, without smoothing): here "
        f"{found.depth:.2f} below. "
        f"Less than {MARGIN:g}, or a curve that falls by less than {LEAST_FALL:g} in all, counts as no knee."
    )


def _title(found: Swept) -> str:
    what = f" for '{found.column}'" if found.column else ""
    return f"No t stands out{what}" if found.t is None else f"Suggested{what}: t = {_t(found.runs[found.knee or 0])}"


def _tiles(page: Page, found: Swept) -> None:
    if found.knee is None:
        return
    knee = found.runs[found.knee]
    tiles = [(_t(knee), "suggested t"), (f"{knee.loss:.3f}", "loss")]
    tiles += [] if knee.query_error is None else [(f"{knee.query_error:.1%}", "median error of queries")]
    tiles.append(
        (f"{100 * knee.gains.rise:.0f} points", f"largest rise of a belief; raw {100 * found.before.rise:.0f}")
    )
    tiles.append((f"{100 * knee.gains.guess:+.0f} points", f"a learner's guesses; raw {100 * found.before.guess:+.0f}"))
    page.tiles(tiles)


def _sides(page: Page, found: Swept, heading: bool = True) -> None:
    if heading:
        page.heading("What attackers gain and analysts lose on either side" if found.knee else "Both ends of the sweep")
    if heading and found.knee:
        page.points(sides(found))
    raw = found.before
    rows = [[name, *_row(run)[1:]] for name, run in found.beside.items()]
    rows.append(
        ["as it stands", "", "0.0000", "0.0%", _hundredths(raw.rise), _hundredths(raw.guess), f"{raw.risk:.1%}", ""]
    )
    page.table(HEADER, rows, [1] if found.knee else [])
    if heading:
        page.text(
            "Rise: the share of a sensitive value in a class minus its share in the whole table, the largest anywhere; "
            "under the equal distance never more than t, under the others it may be, where values are near each other. "
            "Guess: how much more often a learner who sees the whole release (deFinetti attack) is right than whoever "
            "says the most frequent value. Both in percentage points. Risk: the largest chance of giving a row its "
            "person.",
            "soft",
        )


def _curves(page: Page, found: Swept) -> None:
    page.heading("The curves")
    marked = None if found.t is None else (float(found.t), f"t = {float(found.t):g}")
    across = Axis("t", nice_ticks(0.0, float(found.runs[-1].t or 0), 8))

    def draw(title: str, lines: list[ChartLine], caption: str, with_chord: bool) -> None:
        heights = [y for line in lines for _, y in line.points]
        drawing = Drawing(WIDTH, HEIGHT)
        up = Axis(title, nice_ticks(min(0.0, *heights), max(*heights, 1e-6), 6))
        ends = (lines[0].points[0], lines[0].points[-1]) if with_chord else None
        chart(drawing, across, up, lines, upright=marked, chord=ends)
        page.figure(drawing.svg(f"{title} against t", inside=True), caption)

    thresholds = [float(run.t or 0) for run in found.runs]
    losses = [run.loss for run in found.runs]
    chord = " The thin line joins its ends: the knee lies farthest below it."
    draw(
        "loss",
        [_line("loss", thresholds, losses, "")],
        "What analysts lose: 0 if every value is as it was." + (chord if found.by == "loss" else ""),
        found.by == "loss",
    )
    if all(run.query_error is not None for run in found.runs):
        errors = [100 * (run.query_error or 0.0) for run in found.runs]
        draw(
            "query error, %",
            [_line("query error", thresholds, errors, "%")],
            "What analysts lose: the median relative error of COUNT queries."
            + (chord if found.by == "queries" else ""),
            found.by == "queries",
        )
    gains = {
        "rise of a belief": [100 * run.gains.rise for run in found.runs],
        "a learner's guesses": [100 * run.gains.guess for run in found.runs],
        "risk of a row": [100 * run.gains.risk for run in found.runs],
    }
    draw(
        "percentage points",
        [_line(name, thresholds, values, " points") for name, values in gains.items()],
        "What attackers gain: the largest rise of a belief in any class, how much more often a learner guesses right, "
        "and the largest chance of giving a row its person.",
        False,
    )


def _line(name: str, thresholds: list[float], values: list[float], unit: str) -> ChartLine:
    told = [f"t = {t:g}: {name} {value:.3g}{unit}" for t, value in zip(thresholds, values, strict=True)]
    return ChartLine(name, list(zip(thresholds, values, strict=True)), told=told)


def _row(run: Trial) -> list[str]:
    return [
        "", _t(run), f"{run.loss:.4f}", "" if run.query_error is None else f"{run.query_error:.1%}",
        _hundredths(run.gains.rise), _hundredths(run.gains.guess), f"{run.gains.risk:.1%}", f"{run.classes:,}",
    ]  # fmt: skip


def _told(run: Trial, found: Swept) -> str:
    return f"{run.loss:.3f}" if found.by == "loss" else f"{run.query_error or 0.0:.1%}"


def _fall(strict: Trial, loose: Trial, found: Swept) -> str:
    """How much the curve falls for every 0.1 of t."""
    fall = (height(strict, found.by) - height(loose, found.by)) / float((loose.t or 0) - (strict.t or 0)) / 10
    return f"{fall:.3f}" if found.by == "loss" else f"{100 * fall:.1f} points"


def _t(run: Trial) -> str:
    return f"{float(run.t or 0):g}"


def _hundredths(share: float) -> str:
    return f"{100 * share:.1f}"


def _risk(other: Trial, knee: Trial) -> str:
    told, before = f"{other.gains.risk:.1%}", f"{knee.gains.risk:.1%}"
    return f"stays at {told}" if told == before else f"is {told} instead of {before}"


def _more(difference: float) -> str:
    return "more" if difference >= 0 else "less"


def _higher(difference: float) -> str:
    return "higher" if difference >= 0 else "lower"
