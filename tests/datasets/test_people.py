"""The synthetic tables have the shape, the skew and the dependences they promise."""

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tclose.datasets import people as datasets
from tclose.datasets.people import CENSUS_SCHEMA, HOSPITAL_SCHEMA, LABS, PROFILES, census, hospital
from tclose.schema.schema import Schema

Maker = Callable[..., tuple[pl.DataFrame, Schema]]

MAKERS = pytest.mark.parametrize("make", [census, hospital])
PREGNANCY = [leaf for group in datasets.DIAGNOSIS_HIERARCHY["Pregnancy"].values() for leaf in group]

# 004 table 5: attribute, cardinality, height of its hierarchy.
TABLE_5 = [
    ("age", 79, 4),
    ("sex", 2, 1),
    ("education", 17, 4),
    ("marital_status", 6, 2),
    ("race", 9, 1),
    ("work_class", 10, 3),
    ("birth_place", 83, 2),
]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return census(200_000, seed=1)[0]


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    return hospital(200_000, seed=1)[0]


def leaf_depths(tree: Any, depth: int = 1) -> dict[str, int]:
    """How far below the root each leaf of a nested mapping lies."""
    if isinstance(tree, list):
        return dict.fromkeys(tree, depth)
    depths: dict[str, int] = {}
    for label, below in tree.items():
        depths |= leaf_depths(below, depth + 1) or {label: depth}
    return depths


def correlation(table: pl.DataFrame, left: str, right: str) -> float:
    return float(np.corrcoef(table[left], table[right])[0, 1])


def mean(table: pl.DataFrame, column: str, *where: pl.Expr | bool) -> float:
    value = table.filter(*where)[column].mean()
    assert isinstance(value, float)
    return value


def median(table: pl.DataFrame, column: str) -> float:
    return float(np.median(table[column]))


@MAKERS
def test_same_seed_same_table(make: Maker) -> None:
    assert_frame_equal(make(500, seed=3)[0], make(500, seed=3)[0])


@MAKERS
def test_another_seed_changes_every_column(make: Maker) -> None:
    left, right = make(500, seed=3)[0], make(500, seed=4)[0]
    assert [name for name in left.columns if left[name].equals(right[name])] == []


@MAKERS
@pytest.mark.parametrize("n", [0, 1, 2])
def test_small_tables_have_the_same_columns_and_types(make: Maker, n: int) -> None:
    table, schema = make(n)
    assert table.height == n
    assert table.schema == make(1000)[0].schema
    assert isinstance(schema, Schema)


@MAKERS
def test_no_value_is_missing(make: Maker) -> None:
    table = make(5000)[0]
    assert sum(table.null_count().row(0)) == 0


@pytest.mark.parametrize(("table", "keys"), [(census(0)[0], CENSUS_SCHEMA), (hospital(0)[0], HOSPITAL_SCHEMA)])
def test_schema_names_every_column_in_order(table: pl.DataFrame, keys: dict[str, Any]) -> None:
    assert [*keys.get("identifiers", []), *keys["quasi"], *keys["sensitive"]] == table.columns


@MAKERS
def test_making_a_table_leaves_the_hierarchies_alone(make: Maker) -> None:
    before = repr((CENSUS_SCHEMA, HOSPITAL_SCHEMA))
    make(10)
    assert repr((CENSUS_SCHEMA, HOSPITAL_SCHEMA)) == before


@pytest.mark.parametrize(("name", "cardinality", "height"), TABLE_5)
def test_census_follows_table_5(people: pl.DataFrame, name: str, cardinality: int, height: int) -> None:
    hierarchy = CENSUS_SCHEMA["quasi"][name]["hierarchy"]
    assert people[name].n_unique() == cardinality
    if "build" in hierarchy:
        assert len(hierarchy["widths"]) + 1 == height
    else:
        assert set(leaf_depths(hierarchy)) == set(people[name])
        assert set(leaf_depths(hierarchy).values()) == {height}


