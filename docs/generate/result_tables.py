"""Tables and sentences of figures, each made from a result; pages show them between two marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docs.generate import results
from docs.generate.app_tables import APP_TABLES
from docs.generate.attack_tables import ATTACK_TABLES
from docs.generate.campaign_tables import CAMPAIGN_TABLES
from docs.generate.earlier_tables import earlier_tables
from docs.generate.loss_tables import LOSS_TABLES
from docs.generate.marked import DOCS, ROOT, table
from docs.generate.results import NoSourceError
from docs.generate.scale_tables import SCALE_TABLES

BLOCK = re.compile(r"(<!-- figures: ([\w/-]+) -->\n)(.*?)\n?(<!-- end -->)", re.DOTALL)
CAPPED = {  # what the pages call the tables of caps
    "adult-occupation": "Adult",
    "nist": "NIST ACS 2019",
    "support2": "SUPPORT",
    "diabetes": "diabetes",
}


def verify_large() -> str:
    """How long verification takes alone, with its original, and with what methods go by."""
    found = results.result("verify_large")
    now, before = found["now"], found["before"]
    rows = [
        [name, f"{run['seconds']:.1f}", f"{run['cpu_seconds']:.1f}", f"{run['peak_mb']:,.0f}"]
        for name, run in (
            ("the release alone", now["release"]),
            ("with its original", now["truth"]),
            ("with what methods go by too", now["agreement"]),
            ("the release alone, by the verifier before", before),
        )
    ]
    slower = now["release"]["seconds"] / before["seconds"]
    larger = now["release"]["peak_mb"] / before["peak_mb"]
    return (
        f"{found['rows']:,} census rows on {_cores(found)}, from Parquet. The verifier before shared its encoder\n"
        f"and its distances with the methods; this one shares nothing with them, and takes {slower:.2f} times its\n"
        f"seconds and {larger:.2f} times its memory:\n\n" + table(["judged", "s", "s of processors", "peak MB"], rows)
    )


def first_mile() -> str:
    """Lines to edit, and seconds, from a file to its first release."""
    found = results.result("first_mile")
    rows = [
        [
            name.partition(".")[0],
            "-" if each["edits_before"] is None else str(each["edits_before"]),
            str(each["edits_without_flags"]),
            "0" if each["released"] else "not released",
            f"{each['seconds_init']:.1f}",
            f"{each['seconds_release']:.1f}",
        ]
        for name, each in found["tables"].items()
    ]
    header = ["table", "edits, former init", "edits, nothing named", "edits, with flags", "init, s", "anonymize, s"]
    return f"Measured on {_cores(found)}, {found['date']}, with loops compiled before.\n\n" + table(header, rows)


def against_arx() -> str:
    """What is lost on Adult with education sensitive, beside local recoding by ARX, which was measured elsewhere."""
    ours, theirs = results.result("tight"), results.result("arx")
    cells = {cell["t"]: cell["runs"] for cell in ours["cells"] if cell["table"] == "adult-education"}
    rows = [
        [t, f"**{cells[t]['tight balanced']['loss']:.3f}**", f"{theirs['adult-education'][t]:.3f}"]
        for t in sorted(cells, key=float)
    ]
    header = ["t", f"`tclose` {ours['machine']['versions']['tclose']}", theirs["tool"]]
    return table(header, rows) + f"\n\nThe figures of ARX were {theirs['origin']} (entered {theirs['entered']})."


def rivals() -> str:
    """What Mondrian and SABRE lose as printed and at their best."""
    found = results.result("rivals")
    names = list(dict.fromkeys(name for case in found["cases"] for name in case["runs"]))
    header = ["table", "t", *(f"`{name}`" for name in names)]
    rows, before = [], ""
    for case in found["cases"]:
        title = f"{case['title']}, {case['rows']:,} rows"
        losses = [f"{case['runs'][name]['loss']:.3f}" if name in case["runs"] else "" for name in names]
        rows.append(["" if title == before else title, case["t"], *losses])
        before = title
    return table(header, rows) + f"\n\nMeasured {found['date']}; k = {found['k']}. No figure depends on a clock."


def rivals_saved() -> str:
    """How much less each option loses, in percent of what its method loses without: the least and the most."""
    cases = results.result("rivals")["cases"]
    rows = []
    for name, plain in (
        ("mondrian", "mondrian textbook=true"),
        ("sabre-knn metric=loss", "sabre-knn"),
        ("sabre-knn slack=true", "sabre-knn"),
        ("sabre-knn slack=true metric=loss", "sabre-knn"),
        ("sabre-ak slack=true", "sabre-ak"),
    ):
        both = [case["runs"] for case in cases if name in case["runs"]]
        saved = [100 * (1 - runs[name]["loss"] / runs[plain]["loss"]) for runs in both]
        rows.append([f"`{name}`", f"`{plain}`", str(len(both)), f"{min(saved):.0f} to {max(saved):.0f} %"])
    return table(["", "beside", "cases", "loses less by"], rows)


def bounds() -> str:
    """What any release of Adult loses at least, beside what `tight` loses."""
    found = results.result("bounds")
    rows = [
        [
            f"{cell['table'].removeprefix('adult-')}, t = {cell['t']}",
            f"{cell['loss_at_least']:.4f}",
            "proven" if cell["is_proven"] else f"{cell['confidence']:.0%}",
            f"{cell['lowest_known']:.4f}",
            "" if cell["factor"] is None else f"{cell['factor']:.1f}",
            f"{cell['steps']:,}",
            f"{cell['cells_checked']:,} of {cell['cells']:,}",
        ]
        for cell in found["cells"]
    ]
    header = ["sensitive", "at least", "how sure", "lowest known", "factor", "steps", "rows or cells checked"]
    return (
        f"{found['seconds_a_cell']:.0f} seconds a table on {_cores(found)}, beside much other work (a load of\n"
        f"{found['load_before']:.0f} before and {found['load_after']:.0f} after):\n\n" + table(header, rows)
    )


def caps() -> str:
    """What caps on belief cost: loss, and the largest rise of a share in points, by table, promise and method."""
    found = results.result("caps")
    rows, methods = [], list(next(iter(next(iter(found["tables"].values())).values())))
    for name, by_promise in found["tables"].items():
        for place, (words, runs) in enumerate(by_promise.items()):
            told = [f"{runs[method]['loss']:.4f} ({100 * runs[method]['rise']:.1f})" for method in methods]
            rows.append(["" if place else CAPPED[name], words, *told])
    return table(["", "asked", *(f"`{method}`" for method in methods)], rows) + (
        f"\n\nMeasured {found['date']}; k = {found['k']}. No figure depends on a clock."
    )


def caps_cost() -> str:
    """How much more is lost where shares are capped, and how far they rise where they are not."""
    tables = results.result("caps")["tables"]
    told = []
    for name, by_promise in tables.items():
        alone, capped = (by_promise[words]["tight"] for words in ("t = 0.2", "t = 0.2, rise = 0.1"))
        more = 100 * (capped["loss"] / alone["loss"] - 1)
        told.append(f"{CAPPED[name]} {100 * alone['rise']:.1f} points and {more:.0f} %")
    return (
        "How far a share rises by `tight` with t alone, and how much more is lost if it may rise by 10 points only:\n"
        + ";\n".join(told)
        + "."
    )


def caps_burel() -> str:
    """BUREL's promise by BUREL and by our methods, beside what its paper prints."""
    found, printed = results.result("caps")["burel"], results.result("burel")
    names = list(next(iter(found.values())))
    header = [
        "beta",
        "BUREL, real census",
        *("BUREL" + name[5:] if name[:5] == "burel" else f"`{name}`" for name in names),
    ]
    rows = [
        [beta, f"{printed['losses'][beta]:.3f}", *(f"{runs[name]['loss']:.3f}" for name in names)]
        for beta, runs in found.items()
    ]
    return (
        table(header, rows) + f"\n\n{printed['tool']}, real census: {printed['origin']}.\nEntered {printed['entered']}."
    )


