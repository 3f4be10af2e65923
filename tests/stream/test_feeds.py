"""Feeds over lines: standard input, files and folders; what is malformed; what is refused."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from tclose.errors import BusyError, MissingExtraError, SchemaError, TableError, VerificationError
from tclose.release.file_lock import TargetLocks
from tclose.stream.feeds import FileFeed, StreamEnding, run
from tclose.stream.feeds.folder_feed import FolderInput
from tclose.stream.feeds.lines import Cutter
from tclose.stream.feeds.parse import (
    LONGEST,
    BrokenError,
    check_encoding,
    csv_row,
    csv_rows,
    json_row,
    json_rows,
    rows_of,
)
from tclose.stream.feeds.written import as_jsonl, check_field
from tests import strategies
from tests.stream.feeding import (
    BROKEN,
    SCHEMA,
    STEP,
    WINDOW,
    check,
    go,
    lines,
    objects,
    put_in,
    row,
    schema,
    settings,
    targets,
    written,
)  # fmt: skip

ROWS = 110
TCLOSE = [sys.executable, "-c", "from tclose.cli.main import main; main()"]
SIZES = ["--window", str(WINDOW), "--step", str(STEP), "--method", "mondrian", "--seed", "7"]


def schema_file(folder: Path) -> list[str]:
    schema().save(folder / "schema.toml")
    return ["-s", str(folder / "schema.toml")]


TOKENS = (
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"\r", b"1", b"1.50", b"x", b"{}", b"\xc3\xa9", b"\xff"),
    *(b'{"a":1}', b'{"a":"', b'"}', b'"a":', b'"b":2', b"\\u00e9", b"null", b"x,y", b'"x","y"'),
)


class TestLines:
    @drawn(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=5))
    def test_cuts_do_not_matter(self, data: bytes, cuts: list[int]) -> None:
        cutter = Cutter()
        for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
            cutter.push(data[start : max(start, stop)])
        cutter.end()
        expected = data.split(b"\n")
        expected = expected if expected[-1] else expected[:-1]
        assert [line for line, _ in cutter.ready] == expected
        assert sum(size for _, size in cutter.ready) == len(data)

    def test_a_line_without_an_end_does_not_fill_the_memory(self) -> None:
        cutter = Cutter()
        for _ in range(40):
            cutter.push(b"x" * (LONGEST // 10))
        assert len(cutter._rest) <= LONGEST + 1
        cutter.push(b"\nshort\n")
        (long, size), (short, _) = cutter.ready
        assert (len(long), size, short) == (LONGEST + 1, 40 * (LONGEST // 10) + 1, b"short")
        with pytest.raises(BrokenError, match="longer"):
            json_row(long)

    @pytest.mark.parametrize(
        "line", [*BROKEN, b"[" * 100_000, b"1e5", b'"text"', b'{"a": 1', b"{} {}", b'{"a": Infinity}']
    )
    def test_what_is_no_json_object(self, line: bytes) -> None:
        with pytest.raises(BrokenError) as error:
            json_row(line)
        assert "SECRET" not in str(error.value)

    def test_numbers_keep_their_digits(self) -> None:
        assert str(json_row(b'{"a": 0.10000000000000000555}')["a"]) == "0.10000000000000000555"
        assert json_row('{"a": "\\ud83d\\ude00é"}'.encode())["a"] == "😀é"

    @drawn(st.lists(st.lists(st.sampled_from(TOKENS), max_size=7).map(b"".join), max_size=4))
    def test_lines_read_together_are_as_if_read_one_by_one(self, lines: list[bytes]) -> None:
        assert json_rows(lines) == rows_of(lines, json_row)
        for header in (["x"], ["x", "y"]):
            alone = rows_of(lines, lambda line, header=header: csv_row(line, header, schema()))  # type: ignore[misc]
            assert csv_rows(lines, header, schema()) == alone

    def test_ordinary_lines_are_read_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tclose.stream.feeds.parse.rows_of", None)
        assert json_rows([b'{"a": "\\"x"}', b'{"a": 1.50}']) == ([{"a": '"x'}, {"a": Decimal("1.50")}], {})
        assert csv_rows([b'"a, b",2\r', b",1"], ["x", "y"], schema())[0] == [
            {"x": "a, b", "y": "2"},
            {"x": "", "y": "1"},
        ]

    @pytest.mark.parametrize(
        "lines",
        [
            [b"{},{}", b'{"a": "', b'"}'],
            [b"{},{}", b'{"a": "x}', b'{y"}'],
            [b"{},{}", b'{"a": [{}', b"{}]}"],
            [b"{}", b'{"a": 1, "a": 2}'],
            [b"{}", b"{NaN}"],
            [b'{"a": "\\ud83d"}', b"{}"],
            [b"{}", b" {}"],
            [b"{}\r", b"{}"],
            [b'{"a": "\xff"}'],
        ],
    )
    def test_lines_that_together_would_be_json(self, lines: list[bytes]) -> None:
        assert json_rows(lines) == rows_of(lines, json_row)

    def test_lines_of_csv(self) -> None:
        assert csv_row(b'"a, b",2\r', ["x", "y"], schema()) == {"x": "a, b", "y": "2"}
        assert csv_row(b'"a ""b""",""', ["x", "y"], schema()) == {"x": 'a "b"', "y": ""}
        for line, match in (
            (b"1", "fields"),
            (b"1,2,3", "fields"),
            (b'"1,2', "quote"),
            (b'5,a"', "quote"),
            (b'5,"a"b', "quote"),
            (b"\xff,1", "text"),
            (b"", "empty"),
        ):
            with pytest.raises(BrokenError, match=match):
                csv_row(line, ["x", "y"], schema())
        with pytest.raises(SchemaError, match="line by line"):
            check_encoding(type(schema()).from_dict({**SCHEMA, "encoding": "utf-16"}))


