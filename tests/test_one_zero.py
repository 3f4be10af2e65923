"""Zero with a minus sign is zero, and a spelling of missing is missing, in text as in every type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose

ROLES: dict[str, dict[str, Any]] = {
    "categorical": {"quasi": {"age": {"kind": "numeric"}, "x": {"kind": "categorical"}}},
    "equal": {"quasi": {"age": {"kind": "numeric"}}, "sensitive": {"x": {"distance": "equal", "t": 1}}},
    "keep": {"quasi": {"age": {"kind": "numeric"}}, "keep": ["x"]},
}
pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")


def reached(table: Any, schema: dict[str, Any]) -> Any:
    release = tclose.anonymize(table, schema, method="mondrian", seed=1, allow_single_class=True)
    told = release.certificate.as_dict()
    return told["rows"], told["classes"], told["reached"], told["loss"]


@pytest.mark.parametrize("role", ROLES)
def test_negative_zero_is_zero_in_text_too(role: str, tmp_path: Path) -> None:
    typed = pl.DataFrame({"age": [1, 1, 1, 2, 2, 2], "x": [-0.0, 0.0, -0.0, 1.5, 1.5, 1.5]})
    typed.write_csv(tmp_path / "table.csv")
    assert "-0.0" in (tmp_path / "table.csv").read_text()
    schema = {"k": 3, **ROLES[role]}
    assert reached(tmp_path / "table.csv", schema) == reached(typed, schema)


def test_a_release_that_shows_both_zeros_as_text_is_refused() -> None:
    schema = {"k": 2, **ROLES["equal"]}
    for texts, holds in ((["-0.0", "0.0", "1", "2"], False), (["-0.0", "-0.0", "1", "2"], True)):
        verdict = tclose.verify(pl.DataFrame({"age": ["1"] * 4, "x": texts}), schema)
        assert verdict.holds is holds
        assert any("zeros with and without a sign" in each for each in verdict.problems) is not holds


@pytest.mark.parametrize("role", ["categorical", "equal"])
@pytest.mark.parametrize(
    ("values", "spelling"),
    [
        ([dt.date(1900, 1, 1), dt.date(2020, 1, 1)], "1900-01-01"),
        ([dt.datetime(1900, 1, 1), dt.datetime(2020, 1, 1)], "1900-01-01T00:00:00"),
        ([dt.time(1), dt.time(2)], "01:00:00"),
        ([dt.timedelta(hours=1), dt.timedelta(hours=2)], "01:00:00"),
        ([True, False], "true"),
    ],
)
def test_a_spelling_of_missing_is_missing_in_every_type(values: list[Any], spelling: str, role: str) -> None:
    """What text calls missing was a value in a typed column, and the release of a quasi-identifier was refused."""
    typed = pl.DataFrame({"age": [1, 1, 2, 2, 3, 3], "x": values * 3})
    text = typed.with_columns(pl.Series("x", [spelling, "other"] * 3))
    schema = {"k": 2, "missing": "category", "missing_values": [spelling], **ROLES[role]}
    assert reached(typed, schema) == reached(text, schema)


def test_decimals_of_more_than_38_digits_are_refused_by_the_name_of_the_column(tmp_path: Path) -> None:
    digits = [Decimal("1" + "0" * 45), Decimal("2" + "0" * 45)] * 2
    table = pa.table({"age": [1, 1, 2, 2], "x": pa.array(digits, pa.decimal256(60, 0))})
    pq.write_table(table, tmp_path / "table.parquet")
    schema = {"k": 2, **ROLES["equal"]}
    for form in (table, tmp_path / "table.parquet"):
        with pytest.raises(tclose.TableError, match=r"olumn 'x' .*decimals of more than 38 digits"):
            reached(form, schema)
