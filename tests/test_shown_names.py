"""Names from files, wherever they are shown: what a terminal would obey, or nobody sees, is an escape."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import unicodedata
import warnings
from pathlib import Path

import polars as pl
import pytest

import tclose
from tclose.errors import SchemaError, TableError, printable
from tests.strategies import as_csv, people, promise, run

NASTY = {
    "escape": "a\x1b[2J\x1b]0;owned\x07b",
    "c1": "a\x9b31mb",
    "newline": "a\nError: all is well\rb",
    "bidi": "a\u202egfedcb\u202c\u2066x\u2069",
    "zero-width": "a\u200b\u200d\ufeff\u2060b",
    "unseen": "a\u3164\u034f\ufe0f\U000e0101b",
    "tags": "a\U000e0041\U000e007fb",
    "separators": "a\u2028b\u2029c\x85d",
    "markup": "[red]a[/red] [/] [link=file:///x]b[/link] [bold",
    "emoji": "a :warning: b",
    "backslash": "[x]\\",
}
SURROGATE = "a\udc80b"


def is_seen(text: str) -> bool:
    """An oracle of its own: nothing but letters, marks, numbers, signs, spaces and ends of lines."""
    return all(each == "\n" or unicodedata.category(each)[0] in "LMNPS" or each == " " for each in text)


@pytest.mark.parametrize("name", NASTY)
def test_what_is_printable(name: str) -> None:
    shown = printable(NASTY[name])
    assert is_seen(shown)
    assert "\n" not in shown
    assert printable(shown) == shown
    if name not in ("markup", "emoji", "backslash"):
        assert json.loads(f'"{shown}"') == NASTY[name] if "\\U" not in shown else "\\U" in shown
        assert tomllib.loads(f'x = "{shown}"')["x"] == NASTY[name]
    else:
        assert shown == NASTY[name]


def test_usual_text_stays_as_it_is() -> None:
    for text in ("age", "Größe (cm)", "年齢", "עמר", "naïve", "price in €", "C:\\new"):
        assert printable(text) == text
    assert printable(SURROGATE) == "a\\udc80b"


def test_errors_and_warnings_are_shown_so_in_the_library_too() -> None:
    assert str(TableError(f"Column '{NASTY['escape']}'.")) == "Column 'a\\u001b[2J\\u001b]0;owned\\u0007b'."
    assert str(SchemaError("one\ntwo", "three")) == "one\\u000atwo\nthree"
    with pytest.warns(tclose.HighLossWarning) as caught:
        warnings.warn(NASTY["escape"], tclose.HighLossWarning, stacklevel=1)
    assert "\x1b" not in f"{caught[0].message}"


def columns_of(name: str) -> tuple[bytes, str]:
    """A table and a schema in which a name stands as every role."""
    table = as_csv({name: [str(row) for row in range(12)], f"{name}~": ["flu", "cold"] * 6})
    return table, promise({name: {"kind": "numeric"}}, {f"{name}~": {"distance": "equal", "t": 0.5}})


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.everyday(3)
def test_on_the_terminal_and_in_reports(name: str, tmp_path: Path) -> None:
    table, schema = columns_of(NASTY[name])
    folder = tmp_path / "x[red]\x1b[2J"
    folder.mkdir()
    (folder / "data.csv").write_bytes(table)
    (folder / "schema.toml").write_text(schema, encoding="utf-8")
    data, promised, output = folder / "data.csv", folder / "schema.toml", folder / "release.csv"
    told = [
        run("anonymize", data, "-s", promised, "-o", output, "--report", folder / "report.html"),
        run("assess", data, "-s", promised, "--measures"),
        run("verify", output, "-s", promised),
        run("utility", data, output, "-s", promised, "--queries", "0"),
        run("init", data),
        run("verify", data, "-s", promised),
        run("anonymize", data, "-s", promised, "-o", folder / "absent" / "x.csv"),
        run("assess", folder / "absent\x1b[2J.csv", "-s", promised),
        run("assess", data, "--\x1b[2J"),
        run("compare", data, "-s", promised, "--methods", "mondrian", "--queries", "0", "--jobs", "1"),
    ]
    assert [each.code for each in told] == [0, 0, 0, 0, 0, 5, 2, 3, 2, 0], [each.err for each in told]
    for each in told:
        assert is_seen(each.out), ascii(each.out)
        assert is_seen(each.err), ascii(each.err)
    if name == "markup":
        assert "[red]a[/red] [/] [link=file:///x]b[/link] [bold" in told[1].out.replace("\n", "")
    if name == "emoji":
        assert ":warning:" in told[1].out
    assert is_seen((folder / "report.html").read_text(encoding="utf-8"))
    named = tomllib.loads(told[4].out)
    assert {*named.get("undecided", ()), *named.get("identifiers", ())} == {NASTY[name], f"{NASTY[name]}~"}


def test_every_message_about_a_column_shows_it(tmp_path: Path) -> None:
    bad = NASTY["escape"]
    (tmp_path / "data.csv").write_bytes(as_csv(people(**{bad: ["x"] * 12})))
    (tmp_path / "schema.toml").write_text(promise(), encoding="utf-8")
    ended = run("anonymize", tmp_path / "data.csv", "-s", tmp_path / "schema.toml", "-o", tmp_path / "r.csv")
    assert ended.code == 3
    assert printable(bad) in ended.err
    assert is_seen(ended.err)
    (tmp_path / "schema.toml").write_text(promise({bad: {"kind": "klingon"}, "age": {"kind": "x"}}), encoding="utf-8")
    ended = run("assess", tmp_path / "data.csv", "-s", tmp_path / "schema.toml")
    assert len(ended.err.splitlines()) == 3, ended.err
    assert is_seen(ended.err)


def test_a_name_that_cannot_be_decoded_is_shown(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("names of files are bytes on Linux alone")
    ended = run("assess", tmp_path / SURROGATE, "-s", tmp_path / "schema.toml")
    assert ended.code == 3
    assert is_seen(ended.err)


def test_a_frame_of_such_names_is_refused_or_released_the_same_way() -> None:
    frame = pl.DataFrame({NASTY["bidi"]: [1, 2]})
    with pytest.raises(TableError) as caught:
        tclose.assess(frame, {"quasi": {NASTY["bidi"]: {"kind": "numeric"}, NASTY["c1"]: {"kind": "numeric"}}})
    assert is_seen(str(caught.value))


@pytest.mark.slow
def test_rejected_rows_of_a_stream_on_the_terminal(tmp_path: Path) -> None:
    name = NASTY["bidi"] + NASTY["c1"]
    rows = [{name: "none", "disease": "flu"}, *({name: row, "disease": "flu"} for row in range(8))]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "schema.toml").write_text(promise({name: {"kind": "numeric"}}), encoding="utf-8")
    program = "from tclose.cli.main import main; main()"
    options = ["stream", "-s", "schema.toml", "--window", "4", "--step", "2", "-i", "in.jsonl"]
    ended = subprocess.run([sys.executable, "-c", program, *options], cwd=tmp_path, capture_output=True)
    (letter,) = [line for line in ended.stderr.decode().split("\n") if line.startswith("{")]
    assert json.loads(letter)["column"] == name
    assert is_seen(ended.stderr.decode())