class TestFiles:
    def test_dead_letters_tell_where_and_why_but_not_what(
        self, reference: dict[str, bytes], given: list[bytes]
    ) -> None:
        letters = [json.loads(line) for line in reference["rejected rejected"].splitlines()]
        assert [letter["row"] for letter in letters] == sorted(letter["row"] for letter in letters)
        assert all(letter["line"] == letter["row"] + 1 and letter["file"] == "in.jsonl" for letter in letters)
        found = {letter["row"]: (letter["column"], letter["reason"]) for letter in letters}
        for number, line in enumerate(given):
            assert (line in BROKEN) <= (number in found)
        assert {column for column, _ in found.values()} == {None, "age", "pay"}
        assert b"SECRET" not in b"".join(reference.values())

    def test_dead_letters_with_rows(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        feed = FileFeed(schema(), folder / "in.jsonl", targets(folder))
        run(feed, schema(), settings(), with_rows=True)
        for letter in objects(folder / "rejected"):
            assert letter["text"] == given[letter["row"]].decode(errors="backslashreplace")

    def test_what_is_confidential_is_so(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder)
        for name in ("state", "rejected", "ledger"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
        released = (folder / "out.jsonl").read_bytes() + (folder / "certificates").read_bytes()
        assert b"Ann" not in released
        assert b'"row"' not in released

    @pytest.mark.parametrize("most", [1, 7, 1000])
    def test_batches_do_not_matter(
        self,
        most: int,
        tmp_path: Path,
        given: list[bytes],
        reference: dict[str, bytes],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(FileFeed, "read", lambda self: self._input.read(most))
        go(put_in(tmp_path, given))
        assert written(tmp_path) == reference

    def test_csv(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(1)
        rows = [row(number, rng) | ({"age": "old"} if number % 20 == 3 else {}) for number in range(ROWS)]
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        (tmp_path / "in.csv").write_text(text.getvalue() + "one,two\n")
        go(tmp_path, source="in.csv", output="out.csv", format="csv")
        counts = check(tmp_path, ROWS + 1, "out.csv", "in.csv")
        assert counts["rejected"] == 7
        found = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
        assert {*found[0]} == {"id", "age", "zip", "ill", "pay", "class"}
        letters = objects(tmp_path / "rejected")
        assert letters[0] == {**letters[0], "row": 3, "line": 5, "column": "age"}

    def test_a_header_that_does_not_fit(self, tmp_path: Path) -> None:
        (tmp_path / "in.csv").write_text("age,zip\n1,2\n")
        with pytest.raises(TableError, match="does not have"):
            go(tmp_path, source="in.csv", format="csv")

    def test_stopped_and_gone_on_with(self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]) -> None:
        """Stopped after every few questions whether to stop, at the end of a part of the input, and so on."""
        folder = put_in(tmp_path, given[:30])
        go(folder, ending=StreamEnding(pause=True))
        assert (folder / "out.jsonl").read_bytes() == b""
        put_in(folder, given)
        for _ in range(3):
            asked = iter([False] * 4)
            go(folder, ending=StreamEnding(stop=lambda asked=asked: next(asked, True)))  # type: ignore[misc]
        go(folder)
        assert written(folder) == reference

    def test_a_folder_of_outputs(self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]) -> None:
        folder = put_in(tmp_path, given)
        (folder / "out").mkdir()
        go(folder, output="out")
        parts = sorted((folder / "out").iterdir())
        assert len(parts) > 2
        assert b"".join(part.read_bytes() for part in parts) == reference["output out.jsonl"]
        check(folder, len(given), "out")

    def test_without_a_place_for_dead_letters_they_are_said(
        self, tmp_path: Path, given: list[bytes], capfd: pytest.CaptureFixture[str]
    ) -> None:
        where = targets(put_in(tmp_path, given))
        feed = FileFeed(schema(), tmp_path / "in.jsonl", type(where)(output=where.output, checkpoint=where.checkpoint))
        status = run(feed, schema(), settings())
        assert len(capfd.readouterr().err.splitlines()) == status.counts["rejected"] + status.counts["withheld"] > 0


class TestFolders:
    def test_files_in_the_order_of_their_names(
        self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]
    ) -> None:
        """The same classes, whatever the files are; hidden files and others are none."""
        incoming = tmp_path / "incoming"
        incoming.mkdir()
        for place, start in enumerate(range(0, len(given), 13)):
            end = b"" if place % 2 else b"\n"  # a last line needs none
            (incoming / f"{place:03}.jsonl").write_bytes(b"\n".join(given[start : start + 13]) + end)
        (incoming / ".hidden.jsonl").write_bytes(b"x\n")
        (incoming / "other.txt").write_bytes(b"x\n")
        go(tmp_path, source="incoming")
        found = written(tmp_path)
        assert found["output out.jsonl"] == reference["output out.jsonl"]
        assert found["ledger ledger"] == reference["ledger ledger"]
        letter = objects(tmp_path / "rejected")[-1]
        assert letter["file"] == f"{letter['row'] // 13:03}.jsonl"
        assert letter["line"] == letter["row"] % 13 + 1
        check(tmp_path, len(given), source="incoming")

    def test_a_folder_that_grows(self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]) -> None:
        """Stopped again and again while files grow, come, and go when they were read."""
        incoming = tmp_path / "incoming"
        incoming.mkdir()
        pieces = [given[start : start + 10] for start in range(0, len(given), 10)]
        for place, piece in enumerate(pieces):
            path = incoming / f"{place // 2:03}.jsonl"
            with path.open("ab") as file:  # each grows once
                file.write(b"".join(line + b"\n" for line in piece))
            if place > 6:
                (incoming / "000.jsonl").unlink(missing_ok=True)
            go(tmp_path, source="incoming", ending=StreamEnding(pause=True))
        go(tmp_path, source="incoming")
        assert written(tmp_path)["output out.jsonl"] == reference["output out.jsonl"]

    def test_a_late_file_is_read_and_a_changed_one_told(self, tmp_path: Path, given: list[bytes]) -> None:
        incoming = tmp_path / "incoming"
        incoming.mkdir()
        for name, piece in (("b", given[:40]), ("c", given[40:60])):
            (incoming / f"{name}.jsonl").write_bytes(b"".join(line + b"\n" for line in piece))
        go(tmp_path, source="incoming", ending=StreamEnding(pause=True))
        (incoming / "a.jsonl").write_bytes(b"".join(line + b"\n" for line in given[60:]))
        assert go(tmp_path, source="incoming", ending=StreamEnding(pause=True)).counts["rows"] == len(given)
        with (incoming / "b.jsonl").open("ab") as file:
            file.write(given[0] + b"\n")
        with pytest.raises(TableError, match=r"'b\.jsonl' has changed"):
            go(tmp_path, source="incoming")

    def test_a_file_that_may_still_grow_is_waited_for(self, tmp_path: Path, given: list[bytes]) -> None:
        """Half a line is no line, until a later file is there."""
        (tmp_path / "a.jsonl").write_bytes(given[0][:20])
        folder = FolderInput(tmp_path, schema(), "jsonl", None, follow=True)
        assert folder.read().rows == []
        with (tmp_path / "a.jsonl").open("ab") as file:
            file.write(given[0][20:])
        (tmp_path / "b.jsonl").write_bytes(given[1] + b"\n")
        batch = folder.read()
        assert [row["id"] for row in batch.rows] == ["r0", "r1"]
        assert batch.after(0)["file"] == "a.jsonl"
        assert batch.after(0)["done"] == {}
        assert batch.after(1)["file"] == "b.jsonl"
        assert batch.after(1)["done"] == {"a.jsonl": len(given[0])}
        assert [(run.first, run.file, run.line) for run in batch.runs(7)] == [(7, "a.jsonl", 1), (8, "b.jsonl", 1)]
        folder.close()

    def test_many_files_in_one_batch(self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]) -> None:
        """The folder is looked at a few times, however many files there are, and stopped anywhere it goes on."""
        incoming = tmp_path / "incoming"
        incoming.mkdir()
        for place, line in enumerate(given):
            (incoming / f"{place:04}.jsonl").write_bytes(line + b"\n" * (place % 2 or not line))
        looks, look = [], FolderInput._look

        def counted(folder: FolderInput) -> None:
            looks.append(1)
            look(folder)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FolderInput, "_look", counted)
            go(tmp_path, source="incoming", ending=StreamEnding(stop=iter([False] * 3 + [True] * 9).__next__))
            go(tmp_path, source="incoming")
        assert len(looks) < 9
        assert written(tmp_path)["output out.jsonl"] == reference["output out.jsonl"]
        assert objects(tmp_path / "rejected")[0]["file"] == f"{objects(tmp_path / 'rejected')[0]['row']:04}.jsonl"
        check(tmp_path, len(given), source="incoming")

    def test_a_late_file_can_be_checked_too(self, tmp_path: Path, given: list[bytes]) -> None:
        incoming = tmp_path / "incoming"
        incoming.mkdir()
        (incoming / "b.jsonl").write_bytes(b"".join(line + b"\n" for line in given[:60]))
        go(tmp_path, source="incoming", ending=StreamEnding(pause=True))
        (incoming / "a.jsonl").write_bytes(b"".join(line + b"\n" for line in given[60:]))
        go(tmp_path, source="incoming")
        with pytest.raises(VerificationError):
            check(tmp_path, len(given), source="incoming")
        check(tmp_path, len(given), source="incoming", checkpoint=tmp_path / "state")


