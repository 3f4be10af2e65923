"""Synthetic microdata of any size: a census and a hospital.

Both makers draw one column after the other, each given those before it, so that the
tables have what makes anonymization hard: skewed marginals, rare combinations, and
sensitive values that depend on the quasi-identifiers. No row describes a real person.
"""

from datetime import date
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.schema.schema import Schema

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]

SEX_HIERARCHY: dict[str, list[str]] = {"Female": [], "Male": []}

MARITAL_STATUS_HIERARCHY = {
    "Married": ["Married-spouse-present", "Married-spouse-absent", "Separated"],
    "Not-married": ["Never-married", "Divorced", "Widowed"],
}

RACES = ["White", "Black", "American-Indian", "Chinese", "Japanese", "Other-Asian-or-Pacific"]
RACES += ["Other-race", "Two-races", "Three-or-more-races"]
RACE_HIERARCHY: dict[str, list[str]] = {race: [] for race in RACES}

WORK_CLASS_HIERARCHY = {
    "Employee": {
        "Private": ["Private-for-profit", "Private-non-profit"],
        "Government": ["Federal-government", "State-government", "Local-government"],
    },
    "Not-employee": {
        "Own-account": ["Self-employed-incorporated", "Self-employed-unincorporated", "Unpaid-family-worker"],
        "Without-work": ["Unemployed", "Never-worked"],
    },
}

# Within a region the countries stand from common to rare.
COUNTRIES = {
    "North-America": "United-States Mexico Canada",
    "Central-America": "El-Salvador Guatemala Honduras Nicaragua Panama Costa-Rica",
    "Caribbean": "Cuba Dominican-Republic Jamaica Haiti Trinidad-and-Tobago Barbados Bahamas Grenada",
    "South-America": "Colombia Ecuador Peru Brazil Venezuela Guyana Argentina Chile Bolivia Uruguay",
    "Western-Europe": "Germany United-Kingdom Italy Portugal France Ireland Greece Netherlands Spain Sweden",
    "Eastern-Europe": "Poland Russia Ukraine Romania Hungary Bulgaria Lithuania Albania",
    "East-Asia": "China South-Korea Taiwan Japan",
    "Southeast-Asia": "Philippines Vietnam Thailand Laos Cambodia Indonesia Malaysia Myanmar Singapore",
    "South-Asia": "India Pakistan Bangladesh Nepal Sri-Lanka Afghanistan",
    "Middle-East": "Iran Iraq Israel Lebanon Syria Turkey Jordan Saudi-Arabia",
    "Africa": "Nigeria Ethiopia Egypt Ghana Kenya Somalia South-Africa Liberia Morocco",
    "Oceania": "Australia New-Zealand",
}
BIRTH_PLACE_HIERARCHY = {region: names.split() for region, names in COUNTRIES.items()}

ETHNICITIES = ["White", "Hispanic", "Black", "Asian", "Native-American", "Other"]
ETHNICITY_HIERARCHY: dict[str, list[str]] = {ethnicity: [] for ethnicity in ETHNICITIES}

# Chapter, group, diagnosis; `PROFILES` keeps the same order.
DIAGNOSIS_HIERARCHY = {
    "Circulatory": {"Heart": ["Myocardial infarction", "Heart failure"], "Vessel": ["Stroke", "Pulmonary embolism"]},
    "Respiratory": {"Lung infection": ["Pneumonia", "Influenza", "Bronchiolitis"], "Airway": ["COPD", "Asthma"]},
    "Digestive": {"Abdomen": ["Appendicitis", "Gallstones"], "Liver or pancreas": ["Cirrhosis", "Pancreatitis"]},
    "Neoplasm": {
        "Reproductive organ": ["Prostate cancer", "Breast cancer", "Ovarian cancer"],
        "Other organ": ["Lung cancer", "Colorectal cancer"],
    },
    "Metabolic": {
        "Diabetes": ["Type 1 diabetes", "Type 2 diabetes"],
        "Kidney": ["Acute kidney injury", "Chronic kidney disease"],
    },
    "Injury": {"Fracture": ["Hip fracture", "Forearm fracture"], "Other injury": ["Concussion", "Burn"]},
    "Pregnancy": {
        "Delivery": ["Vaginal delivery", "Cesarean delivery"],
        "Complication": ["Preeclampsia", "Hyperemesis"],
    },
    "Mental": {
        "Mood": ["Major depression", "Bipolar disorder"],
        "Psychosis or substance": ["Schizophrenia", "Alcohol withdrawal"],
    },
}


