"""What is found from a text file, what a schema contradicts, and what only a person can say."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import pytest

import tclose
from tclose.errors import InferredSchemaWarning, TableError
from tclose.table.source import read
from tclose.table.text_layout import find_delimiter, find_encoding, find_layout

ROWS = "age;town;ill\n31;Köln;flu\n44;Bonn;cold\n"


def put(folder: Path, data: bytes, name: str = "data.csv") -> Path:
    (folder / name).write_bytes(data)
    return folder / name


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"), ("utf-32", "utf-32"), ("cp1252", "cp1252"), ("latin-1", "cp1252"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("zipped", [False, True])
def test_the_encoding_is_found(encoding: str, expected: str, zipped: bool, tmp_path: Path) -> None:
    data = ROWS.encode(encoding)
    path = put(tmp_path, gzip.compress(data) if zipped else data, "data.csv.gz" if zipped else "data.csv")
    layout = find_layout(path, zipped)
    assert layout == (";", expected, True)
    assert read(path, ";", expected).column("town").to_list() == ["Köln", "Bonn"]


@pytest.mark.parametrize("encoding", ["mac_roman", "cp850", "cp437", "gb18030", "cp1251"])
def test_an_encoding_that_does_not_look_right_is_asked_for(encoding: str, tmp_path: Path) -> None:
    town = "Москва" if encoding == "cp1251" else "广州市" if encoding == "gb18030" else "Schönbühl, München"
    path = put(tmp_path, f"town;ill\n{town};flu\n".encode(encoding))
    with pytest.raises(TableError, match="--encoding"):
        find_encoding(path, False)


def test_a_byte_late_in_the_file_counts(tmp_path: Path) -> None:
    path = put(tmp_path, b"age,ill\n" + b"31,flu\n" * 400_000 + "32,Röteln\n".encode("cp1252"))
    assert find_encoding(path, False) == "cp1252"


def test_what_divides_columns() -> None:
    assert find_delimiter(["a|b", "1,5|2", "2|3"], "x") == "|"
    assert find_delimiter(["a\tb c", "1\t2", "3\t4"], "x") == "\t"
    assert find_delimiter(["a,b", "1,2", "1,2,3", "4,5", "6,7", "8,9"], "x") == ","  # one record is damaged
    with pytest.raises(TableError, match=r"a comma or a semicolon.*--delimiter"):
        find_delimiter(["a,b;c", "1,2;3"], "x")


def test_names_and_rows(tmp_path: Path) -> None:
    for data in (b"sex,job\nF,cook\nM,smith\n", b"a\n1\n", b"age\n", b"x,y\n,\n"):
        assert find_layout(put(tmp_path, data), False).header
    for data in (b"id,2019,smoker\n1,5,n\n2,7,y\n", b"age,?\n31,a\nNA,?\n"):
        assert find_layout(put(tmp_path, data), False).header
    like_rows = (
        *(b"F,cook\nM,smith\nF,cook\n", b"31,a\n32,b\n", b"2020-01-01,x\n2020-01-02,y\n"),
        *(b"Ann,NA,F\nBob,31,M\nEve,44,F\n", b"k.A.;F\n31;F\n"),  # missing in the first row, above numbers
        b"12a,F,31,01067\n14,M,44,01099\n15,F,28,01067\n",  # one number of a house, and three columns that go on
    )
    for data in like_rows:
        with pytest.raises(TableError, match="--no-header"):
            find_layout(put(tmp_path, data), False)


CONTRADICTED: dict[str, tuple[bytes, str, str, str]] = {
    "another delimiter": (b"a;b\n1;2\n", ",", "utf-8", 'delimiter = ";"'),
    "a tab": (b"a\tb\n1\t2\n", ";", "utf-8", 'delimiter = "\\\\t"'),
    "a line for spreadsheets": (b"sep=;\na;b\n1;2\n", ",", "utf-8", 'delimiter = ";"'),
    "UTF-16 by its mark": ("a,b\n1,2\n".encode("utf-16"), ",", "utf-8", 'encoding = "utf-16"'),
    "UTF-16 by its zeros": ("a,b\n1,2\n".encode("utf-16-le"), ",", "cp1252", 'encoding = "utf-16-le"'),
    "UTF-8 by its mark": (b"\xef\xbb\xbfa,b\n1,2\n", ",", "cp1252", 'encoding = "utf-8"'),
    "UTF-8 by its letters": ("a,b\nKöln,2\n".encode(), ",", "cp1252", 'encoding = "utf-8"'),
    "no UTF-8": ("ä,b\n1,2\n".encode("cp1252"), ",", "utf-8", "--encoding cp1252"),
}


@pytest.mark.parametrize("name", list(CONTRADICTED))
def test_a_file_that_contradicts_its_schema_is_refused(name: str, tmp_path: Path) -> None:
    data, delimiter, encoding, fix = CONTRADICTED[name]
    with pytest.raises(TableError, match=fix):
        read(put(tmp_path, data), delimiter, encoding)


def test_columns_without_a_header_have_numbers(tmp_path: Path) -> None:
    source = read(put(tmp_path, b"31,flu\n44,cold\n"), header=False)
    assert (source.names, source.n_rows, source.numbering) == (("column_1", "column_2"), 2, ("line", 1))
    assert source.column("column_1").to_list() == ["31", "44"]


def test_rows_behind_a_line_for_spreadsheets_have_their_numbers(tmp_path: Path) -> None:
    source = read(put(tmp_path, b"sep=;\r\na;b\r\n1;2\r\n"), ";")
    assert (source.names, source.numbering) == (("a", "b"), ("line", 3))


def test_keywords_find_how_a_file_is_read_and_say_it(tmp_path: Path) -> None:
    rows = "".join(f"{20 + row % 9},5;{(row * row) % 28 + 1:02}.02.2024;{'ab'[row % 2]}\n" for row in range(40))
    path = put(tmp_path, ("alter;tag;ill\n" + rows).encode("cp1252"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = tclose.anonymize(
            path, quasi=["alter", "tag"], sensitive={"ill": 0.5}, k=3, method="mondrian", allow_single_class=True
        )
    told = " ".join(str(each.message) for each in caught if each.category is InferredSchemaWarning)
    assert "delimiter ';'" in told
    assert "decimal sign ','" in told
    schema = release.schema
    assert (schema.delimiter, schema.decimal, schema.quasi[0].kind) == (";", ",", "numeric")
    assert (schema.quasi[1].kind, schema.quasi[1].format) == ("date", "%d.%m.%Y")


def test_keywords_do_not_guess_which_is_the_day(tmp_path: Path) -> None:
    rows = "".join(f"{row % 12 + 1:02}/{row % 7 + 1:02}/2024,{'ab'[row % 2]}\n" for row in range(40))
    path = put(tmp_path, ("seen,ill\n" + rows).encode())
    with pytest.raises(TableError, match="several ways"):
        tclose.anonymize(path, quasi=["seen"], sensitive={"ill": 0.5}, k=3)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_release_of_a_file_in_another_encoding_is_measured(encoding: str, tmp_path: Path) -> None:
    rows = "".join(f"{20 + row % 9};{('Köln', 'Bonn')[row % 2]};{'aäb'[row % 3]}\n" for row in range(60))
    path = put(tmp_path, ("age;town;ill\n" + rows).encode(encoding))
    schema = {
        "k": 3, "delimiter": ";", "encoding": encoding,
        "quasi": {"age": {"kind": "numeric"}, "town": {"kind": "categorical"}},
        "sensitive": {"ill": {"distance": "equal", "t": 1}},
    }  # fmt: skip
    release = tclose.anonymize(path, schema, method="mondrian")
    release.write(tmp_path / "release.csv")
    assert tclose.assess(tmp_path / "release.csv", schema).k == release.measured.k
    assert tclose.assess(path, schema).k <= release.measured.k
    assert tclose.utility(path, tmp_path / "release.csv", schema).loss >= 0


@pytest.mark.parametrize("title", ["Patients 2024", "# made on Monday", "Patients;;;", ";;2024;"])
def test_a_title_above_the_names_is_refused(title: str, tmp_path: Path) -> None:
    rows = "".join(f"{row};F;0106{row % 10};flu\n" for row in range(40))
    with pytest.raises(TableError, match="Delete what stands above"):
        find_layout(put(tmp_path, f"{title}\nage;sex;zip;ill\n{rows}".encode()), False)
    assert find_layout(put(tmp_path, f"age;sex;zip;ill\n{rows}".encode()), False) == (";", "utf-8", True)


def test_two_encodings_in_one_file_are_refused(tmp_path: Path) -> None:
    text = "town,ill\n" + "Köln,flu\n" * 30
    with pytest.raises(TableError, match=r"UTF-8 in some places.*line 32.*--encoding"):
        find_encoding(put(tmp_path, text.encode() + "Tübingen,cold\n".encode("cp1252")), False)
    assert find_encoding(put(tmp_path, (text + "CAFÉ»,cold\n").encode("cp1252")), False) == "cp1252"
