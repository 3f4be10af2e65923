"""The page of a suggestion: what came out in words, the marks, and the curves of loss and of risk."""

from __future__ import annotations

from tclose.evaluation.attacks.allowed_rise import allowed_words
from tclose.evaluation.choosing.suggest_words import Swept, criterion, points, t_of, tenths, title, verdict
from tclose.evaluation.choosing.trials import Trial
from tclose.pages.charts import ChartAxis, ChartLine, Guides, chart, nice_ticks
from tclose.pages.page import Page
from tclose.pages.svg import Drawing

WIDTH, HEIGHT = 940.0, 360.0
HEADER = ("", "t", "loss", "query error", "rise", "guess", "risk", "classes")


def _begun(found: Swept) -> Page:
    """A page that says first what was not checked."""
    return Page(title(found) if found.warning is None else f"Kept columns not checked: {title(found)}")


def suggestion_page(found: Swept) -> Page:
    """All of it."""
    page = _begun(found)
    page.text(verdict(found), "lead")
    _tiles(page, found)
    page.heading("Marks on the curves")
    _marks(page, found)
    page.text(
        "Rise: the share of a sensitive value in a class minus its share in the whole table, the largest anywhere; "
        "under the equal distance never more than t, under the others it may be, where values are near each other. "
        "Guess: how much more often a learner who sees the whole release (deFinetti attack) is right than whoever "
        "says the most frequent value. Both in percentage points. Risk: the largest chance of giving a row its person.",
        "soft",
    )
    if found.allowed:
        page.text(" ".join(allowed_words(found.allowed)), "soft")
    _curves(page, found)
    page.heading("All that was tried")
    best = [] if found.chosen is None else [found.chosen]
    page.table((*HEADER[1:], "classes of"), [[*_row(run), _taken(run)] for run in found.runs], best)
    page.heading("How it was found")
    page.text(criterion(found))
    page.text(
        "This is advice and not a proof: it does not know what a disclosure would cost the people in the table, nor "
        "what the analysts need. A law, a promise or the worst case may ask for a stricter t. The knee looks at what "
        "analysts lose alone, and depends on where the sweep begins and ends, and on the method."
    )
    page.text("Nothing was released for this page, and no value of the table is in it.", "soft")
    return page


def suggestion_note(found: Swept) -> Page:
    """The same in short, for a notebook."""
    page = _begun(found)
    page.text(verdict(found))
    _marks(page, found)
    page.text("Advice, not a proof. Charts: suggestion.html()", "soft")
    return page


def _tiles(page: Page, found: Swept) -> None:
    if found.chosen is None:
        return
    run = found.runs[found.chosen]
    tiles = [(t_of(run), "suggested t"), (str(found.k), "k")]
    tiles.append((points(run.rise), f"largest rise of a belief; raw {100 * found.before.rise:.0f}"))
    tiles.append((f"{run.loss:.3f}", "loss"))
    tiles += [] if run.query_error is None else [(f"{run.query_error:.1%}", "median error of queries")]
    tiles.append((f"{100 * run.gains.guess:+.0f} points", f"a learner's guesses; raw {100 * found.before.guess:+.0f}"))
    page.tiles(tiles)


def _marks(page: Page, found: Swept) -> None:
    """What stands out, both ends of the sweep, and the table as it stands."""
    raw = found.before
    named = sorted(found.marks.items(), key=lambda each: each[1])
    ends = [("strictest", 0), *named, ("loosest", len(found.runs) - 1)]
    rows = [[name, *_row(found.runs[place])] for name, place in ends]
    rows.append(
        ["as it stands", "", "0.0000", "0.0%", _hundredths(raw.rise), _hundredths(raw.guess), f"{raw.risk:.1%}", ""]
    )
    page.table(HEADER, rows, [place for place, (name, _) in enumerate(ends) if name == "suggested"])


def _curves(page: Page, found: Swept) -> None:
    page.heading("What analysts lose and what attackers gain, by t")
    thresholds = [float(run.t or 0) for run in found.runs]
    bounds, by_loss = found.bounds, found.by == "loss"
    chord = " The thin line joins its ends: the knee lies farthest below it."
    losses = [_line("loss", thresholds, [run.loss for run in found.runs], "")]
    caption = "What analysts lose: 0 if every value is as it was." + (chord if by_loss else "")
    _draw(page, found, "loss", losses, caption, by_loss, None if bounds.loss is None else float(bounds.loss))
    rises = [_line("largest rise", thresholds, [float(100 * run.rise) for run in found.runs], " points")]
    most = None if bounds.rise is None else float(100 * bounds.rise)
    caption = "What attackers gain: by how many percentage points the belief in a value rises at most, in any class."
    _draw(page, found, "largest rise of a belief, percentage points", rises, caption, False, most)
    if all(run.query_error is not None for run in found.runs):
        errors = [_line("query error", thresholds, [100 * (run.query_error or 0.0) for run in found.runs], "%")]
        caption = "What analysts lose: the median relative error of COUNT queries." + ("" if by_loss else chord)
        _draw(page, found, "query error, %", errors, caption, not by_loss, None)
    others = {
        "a learner's guesses": [100 * run.gains.guess for run in found.runs],
        "risk of a row": [100 * run.gains.risk for run in found.runs],
    }
    lines = [_line(name, thresholds, values, " points") for name, values in others.items()]
    caption = (
        "What attackers gain: how much more often a learner guesses right, and the largest chance of giving a row its "
        "person."
    )
    _draw(page, found, "percentage points", lines, caption, False, None)


def _draw(
    page: Page,
    found: Swept,
    name: str,
    lines: list[ChartLine],
    caption: str,
    with_chord: bool,
    level: float | None,
) -> None:
    """One chart against t, with the marks upright and a bound as a level."""
    across = ChartAxis("t", nice_ticks(0.0, float(found.runs[-1].t or 0), 8))
    heights = [y for line in lines for _, y in line.points] + ([] if level is None else [level])
    up = ChartAxis(name, nice_ticks(min(0.0, *heights), max(*heights, 1e-6), 6))
    by_t: dict[float, list[str]] = {}
    for words, place in found.marks.items():
        by_t.setdefault(float(found.runs[place].t or 0), []).append(words)
    uprights = [(t, ", ".join(words)) for t, words in sorted(by_t.items())]
    ends = (lines[0].points[0], lines[0].points[-1]) if with_chord else None
    drawing = Drawing(WIDTH, HEIGHT)
    chart(drawing, across, up, lines, guides=Guides(uprights, ends, level))
    page.figure(drawing.svg(f"{name} against t", inside=True), caption)


def _line(name: str, thresholds: list[float], values: list[float], unit: str) -> ChartLine:
    told = [f"t = {t:g}: {name} {value:.3g}{unit}" for t, value in zip(thresholds, values, strict=True)]
    return ChartLine(name, list(zip(thresholds, values, strict=True)), told=told)


def _row(run: Trial) -> list[str]:
    return [
        t_of(run), f"{run.loss:.4f}", "" if run.query_error is None else f"{run.query_error:.1%}",
        tenths(run.rise), _hundredths(run.gains.guess), f"{run.gains.risk:.1%}", f"{run.classes:,}",
    ]  # fmt: skip


def _taken(run: Trial) -> str:
    return "" if run.taken_from is None else f"t = {float(run.taken_from):g}"


def _hundredths(share: float) -> str:
    return f"{100 * share:.1f}"