class Profile(NamedTuple):
    """Whom a diagnosis strikes, what it costs, and how it moves the laboratory."""

    weight: float
    peak: float  # the most usual age, and the spread around it
    spread: float
    youngest: int
    oldest: int
    women: float  # share of women where both sexes are as many
    days: float  # median stay of a patient of 50
    daily: float  # dollars a day
    shifts: tuple[float, ...]  # one a laboratory value, in standard deviations


class LabValue(NamedTuple):
    """How a laboratory value is distributed and printed."""

    center: float
    spread: float
    logarithmic: bool
    severity: float  # correlation with how ill the patient is
    aging: float  # standard deviations a year
    decimals: int
    low: float
    high: float


LABS = {
    "glucose": LabValue(106, 0.20, True, 0.5, 0.006, 0, 35, 900),
    "creatinine": LabValue(0.90, 0.28, True, 0.5, 0.015, 2, 0.15, 15),
    "hemoglobin": LabValue(13.4, 1.4, False, -0.5, -0.012, 1, 4, 20),
    "sodium": LabValue(139, 3.0, False, -0.4, -0.005, 0, 112, 165),
    "crp": LabValue(6, 0.85, True, 0.65, 0.004, 1, 0.1, 480),
}

PROFILES = {
    "Myocardial infarction": Profile(7, 70, 13, 25, 120, 0.36, 4, 5200, (0.8, 0.5, 0, 0, 1)),
    "Heart failure": Profile(11, 80, 11, 20, 120, 0.48, 5, 2600, (0.4, 1.2, -0.6, -0.8, 0.7)),
    "Stroke": Profile(7, 76, 12, 18, 120, 0.5, 5, 3400, (0.6, 0.2, 0, 0, 0.5)),
    "Pulmonary embolism": Profile(2, 65, 17, 16, 120, 0.52, 4, 2900, (0.2, 0.1, 0, 0, 1.4)),
    "Pneumonia": Profile(8, 74, 24, 0, 120, 0.48, 5, 2300, (0.4, 0.3, -0.3, -0.6, 2.6)),
    "Influenza": Profile(3, 60, 32, 0, 120, 0.5, 3, 1900, (0.1, 0.1, 0, -0.3, 1.6)),
    "Bronchiolitis": Profile(30, 0, 1.2, 0, 4, 0.42, 2, 2100, (0, -1.5, -0.8, -0.2, 0.7)),
    "COPD": Profile(6, 72, 10, 35, 120, 0.5, 4, 1900, (0.4, 0, 0.4, -0.2, 0.9)),
    "Asthma": Profile(2.5, 12, 18, 2, 120, 0.52, 2, 1800, (0.2, -0.2, 0, 0, 0.2)),
    "Appendicitis": Profile(3, 22, 15, 2, 120, 0.45, 2, 6100, (0.1, 0, 0, -0.1, 2.1)),
    "Gallstones": Profile(4, 55, 18, 10, 120, 0.64, 2, 5400, (0.2, 0, 0, 0, 1.2)),
    "Cirrhosis": Profile(2.5, 58, 11, 20, 120, 0.35, 5, 2500, (0.2, 0.4, -1.6, -1.4, 0.7)),
    "Pancreatitis": Profile(2.5, 52, 17, 8, 120, 0.45, 4, 2400, (1, 0.3, 0, -0.3, 2.2)),
    "Prostate cancer": Profile(4, 69, 8, 40, 120, 0, 2, 7800, (0, 0.2, -0.5, 0, 0.1)),
    "Breast cancer": Profile(3, 62, 13, 22, 120, 0.99, 2, 6900, (0, 0, -0.4, 0, 0.1)),
    "Ovarian cancer": Profile(1.2, 62, 13, 18, 120, 1, 5, 4600, (0, 0, -0.9, -0.2, 0.9)),
    "Lung cancer": Profile(2.5, 70, 9, 30, 120, 0.48, 6, 3600, (0.1, 0, -1, -0.9, 1.3)),
    "Colorectal cancer": Profile(3, 70, 12, 20, 120, 0.46, 6, 4300, (0.1, 0, -1.5, 0, 0.8)),
    "Type 1 diabetes": Profile(2, 18, 14, 1, 90, 0.48, 3, 2200, (5, 0.3, 0, -1.2, 0.2)),
    "Type 2 diabetes": Profile(4, 64, 14, 14, 120, 0.46, 4, 1900, (4, 0.7, -0.2, -0.5, 0.4)),
    "Acute kidney injury": Profile(5, 74, 15, 1, 120, 0.47, 5, 2200, (0.3, 4, -0.6, -0.4, 1)),
    "Chronic kidney disease": Profile(3, 70, 14, 5, 120, 0.47, 4, 2700, (0.4, 5, -1.7, 0, 0.4)),
    "Hip fracture": Profile(7, 84, 9, 30, 120, 0.72, 5, 5200, (0.2, 0.2, -1.2, -0.2, 1.3)),
    "Forearm fracture": Profile(3, 11, 14, 1, 120, 0.42, 1, 5600, (0, -0.2, 0, 0, 0.1)),
    "Concussion": Profile(2, 20, 20, 0, 120, 0.38, 1, 2600, (0.2, 0, 0, 0, 0)),
    "Burn": Profile(1, 30, 24, 0, 120, 0.36, 7, 4400, (0.5, 0, -0.4, -0.4, 1.8)),
    "Vaginal delivery": Profile(26, 29, 5.5, 15, 50, 1, 2, 4100, (-0.6, -1, -1, -0.4, 0.8)),
    "Cesarean delivery": Profile(12, 31, 5.5, 15, 50, 1, 3, 5200, (-0.4, -1, -1.4, -0.4, 1.8)),
    "Preeclampsia": Profile(2.2, 30, 7, 15, 50, 1, 4, 3300, (-0.2, 0.2, -0.5, -0.4, 0.8)),
    "Hyperemesis": Profile(1, 26, 6, 15, 50, 1, 2, 1700, (-0.7, -0.6, 0.1, -0.9, 0)),
    "Major depression": Profile(4, 38, 20, 8, 120, 0.6, 7, 1200, (0, 0, 0, 0, 0.1)),
    "Bipolar disorder": Profile(2.5, 38, 15, 12, 120, 0.54, 9, 1200, (0.1, 0, 0, 0, 0.1)),
    "Schizophrenia": Profile(2.5, 36, 14, 14, 120, 0.36, 11, 1150, (0.3, 0, 0, -0.4, 0.1)),
    "Alcohol withdrawal": Profile(3, 47, 12, 16, 90, 0.26, 4, 1600, (0, -0.2, -0.4, -0.9, 0.3)),
}

