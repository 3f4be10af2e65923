"""Runs the corpus with a mutated file of the package, again and again: a process that has loaded all else forks.

It reads a line of JSON a mutant: its `file`, the path of its `source`, the `folder` for releases, the `names` of cases,
and the `seconds` and `processor_seconds` it may take. It answers with `done`, `died` or `hung`. With `lines` it also
writes which lines of the files named there were run; with `seeds` the names are those of cases of the fuzzer instead of
the corpus.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import signal
import sys
import threading
import time
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

# Only loaded, never used here: a child can use them as if it were the first. No part of tclose is among them.
LOADED = ("numpy", "numba", "polars", "pandas", "pyarrow", "pyarrow.parquet", "narwhals", "tomli_w", "hypothesis")


class MutantLoader(SourceFileLoader):
    """Loads a module from another source."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self.mutated = source

    def get_code(self, fullname: str) -> CodeType:
        """Compiled anew: what is cached is the module as it is."""
        return compile(self.mutated, self.path, "exec", dont_inherit=True)


class MutantFinder:
    """Finds one file of the package as its mutant."""

    def __init__(self, file: str, source: str) -> None:
        self.module = "tclose." + file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self.source = source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Only of the one module."""
        found = PathFinder.find_spec(name, path, target) if name == self.module else None
        if found is None or found.origin is None:
            return None
        loader = MutantLoader(name, found.origin, self.source)
        return importlib.util.spec_from_file_location(
            name, found.origin, loader=loader, submodule_search_locations=found.submodule_search_locations
        )


class LineTrace:
    """The lines that were run, of some files of the package."""

    def __init__(self, files: list[str]) -> None:
        self.files = tuple("/tclose/" + file for file in files)
        self.known: dict[str, str | None] = {}
        self.run: set[tuple[str, int]] = set()

    def file_of(self, path: str) -> str | None:
        """Its name within the package, None if it is not looked at."""
        if path not in self.known:
            fits = [file for file in self.files if path.endswith(file)]
            self.known[path] = fits[0].removeprefix("/tclose/") if fits else None
        return self.known[path]

    def __call__(self, frame: FrameType, event: str, _given: Any) -> Any:
        """What `sys.settrace` calls."""
        return self._line if self.file_of(frame.f_code.co_filename) else None

    def _line(self, frame: FrameType, event: str, _given: Any) -> Any:
        file = self.file_of(frame.f_code.co_filename)
        if file:
            self.run.add((file, frame.f_lineno))
        return self._line


def run_corpus(task: dict[str, Any]) -> None:
    """What a child does."""
    if task["file"]:
        source = Path(task["source"]).read_text(encoding="utf-8")
        sys.meta_path.insert(0, MutantFinder(task["file"], source))
    from benchmarks.campaigns.corpus import candidates, corpus, release_all

    cases = candidates(range(*task["seeds"])) if "seeds" in task else corpus()
    chosen = {name: case for name, case in cases.items() if name in task["names"]}
    folder = Path(task["folder"])
    if "lines" not in task:
        release_all(folder, chosen)
        return
    trace = LineTrace(task["lines"])
    threading.settrace(trace)
    sys.settrace(trace)
    started = time.process_time()
    release_all(folder, chosen)
    sys.settrace(None)
    told = {"seconds": time.process_time() - started, "lines": sorted(trace.run)}
    (folder / "lines.json").write_text(json.dumps(told), encoding="utf-8")


def answer(task: dict[str, Any]) -> str:
    """Fork, and wait for the child."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
                resource.setrlimit(resource.RLIMIT_CPU, (int(task["processor_seconds"]),) * 2)
                run_corpus(task)
            code = 0
        finally:
            os._exit(code)
    end = time.monotonic() + float(task["seconds"])
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done and os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
            return "hung"
        if done:
            return "done" if status == 0 else "died"
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def main() -> None:
    for name in LOADED:
        importlib.import_module(name)
    print("ready", flush=True)
    for line in sys.stdin:
        print(answer(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