class TestEnds:
    """A last line without an end: a row if nothing more is waited for, and left alone if more may come."""

    @pytest.mark.parametrize("in_a_folder", [False, True])
    def test_idle_takes_it(
        self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes], in_a_folder: bool
    ) -> None:
        (tmp_path / "incoming").mkdir()
        source = "incoming/in.jsonl"
        (tmp_path / source).write_bytes(b"\n".join(given))
        status = go(tmp_path, source="incoming" if in_a_folder else source, follow=True, ending=StreamEnding(idle=0.3))
        assert status.counts["rows"] == len(given)
        assert written(tmp_path)["output out.jsonl"] == reference["output out.jsonl"]

    @pytest.mark.parametrize("in_a_folder", [False, True])
    def test_a_pause_leaves_it(
        self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes], in_a_folder: bool
    ) -> None:
        (tmp_path / "incoming").mkdir()
        path, whole = tmp_path / "incoming/in.jsonl", b"".join(line + b"\n" for line in given)
        source = "incoming" if in_a_folder else "incoming/in.jsonl"
        for part in (1, 0.2, 0.55, 0.8):
            path.write_bytes(whole[: int(len(whole) * part) - 3] if part < 1 else whole[:7])
            go(tmp_path, source=source, ending=StreamEnding(pause=True))
        path.write_bytes(whole)
        assert go(tmp_path, source=source).counts["rows"] == len(given)
        assert written(tmp_path)["output out.jsonl"] == reference["output out.jsonl"]


