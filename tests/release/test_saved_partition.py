"""Classes that are kept: a run that starts from them, with no time, makes the same release again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tclose
from tclose.errors import TableError


def test_classes_that_are_kept_are_released_again(tmp_path: Path) -> None:
    frame, schema = tclose.datasets.census(600, seed=3)
    first = tclose.anonymize(frame, schema, method="mondrian", seed=1)
    first.write_partition(tmp_path / "classes.npz")
    assert (tmp_path / "classes.npz").stat().st_mode & 0o077 == 0
    start = tclose.Partition.load(tmp_path / "classes.npz")
    again = tclose.anonymize(frame, schema, method=tclose.Tight("fast"), seed=9, start=start, time=0)
    assert np.array_equal(first.classes, again.classes)
    assert again.loss == first.loss


def test_full_domain_levels_are_kept_too(tmp_path: Path) -> None:
    frame, schema = tclose.datasets.census(300, seed=3)
    keys = schema.as_dict()
    keys["quasi"] = {"sex": keys["quasi"]["sex"], "race": keys["quasi"]["race"]}
    frame = frame.select("sex", "race", "salary")
    keys["sensitive"]["salary"]["t"] = "0.5"
    first = tclose.anonymize(frame, keys, method="incognito", seed=1, allow_single_class=True)
    first.write_partition(tmp_path / "classes.npz")
    start = tclose.Partition.load(tmp_path / "classes.npz")
    assert start.levels == (first.partition and first.partition.levels)
    again = tclose.anonymize(frame, keys, method="incognito", start=start, time=0, allow_single_class=True)
    assert np.array_equal(first.classes, again.classes)


def test_classes_that_break_the_promise_are_not_released(tmp_path: Path) -> None:
    """A start that does not hold is no start: the method searches."""
    frame, schema = tclose.datasets.census(300, seed=3)
    alone = tclose.Partition.of(np.arange(300))
    release = tclose.anonymize(frame, schema, method="mondrian", start=alone, time=0)
    assert release.measured.k >= schema.k


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 broken"])
def test_a_file_without_classes_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(TableError, match="no classes"):
        tclose.Partition.load(tmp_path / "x.npz")


def test_an_archive_of_other_arrays_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", labels=np.array([0.5]), levels=np.array([]), facts=np.frombuffer(b"{}", np.uint8))
    with pytest.raises(TableError, match="no classes"):
        tclose.Partition.load(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", labels=np.array([object()], dtype=object))
    with pytest.raises(TableError, match="no classes"):
        tclose.Partition.load(tmp_path / "y.npz")


def test_damaged_files_are_refused_with_a_sentence(tmp_path: Path) -> None:
    """Whatever fails in unpacking them: deflate, a flag of the archive, what is nested in it."""
    rng, path = np.random.default_rng(1), tmp_path / "x.npz"
    good = np.frombuffer(tclose.Partition.of(rng.integers(0, 9, 60)).to_bytes(), np.uint8)
    refused = 0
    for _ in range(400):
        changed = good.copy()
        changed[rng.integers(0, len(good), 3)] = rng.integers(0, 256, 3)
        path.write_bytes(changed.tobytes())
        try:
            tclose.Partition.load(path)
        except TableError:
            refused += 1
    assert refused > 200


@pytest.mark.parametrize("other", [{"facts": b"[" * 100_000}, {"levels": np.array(5)}, {"levels": np.array(["x"])}])
def test_arrays_that_are_none_of_classes_are_refused(other: dict[str, Any], tmp_path: Path) -> None:
    levels, facts = other.get("levels", np.array([], np.int64)), np.frombuffer(other.get("facts", b"{}"), np.uint8)
    np.savez(tmp_path / "x.npz", labels=np.zeros(6, np.int64), levels=levels, facts=facts)
    with pytest.raises(TableError, match="no classes"):
        tclose.Partition.load(tmp_path / "x.npz")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices here")
def test_a_device_is_refused() -> None:
    with pytest.raises(TableError, match="no classes"):
        tclose.Partition.load("/dev/zero")


def test_the_command_keeps_and_takes_classes(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    frame, schema = tclose.datasets.census(300, seed=3)
    frame.write_csv(tmp_path / "data.csv")
    schema.save(tmp_path / "schema.toml")
    common = ("anonymize", "data.csv", "-s", "schema.toml", "--method", "mondrian", "--keep-order")
    assert run(*common, "-o", "one.csv", "--partition", "classes.npz")[0] == 0
    assert run(*common, "-o", "two.csv", "--start", "classes.npz", "--time", 0)[0] == 0
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert run(*common, "-o", "one.csv", "--partition", "one.csv")[0] == 2
    assert run(*common, "-o", "three.csv", "--start", "data.csv")[0] == 3
