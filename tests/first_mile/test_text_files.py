"""Text files as people have them: `init` with the flags a person would give, then `anonymize`, and nothing is edited.

A release keeps the form of its values. Where a file can be read in two ways, one sentence names the option that
decides, and with it the same command works.
"""

from __future__ import annotations

import csv
import gzip
import io
import random
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.seeds import one_in

pytestmark = pytest.mark.filterwarnings("always")
N = 48
Columns = dict[str, list[str]]
AGES = [str(20 + 7 * row % 53) for row in range(N)]
TOWNS = [("München", "Köln", "Zürich")[row % 3] for row in range(N)]
ILL = [("flu", "cold", "rash")[row * row % 3] for row in range(N)]
USUAL = ("--quasi", "age,town", "--sensitive", "ill", "--rest", "drop")
WHOLE, DATE = r"\d+|\[\d+, \d+\]|\*", r"\d\d\.\d\d\.\d{4}"


@dataclass(frozen=True)
class TextFile:
    """A file, the flags of `init`, and what a release of it looks like.

    Attributes
    ----------
    data
        Its bytes.
    flags
        Of `init`.
    forms
        What every released cell of some columns looks like.
    said
        What the sentence says where `init` ends with one; empty if it does not.
    then
        The flags that are given besides then.
    keys
        Lines that the schema has.
    name
        Of the file.
    """

    data: bytes
    flags: tuple[str, ...] = USUAL
    forms: dict[str, str] = field(default_factory=lambda: {"age": WHOLE})
    said: str = ""
    then: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    name: str = "data.csv"


def people(**more: Sequence[str]) -> Columns:
    return {"age": AGES, "town": TOWNS, "ill": ILL, **{name: list(values) for name, values in more.items()}}


def written(
    columns: Columns,
    sep: str = ",",
    encoding: str = "utf-8",
    end: str = "\n",
    quoting: int = csv.QUOTE_MINIMAL,
    header: bool = True,
    before: str = "",
) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sep, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    if header:
        writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return (before + out.getvalue()).encode(encoding)


def numbers(write: Callable[[float], str], low: float = 0.5, high: float = 99.0) -> list[str]:
    draw = random.Random(1)
    return [write(round(draw.uniform(low, high), 2)) for _ in range(N)]


def days(write: str, first: int = 1, last: int = 28) -> list[str]:
    draw = random.Random(2)
    found = []
    for _ in range(N):
        day, month, year = draw.randint(first, last), draw.randint(1, 12), draw.randint(2019, 2024)
        found.append(write.format(d=day, m=month, y=year, s=year % 100, b=NAMES[month - 1], B=LONG[month - 1]))
    return found


NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
LONG = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]


def comma(number: float) -> str:
    return str(number).replace(".", ",")


def grouped(sign: str, mark: str = "") -> Callable[[float], str]:
    def write(number: float) -> str:
        text = f"{number:,.2f}" if mark else f"{number:,.0f}"
        return text.replace(",", "\0").replace(".", mark or ".").replace("\0", sign)

    return write


def dated(values: list[str]) -> Columns:
    return people(seen=values)


SEEN = ("--quasi", "age,seen", "--sensitive", "ill", "--rest", "drop")
PAID = ("--quasi", "age,pay", "--sensitive", "ill", "--rest", "drop")
AS_PAID = ("--quasi", "age", "--sensitive", "pay", "--rest", "drop")


def span(one: str, between: str = "/") -> str:
    return rf"{one}|{one}{between}{one}|\*"


def amounts(one: str, between: str = ", ") -> str:
    return rf"{one}|\[{one}{between}{one}\]|\*"


