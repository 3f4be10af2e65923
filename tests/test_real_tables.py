"""Real tables from the command line to an independent exact count of the released file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tomli_w

import tclose
from tclose.cli.main import main
from tests.oracles.release import check_release, read_paths, read_rows
from tests.shared_data import shared

ADULT_TREES = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country", "salary-class"]
ADULT_OTHERS = ["fnlwgt", "capital-gain", "capital-loss", "relationship", "hours-per-week"]


def tclose_exits(monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str]) -> int:
    monkeypatch.setattr("sys.argv", ["tclose", *arguments])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def release_and_count(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: Path,
    keys: dict[str, Any],
    spec: dict[str, Any],
) -> dict[str, Any]:
    """Anonymize by command line, count the file independently, and return the certificate."""
    schema, output = folder / "schema.toml", folder / "release.csv"
    schema.write_text(tomli_w.dumps(keys))
    assert tclose_exits(monkeypatch, ["anonymize", str(data), "-s", str(schema), "-o", str(output), "--seed", "1"]) == 0
    certificate: dict[str, Any] = json.loads((folder / "release.csv.certificate.json").read_text())
    found = check_release(read_rows(output), list(keys["quasi"]), spec)
    assert certificate["rows"] == found["rows"]
    assert certificate["classes"] == found["classes"]
    assert certificate["reached"]["k"] == found["k"] >= keys["k"]
    for column, t in found["t"].items():
        assert certificate["reached"]["t"][column]["exact"] == str(t)
        assert float(t) <= keys["sensitive"][column]["t"]
        told = certificate["reached"]["l"][column]
        assert told["distinct"] == found["l"][column]["distinct"]
        assert told["frequency"] == float(found["l"][column]["frequency"])
        assert told["entropy"] == pytest.approx(found["l"][column]["entropy"])
    assert tclose_exits(monkeypatch, ["verify", str(output), "-s", str(schema)]) == 0
    return certificate


@pytest.mark.slow
@pytest.mark.parametrize("with_hierarchies", [pytest.param(True, marks=pytest.mark.campaign), False])
def test_adult(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_hierarchies: bool) -> None:
    data = shared("adult.csv.gz")
    trees = shared("hierarchies/adult")
    tree = {name: {"hierarchy": str(trees / f"{name}.csv")} if with_hierarchies else {} for name in ADULT_TREES}
    quasi: dict[str, Any] = {name: {"kind": "categorical", **tree[name]} for name in ADULT_TREES}
    if not with_hierarchies:
        quasi["age"] = {"kind": "numeric"}
    keys = {
        "k": 6,
        "missing": "category",
        "missing_values": ["?"],
        "identifiers": ADULT_OTHERS,
        "quasi": quasi,
        "sensitive": {
            "occupation": {"distance": "hierarchical", "hierarchy": str(trees / "occupation.csv"), "t": 0.2},
            "education-num": {"distance": "ordered", "t": 0.15},
        },
    }
    spec = {
        "occupation": {"distance": "hierarchical", "paths": read_paths(trees / "occupation.csv")},
        "education-num": {"distance": "ordered"},
    }
    certificate = release_and_count(tmp_path, monkeypatch, data, keys, spec)
    assert certificate["rows"] == 48_842
    assert certificate["missing"] == "category"


@pytest.mark.slow
@pytest.mark.campaign
def test_nist_acs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = shared("nist_acs_2019.csv.gz")
    trees = shared("hierarchies/nist_acs_2019")
    quasi: dict[str, Any] = {
        name: {"kind": "categorical", "hierarchy": str(trees / f"{name}.csv")}
        for name in ("MSP", "RAC1P", "EDU", "PUMA")
    }
    quasi |= {"AGEP": {"kind": "numeric"}, "SEX": {"kind": "categorical"}, "HOUSING_TYPE": {"kind": "categorical"}}
    columns = pl.read_csv(data, infer_schema=False, n_rows=1).columns
    keys = {
        "k": 6,
        "missing": "category",
        "missing_values": ["N"],
        "identifiers": [name for name in columns if name not in (*quasi, "INDP", "PINCP")],
        "quasi": quasi,
        "sensitive": {
            "INDP": {"distance": "hierarchical", "hierarchy": str(trees / "INDP.csv"), "t": 0.5},
            "PINCP": {"distance": "ordered", "t": 0.3},
        },
    }
    spec = {
        "INDP": {"distance": "hierarchical", "paths": read_paths(trees / "INDP.csv")},
        "PINCP": {"distance": "ordered"},
    }
    assert release_and_count(tmp_path, monkeypatch, data, keys, spec)["rows"] == 44_163


@pytest.mark.slow
def test_diabetes_one_row_a_patient(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = shared("diabetes_130.csv.gz")
    trees = shared("hierarchies/diabetes_130")
    quasi = {"race": {"kind": "categorical"}, "gender": {"kind": "categorical"}}
    quasi |= {
        "age": {"kind": "categorical", "hierarchy": str(trees / "age.csv")},
        "payer_code": {"kind": "categorical"},
    }
    frame = pl.read_csv(data, infer_schema=False)
    others = [name for name in frame.columns if name not in (*quasi, "diag_1", "patient_nbr")]
    keys = {
        "k": 5,
        "missing": "category",
        "missing_values": ["?"],
        "identifiers": others,
        "unit": "patient_nbr",
        "quasi": quasi,
        "sensitive": {"diag_1": {"distance": "hierarchical", "hierarchy": str(trees / "diag_1.csv"), "t": 0.4}},
    }
    schema = tmp_path / "schema.toml"
    schema.write_text(tomli_w.dumps(keys))
    refused = ["anonymize", str(data), "-s", str(schema), "-o", str(tmp_path / "release.csv")]
    assert tclose_exits(monkeypatch, refused) == 3
    message = capsys.readouterr().err
    assert "'patient_nbr' is the unit, and its 71518 units have 101766 rows" in message
    assert "Set unit_rows" in message
    assert list(tmp_path.iterdir()) == [schema]
    first = tmp_path / "first.csv"
    frame.unique("patient_nbr", keep="first", maintain_order=True).write_csv(first)
    spec = {"diag_1": {"distance": "hierarchical", "paths": read_paths(trees / "diag_1.csv")}}
    assert release_and_count(tmp_path, monkeypatch, first, keys, spec)["rows"] == 71_518


def test_the_worked_table_of_the_literature() -> None:
    """Salary's known answers: .375 and .1667 for the classes {3, 4, 5} and {6, 8, 11}."""
    frame = pl.read_csv(shared("tcloseness_example.csv"), infer_schema=False)
    group = frame["Salary"].replace_strict({"3": "a", "4": "a", "5": "a", "6": "b", "8": "b", "11": "b"}, default="c")
    report = tclose.assess(
        frame.select("Salary").with_columns(group.alias("class")),
        tclose.Schema.from_dict(
            {
                "k": 1,
                "quasi": {"class": {"kind": "categorical"}},
                "sensitive": {"Salary": {"distance": "ordered"}},
            }
        ),
    )
    distances = report.measured.distances("Salary")
    assert sorted(str(distances.exact(place)) for place in range(3)) == ["1/6", "17/72", "3/8"]
