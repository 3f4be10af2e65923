"""What the fuzzer of readers feeds: for each reader its seeds, how they are mutated, and what is done with the bytes.

Every cell of every seed holds `MARK`, which no message and no output may show.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.campaigns import format_targets as formats
from tclose.errors import TcloseError
from tclose.pipeline import anonymize, assess, verify
from tclose.schema.cost_matrix import CostMatrix
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.stream.engine import Engine
from tclose.stream.envelope import pack, unpack
from tclose.stream.feeds.lines import GrowingFile, LineInput
from tclose.table import parquet_files
from tclose.table.encode import encode
from tclose.table.proposing.proposal_text import write_proposal
from tclose.table.proposing.table_proposal import RoleChoices, TableProposal
from tclose.table.source import read

MARK = "Zq7MarK"
N_ROWS = 24
ILLS = [f"{MARK}{place}" for place in range(4)]
SCHEMA: dict[str, Any] = {
    "k": 4,
    "missing": "category",
    "quasi": {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}, "day": {"kind": "date"}},
    "sensitive": {"ill": {"distance": "equal", "t": 0.9}},
}
Mutate = Callable[[bytes], bytes]
Act = Callable[[bytes, Path], object]


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes
    ----------
    seeds
        Good inputs to begin with.
    act
        Reads some bytes, for which a folder is given; what it returns is searched for the mark.
    wrap
        Mutates what lies inside of an envelope, such as gzip; None to mutate the bytes themselves.
    names
        What the mark may be shown as: a name, which the input made of it.
    may_die
        Whether the reader stands in a process of its own in the package, and here in that of the fuzzer.
    """

    seeds: Callable[[], list[bytes]]
    act: Act
    wrap: Callable[[bytes, Mutate], bytes] | None = None
    names: Callable[[bytes], bool] = lambda data: False
    may_die: bool = False


def frame() -> pl.DataFrame:
    """A table of every kind of column."""
    return pl.DataFrame(
        {
            "age": [20 + row % 9 for row in range(N_ROWS)],
            "job": [None if row % 5 == 4 else f"{MARK}job{row % 3}" for row in range(N_ROWS)],
            "day": [f"2021-03-{1 + row:02}" for row in range(N_ROWS)],
            "ill": [ILLS[row % 4] for row in range(N_ROWS)],
        }
    )


def csv_seeds() -> list[bytes]:
    plain = frame().write_csv().encode()
    return [
        plain,
        frame().write_csv(quote_style="always").encode(),
        frame().write_csv(line_terminator="\r\n", include_bom=True).encode(),
        plain.replace(b"\n", b'\n"a\nb""c",', 1),
        plain.partition(b"\n")[2],
        f'"{MARK}","{MARK}",1,2\n'.encode() * 3,
    ]


def read_table(data: bytes, path: Path) -> object:
    path.write_bytes(data)
    measured = assess(path, SCHEMA).as_dict()
    proposal = TableProposal.of(read(path), path.name)
    written = write_proposal(proposal, RoleChoices(dict.fromkeys(proposal.guesses, "open"), 5))
    return measured, [line for line in written.text.split("\n") if line.startswith("# ")]


def header_is_named(data: bytes) -> bool:
    """The mark stands in a first record among names of the schema, and so is a name."""
    head = data.removeprefix(b"\xef\xbb\xbf")
    end = head.find(b"\n")
    while end >= 0 and head.count(b'"', 0, end) % 2:
        end = head.find(b"\n", end + 1)
    first = head if end < 0 else head[:end]
    return MARK.encode() in first and any(name in first for name in (b"age", b"job", b"day", b"ill"))


