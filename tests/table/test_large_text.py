"""A large text file gives what a small one does, and leaves nothing behind."""

from __future__ import annotations

import gc
import gzip
import tempfile
from pathlib import Path

import pytest

import tclose
from tclose.errors import TableError
from tclose.table import large_text, source
from tclose.table.file_pieces import PIECE
from tclose.table.source import read

FILES: dict[str, tuple[bytes, str, str, bool]] = {
    "plain": (b"a,b\n1,2\n3,\n", ",", "utf-8", True),
    "a mark, Windows lines, a line for spreadsheets": (b"\xef\xbb\xbfsep=;\r\na;b\r\n1;2\r\n\r\n", ";", "utf-8", True),
    "quotes": (b'a,"b ""x"""\n"1\n2","x,y"\n"","3"\n', ",", "utf-8", True),
    "Windows letters": ("a|b\nKöln|2\n".encode("cp1252"), "|", "cp1252", True),
    "UTF-16": ("a,b\nKöln,2\n".encode("utf-16"), ",", "utf-16", True),
    "no header": (b"1,2\n3,4\n", ",", "utf-8", False),
    "old Macintosh lines": (b"a,b\r1,2\r", ",", "utf-8", True),
    "one column": (b"a\n1\n\n2\n", ",", "utf-8", True),
}
FILES["several pieces"] = (("a,ä\n" + "31,ö\n" * (PIECE // 4)).encode("cp1252"), ",", "cp1252", True)


@pytest.mark.parametrize("as_shown", [False, True])
@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", list(FILES))
def test_the_same_is_read_in_pieces(
    name: str, zipped: bool, as_shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, delimiter, encoding, header = FILES[name]
    path = tmp_path / ("data.csv.gz" if zipped else "data.csv")
    path.write_bytes(gzip.compress(data) if zipped else data)
    expected = read(path, delimiter, encoding, header=header, as_shown=as_shown)
    monkeypatch.setattr(source, "is_large", lambda *_file: True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = read(path, delimiter, encoding, header=header, as_shown=as_shown)
    assert found.frame.equals(expected.frame)
    assert (found.names, found.n_rows, found.numbering, found.is_text) == (
        expected.names, expected.n_rows, expected.numbering, True,
    )  # fmt: skip
    (folder,) = [each for each in tmp_path.iterdir() if each.is_dir()]
    assert folder.stat().st_mode & 0o077 == 0
    del found
    gc.collect()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("data", [b"a,b\n1,2,3\n", b'a,b\n"1,2\n', b"a,a\n1,2\n", b"a;b\n1;2\n", b"a,b\n\xff,1\n"])
def test_what_is_wrong_is_said_as_of_a_small_file(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(data)
    with pytest.raises(TableError) as small:
        read(path)
    monkeypatch.setattr(source, "is_large", lambda *_file: True)
    with pytest.raises(TableError) as large:
        read(path)
    assert str(large.value) == str(small.value)


def test_a_release_of_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_text, "most_memory", lambda: 1000)
    path = tmp_path / "data.csv"
    path.write_text("age,ill\n" + "".join(f"{20 + row % 9},{'ab'[row % 2]}\n" for row in range(90)), encoding="utf-8")
    schema = {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    release = tclose.anonymize(path, schema, method="mondrian")
    release.write(tmp_path / "release.csv", keep_order=True)
    assert tclose.verify(tmp_path / "release.csv", schema, original=path).holds
