"""Hostile tables, schemas and hierarchies: each ends as stated, says where, and gives no cell away.

`SECRET` stands in the cells that are wrong. It may be in a release, where it is data, but never in a message.
"""

import csv
import gzip
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import read
from tests.seeds import one_in
from tests.strategies import as_csv, people, promise, run

SECRET = "SECRETCELL"
DONE, BAD, INFEASIBLE = 0, 3, 4

AGES = [str(20 + row) for row in range(12)]
TYPED = {"age": list(range(20, 32)), "disease": ["flu", "cold"] * 6}
TWO = ["flu", "cold"] * 6
SENSITIVE = "disease"
ALONE = ("--allow-single-class",)
PAIR = {"values": ["flu", "cold"], "costs": [[0, 1], [1, 0]]}


# What is known to be wrong; each is the reason of the cases that show it.


@dataclass(frozen=True)
class Case:
    """One hostile input.

    Attributes
    ----------
    name
        What is hostile about it.
    code
        The exit code it must have.
    table
        The bytes of a CSV file, a frame for a Parquet file, or what puts the input there.
    schema
        As TOML.
    says
        What the message must hold: the column, file or line it is about.
    file
        The name of the input.
    beside
        Other files next to the schema.
    rows, columns
        Those of the release.
    same
        Columns of the release that must hold what those of the input hold, in any order.
    """

    name: str
    code: int
    table: bytes | pl.DataFrame | Callable[[Path], None] = field(default_factory=lambda: as_csv(people()))
    schema: str = field(default_factory=promise)
    says: tuple[str, ...] = ()
    file: str = ""
    beside: Mapping[str, bytes] = field(default_factory=dict)
    rows: int = 12
    columns: Sequence[str] = ("age", SENSITIVE)
    same: Sequence[str] = (SENSITIVE,)
    options: tuple[str, ...] = ()

    def put(self, folder: Path) -> tuple[Path, Path]:
        """Write the files of this case; gives the paths of table and schema."""
        data = folder / (self.file or ("data.parquet" if isinstance(self.table, pl.DataFrame) else "data.csv"))
        if isinstance(self.table, bytes):
            data.write_bytes(self.table)
        elif isinstance(self.table, pl.DataFrame):
            self.table.write_parquet(data)
        else:
            self.table(data)
        schema = folder / "schema.toml"
        schema.write_text(self.schema, encoding="utf-8")
        for name, content in self.beside.items():
            (folder / name).write_bytes(content)
        return data, schema


def quasi(*, column: str = "age", **keys: Any) -> str:
    """A schema with one quasi-identifier like this."""
    return promise({column: keys})


def sensitive(**keys: Any) -> str:
    """A schema with one sensitive attribute like this."""
    return promise(sensitive={SENSITIVE: {"t": 0.5, **keys}})


def ages(*values: str, **rest: Sequence[str]) -> bytes:
    """A table with these ages, over and over; `SECRET` comes once."""
    repeated = [value for value in values if SECRET not in value] * 12
    odd = [value for value in values if SECRET in value]
    return as_csv(people(age=(odd + repeated)[:12], **rest))


def diseases(*values: str) -> bytes:
    """A table with these diseases, over and over."""
    return as_csv(people(disease=[values[row % len(values)] for row in range(12)]))


def frame(**columns: Any) -> pl.DataFrame:
    """A frame with columns that are put in the place of those of `people`, or beside them."""
    return pl.DataFrame(TYPED).with_columns(**columns)


def tree(text: str, **keys: Any) -> Mapping[str, Any]:
    """A case's schema and hierarchy file, for the disease as a quasi-identifier."""
    return {
        "schema": promise(
            {"disease": {"kind": "categorical", "hierarchy": "tree.csv"}},
            {"age": {"distance": "numeric", "t": 1}},
            **keys,
        ),
        "beside": {"tree.csv": text.encode()},
        "same": ("age",),
    }


def wide(n_columns: int) -> bytes:
    """A table of so many columns, all but two of them c0, c1, ..."""
    return as_csv(people(**{f"c{place}": [SECRET] * 12 for place in range(n_columns - 2)}))


def named(label: str, name: str) -> Case:
    """A hostile column name, as quasi-identifier and, with a tail, as sensitive attribute."""
    columns = {name: AGES, f"{name}~": TWO}
    schema = promise({name: {"kind": "numeric"}}, {f"{name}~": {"distance": "equal", "t": 0.5}})
    return Case(f"name-{label}", DONE, as_csv(columns), schema, columns=[*columns], same=[f"{name}~"])


NAMES = [
    named("sql", "age'); DROP TABLE people;--"),
    named("html", "<script>alert(1)</script>"),
    named("formula", "=cmd|' /C calc'!A0"),
    named("at-formula", "@SUM(1+1)*cmd|' /C calc'!A0"),
    named("emoji", "👩‍⚕️🩺"),
    named("right-to-left", "\u202eעמר\u202c"),
    named("spaces", "  the age  "),
    named("quotes", "the \"real\" 'age'"),
    named("apostrophes", "the 'real' age"),
    named("newline", "age\nin years"),
    named("carriage-return", "age\r\nin years"),
    named("delimiter", "age,years"),
    named("dots", "person.age..years"),
    named("brackets", "[bold]age[/bold] [/] [quasi.age]"),
    named("braces", "{age} %s %(age)s {0}"),
    named("long", "a" * 5_000),
    named("star", "*"),
    named("regex", "^.*$"),
    named("digits-only", "1"),
    named("hash", "#age"),
    named("nul", "a\0ge"),
    named("backslash", "C:\\new\\table"),
    named("word-null", "null"),
    Case("name-empty", BAD, as_csv({"": AGES, SENSITIVE: TWO}), says=("Column 1",)),
    Case("name-twice", BAD, as_csv(people()).replace(b"disease", b"age"), says=("Columns 1 and 2", "same name")),
    Case("name-twice-beside", BAD, b"age,age,disease\n" + b"20,21,flu\n" * 12, says=("Columns 1 and 2",)),
    Case("name-as-bounds", BAD, as_csv(people(age_low=AGES)),
         promise({"age": {"kind": "numeric", "publish": "bounds"}, "age_low": {"kind": "numeric"}}),
         says=("'age_low'",)),
    Case("name-with-outer-spaces-is-another", BAD, as_csv({" age": AGES, SENSITIVE: TWO}), says=("' age'",)),
    Case("name-in-another-case-is-another", BAD, as_csv({"Age": AGES, SENSITIVE: TWO}), says=("'Age'",)),
    Case("name-not-in-schema", BAD, as_csv(people(secret=[SECRET] * 12)), says=("'secret'",)),
    Case("name-not-in-table", BAD, as_csv({"age": AGES}), says=("'disease'",)),
]  # fmt: skip