class TestRefused:
    def test_other_settings(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder, ending=StreamEnding(pause=True))
        with pytest.raises(TableError, match="another seed"):
            go(folder, seed=8)
        with pytest.raises(TableError, match="other outputs"):
            go(folder, output="other.jsonl")
        go(folder, seed=None)  # the one it has

    def test_another_kind_of_input_or_field(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder, ending=StreamEnding(pause=True))
        with pytest.raises(TableError, match="another class-field"):
            go(folder, field="klass")
        (folder / "incoming").mkdir()
        with pytest.raises(TableError, match="another input"):
            go(folder, source="incoming")

    def test_another_input(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder, ending=StreamEnding(pause=True))
        put_in(folder, [line[::-1] for line in given])
        with pytest.raises(TableError, match="does not hold the rows"):
            go(folder)

    def test_an_output_that_is_there(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        (folder / "out.jsonl").write_text("precious")
        with pytest.raises(TableError, match="there already"):
            go(folder)
        assert (folder / "out.jsonl").read_text() == "precious"

    def test_a_second_process(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        for name in ("state", "out.jsonl", "rejected", "certificates", "ledger"):
            with TargetLocks([folder / name]), pytest.raises(BusyError, match=f"'{name}' is being written"):
                go(folder)
        go(folder)

    def test_a_damaged_checkpoint(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder, ending=StreamEnding(pause=True))
        data = (folder / "state").read_bytes()
        for wrong, match in ((data[:-1] + b"x", "damaged"), (b"x", "not a checkpoint")):
            (folder / "state").write_bytes(wrong)
            with pytest.raises(TableError, match=match):
                go(folder)

    def test_a_name_that_a_column_has(self) -> None:
        with pytest.raises(SchemaError, match="class-field"):
            check_field("ill", schema())


MUTANTS = (
    *("lost", "twice", "moved", "changed", "unlike", "unlisted"),
    *("claimed", "diverse", "asked", "window", "told"),
)


class TestReplay:
    @pytest.mark.parametrize("mutant", MUTANTS)
    def test_mutants_are_found(self, mutant: str, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder)
        rows, certificates = objects(folder / "out.jsonl"), objects(folder / "certificates")
        ledger, letters = objects(folder / "ledger"), objects(folder / "rejected")
        if mutant == "lost":
            letters.pop()
        elif mutant == "twice":
            letters.append({**letters[-1], "row": 0})
        elif mutant == "moved":
            other = next(place for place, each in enumerate(rows) if each["class"] != rows[0]["class"])
            ledger[0]["rows"][0], ledger[1]["rows"][0] = ledger[1]["rows"][0], ledger[0]["rows"][0]
            rows[0], rows[other] = {**rows[other], "class": 0}, {**rows[0], "class": 1}
        elif mutant == "changed":
            rows[0]["pay"] += 1
        elif mutant == "unlike":
            rows[0]["age"] = "*"
        elif mutant == "unlisted":
            rows.append({**rows[-1]})
        elif mutant == "claimed":
            ledger[0]["t"]["ill"]["exact"] = "1/7"
        elif mutant == "diverse":
            certificates[1]["l"]["ill"]["distinct"] += 1
        elif mutant == "asked":
            certificates[1]["required"]["k"] = 2
        elif mutant == "window":
            certificates[1]["window"] = ledger[0]["window"]
        else:
            certificates[1]["t"] = ledger[0]["t"]
        for name, told in (
            ("out.jsonl", rows),
            ("certificates", certificates),
            ("ledger", ledger),
            ("rejected", letters),
        ):
            (folder / name).write_text("".join(json.dumps(each) + "\n" for each in told))
        with pytest.raises(VerificationError):
            check(folder, len(given))

    @pytest.mark.parametrize(
        ("name", "wrong"),
        [
            ("ledger", {"class": 0, "rows": [1, 2, 3]}),
            ("ledger", {"class": 0, "rows": [], "window": {"first": 0, "last": 1, "rows": 2}, "case": "direct"}),
            (
                "ledger",
                {"class": 0, "rows": ["SECRET"], "window": {"first": 0, "last": 1, "rows": 2}, "case": "direct"},
            ),
            ("ledger", {"class": 0, "rows": [0], "window": {"first": 0, "last": None, "rows": 2}, "case": "direct"}),
            ("rejected", {"row": "SECRET", "what": "rejected"}),
            ("rejected", {"row": 1, "what": "SECRET"}),
        ],
    )
    def test_lines_that_are_none(self, name: str, wrong: dict[str, Any], tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder)
        (folder / name).write_text(json.dumps(wrong) + "\n")
        with pytest.raises(TableError, match="line that is none") as error:
            check(folder, len(given))
        assert "SECRET" not in str(error.value)

    @pytest.mark.parametrize("t", [None, {}, {"ill": 3}, {"ill": {"exact": "1/0"}, "pay": {"exact": "1"}}])
    def test_a_ledger_without_distances(self, t: Any, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder)
        ledger = [{**each, "t": t} for each in objects(folder / "ledger")]
        (folder / "ledger").write_text("".join(json.dumps(each) + "\n" for each in ledger))
        with pytest.raises(VerificationError, match="ledger does not say how far"):
            check(folder, len(given))


class TestWritten:
    def test_numbers_stay_numbers(self, reference: dict[str, bytes]) -> None:
        first = json.loads(reference["output out.jsonl"].splitlines()[0])
        assert isinstance(first["pay"], float)
        assert isinstance(first["ill"], str)
        assert as_jsonl.__doc__


class TestCommand:
    @pytest.mark.slow
    def test_standard_input_and_output(self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]) -> None:
        """As a user would, with a checkpoint: it is told that output is at least once; a replay adds nothing."""
        command = [*TCLOSE, "stream", *schema_file(tmp_path), *SIZES, "--checkpoint", str(tmp_path / "state")]
        text = b"".join(line + b"\n" for line in given)
        half = b"".join(line + b"\n" for line in given[:90])
        first = subprocess.run([*command, "--pause"], input=half, capture_output=True, check=True)
        assert b"at least once" in first.stderr
        second = subprocess.run(command, input=text, capture_output=True, check=True)
        expected = reference["output out.jsonl"]
        assert expected.startswith(first.stdout)
        # What was committed last is written again, as nobody knows whether it was read.
        again = len(first.stdout) + len(second.stdout) - len(expected)
        assert 0 <= again <= len(first.stdout)
        assert first.stdout[: len(first.stdout) - again] + second.stdout == expected
        third = subprocess.run(command, input=b"", capture_output=True, check=True)
        assert b"ended already" in third.stderr

    @pytest.mark.slow
    def test_standard_input_that_continues(
        self, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]
    ) -> None:
        where = [f"--output={tmp_path / 'out.jsonl'}", f"--checkpoint={tmp_path / 'state'}", "--rejected=/dev/null"]
        where[-1] = f"--rejected={tmp_path / 'rejected'}"
        command = [*TCLOSE, "stream", *schema_file(tmp_path), *SIZES, *where]
        pieces = [b"".join(line + b"\n" for line in piece) for piece in (given[:90], given[90:])]
        subprocess.run([*command, "--pause"], input=pieces[0], capture_output=True, check=True)
        wrong = subprocess.run(command, input=pieces[1], capture_output=True)
        assert wrong.returncode == 3
        assert b"from its beginning" in wrong.stderr
        subprocess.run([*command, "--continues"], input=pieces[1], capture_output=True, check=True)
        assert (tmp_path / "out.jsonl").read_bytes() == reference["output out.jsonl"]

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    @pytest.mark.everyday(1)
    def test_a_signal_stops_with_a_checkpoint(
        self, number: signal.Signals, tmp_path: Path, given: list[bytes], reference: dict[str, bytes]
    ) -> None:
        folder = put_in(tmp_path, given[:90])
        where = targets(folder)
        named = [f"--{name}={path}" for name, path in vars(where).items()]
        command = [*TCLOSE, "stream", *schema_file(folder), *SIZES, *named, "--input", str(folder / "in.jsonl")]
        process = subprocess.Popen([*command, "--follow"], stderr=subprocess.PIPE)
        until = time.monotonic() + 120
        while not (folder / "out.jsonl").exists() or not (folder / "out.jsonl").stat().st_size:
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 0
        assert b"waiting" in told.splitlines()[-1]
        with (folder / "in.jsonl").open("ab") as file:
            file.write(b"".join(line + b"\n" for line in given[90:]))
        go(folder)
        assert written(folder) == reference

    def test_what_is_refused_leaves_nothing_behind(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        named = [f"--{name}={path}" for name, path in vars(targets(folder)).items()]
        sizes = ["--window", "4", "--step", "2"]
        done = strategies.run("stream", *schema_file(folder), *sizes, *named, "--input", str(folder / "in.jsonl"))
        assert done.code == 3
        assert "longer step" in done.err
        assert {path.name for path in folder.iterdir()} == {"in.jsonl", "schema.toml"}

    def test_nothing_is_promised_of_what_is_refused(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        named = [f"--{name}={path}" for name, path in vars(targets(folder)).items()]
        arguments = ["stream", *schema_file(folder), *SIZES, *named, "--input", str(folder / "in.jsonl")]
        (folder / "out.jsonl").write_text("precious")
        refused = strategies.run(*arguments)
        assert refused.code == 3
        assert "exactly once" not in refused.err
        (folder / "out.jsonl").unlink()
        assert strategies.run(*arguments).err.count("exactly once") == 1

    def test_stream_check(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder)
        named = [f"--{name}={folder / file}" for name, file in (
            ("input", "in.jsonl"), ("output", "out.jsonl"), ("certificates", "certificates"), ("ledger", "ledger"),
            ("rejected", "rejected"),
        )]  # fmt: skip
        arguments = ["stream-check", *schema_file(folder), "--window", str(WINDOW), *named]
        done = strategies.run(*arguments, "--json")
        assert done.code == 0
        assert json.loads(done.out)["rows"] == len(given)
        (folder / "rejected").write_text("")
        assert strategies.run(*arguments).code == 5
        assert strategies.run(*arguments, "--format", "xml").code == 2

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            (["--output", "x"], "checkpoint"),
            (["--to", "x"], "--redis"),
            (["--redis", "redis://localhost", "--from", "a"], "--from and --to"),
            (["--redis", "redis://localhost", "--input", "a"], "--input"),
            (["--pause"], "--pause"),
            (["--continues"], "--continues"),
            (["--rejected-with-rows"], "--rejected"),
            (["--input", "nowhere"], "nowhere"),
            (["--checkpoint", "nowhere/state"], "nowhere"),
            (["--checkpoint", "x", "--rejected", "x"], "would overwrite another of the files named"),
            (["--format", "xml"], "--format"),
            (["--input", ".", "--rejected", "rejected.jsonl"], "would be read too"),
        ],
    )
    def test_options_that_do_not_go_together(self, options: list[str], match: str, tmp_path: Path) -> None:
        done = strategies.run("stream", *schema_file(tmp_path), *SIZES, *options)
        assert done.code == 2
        assert match in " ".join(done.err.replace("│", " ").split())