CENSUS_SCHEMA: dict[str, Any] = {
    "k": 6,
    "quasi": {
        "age": {"kind": "numeric", "hierarchy": {"build": "intervals", "widths": [5, 10, 20], "origin": 15}},
        "sex": {"kind": "categorical", "hierarchy": SEX_HIERARCHY},
        "education": {"kind": "numeric", "hierarchy": {"build": "intervals", "widths": [3, 6, 12], "origin": 0}},
        "marital_status": {"kind": "categorical", "hierarchy": MARITAL_STATUS_HIERARCHY},
        "race": {"kind": "categorical", "hierarchy": RACE_HIERARCHY},
        "work_class": {"kind": "categorical", "hierarchy": WORK_CLASS_HIERARCHY},
        "birth_place": {"kind": "categorical", "hierarchy": BIRTH_PLACE_HIERARCHY},
    },
    "sensitive": {"salary": {"distance": "ordered", "order": list(range(50)), "t": 0.2}},
}

HOSPITAL_SCHEMA: dict[str, Any] = {
    "k": 5,
    "identifiers": ["patient_id"],
    "quasi": {
        "age": {"kind": "numeric", "step": 5, "top": 90},
        "sex": {"kind": "categorical", "hierarchy": SEX_HIERARCHY},
        "zip": {"kind": "text"},
        "admission_date": {"kind": "date", "step": "month"},
        "ethnicity": {"kind": "categorical", "hierarchy": ETHNICITY_HIERARCHY},
    },
    "sensitive": {
        "diagnosis": {"distance": "hierarchical", "hierarchy": DIAGNOSIS_HIERARCHY, "t": 0.3},
        **{lab: {"distance": "ordered", "bins": 10, "t": 0.35} for lab in LABS},
        "length_of_stay": {"distance": "ordered", "t": 0.25},
        "charge": {"distance": "ordered", "bins": 20, "t": 0.25},
    },
}

