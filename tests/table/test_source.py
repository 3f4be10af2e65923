"""Tables from every library and file: the same arrays in, the same library out, and nothing else."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tclose
from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import Source, read
from tclose.verification.judge_release import check_release

pd: Any = pytest.importorskip("pandas")
pa: Any = pytest.importorskip("pyarrow")
# Forty rows are few for what is asked of them.
pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")

ROWS = 40
GROUPS = {"trade": ["shop", "market"], "craft": ["smith", "baker"]}
SCHEMA = Schema.from_dict(
    {
        "k": 4,
        "missing": "category",
        "identifiers": ["name"],
        "keep": ["region"],
        "quasi": {
            "age": {"kind": "numeric"},
            "height": {"kind": "numeric", "step": 0.5},
            "job": {"kind": "categorical", "hierarchy": GROUPS},
            "zip": {"kind": "text"},
            "phone": {"kind": "digits"},
            "born": {"kind": "date", "step": "month"},
        },
        "sensitive": {
            "ill": {"distance": "equal", "t": 0.9},
            "pay": {"distance": "ordered", "t": 0.9},
            "lab": {"distance": "numeric", "t": 0.9},
        },
    }
)


def columns() -> dict[str, list[Any]]:
    """One column a kind, some with missing values."""
    rng = np.random.default_rng(3)
    jobs = ["shop", "market", "smith", "baker"]
    return {
        "name": [f"person {row}" for row in range(ROWS)],
        "age": [None if row % 11 == 5 else int(age) for row, age in enumerate(rng.integers(20, 70, ROWS))],
        "height": (rng.integers(1500, 2000, ROWS) / 1000).tolist(),
        "job": [None if row == 7 else jobs[row % 4] for row in range(ROWS)],
        "zip": [f"{code:05}" for code in rng.integers(2000, 2200, ROWS)],
        "phone": [f"{code:03}" for code in rng.integers(0, 120, ROWS)],
        "born": [date(1980, 1 + row % 12, 1 + row % 28) for row in range(ROWS)],
        "ill": [["flu", "cold", None, "rash"][row % 4] for row in range(ROWS)],
        "pay": [None if row == 9 else int(pay) for row, pay in enumerate(rng.integers(0, 9, ROWS))],
        "lab": (rng.integers(0, 50, ROWS) / 4).tolist(),
        "region": ["north"] * ROWS,
    }


FRAME = pl.DataFrame(columns())


class OnlyAStream:
    """A table that offers an Arrow stream and nothing else."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._table = frame.to_arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def pandas_frame(**_: Any) -> Any:
    frame = pd.DataFrame(columns())
    return frame.assign(job=frame["job"].astype("category"), born=pd.to_datetime(frame["born"]))


def csv(path: Path, **how: Any) -> Path:
    FRAME.write_csv(path, **how)
    return path


def zipped(path: Path) -> Path:
    path.write_bytes(gzip.compress(FRAME.write_csv().encode()))
    return path


def parquet_file(path: Path) -> Path:
    FRAME.write_parquet(path)
    return path


def pandas_parquet(path: Path) -> Path:
    pandas_frame().set_index("name", drop=False).to_parquet(path, index=False)
    return path


MAKERS: dict[str, Callable[[Path], Any]] = {
    "polars": lambda folder: FRAME.clone(),
    "polars lazy": lambda folder: FRAME.lazy(),
    "polars, categories": lambda folder: FRAME.with_columns(pl.col("job", "ill").cast(pl.Categorical)),
    "polars, narrow": lambda folder: FRAME.with_columns(pl.col("age", "pay").cast(pl.Int8)),
    "pandas": lambda folder: pandas_frame(),
    "pandas, indexed": lambda folder: pandas_frame().set_index(pd.Index(range(100, 100 + ROWS), name="row")),
    "pandas, nullable": lambda folder: pandas_frame().convert_dtypes(),
    "pandas, pyarrow": lambda folder: pandas_frame().convert_dtypes(dtype_backend="pyarrow"),
    "pyarrow": lambda folder: FRAME.to_arrow(),
    "pyarrow, batches": lambda folder: FRAME.to_arrow().to_reader(max_chunksize=7),
    "pyarrow, dictionaries": lambda folder: pa.Table.from_pandas(pandas_frame(), preserve_index=False),
    "a stream alone": lambda folder: OnlyAStream(FRAME),
    "CSV": lambda folder: csv(folder / "table.csv"),
    "CSV by name": lambda folder: str(csv(folder / "table.csv")),
    "CSV, all quoted": lambda folder: csv(folder / "table.csv", quote_style="always"),
    "CSV, CRLF": lambda folder: csv(folder / "table.csv", line_terminator="\r\n"),
    "CSV with a byte order mark": lambda folder: csv(folder / "table.csv", include_bom=True),
    "CSV in capitals": lambda folder: csv(folder / "TABLE.CSV"),
    "gzipped CSV": lambda folder: zipped(folder / "table.csv.gz"),
    "Parquet": lambda folder: parquet_file(folder / "table.parquet"),
    "Parquet by pandas": lambda folder: pandas_parquet(folder / "table.parquet"),
}
SAME_LIBRARY = {
    "polars": pl.DataFrame,
    "polars lazy": pl.DataFrame,
    "polars, categories": pl.DataFrame,
    "pandas": pd.DataFrame,
    "pandas, indexed": pd.DataFrame,
    "pandas, nullable": pd.DataFrame,
    "pandas, pyarrow": pd.DataFrame,
    "pyarrow": pa.Table,
    "pyarrow, batches": pa.Table,
    "pyarrow, dictionaries": pa.Table,
    "CSV": pl.DataFrame,
    "Parquet": pl.DataFrame,
}