FILES: dict[str, TextFile] = {
    "commas": TextFile(written(people())),
    "semicolons": TextFile(written(people(), ";"), keys=('delimiter = ";"',)),
    "tabs": TextFile(written(people(), "\t")),
    "bars": TextFile(written(people(), "|"), keys=('delimiter = "|"',)),
    "semicolons in quotes": TextFile(written(people(note=["a;b"] * N))),
    "all in quotes": TextFile(written(people(), ";", quoting=csv.QUOTE_ALL)),
    "line ends in quotes": TextFile(written(people(note=['a "b"\nc,d'] * N))),
    "gzipped": TextFile(gzip.compress(written(people(), ";")), name="data.csv.gz"),
    "Windows line ends": TextFile(written(people(), ";", end="\r\n")),
    "old Macintosh line ends": TextFile(written(people(), end="\r")),
    "a line for spreadsheets": TextFile(written(people(), ";", before="sep=;\r\n", end="\r\n")),
    "delimiters at line ends": TextFile(written(people(**{"": [""] * N}), ";")),
    "empty lines at the end": TextFile(written(people()) + b"\n\n\n"),
    "a mark of UTF-8": TextFile(written(people(), encoding="utf-8-sig")),
    "UTF-16": TextFile(written(people(), "\t", "utf-16"), keys=('encoding = "utf-16"',)),
    "UTF-16, the other way": TextFile(b"\xfe\xff" + written(people(), ";", "utf-16-be"), keys=('encoding = "utf-16"',)),
    "UTF-16 without a mark": TextFile(written(people(), ";", "utf-16-le"), keys=('encoding = "utf-16-le"',)),
    "cp1252": TextFile(written(people(), ";", "cp1252"), keys=('encoding = "cp1252"',)),
    "cp1252 with a euro": TextFile(written(people(price=["5 \u20ac \u2013 \u201cnew\u201d"] * N), ";", "cp1252")),
    "Macintosh letters": TextFile(
        written(people(), ";", "mac_roman"), said="--encoding", then=("--encoding", "mac_roman")
    ),
    "DOS letters": TextFile(written(people(), ";", "cp850"), said="--encoding", then=("--encoding", "cp850")),
    "Cyrillic": TextFile(
        written(people(town=["Москва", "Киев"] * (N // 2)), ";", "cp1251"), said="--encoding",
        then=("--encoding", "cp1251"),
    ),
    "no header": TextFile(
        written(people(), header=False), ("--rest", "drop"), {"column_1": WHOLE}, "--no-header",
        ("--no-header", "--quasi", "column_1,column_2", "--sensitive", "column_3"), ("header = false",),
    ),
    "a header of years": TextFile(
        written({"2019": AGES, "2020": ILL}), ("--quasi", "2019", "--sensitive", "2020"), {"2019": WHOLE}, "--header",
        ("--header",),
    ),
    "no header and decimal commas": TextFile(
        written({"a": numbers(comma), "b": numbers(comma), "c": ILL}, ";", header=False), ("--no-header",), {},
        "--delimiter",
        ("--delimiter", ";", "--quasi", "column_1,column_2", "--sensitive", "column_3"),
    ),
    "decimal commas": TextFile(
        written(people(pay=numbers(comma)), ";"), PAID, {"pay": amounts(r"\d+(?:,\d+)?", "[,;] ")},
        keys=('decimal = ","',),
    ),
    "decimal commas that are sensitive": TextFile(
        written(people(pay=numbers(comma)), ";"), AS_PAID, {"pay": r"\d+,\d+"}
    ),
    "negative decimal commas": TextFile(
        written(people(pay=numbers(comma, -50, 50)), "\t"), PAID, {"pay": amounts(r"-?\d+(?:,\d+)?", "[,;] ")}
    ),
    "German thousands": TextFile(
        written(people(pay=numbers(grouped(".", ","), 900, 90_000)), ";"), PAID,
        {"pay": amounts(r"\d{1,3}(?:\.\d{3})*(?:,\d+)?", "[,;] ")}, keys=('thousands = "."', "grouped = true"),
    ),
    "English thousands in quotes": TextFile(
        written(people(pay=numbers(grouped(","), 900, 90_000))), PAID,
        {"pay": amounts(r"\d{1,3}(?:,\d{3})*", "[,;] ")}, keys=('thousands = ","',),
    ),
    "Swiss thousands": TextFile(
        written(people(pay=numbers(grouped("'", "."), 900, 90_000)), ";"), PAID,
        {"pay": amounts(r"\d{1,3}(?:'\d{3})*(?:\.\d+)?")}, keys=("thousands = \"'\"",),
    ),
    "French thousands": TextFile(
        written(people(pay=numbers(grouped("\u202f", ","), 900, 90_000)), ";"), PAID,
        {"pay": amounts("\\d{1,3}(?:\u202f\\d{3})*(?:,\\d+)?", "[,;] ")},
    ),
    "thousands beside years": TextFile(
        written(people(pay=numbers(grouped("."), 1000, 90_000), year=[str(1990 + row % 30) for row in range(N)],
                       rate=numbers(comma)), ";"),
        ("--quasi", "year", "--sensitive", "pay", "--rest", "drop"), {"year": WHOLE, "pay": r"\d{1,2}\.\d{3}"},
    ),
    "three digits behind a point": TextFile(
        written(people(pay=numbers(lambda number: f"{1 + number / 20:.3f}", 1, 99)), ";"), PAID,
        {"pay": amounts(r"\d(?:\.\d+)?")}, "--decimal '.'", ("--decimal", ".", "--thousands", ""),
    ),
    "three digits behind a comma": TextFile(
        written(people(pay=numbers(lambda number: f"{1 + number / 20:.3f}".replace(".", ","), 1, 99)), ";"), PAID,
        {"pay": amounts(r"\d(?:,\d+)?", "[,;] ")}, "--decimal ','", ("--decimal", ",", "--thousands", ""),
    ),
    "points in one column, commas in another": TextFile(
        written(people(pay=numbers(comma), version=numbers(str)), ";"), PAID,
        {"pay": amounts(r"\d+(?:,\d+)?", "[,;] ")},
        "--decimal", ("--decimal", ","),
    ),
    "German dates": TextFile(
        written(dated(days("{d:02}.{m:02}.{y}")), ";"), SEEN, {"seen": span(DATE)}, keys=('format = "%d.%m.%Y"',)
    ),
    "German dates without zeros": TextFile(
        written(dated(days("{d}.{m}.{y}")), ";"), SEEN, {"seen": span(r"\d{1,2}\.\d{1,2}\.\d{4}")},
    ),
    "German dates with a time": TextFile(
        written(dated(days("{d:02}.{m:02}.{y} 08:30")), ";"), SEEN, {"seen": span(DATE)}
    ),
    "short German dates": TextFile(
        written(dated(days("{d:02}.{m:02}.{s:02}")), ";"), SEEN, {"seen": span(r"\d\d\.\d\d\.\d\d")}
    ),
    "American dates": TextFile(
        written(dated(days("{m:02}/{d:02}/{y}", 13))), SEEN, {"seen": span(r"\d\d/\d\d/\d{4}", " - ")},
        keys=('format = "%m/%d/%Y"',),
    ),
    "American dates with a time": TextFile(
        written(dated(days("{m}/{d}/{y} 8:05 PM", 13))), SEEN, {"seen": span(r"\d{1,2}/\d{1,2}/\d{4}", " - ")}
    ),
    "British dates": TextFile(
        written(dated(days("{d:02}/{m:02}/{y}", 13))), SEEN, {"seen": span(r"\d\d/\d\d/\d{4}", " - ")}
    ),
    "dates that may be either": TextFile(
        written(dated(days("{d:02}/{m:02}/{y}", 1, 12))), SEEN, {"seen": span(r"\d\d/\d\d/\d{4}", " - ")},
        "--date-format '%d/%m/%Y'", ("--date-format", "%d/%m/%Y"),
    ),
    "dates that another column decides": TextFile(
        written(people(seen=days("{d:02}/{m:02}/{y}", 1, 12), left=days("{d:02}/{m:02}/{y}", 13))), SEEN,
        {"seen": span(r"\d\d/\d\d/\d{4}", " - ")}, keys=('format = "%d/%m/%Y"',),
    ),
    "dates with names of months": TextFile(
        written(dated(days("{d:02}-{b}-{y}"))), SEEN, {"seen": span(r"\d\d-[A-Z][a-z]{2}-\d{4}")}
    ),
    "dates as in letters": TextFile(
        written(dated(days("{B} {d}, {y}"))), SEEN, {"seen": span(r"[A-Z][a-z]+ \d{1,2}, \d{4}")}
    ),
    "dates of eight digits": TextFile(written(dated(days("{y}{m:02}{d:02}"))), SEEN, {"seen": span(r"\d{8}")}),
    "dates with slashes, year first": TextFile(
        written(dated(days("{y}/{m:02}/{d:02}"))), SEEN, {"seen": span(r"\d{4}/\d\d/\d\d", " - ")}
    ),
    "ISO timestamps": TextFile(
        written(dated(days("{y}-{m:02}-{d:02} 08:00:00"))), SEEN, {"seen": span(r"\d{4}-\d\d-\d\d")}
    ),
    "ISO timestamps with a zone": TextFile(
        written(dated(days("{y}-{m:02}-{d:02}T08:00:00+05:45"))), SEEN, {"seen": span(r"\d{4}-\d\d-\d\d")}
    ),
    "German dates that are sensitive": TextFile(
        written(dated(days("{d:02}.{m:02}.{y}")), ";"), ("--quasi", "age", "--sensitive", "seen", "--rest", "drop"),
        {"seen": DATE}, keys=('format = "%d.%m.%Y"', 'distance = "ordered"'),
    ),
    "times of day": TextFile(
        written(people(at=[f"{8 + row % 9:02}:30" for row in range(N)])),
        ("--quasi", "age", "--sensitive", "at", "--rest", "drop"), {"at": r"\d\d:30"},
    ),
    "leading zeros": TextFile(
        written(people(zip=[f"0{2138 + row % 3}" for row in range(N)])),
        ("--quasi", "age,zip", "--sensitive", "ill", "--rest", "drop"), {"zip": r"0\d+\**|\*+"},
    ),
    "words for true and false": TextFile(
        written(people(smokes=["ja", "nein", "nein"] * (N // 3)), ";"),
        ("--quasi", "age,smokes", "--sensitive", "ill", "--rest", "drop"), {"smokes": r"ja|nein|\*"},
    ),
    "one column too many in a line": TextFile(
        written(people()).replace(b"cold", b"co,ld", 1), said="Fix the line", then=()
    ),
    "a quote that is never closed": TextFile(written(people()) + b'30,"Bonn,flu\n', said="never closed", then=()),
    "a name twice": TextFile(written(people()).replace(b"town", b"age", 1), said="same name", then=()),
    "an index without a name": TextFile(
        b"".join(
            (str(row - 1) if row else "").encode() + b"," + line
            for row, line in enumerate(written(people()).splitlines(True))
        ),
        said="Column 1 has no name", then=(),
    ),
}  # fmt: skip
REPAIRED = {  # what a person does to the file once told
    "one column too many in a line": lambda data: data.replace(b"co,ld", b"cold"),
    "a quote that is never closed": lambda data: data.replace(b'"Bonn', b"Bonn"),
    "a name twice": lambda data: data.replace(b"age,age", b"age,town"),
    "an index without a name": lambda data: b"row" + data,
}


def test_there_are_enough_files() -> None:
    assert len(FILES) >= 40


@pytest.mark.parametrize("name", one_in(2, list(FILES)))
def test_from_a_text_file_to_a_release(name: str, run: Callable[..., tuple[int, str]]) -> None:
    given = FILES[name]
    data = Path(given.name)
    data.write_bytes(given.data)
    init = ("init", given.name, "-o", "schema.toml", "--k", "3", *given.flags)
    code, told = run(*init)
    if given.said:
        assert (code, given.said in told) == (3, True), told
        assert not Path("schema.toml").exists()
        if name in REPAIRED:
            data.write_bytes(REPAIRED[name](given.data))
        code, told = run(*init, *given.then)
    assert code == 0, told
    schema = Path("schema.toml").read_text(encoding="utf-8")
    assert all(line in schema for line in given.keys), schema
    anonymize = ("anonymize", given.name, "-s", "schema.toml", "-o", "release.csv", "--method", "mondrian")
    code, told = run(*anonymize, "--keep-order", "--allow-single-class", "--seed", "1")
    assert code == 0, told
    code, told = run("verify", "release.csv", "-s", "schema.toml", "--original", given.name)
    assert code == 0, told
    assert run("assess", "release.csv", "-s", "schema.toml")[0] == 0
    check_forms(given, schema)


def check_forms(given: TextFile, schema: str) -> None:
    """Every released cell looks as the values came."""
    delimiter = tomllib.loads(schema).get("delimiter", ",")
    with Path("release.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=delimiter))
    assert len(rows) >= N
    for column, form in given.forms.items():
        wrong = [row[column] for row in rows if not re.fullmatch(form, row[column])]
        assert not wrong, (column, wrong[:3])