FIRST_DAY = date(2021, 1, 1)
N_DAYS = 3 * 365
ZIP_AREAS = [f"{area:03d}" for area in (*range(10, 30), *range(60, 70), *range(100, 110))]


def census(n: int, seed: int = 0) -> tuple[pl.DataFrame, Schema]:
    """Make a census of `n` people, with the attributes of the CENSUS table of the SABRE paper.

    Seven quasi-identifiers with the cardinalities and hierarchy heights of that table, and
    the sensitive `salary` in 50 bands, which depends on age, education, sex and work class.

    Parameters
    ----------
    n
        Number of rows.
    seed
        The same `n` and `seed` give the same table.

    References
    ----------
    J. Cao, P. Karras, P. Kalnis, K.-L. Tan. SABRE: a Sensitive Attribute Bucketization and
    REdistribution framework for t-closeness. VLDB Journal 20, 2011, table 5.

    Examples
    --------
    >>> table, schema = census(1000, seed=7)
    >>> table.shape
    (1000, 8)
    >>> table["salary"].is_between(0, 49).all()
    True
    """
    rng = np.random.default_rng(seed)
    anyone = np.zeros(n, dtype=np.int64)
    ages = np.arange(17, 96)
    sex = _draw(rng, np.array([[0.51, 0.49]]), anyone)
    age = _draw(rng, 1 / (1 + np.exp((ages[None] - 62) / 11)) + 0.002, anyone)
    race = _draw(rng, np.array([[745, 115, 8, 13, 5, 40, 50, 19, 5]]), anyone)
    birth_place = _draw(rng, _birth_place_weights(), race)
    education = _draw(rng, _education_weights(ages), age)
    marital_status = _draw(rng, _marital_status_weights(ages), sex * len(ages) + age)
    schooling = np.searchsorted([9, 14], education)
    work_class = _draw(rng, _work_class_weights(ages), schooling * len(ages) + age)

    career = np.interp(ages, [17, 25, 35, 45, 60, 75, 95], [-0.9, -0.3, 0, 0.12, 0.12, -0.2, -0.4])
    premium = np.array([0.05, -0.05, 0.15, 0, -0.02, 0.3, -0.15, -0.9, -1.1, -1.7])
    level = 2.35 + career[age] + 0.09 * (education - 9) + 0.2 * sex + premium[work_class]
    salary = np.exp(level + 0.5 * rng.standard_normal(n)).astype(np.int64).clip(0, 49)

    table = pl.DataFrame(
        {
            "age": ages[age],
            "sex": _label(SEX_HIERARCHY, sex),
            "education": education + 1,
            "marital_status": _label(MARITAL_STATUS_HIERARCHY, marital_status),
            "race": _label(RACE_HIERARCHY, race),
            "work_class": _label(WORK_CLASS_HIERARCHY, work_class),
            "birth_place": _label(BIRTH_PLACE_HIERARCHY, birth_place),
            "salary": salary,
        }
    )
    return table, Schema.from_dict(CENSUS_SCHEMA)


