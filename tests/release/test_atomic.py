"""Writing is atomic: whatever happens, there is a complete and verified release, or what was there before."""

import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import starmap
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.cli.main import main
from tclose.errors import TcloseError, VerificationError
from tclose.release import release as module
from tclose.release import writing
from tclose.release.certificate import certificate_path
from tclose.release.release import Release
from tclose.schema.schema import Schema
from tclose.table.coded import as_text
from tclose.table.source import file_digest
from tclose.verification.judge_release import check_release
from tests.seeds import one_in
from tests.strategies import as_csv, people, promise, run

FORK = multiprocessing.get_context("forkserver")  # a child in milliseconds, without the threads of this process
FORK.set_forkserver_preload(
    ["tests.release.test_atomic", "tclose.pipeline", "tclose.algorithms.mondrian.mondrian_loops", "rich.progress"]
)

Write = Callable[[pl.DataFrame, Path, str, Schema], None]


class InjectedError(Exception):
    """Raised by what is put in the place of a step of writing."""


def made(folder: Path, n: int = 12) -> Release:
    """A release of `n` rows; its schema is put into the folder."""
    schema = folder / "schema.toml"
    schema.write_text(promise(), encoding="utf-8")
    return tclose.anonymize(pl.DataFrame(people(n)), Schema.load(schema), method="mondrian")


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return made(tmp_path)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where to write, in a folder of its own."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "release.csv"