SHAPES = [
    Case("byte-order-mark", DONE, b"\xef\xbb\xbf" + as_csv(people())),
    Case("byte-order-mark-and-quotes", DONE, b"\xef\xbb\xbf" + as_csv(people()).replace(b"age", b'"age"')),
    Case("crlf", DONE, as_csv(people(), end="\r\n")),
    Case("cr-only", DONE, as_csv(people(disease=[SECRET, *TWO[1:]]), end="\r"), same=()),
    Case("no-last-line-end", DONE, as_csv(people()).rstrip()),
    Case("line-short", BAD, as_csv(people()) + f"{SECRET}\n".encode(), says=("data.csv", "record 13")),
    Case("line-long", BAD, as_csv(people()) + f"32,flu,{SECRET}\n".encode(), says=("data.csv", "record 13")),
    Case("line-long-by-an-empty-field", BAD, as_csv(people()) + b"32,flu,\n", says=("record 13",)),
    Case("line-blank-in-the-middle", BAD, as_csv(people()).replace(b"24,", b"\n24,"), says=("data.csv", "record 5")),
    Case("lines-blank-at-the-end", DONE, as_csv(people()) + b"\n\n\n"),
    Case("lines-blank-at-the-end-crlf", DONE, as_csv(people(), end="\r\n") + b"\r\n\r\n"),
    Case("lines-blank-at-the-start", BAD, b"\n\n" + as_csv(people()), says=("data.csv",)),
    Case("spaces-at-the-end", BAD, as_csv(people()) + b"   \n", says=("record 13",)),
    Case("empty-file", BAD, b"", says=("data.csv", "empty")),
    Case("byte-order-mark-only", BAD, b"\xef\xbb\xbf", says=("data.csv", "empty")),
    Case("whitespace-only", BAD, b" \n\t \n\r\n", says=("data.csv", "empty")),
    Case("header-only", BAD, b"age,disease\n", says=("no rows",)),
    Case("header-only-no-line-end", BAD, b"age,disease", says=("no rows",)),
    Case("header-missing", BAD, as_csv(people(disease=[SECRET, *TWO[1:]])).partition(b"\n")[2]),
    Case("header-missing-and-a-value-twice", BAD, f"{SECRET},flu,{SECRET}\n".encode() + b"20,flu,x\n" * 12,
         says=("Columns 1 and 3", "header")),
    Case("header-missing-and-a-value-is-a-name", BAD, f"{SECRET},age,20\n".encode() + b"x,20,flu\n" * 12,
         promise({"age": {"kind": "numeric"}, "zip": {"kind": "text"}}), says=("columns 1, 3", "no header")),
    Case("header-of-newlines", BAD, b'"' + b"\n" * 300_000 + b'",disease\n20,flu\n', says=("data.csv", "header")),
    Case("header-of-some-newlines", BAD, b'"' + b"\n" * 100_000 + b'",disease\n20,flu\n', says=("'",)),
    Case("sixty-thousand-columns-one-twice", BAD, says=("Columns 6 and 60001",),
         table=",".join([*(f"c{place}" for place in range(60_000)), "c5"]).encode() + b"\n" + b"," * 60_000 + b"\n"),
    Case("header-with-trailing-delimiter", DONE, b"age,disease,\n" + b"20,flu,\n" * 12),
    Case("header-with-trailing-delimiter-over-values", BAD, b"age,disease,\n" + b"20,flu,1\n" * 12, says=("Column 3",)),
    Case("header-after-a-line-for-spreadsheets", DONE, b"sep=,\n" + as_csv(people()), same=()),
    Case("header-after-another-line-for-spreadsheets", BAD, b"sep=;\n" + as_csv(people()), says=("delimiter",)),
    Case("cr-cr-lf", BAD, as_csv(people(), end="\r\r\n"), says=("data.csv",)),
    Case("one-row-k-1", DONE, as_csv({"age": ["20"], SENSITIVE: ["flu"]}), promise(k=1), rows=1),
    Case("one-row-k-2", INFEASIBLE, as_csv({"age": ["20"], SENSITIVE: [SECRET]}), says=("k = 2",)),
    Case("one-column", DONE, as_csv({"age": AGES}), promise(sensitive={}), columns=["age"], same=()),
    Case("one-column-with-missing", DONE, as_csv({"age": ["", "", *AGES[2:]]}),
         promise(sensitive={}, missing="category"), columns=["age"], same=()),
    Case("one-column-last-missing", DONE, as_csv({"age": [*AGES[2:], "", ""]}),
         promise(sensitive={}, missing="category"), columns=["age"], same=()),
    Case("k-above-n", INFEASIBLE, schema=promise(k=13), says=("12 rows", "k = 13")),
    Case("k-beyond-64-bits", INFEASIBLE, schema=promise().replace("k = 2", f"k = {10**30}"), says=("12 rows",)),
    Case("k-equals-n", INFEASIBLE, schema=promise(k=12), says=("k = 12",)),
    Case("k-equals-n-allowed", DONE, schema=promise(k=12), options=ALONE),
    Case("rows-identical", DONE, b"age,disease\n" + b"20,flu\n" * 12),
    Case("wrong-delimiter", BAD, as_csv(people(), delimiter=";"), says=("divided by ';'", "--delimiter")),
    Case("wrong-delimiter-in-schema", BAD, schema=promise(delimiter=";"), says=("divided by ','", "--delimiter")),
    Case("delimiter-tab", DONE, as_csv(people(), delimiter="\t"), promise(delimiter="\t")),
    Case("delimiter-of-intervals", DONE, as_csv(people(), delimiter="["), promise(delimiter="[")),
    Case("quote-unclosed", BAD, as_csv(people()) + f'32,"{SECRET}\n'.encode(), says=("data.csv", "quote")),
    Case("quote-unclosed-in-header", BAD, b'"' + as_csv(people()), says=("data.csv", "quote")),
    Case("quote-inside-a-field", BAD, as_csv(people()) + f'32,{SECRET}"x\n'.encode(), says=("data.csv",)),
    Case("quotes-inside-two-fields", BAD, as_csv(people()) + f'3"2,{SECRET}"x\n'.encode(), says=("data.csv",)),
    Case("quote-after-a-space", BAD, as_csv(people()) + f'32, "{SECRET},x"\n'.encode(), says=("data.csv",)),
    Case("text-after-a-closing-quote", BAD, as_csv(people()) + f'32,"{SECRET}"x\n'.encode(), says=("data.csv",)),
    Case("quoted-newlines", DONE, diseases("flu\nor cold", "cold\r\n", "\n")),
    Case("quoted-carriage-returns", DONE, diseases("flu\ror cold", "\r")),
    Case("quoted-delimiters-and-quotes", DONE, diseases('"flu"', "flu, cold", '""', '"')),
    Case("quoted-newlines-bad-value", BAD, as_csv(people(age=[SECRET, *AGES[1:]], disease=["a\nb", "c\nd"] * 6)),
         says=("'age'", "record 1")),
    Case("nul-bytes", DONE, diseases("f\0lu", "\0")),
    Case("nul-bytes-only", BAD, b"\0" * 100),
    Case("control-characters", DONE, diseases("\x1b[31mflu\x1b[0m", "\x07\x08", "\x85\u2028")),
    Case("latin-1", BAD, f"age,disease\n20,Grüße {SECRET}\n".encode("latin-1"), says=("data.csv", "encoding")),
    Case("latin-1-header", BAD, "age,dißease\n20,x\n".encode("latin-1"), says=("data.csv", "encoding")),
    Case("latin-1-told", DONE, diseases("Grüße", "Ärger").decode().encode("latin-1"), promise(encoding="latin-1"),
         same=()),
    Case("utf-16", BAD, as_csv(people()).decode().encode("utf-16"), says=("data.csv",)),
    Case("utf-16-told", DONE, as_csv(people()).decode().encode("utf-16"), promise(encoding="utf-16")),
    Case("ascii-told-and-is-not", BAD, diseases(f"Grüße {SECRET}"), promise(encoding="ascii"),
         says=("data.csv", "ascii")),
    Case("surrogates", BAD, b"age,disease\n20,\xed\xa0\x80\n", says=("data.csv",)),
    Case("ten-thousand-columns", DONE, wide(10_000), promise(identifiers=[f"c{place}" for place in range(9_998)])),
    Case("ten-thousand-columns-no-role", BAD, wide(10_000), says=("9998", "'c0'", "more")),
    Case("fifty-quasi-identifiers", DONE, as_csv({f"c{p}": AGES for p in range(50)} | {SENSITIVE: TWO}),
         promise({f"c{place}": {"kind": "numeric"} for place in range(50)}),
         columns=[*(f"c{place}" for place in range(50)), SENSITIVE]),
    Case("cell-of-a-hundred-kilobytes", DONE, diseases("x" * 100_000, "cold")),
]  # fmt: skip


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _nothing(path: Path) -> None:
    return


def _truncated_parquet(path: Path) -> None:
    frame().write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])


def _damaged_parquet(path: Path) -> None:
    frame(disease=pl.Series([SECRET, "x"] * 6)).write_parquet(path, compression="uncompressed")
    content = path.read_bytes()
    path.write_bytes(content[:10] + b"\xff" * 30 + content[40:])


def _parquet(path: Path) -> None:
    frame(disease=pl.Series([SECRET, "x"] * 6)).write_parquet(path)


FILES = [
    Case("file-is-a-folder", BAD, _folder, says=("data.csv",)),
    Case("file-is-not-there", BAD, _nothing, says=("data.csv",)),
    Case("file-is-a-loop", BAD, _loop, says=("data.csv",)),
    Case("file-with-a-name-too-long", BAD, _nothing, file="x" * 300 + ".csv", says=(".csv",)),
    Case("suffix-unknown", BAD, file="data.doc", says=("data.doc", ".parquet")),
    Case("suffix-none", BAD, file="data", says=("'data'", ".parquet")),
    Case("suffix-in-capitals", DONE, file="DATA.CSV"),
    Case("gzip", DONE, gzip.compress(as_csv(people())), file="data.csv.gz"),
    Case("gzip-of-two-members", DONE, file="data.csv.gz",
         table=gzip.compress(as_csv(people())[:40]) + gzip.compress(as_csv(people())[40:])),
    Case("gzip-truncated", BAD, gzip.compress(as_csv(people()))[:-12], file="data.csv.gz", says=("data.csv.gz",)),
    Case("gzip-of-a-byte", BAD, b"\x1f", file="data.csv.gz", says=("data.csv.gz",)),
    Case("gzip-damaged", BAD, gzip.compress(as_csv(people()))[:20] + b"\xff" * 40, file="data.csv.gz",
         says=("data.csv.gz",)),
    Case("gzip-with-trailing-bytes", BAD, gzip.compress(as_csv(people())) + SECRET.encode(), file="data.csv.gz",
         says=("data.csv.gz",)),
    Case("gzip-that-is-not", BAD, diseases(SECRET), file="data.csv.gz", says=("data.csv.gz",)),
    Case("gzip-of-nothing", BAD, gzip.compress(b""), file="data.csv.gz", says=("data.csv.gz", "empty")),
    Case("gzip-empty-file", BAD, b"", file="data.csv.gz", says=("data.csv.gz",)),
    Case("gzip-named-csv", BAD, gzip.compress(as_csv(people())), says=("data.csv",)),
    Case("csv-named-parquet", BAD, diseases(SECRET), file="data.parquet", says=("data.parquet",)),
    Case("parquet-named-csv", BAD, _parquet, says=("data.csv",)),
    Case("parquet-truncated", BAD, _truncated_parquet, file="data.parquet", says=("data.parquet",)),
    Case("parquet-damaged", BAD, _damaged_parquet, file="data.parquet", says=("data.parquet",)),
    Case("parquet-empty-file", BAD, b"", file="data.parquet", says=("data.parquet",)),
    Case("parquet-of-eight-bytes", BAD, b"PAR1PAR1", file="data.parquet", says=("data.parquet",)),
    Case("parquet-no-rows", BAD, frame().head(0), says=("no rows",)),
    Case("parquet-no-columns", BAD, pl.DataFrame(), says=("no columns",)),
]  # fmt: skip

LISTS = pl.Series([[SECRET], ["x", "y"]] * 6)
STRUCTS = pl.Series([{"a": SECRET, "b": 1}, {"a": "x", "b": 2}] * 6)
BYTES = pl.Series([SECRET.encode(), b"\xff"] * 6)
DAYS = [date(2021, 3, 1) + timedelta(days=row) for row in range(12)]
CATEGORICAL = quasi(kind="categorical")

