"""The two census tables of the figures: a synthetic one of the paper's shape, and a real one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

import tclose
from benchmarks import adult
from benchmarks.results import ROOT
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema

SEED = 1
BANDS, BAND = 50, 4000  # of the real income: so many bands of so many dollars, the last one open
NIST = adult.DATA / "nist_acs_2019.csv.gz"
TREES = adult.DATA / "hierarchies" / "nist_acs_2019"


@dataclass(frozen=True, eq=False)
class Census:
    """Rows in random order, as many as a figure may want.

    Attributes
    ----------
    quasi
        The quasi-identifiers and their schema keys, in the order of the paper's table 5: the first 3 to 7 are taken.
    sensitive
        The column that is: whole numbers from 0 to 49.
    """

    name: str
    title: str
    frame: pl.DataFrame
    quasi: dict[str, Any]
    sensitive: str

    def rows(self, n_rows: int, n_quasi: int) -> pl.DataFrame:
        """The first rows and quasi-identifiers, and the sensitive attribute as text."""
        columns = [*list(self.quasi)[:n_quasi], self.sensitive]
        return self.frame.head(n_rows).select(columns).with_columns(pl.col(self.sensitive).cast(pl.String))

    def schema(self, n_quasi: int, t: str, k: int, fanout: int | None) -> Schema:
        """The first quasi-identifiers; the sensitive attribute ordered, or by a hierarchy of this fanout."""
        distance: dict[str, Any] = {"distance": "ordered", "order": [str(band) for band in range(BANDS)]}
        if fanout is not None:
            distance = {"distance": "hierarchical", "hierarchy": tree(fanout)}
        quasi = dict(list(self.quasi.items())[:n_quasi])
        keys = {"k": k, "quasi": quasi, "sensitive": {self.sensitive: {**distance, "t": t}}}
        return Schema.from_dict(keys, base=TREES if self.name == "nist" else ROOT)


def tree(fanout: int, leaves: int = BANDS) -> dict[str, Any]:
    """A hierarchy over 0, 1, 2, ...: neighbours are put together, so many at a time, until one node is left.

    Examples
    --------
    >>> tree(2, 4)
    {'1.0': ['0', '1'], '1.1': ['2', '3']}
    >>> tree(4, 4)
    {'0': [], '1': [], '2': [], '3': []}
    """
    nodes: dict[str, Any] = {str(leaf): [] for leaf in range(leaves)}
    level = 0
    while len(nodes) > fanout:
        level += 1
        parts = [list(nodes.items())[first : first + fanout] for first in range(0, len(nodes), fanout)]
        nodes = {
            f"{level}.{place}": [name for name, _ in part] if level == 1 else dict(part)
            for place, part in enumerate(parts)
        }
    return nodes


def census(n_rows: int) -> Census:
    frame, schema = tclose.datasets.census(n_rows, seed=SEED)
    return Census("census", "synthetic census", frame, schema.as_dict()["quasi"], "salary")


def nist_is_there() -> bool:
    return NIST.is_file()


def nist(most: int) -> Census:
    """All with an income in the NIST excerpts of the American Community Survey, aged 15 and more: at most 37,114 rows.

    Columns that stand for those of table 5: what someone works at by industry, and where someone
    lives in place of the birth place.
    """
    columns = ["AGEP", "SEX", "EDU", "MSP", "RAC1P", "INDP", "PUMA", "PINCP"]
    rows = pl.read_csv(NIST, columns=columns, infer_schema=False).filter(pl.col("PINCP") != "N")
    industries = Hierarchy.read(TREES / "INDP.csv").nested()
    of_code = {code: name for sector in industries.values() for name, codes in sector.items() for code in codes}
    band = (pl.col("PINCP").cast(pl.Float64) // BAND).clip(0, BANDS - 1).cast(pl.Int64)
    frame = rows.with_columns(
        pl.col("AGEP", "EDU").cast(pl.Int64), pl.col("INDP").replace_strict(of_code), band.alias("income")
    )
    quasi: dict[str, Any] = {
        "AGEP": {"kind": "numeric", "hierarchy": {"build": "intervals", "widths": [5, 10, 20], "origin": 15}},
        "SEX": {"kind": "categorical"},
        "EDU": {"kind": "numeric", "hierarchy": {"build": "intervals", "widths": [2, 4, 8], "origin": 0}},
        "MSP": {"kind": "categorical", "hierarchy": "MSP.csv"},
        "RAC1P": {"kind": "categorical", "hierarchy": "RAC1P.csv"},
        "INDP": {"kind": "categorical", "hierarchy": {name: list(below) for name, below in industries.items()}},
        "PUMA": {"kind": "categorical", "hierarchy": "PUMA.csv"},
    }
    shuffled = frame.sample(fraction=1, shuffle=True, seed=SEED).head(most)
    return Census("nist", "NIST ACS 2019, real", shuffled, quasi, "income")
