"""Choose cases of the fuzzer for the corpus: those that run lines, or ask for things, that no other does.

`python -m benchmarks.campaigns.choose_cases FIRST LAST` prints the seeds, and how many lines are run in all.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.campaigns.corpus import by_hand, candidates
from benchmarks.campaigns.mutant_pool import MutantPool
from benchmarks.campaigns.mutants import Mutant, all_mutants, files
from tests.fuzz.cases import Case

SLOWEST = 1.5  # seconds with a trace
FEWEST = 2  # lines that a case must add


def features(case: Case) -> set[tuple[str, str]]:
    """What a schema asks for, and the types of its columns."""
    schema, found = case.schema, {("method", case.method)}
    found |= {("key", key) for key in schema} | {("missing", str(schema.get("missing")))}
    found |= {("type", column.type) for column in case.columns}
    for part in ("quasi", "sensitive"):
        for keys in schema.get(part, {}).values():
            found |= {(part, f"{key} {keys[key]}") for key in ("kind", "publish", "distance") if key in keys}
            found |= {(part, f"{keys.get('kind', keys.get('distance'))} with {key}") for key in keys}
            found |= {("l", key) for key in keys["l"]} if isinstance(keys.get("l"), dict) else set()
    return found


def main() -> None:
    seeds = [int(given) for given in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as room, MutantPool() as pool:
        folder, drawn = Path(room), candidates(range(*seeds))
        told = {name: pool.traced(folder, files(), name) for name, _ in _named()}
        others = {name: pool.traced(folder, files(), name, seeds=seeds) for name in drawn}
    run = {line for name, case in _named() for line in _lines(told[name]) | features(case)}
    left = {
        name: _lines(each) | features(drawn[name])
        for name, each in others.items()
        if each["what"] == "released" and each["seconds"] < SLOWEST
    }
    print(f"{len(run)} lines and features of hand-made cases, {len(left)} candidates")
    chosen = []
    while left:
        best = max(left, key=lambda name: (len(left[name] - run), name))
        if len(left[best] - run) < FEWEST:
            break
        run |= left.pop(best)
        chosen.append(int(best.removeprefix("case ")))
    print(f"{len(run)} in all, by {len(chosen)} more: {tuple(sorted(chosen))}")
    missed = Counter(mutant.file for mutant in all_mutants() if not _is_run(mutant, run))
    print(f"{missed.total()} of {len(all_mutants())} places not reached: {dict(missed.most_common())}")


def _named() -> list[tuple[str, Case]]:
    return [(f"{name} by {case.method}", case) for name, case in by_hand()]


def _lines(traced: dict[str, Any]) -> set[tuple[str, Any]]:
    return {(file, line) for file, lines in traced["lines"].items() for line in lines}


def _is_run(mutant: Mutant, run: set[tuple[str, Any]]) -> bool:
    span = mutant.statement
    return span is None or any((mutant.file, line) in run for line in range(span[0], span[1] + 1))


if __name__ == "__main__":
    main()