TYPES = [
    Case("parquet", DONE, frame()),
    Case("list-quasi", BAD, frame(age=LISTS), CATEGORICAL, says=("'age'", "List")),
    Case("list-numeric-quasi", BAD, frame(age=LISTS), says=("'age'", "List")),
    Case("list-sensitive", BAD, frame(disease=LISTS), says=("'disease'", "List")),
    Case("list-identifier", DONE, frame(tags=LISTS), promise(identifiers=["tags"])),
    Case("list-unit", BAD, frame(tags=LISTS), promise(unit="tags"), says=("'tags'",)),
    Case("list-unit-distinct", DONE, frame(tags=pl.Series([[str(row)] for row in range(12)])), promise(unit="tags")),
    Case("list-kept", BAD, frame(tags=LISTS), promise(keep=["tags"]), says=("'tags'",)),
    Case("list-of-an-enum", BAD, frame(age=pl.Series([["x"]] * 12, dtype=pl.List(pl.Enum(["x", SECRET])))), CATEGORICAL,
         says=("'age'", "List")),
    Case("struct-quasi", BAD, frame(age=STRUCTS), CATEGORICAL, says=("'age'",)),
    Case("struct-sensitive", BAD, frame(disease=STRUCTS), says=("'disease'",)),
    Case("struct-unit-repeated", BAD, frame(tags=STRUCTS), promise(unit="tags"), says=("'tags'",)),
    Case("binary-quasi", BAD, frame(age=BYTES), CATEGORICAL, says=("'age'", "Binary")),
    Case("binary-sensitive", BAD, frame(disease=BYTES), says=("'disease'", "Binary")),
    Case("decimal-quasi", DONE, frame(age=pl.Series([Decimal(f"{row}.50") for row in range(12)]))),
    Case("decimal-sensitive", DONE, frame(disease=pl.Series([Decimal("1.50"), Decimal("2.00")] * 6)),
         sensitive(distance="numeric")),
    Case("decimal-as-categories", DONE, frame(disease=pl.Series([Decimal("1.50"), Decimal("2.00")] * 6))),
    Case("datetime-quasi", DONE, frame(age=pl.Series([datetime(2021, 3, 1 + row, 7) for row in range(12)])),
         quasi(kind="date", step="month"), options=ALONE),
    Case("datetime-with-zone-quasi", DONE,
         frame(age=pl.Series([datetime(2021, 3, 1 + row, 7) for row in range(12)]).dt.replace_time_zone("Asia/Tokyo")),
         quasi(kind="date")),
    Case("datetime-as-numbers", BAD, frame(age=pl.Series([datetime(2021, 3, 1)] * 12)), says=("'age'", "Datetime")),
    Case("datetime-equal", DONE, frame(disease=pl.Series([datetime(2021, 3, 1, 7), datetime(2021, 3, 2)] * 6))),
    Case("date-quasi", DONE, frame(age=pl.Series(DAYS)), quasi(kind="date", step=7)),
    Case("date-categorical", DONE, frame(age=pl.Series(DAYS)), CATEGORICAL, options=ALONE),
    Case("date-ordered", DONE, frame(disease=pl.Series(DAYS)), sensitive(distance="ordered")),
    Case("time-categorical", DONE, frame(age=pl.Series([time_of_day(7, row) for row in range(12)])),
         CATEGORICAL, options=ALONE),
    Case("time-as-date", BAD, frame(age=pl.Series([time_of_day(7, row) for row in range(12)])), quasi(kind="date"),
         says=("'age'", "Time")),
    Case("duration-sensitive", DONE, frame(disease=pl.Series([timedelta(days=1), timedelta(hours=3)] * 6)),
         same=()),
    Case("duration-quasi", DONE, frame(age=pl.Series([timedelta(days=1 + row) for row in range(12)])), CATEGORICAL,
         options=ALONE),
    Case("duration-too-long", BAD, frame(disease=pl.Series([timedelta(days=10**6), timedelta(hours=3)] * 6)),
         says=("'disease'", "hours")),
    Case("duration-as-numbers", BAD, frame(age=pl.Series([timedelta(days=1)] * 12)), says=("'age'", "Duration")),
    Case("datetime-with-zone-equal", DONE,
         frame(disease=pl.Series([datetime(2021, 3, 1, 7), datetime(2021, 3, 2)] * 6).dt.replace_time_zone("UTC"))),
    Case("binary-kept", BAD, frame(tags=BYTES), promise(keep=["tags"]), says=("'tags'", "Cast it")),
    Case("categorical-quasi", DONE, frame(age=pl.Series(AGES, dtype=pl.Categorical)), CATEGORICAL, options=ALONE),
    Case("categorical-as-numbers", DONE, frame(age=pl.Series(AGES, dtype=pl.Categorical))),
    Case("categorical-as-numbers-and-not", BAD, frame(age=pl.Series([SECRET, *AGES[1:]], dtype=pl.Categorical)),
         says=("'age'", "row 0")),
    Case("categorical-kept", DONE, frame(site=pl.Series(["a"] * 12, dtype=pl.Categorical)), promise(keep=["site"]),
         columns=["age", SENSITIVE, "site"], same=[SENSITIVE, "site"]),
    Case("enum-sensitive", DONE, frame(disease=pl.Series(TWO, dtype=pl.Enum(["cold", "flu", SECRET])))),
    Case("bool-sensitive", DONE, frame(disease=pl.Series([True, False] * 6))),
    Case("bool-quasi", DONE, frame(age=pl.Series([True, False, False, True] * 3)), CATEGORICAL),
    Case("bool-as-numbers", BAD, frame(age=pl.Series([True, False] * 6)), says=("'age'", "Boolean")),
    Case("bool-as-text", DONE, frame(age=pl.Series([True, False] * 6)), quasi(kind="text")),
    Case("null-type-quasi", DONE, frame(age=pl.Series([None] * 12)), promise(missing="category")),
    Case("null-type-sensitive", DONE, frame(disease=pl.Series([None] * 12)), promise(missing="category")),
    Case("null-type-unnamed-policy", BAD, frame(age=pl.Series([None] * 12)), says=("'age", "12 rows")),
    Case("integers-as-digits", DONE, frame(age=pl.Series([100 + row for row in range(12)])), quasi(kind="digits")),
    Case("integers-as-text", DONE, frame(), quasi(kind="text")),
    Case("integers-of-128-bits", DONE, frame(age=pl.Series([2**100 + row for row in range(12)], dtype=pl.Int128)),
         options=ALONE),
    Case("unsigned-at-the-top", DONE, frame(age=pl.Series([2**64 - 1 - row for row in range(12)], dtype=pl.UInt64)),
         options=ALONE),
    Case("integers-around-2-to-53", DONE, frame(age=pl.Series([2**53 + row for row in range(12)])), options=ALONE),
    Case("integers-around-2-to-53-as-categories", DONE, frame(age=pl.Series([2**53 + row for row in range(12)])),
         CATEGORICAL, options=ALONE),
    Case("floats-with-order", DONE, frame(disease=pl.Series([1.0, 2.0] * 6)),
         sensitive(distance="ordered", order=["1", "2"]), same=()),
    Case("floats-with-a-tree", DONE, frame(disease=pl.Series([1.0, 2.0] * 6)),
         schema=sensitive(distance="hierarchical", hierarchy={"low": ["1", "2"], "high": ["3"]}), same=()),
    Case("floats-equal", DONE, frame(disease=pl.Series([1.0, 2.5] * 6))),
    Case("floats-of-seventeen-digits-equal", DONE, frame(disease=pl.Series([1 / 3, 2.5] * 6))),
    Case("floats-32-bit", DONE, frame(age=pl.Series([0.5 + row for row in range(12)], dtype=pl.Float32))),
    Case("floats-32-bit-tenths", DONE, frame(age=pl.Series([0.1 + row for row in range(12)], dtype=pl.Float32)),
         quasi(kind="numeric", step=1)),
    Case("negative-zero", DONE, frame(age=pl.Series([0.0, -0.0, 1.0, 2.0] * 3))),
    Case("infinity-in-a-float-column", BAD, frame(age=pl.Series([float("inf"), *range(11)], strict=False)),
         says=("'age'", "infinite", "row 0")),
    Case("nan-in-a-float-column", DONE, frame(age=pl.Series([float("nan")] * 2 + [1.5] * 10)),
         promise(missing="category")),
    Case("nan-in-a-kept-column", DONE, frame(site=pl.Series([float("nan")] * 12)), promise(keep=["site"]),
         columns=["age", SENSITIVE, "site"]),
    Case("text-and-null", DONE, frame(disease=pl.Series(["", None, "flu"] * 4)), promise(missing="category"), same=()),
]  # fmt: skip


def odd_numbers() -> list[Case]:
    """Cells that look like numbers, in a quasi-identifier and in a sensitive attribute of distance numeric."""
    cells = {
        "inf": "inf",
        "minus-inf": "-inf",
        "infinity": "Infinity",
        "overflow": "1e400",
        "minus-overflow": "-1e400",
        "twenty-digits": "12345678901234567890",
        "underflow": "1e-400x",
        "twenty-decimals": "0.12345678901234567890",
        "hexadecimal": "0x1F",
        "underscores": "1_000",
        "thousands": "1,000",
        "decimal-comma": "1,5",
        "two-points": "1.2.3",
        "currency": "€20",
        "percent": "20%",
        "arabic-digits": "٢٠",
        "full-width-digits": "\uff12\uff10",
        "minus-sign-of-typography": "\u22125",
        "letter": "2O",
        "plus-minus": "+-5",
        "sign-only": "-",
        "point-only": ".",
        "exponent-only": "e5",
        "fraction": "1/2",
        "text": SECRET,
        "null-word": "null",
        "not-available": "N/A",
        "boolean": "true",
        "formula": "=1+1",
        "star": "*",
        "interval": "[20, 30]",
    }
    cases = []
    for label, cell in cells.items():
        is_exact = label in ("twenty-digits", "twenty-decimals")  # any number of digits is read as it stands
        cases.append(
            Case(
                f"number-{label}",
                DONE if is_exact else BAD,
                as_csv(people(age=[*AGES[:5], cell, *AGES[6:]])),
                says=() if is_exact else ("'age'",),
            )
        )
        numbers = as_csv(people(disease=[cell, *AGES[1:]]))
        cases.append(
            Case(f"number-{label}-sensitive", BAD, numbers, sensitive(distance="numeric"), says=("'disease'",))
        )
    return cases  # fmt: skip


