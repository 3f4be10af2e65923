"""The process that a fuzzer of readers runs in, and may die in; `readers.py` starts it.

With atheris what is executed guides what is tried next; without it, bytes are changed at random, and the counts say so.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

INSTRUMENTED = [
    "tclose.schema", "tclose.stream", "tclose.release.certificate", "tclose.table.column_names",
    "tclose.table.csv_files", "tclose.table.parquet_files", "tclose.table.reading", "tclose.table.row_selection",
    "tclose.table.source", "tclose.table.formats",
]  # fmt: skip
LONGEST = 120_000  # bytes of an input
SECONDS_A_BYTE, LEAST_SECONDS = 1 / 100_000, 1.0
TOLD_EVERY = 1.0


def imported() -> tuple[Any, Any]:
    """The fuzzer, None if it is not there, and the targets, which it watches."""
    try:
        import atheris
    except ImportError:
        from benchmarks.campaigns import reader_targets

        return None, reader_targets
    with atheris.instrument_imports(include=INSTRUMENTED, enable_loader_override=False):
        from benchmarks.campaigns import reader_targets
    return atheris, reader_targets


class Harness:
    """Feeds one reader, counts what became of it, and notes what must not be.

    Parameters
    ----------
    name
        Of the target.
    folder
        Where counts, findings and the input at hand are kept, for whoever looks when this process has died.
    targets
        The module that knows it.
    """

    def __init__(self, name: str, folder: Path, targets: Any) -> None:
        self.file, self.target = targets.TARGETS[name]
        self._mark, self._folder = targets.MARK, folder
        self._ours = targets.TcloseError
        self.counts: Counter[str] = Counter()
        self._slowest, self._told = 0.0, time.monotonic()
        self._known: set[str] = set()
        self._log = io.StringIO()
        self._handler = logging.StreamHandler(self._log)
        logging.getLogger().addHandler(self._handler)
        logging.getLogger().setLevel(logging.INFO)
        self._err = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`

    def feed(self, data: bytes) -> None:
        """One input: a typed error or none, in time, and nothing shown that was in a cell."""
        (self._folder / "current").write_bytes(data)
        started = time.process_time()
        kind, said = self._tried(data)
        spent = time.process_time() - started
        self.counts["inputs"] += 1
        self.counts[kind] += 1
        allowed = max(LEAST_SECONDS, len(data) * SECONDS_A_BYTE)
        self._slowest = max(self._slowest, spent / allowed)
        if spent > allowed and self.counts["inputs"] > 20:  # what is compiled and imported first is not counted
            self._note("slow", f"{spent:.1f} s for {len(data)} bytes", data)
        if self._mark in said and not self.target.names(data):
            self._note("echo", said[max(said.index(self._mark) - 200, 0) :][:400], data)
        if time.monotonic() - self._told > TOLD_EVERY:
            self.tell()

    def _tried(self, data: bytes) -> tuple[str, str]:
        """What became of it, and all that was said."""
        out, kind, said = io.StringIO(), "read", ""
        before = os.dup(2)
        self._err.seek(0)
        self._err.truncate()
        os.dup2(self._err.fileno(), 2)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), warnings.catch_warnings():
                warnings.simplefilter("always")
                said = str(self.target.act(data, self._folder / self.file))
        except self._ours as error:
            kind, said = "refused", self._chain(error)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            kind = "traceback"
            self._note(f"traceback {type(error).__name__}", traceback.format_exc()[-1500:], data)
        finally:
            os.dup2(before, 2)
            os.close(before)
        self._err.seek(0)
        said += out.getvalue() + self._err.read().decode("utf-8", "replace") + self._log.getvalue()
        self._log.seek(0)
        self._log.truncate()
        return kind, said

    def _chain(self, error: BaseException | None) -> str:
        """The message of an error, and of all behind it."""
        said = ""
        while error is not None:
            said += f"{error}\n{error.args!r}\n"
            error = error.__cause__ or error.__context__
        return said

    def _note(self, what: str, detail: str, data: bytes) -> None:
        lines = [line for line in detail.splitlines() if line.startswith("  File")]
        key = what + (lines[-1] if lines else "")
        self.counts[f"finding: {what}"] += 1
        if key in self._known:
            return
        self._known.add(key)
        name = f"{len(self._known)}-{what.split()[0]}"
        (self._folder / f"{name}.input").write_bytes(data)
        (self._folder / f"{name}.txt").write_text(f"{what}\n{detail}\n", encoding="utf-8", errors="backslashreplace")

    def close(self) -> None:
        """No more is fed."""
        logging.getLogger().removeHandler(self._handler)
        self._err.close()

    def tell(self) -> None:
        """Keep the counts where they are found if this process dies."""
        self._told = time.monotonic()
        told = {"counts": self.counts, "slowest_share_of_limit": round(self._slowest, 3)}
        temporary = self._folder / "counts.tmp"
        temporary.write_text(json.dumps(told), encoding="utf-8")
        temporary.replace(self._folder / "counts.json")


def run(name: str, folder: Path, seconds: float, seed: int) -> None:
    """Fuzz one target for some time."""
    atheris, targets = imported()
    harness = Harness(name, folder, targets)
    seeds = harness.target.seeds()
    for data in seeds:
        harness.feed(data)
    harness.tell()
    if atheris is None:
        _shake(harness, targets, seeds, seconds, seed)
        harness.tell()
        return
    corpus = folder.parent / "corpus"  # kept when this process dies, and another goes on
    corpus.mkdir(exist_ok=True)
    for place, data in enumerate(seeds):
        (corpus / f"seed{place}").write_bytes(data)

    def mutate(data: bytes, most: int, number: int) -> bytes:
        inside = harness.target.wrap is not None and number % 4
        if not inside:
            return bytes(atheris.Mutate(data, most))
        return bytes(harness.target.wrap(data, lambda inner: atheris.Mutate(inner, most))[:most])

    options = [f"-max_total_time={int(seconds)}", f"-max_len={LONGEST}", f"-seed={seed}", "-timeout=120"]
    options += ["-rss_limit_mb=6000", "-verbosity=0", f"-artifact_prefix={folder}/died-"]
    hooks = {} if harness.target.wrap is None else {"custom_mutator": mutate}
    atheris.Setup(["readers", *options, str(corpus)], harness.feed, **hooks)
    atheris.Fuzz()


def _shake(harness: Harness, targets: Any, seeds: list[bytes], seconds: float, seed: int) -> None:
    rng, until = random.Random(seed), time.monotonic() + seconds
    while time.monotonic() < until:
        data, wrap = rng.choice(seeds), harness.target.wrap

        def shake(inner: bytes) -> bytes:
            return bytes(targets.shaken(inner, rng))

        harness.feed(wrap(data, shake) if wrap is not None and rng.random() < 0.75 else shake(data))


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