def files(folder: Path) -> dict[str, bytes]:
    """All that lies in a folder, hidden files too."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def temporaries(target: Path) -> list[str]:
    return [path.name for path in target.parent.glob(".*.tmp*")]


def is_complete(target: Path, certified: bool = True) -> bool:
    """Whether there is a release that keeps its promise with its own certificate beside it, or none of both.

    Two files cannot be put in one step: a killed process may leave a release that is whole and has no
    certificate yet (`certified` False), but never one with the certificate of another.
    """
    beside = certificate_path(target)
    if not target.exists():
        return not beside.exists()
    keeps = run("verify", target, "-s", target.parent.parent / "schema.toml").code == 0
    return keeps and (beside.exists() or not certified)


# A step that fails.


def fail_at(
    patch: pytest.MonkeyPatch, owner: Any, name: str, call: int, error: BaseException, after: bool, dead: list[bool]
) -> None:
    """Let the call of this number raise, before or after it did its work."""
    original, calls = getattr(owner, name), iter(range(1, 100))

    def failing(*arguments: Any, **keys: Any) -> Any:
        hit = next(calls) == call
        if hit:
            dead.append(True)
        if hit and not after:
            raise error
        result = original(*arguments, **keys)
        if hit:
            raise error
        return result

    patch.setattr(owner, name, failing)


def write_failing(
    release: Release, target: Path, step: tuple[Any, str, int], *, error: BaseException | None = None,
    after: bool = False, killed: bool = False, record: Path | None = None,
) -> None:  # fmt: skip
    """Write a release with a step that fails; a killed process does nothing any more from then on."""
    dead: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        fail_at(patch, *step, error or InjectedError(), after, dead)
        for owner, name in ((Path, "unlink"), (os, "replace")) if killed else ():
            alive = getattr(owner, name)
            patch.setattr(owner, name, lambda *given, alive=alive: None if dead else alive(*given))
        release.write(target, record=record)


STEPS = [
    pytest.param((module, "write_frame", 1), id="release-not-written"),
    pytest.param((writing, "read", 1), id="not-read-back"),
    pytest.param((writing, "check_release", 1), id="not-verified"),
    pytest.param((module, "file_digest", 1), id="not-hashed"),
    pytest.param((Path, "write_bytes", 1), id="certificate-not-written"),
    pytest.param((os, "chmod", 1), id="release-not-opened"),
    pytest.param((os, "chmod", 2), id="certificate-not-opened"),
    pytest.param((os, "fsync", 1), id="release-not-synced"),
    pytest.param((os, "fsync", 2), id="certificate-not-synced"),
    pytest.param((os, "fsync", 3), id="folder-not-synced-first"),
    pytest.param((os, "replace", 1), id="release-not-put"),
    pytest.param((os, "fsync", 4), id="folder-not-synced-next"),
    pytest.param((os, "replace", 2), id="certificate-not-put"),
]


@pytest.mark.parametrize("killed", [False, True], ids=["raises", "killed"])
@pytest.mark.parametrize("existing", [False, True], ids=["fresh", "existing"])
@pytest.mark.parametrize("step", one_in(3, STEPS))
def test_a_step_that_fails_leaves_all_or_what_was_there(
    step: tuple[Any, str, int], existing: bool, killed: bool, release: Release, target: Path, tmp_path: Path
) -> None:
    if existing:
        made(tmp_path, 24).write(target)
    with pytest.raises((InjectedError, TcloseError)):
        write_failing(release, target, step, killed=killed)
    assert killed or not temporaries(target)
    assert target.exists() or not existing
    assert is_complete(target, certified=not killed)


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()], ids=repr
)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_whatever_is_raised_once_it_is_written_nothing_is_left(
    suffix: str, error: BaseException, release: Release, target: Path
) -> None:
    with pytest.raises((type(error), TcloseError)):
        write_failing(
            release, target.with_name(f"release{suffix}"), (module, "write_frame", 1), error=error, after=True
        )
    assert files(target.parent) == {}


def test_a_write_that_failed_can_be_tried_again(release: Release, target: Path) -> None:
    with pytest.raises(InjectedError):
        write_failing(release, target, (writing, "check_release", 1), killed=True)
    assert len(temporaries(target)) == 2
    release.write(target)
    assert is_complete(target)
    assert sorted(files(target.parent)) == [target.name, certificate_path(target).name]


@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_file_that_cannot_be_put_leaves_release_certificate_and_record_as_they_were(
    after: bool, call: int, release: Release, target: Path, tmp_path: Path
) -> None:
    record = target.with_name("record.json")
    made(tmp_path, 24).write(target, record=record)
    before = files(target.parent)
    with pytest.raises(InjectedError):
        write_failing(release, target, (os, "replace", call), record=record, after=after)
    assert files(target.parent) == before


def test_at_no_step_does_a_certificate_lie_beside_the_file_of_another(
    release: Release, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at before and after every change of a name: when all goes well, and on the way back."""
    made(tmp_path, 24).write(target)
    seen: list[bool | None] = []

    def look() -> None:
        beside = certificate_path(target)
        told = json.loads(beside.read_text(encoding="utf-8"))["sha256"] if beside.exists() else None
        seen.append(None if told is None else told == file_digest(target))

    def watched(original: Callable[..., Any], failing: list[int]) -> Callable[..., Any]:
        def stepping(*arguments: Any, **keys: Any) -> Any:
            look()
            result = original(*arguments, **keys)
            look()
            if failing and len(seen) >= failing[0]:
                failing.clear()
                raise InjectedError
            return result

        return stepping

    for at in range(0, 18):
        failing = [at] if at else []
        with monkeypatch.context() as patch:
            for name in ("replace", "unlink", "fsync"):
                patch.setattr(os, name, watched(getattr(os, name), failing))
            patch.setattr(Path, "unlink", watched(Path.unlink, failing))
            seen.clear()
            try:
                release.write(target)
            except InjectedError:
                assert is_complete(target)
        assert seen
        assert None in seen or at
        assert False not in seen


@pytest.mark.parametrize("linked", [True, False], ids=["file", "link"])
def test_what_a_failed_write_restores_is_what_was_there(linked: bool, release: Release, target: Path) -> None:
    """Not a copy of it: a link stays one, and a file system without second names is no obstacle."""
    (target.parent / "kept.csv").write_text("kept")
    target.symlink_to("kept.csv")
    with pytest.MonkeyPatch.context() as patch:
        if not linked:
            patch.setattr(os, "link", lambda *_arguments, **_keys: (_ for _ in ()).throw(OSError(1, "no links")))
        with pytest.raises(InjectedError):
            write_failing(release, target, (os, "replace", 1), after=True)
    assert target.is_symlink()
    assert files(target.parent) == {"kept.csv": b"kept", target.name: b"kept"}


def test_a_folder_in_the_place_of_the_release_leaves_no_certificate(release: Release, target: Path) -> None:
    target.mkdir()
    with pytest.raises(OSError, match=target.name):
        release.write(target)
    assert [path.name for path in target.parent.iterdir()] == [target.name]