NUMBERS = [
    *odd_numbers(),
    Case("number-seventeen-digits", DONE, as_csv(people(age=["0.12345678901234567", *AGES[1:]]))),
    Case("number-seventeen-digits-sensitive", DONE, diseases("0.12345678901234567", "1"),
         sensitive(distance="numeric")),
    Case("number-subnormal", DONE, as_csv(people(age=["5e-324", *AGES[1:]]))),
    Case("number-subnormal-sensitive", BAD, diseases("5e-324", "1"), sensitive(distance="numeric"),
         says=("'disease'", "exact arithmetic")),
    Case("number-and-its-line", BAD, as_csv(people(age=[*AGES[:5], SECRET, *AGES[6:]])), says=("'age'", "line 7")),
    Case("numbers-and-their-lines", BAD, as_csv(people(age=[SECRET] * 12)), says=("line", "2, 3, 4, 5, 6, ...")),
    Case("nan-is-missing", BAD, as_csv(people(age=["nan", "NaN", " NAN ", *AGES[3:]])), says=("'age", "3 rows")),
    Case("nan-is-a-category", DONE, as_csv(people(age=["nan", "NaN", " NAN ", *AGES[3:]])),
         promise(missing="category")),
    Case("nan-is-a-text", DONE, diseases("nan", "NaN")),
    Case("mixed-types", BAD, as_csv(people(age=["20", "21.5", "x" + SECRET, "2021-01-01", "true", "", *AGES[6:]])),
         says=("'age",)),
    Case("spaces-around-numbers", DONE, as_csv(people(age=[f" {age}\t" for age in AGES]))),
    Case("signs-exponents-and-points", DONE,
         as_csv(people(age=["+5", "1e1", "2E+1", ".5", "5.", "-0", "007", *AGES[7:]]))),
    Case("negative-numbers", DONE, as_csv(people(age=[str(row - 6) for row in range(12)])),
         quasi(kind="numeric", step=5)),
    Case("fifteen-digits", DONE, as_csv(people(age=[str(10**14 + row) for row in range(12)]))),
    Case("decimals-that-floats-miss", DONE, as_csv(people(age=[f"0.{row}" for row in range(10, 22)]))),
    Case("decimal-comma-told", DONE, as_csv(people(age=[f"{age},5" for age in AGES]), delimiter=";"),
         promise(delimiter=";", decimal=",")),
    Case("decimal-comma-twice", BAD, as_csv(people(age=["1,5,5", *AGES[1:]]), delimiter=";"),
         promise(delimiter=";", decimal=","), says=("'age'", "line 2")),
    Case("decimal-comma-is-the-delimiter", DONE,
         b"age,disease\n" + b"".join(f'"{20 + row},5",{"flu" if row % 2 else "cold"}\n'.encode() for row in range(12)),
         promise(decimal=",")),
    Case("decimal-word", BAD, schema=promise(decimal="point"), says=("decimal",)),
    Case("step-above-the-range", DONE, schema=quasi(kind="numeric", step=1000), options=ALONE),
    Case("step-of-a-fraction", DONE, schema=quasi(kind="numeric", step=0.1)),
    Case("step-zero", BAD, schema=quasi(kind="numeric", step=0), says=("[quasi.age]", "step")),
    Case("step-negative", BAD, schema=quasi(kind="numeric", step=-5), says=("[quasi.age]", "step")),
    Case("step-nan", BAD, schema=quasi(kind="numeric", step=float("nan")), says=("[quasi.age]", "step")),
    Case("step-infinite", BAD, schema=quasi(kind="numeric", step=float("inf")), says=("[quasi.age]", "step")),
    Case("step-true", BAD, schema=quasi(kind="numeric", step=True), says=("[quasi.age]", "step")),
    Case("step-month-of-numbers", BAD, schema=quasi(kind="numeric", step="month"), says=("[quasi.age]", "step")),
    Case("step-tiny", DONE, schema=quasi(kind="numeric", step=1e-20)),
    Case("step-beyond-floats", BAD, schema=quasi(kind="numeric", step=10**400), says=("age",)),
    Case("top-below-all", DONE, schema=quasi(kind="numeric", top=0), options=ALONE),
    Case("bottom-above-all", DONE, schema=quasi(kind="numeric", bottom=1000), options=ALONE),
    Case("top-above-all", DONE, schema=quasi(kind="numeric", top=1000, bottom=-1000)),
    Case("top-and-bottom-inside-a-step", DONE, schema=quasi(kind="numeric", step=10, bottom=23, top=28)),
    Case("top-and-bottom-as-bounds", DONE, schema=quasi(kind="numeric", bottom=23, top=28, publish="bounds"),
         columns=["age_low", "age_high", SENSITIVE]),
    Case("bounds-of-missing", DONE, as_csv(people(age=["", "", *AGES[2:]])), columns=["age_low", "age_high", SENSITIVE],
         schema=promise({"age": {"kind": "numeric", "publish": "bounds"}}, missing="category")),
    Case("mean", DONE, schema=quasi(kind="numeric", publish="mean")),
    Case("mean-of-missing", DONE, as_csv(people(age=["", "", "", *AGES[3:]])),
         schema=promise({"age": {"kind": "numeric", "publish": "mean"}}, missing="category")),
    Case("top-below-bottom", BAD, schema=quasi(kind="numeric", bottom=50, top=20), says=("[quasi.age]", "top")),
    Case("top-is-text", BAD, schema=quasi(kind="numeric", top="SECRET"), says=("[quasi.age]", "top")),
    Case("top-beyond-floats", BAD, schema=quasi(kind="numeric", top=10**400), says=("age",)),
    Case("range-excludes-values", BAD, as_csv(people(age=["-5", *AGES[1:]])), quasi(kind="numeric", range=[0, 120]),
         says=("'age'", "range", "line 2")),
    Case("range-descends", BAD, schema=quasi(kind="numeric", range=[120, 0]), says=("[quasi.age]", "range")),
    Case("range-of-three", BAD, schema=quasi(kind="numeric", range=[0, 1, 2]), says=("[quasi.age]", "range")),
    Case("range-wide", DONE, schema=quasi(kind="numeric", range=[-1_000_000, 1_000_000])),
    Case("sensitive-range-excludes-values", BAD, diseases("1", "99"), sensitive(distance="numeric", range=[0, 50]),
         says=("'disease'", "range", "line")),
    Case("sensitive-of-sixteen-digits", DONE, diseases("0.000001", "4000000000"), sensitive(distance="numeric")),
    Case("sensitive-span-beyond-exact-arithmetic", BAD, as_csv(people(600, disease=["0.000001", "8000000000"] * 300)),
         sensitive(distance="numeric"), says=("'disease'", "600 rows")),
]  # fmt: skip

ISO = [day.isoformat() for day in DAYS]
ZIPS = ["02139", "02142", "02139", "10001", "10002", "10001", "02139", "02142", "02139", "10001", "10002", "10001"]

TEXTS = [
    Case("star-categories", DONE, ages("*", "**", "a", "b"), CATEGORICAL),
    Case("star-category-suppressed", DONE, ages("*", "a", "b"),
         promise({"age": {"kind": "categorical"}}, recode="suppress")),
    Case("star-texts", DONE, ages("021**", "02139", "02142", "0****", "*****", "10001"), quasi(kind="text")),
    Case("star-digits", DONE, ages("1*", "11", "*1", "**"), quasi(kind="digits")),
    Case("star-sensitive", DONE, diseases("*", "flu")),
    Case("star-is-missing-and-drops", DONE, as_csv(people(age=["*", "*", *AGES[2:]])),
         promise({"age": {"kind": "categorical"}}, missing="drop", missing_values=["*"], k=3), rows=10, same=(),
         options=ALONE),
    Case("star-is-missing-category", DONE, as_csv(people(age=["*", "*", *AGES[2:]])),
         promise({"age": {"kind": "categorical"}}, missing="category", missing_values=["*"]), options=ALONE),
    Case("interval-as-category", DONE, ages("[20, 30]", "[20, 30)", "<20", ">30"), CATEGORICAL),
    Case("formulas-as-categories", DONE, ages("=1+1", "+1", "-1", "@x"), CATEGORICAL),
    Case("text-uneven", DONE, ages("0", "02", "021", "0213", "1", "1*"), quasi(kind="text")),
    Case("text-unicode", DONE, ages("é", "e\u0301", "éa", "👩‍⚕️", "👩", "👩‍🚀", "ß", "ss"), quasi(kind="text")),
    Case("text-nothing-shared", DONE, ages("a", "b", "c"), quasi(kind="text"), options=ALONE),
    Case("text-one-value", DONE, ages("02139"), quasi(kind="text")),
    Case("text-prefix-of-all", DONE, ages("0", "00", "000"), quasi(kind="text")),
    Case("text-very-long", DONE, ages("x" * 20_000 + "a", "x" * 20_000 + "b"), quasi(kind="text")),
    Case("text-with-newlines", DONE, ages("a\nb", "a\nc", "a\n"), quasi(kind="text")),
    Case("text-leading-zeros", DONE, as_csv(people(age=ZIPS)), quasi(kind="text")),
    Case("digits-uneven", BAD, ages(SECRET, "02139"), quasi(kind="digits"), says=("'age'", "line")),
    Case("digits-unicode", DONE, ages("é1", "é2", "ß1"), quasi(kind="digits")),
    Case("digits-missing", DONE, as_csv(people(age=["", "", *ZIPS[2:]])),
         promise({"age": {"kind": "digits"}}, missing="category")),
    Case("numbers-as-categories", DONE, ages("1", "1.0", "01", "1e0"), CATEGORICAL),
    Case("case-and-spaces-matter", DONE, ages("a", "A", " a", "a "), CATEGORICAL),
    Case("date-that-is-not", BAD, as_csv(people(age=["2021-02-30", *ISO[1:]])), quasi(kind="date"),
         says=("'age'", "line 2")),
    Case("date-text", BAD, as_csv(people(age=[SECRET, *ISO[1:]])), quasi(kind="date"), says=("'age'", "line 2")),
    Case("date-the-german-way", BAD, as_csv(people(age=["31.12.2021", *ISO[1:]])), quasi(kind="date"), says=("'age'",)),
    Case("date-format", DONE, as_csv(people(age=[f"{row + 1:02}.03.2021" for row in range(12)])),
         quasi(kind="date", format="%d.%m.%Y")),
    Case("date-format-does-not-fit", BAD, as_csv(people(age=ISO)), quasi(kind="date", format="%d/%m/%Y"),
         says=("'age'", "format")),
    Case("date-format-unknown", BAD, as_csv(people(age=ISO)), quasi(kind="date", format="%Q%!"),
         says=("age", "format")),
    Case("date-format-without-day", DONE, as_csv(people(age=["2021-03", "2021-04"] * 6)),
         quasi(kind="date", format="%Y-%m")),
    Case("date-format-is-a-number", BAD, as_csv(people(age=ISO)), quasi(kind="date", format=5), says=("age", "format")),
    Case("date-format-of-numbers", BAD, schema=quasi(kind="numeric", format="%Y"), says=("[quasi.age]", "format")),
    Case("date-with-time", DONE, as_csv(people(age=[f"{day} 07:30" for day in ISO])), quasi(kind="date")),
    Case("date-steps-of-months", DONE, as_csv(people(age=ISO)), quasi(kind="date", step="quarter"),
         options=ALONE),
    Case("date-step-unknown", BAD, as_csv(people(age=ISO)), quasi(kind="date", step="fortnight"), says=("step",)),
    Case("date-step-of-a-fraction", BAD, as_csv(people(age=ISO)), quasi(kind="date", step=1.5), says=("step",)),
    Case("date-step-beyond-64-bits", BAD, as_csv(people(age=ISO)), quasi(kind="date", step=10**30), says=("age",)),
    Case("date-at-the-ends-of-time", DONE, as_csv(people(age=["0001-01-01", "9999-12-31"] * 6)),
         quasi(kind="date", step="year"), options=ALONE),
    Case("date-leap-day", DONE, as_csv(people(age=["2024-02-29", "2024-03-01"] * 6)), quasi(kind="date", step="month")),
    Case("date-limit-is-a-number", BAD, as_csv(people(age=ISO)), quasi(kind="date", top=2021), says=("[quasi.age]",)),
    Case("date-limit-is-no-date", BAD, as_csv(people(age=ISO)), quasi(kind="date", top="2021-02-30"),
         says=("[quasi.age]",)),
    Case("date-tails", DONE, as_csv(people(age=ISO)), quasi(kind="date", bottom=ISO[2], top=ISO[9], step=7)),
    Case("date-range-excludes-values", BAD, as_csv(people(age=ISO)), quasi(kind="date", range=[ISO[0], ISO[5]]),
         says=("'age'", "range")),
    Case("ordered-text-without-order", BAD, diseases(SECRET, "mild"), sensitive(distance="ordered"),
         says=("'disease'", "order")),
]  # fmt: skip


