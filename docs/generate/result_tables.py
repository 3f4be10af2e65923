"""Tables and sentences of figures, each made from a result; pages show them between two marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docs.generate.marked import DOCS, ROOT, table
from docs.generate.results import NoSourceError, result

BLOCK = re.compile(r"(<!-- figures: ([\w/-]+) -->\n)(.*?)(\n<!-- end -->)", re.DOTALL)
READERS = {  # what the pages call the readers of a campaign
    "csv": "CSV",
    "gzip": "gzipped CSV",
    "parquet": "Parquet",
    "table of lines": "JSON lines, as a table",
    "array": "JSON",
    "arrow": "Arrow",
    "excel": "Excel",
    "spss": "SPSS",
    "stata": "Stata",
    "sas": "SAS",
    "sqlite": "SQLite",
    "toml": "schema",
    "lines": "JSON lines of a stream",
}


def verify_large() -> str:
    """How long verification takes alone, with its original, and with what methods go by."""
    found = result("verify_large")
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
    found = result("first_mile")
    rows = [
        [
            name.partition(".")[0],
            str(each["edits_without_flags"]),
            "0" if each["released"] else "not released",
            f"{each['seconds_init']:.1f}",
            f"{each['seconds_release']:.1f}",
        ]
        for name, each in found["tables"].items()
    ]
    header = ["table", "edits, nothing named", "edits, with flags", "init, s", "anonymize, s"]
    return f"Measured on {_cores(found)}, {found['date']}, with loops compiled before.\n\n" + table(header, rows)


def readers() -> str:
    """What became of the inputs that a fuzzer made."""
    found = result("readers")
    rows = [
        [READERS.get(name, name), f"{each['inputs']:,}", f"{each['read']:,}", _refused(name, each)]
        for name, each in found["readers"].items()
    ]
    hours = f"{found['seconds']:,.0f} s"
    return (
        table(["reader", "inputs", "read", "refused with a sentence"], rows)
        + f"\n\nIn all {found['inputs']:,} inputs in {hours}, beside other work on the machine."
    )


def history_attackers() -> str:
    """How often attackers of random histories believe more than is allowed, and by how much."""
    found = result("histories")
    ways = ("ours", "first_release_alone", "naive")

    def beyond(way: str, who: str) -> str:
        counts, worst = found[way]["counts"], found[way]["worst_excess"][who]
        n = counts[f"{who}: beyond what is allowed"]
        if who == "believes releases and promise" and counts["no world"]:
            return f"no world fits in {counts['no world']} of {counts['attacked']}, {n} in the others"
        return f"{n} of {counts[f'{who}: tried']}" + (f", by {worst:.2g}" if n else "")

    named = {
        "believes the releases and the promise": "believes releases and promise",
        "believes the releases alone": "believes releases alone",
        "knows the program, and all values of those who wait": "knows the program",
        "has the record as well, with its counts of who waits": "knows the program and the record",
    }
    header = ["who", "histories", "the first release alone", "every table released anew"]
    return table(header, [[shown, *(beyond(way, who) for way in ways)] for shown, who in named.items()])


def history_events() -> str:
    """What happened in these histories."""
    found = result("histories")
    events = found["events"]
    named = {
        "added": "added", "changed": "entered with changed values", "moved": "have other quasi-identifiers",
        "deleted": "left", "returned": "returned", "withdrawn": "withdrawn", "new_waiting": "waited, being new",
        "changes_held": "held with a changed value", "deletions_held": "held though deleted",
    }  # fmt: skip
    rows = [[shown, f"{events[name]:,}"] for name, shown in named.items()]
    return table(["persons, over all releases", ""], [["histories", f"{found['histories']:,}"], *rows])


def writers() -> str:
    """What became of rounds in which several processes wrote the same files."""
    found = result("writers")
    counts = found["counts"]
    writes = [counts[f"writes {what}"] for what in ("written", "refused", "killed")]
    killed, ended = counts["rounds with SIGKILL"], counts["rounds with SIGTERM"]
    rows = [
        ["rounds", f"{found['rounds']:,}, of which {killed} with a SIGKILL and {ended} with a SIGTERM"],
        [
            "writes",
            f'{sum(writes):,}: {writes[0]:,} done, {writes[1]:,} refused with "is being written by another process", '
            f"{writes[2]:,} killed",
        ],
        ["findings", f"{len(found['findings'])}"],
        ["rounds that end with a release and its own certificate, verified", f"{counts['matching pairs']:,}"],
        ["rounds that end with a whole release without certificate", f"{counts['releases without certificate']}"],
        [
            "certificates seen beside a file that is not their own",
            f"{counts['foreign certificates seen']} of {counts['pairs read']:,} pairs read",
        ],
        ["files left behind by SIGKILL, all removed by the next writer", f"{counts['files left by a killed process']}"],
    ]
    return table(["", ""], rows)


def against_arx() -> str:
    """What is lost on Adult with education sensitive, beside local recoding by ARX, which was measured elsewhere."""
    ours, theirs = result("tight"), result("arx")
    cells = {cell["t"]: cell["runs"] for cell in ours["cells"] if cell["table"] == "adult-education"}
    rows = [
        [t, f"**{cells[t]['tight balanced']['loss']:.3f}**", f"{theirs['adult-education'][t]:.3f}"]
        for t in sorted(cells, key=float)
    ]
    header = ["t", f"`tclose` {ours['machine']['versions']['tclose']}", theirs["tool"]]
    return table(header, rows) + f"\n\n{theirs['tool']}: {theirs['origin']}, entered {theirs['entered']}."


def rivals() -> str:
    """What Mondrian and SABRE lose as printed and at their best."""
    found = result("rivals")
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
    cases = result("rivals")["cases"]
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
    found = result("bounds")
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


TABLES: dict[str, Callable[[], str]] = {
    "rivals": rivals,
    "rivals/saved": rivals_saved,
    "bounds": bounds,
    "verify_large": verify_large,
    "first_mile": first_mile,
    "histories": history_attackers,
    "histories/events": history_events,
    "readers": readers,
    "tight/arx": against_arx,
    "writers": writers,
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
        return f"{block[1]}{TABLES[block[2]]()}{block[4]}"

    return BLOCK.sub(made, text)


def pages_with_figures() -> Iterator[tuple[Path, str]]:
    """Every page that has such blocks, with what it should hold."""
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if BLOCK.search(text):
            yield page, filled(text)


def _refused(name: str, each: dict[str, Any]) -> str:
    if "refused" in each:
        return f"{each['refused']:,}"
    return "0: `verify` says what is wrong" if name == "certificate" else "0: single lines are rejected"


def _cores(found: dict[str, Any]) -> str:
    machine = found["machine"]
    return f"{machine['cores']} cores with {machine['memory_gb']} GB"
