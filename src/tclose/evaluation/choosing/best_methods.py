"""Which method is best by each measure, and where the measures disagree: there is no winner by one of them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from tclose.evaluation.choosing.trials import Trial, exact_or_none

ROUNDING = 1e-9  # values that differ by less are the same
Setting = tuple[Fraction | None, int]


@dataclass(frozen=True)
class Measure:
    """By what runs are compared: the less of it the better.

    Attributes
    ----------
    name
        Of the column that shows it.
    value
        Of a run; None where it was not measured.
    told
        A value for people.
    """

    name: str
    value: Callable[[Trial], float | None]
    told: Callable[[float], str]


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


MEASURES = (
    Measure("loss", lambda run: run.loss, "{:.3f}".format),
    Measure("query error", lambda run: run.query_error, "{:.1%}".format),
    Measure("rise", lambda run: run.gains.rise, _points),
    Measure("guess", lambda run: run.gains.guess, _points),
    Measure("risk", lambda run: run.gains.risk, "{:.1%}".format),
    Measure("seconds", lambda run: run.seconds, "{:.2g} s".format),
)


@dataclass(frozen=True)
class BestRuns:
    """The best runs in one setting; several if they are alike.

    Attributes
    ----------
    setting
        t and k.
    value
        What they reach.
    methods
        Whose they are.
    others
        The other runs measured there, the next best first, with what they reach.
    """

    setting: Setting
    value: float
    methods: tuple[str, ...]
    others: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class BestBy:
    """The best by one measure, in each setting in which it was measured."""

    measure: Measure
    settings: tuple[BestRuns, ...]

    @property
    def wins(self) -> dict[str, int]:
        """In how many settings each method is best, the most first; all are where all are alike."""
        counts: dict[str, int] = {}
        for best in self.settings:
            for method in best.methods:
                counts[method] = counts.get(method, 0) + 1
        return dict(sorted(counts.items(), key=lambda each: -each[1]))

    @property
    def all_alike(self) -> bool:
        """Whether it tells no methods apart."""
        return all(not best.others for best in self.settings)

    def told(self) -> str:
        """Who is best where, and by how much in the middle setting."""
        if self.all_alike:
            return "all alike"
        n = len(self.settings)
        where = [
            f"'{name}'" + ("" if n == 1 else " in every setting" if won == n else f" in {won} of {n} settings")
            for name, won in self.wins.items()
        ]
        middle = next(best for best in self.settings[n // 2 :] + self.settings if best.others)
        next_name, next_value = middle.others[0]
        least, after = self.measure.told(middle.value), self.measure.told(next_value)
        first = middle.methods[0]
        return f"{', '.join(where)} (at {asked(middle.setting)}: '{first}' {least}, then '{next_name}' {after})"

    def as_list(self) -> list[dict[str, Any]]:
        """As JSON has it."""
        return [
            {"t": exact_or_none(t), "k": k, "methods": list(best.methods), "value": best.value}
            for best in self.settings
            for t, k in [best.setting]
        ]


def best_by_measure(runs: Sequence[Trial]) -> list[BestBy]:
    """For every measure the best methods at each t and k; measures that no run has are left out.

    Examples
    --------
    >>> runs = [Trial(name, None, 5, loss=loss) for name, loss in (("a", 0.2), ("b", 0.1))]
    >>> best_by_measure(runs)[0].wins
    {'b': 1}
    """
    settings = sorted({(run.t, run.k) for run in runs}, key=lambda each: (each[0] or 0, each[1]))
    found = []
    for measure in MEASURES:
        best = [each for setting in settings if (each := _best(runs, setting, measure)) is not None]
        if best:
            found.append(BestBy(measure, tuple(best)))
    return found


def _best(runs: Sequence[Trial], setting: Setting, measure: Measure) -> BestRuns | None:
    values = {
        run.method: value
        for run in runs
        if (run.t, run.k) == setting and (value := measure.value(run)) is not None and value == value
    }
    if not values:
        return None
    least = min(values.values())
    methods = tuple(name for name, value in values.items() if value <= least + ROUNDING)
    others = sorted(((name, value) for name, value in values.items() if name not in methods), key=lambda each: each[1])
    return BestRuns(setting, least, methods, tuple(others))


class HasRuns(Protocol):
    """What is needed of a `Comparison`."""

    @property
    def runs(self) -> tuple[Trial, ...]:
        """All of them."""
        ...

    @property
    def done(self) -> tuple[Trial, ...]:
        """Those that led to a release."""
        ...


def verdict(found: HasRuns) -> str:
    """What came out, in words."""
    if not found.done:
        return "None of the runs led to a release. The reasons stand below."
    refused = len(found.runs) - len(found.done)
    lost = f" {refused} {'run' if refused == 1 else 'runs'} led to no release." if refused else ""
    methods = list(dict.fromkeys(run.method for run in found.done))
    if len(methods) == 1:
        return f"'{methods[0]}': {_ranges(found.done)}.{lost}"
    return " ".join(_leaders(best_by_measure(found.done))) + lost


def _ranges(runs: Sequence[Trial]) -> str:
    """From where to where the measures of one method go."""
    told = []
    for measure in MEASURES:
        values = [value for run in runs if (value := measure.value(run)) is not None and value == value]
        if values:
            least, most = measure.told(min(values)), measure.told(max(values))
            told.append(f"{measure.name} {least}" + ("" if least == most else f" to {most}"))
    return ", ".join(told)


def _leaders(best: Sequence[BestBy]) -> Iterator[str]:
    telling = [each for each in best if not each.all_alike]
    if not telling:
        yield "By every measure the methods are alike."
        return
    everywhere = [
        name for name in telling[0].wins if all(each.wins.get(name) == len(each.settings) for each in telling)
    ]
    if everywhere:
        yield f"'{everywhere[0]}' is best by every measure that tells methods apart: {_listed(_names(telling))}."
        return
    yield "No method is best by every measure."
    by_leader: dict[str, list[str]] = {}
    for each in telling:
        by_leader.setdefault(next(iter(each.wins)), []).append(each.measure.name)
    several = any(len(each.settings) > 1 for each in telling)
    words = [f"'{name}' by {_listed(measures)}" for name, measures in by_leader.items()]
    yield f"Best{' most often' if several else ''} are {'; '.join(words)}."
    yield from _disagreements(telling)


def _disagreements(telling: Sequence[BestBy]) -> Iterator[str]:
    """In how many settings another measure names none of the methods that lose least."""
    loss = next((each for each in telling if each.measure.name == "loss"), None)
    if loss is None:
        return
    by_setting = {best.setting: best.methods for best in loss.settings}
    counts: dict[int, list[str]] = {}
    for each in telling:
        apart = sum(not {*best.methods} & {*by_setting.get(best.setting, ())} for best in each.settings)
        if each is not loss and apart:
            counts.setdefault(apart, []).append(each.measure.name)
    n = len(by_setting)
    for apart, names in sorted(counts.items(), reverse=True):
        where = "" if n == 1 else " in every setting" if apart == n else f" in {apart} of {n} settings"
        yield f"Loss disagrees with {_listed(names)}{where}."


def _names(telling: Sequence[BestBy]) -> list[str]:
    return [each.measure.name for each in telling]


def asked(setting: Setting) -> str:
    """A setting for people."""
    t, k = setting
    return f"k = {k}" if t is None else f"t = {float(t):g}, k = {k}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
