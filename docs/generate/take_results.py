"""Take the figures of a benchmark over into the documentation: `python -m docs.generate.take_results NAME ...`.

`benchmarks/results` is not kept; what the pages show is, in `docs/results`, with the day it was measured.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from docs.generate.marked import ROOT
from docs.generate.results import RESULTS


def take(name: str, measured: Path = ROOT / "benchmarks" / "results", kept: Path = RESULTS) -> Path:
    """Copy one file; a result that does not say its day gets that of its file."""
    source = measured / f"{name}.json"
    found = json.loads(source.read_text(encoding="utf-8"))
    day = datetime.fromtimestamp(source.stat().st_mtime, UTC).date().isoformat()
    target = kept / f"{name}.json"
    target.write_text(json.dumps({"date": day, **found}, indent=2) + "\n", encoding="utf-8")
    return target


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(f"taken: {take(each).name}")
