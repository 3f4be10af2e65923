"""Outputs in files: what the checkpoint does not know of stops the stream, and nothing published is cut off."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tclose.errors import BusyError, TableError
from tclose.stream.envelope import MAGIC
from tclose.stream.feeds import FileFeed, LineTargets, StreamEnding, run
from tclose.stream.feeds.durable import Appended
from tests.stream.feeding import STEP, WINDOW, go, lines, put_in, schema, settings, targets, written

ROWS = 150
PAUSE = StreamEnding(pause=True)
LAST = "Put the last"


def twice(folder: Path, given: list[bytes], output: str = "out.jsonl") -> None:
    """A stream that stopped, got further rows, released more, and stopped again; the checkpoint in between is kept."""
    put_in(folder, given[:80])
    go(folder, ending=PAUSE, output=output)
    shutil.copy(folder / "state", folder / "old")
    put_in(folder, given[:130])
    go(folder, ending=PAUSE, output=output)


def content(folder: Path, output: str = "out.jsonl") -> dict[str, bytes]:
    return {**written(folder, output), "state": (folder / "state").read_bytes()}


def refused(folder: Path, match: str, **options: Any) -> None:
    """The stream stops, and not a byte is different."""
    output = options.get("output", "out.jsonl")
    before = content(folder, output)
    with pytest.raises(TableError, match=match):
        go(folder, **options)
    assert content(folder, output) == before


class TestOldCopies:
    def test_an_older_checkpoint_with_an_input_that_has_grown(
        self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]
    ) -> None:
        """It would release rows again in other classes. The last one, put back, goes on as if nothing had been."""
        twice(tmp_path, given)
        put_in(tmp_path, given)
        shutil.copy(tmp_path / "state", tmp_path / "last")
        shutil.copy(tmp_path / "old", tmp_path / "state")
        refused(tmp_path, f"older copy.*{LAST} checkpoint back")
        shutil.copy(tmp_path / "last", tmp_path / "state")
        go(tmp_path)
        assert written(tmp_path) == reference

    @pytest.mark.parametrize("mark", ["gone", "old"])
    def test_nor_if_the_mark_is_as_old(self, mark: str, tmp_path: Path, given: list[bytes]) -> None:
        twice(tmp_path, given)
        put_in(tmp_path, given)
        shutil.copy(tmp_path / "old", tmp_path / "state")
        path = tmp_path / ".out.jsonl.stream"
        path.unlink() if mark == "gone" else path.write_text(
            json.dumps({**json.loads(path.read_text()), "generation": 2})
        )
        refused(tmp_path, "is gone" if mark == "gone" else "older copy|more than the checkpoint knows")

    def test_nor_when_the_stream_has_ended_since(self, tmp_path: Path, given: list[bytes]) -> None:
        """Gone on with from the older one, its last rows would not be the last any more, and be in other classes."""
        put_in(tmp_path, given[:80])
        go(tmp_path, ending=PAUSE)
        shutil.copy(tmp_path / "state", tmp_path / "old")
        go(tmp_path)
        shutil.copy(tmp_path / "old", tmp_path / "state")
        put_in(tmp_path, given)
        refused(tmp_path, "older copy")

    def test_a_damaged_checkpoint_and_the_advice(
        self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]
    ) -> None:
        twice(tmp_path, given)
        put_in(tmp_path, given)
        last = (tmp_path / "state").read_bytes()
        (tmp_path / "state").write_bytes(last[:-1] + b"\0")
        refused(tmp_path, "damaged. Put back a copy of it that is as it was written last; an older copy is refused")
        (tmp_path / "state").write_bytes(last)
        go(tmp_path)
        assert written(tmp_path) == reference

    def test_standard_output(self, tmp_path: Path, given: list[bytes]) -> None:
        """Nobody can ask it what it got: the mark lies beside the checkpoint."""

        def stream(rows: list[bytes]) -> None:
            put_in(tmp_path, rows)
            feed = FileFeed(schema(), tmp_path / "in.jsonl", LineTargets(checkpoint=tmp_path / "state"))
            run(feed, schema(), settings(), PAUSE)

        stream(given[:80])
        old = (tmp_path / "state").read_bytes()
        stream(given[:130])
        (tmp_path / "state").write_bytes(old)
        with pytest.raises(TableError, match="older copy"):
            stream(given)

    def test_outputs_put_back_from_an_older_copy(self, tmp_path: Path, given: list[bytes]) -> None:
        put_in(tmp_path / "now", given[:80])
        go(tmp_path / "now", ending=PAUSE)
        shutil.copytree(tmp_path / "now", tmp_path / "then")
        put_in(tmp_path / "now", given[:130])
        go(tmp_path / "now", ending=PAUSE)
        for name in ("out.jsonl", ".out.jsonl.stream"):
            shutil.copy(tmp_path / "then" / name, tmp_path / "now" / name)
        refused(tmp_path / "now", "older than the checkpoint")
        shutil.copy(tmp_path / "then" / "state", tmp_path / "now" / "state")
        refused(tmp_path / "now", "'rejected' holds more")  # the dead letters are not of that time
        (tmp_path / "then" / "in.jsonl").write_bytes(b"".join(line + b"\n" for line in given))
        go(tmp_path / "then")  # all of it is

    @pytest.mark.parametrize("version", [1, 2])
    def test_a_checkpoint_of_an_earlier_version(self, version: int, tmp_path: Path, given: list[bytes]) -> None:
        twice(tmp_path, given)
        data = (tmp_path / "state").read_bytes()
        (tmp_path / "state").write_bytes(f"tclose stream {version}\n".encode() + data[len(MAGIC) :])
        refused(tmp_path, "earlier version of tclose.*End the stream with that version")


class TestOthersRows:
    @pytest.mark.parametrize("name", ["out.jsonl", "rejected", "certificates", "ledger"])
    def test_lines_that_were_appended_or_edited(self, name: str, tmp_path: Path, given: list[bytes]) -> None:
        twice(tmp_path, given)
        path = tmp_path / name
        data = path.read_bytes()
        for wrong, match in (
            (data + b'{"class": 0}\n', "holds more than the checkpoint knows of. Nothing is cut off"),
            (data + b"\0", "holds more"),
            (data.replace(b'"', b"'", 1), "was changed since"),
            (data[: len(data) // 4], "shorter"),
        ):
            path.write_bytes(wrong)
            refused(tmp_path, match)
        path.write_bytes(data)
        go(tmp_path, ending=PAUSE)

    @pytest.mark.slow
    def test_a_torn_write_is_completed(
        self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Any beginning of what was to be appended, and nothing but that."""
        append = Appended.append

        def dying(self: Appended, data: bytes) -> None:
            if b'"class"' in data:
                raise OSError("the disk is gone")
            append(self, data)

        put_in(tmp_path, given)
        with monkeypatch.context() as patch:
            patch.setattr(Appended, "append", dying)
            with pytest.raises(OSError, match="disk"):
                go(tmp_path)
        shutil.copytree(tmp_path, tmp_path / "torn", ignore=lambda *_: {"torn"})
        whole = reference["output out.jsonl"]
        for length in (0, 1, 17, whole.index(b"\n") + 1):
            shutil.copytree(tmp_path / "torn", tmp_path / f"{length}")
            (tmp_path / f"{length}" / "out.jsonl").write_bytes(whole[:length])
            go(tmp_path / f"{length}")
            assert written(tmp_path / f"{length}") == reference
        (tmp_path / "torn" / "out.jsonl").write_bytes(whole[:17] + b"x")
        refused(tmp_path / "torn", "holds more")

    def test_a_file_that_changes_while_the_stream_runs(self, tmp_path: Path, given: list[bytes]) -> None:
        put_in(tmp_path, given)

        def meddle() -> bool:
            path = tmp_path / "out.jsonl"
            if path.exists() and path.stat().st_size:
                with path.open("ab") as file:
                    file.write(b"more\n")
            return False

        with pytest.raises(TableError, match="changed by another program"):
            go(tmp_path, ending=StreamEnding(stop=meddle))