def assert_alike(found: EncodedTable, wanted: EncodedTable) -> None:
    for left, right in zip((*found.places, *found.codes), (*wanted.places, *wanted.codes), strict=True):
        assert left.tolist() == right.tolist()
    for left_axis, right_axis in zip(found.axes, wanted.axes, strict=True):
        ends = np.zeros(1, np.int32), np.array([left_axis.size - 1 - left_axis.missing], np.int32)
        assert left_axis.labels(*ends) == right_axis.labels(*ends)
        assert left_axis.cost(*ends) == right_axis.cost(*ends)


@pytest.mark.parametrize("maker", MAKERS)
def test_the_same_table_gives_the_same_arrays(maker: str, tmp_path: Path) -> None:
    assert_alike(encode(read(MAKERS[maker](tmp_path)), SCHEMA), encode(read(FRAME), SCHEMA))


@pytest.mark.parametrize("maker", SAME_LIBRARY)
@pytest.mark.everyday(4)
def test_a_release_comes_back_in_the_library_it_came_in(maker: str, tmp_path: Path) -> None:
    release = tclose.anonymize(MAKERS[maker](tmp_path), SCHEMA, allow_single_class=True, seed=1)
    for table in (release.table, release.aligned()):
        assert isinstance(table, SAME_LIBRARY[maker])
        names = table.column_names if isinstance(table, pa.Table) else list(table.columns)
        assert names == [name for name in FRAME.columns if name != "name"]
    wanted = tclose.anonymize(FRAME, SCHEMA, allow_single_class=True, seed=1).aligned()
    for name in ("age", "job", "zip", "phone", "born", "ill", "region"):
        column = release.aligned()[name]
        values = column.to_pylist() if isinstance(column, pa.ChunkedArray) else column.to_list()
        assert [None if pd.isna(value) else value for value in values] == wanted[name].to_list()


def test_a_stream_comes_back_as_something_with_a_stream() -> None:
    release = tclose.anonymize(OnlyAStream(FRAME), SCHEMA, allow_single_class=True)
    assert hasattr(release.table, "__arrow_c_stream__")


# What must not get out


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_the_index_of_pandas_does_not_get_out(suffix: str, tmp_path: Path) -> None:
    frame = pandas_frame().set_index("name")
    schema = Schema.from_dict(SCHEMA.as_dict() | {"identifiers": []})
    release = tclose.anonymize(frame, schema, allow_single_class=True)
    for table in (release.table, release.aligned()):
        assert isinstance(table.index, pd.RangeIndex)
        assert (table.index.start, table.index.step, table.index.name) == (0, 1, None)
        assert "name" not in table.columns
    release.write(tmp_path / f"release{suffix}")
    data = (tmp_path / f"release{suffix}").read_bytes()
    data = gzip.decompress(data) if suffix == ".csv.gz" else data
    assert b"person" not in data
    assert b"__index" not in data