def test_census_numbers_cover_their_ranges(people: pl.DataFrame) -> None:
    assert set(people["age"]) == set(range(17, 96))
    assert set(people["education"]) == set(range(1, 18))
    assert set(people["salary"]) == set(CENSUS_SCHEMA["sensitive"]["salary"]["order"]) == set(range(50))


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [("birth_place", "United-States", 0.8), ("race", "White", 0.7), ("work_class", "Private-for-profit", 0.5)],
)
def test_census_marginals_are_skewed(people: pl.DataFrame, name: str, value: str, least: float) -> None:
    shares = people[name].value_counts(normalize=True, sort=True)
    assert shares[name][0] == value
    assert shares["proportion"][0] > least
    assert shares["proportion"][-1] < 0.02


def test_salary_depends_on_who_earns_it(people: pl.DataFrame) -> None:
    age, sex, work = pl.col("age"), pl.col("sex"), pl.col("work_class")
    young, grown, old = (mean(people, "salary", age.is_between(low, low + 9)) for low in (17, 45, 80))
    assert grown > young + 5
    assert young < old < grown - 1
    assert abs(mean(people, "salary", age.is_between(45, 49)) - mean(people, "salary", age.is_between(55, 59))) < 1
    assert correlation(people, "education", "salary") > 0.3
    assert mean(people, "salary", sex == "Male") > mean(people, "salary", sex == "Female") + 1
    assert (
        mean(people, "salary", work == "Self-employed-incorporated") > mean(people, "salary", work == "Unemployed") + 5
    )
    assert mean(people, "salary") > median(people, "salary") + 1  # a long tail to the right


def test_census_keeps_to_what_is_possible(people: pl.DataFrame) -> None:
    age, education = pl.col("age"), pl.col("education")
    assert people.filter(education == 17, age < 26).is_empty()
    assert people.filter(education == 15, age < 21).is_empty()
    widowed = people.filter(pl.col("marital_status") == "Widowed")
    single = people.filter(pl.col("marital_status") == "Never-married")
    assert mean(widowed, "age") > mean(single, "age") + 25


def test_diagnosis_hierarchy_covers_the_diagnoses(patients: pl.DataFrame) -> None:
    depths = leaf_depths(datasets.DIAGNOSIS_HIERARCHY)
    assert list(depths) == list(PROFILES)
    assert set(depths) == set(patients["diagnosis"])
    assert set(depths.values()) == {3}


def test_impossible_diagnoses_never_occur(patients: pl.DataFrame) -> None:
    age, sex, diagnosis = pl.col("age"), pl.col("sex"), pl.col("diagnosis")
    assert patients.filter(diagnosis == "Prostate cancer", sex == "Female").is_empty()
    assert patients.filter(diagnosis == "Ovarian cancer", sex == "Male").is_empty()
    pregnant = patients.filter(diagnosis.is_in(PREGNANCY))
    assert set(pregnant["sex"]) == {"Female"}
    assert pregnant["age"].is_between(15, 50).all()
    assert patients.filter(diagnosis == "Bronchiolitis", age > 4).is_empty()
    assert patients.filter(diagnosis == "Prostate cancer", age < 40).is_empty()


def test_weight_zero_is_never_drawn() -> None:
    weights = np.array([[0, 0.1, 0, 0.2, 0], [0.7, 0, 0.3, 0, 0], [0, 0, 0, 0, 1]])
    given = np.arange(300_000) % 3
    codes = datasets._draw(np.random.default_rng(0), weights, given)
    counts = np.zeros(weights.shape)
    np.add.at(counts, (given, codes), 1)
    expected = weights / weights.sum(axis=1, keepdims=True)
    assert (counts[weights == 0] == 0).all()
    np.testing.assert_allclose(counts / 100_000, expected, atol=0.01)


def test_patient_ids_are_distinct_and_in_no_order(patients: pl.DataFrame) -> None:
    ids = patients["patient_id"]
    assert ids.n_unique() == patients.height
    assert ids.str.contains(r"^[0-9a-f]{12}$").all()
    places = ids.rank().to_numpy()
    assert abs(np.corrcoef(places, np.arange(len(places)))[0, 1]) < 0.02
    assert abs(np.corrcoef(places[1:], places[:-1])[0, 1]) < 0.02


