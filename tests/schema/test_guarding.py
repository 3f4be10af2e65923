"""The guard: every error of another library becomes one of ours, a panic too, and quotes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.errors import MissingExtraError, SchemaError, TableError, ValuesError, VerificationError
from tclose.schema.guarding import guarded, read_small

SECRET = "SECRETCELL"


class PanicException(BaseException):
    """What pyo3 raises for a panic."""


def raising(error: BaseException) -> Callable[[], Any]:
    def action() -> Any:
        raise error

    return action


@pytest.mark.parametrize(
    "error", [ValueError(SECRET), KeyError(SECRET), RecursionError(), MemoryError(), PanicException(SECRET)], ids=repr
)
def test_whatever_is_raised_comes_out_as_ours(error: BaseException) -> None:
    with pytest.raises(SchemaError) as caught:
        guarded("It cannot be read", raising(error), SchemaError)
    assert str(caught.value) == f"It cannot be read ({type(error).__name__})."
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_no_trace_is_left_even_within_the_handling_of_another_error() -> None:
    try:
        raise ValueError(SECRET)
    except ValueError:
        with pytest.raises(TableError) as caught:
            guarded("It cannot be read", raising(KeyError(SECRET)))
    found: BaseException | None = caught.value
    while found is not None:
        assert not isinstance(found, KeyError)
        found = found.__context__


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(2), GeneratorExit()], ids=repr)
def test_an_interrupt_is_never_swallowed(error: BaseException) -> None:
    with pytest.raises(type(error)):
        guarded("It cannot be read", raising(error))


def test_our_errors_and_those_of_the_system_come_through() -> None:
    with pytest.raises(ValuesError):
        guarded("", raising(ValuesError("some", [], "")))
    with pytest.raises(VerificationError, match="some"):
        guarded("", raising(TableError("some")), VerificationError)
    with pytest.raises(PermissionError):
        guarded("", raising(PermissionError(13, "Permission denied", "file")))
    with pytest.raises(TableError, match="no file"):  # as polars says that a file is damaged
        guarded("This is no file", raising(OSError(SECRET)))
    with pytest.raises(MissingExtraError):
        guarded("", raising(ModuleNotFoundError(name="pyarrow")))


def test_a_panic_leaves_nothing_on_the_terminal(capfd: Any) -> None:
    def panic() -> None:
        os.write(2, SECRET.encode())
        raise PanicException

    with pytest.raises(TableError):
        guarded("It cannot be read", panic, silent=True)
    assert capfd.readouterr().err == ""


def test_what_others_say_meanwhile_comes_later(capfd: Any) -> None:
    assert guarded("", lambda: os.write(2, b"a warning"), silent=True) == 9
    with pytest.raises(TableError):
        guarded("", lambda: os.write(2, b", another") and [][0], silent=True)
    os.write(2, b", the end")
    assert capfd.readouterr().err == "a warning, another, the end"


def test_threads_do_not_wait_for_each_other() -> None:
    """One that is read while another is read, from within its thread: a lock would never come free."""
    done = []

    def outer() -> None:
        inner = threading.Thread(target=lambda: guarded("", lambda: done.append(1), silent=True))
        inner.start()
        inner.join(10)

    guarded("", outer, silent=True)
    assert done == [1]


def test_a_lazy_frame_that_fails_quotes_nothing(capfd: Any) -> None:
    frame = pl.LazyFrame({"age": ["20", SECRET], "ill": ["a", "b"]}).with_columns(pl.col("age").cast(pl.Int64))
    with pytest.raises(TableError, match="lazy frame cannot be collected") as caught:
        tclose.assess(frame, quasi=["age"], sensitive={"ill": 1.0})
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in capfd.readouterr().err


def test_a_lazy_frame_that_panics_is_an_error(capfd: Any) -> None:
    def panic(_frame: pl.DataFrame) -> pl.DataFrame:
        raise PanicException(SECRET)

    with pytest.raises(TableError):
        tclose.assess(pl.LazyFrame({"age": [1]}).map_batches(panic), quasi=["age"])
    assert SECRET not in capfd.readouterr().err


# Files that people write


def test_an_ordinary_file_is_read_and_its_mark_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfk = 2")
    assert read_small(tmp_path / "a", "Schema") == "k = 2"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/null", "/dev/full"])
def test_a_device_has_no_end_and_is_refused(device: str, tmp_path: Path) -> None:
    if not Path(device).exists():
        pytest.skip("there is no such device here")
    with pytest.raises(SchemaError, match="not an ordinary file"):
        tclose.Schema.load(device)
    keys = {"k": 2, "quasi": {"a": {"kind": "categorical", "hierarchy": device}}}
    with pytest.raises(SchemaError, match="not an ordinary file"):
        tclose.Schema.from_dict(keys)
    keys = {"k": 2, "quasi": {"a": {"kind": "numeric"}}, "sensitive": {"b": {"distance": "matrix", "matrix": device}}}
    with pytest.raises(SchemaError, match="not an ordinary file"):
        tclose.Schema.from_dict(keys)
    frame = pl.DataFrame({"a": [1, 1]})
    verdict = tclose.verify(frame, {"k": 2, "quasi": {"a": {"kind": "numeric"}}}, certificate=device)
    assert not verdict.holds


def test_a_pipe_is_a_schema_if_one_is_named_and_never_a_hierarchy(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SchemaError, match="not an ordinary file"):  # and nobody waits for whoever writes to it
        tclose.Hierarchy.read(pipe)
    writer = subprocess.Popen(
        [sys.executable, "-c", f"open({str(pipe)!r}, 'w').write('k = 2\\n[quasi.a]\\nkind=\"text\"')"]
    )
    assert tclose.Schema.load(pipe).k == 2
    assert writer.wait() == 0


def test_what_cannot_be_a_file_of_a_person(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="is a folder"):
        read_small(tmp_path, "Schema")
    with pytest.raises(SchemaError, match="No such file"):
        read_small(tmp_path / "absent", "Schema")
    with pytest.raises(SchemaError, match="no name of a file"):
        read_small(Path("a\0b"), "Schema")
    (tmp_path / "large").write_bytes(b"x" * (2 << 20))
    with pytest.raises(SchemaError, match="larger than 1 MiB"):
        read_small(tmp_path / "large", "Schema", most=1 << 20)
    (tmp_path / "latin").write_bytes(f"{SECRET} \xe4".encode("latin-1"))
    with pytest.raises(SchemaError, match="not UTF-8") as caught:
        read_small(tmp_path / "latin", "Schema")
    assert caught.value.__context__ is None  # a UnicodeDecodeError holds all bytes


# What a parser would take long for, or quote


@pytest.mark.parametrize("text", ["a." * 50_000 + "a = 1", f"[{'a.' * 50_000}a]", '"a" . ' * 100 + "a = 1"], ids=len)
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("\n" + text, encoding="utf-8")
    with pytest.raises(SchemaError, match="line 2 has a key of more than 64 parts"):
        tclose.Schema.load(tmp_path / "s.toml")


@pytest.mark.parametrize("text", [f"x = {{'{SECRET}' = 1, '{SECRET}' = 2}}", f"['{SECRET}']\n['{SECRET}']"])
def test_what_is_wrong_with_toml_is_told_by_its_place(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=r"not valid TOML: .* line") as caught:
        tclose.Schema.load(tmp_path / "s.toml")
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_schema_with_very_many_problems_names_the_first(tmp_path: Path) -> None:
    with pytest.raises(SchemaError) as caught:
        tclose.Schema.from_dict({f"colour{place}": 1 for place in range(5_000)})
    lines = str(caught.value).split("\n")
    assert len(lines) == 22
    assert lines[-1].endswith("more.")