def test_unused_categories_do_not_get_out(tmp_path: Path) -> None:
    jobs = pd.Categorical(["shop", "smith"] * 4, categories=["shop", "smith", "baker"])
    ills = pd.Categorical(["flu", "cold"] * 4, categories=["flu", "cold", "plague"])
    frame = pd.DataFrame({"job": jobs, "ill": ills, "kept": ills})
    keys: dict[str, Any] = {"k": 2, "keep": ["kept"], "quasi": {"job": {"kind": "categorical"}}}
    schema = Schema.from_dict(keys | {"sensitive": {"ill": {"distance": "equal", "t": 1}}})
    for given in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        release = tclose.anonymize(given, schema, allow_single_class=True)
        release.write(tmp_path / "release.parquet")
        assert b"plague" not in (tmp_path / "release.parquet").read_bytes()
        assert b"baker" not in (tmp_path / "release.parquet").read_bytes()
        assert b"pandas" not in (tmp_path / "release.parquet").read_bytes()
        table = release.table
        for secret in (b"plague", b"baker"):
            assert secret not in pickle.dumps(table)
        if isinstance(table, pd.DataFrame):
            assert [sorted(table[name].cat.categories) for name in ("ill", "kept")] == [["cold", "flu"]] * 2
        elif isinstance(table, pl.DataFrame):
            assert sorted(table["ill"].unique().cast(pl.String)) == ["cold", "flu"]
        else:
            assert sorted(table["ill"].combine_chunks().dictionary.to_pylist()) == ["cold", "flu"]
            assert b"pandas" not in (table.schema.metadata or {})


def test_the_input_stays_as_it_is() -> None:
    for maker in ("polars", "pandas, indexed", "pyarrow", "pandas"):
        frame = MAKERS[maker](Path())
        before = frame.copy(deep=True) if isinstance(frame, pd.DataFrame) else pickled(frame)
        tclose.anonymize(frame, SCHEMA, allow_single_class=True)
        tclose.assess(frame, SCHEMA)
        if isinstance(frame, pd.DataFrame):
            pd.testing.assert_frame_equal(frame, before)
        elif isinstance(frame, pl.DataFrame):
            assert_frame_equal(frame, before)
        else:
            assert frame.equals(before)


def pickled(frame: Any) -> Any:
    import pickle

    return pickle.loads(pickle.dumps(frame))


# How files are written


