"""What a suggestion says in sentences, on the terminal and on its page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Protocol

from tclose.evaluation.attacks.allowed_rise import AllowedRise
from tclose.evaluation.choosing.knee import LEAST_FALL, MARGIN, CurveName, height
from tclose.evaluation.choosing.risk_bounds import Bounds
from tclose.evaluation.choosing.trials import Gains, Trial


class Swept(Protocol):
    """What is needed of a `Suggestion`."""

    @property
    def method(self) -> str:
        """The method that was swept with."""
        ...

    @property
    def k(self) -> int:
        """The k of all trials."""
        ...

    @property
    def schema_k(self) -> int | None:
        """The k of the schema."""
        ...

    @property
    def warning(self) -> str | None:
        """That kept columns are not checked."""
        ...

    @property
    def allowed(self) -> Mapping[str, AllowedRise]:
        """The most that caps let a belief rise by."""
        ...

    @property
    def seed(self) -> int:
        """Of all trials."""
        ...

    @property
    def column(self) -> str | None:
        """The attribute whose t was swept; None for all."""
        ...

    @property
    def by(self) -> CurveName:
        """The curve whose knee was looked for."""
        ...

    @property
    def runs(self) -> tuple[Trial, ...]:
        """One a t, the strictest first."""
        ...

    @property
    def knee(self) -> int | None:
        """Which of them is the knee."""
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
    def bounds(self) -> Bounds:
        """What was asked."""
        ...

    @property
    def chosen(self) -> int | None:
        """Which run the bounds choose."""
        ...

    @property
    def t(self) -> Fraction | None:
        """Its t."""
        ...

    @property
    def marks(self) -> dict[str, int]:
        """Runs that stand out, by name."""
        ...


def title(found: Swept) -> str:
    """What was found, in a line."""
    what = f" for '{found.column}'" if found.column else ""
    if found.chosen is not None:
        return f"Suggested{what}: t = {t_of(found.runs[found.chosen])}, k = {found.k}"
    if found.bounds.choose_t:
        return f"No t tried keeps the bounds{what}"
    return f"What t costs and allows{what}"


def verdict(found: Swept) -> str:
    """What came out, in words."""
    return " ".join(_sentences(found))


def curve_words(found: Swept) -> str:
    """What the curves tell, whether or not something is suggested."""
    return " ".join(_of_curves(found))


def _sentences(found: Swept) -> Iterator[str]:
    bounds = found.bounds
    if found.chosen is not None:
        yield from _of_choice(found, found.runs[found.chosen])
    elif bounds.choose_t:
        yield from _of_no_choice(found)
    if bounds.risk is not None:
        yield (
            f"k = {found.k} is the least k that keeps the risk of a row at or below {_percent(bounds.risk)}, for it is "
            f"at most 1/k{_instead(found)}."
        )
    if not bounds.choose_t:
        yield from _of_curves(found)
        yield (
            "Nothing is suggested without a bound on what people risk or analysts lose. Give max_rise or max_loss "
            "(--max-rise, --max-loss)."
        )


def _of_choice(found: Swept, run: Trial) -> Iterator[str]:
    bounds, n_runs = found.bounds, len(found.runs)
    if bounds.rise is None:
        yield (
            f"t = {t_of(run)} is the strictest of the {n_runs} t tried that keeps the loss at or below "
            f"{float(bounds.loss or 0):g}: it is {run.loss:.3f}, and a belief rises by up to {worst_rise(run)}."
        )
        stricter = found.runs[found.chosen - 1] if found.chosen else None
        if stricter is not None:
            yield f"At t = {t_of(stricter)}, the next stricter, {_lost(stricter)}."
        return
    yield (
        f"t = {t_of(run)} is the loosest of the {n_runs} t tried at which no belief rises by more than "
        f"{points(bounds.rise)}: the largest rise is {worst_rise(run)}, and the loss is {run.loss:.3f}"
        f"{'' if bounds.loss is None else f', at most {float(bounds.loss):g} as asked'}."
    )
    same = [t_of(each) for each in found.runs if each.taken_from is not None and each.taken_from == run.t]
    if same:
        yield f"At t = {' and '.join(same)} nothing better was found, so the same classes stand there."
    looser = next((each for each in found.runs if (each.t or 0) > (run.t or 0) and each.taken_from is None), None)
    if looser is not None:
        yield f"At t = {t_of(looser)}, the next looser, a belief rises by {worst_rise(looser)}."
    yield (
        f"That was measured on the classes that '{found.method}' finds with seed {found.seed}. It is not promised: "
        "another method or seed may find classes with a larger rise. Only under the equal distance t itself bounds it."
    )


def _way_on(found: Swept) -> str:
    """What may keep a bound on the rise that no t tried keeps."""
    asked = f"ask for rise = {float(found.bounds.rise or 0):g} in the schema, which promises it at any t"
    if found.runs[0].is_useless:
        return f"Stricter t lead to one class. Allow more, or {asked}."
    return f"Try stricter t, allow more, or {asked}."


def _of_no_choice(found: Swept) -> Iterator[str]:
    """Why no run keeps the bounds: which each alone would allow."""
    bounds, useful = found.bounds, [run for run in found.runs if not run.is_useless]
    if not useful:
        yield "Every t tried leads to one class holding the whole table, which is useless. Try looser t."
        return
    if bounds.rise is not None:
        alone = Bounds(rise=bounds.rise).choose(found.runs)
        if alone is None:
            least = min(useful, key=lambda run: run.rise)
            yield (
                f"At no t tried every belief rises by {points(bounds.rise)} at most: the least of the largest rises is "
                f"{worst_rise(least)}, at t = {t_of(least)}. {_way_on(found)}"
            )
        else:
            run = found.runs[alone]
            yield (
                f"The loosest t tried at which no belief rises by more than {points(bounds.rise)} is {t_of(run)}, and "
                f"there the loss is {run.loss:.3f}."
            )
    if bounds.loss is not None:
        alone = Bounds(loss=bounds.loss).choose(found.runs)
        if alone is None:
            least = min(useful, key=lambda run: run.loss)
            yield f"No t tried loses {float(bounds.loss):g} or less: the least loss is {least.loss:.3f}."
        elif bounds.rise is not None:
            run = found.runs[alone]
            yield (
                f"The strictest t tried that loses {float(bounds.loss):g} or less is {t_of(run)}, and there a belief "
                f"rises by up to {worst_rise(run)}."
            )


def _of_curves(found: Swept) -> Iterator[str]:
    """Both curves from end to end, and the knee as one mark on the one of loss."""
    first, last = found.runs[0], found.runs[-1]
    yield (
        f"From t = {t_of(first)} to {t_of(last)} the loss goes from {first.loss:.3f} to {last.loss:.3f}, and the "
        f"largest rise of a belief from {points(first.rise)} to {worst_rise(last)}."
    )
    yield knee_sentence(found)


def knee_sentence(found: Swept) -> str:
    """Where the curve has its knee, by itself no reason to choose it."""
    first, last = found.runs[0], found.runs[-1]
    what = "the loss" if found.by == "loss" else "the median error of queries"
    if found.knee is None:
        falls = height(first, found.by) - height(last, found.by) > 0
        return f"The curve has no knee: {what} {'falls without a bend' if falls else 'does not fall'}."
    knee = found.runs[found.knee]
    return (
        f"The knee is at t = {t_of(knee)}: up to there a looser t lowers {what} by {_fall(first, knee, found)} for "
        f"every 0.1, beyond it by {_fall(knee, last, found)}; there a belief rises by up to {worst_rise(knee)}."
    )


def criterion(found: Swept) -> str:
    """What was swept, and what a knee is."""
    what = "loss" if found.by == "loss" else "query error"
    swept = f"the t of '{found.column}'" if found.column else "the t of every attribute that has one"
    return (
        f"With '{found.method}', seed {found.seed} and k = {found.k}, {swept} was swept from {t_of(found.runs[0])} to "
        f"{t_of(found.runs[-1])}; where a looser t found nothing better, the classes of the stricter one were kept. "
        f"The knee is where the curve of {what}, both axes scaled to length 1 between its ends, lies farthest below "
        "the straight line between them (as in Kneedle, Satopää and others 2011, without smoothing): here "
        f"{found.depth:.2f} below. "
        f"Less than {MARGIN:g}, or a curve that falls by less than {LEAST_FALL:g} in all, counts as no knee."
    )


def t_of(run: Trial) -> str:
    """The t of a run, for people."""
    return f"{float(run.t or 0):g}"


def tenths(share: Fraction) -> str:
    """A share in percentage points, rounded up to tenths: what is told is never less than what is.

    Examples
    --------
    >>> tenths(Fraction("0.1")), tenths(Fraction("0.10001"))
    ('10.0', '10.1')
    """
    return f"{math.ceil(share * 1000) / 10:.1f}"


def points(share: Fraction) -> str:
    """The same with its unit."""
    return f"{tenths(share)} points"


def worst_rise(run: Trial) -> str:
    """The largest rise of a belief, and the attribute."""
    column = max(run.rises, key=lambda name: run.rises[name], default=None)
    return points(run.rise) + ("" if column is None else f" (in '{column}')")


def _lost(run: Trial) -> str:
    return "only one class holding the whole table is found" if run.is_useless else f"the loss is {run.loss:.3f}"


def _instead(found: Swept) -> str:
    same = found.schema_k in (None, found.k)
    return "" if same else f"; the schema asks for {found.schema_k}"


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):g} %"


def _fall(strict: Trial, loose: Trial, found: Swept) -> str:
    """How much the curve falls for every 0.1 of t."""
    fall = (height(strict, found.by) - height(loose, found.by)) / float((loose.t or 0) - (strict.t or 0)) / 10
    return f"{fall:.3f}" if found.by == "loss" else f"{100 * fall:.1f} points"