def hospital(n: int, seed: int = 0) -> tuple[pl.DataFrame, Schema]:
    """Make `n` admissions to a hospital, one a patient, with several sensitive attributes.

    The diagnosis depends on age and sex; laboratory values, length of stay and charge depend
    on the diagnosis, on age, and together on how ill the patient is. `patient_id` is unique.

    Parameters
    ----------
    n
        Number of rows.
    seed
        The same `n` and `seed` give the same table.

    Examples
    --------
    >>> table, schema = hospital(1000, seed=7)
    >>> table["patient_id"].n_unique()
    1000
    >>> table["zip"].str.len_chars().unique().to_list()
    [5]
    """
    rng = np.random.default_rng(seed)
    anyone = np.zeros(n, dtype=np.int64)
    ages = np.arange(101)
    sex = _draw(rng, np.array([[0.54, 0.46]]), anyone)
    age = _draw(rng, _patient_weights(ages), sex)
    zips, zip_weights, urban = _zips()
    home = _draw(rng, zip_weights[None], anyone)
    ethnicity = _draw(rng, np.array([[82, 8, 4, 3, 1, 2], [48, 22, 17, 9, 0.5, 3.5]]), urban[home])
    diagnosis = _draw(rng, _diagnosis_weights(ages), sex * len(ages) + age)
    day = _draw(rng, _day_weights(), _chapters()[diagnosis])

    severity = rng.standard_normal(n)
    days = np.array([profile.days for profile in PROFILES.values()])[diagnosis]
    daily = np.array([profile.daily for profile in PROFILES.values()])[diagnosis]
    spread = 0.006 * (age - 50) + 0.3 * severity + 0.45 * rng.standard_normal(n)
    stay = np.rint(days * np.exp(spread)).clip(1, 180)
    charge = np.rint((1500 + daily * stay) * np.exp(0.25 * rng.standard_normal(n)))

    table = pl.DataFrame(
        {
            "patient_id": _identifiers(rng, n),
            "age": age,
            "sex": _label(SEX_HIERARCHY, sex),
            "zip": _label(zips, home),
            "admission_date": np.datetime64(FIRST_DAY, "D") + day,
            "ethnicity": _label(ETHNICITY_HIERARCHY, ethnicity),
            "diagnosis": _label(DIAGNOSIS_HIERARCHY, diagnosis),
            **_labs(rng, severity, age, sex, diagnosis),
            "length_of_stay": stay.astype(np.int64),
            "charge": charge.astype(np.int64),
        }
    )
    return table, Schema.from_dict(HOSPITAL_SCHEMA)


def _draw(rng: np.random.Generator, weights: NDArray[Any], given: Codes) -> Codes:
    """Draw a column of `weights` for each row number in `given`, in proportion to that row.

    The rows' cumulative shares, row r shifted by r, make one ascending array: a single search
    for r + u serves all rows. u has 24 bits, so r + u is exact and never reaches r + 1, and
    dividing by the last sum makes the shares end in exactly 1: weight 0 is never drawn.
    """
    shares = np.cumsum(weights, axis=1, dtype=np.float64)
    shares /= shares[:, -1:]
    n_rows, n_columns = shares.shape
    ascending = (shares + np.arange(n_rows)[:, None]).ravel()
    drawn = rng.random(len(given), dtype=np.float32) + given
    codes: Codes = np.searchsorted(ascending, drawn, side="right") - given * n_columns
    return codes


def _leaves(hierarchy: Any) -> list[str]:
    """The leaf labels of a nested mapping, from first to last."""
    if isinstance(hierarchy, list):
        return hierarchy
    return [leaf for label, below in hierarchy.items() for leaf in _leaves(below) or [label]]


def _label(hierarchy: Any, codes: Codes) -> pl.Series:
    return pl.Series(_leaves(hierarchy), dtype=pl.String).gather(codes.astype(np.uint32))


def _bump(values: NDArray[Any], peak: float, spread: float) -> Floats:
    return np.exp(-0.5 * ((values - peak) / spread) ** 2)