def test_dead_letters_name_entries_that_are_withheld(tmp_path: Path) -> None:
    """A stream shorter than k: all of it is withheld, and every row can be found."""
    folder = put_in(tmp_path, lines(2, broken=False))
    go(folder)
    letters: list[dict[str, Any]] = objects(folder / "rejected")
    assert [(letter["what"], letter["line"]) for letter in letters] == [("withheld", 1), ("withheld", 2)]
    assert os.path.getsize(folder / "out.jsonl") == 0


def test_redis_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from tclose.stream.feeds.redis_client import connected

    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.setitem(sys.modules, "redis.exceptions", None)
    with pytest.raises(MissingExtraError, match=r"tclose\[stream\]"):
        connected("redis://localhost")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
def test_a_device_is_no_input(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to("/dev/zero")
    for source in (Path("/dev/zero"), tmp_path / "link.jsonl"):
        with pytest.raises(TableError, match="is a device"):
            FileFeed(schema(), source, targets(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"link.jsonl"}


class TestCertificateOfTheStream:
    """It stands before those of the classes, and what it says is checked as theirs is."""

    def check(self, folder: Path, *more: str) -> strategies.Outcome:
        files = {"input": "in.jsonl", "output": "out.jsonl", "rejected": "rejected"}
        files |= {"certificates": "certificates", "ledger": "ledger"}
        named = [f"--{name}={folder / file}" for name, file in files.items()]
        return strategies.run("stream-check", *schema_file(folder), "--window", str(WINDOW), *named, *more)

    def test_a_forged_field_is_found(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder)
        told = objects(folder / "certificates")
        assert self.check(folder).code == 0
        forged: list[tuple[str, Any]] = [(name, "another") for name in told[0]]
        forged += [("required", {**told[0]["required"], "k": 50}), ("window", {"rows": 10 * WINDOW, "step": 5})]
        forged += [("window", {"rows": WINDOW, "step": 0}), ("method", {**told[0]["method"], "optimal": True})]
        forged += [("proven", True), ("class", 0), ("unit", "one row a unit, checked"), ("certificate", True)]
        for name, value in forged:
            first = {**told[0], name: value}
            (folder / "certificates").write_text("".join(json.dumps(each) + "\n" for each in [first, *told[1:]]))
            assert self.check(folder).code == 5, name
        for others in (told[1:], [told[0], *told], [told[0], {**told[1], "method": "milp"}, *told[2:]]):
            (folder / "certificates").write_text("".join(json.dumps(each) + "\n" for each in others))
            assert self.check(folder).code == 5

    @pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices here")
    @pytest.mark.parametrize("name", ["input", "output", "rejected", "certificates", "ledger", "checkpoint"])
    def test_a_device_is_refused(self, name: str, tmp_path: Path) -> None:
        folder = put_in(tmp_path, lines(40, broken=False))
        go(folder)
        done = self.check(folder, f"--{name}=/dev/zero")
        assert done.code == 3
        assert "a device, whose end nobody knows" in done.err

    def test_what_is_claimed_is_listed(self, tmp_path: Path, given: list[bytes]) -> None:
        folder = put_in(tmp_path, given)
        go(folder)
        assert "not checked: method, versions, step" in self.check(folder).err
        assert set(json.loads(self.check(folder, "--json").out)["unchecked"]) == {"method", "versions", "step"}


def test_kept_columns_that_are_not_checked_come_first(tmp_path: Path) -> None:
    keys = 'k = 3\nkeep = ["town"]\nkeep_unchecked = true\n[quasi.age]\nkind = "numeric"\n'
    (tmp_path / "keep.toml").write_text(keys + '[sensitive.ill]\ndistance = "equal"\nt = 1\n')
    rows = [{"age": 20 + place % 40, "ill": "ab"[place % 2], "town": f"town {place}"} for place in range(60)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = {"input": "in.jsonl", "output": "out.jsonl", "certificates": "certificates", "ledger": "ledger"}
    named = ["--schema", str(tmp_path / "keep.toml"), *(f"--{name}={tmp_path / file}" for name, file in names.items())]
    made = strategies.run("stream", *named, "--window", "30", "--step", "30", "--checkpoint", str(tmp_path / "state"))
    checked = strategies.run("stream-check", *named, "--window", "30")
    for done in (made, checked):
        assert done.code == 0
        assert done.err.startswith("Kept columns not checked")
    assert next(iter(objects(tmp_path / "certificates")[0])) == "keep"
    told = json.loads(strategies.run("stream-check", *named, "--window", "30", "--json").out)
    assert next(iter(told)) == "warning"
