"""What paper 004 claims of its curves, and whether measured curves do the same: comparisons, counted.

`mondrian` stands for whichever Mondrian a claim is judged against: that of the textbook, or ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SABRE, RIVALS = ("sabre-knn", "sabre-ak"), ("incognito", "mondrian")
FOUR = (*SABRE, *RIVALS)
LEVELS = "incognito's levels"  # its loss if every class covered all that the levels it found cover
Points = Sequence[tuple[float, float]]
Curves = Mapping[str, Mapping[str, Points]]  # by panel and method
Outcome = tuple[list[bool], str]  # comparisons, and the numbers behind them
Check = Callable[[Curves], Outcome]
STREAMED = ("sabre-ak", *RIVALS)
SLIGHTLY, COMPARABLE, TWO_ORDERS, HARDLY, WIDELY, MUCH = 1.1, 3.0, 10**1.5, 1.1, 1.5, 2.0


@dataclass(frozen=True)
class Claim:
    """A claim about one figure.

    Attributes
    ----------
    text
        What is claimed, with the measure we take for it in brackets.
    needs
        The panels it is about.
    check
        Compares.
    headline
        Whether it stands first on the page.
    """

    figure: int
    text: str
    needs: tuple[str, ...]
    check: Check
    headline: bool = False


def verdict(outcomes: Sequence[bool]) -> str:
    """In words.

    Examples
    --------
    >>> verdict([True, True]), verdict([True, False]), verdict([False])
    ('holds', 'holds in 1 of 2 comparisons', 'does not hold')
    """
    n_met = sum(outcomes)
    if n_met == len(outcomes):
        return "holds"
    return f"holds in {n_met} of {len(outcomes)} comparisons" if n_met else "does not hold"


def values(curves: Curves, panel: str, method: str) -> list[float]:
    return [y for _, y in curves[panel][method]]


def monotone(panel: str, methods: Sequence[str], rising: bool) -> Check:
    """Whether each method rises, or falls, from each place to the next; staying as it is counts too."""

    def check(curves: Curves) -> Outcome:
        steps = [(m, pairwise(values(curves, panel, m))) for m in methods]
        met = [(after >= before) if rising else (after <= before) for _, pairs in steps for before, after in pairs]
        return met, ends(curves, panel, methods)

    return check


def below(panels: Sequence[str], lower: Sequence[str], upper: Sequence[str], factor: float = 1.0) -> Check:
    """Whether each of `lower`, times a factor, is below each of `upper`, at every place."""

    def check(curves: Curves) -> Outcome:
        met, told = [], []
        for low in lower:
            for high in upper:
                ratios = [ratio for panel in panels for ratio in _ratios(curves, panel, high, low)]
                met += [ratio > factor for ratio in ratios]
                told.append(f"{high} has {_span(ratios)} times {low}")
        return met, "; ".join(told)

    return check


def within(panel: str, one: str, other: str, most: float) -> Check:
    """Whether `one` is at most so many times `other`, at every place."""

    def check(curves: Curves) -> Outcome:
        ratios = list(_ratios(curves, panel, one, other))
        return [ratio <= most for ratio in ratios], f"{one} has {_span(ratios)} times {other}"

    return check


def ordered(panel: str, methods: Sequence[str]) -> Check:
    """Whether the methods stand in this order, ascending, at every place."""

    def check(curves: Curves) -> Outcome:
        columns = zip(*(values(curves, panel, method) for method in methods), strict=True)
        met = [low < high for column in columns for low, high in pairwise(column)]
        return met, ends(curves, panel, methods)

    return check


def gaps_widen(panel: str) -> Check:
    """Whether each rival is above each SABRE method at the last place, by more than at the first."""

    def check(curves: Curves) -> Outcome:
        met, told = [], []
        for rival in RIVALS:
            for ours in SABRE:
                gaps = [r - o for r, o in zip(*(values(curves, panel, m) for m in (rival, ours)), strict=True)]
                met.append(gaps[-1] > max(gaps[0], 0.0))
                told.append(f"{rival} minus {ours} goes from {gaps[0]:+.3f} to {gaps[-1]:+.3f}")
        return met, "; ".join(told)

    return check


def rises_less(panel: str, share: float) -> Check:
    """Whether each SABRE method rises from end to end by less than this share of what each rival rises by."""

    def check(curves: Curves) -> Outcome:
        rises = {m: values(curves, panel, m)[-1] - values(curves, panel, m)[0] for m in FOUR}
        met = [rises[ours] < share * rises[rival] for ours in SABRE for rival in RIVALS]
        return met, "; ".join(f"{method} {rise:+.3f}" for method, rise in rises.items())

    return check


def steady(panel: str, methods: Sequence[str], most: float) -> Check:
    """Whether the largest value of each method is at most so many times its least."""

    def check(curves: Curves) -> Outcome:
        spread = {m: max(values(curves, panel, m)) / max(min(values(curves, panel, m)), 1e-12) for m in methods}
        told = "; ".join(f"{m}'s largest is {ratio:.2f} times its least" for m, ratio in spread.items())
        return [ratio <= most for ratio in spread.values()], told

    return check


def uneven(panel: str, methods: Sequence[str]) -> Check:
    """Whether each method both rises and falls somewhere."""

    def check(curves: Curves) -> Outcome:
        met = []
        for method in methods:
            steps = [after - before for before, after in pairwise(values(curves, panel, method))]
            met.append(min(steps) < 0 < max(steps))
        return met, ends(curves, panel, methods)

    return check


def under_place(panel: str) -> Check:
    """Whether each method stays below what the axis across says."""

    def check(curves: Curves) -> Outcome:
        met = [y < x for method in FOUR for x, y in curves[panel][method]]
        shares = {method: [y / x for x, y in curves[panel][method]] for method in FOUR}
        return met, "; ".join(f"{method} reaches {_span(each, 6)} of t" for method, each in shares.items())

    return check


def smaller_loses_less(panel: str, methods: Sequence[str]) -> Check:
    """Whether in two of three pairs of places the smaller one has less."""

    def check(curves: Curves) -> Outcome:
        met, told = [], []
        for method in methods:
            found = values(curves, panel, method)
            pairs = [(a, b) for place, a in enumerate(found) for b in found[place + 1 :]]
            less, more = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
            met.append(3 * less >= 2 * len(pairs))
            told.append(f"{method}: the smaller has less in {less} pairs, more in {more}")
        return met, "; ".join(told)

    return check


def ends(curves: Curves, panel: str, methods: Sequence[str]) -> str:
    """From the first place to the last, in words."""
    told = []
    for method in methods:
        found = values(curves, panel, method)
        least, most = min(found), max(found)
        between = "" if {least, most} <= {found[0], found[-1]} else f" (between {least:.3g} and {most:.3g})"
        told.append(f"{method} {found[0]:.3g} to {found[-1]:.3g}{between}")
    return "; ".join(told)


def _ratios(curves: Curves, panel: str, one: str, other: str) -> Iterator[float]:
    pairs = zip(values(curves, panel, one), values(curves, panel, other), strict=True)
    return (a / max(b, 1e-12) for a, b in pairs)


def _span(ratios: Sequence[float], digits: int = 3) -> str:
    low, high = f"{min(ratios):.{digits}g}", f"{max(ratios):.{digits}g}"
    return low if low == high else f"{low} to {high}"


CLAIMS = (
    Claim(10, "Loss falls as t grows.", ("10a",), monotone("10a", FOUR, rising=False)),
    Claim(
        10,
        "Both SABRE methods lose less than Incognito and Mondrian.",
        ("10a",),
        below(("10a",), SABRE, RIVALS),
        headline=True,
    ),
    Claim(10, "Both lose less than Incognito's levels.", ("10a",), below(("10a",), SABRE, (LEVELS,))),
    Claim(10, "KNN loses less than AK.", ("10a",), below(("10a",), SABRE[:1], SABRE[1:])),
    Claim(
        10,
        "AK is about as good as KNN (at most 1.1 times its loss).",
        ("10a",),
        within("10a", "sabre-ak", "sabre-knn", SLIGHTLY),
        headline=True,
    ),
    Claim(10, "AK is the fastest.", ("10b",), below(("10b",), SABRE[1:], ("sabre-knn", *RIVALS))),
    Claim(
        10,
        "AK is far faster than KNN (more than 10 times).",
        ("10b",),
        below(("10b",), ("sabre-ak",), ("sabre-knn",), 10.0),
        headline=True,
    ),
    Claim(
        10,
        "Mondrian is comparable to AK in time (at most 3 times).",
        ("10b",),
        within("10b", "mondrian", "sabre-ak", COMPARABLE),
    ),
    Claim(
        10,
        "AK and Mondrian are two orders of magnitude faster than KNN and Incognito (more than 32 times).",
        ("10b",),
        below(("10b",), ("sabre-ak", "mondrian"), ("sabre-knn", "incognito"), TWO_ORDERS),
    ),
    Claim(11, "Loss grows with the quasi-identifiers.", ("11a",), monotone("11a", FOUR, rising=True)),
    Claim(
        11,
        "SABRE degrades marginally, Incognito and Mondrian steeply (SABRE by less than half as much).",
        ("11a",),
        rises_less("11a", 0.5),
    ),
    Claim(
        11,
        "The gap between Incognito or Mondrian and SABRE grows with the quasi-identifiers.",
        ("11a",),
        gaps_widen("11a"),
        headline=True,
    ),
    Claim(
        11,
        "AK is the fastest, then Mondrian, Incognito, KNN.",
        ("11b",),
        ordered("11b", ("sabre-ak", "mondrian", "incognito", "sabre-knn")),
    ),
    Claim(
        12,
        "The table's size hardly moves the loss of SABRE and Mondrian (by a tenth at most).",
        ("12a",),
        steady("12a", (*SABRE, "mondrian"), HARDLY),
    ),
    Claim(12, "Time grows with the rows.", ("12b",), monotone("12b", FOUR, rising=True)),
    Claim(
        12,
        "AK and Mondrian are faster than KNN and Incognito at all sizes.",
        ("12b",),
        below(("12b",), ("sabre-ak", "mondrian"), ("sabre-knn", "incognito")),
    ),
    Claim(13, "The real closeness of all methods is smaller than t.", ("13a",), under_place("13a")),
    Claim(
        13,
        "SABRE and Incognito are closer than Mondrian.",
        ("13a", "13b"),
        below(("13a", "13b"), (*SABRE, "incognito"), ("mondrian",)),
    ),
    Claim(
        14, "Loss grows with k for SABRE and Mondrian.", ("14a",), monotone("14a", (*SABRE, "mondrian"), rising=True)
    ),
    Claim(14, "Incognito's goes up and down with k.", ("14a",), uneven("14a", ("incognito",))),
    Claim(15, "Longer steps take less time.", ("15b",), monotone("15b", STREAMED, rising=False)),
    Claim(
        15,
        "SABRE over a window loses far less than Incognito and Mondrian (they lose more than 1.5 times as much).",
        ("15a",),
        below(("15a",), ("sabre-ak",), RIVALS, WIDELY),
        headline=True,
    ),
    Claim(
        15,
        "SABRE over a window and Mondrian are much faster than Incognito (more than twice).",
        ("15b",),
        below(("15b",), ("sabre-ak", "mondrian"), ("incognito",), MUCH),
    ),
    Claim(16, "Larger windows take longer.", ("16b",), monotone("16b", STREAMED, rising=True)),
    Claim(
        16,
        "At every window SABRE loses far less than Incognito and Mondrian (they lose more than 1.5 times as much).",
        ("16a",),
        below(("16a",), ("sabre-ak",), RIVALS, WIDELY),
    ),
    Claim(
        16,
        "At every window SABRE and Mondrian are much faster than Incognito (more than twice).",
        ("16b",),
        below(("16b",), ("sabre-ak", "mondrian"), ("incognito",), MUCH),
    ),
    Claim(17, "The error grows with λ.", ("17a",), monotone("17a", FOUR, rising=True)),
    Claim(17, "The error grows with the quasi-identifiers.", ("17b",), monotone("17b", FOUR, rising=True)),
    Claim(17, "The error falls as t grows.", ("17c",), monotone("17c", FOUR, rising=False)),
    Claim(17, "The error falls with θ.", ("17d",), monotone("17d", FOUR, rising=False)),
    Claim(
        17,
        "SABRE's error is below Incognito's and Mondrian's, always.",
        ("17a", "17b", "17c", "17d"),
        below(("17a", "17b", "17c", "17d"), SABRE, RIVALS),
    ),
    Claim(
        17,
        "SABRE is better than Incognito by an order of magnitude (more than 10 times).",
        ("17a", "17b", "17c", "17d"),
        below(("17a", "17b", "17c", "17d"), SABRE, ("incognito",), 10.0),
    ),
    Claim(18, "The divergence falls as t grows.", ("18a",), monotone("18a", FOUR, rising=False)),
    Claim(18, "The divergence is less at lower levels.", ("18b",), monotone("18b", FOUR, rising=True)),
    Claim(
        18,
        "It grows far less with the quasi-identifiers for SABRE (by less than half as much).",
        ("18c",),
        rises_less("18c", 0.5),
    ),
    Claim(18, "It falls with the rows.", ("18d",), monotone("18d", FOUR, rising=False)),
    Claim(
        18,
        "SABRE's divergence is below Incognito's and Mondrian's, always.",
        ("18a", "18b", "18c", "18d"),
        below(("18a", "18b", "18c", "18d"), SABRE, RIVALS),
    ),
    Claim(19, "SABRE's loss goes up and down with the fanout.", ("19",), uneven("19", SABRE)),
    Claim(19, "A smaller fanout tends to lose less (in two of three pairs).", ("19",), smaller_loses_less("19", SABRE)),
)
