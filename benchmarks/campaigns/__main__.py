"""Run a campaign by name, and keep its counts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.campaigns.any_histories import any_histories
from benchmarks.campaigns.bounds_of_loss import bounds_of_loss
from benchmarks.campaigns.fuzzing import fuzz
from benchmarks.campaigns.histories import histories
from benchmarks.campaigns.mutants import mutate
from benchmarks.campaigns.pairs import pairs
from benchmarks.campaigns.readers import fuzz_readers
from benchmarks.campaigns.seeds import seeds
from benchmarks.campaigns.shards import shards
from benchmarks.campaigns.writers import writers
from benchmarks.results import machine

COUNTS = Path(__file__).parent / "counts"
CAMPAIGNS: dict[str, Callable[[], dict[str, Any]]] = {
    "any_histories": any_histories,
    "bounds_of_loss": bounds_of_loss,
    "fuzz": fuzz,
    "histories": histories,
    "mutants": mutate,
    "pairs": pairs,
    "readers": fuzz_readers,
    "seeds": seeds,
    "shards": shards,
    "writers": writers,
}


def main() -> int:
    """Returns 1 if the campaign found something."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.campaigns", description=__doc__)
    parser.add_argument("name", choices=CAMPAIGNS, help="which campaign")
    name = parser.parse_args().name
    counts = CAMPAIGNS[name]()
    COUNTS.mkdir(exist_ok=True)
    told = {"campaign": name, "machine": machine(), **counts}
    (COUNTS / f"{name}.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({key: value for key, value in counts.items() if key != "not_caught"}, indent=2))
    return 1 if counts["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