@pytest.mark.parametrize(
    ("output", "record"),
    [
        ("release.csv", "release.csv"),
        ("release.csv", "release.csv.certificate.json"),
        ("release.csv", "data.csv"),
        pytest.param("release.csv", "schema.toml"),
        ("data.csv", "record.json"),
    ],
)
def test_no_file_takes_the_place_of_another(output: str, record: str, tmp_path: Path) -> None:
    data, schema = tmp_path / "data.csv", tmp_path / "schema.toml"
    data.write_bytes(as_csv(people()))
    schema.write_text(promise(), encoding="utf-8")
    before = files(tmp_path)
    ended = run("anonymize", data, "-s", schema, "-o", tmp_path / output, "--record", tmp_path / record)
    assert ended.code == 2
    assert files(tmp_path) == before


# A file that does not hold what was written.


def instead(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Write], Write]:
    """Write another table than the one given; its rows come in a fixed order."""

    def mutant(write: Write) -> Write:
        return lambda frame, *rest: write(change(as_text(frame).sort(frame.columns)), *rest)

    return mutant


def damaged(change: Callable[[bytes], bytes]) -> Callable[[Write], Write]:
    """Damage the file after it was written."""

    def mutant(write: Write) -> Write:
        def damaging(frame: pl.DataFrame, path: Path, suffix: str, schema: Schema) -> None:
            write(frame, path, suffix, schema)
            path.write_bytes(change(path.read_bytes()))

        return damaging

    return mutant