class TestTwoStreams:
    def test_one_output_and_two_checkpoints(
        self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]
    ) -> None:
        """The other comes while the first has released nothing yet, and when it has; the first goes on."""
        for rows in (given[:20], given[:80]):
            put_in(tmp_path, rows)
            go(tmp_path, ending=PAUSE)
            where = LineTargets(output=tmp_path / "out.jsonl", checkpoint=tmp_path / "other")
            with pytest.raises(TableError, match=r"'out\.jsonl' (belongs to another stream|is there already)"):
                run(FileFeed(schema(), tmp_path / "in.jsonl", where), schema(), settings(3))
        put_in(tmp_path, given)
        go(tmp_path)
        assert written(tmp_path) == reference

    @pytest.mark.parametrize("name", ["rejected", "certificates", "ledger"])
    def test_other_files_too(self, name: str, tmp_path: Path) -> None:
        put_in(tmp_path, lines(10, broken=False))
        go(tmp_path, ending=PAUSE)
        (tmp_path / name).write_bytes(b"")  # as dead letters often are
        others: dict[str, Any] = {name: tmp_path / name}
        feed = FileFeed(schema(), tmp_path / "in.jsonl", LineTargets(**others))
        with pytest.raises(TableError, match=f"'{name}' belongs to another stream"):
            run(feed, schema(), settings())

    def test_an_output_of_another_stream_in_its_place(self, tmp_path: Path, given: list[bytes]) -> None:
        for name in ("one", "two"):
            put_in(tmp_path / name, given[:80])
            go(tmp_path / name, ending=PAUSE)
        for name in ("out.jsonl", ".out.jsonl.stream"):
            shutil.copy(tmp_path / "two" / name, tmp_path / "one" / name)
        refused(tmp_path / "one", r"'out\.jsonl' belongs to another stream than the checkpoint")

    def test_at_the_same_time(self, tmp_path: Path, given: list[bytes]) -> None:
        """Under another name of the output, too."""
        (tmp_path / "link.jsonl").symlink_to(tmp_path / "out.jsonl")
        put_in(tmp_path, given)
        one = FileFeed(schema(), tmp_path / "in.jsonl", targets(tmp_path))
        one.open()
        where = LineTargets(output=tmp_path / "link.jsonl", checkpoint=tmp_path / "other")
        two = FileFeed(schema(), tmp_path / "in.jsonl", where)
        with pytest.raises(BusyError, match="is being written"):
            run(two, schema(), settings())
        one.close()

    @pytest.mark.slow
    def test_processes_at_the_same_time(self, tmp_path: Path, given: list[bytes]) -> None:
        put_in(tmp_path, given)
        schema().save(tmp_path / "schema.toml")
        command = [sys.executable, "-c", "from tclose.cli.main import main; main()", "stream"]
        command += ["-s", str(tmp_path / "schema.toml"), "--window", str(WINDOW), "--step", str(STEP)]
        command += ["--output", str(tmp_path / "out.jsonl"), "--checkpoint", str(tmp_path / "other")]
        one = FileFeed(schema(), tmp_path / "in.jsonl", targets(tmp_path))
        one.open()
        done = subprocess.run(command, input=b"\n".join(given), capture_output=True)
        one.close()
        assert done.returncode == 1
        assert b"is being written by another process" in b" ".join(done.stderr.split())
        assert not (tmp_path / "other").exists()

    def test_an_output_that_was_taken_away_is_free(self, tmp_path: Path, given: list[bytes]) -> None:
        put_in(tmp_path, given)
        go(tmp_path)
        for name in ("out.jsonl", "rejected", "certificates", "ledger", "state"):
            (tmp_path / name).unlink()
        go(tmp_path)