def rows_left_out() -> str:
    """What leaving rows out buys, by table, t, k and method."""
    found = results.result("rows_left_out")
    rows, before = [], ""
    for cell in found["cells"]:
        for name, by_share in cell["runs"].items():
            title = f"{cell['title']}, {cell['rows']:,} rows"
            told = [
                f"{run['loss']:.4f}" + (f" ({run['left_out']:,})" if run["left_out"] else "")
                for run in by_share.values()
            ]
            rows.append(["" if title == before else title, cell["t"], str(cell["k"]), f"`{name}`", *told])
            before = title
    header = ["table", "t", "k", "", *(f"{float(share):.0%} allowed" for share in found["shares"])]
    return table(header, rows) + f"\n\nMeasured {found['date']}. No figure depends on a clock."


def rows_left_out_bought() -> str:
    """In how many runs rows were left out, and how much less was lost by it."""
    found = results.result("rows_left_out")
    told = []
    for words, is_adult in (("On Adult's twelve cells", True), ("On the tables with outliers", False)):
        for method in ("tight", "mondrian"):
            cells = [each["runs"][method] for each in found["cells"] if each["table"].startswith("adult") == is_adult]
            runs = [(cell[share], cell["0"]["loss"]) for cell in cells for share in found["shares"] if share != "0"]
            saved = [100 * (1 - run["loss"] / least) for run, least in runs if run["left_out"]]
            gained = f", and the loss is lower by {min(saved):.1f} to {max(saved):.1f} %" if saved else ""
            told.append(f"{words} `{method}` leaves rows out in {len(saved)} of {len(runs)} runs{gained}.")
    all_runs = [runs for cell in found["cells"] for runs in cell["runs"].values()]
    few, many = found["shares"][1:]
    worse = sum(runs[many]["loss"] > runs[few]["loss"] for runs in all_runs)
    return "\n".join(
        [
            *told,
            f"In {worse} of {len(all_runs)} cases {float(many):.0%} allowed lose more than {float(few):.0%} do:",
            "only a few numbers of rows to leave out are tried, and which depends on the share.",
        ]
    )


