"""Runs as they are found again, and side by side."""

from __future__ import annotations

import json
from pathlib import Path

from tclose.app.kept_runs import CLASSES, FOUND, KeptRun, promises_differ

WHOLE = dict.fromkeys(FOUND, 1)


def test_a_run_whose_file_lacks_what_was_found_is_lost(tmp_path: Path) -> None:
    """A page that shows all runs would fail on it."""
    KeptRun(1, "mondrian", {}, 7, state="done", found=WHOLE).write(tmp_path)
    assert KeptRun.read(tmp_path).state == "lost"  # type: ignore[union-attr]
    (tmp_path / CLASSES).write_bytes(b"")
    assert KeptRun.read(tmp_path).state == "done"  # type: ignore[union-attr]
    held = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**held, "found": {"loss": 0.1}}))
    assert KeptRun.read(tmp_path).state == "lost"  # type: ignore[union-attr]
    (tmp_path / "run.json").write_text("{")
    assert KeptRun.read(tmp_path) is None


def test_runs_that_promise_other_things_are_told_apart() -> None:
    def run(k: int, state: str = "done") -> KeptRun:
        return KeptRun(1, "mondrian", {}, 7, state=state, found={**WHOLE, "asked_k": k, "asked_t": {"ill": 0.2}})

    assert not promises_differ([])
    assert not promises_differ([run(5), run(5), run(6, "failed")])
    assert promises_differ([run(5), run(6)])
