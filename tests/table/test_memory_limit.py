"""The memory there is, and files that need more of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tclose.errors import TableError
from tclose.table import csv_files, memory_limit, parquet_files
from tclose.table.csv_files import read_csv
from tclose.table.memory_limit import UNKNOWN, most_memory
from tclose.table.parquet_files import read_parquet

GIB = 1 << 30


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory_limit, "CONTROL_GROUPS", (tmp_path / "absent", limit))
    limit.write_text("max\n")
    unlimited = most_memory()
    assert GIB // 4 < unlimited <= UNKNOWN
    limit.write_text("1048576\n")
    assert most_memory() == 1 << 20


def test_the_limit_of_the_process_counts() -> None:
    resource = pytest.importorskip("resource")
    lines = [
        "import resource",
        "from tclose.table.memory_limit import most_memory",  # which needs more than the limit, before it is set
        f"resource.setrlimit(resource.RLIMIT_AS, ({GIB}, {resource.RLIM_INFINITY}))",
        "print(most_memory())",
    ]
    ended = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert int(ended.stdout) <= GIB


def test_a_small_parquet_file_of_very_many_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, n_rows = tmp_path / "bomb.parquet", 1_000_000
    pl.select(*(pl.repeat("x", n_rows).alias(f"q{place}") for place in range(9))).write_parquet(path)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(parquet_files, "most_memory", lambda: n_rows * (16 + 3 * 8))
    source = read_parquet(path)
    for name in ("q0", "q1", "q0", "q2", "q1"):  # a column that is read again takes no more
        assert len(source.column(name)) == n_rows
    with pytest.raises(TableError, match=r"'bomb.parquet' has 1,000,000 rows, of which 4 columns take at least 45 MiB"):
        source.column("q3")
    made = read_parquet(path, made_here=True)
    assert all(len(made.column(name)) == n_rows for name in made.names)


def test_what_is_known_to_fit_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "most_memory", lambda: 24 * GIB)
    parquet_files._check_memory("large.parquet", 50_000_000, 10)
    monkeypatch.setattr(parquet_files, "most_memory", lambda: 6 * GIB)
    parquet_files._check_memory("large.parquet", 50_000_000, 10)


def test_a_csv_file_larger_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000, encoding="utf-8")
    monkeypatch.setattr(csv_files, "most_memory", lambda: 1000)
    with pytest.raises(TableError, match="larger than the memory that this process may take"):
        read_csv(path, ",", "utf-8", zipped=False)
