"""Values are released in the form they came in, and every released form is read back as what it covers.

Over all signs, formats, kinds and ways to publish, at the ends of numbers and of the calendar. The oracle reads a
released cell with `strptime` and plain replacements, and takes nothing from the package.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tests.seeds import one_in

pytestmark = [
    pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning"),
    pytest.mark.filterwarnings("ignore::tclose.errors.FormulaWarning"),  # -1.234,5 begins as one
]
Read = Callable[[str], Fraction]
SIGNS = [(".", ""), (",", ""), (".", ","), (",", "."), (".", "'"), (",", " "), (",", "\u202f"), (".", "\u00a0")]
NUMBERS = ["-1234567.25", "-1000", "-999.5", "-0.125", "0", "999", "1000", "1000.5", "999999", "12345678901234.5"]
INTERVALS = {"build": "intervals", "widths": [Decimal("2.5"), 5000]}
AS_NUMBERS: dict[str, dict[str, Any]] = {
    "interval": {"kind": "numeric"},
    "step": {"kind": "numeric", "step": Decimal("2.5")},
    "tails": {"kind": "numeric", "bottom": Decimal("-999.75"), "top": Decimal("1000.25")},
    "bounds": {"kind": "numeric", "publish": "bounds", "bottom": -1000},
    "mean": {"kind": "numeric", "publish": "mean"},
    "hierarchy": {"kind": "categorical", "hierarchy": INTERVALS},
    "suppressed": {"kind": "numeric"},
}
FORMATS = [
    *("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%Y%m%d", "%d-%b-%Y", "%B %d, %Y", "%Y-%d-%m", "%d %m %Y"),
    *("%-d.%-m.%Y", "%-m/%-d/%Y", "%d.%m.%y", "%m/%d/%y", "%d.%m.%Y %H:%M", "%H:%M:%S %m/%d/%Y", "%d_%m_%Y"),
]
DAYS = ["0001-01-01", "0001-12-31", "1582-10-15", "1999-02-28", "2000-02-29", "2001-03-01", "2020-12-31", "9999-12-31"]
SHORT_DAYS = [
    "1969-01-01",
    "1999-02-28",
    "2000-02-29",
    "2001-03-01",
    "2068-12-31",
    "1970-01-01",
    "2020-02-29",
    "2010-10-10",
]
AS_DAYS: dict[str, dict[str, Any]] = {
    "interval": {},
    "month": {"step": "month"},
    "year": {"step": "year"},
    "tails": {"bottom": date(1999, 3, 1), "top": date(2010, 1, 1)},
    "bounds": {"publish": "bounds", "top": date(2010, 1, 1)},
    "suppressed": {},
}


def number_text(plain: str, decimal: str, thousands: str) -> str:
    sign, digits = ("-", plain[1:]) if plain[0] == "-" else ("", plain)
    whole, _, rest = digits.partition(".")
    return sign + f"{int(whole):,}".replace(",", thousands) + (decimal + rest if rest else "")


def day_text(day: date, form: str) -> str:
    parts = {"%Y": f"{day.year:04}", "%y": f"{day.year % 100:02}", "%m": f"{day.month:02}", "%d": f"{day.day:02}"}
    parts |= {"%-m": str(day.month), "%-d": str(day.day), "%H": "08", "%M": "05", "%S": "59"}
    parts |= {"%b": day.replace(year=2000).strftime("%b"), "%B": day.replace(year=2000).strftime("%B")}
    return re.sub("%-?[A-Za-z]", lambda match: parts[match[0]], form)


def read_number(decimal: str, thousands: str) -> Read:
    def read(text: str) -> Fraction:
        bare = text.replace(thousands, "") if thousands else text
        assert decimal == "." or "." not in bare
        plain = bare.replace(decimal, ".")
        assert re.fullmatch(r"-?\d+(\.\d+)?", plain), text
        assert number_text(plain, decimal, thousands) == text
        return Fraction(plain)

    return read


def read_day(form: str) -> Read:
    own = re.sub(r"^%H:%M:%S | %H:%M$", "", form)
    return lambda text: Fraction(datetime.strptime(text, own.replace("%-", "%")).toordinal())


def covers(text: str, value: Fraction, read: Read, parts: tuple[str, ...]) -> bool:
    """`*`, a value, `<a`, `>b`, or two ends with something between them, one of them perhaps open."""
    if text == "*":
        return True
    closed = not text.endswith(")")
    inside = text[1:-1] if text[0] == "[" else text
    for part in parts:
        ends = inside.split(part)
        if len(ends) == 2:
            above = ends[0][0] == "<" or read(ends[0]) <= value
            return above and (ends[1][0] == ">" or (value <= read(ends[1]) if closed else value < read(ends[1])))
    if text[0] in "<>":
        return value < read(text[1:]) if text[0] == "<" else value > read(text[1:])
    return read(inside) == value


def release(column: list[str], keys: dict[str, Any], folder: Path) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """The rows of a release as a CSV reader sees them, once every file of it is verified beside its original."""
    frame = pl.DataFrame({"q": column * 2, "s": ["a", "b"] * len(column)})
    schema = {"k": 3, "sensitive": {"s": {"distance": "equal", "t": 1}}, **keys}
    frame.write_csv(folder / "data.csv", separator=schema.get("delimiter", ","))
    made = tclose.anonymize(folder / "data.csv", schema, method="mondrian", seed=1, allow_single_class=True)
    for suffix in (".csv", ".parquet"):
        made.write(folder / f"release{suffix}", keep_order=True)
        found = tclose.verify(folder / f"release{suffix}", schema, original=folder / "data.csv")
        assert found.problems == ()
    with (folder / "release.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=schema.get("delimiter", ","))), schema


def check_covered(
    rows: list[dict[str, str]], values: list[Fraction], read: Read, parts: tuple[str, ...], publish: str
) -> None:
    for row, value in zip(rows, values * 2, strict=True):
        if publish == "bounds":
            assert row["q_low"] in ("", "*") or read(row["q_low"]) <= value
            assert row["q_high"] in ("", "*") or value <= read(row["q_high"])
        elif publish == "mean":
            read(row["q"])
        else:
            assert covers(row["q"], value, read, parts), (row["q"], value)


SIGNED = [  # where there is no sign of thousands, and in no other kind than numbers, nothing can be grouped
    (signs, name, is_grouped)
    for signs, name, is_grouped in itertools.product(SIGNS, AS_NUMBERS, [False, True])
    if not is_grouped or (signs[1] and AS_NUMBERS[name]["kind"] == "numeric")
]


@pytest.mark.parametrize("case", one_in(24, SIGNED))
def test_numbers_come_back_with_the_signs_they_had(case: tuple[tuple[str, str], str, bool], tmp_path: Path) -> None:
    (decimal, thousands), name, is_grouped = case
    quasi = dict(AS_NUMBERS[name])
    column = [number_text(each, decimal, thousands) for each in NUMBERS]
    keys = {
        "decimal": decimal,
        "thousands": thousands,
        "delimiter": ";",
        "quasi": {"q": quasi | ({"grouped": True} if is_grouped else {})},
    }
    keys |= {"recode": "suppress"} if name == "suppressed" else {}
    rows, _ = release(column, keys, tmp_path)
    read = read_number(decimal, thousands if is_grouped else "")
    check_covered(rows, [Fraction(each) for each in NUMBERS], read, ("; ", ", "), quasi.get("publish", ""))


@pytest.mark.parametrize("case", one_in(24, itertools.product(FORMATS, AS_DAYS)))
def test_days_come_back_in_the_format_they_had(case: tuple[str, str], tmp_path: Path) -> None:
    form, name = case
    days = [date.fromisoformat(each) for each in (SHORT_DAYS if "%y" in form else DAYS)]
    keys: dict[str, Any] = {"quasi": {"q": {"kind": "date", "format": form, **AS_DAYS[name]}}}
    keys |= {"recode": "suppress"} if name == "suppressed" else {}
    rows, _ = release([day_text(day, form) for day in days], keys, tmp_path)
    values = [Fraction(day.toordinal()) for day in days]
    check_covered(rows, values, read_day(form), (" - " if "/" in form else "/",), AS_DAYS[name].get("publish", ""))


@pytest.mark.parametrize("form", one_in(5, FORMATS))
def test_a_changed_day_is_untrue(form: str, tmp_path: Path) -> None:
    days = [date(2001, 2, 3), date(2001, 2, 4)] * 4
    texts = [day_text(day, form) for day in days]
    schema = {
        "k": 2,
        "quasi": {"q": {"kind": "date", "format": form}},
        "sensitive": {"s": {"distance": "equal", "t": 1}},
    }
    original = pl.DataFrame({"q": texts, "s": ["a", "b"] * 4})
    made = tclose.anonymize(original, schema, method="mondrian", allow_single_class=True)
    made.write(tmp_path / "release.csv", keep_order=True)
    own = re.sub(r"^%H:%M:%S | %H:%M$", "", form)
    shown = pl.read_csv(tmp_path / "release.csv", infer_schema=False)
    assert shown["q"].to_list() == [day_text(day, own) for day in days]
    for wrong in (day_text(date(2001, 4, 2), own), "2001-02-03", day_text(date(2001, 2, 3), "%Y.%m-%d")):
        changed = shown.with_columns(pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(wrong)).otherwise("q").alias("q"))
        assert not tclose.verify(changed, schema | {"k": 1}, original=original).holds


ORDERED = [
    ("%d.%m.%Y", ["31.12.1999", "01.01.2000", "02.02.0001", "30.11.9999"]),
    ("%m/%d/%y", ["12/31/68", "01/01/69", "02/02/99", "03/03/00"]),
    ("%d.%m.%Y %H:%M", ["01.01.2000 23:59", "02.01.2000 00:00", "01.01.2000 08:00", "03.01.2000 07:00"]),
    ("%m/%d/%Y %I:%M %p", ["01/01/2000 12:05 AM", "01/01/2000 12:05 PM", "01/01/2000 01:00 AM", "01/01/2000 11:00 PM"]),
    ("%Y-%m-%dT%H:%M:%S%z", ["2000-01-01T00:00:00+05:45", "1999-12-31T23:00:00Z", "2000-01-01T00:00:00-03:30",
                             "2000-01-01T00:00:00+14:00"]),
    ("%d.%m.%Y %H:%M:%S.%f", ["01.01.2000 00:00:00.1", "01.01.2000 00:00:00.05", "01.01.2000 00:00:00.000000001",
                              "01.01.2000 00:00:00.9"]),
    (None, ["08:30", "9:05", "23:59", "00:00"]),
    (None, ["08:30:15.5", "08:30:15.25", "108:00:00", "00:00:01"]),
]  # fmt: skip


@pytest.mark.parametrize(("form", "texts"), ORDERED)
def test_sensitive_times_have_the_order_of_time(form: str | None, texts: list[str], tmp_path: Path) -> None:
    """t is that of the ranks: methods, verifier and a sort by hand agree."""
    keys = {"distance": "ordered", "t": "1"} | ({} if form is None else {"format": form})
    schema = {"k": 2, "quasi": {"q": {"kind": "numeric"}}, "sensitive": {"s": keys}}
    ranks = by_hand(form, texts)
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "s": texts})
    expected = tclose.assess(
        frame.with_columns(pl.Series("s", ranks)), schema | {"sensitive": {"s": {"distance": "ordered", "t": "1"}}}
    )
    assert tclose.assess(frame, schema).t["s"] == expected.t["s"]
    made = tclose.anonymize(frame, schema, method="mondrian")
    assert made.measured.t["s"] == expected.t["s"]
    made.write(tmp_path / "release.csv", keep_order=True)
    assert tclose.verify(tmp_path / "release.csv", schema, original=frame).problems == ()
    assert pl.read_csv(tmp_path / "release.csv", infer_schema=False)["s"].to_list() == texts


def by_hand(form: str | None, texts: list[str]) -> list[int]:
    def moment(text: str) -> Any:
        if form is None:
            parts = [Fraction(part) for part in text.split(":")]
            return parts[0] * 3600 + parts[1] * 60 + (parts[2] if len(parts) > 2 else 0)
        head, _, digits = text.partition(".0:") if "%f" not in form else text.rpartition(".")
        if "%f" in form:
            return datetime.strptime(head, form.removesuffix(".%f")), Fraction(f"0.{digits}")
        return datetime.strptime(text, form)

    ordered = sorted({moment(text) for text in texts})
    return [ordered.index(moment(text)) for text in texts]


@pytest.mark.parametrize(("decimal", "delimiter"), [(".", ","), (",", ";"), (",", ",")])
@pytest.mark.parametrize("recode", ["generalize", "suppress"])
def test_a_category_of_typed_floats_is_true_in_every_file(
    decimal: str, delimiter: str, recode: str, tmp_path: Path
) -> None:
    frame = pl.DataFrame({"c": [0.0, 0.0, 1.5, 1.5, 2.0, 3.0] * 2, "s": list("abab") * 3})
    schema = {
        "k": 3, "recode": recode, "decimal": decimal, "delimiter": delimiter, "quasi": {"c": {"kind": "categorical"}},
        "sensitive": {"s": {"distance": "equal", "t": 1}},
    }  # fmt: skip
    made = tclose.anonymize(frame, schema, method="mondrian", seed=1, allow_single_class=True)
    for suffix in (".csv", ".parquet"):
        made.write(tmp_path / f"release{suffix}", keep_order=True)
        assert tclose.verify(tmp_path / f"release{suffix}", schema, original=frame).problems == ()
    lines = (tmp_path / "release.csv").read_text().split("\n")[1:]
    shown = {row[0] for row in csv.reader(lines, delimiter=delimiter) if row}
    assert shown <= {"0", f"1{decimal}5", "2", "3", "*"}


def test_a_number_that_spells_missing_has_the_decimal_sign(tmp_path: Path) -> None:
    schema = {
        "k": 2, "missing": "category", "missing_values": ["-9", "-1,50"], "decimal": ",", "delimiter": ";",
        "quasi": {"q": {"kind": "numeric"}}, "sensitive": {"s": {"distance": "ordered", "t": 1}},
    }  # fmt: skip
    (tmp_path / "data.csv").write_text("q;s\n1,5;-9,0\n1,5;-1,5\n2,5;3\n2,5;4,25\n", encoding="utf-8")
    release = tclose.anonymize(tmp_path / "data.csv", schema, method="mondrian", allow_single_class=True)
    assert release.measured.n_missing["s"] == 2


@pytest.mark.parametrize("keys", [{}, {"publish": "bounds"}])
@pytest.mark.parametrize("form", ["%d/%m/%Y", "%Y-%d-%m"])
def test_what_a_release_is_good_for_is_the_same_in_every_file(keys: dict[str, str], form: str, tmp_path: Path) -> None:
    rows = [(f"{1 + row % 7}.{100 + 37 * row % 900},5", date(2020, 1 + row % 12, 1 + row % 28)) for row in range(60)]
    text = "".join(f"{pay};{day_text(day, form)};{'ab'[row % 2]}\n" for row, (pay, day) in enumerate(rows))
    (tmp_path / "data.csv").write_text("pay;seen;s\n" + text, encoding="utf-8")
    schema = {
        "k": 4, "delimiter": ";", "decimal": ",", "thousands": ".",
        "quasi": {
            "pay": {"kind": "numeric", "grouped": True, **keys}, "seen": {"kind": "date", "format": form, **keys},
        },
        "sensitive": {"s": {"distance": "equal", "t": 1}},
    }  # fmt: skip
    release = tclose.anonymize(tmp_path / "data.csv", schema, method="mondrian")
    for suffix in (".csv", ".parquet"):
        release.write(tmp_path / f"release{suffix}")
        found = tclose.utility(tmp_path / "data.csv", tmp_path / f"release{suffix}", schema)
        assert found.loss == pytest.approx(release.loss)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("%d.%m.%Y", "31.12.24"), ("%d.%m.%Y", "30.02.2024"), ("%Y%m%d", "2024115"),
        ("%d.%m.%Y %H:%M", "01.01.2024 24:00"),
        ("%d.%m.%Y %I:%M %p", "01.01.2024 13:00 PM"), ("%d-%b-%Y", "01-Mrz-2024"), ("%d.%m.%Y", "2024-01-01"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_what_is_no_date_of_the_format_is_refused_by_its_line(form: str, text: str, role: str, tmp_path: Path) -> None:
    good = day_text(date(2024, 1, 1), form.replace("%I", "10").replace("%p", "AM"))
    (tmp_path / "data.csv").write_text(f"q,s\n{good},a\n{text},b\n", encoding="utf-8")
    keys = {"kind": "date", "format": form} if role == "quasi" else {"distance": "ordered", "t": 1, "format": form}
    other = {"kind": "categorical"}
    schema: dict[str, Any] = {"k": 1, "quasi": {"q": keys}, "identifiers": ["s"]}
    if role == "sensitive":
        schema = {"k": 1, "quasi": {"s": other}, "sensitive": {"q": keys}}
    with pytest.raises(tclose.TableError, match="line 3"):
        tclose.anonymize(tmp_path / "data.csv", schema, method="mondrian")


@pytest.mark.parametrize("text", ["0,123", "12,34", "1,2345", "1,,234", ",123", "1.5,000"])
def test_signs_between_digits_that_are_no_thousands_make_no_number(text: str) -> None:
    schema = {"k": 1, "thousands": ",", "quasi": {"q": {"kind": "numeric"}}, "identifiers": ["s"]}
    with pytest.raises(tclose.TableError, match="are not numbers"):
        tclose.anonymize(pl.DataFrame({"q": ["1,000", text], "s": ["a", "b"]}), schema, method="mondrian")
