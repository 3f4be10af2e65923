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


TABLES: dict[str, Callable[[], str]] = {
    "verify_large": verify_large,
    "first_mile": first_mile,
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
