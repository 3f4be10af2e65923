"""Run the benchmarks named, or all: each prints a table and leaves its figures in benchmarks/results/."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from rich.console import Console

from benchmarks import (
    assess,
    attacks,
    bounds,
    caps,
    diversity,
    exact,
    faults,
    first_call,
    first_mile,
    fragments,
    gap,
    hard,
    joint,
    large,
    many_values,
    methods,
    million,
    milp,
    mondrian,
    multiple,
    objectives,
    persons,
    plan_attack,
    queries,
    republish,
    rivals,
    rows_left_out,
    sabre,
    scale,
    startup,
    stream,
    sweep,
    text_pieces,
    tight,
    time_limits,
    verify_large,
)
from benchmarks.papers import rebuild as papers
from benchmarks.results import save, wait_for_quiet

BENCHMARKS: dict[str, Callable[[Console], dict[str, Any]]] = {
    "assess": assess.run,
    "attacks": attacks.run,
    "bounds": bounds.run,
    "caps": caps.run,
    "objectives": objectives.run,
    "persons": persons.run,
    "plan_attack": plan_attack.run,
    "million": million.run,
    "large": large.run,
    "verify_large": verify_large.run,
    "startup": startup.run,
    "text_pieces": text_pieces.run,
    "mondrian": mondrian.run,
    "methods": methods.run,
    "rivals": rivals.run,
    "tight": tight.run,
    "many_values": many_values.run,
    "sweep": sweep.run,
    "sabre": sabre.run,
    "scale": scale.run,
    "fragments": fragments.run,
    "joint": joint.run,
    "hard": hard.run,
    "multiple": multiple.run,
    "queries": queries.run,
    "rows_left_out": rows_left_out.run,
    "gap": gap.run,
    "diversity": diversity.run,
    "exact": exact.run,
    "milp": milp.run,
    "time_limits": time_limits.run,
    "republish": republish.run,
    "stream": stream.run,
    "faults": faults.run,
    "first_call": first_call.run,
    "first_mile": first_mile.run,
    "papers": papers.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(BENCHMARKS)}; all if none is given")
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for other jobs to end, at most")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}. Known: {', '.join(BENCHMARKS)}")
    console = Console(width=110)
    for name in given.names or BENCHMARKS:
        console.rule(name)
        load = wait_for_quiet(given.wait)
        save(name, BENCHMARKS[name](console), load)


if __name__ == "__main__":
    main()