class TestFolders:
    def test_an_older_checkpoint(self, tmp_path: Path, given: list[bytes]) -> None:
        (tmp_path / "out").mkdir()
        twice(tmp_path, given, "out")
        shutil.copy(tmp_path / "state", tmp_path / "last")
        put_in(tmp_path, given)
        shutil.copy(tmp_path / "old", tmp_path / "state")
        refused(tmp_path, "older copy", output="out")
        mark = tmp_path / ".out.stream"
        kept = mark.read_text()
        mark.write_text(json.dumps({**json.loads(kept), "generation": 3}))
        refused(tmp_path, "older copy|more than the checkpoint|files that the checkpoint", output="out")
        mark.write_text(kept)
        shutil.copy(tmp_path / "last", tmp_path / "state")
        for path in sorted((tmp_path / "out").iterdir())[:-1]:  # readers may take files away
            path.unlink()
        go(tmp_path, output="out")

    def test_files_that_are_not_its_own(self, tmp_path: Path, given: list[bytes]) -> None:
        (tmp_path / "out").mkdir()
        twice(tmp_path, given, "out")
        parts = sorted((tmp_path / "out").iterdir())
        for name in ("more.jsonl", f"{len(parts):012}.jsonl", "0.jsonl"):
            (tmp_path / "out" / name).write_bytes(b"{}\n")
            refused(
                tmp_path, "files that the checkpoint does not know of. Nothing is removed|is not what", output="out"
            )
            (tmp_path / "out" / name).unlink()
        parts[-1].write_bytes(b"{}\n")
        refused(tmp_path, "was changed|is not what", output="out")


def test_marks_are_private_and_hidden(tmp_path: Path, given: list[bytes]) -> None:
    put_in(tmp_path, given)
    go(tmp_path)
    marks = sorted(path for path in tmp_path.iterdir() if path.name.endswith(".stream"))
    assert [path.name for path in marks] == [
        f".{name}.stream" for name in ("certificates", "ledger", "out.jsonl", "rejected")
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in marks} == {0o600}
    name = json.loads(marks[0].read_text())["stream"].encode()
    assert not any(name in data for data in written(tmp_path).values())