def _birth_place_weights() -> Floats:
    """By race: natives, then regions in their order, and countries as 1 / rank within them."""
    natives = np.array([0.92, 0.9, 0.97, 0.68, 0.8, 0.33, 0.55, 0.88, 0.93])
    regions = np.array(
        [
            [30, 6, 5, 7, 25, 14, 0.2, 0.3, 0.3, 8, 1, 3],  # White
            [2, 2, 50, 4, 2, 0.2, 0.1, 0.1, 0.2, 0.3, 38, 0.2],  # Black
            [61, 16, 8, 10, 1, 0.2, 0.3, 0.5, 0.5, 1, 0.5, 0.3],  # American-Indian, Other-race
            [5, 1, 2, 8, 4, 1, 50, 22, 2, 0.5, 1, 4],  # Chinese, Japanese
            [1, 0.1, 1, 1, 1, 0.1, 18, 45, 30, 1, 0.5, 1.5],  # Other-Asian-or-Pacific
            [20, 8, 20, 12, 10, 3, 6, 9, 3, 4, 4, 2],  # Two-races, Three-or-more-races
        ]
    )[[0, 1, 2, 3, 3, 4, 2, 5, 5]]
    countries = [1 / np.arange(1, 1 + len(names)) for names in BIRTH_PLACE_HIERARCHY.values()]
    countries[0][0] = 0  # the United States are given by `natives`
    ranks = np.concatenate([weights / weights.sum() for weights in countries])
    abroad = np.repeat(regions / regions.sum(axis=1, keepdims=True), [*map(len, countries)], axis=1)
    weights: Floats = (1 - natives)[:, None] * abroad * ranks
    weights[:, 0] = natives
    for race, home in (("Chinese", "China"), ("Japanese", "Japan")):
        weights[RACES.index(race), _leaves(BIRTH_PLACE_HIERARCHY).index(home)] += 0.8
    return weights


def _education_weights(ages: Codes) -> Floats:
    """By age: later generations went to school for longer; degrees come at an earliest age."""
    usual = np.array([4.0, 3, 6, 12, 20, 18, 22, 25, 30, 270, 40, 190, 50, 50, 190, 85, 20])
    earliest = np.array([*[17] * 11, 18, 20, 20, 21, 23, 26])
    trend = np.exp(0.0018 * np.outer(45 - ages, np.arange(17) - 9))
    weights: Floats = usual * trend * (ages[:, None] >= earliest)
    return weights


def _marital_status_weights(ages: Codes) -> Floats:
    """By sex and age: marriage comes with age, and women are widowed more often."""
    never = 0.06 + 0.94 / (1 + np.exp((ages - 27) / 5)) + np.zeros((2, 1))
    widowed = (1 - never) * np.outer([0.8, 0.45], 1 / (1 + np.exp((76 - ages) / 7)))
    rest = 1 - never - widowed
    return np.stack([0.79 * rest, 0.03 * rest, 0.03 * rest, never, 0.15 * rest, widowed], axis=-1).reshape(-1, 6)


def _work_class_weights(ages: Codes) -> Floats:
    """By schooling and age: degrees lead to public service, age to a business of one's own."""
    usual = np.array([590, 65, 28, 45, 65, 30, 70, 6, 45, 6])
    schooling = np.array(
        [
            [1.1, 0.4, 0.3, 0.4, 0.5, 0.5, 1.2, 2, 2, 4],
            [1, 0.9, 1, 0.9, 0.9, 0.9, 1, 1, 1, 1],
            [0.8, 2, 1.5, 1.9, 2, 1.7, 0.9, 0.5, 0.5, 0.3],
        ]
    )
    aging = np.ones((len(ages), 10))
    aging[:, 5:7] = np.exp(0.025 * (ages - 45))[:, None]
    aging[:, 9] = 0.3 + 12 * np.exp((17 - ages) / 3)
    weights: Floats = usual * schooling[:, None] * aging
    return weights.reshape(-1, 10)


def _patient_weights(ages: Codes) -> Floats:
    """By sex: infants, mothers, and above all the old."""
    old = [_bump(ages, 76, 15), _bump(ages, 72, 14)]
    mothers = np.outer([0.45, 0], _bump(ages, 30, 6.5))
    weights: Floats = np.array(old) + mothers + 0.16 + 0.5 * np.exp(-ages / 1.5) - 0.0014 * ages
    return weights