def all_missing() -> list[Case]:
    """A column without a single value, under each policy and kind."""
    cases = []
    table = as_csv(people(age=[""] * 12))
    for kind in ("numeric", "categorical", "date", "text", "digits"):
        keys = {"age": {"kind": kind}}
        cases += [
            Case(f"all-missing-{kind}", BAD, table, promise(keys), says=("'age", "12 rows", "missing =")),
            Case(f"all-missing-{kind}-error", BAD, table, promise(keys, missing="error"), says=("'age", "12 rows")),
            Case(f"all-missing-{kind}-drop", BAD, table, promise(keys, missing="drop"), says=("No row is left",)),
            Case(f"all-missing-{kind}-category", DONE, table, promise(keys, missing="category")),
        ]
    table = as_csv(people(disease=[""] * 12))
    needs: dict[str, dict[str, Any]] = {
        "hierarchical": {"hierarchy": {"any": ["flu", "cold"]}},
        "matrix": {"matrix": PAIR},
    }
    for distance in ("equal", "ordered", "hierarchical", "numeric", "matrix"):
        asked = {SENSITIVE: {"distance": distance, "t": 0.5, **needs.get(distance, {})}}
        undefined = distance in ("numeric", "matrix")
        cases += [
            Case(f"all-missing-distance-{distance}", BAD, table, promise(sensitive=asked), says=("'disease",)),
            Case(f"all-missing-distance-{distance}-drop", BAD, table, promise(sensitive=asked, missing="drop"),
                 says=("No row",)),
            Case(f"all-missing-distance-{distance}-category", BAD if undefined else DONE, table,
                 promise(sensitive=asked, missing="category"), says=("'disease'",) if undefined else ()),
        ]  # fmt: skip
    return cases


SOME = as_csv(people(age=["", *AGES[1:]], disease=["", "?", *TWO[2:]]))
MISSING = [
    *all_missing(),
    Case("missing-and-no-policy", BAD, SOME, says=("'age", "1 rows", "'disease", "missing =")),
    Case("missing-drop", DONE, SOME, promise(missing="drop", missing_values=["?"]), rows=10, same=()),
    Case("missing-drop-leaves-too-few", INFEASIBLE, SOME, promise(missing="drop", missing_values=["?"], k=11),
         says=("10 rows",)),
    Case("missing-category", DONE, SOME, promise(missing="category", missing_values=["?"]), same=()),
    Case("missing-error", BAD, SOME, promise(missing="error", missing_values=["?"]), says=("'disease (2 rows)'",)),
    Case("missing-policy-unknown", BAD, SOME, promise(missing="impute"), says=("missing",)),
    Case("missing-value-wins-over-hierarchy", DONE, as_csv(people(age=["?", "?", *["a", "b"] * 5])),
         promise({"age": {"kind": "categorical", "hierarchy": {"x": ["a", "b", "?"]}}},
                 missing="category", missing_values=["?"])),
    Case("missing-unit", BAD, as_csv(people(id=["", *AGES[1:]])), promise(unit="id"), says=("'id'",)),
    Case("missing-unit-typed", BAD, frame(id=pl.Series([None, *range(11)])), promise(unit="id"), says=("'id'",)),
    Case("missing-kept", DONE, as_csv(people(site=[""] * 12)), promise(keep=["site"]),
         columns=["age", SENSITIVE, "site"], same=[SENSITIVE, "site"]),
    Case("missing-values-of-a-number-column", DONE, frame(age=pl.Series([-99, -99, *range(20, 30)])),
         promise(missing="category", missing_values=["-99"])),
]  # fmt: skip