def test_zips_keep_their_leading_zeros(patients: pl.DataFrame) -> None:
    zips = patients["zip"]
    assert zips.dtype == pl.String
    assert zips.str.contains(r"^\d{5}$").all()
    assert 0.5 < zips.str.starts_with("0").sum() / len(zips) < 1
    assert zips.str.head(3).n_unique() == 40
    assert 300 < zips.n_unique() < 1000
    areas = zips.str.head(3).value_counts(sort=True)["count"]
    assert areas[0] > 20 * areas[-1]


def test_admissions_follow_week_and_season(patients: pl.DataFrame) -> None:
    day, diagnosis = pl.col("admission_date"), pl.col("diagnosis")
    assert patients["admission_date"].is_between(date(2021, 1, 1), date(2023, 12, 31)).all()
    weekend = patients.filter(day.dt.weekday() >= 6).height / patients.height
    assert 0.15 < weekend < 0.25
    winter, summer = day.dt.month().is_in([12, 1, 2]), day.dt.month().is_in([6, 7, 8])
    flu, burns = patients.filter(diagnosis == "Influenza"), patients.filter(diagnosis == "Burn")
    assert flu.filter(winter).height > 2 * flu.filter(summer).height
    assert burns.filter(summer).height > burns.filter(winter).height


def test_hospital_marginals_are_skewed(patients: pl.DataFrame) -> None:
    ethnicities = patients["ethnicity"].value_counts(normalize=True, sort=True)
    assert ethnicities.height == 6
    assert ethnicities["proportion"][0] > 0.5 > 0.02 > ethnicities["proportion"][-1]
    assert patients["age"].min() == 0
    assert patients["age"].max() == 100
    assert mean(patients, "age") < 65 < median(patients, "age")
    for name in ("length_of_stay", "charge", "crp", "creatinine", "glucose"):
        assert mean(patients, name) > median(patients, name)


@pytest.mark.parametrize(
    ("left", "right", "sign"),
    [
        ("glucose", "creatinine", 1),
        ("crp", "hemoglobin", -1),
        ("crp", "sodium", -1),
        ("creatinine", "hemoglobin", -1),
        ("age", "creatinine", 1),
        ("age", "length_of_stay", 1),
        ("crp", "length_of_stay", 1),
        ("length_of_stay", "charge", 1),
    ],
)
def test_hospital_correlations_have_their_signs(patients: pl.DataFrame, left: str, right: str, sign: int) -> None:
    assert sign * correlation(patients, left, right) > 0.1


def test_labs_follow_the_diagnosis(patients: pl.DataFrame) -> None:
    diagnosis, sex = pl.col("diagnosis"), pl.col("sex")
    assert mean(patients, "glucose", diagnosis == "Type 2 diabetes") > 1.5 * mean(patients, "glucose")
    assert mean(patients, "creatinine", diagnosis == "Chronic kidney disease") > 2 * mean(patients, "creatinine")
    assert mean(patients, "crp", diagnosis == "Pneumonia") > 2 * mean(patients, "crp", diagnosis == "Concussion")
    assert mean(patients, "hemoglobin", sex == "Male") > mean(patients, "hemoglobin", sex == "Female")


@pytest.mark.parametrize("name", LABS)
def test_labs_are_printed_as_a_laboratory_prints_them(patients: pl.DataFrame, name: str) -> None:
    lab = LABS[name]
    assert patients[name].dtype == pl.Float64
    assert patients[name].is_between(lab.low, lab.high).all()
    assert patients[name].round(lab.decimals).equals(patients[name])
    assert patients[name].value_counts(sort=True)["count"][0] < patients.height / 5


def test_stays_and_charges_are_positive_integers(patients: pl.DataFrame) -> None:
    for name in ("length_of_stay", "charge"):
        assert patients[name].dtype == pl.Int64
        assert (patients[name] > 0).all()
