"""Run seed after seed for some time, and make what is found small.

    python -m tests.fuzz 600 [--seed N] [--all]

Cases run in a process of their own, so that one that kills it is a finding too.
"""

from __future__ import annotations

import argparse
import copy
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection

from tests.fuzz.cases import KNOWN, Case, make_case
from tests.fuzz.checks import Finding, check

SECONDS_TO_SHRINK = 20.0
SECONDS_A_CASE = 120.0

Check = Callable[[Case], list[Finding]]


def shrink(case: Case, kind: str, seconds: float = SECONDS_TO_SHRINK, checked: Check = check) -> Case:
    """A smaller case with a finding of the same kind: fewer rows, fewer columns, fewer keys."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for simpler in _simpler(case):
            if time.monotonic() > end:
                return case
            if any(finding.kind == kind for finding in checked(simpler)):
                case, smaller = simpler, True
                break
    return case


def _simpler(case: Case) -> Iterator[Case]:
    """The case with one thing less, large things first."""
    n = len(case.rows)
    for part in (2, 4, 8):
        size = n // part
        for first in range(0, n, size) if size else ():
            yield case.take([row for row in range(n) if not first <= row < first + size])
    for column in case.columns:
        if (cut := _without(case, column.name)) is not None:
            yield cut
    if "joint" in case.schema and all("t" in keys or "l" in keys for keys in case.schema["sensitive"].values()):
        yield replace(case, schema={key: given for key, given in case.schema.items() if key != "joint"})
    for row in range(n):
        yield case.take([each for each in range(n) if each != row])
    yield from _with_fewer_keys(case)


def _without(case: Case, name: str) -> Case | None:
    schema = copy.deepcopy(case.schema)
    if any(name in joint["columns"] for joint in schema.get("joint", {}).values()):
        return None
    for part in ("quasi", "sensitive"):
        if schema.get(part, {}).pop(name, None) is not None and not schema[part]:
            if part == "quasi":
                return None
            del schema[part]
    for part in ("identifiers", "keep"):
        if name in schema.get(part, []):
            del schema[part]
    if schema.get("unit") == name:
        del schema["unit"]
    return replace(case, schema=schema, columns=tuple(column for column in case.columns if column.name != name))


def _with_fewer_keys(case: Case) -> Iterator[Case]:
    if case.options:
        yield replace(case, options={})
    if case.method != "mondrian":
        yield replace(case, method="mondrian", options={})
    for key in ("missing_values", "missing", "keep_unchecked", "recode"):
        if key in case.schema:
            yield replace(case, schema={name: given for name, given in case.schema.items() if name != key})
    if case.schema["k"] > 1:
        yield replace(case, schema={**case.schema, "k": case.schema["k"] - 1})
    for part in ("quasi", "sensitive"):
        for name, keys in case.schema.get(part, {}).items():
            for key in keys:
                if key not in ("kind", "distance", "t", "matrix") and not (key == "l" and "t" not in keys):
                    schema = copy.deepcopy(case.schema)
                    del schema[part][name][key]
                    yield replace(case, schema=schema)


def script(case: Case, finding: Finding) -> str:
    """A program that shows the finding again."""
    told = finding.what.replace("\n", " ")
    columns = "".join(f"\n    {column!r}," for column in case.columns)
    return (
        f"# seed {case.seed}: {finding.kind}: {told}\n"
        "import datetime, zoneinfo\n"
        "from decimal import Decimal\n"
        "from tests.fuzz.cases import Case, Column\n"
        "from tests.fuzz.checks import check\n"
        "nan = float('nan')\n"
        f"columns = ({columns}\n)\n"
        f"schema = {case.schema!r}\n"
        f"print(check(Case({case.seed}, columns, schema, {case.method!r}, {case.options!r})))\n"
    )


def _work(first: int, avoid: frozenset[str], out: Connection) -> None:
    """Send each seed before its case is run, and what came of it after."""
    seed = first
    while True:
        out.send(("seed", seed))
        counts: Counter[str] = Counter()
        case = make_case(seed, avoid)
        findings = check(case, counts)
        out.send(("done", (counts, [(case, finding) for finding in findings])))
        seed += 1


def run(seconds: float, first: int, avoid: frozenset[str] = KNOWN) -> tuple[Counter[str], list[tuple[Case, Finding]]]:
    """Run cases from this seed on; a process that dies or hangs is a finding, and another goes on."""
    end = time.monotonic() + seconds
    counts: Counter[str] = Counter()
    found: list[tuple[Case, Finding]] = []
    context = multiprocessing.get_context("spawn")
    seed = first
    while time.monotonic() < end:
        ours, theirs = context.Pipe(False)
        child = context.Process(target=_work, args=(seed, avoid, theirs), daemon=True)
        child.start()
        theirs.close()
        try:
            while time.monotonic() < end:
                if not ours.poll(min(SECONDS_A_CASE, max(end - time.monotonic(), 0.1))):
                    if time.monotonic() < end:
                        found.append((make_case(seed, avoid), Finding("hangs", f"no answer in {SECONDS_A_CASE:.0f} s")))
                        seed += 1
                    break
                kind, given = ours.recv()
                if kind == "seed":
                    seed = given
                else:
                    counts.update(given[0])
                    found += given[1]
        except EOFError:
            child.join()
            found.append((make_case(seed, avoid), Finding("kills the process", f"exit code {child.exitcode}")))
            seed += 1
        finally:
            child.kill()
            child.join()
    counts["last seed"] = seed
    return counts, found


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 if something was found."""
    parser = argparse.ArgumentParser("python -m tests.fuzz", description="Compare releases with a slow judge.")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=None, help="the first; a random one if not given")
    parser.add_argument("--all", action="store_true", help="also make cases of mistakes that are known and open")
    given = parser.parse_args(arguments)
    first = int(time.time_ns() % 10**9) * 1000 if given.seed is None else given.seed
    print(f"first seed {first}", flush=True)
    counts, found = run(given.seconds, first, frozenset() if given.all else KNOWN)
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    kinds: dict[str, list[tuple[Case, Finding]]] = {}
    for case, finding in found:
        kinds.setdefault(finding.kind, []).append((case, finding))
    for kind, cases in kinds.items():
        print(f"\n{len(cases)} x {kind}: seeds {', '.join(str(case.seed) for case, _ in cases[:10])}")
        case, finding = min(cases, key=lambda pair: len(pair[0].rows) * len(pair[0].columns))
        if kind not in ("hangs", "kills the process"):
            case = shrink(case, kind)
            finding = _again(case, finding)
        print(script(case, finding), flush=True)
    print(f"\n{len(found)} findings" if found else "\nno finding")
    return 1 if found else 0


def _again(case: Case, finding: Finding) -> Finding:
    return next((each for each in check(case) if each.kind == finding.kind), finding)
