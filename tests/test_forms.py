"""The same table gives the same numbers in every form it can come in, at the ends of every type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tests.seeds import one_in

FORMS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "polars": lambda frame, _: frame,
    "pyarrow": lambda frame, _: frame.to_arrow(),
    "pandas, arrow types": lambda frame, _: frame.to_pandas(use_pyarrow_extension_array=True),
    "pandas, numpy types": lambda frame, _: frame.to_pandas(),
    "pandas, nullable types": lambda frame, _: frame.to_pandas().convert_dtypes(),
    "parquet": lambda frame, folder: _written(frame, folder / "table.parquet"),
    "csv": lambda frame, folder: _written(frame, folder / "table.csv"),
    "gzipped csv": lambda frame, folder: _written(frame, folder / "table.csv.gz"),
}

VALUES: dict[str, pl.Series] = {
    "dates at both ends": pl.Series([dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(2021, 1, 1),
                                     dt.date(9999, 12, 31)]),
    "times": pl.Series([dt.datetime(1, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 0, 1), dt.datetime(2020, 1, 1),
                        dt.datetime(9999, 12, 31, 23, 59, 59)]),
    "times with a zone": pl.Series(
        [dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
         dt.datetime(2020, 1, 1, 1, tzinfo=dt.UTC), dt.datetime(2261, 1, 1, tzinfo=dt.UTC)]),
    "2^53 and its neighbours": pl.Series([2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2]),
    "64 bits": pl.Series([-(2**63), -1, 0, 2**63 - 1]),
    "unsigned": pl.Series([0, 1, 2**64 - 2, 2**64 - 1], dtype=pl.UInt64),
    "negative zero": pl.Series([-0.0, 0.0, 1.0, 2.5]),
    "doubles, subnormal and huge": pl.Series([5e-324, 0.1, 0.30000000000000004, 1.7976931348623157e308]),
    "decimals of 38 digits": pl.Series(
        [Decimal("0.1"), Decimal("0.100000000000000001"), Decimal("0.100000000000000002"), Decimal(10) ** 19],
        dtype=pl.Decimal(38, 18)),
    "small integers": pl.Series([-128, -1, 0, 127], dtype=pl.Int8),
    "floats of 32 bits": pl.Series([0.1, 0.2, 16777216.0, 1e30], dtype=pl.Float32),
}  # fmt: skip
ROLES = ("quasi", "ordered", "numeric")


def _written(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.name.endswith(".gz"):
        frame.write_csv(path, compression="gzip")
    else:
        frame.write_csv(path)
    return path


def told(df: Any, schema: dict[str, Any]) -> Any:
    """What a certificate and a table say, or the kind of refusal."""
    try:
        release = tclose.anonymize(df, schema, method="mondrian", seed=1, allow_single_class=True)
    except tclose.TcloseError as error:
        return "TableError" if isinstance(error, tclose.TableError) else type(error).__name__
    fields = release.certificate.as_dict()
    return {key: fields[key] for key in ("rows", "classes", "reached", "loss")}, release.classes.tolist()


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.filterwarnings("ignore::tclose.errors.RepeatedIdentifierWarning")
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", one_in(3, VALUES))
@pytest.mark.everyday(4)
def test_every_form_gives_the_same(name: str, role: str, tmp_path: Path) -> None:
    values = VALUES[name]
    is_time = values.dtype.is_temporal()
    column = pl.concat([values, values, values.slice(0, 2)]).alias("value")
    frame = pl.DataFrame([column, pl.Series("age", [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]), pl.Series("ill", ["a", "b"] * 5)])
    schema: dict[str, Any] = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {}}
    if role == "quasi":
        schema["quasi"]["value"] = {"kind": "date" if is_time else "numeric"}
        schema["sensitive"]["ill"] = {"distance": "equal", "t": 1}
    else:
        schema["identifiers"] = ["ill"]
        schema["sensitive"]["value"] = {"distance": role, "t": "0.9"}
    expected = told(frame, schema)
    for form, make in FORMS.items():
        if form.startswith("pandas") and "nullable" in form and values.dtype.is_decimal():
            continue  # convert_dtypes makes doubles of decimals: another table
        if form == "csv" and role == "quasi" and isinstance(values.dtype, pl.Datetime):
            continue  # a date column of a CSV is written as dates, or has a `format`
        if form == "gzipped csv" and role == "quasi" and isinstance(values.dtype, pl.Datetime):
            continue
        assert told(make(frame, tmp_path), schema) == expected, form


LENGTHS = [
    dt.timedelta(hours=-(10**6), microseconds=1),
    dt.timedelta(microseconds=-1),
    dt.timedelta(0),
    dt.timedelta(hours=1, minutes=30),
    dt.timedelta(days=2),
    dt.timedelta(hours=10**6, microseconds=-1),
]
LENGTH_TEXTS = ["-999999:59:59.999999", "-00:00:00.000001", "00:00:00", "01:30:00", "48:00:00", "999999:59:59.999999"]


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.filterwarnings("ignore::tclose.errors.FormulaWarning")
@pytest.mark.parametrize("role", ["quasi", "equal", "ordered", "keep"])
@pytest.mark.parametrize("unit", ["us", "ns", "ms"])
@pytest.mark.everyday(2)
def test_durations_are_the_same_in_every_form(role: str, unit: Any, tmp_path: Path) -> None:
    """At their ends, negative ones too; a text file has them as hours, minutes and seconds."""
    known = slice(2, 5) if unit == "ms" else slice(None)
    length = pl.Series("value", LENGTHS[known] * 2, dtype=pl.Duration("us")).cast(pl.Duration(unit)).sort()
    written = [text for text in LENGTH_TEXTS[known] for _ in "ab"]
    ages = [row // 2 for row in range(len(written))]  # a kept value singles nobody out
    frame = pl.DataFrame([length, pl.Series("age", ages), pl.Series("ill", ["a", "b"] * (len(ages) // 2))])
    texts = frame.with_columns(pl.Series("value", written))
    schema: dict[str, Any] = {
        "k": 2,
        "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {"ill": {"distance": "equal", "t": 1}},
    }
    if role == "quasi":
        schema["quasi"]["value"] = {"kind": "categorical"}
    elif role == "keep":
        schema["keep"] = ["value"]
    else:
        schema["sensitive"]["value"] = {"distance": role, "t": "0.9"}
    expected = told(texts, schema)
    assert not isinstance(expected, str)
    for form, make in FORMS.items():
        assert told(make(texts if "csv" in form else frame, tmp_path), schema) == expected, form
    for name in ("out.csv", "out.parquet", "out.jsonl", "out.arrow"):
        release = tclose.anonymize(frame, schema, method="mondrian", seed=1, allow_single_class=True)
        release.write(tmp_path / name, keep_order=True)
        assert tclose.verify(tmp_path / name, schema, original=frame).problems == ()
        assert tclose.verify(tmp_path / name, schema, original=texts).problems == ()
    if role != "quasi":
        assert pl.read_csv(tmp_path / "out.csv")["value"].to_list() == written
        assert pl.read_parquet(tmp_path / "out.parquet").schema["value"] == pl.Duration(unit)


def test_a_duration_is_no_number() -> None:
    frame = pl.DataFrame({"stay": [dt.timedelta(days=1)] * 4, "ill": list("aabb")})
    for kind in ("numeric", "date"):
        with pytest.raises(tclose.TableError, match=r"Column 'stay' is of type Duration, not .* Change its kind"):
            tclose.anonymize(
                frame, {"k": 2, "quasi": {"stay": {"kind": kind}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
            )


def ordered_by(column: str, t: str) -> dict[str, Any]:
    return {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {column: {"distance": "ordered", "t": t}}}


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_dates_in_text_outside_the_range_of_nanoseconds() -> None:
    """9999-12-31 is everybody's "valid until", and no year before 2020."""
    until = ["2020-01-01"] * 2 + ["2021-01-01"] * 2 + ["9999-12-31"] * 2
    frame = pl.DataFrame({"age": [20, 20, 50, 50, 50, 50], "until": until})
    typed = frame.with_columns(pl.col("until").str.to_date())
    for table in (frame, typed):
        assert tclose.assess(table, ordered_by("until", "0.4")).t["until"] == Fraction(1, 2)
    of_text, of_dates = (
        tclose.anonymize(table, ordered_by("until", "0.4"), seed=1, method="mondrian", allow_single_class=True)
        for table in (frame, typed)
    )
    assert of_text.measured.t == of_dates.measured.t
    assert of_text.classes.tolist() == of_dates.classes.tolist()


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_typed_decimals_are_not_rounded() -> None:
    digits = ["0.1", "0.100000000000000001", "0.100000000000000002"]
    values = pl.Series([Decimal(each) for each in digits for _ in "ab"], dtype=pl.Decimal(38, 18))
    frame = pl.DataFrame({"age": [1, 1, 2, 2, 3, 3], "value": values})
    assert tclose.assess(frame, ordered_by("value", "0")).t["value"] == Fraction(1, 2)
    release = tclose.anonymize(frame, ordered_by("value", "0"), seed=1, method="exact", allow_single_class=True)
    assert release.measured.l["value"].distinct == 3  # every class has all three