LEAVES = "flu;lung;*\ncold;lung;*\n"
HIERARCHIES = [
    Case("tree", DONE, **tree(LEAVES)),
    Case("tree-with-a-byte-order-mark", DONE, **tree("\ufeff" + LEAVES)),
    Case("tree-crlf", DONE, **tree(LEAVES.replace("\n", "\r\n"))),
    Case("tree-with-blank-lines", DONE, **tree("\n" + LEAVES.replace("\n", "\n\n"))),
    Case("tree-with-unused-leaves", DONE, **tree(LEAVES + "scabies;skin;*\n")),
    Case("tree-uneven", DONE, **tree("flu;virus;lung;*\ncold;*\n")),
    Case("tree-same-label-at-two-depths", DONE, **tree("flu;flu;*\ncold;lung;*\n")),
    Case("tree-empty", BAD, says=("tree.csv", "empty"), **tree("")),
    Case("tree-of-blank-lines", BAD, says=("tree.csv", "empty"), **tree("\n\n\n")),
    Case("tree-of-one-column", BAD, says=("tree.csv", "line 1"), **tree(f"{SECRET}\ncold\n")),
    Case("tree-of-commas", BAD, says=("tree.csv", "line 1"), **tree(LEAVES.replace(";", ","))),
    Case("tree-that-is-not", BAD, says=("tree.csv", "line 3"),
         **tree(f"flu;{SECRET};a;*\ncold;x;b;*\nrsv;{SECRET};b;*\n")),
    Case("tree-with-two-roots", BAD, says=("tree.csv", "line 2"), **tree(f"flu;lung;*\ncold;lung;{SECRET}\n")),
    Case("tree-with-a-leaf-twice", BAD, says=("tree.csv", "1 and 3"), **tree(LEAVES + "flu;lung;*\n")),
    Case("tree-with-a-leaf-under-two-parents", BAD, says=("tree.csv", "line"), **tree(LEAVES + "flu;skin;*\n")),
    Case("tree-with-a-leaf-at-two-depths", BAD, says=("tree.csv", "1 and 3"), **tree(LEAVES + "flu;virus;skin;*\n")),
    Case("tree-with-a-leaf-that-is-a-parent", BAD, says=("tree.csv", "line"), **tree(LEAVES + "lung;*\n")),
    Case("tree-with-an-empty-entry", BAD, says=("tree.csv", "line 1"), **tree(f"{SECRET};;*\ncold;;*\n")),
    Case("tree-with-an-empty-leaf", BAD, says=("tree.csv", "line 3"), **tree(LEAVES + ";lung;*\n")),
    Case("tree-bad-after-blank-lines", BAD, says=("tree.csv", "line 6"), **tree("\n\n" + LEAVES + f"\n{SECRET}\n")),
    Case("tree-lacks-a-value", BAD, diseases("flu", "cold", SECRET), says=("'disease'", "hierarchy", "line"),
         **tree(LEAVES)),
    Case("tree-in-another-case", BAD, says=("'disease'", "hierarchy"), **tree(LEAVES.upper())),
    Case("tree-with-a-quote", BAD, says=("tree.csv",), **tree(f'"{SECRET};lung;*\ncold;lung;*\n')),
    Case("tree-with-a-huge-field", BAD, says=("tree.csv",), **tree("x" * 200_000 + ";*\n")),
    Case("tree-of-ten-thousand-levels", BAD, says=("'disease'",), **tree(";".join(map(str, range(10_000))) + ";*\n")),
    Case("tree-not-there", BAD, schema=quasi(kind="categorical", hierarchy="none.csv"), says=("none.csv",)),
    Case("tree-is-a-folder", BAD, schema=quasi(kind="categorical", hierarchy="."), says=("Hierarchy",)),
    Case("tree-name-with-nul", BAD, schema=quasi(kind="categorical", hierarchy="a\0b"), says=("age",)),
    Case("tree-name-too-long", BAD, schema=quasi(kind="categorical", hierarchy="x" * 5_000), says=("cannot be read",)),
    Case("tree-not-text", BAD, schema=tree("")["schema"], beside={"tree.csv": b"\xff\xfe\0"}, says=("tree.csv",)),
    Case("tree-is-a-number", BAD, schema=quasi(kind="categorical", hierarchy=5), says=("[quasi.age]", "hierarchy")),
    Case("tree-is-an-empty-table", BAD, schema=quasi(kind="categorical", hierarchy={}), says=("[quasi.age]",)),
    Case("tree-table-of-numbers", BAD, schema=quasi(kind="categorical", hierarchy={"a": [1, 2]}),
         says=("[quasi.age]",)),
    Case("tree-table-with-a-leaf-twice", BAD, schema=quasi(kind="categorical", hierarchy={"a": ["x"], "b": ["x"]}),
         says=("[quasi.age]",)),
    Case("tree-table-with-empty-table", BAD, schema=quasi(kind="categorical", hierarchy={"a": {}}),
         says=("[quasi.age]",)),
    Case("tree-of-numbers", BAD, schema=quasi(kind="numeric", hierarchy={"a": ["20"]}), says=("[quasi.age]",)),
    Case("tree-of-a-sensitive-lacks-a-value", BAD, diseases("flu", SECRET),
         sensitive(distance="hierarchical", hierarchy={"lung": ["flu", "cold"]}), says=("'disease'", "line")),
    Case("tree-of-a-sensitive-built", BAD, says=("[sensitive.disease]",),
         schema=sensitive(distance="hierarchical", hierarchy={"build": "prefixes", "lengths": [1]})),
    Case("build-unknown", BAD, schema=quasi(kind="categorical", hierarchy={"build": "magic"}), says=("[quasi.age]",)),
    Case("build-key-unknown", BAD, schema=quasi(kind="categorical", hierarchy={"build": "dates", "widths": [1]}),
         says=("[quasi.age]", "widths")),
    Case("build-intervals", DONE,
         schema=quasi(kind="categorical", hierarchy={"build": "intervals", "widths": [5, 10]})),
    Case("build-intervals-not-multiples", BAD, says=("age", "widths"),
         schema=quasi(kind="categorical", hierarchy={"build": "intervals", "widths": [5, 7]})),
    Case("build-intervals-without-widths", BAD, schema=quasi(kind="categorical", hierarchy={"build": "intervals"}),
         says=("[quasi.age]", "widths")),
    Case("build-intervals-infinite", BAD, says=("age", "widths"),
         schema=quasi(kind="categorical", hierarchy={"build": "intervals", "widths": [float("inf")]})),
    Case("build-intervals-origin-text", BAD, says=("age", "origin"),
         schema=quasi(kind="categorical", hierarchy={"build": "intervals", "widths": [5], "origin": "x"})),
    Case("build-intervals-of-text", BAD, as_csv(people(age=[SECRET, *AGES[1:]])), says=("'age'", "line 2"),
         schema=quasi(kind="categorical", hierarchy={"build": "intervals", "widths": [5]})),
    Case("build-intervals-of-nan", BAD, as_csv(people(age=["nan", *AGES[1:]])), says=("'age",),
         schema=quasi(kind="categorical", hierarchy={"build": "intervals", "widths": [5]})),
    Case("build-intervals-of-decimal-commas", DONE, as_csv(people(age=[f"{age},5" for age in AGES]), delimiter=";"),
         promise({"age": {"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [5]}}},
                 delimiter=";", decimal=",")),
    Case("build-intervals-of-many-decimals", DONE, as_csv(people(age=[f"{age}.{'1' * 40}" for age in AGES])),
         options=ALONE,
         schema=quasi(kind="categorical", hierarchy={"build": "intervals", "widths": [5]})),
    Case("build-prefixes-rising", BAD, says=("age", "lengths"),
         schema=quasi(kind="categorical", hierarchy={"build": "prefixes", "lengths": [1, 2]})),
    Case("build-prefixes-of-fractions", BAD, says=("age", "lengths"),
         schema=quasi(kind="categorical", hierarchy={"build": "prefixes", "lengths": [1.5]})),
    Case("build-prefixes-uneven", DONE, ages("0", "02", "021", "0213", "1"),
         schema=quasi(kind="categorical", hierarchy={"build": "prefixes", "lengths": [3, 1]})),
    Case("build-prefixes-with-stars", DONE, ages("02***", "021**", "02139", "02142"),
         schema=quasi(kind="categorical", hierarchy={"build": "prefixes", "lengths": [3, 2]})),
    Case("build-dates", DONE, as_csv(people(age=ISO)), quasi(kind="categorical", hierarchy={"build": "dates"}),
         options=ALONE),
    Case("build-dates-unpadded", DONE, as_csv(people(age=["2021-3-2", *ISO[1:]])), options=ALONE,
         schema=quasi(kind="categorical", hierarchy={"build": "dates"})),
    Case("build-dates-with-spaces", DONE, as_csv(people(age=[f" {day}" for day in ISO])), options=ALONE,
         schema=quasi(kind="categorical", hierarchy={"build": "dates"})),
    Case("build-dates-of-datetimes", DONE, frame(age=pl.Series([datetime(2021, 3, 1 + row, 7) for row in range(12)])),
         quasi(kind="categorical", hierarchy={"build": "dates"}), options=ALONE),
    Case("build-dates-levels-unknown", BAD, as_csv(people(age=ISO)), says=("age", "levels"),
         schema=quasi(kind="categorical", hierarchy={"build": "dates", "levels": ["decade"]})),
]  # fmt: skip

KEPT = as_csv(people(site=AGES))
SCHEMAS = [
    Case("schema-empty", BAD, schema="", says=("k is required",)),
    Case("schema-not-toml", BAD, schema="k = = 2", says=("schema.toml", "line 1")),
    Case("schema-unclosed", BAD, schema='k = 2\n[quasi."age', says=("schema.toml",)),
    Case("schema-key-twice", BAD, schema="k = 2\nk = 3\n", says=("schema.toml", "line 2")),
    Case("schema-is-json", BAD, schema='{"k": 2}', says=("schema.toml", "line 1")),
    Case("schema-with-nul", BAD, schema="k = 2\0", says=("schema.toml",)),
    Case("schema-nested-deep", BAD, schema="k = " + "[" * 5_000 + "]" * 5_000, says=("schema.toml",)),
    Case("schema-tree-nested-deep", BAD, says=("nested too deeply", "line 4"),
         schema="k = 2\n[quasi.age]\nkind = 'categorical'\n[quasi.age.hierarchy" + ".a" * 3_000 + "]\nb = ['20']\n"),
    Case("schema-with-a-byte-order-mark", DONE, schema="\ufeff" + promise()),
    Case("schema-unknown-key", BAD, schema=promise(colour="red"), says=("'colour'",)),
    Case("schema-unknown-key-of-a-column", BAD, schema=quasi(kind="numeric", colour="red"),
         says=("[quasi.age]", "'colour'")),
    Case("schema-several-problems", BAD, schema=promise({"age": {"kind": "x"}}, colour="red", keep="x"),
         says=("'colour'", "keep", "[quasi.age]")),
    Case("schema-without-k", BAD, schema=promise().replace("k = 2", ""), says=("k is required",)),
    Case("schema-k-zero", BAD, schema=promise(k=0), says=("k must",)),
    Case("schema-k-negative", BAD, schema=promise(k=-5), says=("k must",)),
    Case("schema-k-text", BAD, schema=promise(k="2"), says=("k must",)),
    Case("schema-k-true", BAD, schema=promise(k=True), says=("k must",)),
    Case("schema-k-decimal", BAD, schema=promise(k=2.0), says=("k must",)),
    Case("schema-no-quasi", BAD, schema=promise({}), says=("quasi",)),
    Case("schema-quasi-is-a-list", BAD, schema='k = 2\nquasi = ["age"]\n', says=("quasi",)),
    Case("schema-column-is-a-text", BAD, schema='k = 2\n[quasi]\nage = "numeric"\n', says=("[quasi.age]",)),
    Case("schema-undecided", BAD, schema=promise(undecided={"zip": {"about": "5 values"}}),
         says=("'zip'", "undecided")),
    Case("schema-undecided-is-a-number", BAD, schema=promise(undecided=5), says=("undecided",)),
    Case("schema-role-twice", BAD, schema=promise(identifiers=["age"]), says=("'age'", "identifiers", "quasi")),
    Case("schema-role-twice-in-a-list", BAD, schema=promise(keep=["x", "x"]), says=("'x'", "keep")),
    Case("schema-quasi-and-sensitive", BAD, schema=promise(sensitive={"age": {"distance": "equal", "t": 1}}),
         says=("'age'", "sensitive")),
    Case("schema-unit-is-a-quasi", BAD, schema=promise(unit="age"), says=("'age'", "unit")),
    Case("schema-unit-repeats", BAD, as_csv(people(id=[SECRET] * 12)), promise(unit="id"), says=("'id'", "12 rows")),
    Case("schema-unit", DONE, as_csv(people(id=AGES)), promise(unit="id")),
    Case("schema-keep-breaks-k", INFEASIBLE, KEPT, promise(keep=["site"]), says=("keep", "1 row")),
    Case("schema-keep-breaks-k-unchecked", DONE, KEPT, promise(keep=["site"], keep_unchecked=True),
         columns=["age", SENSITIVE, "site"], same=[SENSITIVE, "site"]),
    Case("schema-keep-unchecked-is-a-text", BAD, schema=promise(keep_unchecked="yes"), says=("keep_unchecked",)),
    Case("schema-identifiers-is-a-text", BAD, schema=promise(identifiers="name"), says=("identifiers",)),
    Case("schema-missing-values-of-numbers", BAD, schema=promise(missing_values=[99]), says=("missing_values",)),
    Case("schema-kind-unknown", BAD, schema=quasi(kind="number"), says=("[quasi.age]", "kind", "numeric")),
    Case("schema-kind-absent", BAD, schema=quasi(step=5), says=("[quasi.age]", "kind")),
    Case("schema-kind-is-a-list", BAD, schema=quasi(kind=["numeric"]), says=("[quasi.age]", "kind")),
    Case("schema-publish-unknown", BAD, schema=quasi(kind="numeric", publish="median"),
         says=("[quasi.age]", "publish")),
    Case("schema-publish-mean-of-text", BAD, schema=quasi(kind="text", publish="mean"), says=("[quasi.age]",)),
    Case("schema-step-of-text", BAD, schema=quasi(kind="text", step=5), says=("[quasi.age]", "step")),
    Case("schema-recode-unknown", BAD, schema=promise(recode="swap"), says=("recode",)),
    Case("schema-suppress-with-step", BAD, schema=promise({"age": {"kind": "numeric", "step": 5}}, recode="suppress"),
         says=("[quasi.age]",)),
    Case("schema-delimiter-of-two", BAD, schema=promise(delimiter="||"), says=("delimiter",)),
    Case("schema-delimiter-empty", BAD, schema=promise(delimiter=""), says=("delimiter",)),
    Case("schema-delimiter-quote", BAD, schema=promise(delimiter='"'), says=("delimiter",)),
    Case("schema-delimiter-nul", BAD, schema=promise(delimiter="\0")),
    Case("schema-encoding-unknown", BAD, schema=promise(encoding="klingon"), says=("encoding",)),
    Case("schema-encoding-undefined", BAD, schema=promise(encoding="undefined"), says=("encoding",)),
    Case("schema-encoding-nul", BAD, schema=promise(encoding="utf\0"), says=("encoding",)),
    Case("schema-encoding-not-of-text", BAD, schema=promise(encoding="base64"), says=("encoding",)),
    Case("schema-t-above-1", BAD, schema=sensitive(distance="equal", t=1.5), says=("[sensitive.disease]", "t must")),
    Case("schema-t-negative", BAD, schema=sensitive(distance="equal", t=-0.1), says=("[sensitive.disease]", "t must")),
    Case("schema-t-nan", BAD, schema=sensitive(distance="equal", t=float("nan")), says=("[sensitive.disease]",)),
    Case("schema-t-infinite", BAD, schema=sensitive(distance="equal", t=float("inf")), says=("[sensitive.disease]",)),
    Case("schema-t-beyond-floats", BAD, schema=sensitive(distance="equal", t=10**400), says=("[sensitive.disease]",)),
    Case("schema-t-text", BAD, schema=sensitive(distance="equal", t="low"), says=("[sensitive.disease]",)),
    Case("schema-t-over-zero", BAD, schema=sensitive(distance="equal", t="1/0"), says=("[sensitive.disease]",)),
    Case("schema-t-true", BAD, schema=sensitive(distance="equal", t=True), says=("[sensitive.disease]",)),
    Case("schema-t-of-many-digits", DONE, schema=sensitive(distance="equal", t="0.12345678901234567890")),
    Case("schema-t-a-third", DONE, schema=sensitive(distance="equal", t="1/3")),
    Case("schema-neither-t-nor-l", BAD, schema=promise(sensitive={SENSITIVE: {"distance": "equal"}}),
         says=("[sensitive.disease]",)),
    Case("schema-distance-unknown", BAD, schema=sensitive(distance="cosine"), says=("[sensitive.disease]", "distance")),
    Case("schema-distance-absent", BAD, schema=sensitive(), says=("[sensitive.disease]", "distance")),
    Case("schema-l-zero", BAD, schema=sensitive(distance="equal", l=0), says=("[sensitive.disease]", "l.")),
    Case("schema-l-text", BAD, schema=sensitive(distance="equal", l="two"), says=("[sensitive.disease]",)),
    Case("schema-l-unknown", BAD, schema=sensitive(distance="equal", l={"renyi": 2}), says=("[sensitive.disease]",)),
    Case("schema-l-above-the-table", INFEASIBLE, schema=sensitive(distance="equal", l=3), says=("'disease'",)),
    Case("schema-l-beyond-64-bits", INFEASIBLE, schema=sensitive(distance="equal", l=10**30), says=("'disease'",)),
    Case("schema-l-recursive-beyond-64-bits", DONE,
         schema=sensitive(distance="equal", l={"recursive": {"c": 10**30, "l": 2}})),
    Case("schema-l-frequency-beyond-64-bits", DONE,
         schema=sensitive(distance="equal", l={"frequency": "1.0000000000000000000001"})),
    Case("schema-l-frequency-that-overflows", INFEASIBLE, says=("'disease'",),
         table=as_csv(people(18, disease=["flu"] * 6 + ["cold"] * 12)),
         schema=promise(sensitive={SENSITIVE: {"distance": "equal", "l": {"frequency": "1.500000000000000001"}}}, k=9)),
    Case("schema-l-entropy-below-1", BAD, schema=sensitive(distance="equal", l={"entropy": 0.5}), says=("l.entropy",)),
    Case("schema-bins-zero", BAD, diseases("1", "2"), sensitive(distance="ordered", bins=0), says=("'bins'",)),
    Case("schema-bins-text", BAD, diseases("1", "2"), sensitive(distance="ordered", bins="3"), says=("'bins'",)),
    Case("schema-bins-above-n", DONE, diseases("1", "2", "3"), sensitive(distance="ordered", bins=1_000)),
    Case("schema-bins-beyond-64-bits", DONE, diseases("1", "2", "3"), sensitive(distance="ordered", bins=10**30)),
    Case("schema-bins-of-equal", BAD, schema=sensitive(distance="equal", bins=3), says=("'bins'", "ordered")),
    Case("schema-edges-unordered", BAD, diseases("1", "2"), sensitive(distance="ordered", edges=[3, 1]),
         says=("'edges'",)),
    Case("schema-edges-equal", BAD, diseases("1", "2"), sensitive(distance="ordered", edges=[1, 1]), says=("'edges'",)),
    Case("schema-edges-empty", BAD, diseases("1", "2"), sensitive(distance="ordered", edges=[]), says=("'edges'",)),
    Case("schema-edges-text", BAD, diseases("1", "2"), sensitive(distance="ordered", edges=["a"]), says=("'edges'",)),
    Case("schema-edges-beyond-floats", BAD, diseases("1", "2"), sensitive(distance="ordered", edges=[1, 10**400]),
         says=("disease",)),
    Case("schema-edges-outside-values", DONE, diseases("1", "2"), sensitive(distance="ordered", edges=[100, 200])),
    Case("schema-bins-and-edges", BAD, diseases("1"), sensitive(distance="ordered", bins=2, edges=[1]),
         says=("only one",)),
    Case("schema-order-lacks-values", BAD, diseases("flu", SECRET), sensitive(distance="ordered", order=["flu"]),
         says=("'disease'", "order", "line")),
    Case("schema-order-twice", BAD, schema=sensitive(distance="ordered", order=["flu", "cold", "flu"]),
         says=("'order'",)),
    Case("schema-order-is-a-text", BAD, schema=sensitive(distance="ordered", order="flu"), says=("'order'",)),
    Case("schema-order-empty", BAD, diseases(SECRET), sensitive(distance="ordered", order=[]), says=("'disease'",)),
    Case("schema-order-of-numbers", DONE, diseases("1", "2"), sensitive(distance="ordered", order=[1, 2])),
    Case("schema-hierarchical-without-tree", BAD, schema=sensitive(distance="hierarchical"), says=("hierarchy",)),
    Case("schema-matrix", DONE, schema=sensitive(distance="matrix", matrix=PAIR)),
    Case("schema-matrix-absent", BAD, schema=sensitive(distance="matrix"), says=("[sensitive.disease]", "matrix")),
    Case("schema-matrix-not-symmetric", BAD, says=("disease", "symmetric"),
         schema=sensitive(distance="matrix", matrix=PAIR | {"costs": [[0, 1], [0.5, 0]]})),
    Case("schema-matrix-not-square", BAD, says=("disease", "square"),
         schema=sensitive(distance="matrix", matrix=PAIR | {"costs": [[0, 1]]})),
    Case("schema-matrix-ragged", BAD, says=("disease", "matrix"),
         schema=sensitive(distance="matrix", matrix=PAIR | {"costs": [[0, 1], [1]]})),
    Case("schema-matrix-no-triangle", BAD, says=("disease", "triangle"),
         schema=sensitive(distance="matrix", matrix={"values": ["a", "b", "c"],
                                                     "costs": [[0, 1, 0.1], [1, 0, 0.1], [0.1, 0.1, 0]]})),
    Case("schema-matrix-nan", BAD, says=("disease", "finite"),
         schema=sensitive(distance="matrix", matrix=PAIR | {"costs": [[0, float("nan")], [float("nan"), 0]]})),
    Case("schema-matrix-of-texts", BAD, says=("disease", "matrix"),
         schema=sensitive(distance="matrix", matrix=PAIR | {"costs": [["a", "b"], ["c", "d"]]})),
    Case("schema-matrix-is-a-number", BAD, says=("disease", "matrix"),
         schema=sensitive(distance="matrix", matrix=PAIR | {"costs": 1})),
    Case("schema-matrix-beyond-floats", BAD, says=("disease", "matrix"),
         schema=sensitive(distance="matrix", matrix=PAIR | {"costs": [[0, 10**400], [10**400, 0]]})),
    Case("schema-matrix-lacks-a-value", BAD, diseases("flu", SECRET), sensitive(distance="matrix", matrix=PAIR),
         says=("'disease'", "matrix", "line")),
    Case("schema-matrix-file", DONE, schema=sensitive(distance="matrix", matrix="m.csv"),
         beside={"m.csv": b",flu,cold\nflu,0,1\ncold,1,0\n"}),
    Case("schema-matrix-file-ragged", BAD, schema=sensitive(distance="matrix", matrix="m.csv"), says=("m.csv",),
         beside={"m.csv": b",flu,cold\nflu,0\ncold,1,0\n"}),
    Case("schema-matrix-file-empty", BAD, schema=sensitive(distance="matrix", matrix="m.csv"), says=("m.csv",),
         beside={"m.csv": b""}),
    Case("schema-matrix-file-of-text", BAD, schema=sensitive(distance="matrix", matrix="m.csv"), says=("m.csv",),
         beside={"m.csv": f",flu,cold\nflu,0,{SECRET}\ncold,1,0\n".encode()}),
    Case("schema-matrix-file-huge-field", BAD, schema=sensitive(distance="matrix", matrix="m.csv"), says=("m.csv",),
         beside={"m.csv": b"x" * 200_000}),
]  # fmt: skip

EXTREMES = [
    Case("sensitive-constant", DONE, diseases("flu"), sensitive(distance="equal", t=0)),
    Case("sensitive-constant-ordered", DONE, diseases("5"), sensitive(distance="ordered", t=0)),
    Case("sensitive-constant-numeric", DONE, diseases("5"), sensitive(distance="numeric", t=0)),
    Case("sensitive-all-distinct-t-0", INFEASIBLE, as_csv(people(disease=AGES)), sensitive(distance="equal", t=0),
         says=("'disease'",)),
    Case("sensitive-all-distinct-t-0-allowed", DONE, as_csv(people(disease=AGES)), sensitive(distance="equal", t=0),
         options=ALONE),
    Case("t-0-met", DONE, schema=sensitive(distance="equal", t=0)),
    Case("t-0-odd-rows", INFEASIBLE, as_csv({"age": AGES[:11], SENSITIVE: TWO[:11]}), sensitive(distance="equal", t=0),
         says=("'disease'",)),
    Case("t-1", DONE, as_csv(people(disease=AGES)), sensitive(distance="equal", t=1)),
    Case("t-1-k-1", DONE, as_csv(people(disease=AGES)),
         promise(sensitive={SENSITIVE: {"distance": "equal", "t": 1}}, k=1)),
    Case("no-sensitive", DONE, schema=promise(sensitive={}, keep=["disease"]), options=("--k", "6"),
         table=as_csv(people(disease=["flu"] * 12))),
    Case("two-sensitive-opposed", INFEASIBLE, as_csv(people(second=[*TWO[:6], *AGES[:6]])),
         promise(sensitive={SENSITIVE: {"distance": "equal", "t": 0}, "second": {"distance": "equal", "t": 0}}),
         says=("requirement",)),
    Case("quasi-constant", DONE, ages("20")),
    Case("quasi-all-missing-but-one", DONE, as_csv(people(age=["20", *[""] * 11])), promise(missing="category"),
         options=ALONE),
]  # fmt: skip

CASES = [*NAMES, *SHAPES, *FILES, *TYPES, *NUMBERS, *TEXTS, *MISSING, *HIERARCHIES, *SCHEMAS, *EXTREMES]


def parametrize(cases: Sequence[Case], step: int = 1) -> pytest.MarkDecorator:
    """One test a case."""
    return pytest.mark.parametrize("case", one_in(step, [pytest.param(case, id=case.name) for case in cases]))


def contents(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def texts_of(path: Path, delimiter: str) -> dict[str, list[str]]:
    """The columns of a CSV file, read by another reader than that of the package."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file, delimiter=delimiter)
        header = next(lines)
        rows = [line or [""] for line in lines if line or len(header) == 1]
    assert {len(row) for row in rows} == {len(header)}
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def check_release(case: Case, data: Path, schema: Path, output: Path) -> None:
    """Rows and columns as they should be, what is released untouched unchanged, and the promise kept."""
    if output.suffix == ".csv":
        keys = tomllib.loads(case.schema.lstrip("\ufeff"))
        released = texts_of(output, keys.get("delimiter", ","))
        assert list(released) == list(case.columns)
        assert {len(column) for column in released.values()} == {case.rows}
        if data.suffix == ".csv" and "encoding" not in keys:
            given = texts_of(data, keys.get("delimiter", ","))
            assert all(sorted(released[name]) == sorted(given[name]) for name in case.same)
    else:
        table = pl.read_parquet(output)
        assert table.columns == list(case.columns)
        assert len(table) == case.rows
        if isinstance(case.table, pl.DataFrame):
            given_table = case.table.cast({pl.Categorical: pl.String, pl.Enum: pl.String})
            assert all(table[name].sort().equals(given_table[name].sort()) for name in case.same)
    verified = run("verify", output, "-s", schema)
    assert verified.code == DONE, verified.err
    assert SECRET not in verified.out + verified.err


def check_failure(case: Case, code: int, out: str, err: str) -> None:
    """The code as stated, and a message that says where but not what stands there."""
    assert code == case.code, err
    assert "Error: " in err
    assert "Traceback" not in err
    assert "unforeseen" not in err
    assert all(word in err for word in case.says), err
    assert out == ""
    assert SECRET not in err


@parametrize([case for case in SHAPES if "newlines" in case.name or "one-twice" in case.name])
def test_none_takes_a_second_for_each_hundred_kilobytes(case: Case, tmp_path: Path) -> None:
    """They took 13 and 36 seconds; what other processes take is not counted."""
    data, schema = case.put(tmp_path)
    for command in (("assess", data, "-s", schema), ("init", data), ("verify", data, "-s", schema)):
        started = time.process_time()
        run(*command)
        assert time.process_time() - started < 2 + len(data.read_bytes()) / 100_000


@pytest.mark.slow
def test_a_first_schema_of_a_wide_table_names_all_of_its_columns(tmp_path: Path) -> None:
    data = tmp_path / "wide.csv"
    data.write_bytes(wide(5_000))
    started = time.process_time()
    ended = run("init", data)
    assert time.process_time() - started < 15  # about a millisecond a column
    about = tomllib.loads(ended.out)["undecided"]
    assert set(about) == {"age", "disease", "c*"}
    assert about["c*"]["about"].startswith("4,998 columns")


def test_there_are_many_cases_with_names_of_their_own() -> None:
    assert len(CASES) >= 100
    assert len({case.name for case in CASES}) == len(CASES)


@parametrize(CASES, 4)
@pytest.mark.everyday(16)
def test_anonymize(case: Case, tmp_path: Path) -> None:
    data, schema = case.put(tmp_path)
    expected = contents(tmp_path)
    typed = isinstance(case.table, pl.DataFrame)
    for output in (tmp_path / name for name in ("release.csv", *(["release.parquet"] if typed else []))):
        ended = run("anonymize", data, "-s", schema, "-o", output, *case.options)
        if case.code != DONE:
            check_failure(case, ended.code, ended.out, ended.err)
            assert contents(tmp_path) == expected
            return
        assert ended.code == DONE, ended.err
        assert SECRET not in ended.out + ended.err
        expected |= {output.name, f"{output.name}.certificate.json"}
        assert contents(tmp_path) == expected
        check_release(case, data, schema, output)


@parametrize([*NAMES, *TYPES], 3)
def test_init_names_every_column_or_the_one_it_cannot_take(case: Case, tmp_path: Path) -> None:
    data, _ = case.put(tmp_path)
    ended = run("init", data, "--header")  # a name may be a number
    assert SECRET not in ended.out + ended.err
    if case.name in ("name-empty", "name-twice", "name-twice-beside") or ended.code == BAD:
        assert ended.code == BAD
        assert "Error: Column" in ended.err
        return
    assert ended.code == DONE, ended.err
    first = tomllib.loads(ended.out)
    named = {*first.get("identifiers", ()), *first.get("undecided", ())}
    assert case.code != DONE or named >= {*case.columns}


@parametrize([case for case in (*MISSING, *EXTREMES) if "unit" not in case.name], 3)
def test_assess_measures_even_what_cannot_be_met(case: Case, tmp_path: Path) -> None:
    data, schema = case.put(tmp_path)
    ended = run("assess", data, "-s", schema)
    assert ended.code == (BAD if case.code == BAD else DONE), ended.err
    assert SECRET not in ended.out + ended.err


PROCESSES = [
    Case("done", DONE),
    Case("bad-table", BAD, as_csv(people(age=[SECRET, *AGES[1:]])), says=("'age'", "line 2")),
    Case("ascii-terminal", DONE, as_csv({"age": AGES, "🩺": TWO}),
         promise(sensitive={"🩺": {"distance": "equal", "t": 1}})),
]  # fmt: skip


@pytest.mark.slow
@parametrize(PROCESSES, 4)
def test_a_process_of_its_own_ends_the_same_way(case: Case, tmp_path: Path) -> None:
    data, schema = case.put(tmp_path)
    before = contents(tmp_path)
    command = [
        sys.executable,
        "-c",
        "from tclose.cli.main import main; main()",
        "anonymize",
        str(data),
        "-s",
        str(schema),
    ]
    ended = subprocess.run(
        [*command, "-o", str(tmp_path / "release.csv")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii" if case.name == "ascii-terminal" else "utf-8"},
    )
    if case.code == DONE:
        assert ended.returncode == DONE, ended.stderr
        assert (tmp_path / "release.csv").is_file()
        return
    check_failure(case, ended.returncode, ended.stdout, ended.stderr)
    assert contents(tmp_path) == before


def test_a_release_of_a_table_in_another_encoding_is_utf_8(tmp_path: Path) -> None:
    table = diseases("Grüße", "Ärger").decode().encode("latin-1")
    asked = {SENSITIVE: {"distance": "ordered", "order": ["Grüße", "Ärger"], "t": 0.5}}
    data, schema = Case("", DONE, table, promise(sensitive=asked, encoding="latin-1")).put(tmp_path)
    assert run("anonymize", data, "-s", schema, "-o", tmp_path / "release.csv").code == DONE
    assert run("verify", tmp_path / "release.csv", "-s", schema).code == DONE
    assert "Grüße" in (tmp_path / "release.csv").read_text("utf-8")


def test_codes_lie_in_their_domain_however_many_bins_are_asked(tmp_path: Path) -> None:
    _, schema = Case("", DONE, schema=sensitive(distance="ordered", bins=2**62)).put(tmp_path)
    table = encode(read(pl.DataFrame(people(disease=list(range(12))))), Schema.load(schema))
    assert table.codes[0].max() < table.domains[0].size


@pytest.mark.parametrize(
    "options", [("--k", "0"), ("--t", "disease=2"), ("--t", "disease=low"), ("--t", "0.5"), ("--t", "age=0.5")], ids=str
)
def test_what_is_wrong_in_the_options_is_wrong_usage(options: tuple[str, str], tmp_path: Path) -> None:
    data, schema = Case("", DONE).put(tmp_path)
    before = contents(tmp_path)
    ended = run("anonymize", data, "-s", schema, "-o", tmp_path / "release.csv", *options)
    assert ended.code == 2
    assert "Traceback" not in ended.err
    assert contents(tmp_path) == before