def objectives_queries() -> str:
    """The error of COUNT queries by objective and method."""
    found = results.result("objectives")
    names = [name for name in next(iter(found["tables"].values())) if name != "rows"]
    least = [
        name
        for name, runs in found["tables"].items()
        if min(names, key=lambda each: runs[each]["query_error"]) == "tight, queries"
    ]
    rows = [
        [
            name,
            f"{runs['rows']:,}",
            *(f"{100 * runs[each]['query_error']:.1f}" for each in names),
            *(f"{runs[each]['loss']:.3f}" for each in ("tight", "tight, queries")),
        ]
        for name, runs in found["tables"].items()
    ]
    header = ["", "rows", "loss", "queries", *(f"`{name}`" for name in names[2:]), "its loss", "by queries"]
    return table(header, rows) + (
        f"\n\nWith `queries`, `tight` has the least error on {len(least)} of {len(rows)} tables. "
        f"Measured {found['date']}; no figure depends on a clock."
    )


def objectives_classify() -> str:
    """How well a target is told by classes and by a classifier, by objective."""
    found = results.result("objectives")["classify"]
    ways = ("tight", "tight, classify")
    rows = [
        [
            f"{name}, {each['target']}",
            *(f"{each[way][what]:.3f}" for what in ("mixed", "accuracy") for way in ways),
            *(f"{each[way]:.3f}" for way in ("most frequent", "original")),
            *(f"{each[way]['loss']:.3f}" for way in ways),
        ]
        for name, each in found.items()
    ]
    by = "by classify"
    mixed = sum(each[ways[1]]["mixed"] < each[ways[0]]["mixed"] for each in found.values())
    gains = [100 * (each[ways[1]]["accuracy"] - each[ways[0]]["accuracy"]) for each in found.values()]
    return table(["", "mixed", by, "accuracy", by, "most frequent", "original", "loss", by], rows) + (
        f"\n\nFewer rows are mixed on {mixed} of {len(rows)}. The accuracy of a forest changes by {min(gains):+.1f} to "
        f"{max(gains):+.1f} points."
    )


