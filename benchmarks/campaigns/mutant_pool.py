"""The process in which mutants release the corpus, and what is asked of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.results import ROOT

SECONDS, PROCESSOR_SECONDS = 600.0, 20  # at most; all cases together take about three of a processor
LIMITS = {"seconds": SECONDS, "processor_seconds": PROCESSOR_SECONDS}
QUIET = {
    "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1", "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
}  # fmt: skip


class MutantPool:
    """One server, on one core."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.campaigns.mutant_server"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, **QUIET},
        )  # fmt: skip
        self._answer()

    def __enter__(self) -> MutantPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()

    def run(self, folder: Path, names: list[str], file: str, source: str) -> str:
        """Release some cases of the corpus with a file of the package changed: `done`, `died` or `hung`."""
        (folder / "mutant.txt").write_text(source, encoding="utf-8")
        return self._ask(file=file, source=str(folder / "mutant.txt"), folder=str(folder), names=names)

    def traced(self, folder: Path, files: list[str], name: str, **seeds: Any) -> dict[str, Any]:
        """Release a case with the package as it is: what became of it, seconds, and by file the lines that it runs.

        A process for each: what one case leaves in a cache another would not run.
        """
        ended = self._ask(file="", source="", folder=str(folder), lines=files, names=[name], **seeds)
        if ended != "done":
            return {"what": ended, "seconds": SECONDS, "lines": {}}
        told = json.loads((folder / "lines.json").read_text(encoding="utf-8"))
        (what,) = json.loads((folder / "outcomes.json").read_text(encoding="utf-8")).values()
        lines: dict[str, set[int]] = {file: set() for file in files}
        for file, line in told["lines"]:
            lines[file].add(line)
        return {"what": what, "seconds": told["seconds"], "lines": lines}

    def _ask(self, **task: Any) -> str:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({**LIMITS, **task}) + "\n")
        self._server.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._server.stdout is not None
        line = self._server.stdout.readline().strip()
        if not line:
            raise SystemExit("The process that runs mutants ended.")
        return line