def unzipped(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except Exception:
        return b""


def inside_gzip(data: bytes, mutate: Mutate) -> bytes:
    inner = unzipped(data)
    return gzip.compress(mutate(inner), 1) if inner else mutate(data)


def parquet_seeds() -> list[bytes]:
    made = []
    for compression in ("uncompressed", "snappy", "zstd"):
        file = io.BytesIO()
        frame().write_parquet(file, compression=compression, statistics=compression == "zstd")
        made.append(file.getvalue())
    typed = frame().with_columns(pl.col("ill").cast(pl.Categorical), pl.col("day").str.to_date(), x=pl.lit([1.5, None]))
    file = io.BytesIO()
    typed.write_parquet(file, compression="uncompressed", row_group_size=7)
    return [*made, file.getvalue()]


def read_parquet(data: bytes, path: Path) -> object:
    """All columns, without the process that tries them first: what kills this one is tried again with it."""
    path.write_bytes(data)
    source = parquet_files.read_parquet(path, made_here=True)
    for name in source.names:
        source.column(name)
    return None


def toml_seeds() -> list[bytes]:
    tree = {f"{MARK}a": [ILLS[0], ILLS[1]], f"{MARK}b": [ILLS[2], ILLS[3]]}
    costs = [[0 if i == j else 1 for j in range(4)] for i in range(4)]
    sensitive: list[dict[str, Any]] = [
        {"distance": "ordered", "order": ILLS, "t": "1/3"},
        {
            "distance": "hierarchical",
            "hierarchy": tree,
            "t": 0.25,
            "l": {"entropy": 1.5, "recursive": {"c": 3, "l": 2}},
        },
        {"distance": "matrix", "matrix": {"values": ILLS, "costs": costs}, "t": 1},
    ]
    jobs = {f"{MARK}x": [f"{MARK}job0", f"{MARK}job1", f"{MARK}job2"]}
    quasi = {
        "age": {"kind": "numeric", "step": 5, "bottom": 20, "top": 80, "range": [0, 99], "publish": "bounds"},
        "job": {"kind": "categorical", "hierarchy": jobs},
        "day": {"kind": "date", "step": "month", "hierarchy": {"build": "dates", "levels": ["month", "year"]}},
    }
    made = []
    for each in sensitive:
        keys = {**SCHEMA, "missing_values": ["?", MARK], "quasi": quasi, "sensitive": {"ill": each}}
        try:
            made.append(Schema.from_dict(keys).to_toml().encode())
        except TcloseError:
            quasi["day"] = {"kind": "date", "step": "month"}
            made.append(Schema.from_dict(keys).to_toml().encode())
    return made


def read_schema(data: bytes, path: Path) -> object:
    path = path.with_suffix(".toml")
    path.write_bytes(data)
    schema = Schema.load(path)
    encode(read(frame()), schema)
    return None


def toml_names(data: bytes) -> bool:
    """The mark may have become a key, a column, or a file: all that is no value of a list."""
    text = data.decode("utf-8", "replace")
    inside = re.sub(r"\[[^\[\]]*\]", "", text)
    tables = re.findall(r"(?m)^\s*\[{1,2}([^\[\]\n\"]*)\]{1,2}\s*$", text)
    return MARK in inside or any(MARK in name for name in tables)


def tree_seeds() -> list[bytes]:
    lines = [f"{ill};{MARK}{place % 2}up;*" for place, ill in enumerate(ILLS)]
    return ["\n".join(lines).encode(), f'"{MARK}""";"{MARK}\n";*\r\n{MARK};*\n'.encode()]


def read_tree(data: bytes, path: Path) -> object:
    path.write_bytes(data)
    tree = Hierarchy.read(path)
    keys = {**SCHEMA, "sensitive": {"ill": {"distance": "hierarchical", "hierarchy": tree, "t": 1}}}
    encode(read(frame()), Schema.from_dict(keys))
    return None


def matrix_seeds() -> list[bytes]:
    rows = [f"{ill}," + ",".join("0" if ill == other else "1" for other in ILLS) for ill in ILLS]
    return ["\n".join(["," + ",".join(ILLS), *rows]).encode()]


def read_matrix(data: bytes, path: Path) -> object:
    path.write_bytes(data)
    CostMatrix.read(path)
    return None


def line_seeds() -> list[bytes]:
    rows = frame().to_dicts()
    return ["\n".join(json.dumps(row) for row in rows).encode(), b'{"age": 1e5, "ill": "\\ud83d\\ude00"}\n{}\n[]\n']


def read_lines(data: bytes, path: Path) -> object:
    """Rows into a stream: what is rejected is told by its reason."""
    path.write_bytes(data)
    schema = Schema.from_dict(SCHEMA)
    engine = Engine(schema, window=16, step=8, seed=1)
    lines = LineInput(GrowingFile(path, 0, "stop"), schema, "jsonl")
    told: list[str] = []
    try:
        ended = False
        while not ended:
            batch = lines.read()
            told += batch.broken.values()
            for outcome in engine.feed(batch.rows):
                told += [rejected.reason for rejected in outcome.rejected]
            ended = batch.ended
    finally:
        lines.close()
    return told


@cache
def saved() -> bytes:
    engine = Engine(Schema.from_dict(SCHEMA), window=16, step=8, seed=1)
    for _ in engine.feed(frame()):
        pass
    return engine.checkpoint()


def inside_checkpoint(data: bytes, mutate: Mutate) -> bytes:
    """Another head under a digest that fits; the rows stay as they are, for whoever can sign them can do more."""
    try:
        head, parts = unpack(data)
        changed = json.loads(mutate(json.dumps(head).encode()))
        return pack(changed, parts)
    except Exception:
        return mutate(data)


def read_checkpoint(data: bytes, path: Path) -> object:
    Engine.restore(Schema.from_dict(SCHEMA), data)
    return None


@cache
def certified() -> tuple[pl.DataFrame, bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = anonymize(frame(), SCHEMA, method="mondrian", seed=1, allow_single_class=True)
    return release.table, json.dumps(release.certificate.as_dict(), indent=1).encode()


def read_certificate(data: bytes, path: Path) -> object:
    path.write_bytes(data)
    return verify(certified()[0], SCHEMA, certificate=path).problems


def json_names(data: bytes) -> bool:
    return MARK.encode() in data  # a certificate holds no cell; what stands in it is its own


def shaken(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, left out, doubled or put in: for where there is no fuzzer that does it better."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at, size = rng.randrange(len(made) + 1), rng.choice((1, 1, 2, 8, 64))
        what = rng.randrange(5)
        if what == 0:
            made[at : at + size] = b""
        elif what == 1:
            made[at:at] = made[at : at + size] * rng.choice((1, 2, 200))
        elif what == 2:
            made[at : at + size] = rng.randbytes(size)
        elif what == 3:
            made[at : at + 1] = rng.choice((b"\0", b"\xff", b'"', b"\n", b",", b";", b"[", b"{", b"1e999", b"\x1b"))
        else:
            made[at : at + 9] = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
    return bytes(made)


def has_json_name(data: bytes) -> bool:
    return formats.is_json_name(data, MARK)


def statistics_target(writer: str, suffix: str) -> Target:
    return Target(lambda: formats.statistics_seeds(frame(), writer, suffix), formats.read_statistics, may_die=True)


TARGETS: dict[str, tuple[str, Target]] = {
    "csv": ("data.csv", Target(csv_seeds, read_table, names=header_is_named)),
    "gzip": (
        "data.csv.gz",
        Target(
            lambda: [gzip.compress(seed) for seed in csv_seeds()],
            read_table,
            inside_gzip,
            lambda data: header_is_named(unzipped(data)),
        ),
    ),
    "parquet": ("data.parquet", Target(parquet_seeds, read_parquet, may_die=True)),
    "table of lines": ("data.jsonl", Target(lambda: formats.json_line_seeds(frame()), read_table, names=has_json_name)),
    "array": ("data.json", Target(lambda: formats.json_array_seeds(frame()), read_table, names=has_json_name)),
    "arrow": ("data.arrow", Target(lambda: formats.arrow_seeds(frame()), formats.read_arrow, may_die=True)),
    "excel": (
        "data.xlsx",
        Target(lambda: formats.excel_seeds(frame()), formats.read_excel, formats.inside_workbook, may_die=True),
    ),
    "spss": ("data.sav", statistics_target("write_sav", ".sav")),
    "stata": ("data.dta", statistics_target("write_dta", ".dta")),
    "sas": ("data.xpt", statistics_target("write_xport", ".xpt")),
    "sqlite": ("data.db", Target(lambda: formats.sqlite_seeds(frame()), read_table)),
    "toml": ("schema.toml", Target(toml_seeds, read_schema, names=toml_names)),
    "hierarchy": ("tree.csv", Target(tree_seeds, read_tree)),
    "matrix": ("matrix.csv", Target(matrix_seeds, read_matrix)),
    "lines": ("rows.jsonl", Target(line_seeds, read_lines)),
    "checkpoint": ("checkpoint", Target(lambda: [saved()], read_checkpoint, inside_checkpoint)),
    "certificate": (
        "certificate.json",
        Target(lambda: [certified()[1]], read_certificate, names=json_names),
    ),
}