@pytest.mark.parametrize("publish", ["interval", "bounds", "mean"])
def test_large_numbers_are_covered(publish: str) -> None:
    frame = pl.DataFrame({"pay": [2 * 10**16, 3 * 10**16, 2 * 10**16 + 1, 3 * 10**16 - 1], "ill": list("abab")})
    schema = {
        "k": 2,
        "quasi": {"pay": {"kind": "numeric", "publish": publish}},
        "sensitive": {"ill": {"distance": "equal", "t": 1}},
    }
    release = tclose.anonymize(frame, schema, method="mondrian")
    if publish == "interval":
        assert release.aligned()["pay"].to_list() == ["[20000000000000000, 20000000000000001]",
                                                      "[29999999999999999, 30000000000000000]"] * 2  # fmt: skip
    assert tclose.verify(release.aligned(), schema, original=frame).holds


def test_the_spelling_of_a_missing_number_is_its_value_in_every_form() -> None:
    schema = {
        "k": 2, "missing": "category", "missing_values": ["-9"], "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {"pay": {"distance": "ordered", "t": 1}},
    }  # fmt: skip
    text = pl.DataFrame({"age": ["1"] * 4, "pay": ["-9.0", "1", "2", "-9"]})
    typed = text.with_columns(pl.col("age").cast(pl.Int64), pl.col("pay").cast(pl.Float64))
    reached = [tclose.assess(table, schema).l["pay"].distinct for table in (text, typed)]
    assert reached == [3, 3]