@pytest.mark.parametrize(("delimiter", "decimal"), [(";", ","), ("\t", "."), ("|", ".")])
def test_delimiter_and_decimal(delimiter: str, decimal: str, tmp_path: Path) -> None:
    path = csv(tmp_path / "table.csv", separator=delimiter, decimal_comma=decimal == ",")
    schema = Schema.from_dict(SCHEMA.as_dict() | {"delimiter": delimiter, "decimal": decimal})
    assert_alike(encode(read(path, delimiter), schema), encode(read(FRAME), schema))
    release = tclose.anonymize(path, schema, allow_single_class=True)
    release.write(tmp_path / "release.csv")
    written = pl.read_csv(tmp_path / "release.csv", separator=delimiter, infer_schema=False)
    assert written.columns == [name for name in FRAME.columns if name != "name"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8"])
def test_encoding(encoding: str, tmp_path: Path) -> None:
    text = "job,ill\nBäcker,Grippe\nKöchin,Röteln\n"
    (tmp_path / "table.csv").write_bytes(text.encode(encoding))
    frame = read(tmp_path / "table.csv", encoding=encoding).frame
    assert frame.rows() == [("Bäcker", "Grippe"), ("Köchin", "Röteln")]


def test_a_release_of_a_table_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes("job;ill\nKöchin;Grippe\nKöchin;Röteln\n".encode("latin-1"))
    keys: dict[str, Any] = {"k": 2, "delimiter": ";", "encoding": "latin-1", "quasi": {"job": {"kind": "categorical"}}}
    schema = Schema.from_dict(keys | {"sensitive": {"ill": {"distance": "equal", "t": 1}}})
    release = tclose.anonymize(tmp_path / "table.csv", schema)
    release.write(tmp_path / "release.csv", keep_order=True)
    assert (tmp_path / "release.csv").read_text(encoding="utf-8") == "job;ill\nKöchin;Grippe\nKöchin;Röteln\n"
    assert check_release(read(tmp_path / "release.csv", ";"), schema).k == 2


def test_a_wrong_encoding_is_said(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes("job,ill\nBäcker,x\n".encode("latin-1"))
    with pytest.raises(TableError, match="UTF-8") as caught:
        read(tmp_path / "table.csv")
    assert "cker" not in str(caught.value)


def test_csv_is_read_as_text(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text('a,b\n02139,\n1.0,"x, ""y"""\n true ,2021-03-02\n')
    assert read(tmp_path / "table.csv").frame.rows() == [("02139", ""), ("1.0", 'x, "y"'), (" true ", "2021-03-02")]


@pytest.mark.parametrize(
    ("text", "rows", "said"),
    [
        ("a,b\n1,2\n3,4\n", [1], "line 3"),
        ("a,b\n1,2\n3,4\n", [0, 1], "lines 2, 3"),
        ('a,b\n"1\n1",2\n3,4\n', [1], "record 2"),  # a quoted line end: lines are not records
        ("a\n" + "1\n" * 9, list(range(9)), "lines 2, 3, 4, 5, 6, ..."),
    ],
)
def test_rows_are_named_by_their_line(text: str, rows: list[int], said: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(text)
    assert read(tmp_path / "table.csv").name_rows(np.array(rows)) == said
    assert read(FRAME).name_rows(np.array([0])) == "row 0"


REFUSED: dict[str, tuple[Any, str]] = {
    "a number": (3, "int is not a table"),
    "a list": ([1, 2], "list is not a table"),
    "a file of unknown suffix": ("table.doc", r"\.csv, \.csv\.gz, .*--format"),
    "no file": ("absent.csv", "not a file"),
    "no columns": (pl.DataFrame(), "no columns"),
    "names that are numbers": (pd.DataFrame({1: [2]}), "not text"),
    "a name twice": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Columns 1 and 2 .* same name"),
    "a name that is empty": (pl.DataFrame({"": [1]}), "no name"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_a_table(name: str) -> None:
    table, said = REFUSED[name]
    with pytest.raises(TableError, match=said):
        read(table)


def test_the_digest_is_that_of_the_input(tmp_path: Path) -> None:
    digests = [read(table).digest() for table in (FRAME, FRAME.clone(), FRAME.reverse())]
    assert digests[0] == digests[1] != digests[2]
    again: Source = read(read(FRAME))
    assert again.digest() == digests[0]


def test_a_parquet_file_is_read_a_column_at_a_time(tmp_path: Path) -> None:
    names = ["*", "^a.*$", "a", "b"]  # some mean other columns to polars
    frame = pl.DataFrame({name: [place, place + 1] for place, name in enumerate(names)})
    frame.write_parquet(tmp_path / "table.parquet")
    source = read(tmp_path / "table.parquet")
    assert (list(source.names), source.n_rows) == (names, 2)
    assert all(source.column(name).equals(frame[name], check_names=True) for name in names)
    assert_frame_equal(source.frame, frame)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"a": [1, 2], "b": [3, 4]}).write_parquet(path)
    source = read(path)
    pl.DataFrame({"a": [1, 2, 3], "b": [3, 4, 5]}).write_parquet(path)
    with pytest.raises(TableError, match="changed while it was read"):
        source.column("a")


@pytest.mark.parametrize("name", ["", "of their own"])
def test_categories_with_a_name_of_their_own(name: str, tmp_path: Path) -> None:
    """polars does not say of their type that it is that of categories."""
    kind = pl.Categorical(pl.Categories(name or None))
    frame = pl.DataFrame({"age": [20, 21, 22, 23] * 5, "ill": ["flu", "cold"] * 10})
    frame = frame.with_columns(pl.col("ill").cast(kind))
    frame.write_parquet(tmp_path / "a.parquet")
    schema = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.5}}}
    for table in (frame, tmp_path / "a.parquet"):
        released = tclose.anonymize(table, schema, method="mondrian", seed=1)
        assert set(released.table["ill"].cast(pl.String)) == {"flu", "cold"}
    assert [each.column for each in read(frame).categorical] == ["ill"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SECRET,SECRET,\n1,2,\n3,4,\n", "Columns 1 and 2 of the table have the same name"),
        ("age,,ill\n1,2,3\n", "Column 2 has no name"),
    ],
)
def test_names_beside_a_column_without_one(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=said) as told:
        read(tmp_path / "table.csv")
    assert "SECRET" not in str(told.value)


def test_an_empty_column_without_a_name_is_passed_by_whatever_others_are_called(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age,column_3,\n1,2,\n3,4,\n", encoding="utf-8")
    assert read(tmp_path / "table.csv").names == ("age", "column_3")


@pytest.mark.parametrize("form", ["pyarrow", "pandas", "pandas, arrow types"])
@pytest.mark.parametrize("values", [[Decimal(10) ** 40, Decimal(10) ** -30], [2**70, -1]], ids=["decimals", "integers"])
def test_numbers_that_no_column_can_hold_are_refused_by_name(
    values: list[Any], form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    table: Any
    if form == "pandas":
        table = pd.DataFrame({"age": [1, 2], "pay": pd.Series(values, dtype=object)})
    else:
        table = pa.table({"age": [1, 2], "pay": pa.array(map(Decimal, values), pa.decimal256(76, 31))})
        table = table if form == "pyarrow" else table.to_pandas(types_mapper=pd.ArrowDtype)
    with pytest.raises(TableError, match=r"^Column 'pay' cannot be taken in.* to text"):
        read(table)
    assert not capfd.readouterr().err
