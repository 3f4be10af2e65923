"""The printed tables of paper 002, the whole way: encoded, recoded, verified and assessed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.distances import Matrix
from tclose.errors import VerificationError
from tclose.release.recode import recode
from tclose.schema.schema import Schema
from tclose.table.coded import as_text
from tclose.table.encode import encode
from tclose.table.partition import Partition
from tclose.table.row_selection import select_rows
from tclose.table.source import Source, read
from tclose.verification.judge_release import check_release
from tests.oracles.optimal_partition import Problem, optimum_by_subsets
from tests.oracles.sabre import exact_transport
from tests.seeds import for_seeds
from tests.strategies import run

VIRAL, HEART, CANCER = "Viral Infection", "Heart Disease", "Cancer"
Printed = dict[int, tuple[str, str, str]]  # the cells of each row, by its number
Groups = list[list[int]]

TABLE_1 = {
    1: ("98765", "38", "Bachelor", VIRAL),
    2: ("98654", "39", "Doctorate", HEART),
    3: ("98543", "32", "Master", HEART),
    4: ("97654", "65", "Bachelor", CANCER),
    5: ("96689", "45", "Bachelor", VIRAL),
    6: ("97427", "33", "Bachelor", VIRAL),
    7: ("96552", "54", "Bachelor", HEART),
    8: ("97017", "69", "Doctorate", CANCER),
    9: ("97023", "55", "Master", CANCER),
    10: ("97009", "62", "Bachelor", CANCER),
}
GROUPS_2: Groups = [[1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
TABLE_2: Printed = (
    dict.fromkeys([1, 2, 3], ("98***", "3*", "*"))
    | dict.fromkeys([4, 5, 6, 7], ("9****", "**", "Bachelor"))
    | dict.fromkeys([8, 9, 10], ("970**", "**", "*"))
)
GROUPS_3: Groups = [[1, 2], [3, 5, 8, 9], [4, 6], [7, 10]]
TABLE_3: Printed = (
    dict.fromkeys([1, 2], ("98***", "3*", "*"))
    | dict.fromkeys([3, 5, 8, 9], ("9****", "**", "*"))
    | dict.fromkeys([4, 6], ("97***", "**", "Bachelor"))
    | dict.fromkeys([7, 10], ("9****", "**", "Bachelor"))
)
TABLE_4: Printed = dict.fromkeys([1, 2, 3], ("98***", "3*", "*"))
GROUPS_5: Groups = [[1, 2, 4], [3, 5, 8, 9], [6, 7, 10]]
TABLE_5: Printed = dict.fromkeys([1, 2, 4, 3, 5, 8, 9], ("9****", "**", "*")) | dict.fromkeys(
    [6, 7, 10], ("9****", "**", "Bachelor")
)

ALL = pytest.mark.parametrize(
    ("groups", "printed", "cost"),
    [(GROUPS_2, TABLE_2, 54), (GROUPS_3, TABLE_3, 60), ([[1, 2, 3]], TABLE_4, 15), (GROUPS_5, TABLE_5, 67)],
    ids=["table 2", "table 3", "table 4", "table 5"],
)


def schema(k: int = 1, t: str = "1", **disease: object) -> Schema:
    """Every digit of zip code and age is a quasi-identifier of its own."""
    return Schema.from_dict(
        {
            "k": k,
            "recode": "suppress",
            "quasi": {
                "Zipcode": {"kind": "digits"},
                "Age": {"kind": "digits"},
                "Education": {"kind": "categorical"},
            },
            "sensitive": {"Disease": {"distance": "equal", "t": t, **disease}},
        }
    )


def rows_of(groups: Groups) -> list[int]:
    """The rows of table 1 that are in some group, in its order."""
    return sorted(row for group in groups for row in group)


def frame_of(rows: list[int]) -> pl.DataFrame:
    names = ["Zipcode", "Age", "Education", "Disease"]
    return pl.DataFrame([TABLE_1[row] for row in rows], schema=names, orient="row")


def labels_of(groups: Groups) -> list[int]:
    return [next(place for place, group in enumerate(groups) if row in group) for row in rows_of(groups)]


def released(groups: Groups, asked: Schema) -> tuple[pl.DataFrame, int, float]:
    """The release in these groups, its hidden cells, and its loss."""
    source = read(frame_of(rows_of(groups)))
    table = encode(source, asked)
    partition = Partition.of(np.array(labels_of(groups)))
    frame = recode(table, partition, source, select_rows(source, asked)[0], asked)
    return frame, table.hidden_cells(partition.labels), table.loss(partition.labels)


@ALL
def test_the_release_is_as_printed(groups: Groups, printed: Printed, cost: int) -> None:
    frame, hidden, loss = released(groups, schema())
    rows = rows_of(groups)
    assert as_text(frame).rows() == [(*printed[row], TABLE_1[row][3]) for row in rows]
    assert hidden == cost == sum(cell.count("*") for row in rows for cell in printed[row])
    assert loss == pytest.approx(cost / (8 * len(rows)), abs=1e-15)  # eight quasi-identifiers
    assert Problem.of(frame_of(rows), schema()).total(labels_of(groups)) == cost


def test_table_2_is_3_anonymous_and_no_more() -> None:
    frame, _, _ = released(GROUPS_2, schema())
    assert check_release(Source.of(frame), schema(k=3)).k == tclose.assess(as_text(frame), schema()).k == 3
    with pytest.raises(VerificationError, match="smallest class has 3 rows, and k is 4"):
        check_release(Source.of(frame), schema(k=4))
    with pytest.raises(VerificationError, match="l of 'Disease'"):  # all of the third group have cancer
        check_release(Source.of(frame), schema(l={"frequency": 2}))


def test_table_3_is_2_diverse_and_not_close() -> None:
    frame, _, _ = released(GROUPS_3, schema())
    report = tclose.assess(as_text(frame), schema())
    assert check_release(Source.of(frame), schema(l={"frequency": 2})).l["Disease"].frequency == 2
    assert (report.k, report.classes, report.t["Disease"]) == (2, 4, Fraction(2, 5))
    distances = [Fraction(4, 10), Fraction(1, 10), Fraction(3, 10), Fraction(3, 10)]
    assert [distance_of(group) for group in GROUPS_3] == distances
    with pytest.raises(VerificationError, match=r"t of 'Disease': .* 2/5 = 0\.4 .* t is 3/10"):
        check_release(Source.of(frame), schema(t="0.3"))


def test_table_5_is_close() -> None:
    """Its first two groups are released alike, so that who reads it sees one class of seven rows."""
    frame, _, _ = released(GROUPS_5, schema())
    assert [distance_of(group) for group in GROUPS_5] == [Fraction(1, 15), Fraction(1, 10), Fraction(1, 15)]
    measured = check_release(Source.of(frame), schema(t="0.1"))
    assert (measured.classes, measured.k, measured.t["Disease"]) == (2, 3, Fraction(1, 15))
    assert distance_of([*GROUPS_5[0], *GROUPS_5[1]]) == Fraction(1, 35)
    report = tclose.assess(as_text(frame), schema())
    assert (report.classes, report.t["Disease"]) == (2, Fraction(1, 15))


def distance_of(group: list[int]) -> Fraction:
    """Of a group from the whole table, by the public function."""
    ills = [VIRAL, HEART, CANCER]
    found = tclose.emd(
        [sum(TABLE_1[row][3] == ill for row in group) for ill in ills],
        [sum(row[3] == ill for row in TABLE_1.values()) for ill in ills],
        "equal",
    )
    assert isinstance(found, Fraction)
    return found


def test_table_2_is_optimal_and_the_others_are_not() -> None:
    """The paper claims neither. The least costs are ours, by trying everything."""
    frame = frame_of(list(TABLE_1))
    asked = [schema(k=3), schema(l={"frequency": 2}), schema(t="0.3"), schema(t="0.1")]
    assert [optimum_by_subsets(Problem.of(frame, each)) for each in asked] == [54, 50, 52, 64]


@ALL
def test_a_release_tells_how_many_cells(groups: Groups, printed: Printed, cost: int, tmp_path: Path) -> None:
    """What the command line says is what the file holds, and verifies."""
    asked = schema(k=min(map(len, groups)), t=str(max(map(distance_of, groups))) if len(groups) > 1 else "1")
    frame_of(rows_of(groups)).write_csv(tmp_path / "table.csv")
    asked.save(tmp_path / "schema.toml")
    options: list[str | Path] = ["-s", tmp_path / "schema.toml", "--seed", "1", "--allow-single-class"]
    done = run("anonymize", tmp_path / "table.csv", *options, "-o", tmp_path / "release.csv", "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    certificate = json.loads((tmp_path / "release.csv.certificate.json").read_text())
    release = pl.read_csv(tmp_path / "release.csv", infer_schema=False)
    stars = sum(cell.count("*") for row in release.iter_rows() for cell in row)
    assert told["suppressed_cells"] == certificate["suppressed_cells"] == stars
    assert run("verify", tmp_path / "release.csv", "-s", tmp_path / "schema.toml").code == 0
    shown = run("anonymize", tmp_path / "table.csv", *options, "-o", tmp_path / "release.csv")
    assert f"{stars} cells are suppressed" in shown.out


def test_only_a_release_that_suppresses_tells_of_cells() -> None:
    frame, census = tclose.datasets.census(200, seed=1)
    release = tclose.anonymize(frame, census, method="mondrian", allow_single_class=True)
    assert "suppressed_cells" not in release.certificate.fields


# Distances


@for_seeds(60)
def test_fact_1(seed: int) -> None:
    random = Random(seed)
    m = random.randint(1, 6)
    counts = [[random.randint(0, 5) for _ in range(m)] for _ in range(2)]
    counts[0][0] += 1
    counts[1][-1] += 1
    x, y = ([Fraction(count, sum(each)) for count in each] for each in counts)
    found = tclose.emd(counts[0], counts[1], "equal")
    assert found == sum(abs(a - b) for a, b in zip(x, y, strict=True)) / 2
    assert found == sum(a - b for a, b in zip(x, y, strict=True) if a >= b)


@for_seeds(60)
def test_equation_5_is_the_distance_of_theorem_7(seed: int) -> None:
    """It is printed for a_4 >= b_4, and holds without that."""
    random = Random(seed)
    costs = [[Fraction(0 if i == j else 1, 1 + (3 in (i, j))) for j in range(4)] for i in range(4)]
    counts = [[random.randint(0, 6) for _ in range(3)] + [random.randint(1, 9)] for _ in range(2)]
    a, b = ([Fraction(count, sum(each)) for count in each] for each in counts)
    wanted = (a[3] - b[3]) / 2 + sum(a[i] - b[i] for i in range(3) if a[i] >= b[i])
    assert exact_transport(counts[0], counts[1], costs) == wanted
    assert tclose.emd(counts[0], counts[1], Matrix(costs)) == wanted
