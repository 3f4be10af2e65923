"""Guesses: roles by names and values in four languages, order only with evidence, and steps that suit."""

from __future__ import annotations

from collections import Counter
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.table.proposing import column_evidence
from tclose.table.proposing.column_topics import Topic
from tclose.table.proposing.guesses import RISE, ColumnGuess
from tclose.table.proposing.table_proposal import TableProposal
from tclose.table.source import read

N = 200
RNG = np.random.default_rng(9)
WORDS = ["anna", "ben", "cem", "dora", "eva", "finn"]


def guess_of(name: str, values: Any) -> ColumnGuess:
    return TableProposal.of(read(pl.DataFrame({name: values})), "table").guesses[name]


def texts(n: int) -> list[str]:
    return [f"{WORDS[row % 6]} {row // 6}" for row in range(n)]


FEW = [f"v{row % 4}" for row in range(N)]
CODES = [int(code) for code in RNG.integers(1, 6, N)]
AGES = [int(age) for age in RNG.integers(18, 90, N)]
REPEATED = [100_000 + row // 3 for row in range(N)]
PROSE = [f"Patient {row} came in on Monday and complained about pain in the left knee." for row in range(N)]
DAYS = [date(1950, 1, 1) + timedelta(days=int(day)) for day in RNG.integers(0, 20_000, N)]

ROLES: list[tuple[str, Any, str]] = [
    # who it is
    *((name, texts(N), "identifier") for name in ("name", "Vorname", "nom", "prénom", "nombre", "apellidos")),
    *(
        (name, texts(N // 2) * 2, "identifier")
        for name in ("Nachname", "last_name", "street", "Straße", "calle", "rue")
    ),
    ("contact", [f"p{row % 90}@example.org" for row in range(N)], "identifier"),
    ("source", [f"10.0.0.{row % 50}" for row in range(N)], "identifier"),
    ("link", [f"https://example.org/{row % 50}" for row in range(N)], "identifier"),
    ("remarks_in_full", PROSE, "identifier"),
    ("encounter_id", [int(each) for each in RNG.permutation(N) + 500_000], "identifier"),
    ("row", list(range(N)), "identifier"),
    ("kundennummer", [f"K{row:05}" for row in range(N)], "identifier"),
    ("product_id", [row % 80 for row in range(N)], "identifier"),
    ("nested", [[1]] * N, "identifier"),
    ("nothing", [None] * N, "identifier"),
    # whose row it is
    *((name, REPEATED, "unit") for name in ("patient_nbr", "PatientID", "subject_id", "kunde_nr", "paciente_id")),
    ("patient", [f"P{row // 2}" for row in range(N)], "unit"),
    # what others may know
    *((name, AGES, "quasi") for name in ("age", "Alter", "edad", "âge", "AGEP")),
    *((name, FEW, "quasi") for name in ("sex", "Geschlecht", "sexe", "sexo", "gender", "race", "Familienstand")),
    *((name, [f"{code:05}" for code in CODES], "quasi") for name in ("zip", "PLZ", "code_postal", "códigoPostal")),
    *((name, DAYS, "quasi") for name in ("dob", "Geburtsdatum", "date_de_naissance", "fecha_nacimiento", "visited")),
    # what nobody may learn
    *(
        (name, FEW, "sensitive")
        for name in ("diagnosis", "Diagnose", "diagnostic", "diagnóstico", "disease", "religion")
    ),
    *((name, FEW, "sensitive") for name in ("Krankheit", "maladie", "enfermedad", "hiv_status", "political_party")),
    *((name, [value * 100 for value in AGES], "sensitive") for name in ("income", "Gehalt", "salaire", "salario")),
    ("x17", [value / 7 for value in AGES], "sensitive"),
    # nobody knows
    ("cp", CODES, "open"),
    ("thing", FEW, "open"),
    ("phone_service", ["yes", "no"] * 100, "open"),
]


@pytest.mark.parametrize(("name", "values", "role"), ROLES, ids=[f"{name} {role}" for name, _, role in ROLES])
def test_roles(name: str, values: Any, role: str) -> None:
    found = guess_of(name, values)
    assert found.role == role, found.reason
    assert found.reason


def test_a_column_of_few_names_says_why_it_is_open() -> None:
    """The laws name it, so nothing would be wrong to say."""
    found = guess_of("Name", ["Smith", "Jones", "Brown"] * 100)
    assert found.role == "open"
    assert found.reason == "its name says that it is a name, but it has few values (3 distinct)"
    assert found.laws == ("HIPAA: names",)


ORDERS: list[tuple[str, Any, bool]] = [
    *((name, CODES, False) for name in ("cp", "restecg", "admission_type_id", "RAC1P", "grade_code", "target")),
    *((name, [0, 1] * 100, False) for name in ("exang", "x")),
    *((name, [int(code) for code in RNG.integers(1, 60, N)], False) for name in ("occupation", "state_cd")),
    ("INDP", [int(code) * 37 for code in RNG.integers(1, 200, N)], False),
    *((name, CODES, True) for name in ("num_visits", "number_of_children", "Anzahl Besuche", "time_in_hospital")),
    ("thalach", [int(value) for value in RNG.normal(140, 25, 900)], True),  # by how often neighbours occur
    ("any", [int(value) for value in RNG.permutation(70).repeat(RNG.integers(1, 40, 70))], False),
    ("many", [int(value) ** 2 for value in RNG.integers(1, 10_000, N)], True),  # measured: nearly all differ
    ("oldpeak", [value / 10 for value in CODES], True),
    ("seen", DAYS, True),
]


@pytest.mark.parametrize(("name", "values", "ordered"), ORDERS, ids=[f"{name} {is_so}" for name, _, is_so in ORDERS])
def test_numbers_have_an_order_only_where_something_says_so(name: str, values: Any, ordered: bool) -> None:
    found = guess_of(name, values)
    assert found.is_ordered == ordered
    assert found.sensitive is not None
    assert found.sensitive["distance"] == ("ordered" if ordered else "equal")


@pytest.mark.parametrize("name", ["age", "cp", "income", "x", "seen", "lab"])
@pytest.mark.parametrize("seed", range(3))
def test_the_proposed_t_keeps_every_belief_within_the_rise(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {
        "age": rng.integers(0, 90, N), "cp": rng.integers(1, 5, N), "income": rng.exponential(1000, N).round(),
        "x": rng.choice(["a", "b"], N), "seen": [date(2020, 1, 1 + int(day)) for day in rng.integers(0, 28, N)],
        "lab": [None if row % 9 == 0 else float(row % 31) / 4 for row in range(N)],
    }  # fmt: skip
    found = guess_of(name, values[name])
    assert found.sensitive is not None
    t = found.sensitive["t"]
    assert 0 < found.points(t) <= 100 * RISE
    if found.sensitive["distance"] == "equal":
        assert t == Decimal("0.2")
        assert found.points(t) == 20
    else:
        assert found.points(t * Decimal("1.5")) > 100 * RISE * Fraction(9, 10)  # and is not much too small


@pytest.mark.parametrize(
    ("name", "values", "keys"),
    [
        ("age", list(range(18, 90)), {"kind": "numeric", "step": 5}),
        ("age", [value / 2 for value in range(36, 180)], {"kind": "numeric", "step": 5}),
        ("age", list(range(18)) * 5 + [18, 19, 20, 21], {"kind": "numeric", "step": 2}),
        ("size", list(range(150, 200)), {"kind": "numeric", "step": 2}),
        ("score", [value / 10 for value in range(100)], {"kind": "numeric", "step": Decimal("0.2")}),
        ("score", list(range(25)), {"kind": "numeric", "step": 1}),
        ("income", [value * 1000 for value in range(100)], {"kind": "numeric", "step": 2000}),
        ("income", [*range(100), 10**9], {"kind": "numeric", "step": 2}),  # one of them does not decide
        ("score", [1, 2, 3], {"kind": "numeric"}),
        ("geboren", DAYS, {"kind": "date", "step": "year"}),
        ("seen", [date(2020, 1, 1) + timedelta(days=day) for day in range(400)], {"kind": "date", "step": "month"}),
        ("seen", [date(2020, 1, 1) + timedelta(days=day) for day in range(40)], {"kind": "date", "step": 7}),
        ("plz", ["10115", "80331", "20095"], {"kind": "text"}),
        ("cp", CODES, {"kind": "categorical"}),
    ],
)
def test_kinds_and_steps(name: str, values: Any, keys: dict[str, Any]) -> None:
    assert guess_of(name, values).quasi == keys


@pytest.mark.parametrize(
    ("name", "values", "law"),
    [
        ("name", texts(N), "HIPAA: names"),
        ("contact", [f"p{row}@example.org" for row in range(N)], "HIPAA: e-mail addresses"),
        ("zip", CODES, "HIPAA: geographic units below a state"),
        ("dob", DAYS, "HIPAA: dates of a person"),
        ("age", AGES, "HIPAA: ages over 89"),
        ("ethnicity", FEW, "GDPR art. 9: racial or ethnic origin"),
        ("Konfession", FEW, "GDPR art. 9: religious beliefs"),
        ("Diagnose", FEW, "GDPR art. 9: health"),
        ("member_of_a_union", FEW, "GDPR art. 9: trade union membership"),
        ("genotype", FEW, "GDPR art. 9: genetic data"),
    ],
)
def test_what_laws_call_special_is_flagged(name: str, values: Any, law: str) -> None:
    assert guess_of(name, values).laws == (law,)


TYPES: dict[str, pl.Series] = {
    "duration": pl.Series([timedelta(days=row % 7) for row in range(N)]),
    "time": pl.Series([row % 7 * 3_600_000_000_000 for row in range(N)]).cast(pl.Time),
    "u64": pl.Series([2**64 - 1 - row % 7 for row in range(N)], dtype=pl.UInt64),
    "u128": pl.Series([2**100 + row % 7 for row in range(N)], dtype=pl.UInt128),
    "i128": pl.Series([-(2**100) - row % 7 for row in range(N)], dtype=pl.Int128),
    "decimal": pl.Series([Decimal(row % 7) / 4 for row in range(N)]),
    "infinite": pl.Series([float("inf") if row % 7 == 0 else row / 3 for row in range(N)]),
    "extreme": pl.Series([1e300 if row % 7 == 0 else row * 1e-300 for row in range(N)]),
    "boolean": pl.Series([row % 2 == 0 for row in range(N)]),
    "null": pl.Series([None] * N),
    "bytes": pl.Series([bytes([row % 7]) for row in range(N)]),
    "list": pl.Series([[row % 7] for row in range(N)]),
    "zoned": pl.Series(DAYS).cast(pl.Datetime("us", "UTC")),
    "category": pl.Series(FEW, dtype=pl.Categorical),
    "float32": pl.Series([row % 7 / 3 for row in range(N)], dtype=pl.Float32),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
def test_what_is_proposed_is_not_refused_later(name: str, role: str) -> None:
    import tclose

    frame = pl.DataFrame({"x": TYPES[name], "age": AGES, "ill": FEW})
    found = guess_of("x", TYPES[name])
    keys = found.quasi if role == "quasi" else found.sensitive
    if keys is None:
        assert found.role == "identifier" or name == "infinite"
        return
    schema: dict[str, Any] = {
        "k": 5, "missing": "category", "quasi": {"age": {"kind": "numeric", "step": 5}},
        "sensitive": {"ill": {"distance": "equal", "t": 0.5}},
    }  # fmt: skip
    schema[role]["x"] = keys
    assert tclose.anonymize(frame, schema, method="mondrian", allow_single_class=True).measured.k >= 5


def test_what_a_name_says_is_asked_once_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a wide table each question would cost as much as the first: no cache of names is large enough."""
    asked: list[str] = []

    def topics(name: str) -> tuple[Topic, ...]:
        asked.append(name)
        return ()

    monkeypatch.setattr(column_evidence, "topics_of", topics)
    each = guess_of("ward", ["a", "b", "a", "b"])
    assert (each.evidence.topics, each.evidence.topics) == ((), ())
    assert asked == ["ward"]


@pytest.mark.parametrize(
    "values",
    [
        [f"{row % 24:02}:{row % 60:02}" for row in range(N)],
        [f"{row % 24}:{row % 60:02}:07" for row in range(N)],
        [time(row % 24, row % 60) for row in range(N)],
    ],
)
def test_times_of_day_have_an_order(values: list[Any]) -> None:
    found = guess_of("arrival", values)
    assert found.is_ordered
    assert found.sensitive is not None
    assert (found.sensitive["distance"], found.sensitive["bins"]) == ("ordered", 5)


def test_numbers_without_signs_between_may_be_moments() -> None:
    moments = [f"2024{1 + row % 12:02}{1 + row % 28:02}{row % 24:02}{row % 60:02}{row % 60:02}" for row in range(N)]
    assert guess_of("seen", moments).evidence.format == "%Y%m%d%H%M%S"
    assert guess_of("seen", [each[:12] for each in moments]).evidence.format == "%Y%m%d%H%M"
    assert guess_of("seen", [each[:13] for each in moments]).evidence.format is None


@pytest.mark.parametrize(
    ("values", "has_signs"),
    [
        (["$1,234.50", "$7", "-$3"], True),
        (["12 %", "7%"], True),
        (["1.234,50 €", "950 EUR"], True),
        (["3.75", "8,79"], True),
        (["\u22123.5", "4.5"], True),
        (["12", "13"], False),
        (["1.2.3", "1.2.10"], False),
        (["030 1234", "040 99"], False),
        (["A1", "A2"], False),
        (["1-2", "3-4"], False),
    ],
)
def test_signs_of_money_are_seen(values: list[str], has_signs: bool) -> None:
    assert guess_of("cost", values).evidence.has_signs == has_signs


@pytest.mark.parametrize("values", [FEW, texts(N), [*["a"] * 60, *"bcdefghij"], ["a", "b"], list("aab")])
def test_no_class_within_t_is_smaller(values: list[str]) -> None:
    found = guess_of("x", values)
    counts = sorted(Counter(values).values(), reverse=True)
    # The best class of s rows has the s most frequent values, one row each; count until the others are within t.
    size = 1
    while sum(counts[size:]) > Fraction(1, 5) * len(values):
        size += 1
    assert found.least_rows == size