def first_call() -> str:
    """How long a first call takes, nothing compiled yet and all of it."""
    found = results.result("first_call")
    imports, default = found["imports"], found["methods"][0]
    rows = [
        [
            f"`{each['method']}`",
            *(f"{each[kept][what]:.1f}" for kept in ("empty", "full") for what in ("seconds", "cpu_seconds")),
        ]
        for each in found["methods"]
    ]
    header = ["", "nothing compiled, s", "s of processors", "all compiled, s", "s of processors"]
    empty, beyond = default["empty"]["seconds"], default["beyond_imports"]
    met = ["met" if each else "missed" for each in (empty <= 10, beyond <= 0.3)]
    return (
        f"{found['rows']:,} census rows on {_cores(found)}, imports included (numba, polars and numpy alone: "
        f"{imports['seconds']:.1f} s),\nmeasured {found['date']}, at a load of {found['load_before']:.0f} "
        "when it began:\n\n"
        + table(header, rows)
        + "\n\nAims for `tight`, on two cores with nothing beside it: at most 10 s with nothing compiled "
        f"({met[0]} here), and at most\n0.3 s beyond the imports with all of it ({met[1]} here: {beyond:.1f} s)."
    )


def many_values() -> str:
    """What it gains and costs to tell many values apart."""
    found = results.result("many_values")
    rows = [
        [
            each["t"],
            f"`{each['effort']}`",
            *(f"{each[way]['loss']:.3f}, {each[way]['seconds']:.1f} s" for way in ("groups", "all")),
        ]
        for each in found["cells"]
    ]
    header = ["t", "effort", *(f"{found['seen'][way]} values seen" for way in ("groups", "all"))]
    return table(header, rows) + (
        f"\n\n{found['rows']:,} rows, k = {found['k']}; loss, and seconds of the partition. Measured {found['date']}, "
        f"at a load of {found['load_before']:.0f} when it began."
    )


TABLES: dict[str, Callable[[], str]] = {
    "many_values": many_values,
    "first_call": first_call,
    "rivals": rivals,
    "rivals/saved": rivals_saved,
    "bounds": bounds,
    "caps": caps,
    "caps/cost": caps_cost,
    "caps/burel": caps_burel,
    "rows_left_out": rows_left_out,
    "rows_left_out/bought": rows_left_out_bought,
    "objectives/queries": objectives_queries,
    "objectives/classify": objectives_classify,
    "verify_large": verify_large,
    "first_mile": first_mile,
    "tight/arx": against_arx,
    **APP_TABLES,
    **LOSS_TABLES,
    **ATTACK_TABLES,
    **CAMPAIGN_TABLES,
    **SCALE_TABLES,
    **earlier_tables(),
}


def filled(text: str) -> str:
    """A page with its blocks of figures made anew.

    Raises
    ------
    NoSourceError
        A block names no table.
    """

    def made(block: re.Match[str]) -> str:
        if block[2] not in TABLES:
            raise NoSourceError(f"There is no table of figures '{block[2]}'.")
        return f"{block[1]}{TABLES[block[2]]()}\n{block[4]}"

    return BLOCK.sub(made, text)


def pages_with_figures() -> Iterator[tuple[Path, str]]:
    """Every page that has such blocks, with what it should hold."""
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if BLOCK.search(text):
            yield page, filled(text)


def _cores(found: dict[str, Any]) -> str:
    machine = found["machine"]
    return f"{machine['cores']} cores with {machine['memory_gb']} GB"
