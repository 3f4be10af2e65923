"""The page of the figures, docs/papers-004.md, from their data: every number and verdict is computed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.papers.claims import CLAIMS, LEVELS, Claim, Curves, verdict
from benchmarks.papers.figures import FIGURES, PANELS
from benchmarks.papers.runs import TEXTBOOK

RIVALS = {"textbook": TEXTBOOK, "ours": "mondrian"}  # by how the page calls them, the line that is judged against
NAMED = {"textbook": "the textbook's Mondrian", "ours": "ours"}
COMMAND = "python -m benchmarks.papers"
HEAD = """# Paper 004, section 6, measured again

Section 6 of *SABRE* (Cao, Karras, Kalnis, Tan, 2011) measures the method on census data, in figures 10 to 19. We repeat
these experiments and compare what the paper says about each figure with what we measure. Every number and verdict below
is computed from the data beside the pictures, `pictures/papers/figureN.json`. Only the paper's statements and the two
sections after the claims are written by hand.

```console
$ {command}            # measure all, and write data, pictures and this page; TCLOSE_ROWS sets the rows
$ {command} 10 11      # only some figures
$ {command} --draw     # measure nothing: pictures and page from the data that is there
```
"""
WHY = """## What we make of it

SABRE keeps t by a bound on buckets and class sizes, so its classes use up only a part of t (figure 13). `mondrian` and
`tight` check the real distance of every class, and go on cutting until t itself stops them. Where SABRE's bound comes
near t, nothing is left for small classes. That is why its loss may rise with t, and is large for small fanouts. The
option `search_budget=true` is made for that ([Benchmarks](benchmarks.md#papers-section-6-of-paper-004)). Claims about
time compare implementations; ours of KNN and Incognito are compiled.

The Mondrian of the papers is `mondrian` with `textbook=true`: it cuts the widest quasi-identifier at its median.
[Ours](methods/mondrian.md) makes the cut that saves most, wherever it is. So a claim that holds against the textbook's
Mondrian may fail against ours. SABRE, too, can do better than printed: with [`slack=true`](methods/sabre.md) its
classes are cut further until t itself stops them, and with `metric=loss` the nearest rows are those that lose least
([Benchmarks](benchmarks.md#rivals-each-at-its-best)). The claims are about SABRE as printed.
"""
SCALE = """## What differs from the paper

| | paper | here |
|---|---|---|
| table | CENSUS, 500,000 rows, 8 attributes | {tables} |
| rows by default | 100,000 | {rows} |
| rows in figures 12 and 18d | 100,000 to 500,000 | {sizes} |
| t, k by default | 0.35, 6 | the same |
| queries | 10,000 | {queries} |
| machine | core-2 duo 2.33 GHz, Java | {machine} |
| time | elapsed | processor seconds of the method alone, all threads, from arrays to classes |

- The synthetic census has the columns, cardinalities and heights of the paper's table 5, but how its columns depend on
  each other is made up. The real table is the American Community Survey of 2019 in the excerpts of NIST, everybody with
  an income: age, sex, education, marital status, race, industry in place of work class, and place of living in place of
  birth place. Its income is in 50 bands of 4,000 dollars. Both sensitive attributes are ordered.
- The text of the paper that we hold has no curves, so we take what the text says about them. It names the
  quasi-identifiers, the rows and the smallest and largest t on the horizontal axes; the values of k, λ, θ, levels and
  fanouts are ours.
- Quasi-identifiers are taken in the order of table 5, the first 3 to 7.
- `incognito` releases each class by what its rows have in common, which loses less than the levels it found. The loss
  of the levels is in the data as `full_domain_loss`, and one claim is about it. `tight fast` is our method, and no
  claim is about it.
- A stream is twice as many rows as by default, or all there are, and ten windows long. For the census that is the
  paper's window of 20,000 rows, but not its 500,000 rows. The window advances by an eighth to the whole of itself;
  then by a quarter, and the window is half to twice as long. Time is that of the whole stream, with coding, checking
  and recoding of every window.
- Cubes are compared by shares, the mean over all cubes of a level ([The papers](papers.md)), up to level 3.
- A hierarchy of fanout f joins f neighbours until one node is left; the last node of a level may have fewer.
- Each point is one run with one seed. Quick runs are timed up to 3 times, and the shortest time counts. The load of the
  machine before and after was {load}. Processor seconds suffer less from load than elapsed seconds, but
  ratios near 1 say little.
"""


def as_json(data: dict[str, Any]) -> str:
    """A line a point.

    Examples
    --------
    >>> print(as_json({"figure": 10, "points": [{"x": 1}, {"x": 2}]}), end="")
    {"figure": 10,
     "points": [
      {"x": 1},
      {"x": 2}]}
    """
    head = ",\n ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in data.items() if name != "points")
    points = ",\n  ".join(json.dumps(point) for point in data["points"])
    return f'{{{head},\n "points": [\n  {points}]}}\n'


def text(folder: Path) -> str:
    """The page, of the figures whose data is there."""
    found = figures(folder)
    parts = [HEAD.format(command=COMMAND), _summary(folder), WHY, SCALE.format(**_scale(list(found.values())))]
    for figure in FIGURES:
        if figure.number not in found:
            continue
        pictures = [
            f"![Figure {panel.name}: {panel.up} over {panel.across}](pictures/papers/figure{panel.name}.svg)"
            for panel in PANELS
            if panel.figure == figure.number
        ]
        lines = [
            f"| {each['claim']} | {each['table']} | {each['rival']} | **{each['verdict']}** | {each['numbers']} |"
            for each in judged(folder)
            if each["figure"] == figure.number
        ]
        table = ["| claim | table | Mondrian | here | numbers |", "|---|---|---|---|---|", *lines]
        title = f"## Figure {figure.number}: {figure.caption}"
        parts.append(
            "\n\n".join([title, fill(f"In the paper, {figure.said}", 120), *pictures, "\n".join(table)]) + "\n"
        )
    return "\n".join(parts)


def judged(folder: Path) -> list[dict[str, Any]]:
    """Every claim on every table: its verdict and the numbers behind it.

    A claim about Mondrian is judged twice, against that of the textbook and against ours.
    """
    found = []
    for number, data in figures(folder).items():
        for claim in (each for each in CLAIMS if each.figure == number):
            for table, curves in _curves(data):
                told = {"figure": number, "claim": claim.text, "headline": claim.headline, "table": table}
                found += [told | each for each in _verdicts(claim, curves)]
    return found


def _verdicts(claim: Claim, curves: Curves) -> Iterator[dict[str, Any]]:
    for rival, line in RIVALS.items():
        if not all(line in lines for lines in curves.values()):
            continue  # data from before there was such a line
        met, numbers = claim.check({panel: {**lines, "mondrian": lines[line]} for panel, lines in curves.items()})
        about = "mondrian" in numbers
        told = {"verdict": verdict(met), "met": sum(met), "of": len(met), "numbers": numbers.replace("mondrian", line)}
        yield {"rival": rival if about else "", **told}
        if not about:
            return


def _summary(folder: Path) -> str:
    """The hypotheses, one line each, with a verdict for each table and rival."""
    told = judged(folder)
    tables = list(dict.fromkeys(each["table"] for each in told))
    columns = [(table, rival) for table in tables for rival in RIVALS]

    def of(table: str, rival: str) -> list[dict[str, Any]]:
        return [each for each in told if each["table"] == table and each["rival"] in ("", rival)]

    header = [f"{table}, {rival}" for table, rival in columns]
    lines = ["| figure | claim | " + " | ".join(header) + " |", "|---|---|" + "---|" * len(columns)]
    for number, claim in dict.fromkeys((each["figure"], each["claim"]) for each in told):
        verdicts = [
            next((each["verdict"] for each in of(*column) if each["claim"] == claim), "not measured")
            for column in columns
        ]
        lines.append(f"| {number} | {claim} | " + " | ".join(verdicts) + " |")
    counts = [
        f"on {table} {' and '.join(f'{_holding(of(table, rival))} against {NAMED[rival]}' for rival in RIVALS)}"
        for table in tables
    ]
    n_claims = len({(each["figure"], each["claim"]) for each in told})
    intro = (
        "Each claim of the paper is checked by comparisons: of two methods at one place of a curve, of one method at "
        "two neighbouring places, or of a whole curve with what is said about it (`benchmarks/papers/claims.py`). A "
        f"claim holds if all of its comparisons do. Of {n_claims} claims there hold {'; '.join(counts)}. Below are "
        "the most important ones. *Incognito has 2 times sabre-knn* means: what the figure shows, such as loss or "
        "time, is twice as large."
    )
    first = [each for each in told if each["headline"]]
    short = []
    for claim in dict.fromkeys(each["claim"] for each in first):
        short.append(f"- **{claim}**")
        short += [f"  - {_where(e)}: it {e['verdict']}. {e['numbers']}." for e in first if e["claim"] == claim]
    wrapped = [fill(line, 120, subsequent_indent=" " * (line.index("-") + 2), break_on_hyphens=False) for line in short]
    return "\n".join(["## The claims", "", fill(intro, 120), "", *wrapped, "", "All of them:", "", *lines, ""])


def _holding(told: list[dict[str, Any]]) -> int:
    return sum(each["met"] == each["of"] for each in told)


def _where(each: dict[str, Any]) -> str:
    """The table, and the Mondrian if the claim is about one."""
    return f"On {each['table']}" + (f", against {NAMED[each['rival']]}" if each["rival"] else "")


def figures(folder: Path) -> dict[int, dict[str, Any]]:
    """By number, the data of the figures that were measured."""
    paths = ((figure.number, folder / f"figure{figure.number}.json") for figure in FIGURES)
    return {number: json.loads(path.read_text(encoding="utf-8")) for number, path in paths if path.exists()}


def _curves(data: dict[str, Any]) -> Iterator[tuple[str, Curves]]:
    """By table: the points of each panel and method."""
    for table in dict.fromkeys(point["table"] for point in data["points"]):
        curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for point in (each for each in data["points"] if each["table"] == table):
            lines = curves.setdefault(point["panel"], {})
            lines.setdefault(point["method"], []).append((point["x"], point["y"]))
            if "full_domain_loss" in point:
                lines.setdefault(LEVELS, []).append((point["x"], point["full_domain_loss"]))
        yield table, curves


def _scale(found: list[dict[str, Any]]) -> dict[str, str]:
    points = [point for data in found for point in data["points"]]
    titles = dict.fromkeys((point["table"], point["title"]) for point in points)
    sizes = {table: [p["rows"] for p in points if p["table"] == table and p["panel"] == "12a"] for table, _ in titles}
    rows = {table: min(found[0]["rows"], max(p["rows"] for p in points if p["table"] == table)) for table, _ in titles}
    of = found[0]["machine"]
    loads = [data[when] for data in found for when in ("load_before", "load_after")]
    return {
        "tables": "; ".join(f"`{table}`: {title}" for table, title in titles),
        "rows": "; ".join(f"`{table}` {n:,}" for table, n in rows.items()),
        "sizes": "; ".join(f"`{table}` {min(n):,} to {max(n):,}" for table, n in sizes.items() if n),
        "queries": f"{found[0]['queries']:,}",
        "machine": f"{of['cores']} cores, {of['system']}, Python {of['python']}, tclose {of['versions']['tclose']}",
        "load": f"{min(loads):g} to {max(loads):g} on {of['cores']} cores",
    }
