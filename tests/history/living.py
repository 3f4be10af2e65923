"""A small table that lives, as files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.history.republication import _HistoryContinuation
from tclose.release.release import Release
from tclose.schema.schema import Schema

SCHEMA = {
    "k": 3,
    "unit": "who",
    "identifiers": ["name"],
    "quasi": {"age": {"kind": "numeric"}, "town": {"kind": "categorical"}},
    "sensitive": {"ill": {"distance": "equal", "t": 0.4}, "pay": {"distance": "numeric", "t": 0.5}},
}
HISTORY, RELEASE = "history", "release.csv"


def schema() -> Schema:
    return Schema.from_dict(SCHEMA)


def people(n: int, seed: int = 1) -> pl.DataFrame:
    """The first of some people: the same ones, whatever their number."""
    return everybody(seed).head(n)


def everybody(seed: int, n: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "who": [f"person {number}" for number in range(n)],
            "name": ["Ann"] * n,
            "age": rng.integers(18, 90, n),
            "town": rng.choice(["a", "b", "c"], n),
            "ill": rng.choice(["flu", "cold", "none"], n),
            "pay": rng.integers(0, 9, n) / 4,
        }
    )


def publish(folder: Path, table: pl.DataFrame, name: str = RELEASE, **more: Any) -> Release:
    """Release a table; the first time its history begins."""
    first = not (folder / HISTORY).exists()
    release = tclose.republish(
        table, schema(), history=folder / HISTORY, first=first, method="mondrian", seed=1, **more
    )
    release.write(folder / name)
    return release


def moved_to(release: Release, folder: Path) -> Release:
    """A release that was not written yet, for a copy of its folder."""
    history = release._history
    assert isinstance(history, _HistoryContinuation)
    elsewhere = replace(history.folder, path=folder / HISTORY)
    return replace(release, _history=_HistoryContinuation(elsewhere, history.after, history.whole))


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


class Killed(BaseException):
    """The end of a process."""


@contextmanager
def ended_at(place: int | None, how: Callable[[], BaseException] = Killed, once: bool = False) -> Iterator[list[str]]:
    """Count changes of names and durable writes; from one of them on nothing happens any more.

    Parameters
    ----------
    place
        Of the change that fails; None for none.
    how
        What is raised.
    once
        Only that one fails, as on a full disk.
    """
    done: list[str] = []

    def around(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def changed(*arguments: Any, **named: Any) -> Any:
            if isinstance(arguments[0], str | Path) and str(arguments[0]).endswith(".lock"):
                return real(*arguments, **named)
            if place is not None and (len(done) == place or (len(done) > place and not once)):
                done.append(name)
                raise how()
            done.append(name)
            return real(*arguments, **named)

        return changed

    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "unlink", "link", "fsync", "write"):
            patch.setattr(os, name, around(name))
        yield done