def _diagnosis_weights(ages: Codes) -> Floats:
    """By sex and age; 0 where a diagnosis is impossible."""
    weights = np.empty((2, len(ages), len(PROFILES)))
    for column, profile in enumerate(PROFILES.values()):
        possible = (ages >= profile.youngest) & (ages <= profile.oldest)
        risk = profile.weight * _bump(ages, profile.peak, profile.spread) * possible
        weights[:, :, column] = np.outer([profile.women, 1 - profile.women], risk)
    return weights.reshape(-1, len(PROFILES))


def _chapters() -> Codes:
    """The number of the chapter of each diagnosis."""
    sizes = [len(_leaves(chapter)) for chapter in DIAGNOSIS_HIERARCHY.values()]
    return np.repeat(np.arange(len(sizes)), sizes)


def _day_weights() -> Floats:
    """By chapter: few admissions at weekends, more lung disease in winter and injuries in summer."""
    swing = np.array([0.1, 0.65, 0, 0, 0, -0.35, 0, 0])
    day = np.arange(N_DAYS)
    week = np.array([1.15, 1.12, 1.08, 1.05, 1.05, 0.75, 0.7])[(day + FIRST_DAY.weekday()) % 7]
    weights: Floats = week * (1 + np.outer(swing, np.cos(2 * np.pi * (day - 20) / 365.25)))
    return weights


def _zips() -> tuple[list[str], Floats, Codes]:
    """The zip codes, how many patients live in each, and whether the area is urban (1 or 0)."""
    n_areas = len(ZIP_AREAS)
    rank = 1 + np.arange(n_areas) * 7 % n_areas  # 7 is prime to 40: a permutation
    sizes = np.rint(40 / np.sqrt(rank)).astype(np.int64)
    places = [np.arange(size) for size in sizes]
    zips = [f"{area}{(1 + 37 * j) % 100:02d}" for area, js in zip(ZIP_AREAS, places, strict=True) for j in js]
    weights = np.repeat(1 / rank**0.8, sizes) / (1 + np.concatenate(places)) ** 0.6
    return zips, weights, np.repeat(rank <= 8, sizes).astype(np.int64)


def _identifiers(rng: np.random.Generator, n: int) -> pl.Series:
    """Distinct texts of 12 hexadecimal digits in no order.

    Multiplying by an odd number modulo 2^48 and folding the high half onto the low one can
    both be undone, so that numbers that differ stay different.
    """
    numbers = np.arange(n, dtype=np.uint64) + rng.integers(2**48, dtype=np.uint64)
    for odd in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9):
        numbers = numbers * np.uint64(odd) & np.uint64(2**48 - 1)
        numbers ^= numbers >> np.uint64(24)
    digits = pl.Series([f"{number:04x}" for number in range(2**16)])
    parts = [numbers >> np.uint64(shift) & np.uint64(0xFFFF) for shift in (32, 16, 0)]
    texts = [digits.gather(part.astype(np.uint32)) for part in parts]
    return pl.select(pl.concat_str(texts)).to_series()


def _labs(rng: np.random.Generator, severity: Floats, age: Codes, sex: Codes, diagnosis: Codes) -> dict[str, Floats]:
    """The laboratory values: one common factor, `severity`, and noise of their own."""
    columns: dict[str, Floats] = {}
    shifts = np.array([profile.shifts for profile in PROFILES.values()])
    for (name, lab), shift in zip(LABS.items(), shifts.T, strict=True):
        own = np.sqrt(1 - lab.severity**2) * rng.standard_normal(len(age))
        score = shift[diagnosis] + lab.severity * severity + own + lab.aging * (age - 50)
        if name == "hemoglobin":
            score += 0.9 * sex
        score *= lab.spread
        values = lab.center * np.exp(score) if lab.logarithmic else lab.center + score
        columns[name] = np.round(values.clip(lab.low, lab.high), lab.decimals)
    return columns
