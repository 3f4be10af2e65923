"""Tables of what attackers reach, from the results of benchmarks; none of their figures depends on a clock."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from docs.generate import results
from docs.generate.marked import table

HEADER = ["", "linked", "> 0.2", "worst rise", "mean rise", "worst ratio", "similar", "by class", "boxes", "rows"]
SHORT_RULES = {  # what the page calls the demands on small tables
    "salary-class, k = 3, t = 0.2": "k = 3, t = 0.2",
    "salary-class, k = 3, t = 0.2, stars": "the same, suppressed",
}
ASKED_OF_PERSONS = {
    "one row of each": '`unit_rows = "one"`',
    "k persons": '`unit_rows = "all"`',
    "k persons, rise = 0.1 in persons": '`unit_rows = "all"`, `rise = 0.1`',
}
PLANNED = {
    "census": "census, 100,000 rows",
    "adult-occupation": "Adult by occupation, 30,162 rows",
    "adult-education": "Adult by education",
}
ATTACKERS_OF_PLAN = ("by class", "model", "plan", "both")


def exposed(name: str) -> str:
    """What attackers reach before and after, method by method."""
    found = results.result("attacks")
    (case,) = (each for each in found["cases"] if each["table"] == name)
    rows = [
        [method if method == "before" else f"`{method}`", *_reached(each)] for method, each in case["found"].items()
    ]
    return f"{table(HEADER, rows)}\n\n{_day(found)}"


def _reached(each: dict[str, Any]) -> list[str]:
    (skewness,), (similarity,) = each["skewness"].values(), each["similarity"].values()
    (guesses,) = each["definetti"].values()
    return [
        f"{each['linkage']['expected']:.4f}",
        f"{each['reidentification']['prosecutor']['above']:.3f}",
        *(f"{skewness[name]:.3f}" for name in ("worst_rise", "average_rise")),
        f"{skewness['worst_ratio']:.1f}",
        f"{similarity['revealed']:.3f}",
        f"{guesses['of_class']:.3f}",
        *(f"{guesses[name]:+.3f}" for name in ("gain", "gain_with_rows")),
    ]


def minimality() -> str:
    """What running the methods again tells of tables of 24 rows."""
    found = results.result("attacks")
    first = found["minimality"][0]
    rows = [[f"`{name}`", *map(_gain_and_kept, by_attacker.values())] for name, by_attacker in first["found"].items()]
    attackers = list(next(iter(first["found"].values())))
    gains = [statistics.mean(one["gain_with_rows"] for one in each) for each in first["definetti"].values()]
    learned = f"On these tables the learner that has everyone's rows adds {min(gains):+.3f} to {max(gains):+.3f}."
    return f"{table(['', *attackers], rows)}\n\n{learned} {_day(found)}"


def minimality_small() -> str:
    """The same for methods that take small tables only, beside what learners add."""
    found = results.result("attacks")
    rows, attackers = [], []
    for case in found["minimality"][1:]:
        for name, by_attacker in case["found"].items():
            learned = case["definetti"][name]
            gains = [statistics.mean(one[key] for one in learned) for key in ("gain", "gain_with_rows")]
            told = [f"{gain:+.3f}" for gain in gains]
            asked = SHORT_RULES.get(case["rule"], case["rule"])
            rows.append([f"`{name}`", asked, *told, *map(_gain_and_kept, by_attacker.values())])
            attackers = list(by_attacker)
    return f"{table(['', 'asked', 'boxes', 'rows', *attackers], rows)}\n\n{_day(found)}"


def _gain_and_kept(runs: Sequence[dict[str, Any]]) -> str:
    gain = statistics.mean(next(iter(one["gain"].values())) for one in runs)
    kept = sum(one["kept"] for one in runs) / sum(one["candidates"] for one in runs)
    return f"{gain:+.3f} ({kept:.0%})"


def persons() -> str:
    """How often an illness is guessed from one row of a person, and from all."""
    found = results.result("persons")
    rows = [
        [
            ASKED_OF_PERSONS.get(words, words),
            f"{each['loss']:.3f}",
            str(each["persons"]),
            *(f"{100 * each[name]:.1f} %" for name in ("one_row", "all_rows")),
        ]
        for words, each in found["asked"].items()
    ]
    header = ["", "loss", "fewest persons of a class", "one row known", "all rows known"]
    blind = f"Without a release {100 * found['blind']:.1f} % of the {found['persons']:,} persons are guessed right."
    return f"{table(header, rows)}\n\n{blind} {_day(found)}"


def plan_attack() -> str:
    """What someone who knew the plan of shards would gain."""
    found = results.result("plan_attack")
    rows = []
    for case in found["cases"]:
        blended = sum(blend > 0 for blend in case["blends"])
        for place, (which, each) in enumerate(case["found"].items()):
            title = f"{PLANNED[case['table']]}, t = {case['t']}" if place == 0 else ""
            shards = f"{which.partition(',')[0]}, {blended} of {len(case['blends'])} cuts blended"
            name = f"`{which.removeprefix('whole table, ')}`" if which.startswith("whole") else shards
            beliefs = [f"{each[who]['belief']:.3f}" if who in each else "" for who in ATTACKERS_OF_PLAN]
            sure = [f"{each[who]['sure']:.4f}" if who in each else "" for who in ("by class", "plan")]
            rows.append([title, name, f"{each['loss']:.4f}", *beliefs, *sure])
    header = ["", "", "loss", "class", "model", "plan", "both", "sure, class", "sure, plan"]
    return f"{table(header, rows)}\n\n{_plan_told(found)} {_day(found)}"


def _plan_told(found: dict[str, Any]) -> str:
    """By how much knowing the plan raises a belief where most cuts were blended, and how many rows it makes certain."""
    planned = [(case["blends"], each) for case in found["cases"] for each in case["found"].values() if "plan" in each]
    rises = [
        each["plan"]["belief"] - each["by class"]["belief"]
        for blends, each in planned
        if sum(blend > 0 for blend in blends) > len(blends) / 2
    ]
    sure = max(each["plan"]["sure"] - each["by class"]["sure"] for _, each in planned)
    return (
        f"Where most cuts were blended, knowing the plan raises the mean belief by {min(rises):.2f} to "
        f"{max(rises):.2f}.\nIt makes up to {1000 * sure:.0f} rows in a thousand nearly certain."
    )


def _day(found: dict[str, Any]) -> str:
    return f"Measured {found['date']}."


ATTACK_TABLES: dict[str, Callable[[], str]] = {
    "attacks/occupation": partial(exposed, "adult-occupation"),
    "attacks/education": partial(exposed, "adult-education"),
    "attacks/minimality": minimality,
    "attacks/small": minimality_small,
    "persons": persons,
    "plan_attack": plan_attack,
}