def test_empty_text_and_null_are_one() -> None:
    schema = {"k": 2, "missing": "category", "quasi": {"age": {"kind": "numeric"}},
              "sensitive": {"ill": {"distance": "equal", "t": 1}}}  # fmt: skip
    frame = pl.DataFrame({"age": [1] * 4, "ill": ["", None, "a", "a"]})
    assert tclose.assess(frame, schema).l["ill"].distinct == 2


def test_booleans_are_categories_in_every_form(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "yes": [True, False, True, True]})
    schema = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"yes": {"distance": "equal", "t": "0.5"}}}
    assert len({str(told(make(frame, tmp_path), schema)) for make in FORMS.values()}) == 1


def test_text_that_looks_like_numbers_stays_text(tmp_path: Path) -> None:
    frame = pl.DataFrame({"zip": ["02139", "2139", "02140", "2140"], "ill": list("abab")})
    schema = {"k": 2, "quasi": {"zip": {"kind": "text"}}, "sensitive": {"ill": {"distance": "equal", "t": 1}}}
    assert len({str(told(make(frame, tmp_path), schema)) for make in FORMS.values()}) == 1


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize(
    "sensitive", [{"distance": "equal"}, {"distance": "ordered"}, {"distance": "ordered", "bins": 3}]
)
def test_durations_are_judged_and_reported_like_any_value(sensitive: dict[str, Any], tmp_path: Path) -> None:
    """By everything that takes a table or a release: none of it expects text or numbers."""
    rows = range(60)
    frame = pl.DataFrame(
        {
            "age": [20 + row % 7 for row in rows],
            "stay": [dt.timedelta(hours=1 + row % 3) for row in rows],
            "wait": [dt.timedelta(minutes=5 * (row % 5)) for row in rows],
        }
    )
    quasi = {"age": {"kind": "numeric"}, "stay": {"kind": "categorical"}}
    schema = {"k": 3, "quasi": quasi, "sensitive": {"wait": {**sensitive, "t": 0.5}}}
    release = tclose.anonymize(frame, schema, method="mondrian", seed=1, allow_single_class=True)
    release.write(tmp_path / "out.csv")
    tclose.public_report_html(tmp_path / "out.csv", schema)
    assert ("00:05:00" in tclose.report_html(frame, release)) == (sensitive["distance"] == "equal")
    assert tclose.utility(frame, release).loss == release.loss
    assert tclose.attack(frame, release).as_dict()
    assert tclose.assess(frame, schema).k >= 1
    assert tclose.compare(frame, schema, methods=["mondrian", "sabre-ak"], jobs=1).runs
    assert tclose.what_binds(frame, release, method="mondrian")