def values_swapped(first: tuple[str, str], second: tuple[str, str]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Swap the diseases of two rows, each given by age and disease, so that the whole table stays as it is."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        values, pairs = frame["disease"].to_list(), list(zip(frame["age"], frame["disease"], strict=True))
        one, other = pairs.index(first), pairs.index(second)
        values[one], values[other] = values[other], values[one]
        return frame.with_columns(disease=pl.Series(values))

    return change


def first_set(column: str, value: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Set a cell of the first row."""
    return lambda frame: frame.with_columns(pl.Series(column, [value, *frame[column][1:]]))


# The classes are [20, 22] and [26, 28] with two of flu and a cold, [23, 25] and [29, 31] with two colds and a flu.
ONE_SIDED = values_swapped(("[20, 22]", "cold"), ("[23, 25]", "flu"))
MIRRORED = values_swapped(("[20, 22]", "flu"), ("[23, 25]", "cold"))
CHANGED = {
    "row-moved": instead(first_set("age", "[23, 25]")),
    "value-changed": instead(first_set("disease", "flu")),
    "values-swapped": instead(ONE_SIDED),
    "row-lost": instead(lambda frame: frame.slice(1)),
    "row-twice": instead(lambda frame: pl.concat([frame, frame[:1]])),
    "identifier-added": instead(lambda frame: frame.with_row_index("name")),
}
UNREADABLE = {
    "no-rows": instead(lambda frame: frame.head(0)),
    "column-lost": instead(lambda frame: frame.drop("disease")),
    "column-added": instead(lambda frame: frame.with_row_index("row")),
    "file-emptied": damaged(lambda data: b""),
    "file-cut": damaged(lambda data: data[: len(data) // 2]),
    "end-cut": damaged(lambda data: data[:-8]),
    "end-twice": damaged(lambda data: data + data[-9:]),
}
ALIKE = {
    "values-swapped-to-the-mirror-image": instead(MIRRORED),
    "class-renamed": instead(lambda frame: frame.with_columns(pl.col("age").replace({"[20, 22]": "[0, 1]"}))),
    "kept-changed": instead(lambda frame: frame.with_columns(site=pl.lit("elsewhere"))),
}


def write_mutant(mutant: Callable[[Write], Write], tmp_path: Path, target: Path) -> None:
    """Release a table with a kept column and an identifier, and write something else."""
    schema = tmp_path / "schema.toml"
    schema.write_text(promise(keep=["site"], identifiers=["name"]), encoding="utf-8")
    table = pl.DataFrame(people(site=["here"] * 12, name=[f"person {row}" for row in range(12)]))
    release = tclose.anonymize(table, Schema.load(schema), method="mondrian")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "write_frame", mutant(writing.write_frame))
        release.write(target)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize(
    "mutant",
    [
        *(pytest.param(mutant, id=name) for name, mutant in (CHANGED | UNREADABLE).items()),
        *(pytest.param(mutant, id=name) for name, mutant in ALIKE.items()),
    ],
)
def test_of_a_file_that_does_not_hold_the_release_nothing_is_left(
    mutant: Callable[[Write], Write], suffix: str, target: Path, tmp_path: Path
) -> None:
    with pytest.raises(TcloseError):
        write_mutant(mutant, tmp_path, target.with_name(f"release{suffix}"))
    assert files(target.parent) == {}


@pytest.mark.parametrize(
    "mutant",
    [
        *(pytest.param(mutant, id=name) for name, mutant in CHANGED.items()),
        *(pytest.param(mutant, id=name) for name, mutant in UNREADABLE.items()),
    ],
)
def test_that_a_file_does_not_hold_the_release_is_a_failed_verification(
    mutant: Callable[[Write], Write], target: Path, tmp_path: Path
) -> None:
    with pytest.raises(VerificationError):
        write_mutant(mutant, tmp_path, target)


# In a process of its own.


def child(arguments: list[str], limit: int | None = None, told: Connection | None = None) -> None:
    """Run the command line, writing no file beyond `limit` bytes; tells exit code and messages."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))  # Python ignores SIGXFSZ, so writing fails
    sys.argv = ["tclose", *arguments]
    out, err = io.StringIO(), io.StringIO()
    code: Any = None
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    if told is not None:
        told.send((code, err.getvalue()))


@pytest.fixture
def arguments(target: Path, tmp_path: Path) -> list[str]:
    """Those of `anonymize`, for a table of 3,000 rows."""
    (tmp_path / "data.csv").write_bytes(as_csv(people(3_000)))
    (tmp_path / "schema.toml").write_text(promise(), encoding="utf-8")
    files = [str(tmp_path / "data.csv"), "-s", str(tmp_path / "schema.toml"), "-o", str(target)]
    return ["anonymize", "--method", "mondrian", *files]


def on_a_full_disk(arguments: list[str], target: Path, limit: int) -> tuple[int, str]:
    """Exit code and messages where no file can grow beyond `limit` bytes."""
    told, tell = FORK.Pipe(duplex=False)
    process = FORK.Process(target=child, args=([*arguments[:-1], str(target)], limit, tell))
    process.start()
    tell.close()
    code, err = told.recv()
    process.join()
    return code, err


@pytest.mark.parametrize(
    ("limit", "suffix"),
    one_in(4, starmap(pytest.param, [(0, ".csv"), (20_000, ".csv"), (1_000, ".csv.gz"), (1_000, ".parquet")])),
)
def test_a_full_disk_leaves_what_was_there(
    limit: int, suffix: str, arguments: list[str], target: Path, tmp_path: Path
) -> None:
    target = target.with_name(f"release{suffix}")
    made(tmp_path, 24).write(target)
    before = files(target.parent)
    code, err = on_a_full_disk(arguments, target, limit)
    assert code
    assert "Error: " in err
    assert files(target.parent) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "suffix"),
    [
        pytest.param(3_000, ".csv"),
        pytest.param(3_000, ".parquet"),
        pytest.param(12, ".csv", id="certificate-only"),
    ],
)
def test_a_full_disk_is_told_as_one(rows: int, suffix: str, arguments: list[str], target: Path, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(as_csv(people(rows)))
    code, err = on_a_full_disk(arguments, target.with_name(f"release{suffix}"), 500)
    assert code == 1, err
    assert "File too large" in err
    assert files(target.parent) == {}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs a mount of its own")
def test_a_full_file_system_leaves_nothing(arguments: list[str], target: Path) -> None:
    private = ["unshare", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=32k tmpfs '{target.parent}'"  # seen by these processes only
    if subprocess.run([*private, mount], capture_output=True).returncode:
        pytest.skip("mounting is not allowed")
    command = f'{mount} && "$@"; echo "ended $?"; ls -A \'{target.parent}\''
    start = [sys.executable, "-c", "from tclose.cli.main import main; main()"]
    ended = subprocess.run([*private, command, "sh", *start, *arguments], capture_output=True, text=True)
    assert ended.stdout == "ended 1\n", ended.stderr
    assert "Error: " in ended.stderr
    assert "Traceback" not in ended.stderr


def killed_at_random(arguments: list[str], rounds: int, chance: random.Random) -> Iterator[None]:
    """Start `anonymize` again and again, and kill it: at any time, or soon after a temporary file is seen."""
    folder = Path(arguments[-1]).parent
    started = time.perf_counter()
    process = FORK.Process(target=child, args=(arguments,))
    process.start()
    process.join()
    duration = time.perf_counter() - started
    assert process.exitcode == 0
    for turn in range(rounds):
        known = set(os.listdir(folder))
        process = FORK.Process(target=child, args=(arguments,))
        process.start()
        if turn % 2:
            while process.is_alive() and set(os.listdir(folder)) == known:
                time.sleep(0.0005)
            time.sleep(chance.uniform(0, 0.02))
        else:
            time.sleep(chance.uniform(0, duration))
        process.kill()
        process.join()
        yield


@pytest.mark.parametrize("existing", [False, True], ids=["fresh", "existing"])
@pytest.mark.parametrize("rounds", [6, pytest.param(16, marks=pytest.mark.slow)])
@pytest.mark.everyday(1)
def test_a_killed_run_leaves_a_complete_release_or_what_was_there(
    rounds: int, existing: bool, arguments: list[str], target: Path, tmp_path: Path
) -> None:
    """The release alone is judged here; whether it and its certificate belong together, above."""
    older, alone = tmp_path / "older.csv", tmp_path / "alone.csv"
    made(tmp_path, 24).write(older)
    for _ in killed_at_random(arguments, rounds, random.Random(rounds)):
        assert target.exists() or not existing
        if target.exists() and target.read_bytes() != older.read_bytes():
            shutil.copy(target, alone)
            assert alone.read_bytes().count(b"\n") == 3_001
            assert run("verify", alone, "-s", tmp_path / "schema.toml").code == 0
        for path in target.parent.iterdir():
            path.unlink()
        if existing:
            shutil.copy(older, target)


@pytest.mark.slow
def test_what_killed_runs_left_is_removed_by_the_next(arguments: list[str], target: Path) -> None:
    for turn, _ in enumerate(killed_at_random(arguments, 2, random.Random(5))):
        assert turn < 2
    target.with_name(".other.csv.0123456789abcdef.tmp").touch()  # of another target, which may be at work
    process = FORK.Process(target=child, args=(arguments,))
    process.start()
    process.join()
    kept = [".other.csv.0123456789abcdef.tmp", target.name, certificate_path(target).name]
    assert sorted(files(target.parent)) == kept


# Who may read and write.


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077, 0o000], ids=oct)
@pytest.mark.parametrize("existing", [False, True], ids=["fresh", "existing"])
def test_release_and_certificate_are_as_open_as_the_mask_and_the_record_is_closed(
    existing: bool, mask: int, release: Release, target: Path
) -> None:
    beside, record = certificate_path(target), target.with_name("record.json")
    if existing:
        for path in (target, beside, record):
            path.write_text("{}", encoding="utf-8")
            path.chmod(0o644)
    before = os.umask(mask)
    try:
        release.write(target, record=record)
    finally:
        after = os.umask(before)
    assert after == mask
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (target, beside, record)}
    assert modes == {target.name: 0o666 & ~mask, beside.name: 0o666 & ~mask, record.name: 0o600}


def test_as_long_as_it_is_not_verified_only_its_owner_can_read_it(
    release: Release, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def looking(*arguments: Any) -> Any:
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in target.parent.iterdir())
        return check_release(*arguments)

    monkeypatch.setattr(writing, "check_release", looking)
    release.write(target)
    assert seen == [0o600] * 4  # release and certificate, and the lock of each


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_told_by_name(arguments: list[str], target: Path) -> None:
    target.parent.chmod(0o500)
    try:
        ended = run(*arguments)
    finally:
        target.parent.chmod(0o700)
    assert ended.code == 1
    assert f"Permission denied, in the folder: {target.parent.name}." in ended.err
    assert files(target.parent) == {}


def test_the_certificate_is_that_of_the_file(release: Release, target: Path) -> None:
    told = release.write(target).certificate
    written = json.loads(certificate_path(target).read_text(encoding="utf-8"))
    assert written == told.as_dict()
    assert (written["file"], written["sha256"]) == (target.name, file_digest(target))
