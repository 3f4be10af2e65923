"""What binds a release: in words and numbers, for whoever releases, and in nothing that is published."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.held_classes import HeldClasses
from tclose.release.binding import Binding, Gain, MeasuredGains, NearT
from tclose.release.certificate import certificate_path

SCHEMA = {
    "k": 3,
    "quasi": {"age": {"kind": "numeric"}, "zip": {"kind": "text"}},
    "sensitive": {"ill": {"distance": "equal", "t": 0.15}, "pay": {"distance": "ordered", "t": 0.5}},
}
VALUES = ("measles", "mumps", "rubella")


def people(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "zip": [f"{number:04}" for number in rng.integers(7000, 7100, n)],
            "ill": rng.choice(VALUES, n),
            "pay": rng.integers(0, 9, n),
        }
    )


@pytest.fixture(scope="module")
def release() -> tclose.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.HighLossWarning)
        return tclose.anonymize(people(), SCHEMA, method="mondrian", seed=1)


def test_its_numbers_are_those_of_the_released_table(release: tclose.Release) -> None:
    binding = release.binding
    assert binding is not None
    labels, frame = release.classes, people()
    sizes = np.bincount(labels)
    assert (binding.k_asked, binding.k) == (3, int(sizes.min()))
    assert sum(binding.losses.values()) == pytest.approx(release.loss) == binding.loss
    whole = {value: Fraction(frame["ill"].to_list().count(value), len(frame)) for value in VALUES}
    far = {}
    for label in range(len(sizes)):
        inside = frame.filter(pl.Series(labels == label))["ill"].to_list()
        far[label] = sum(abs(Fraction(inside.count(each), len(inside)) - whole[each]) for each in VALUES) / 2
    near = binding.near["ill"]
    assert near.reached == max(far.values()) == release.measured.t["ill"]
    assert near.farthest_rows in [int(sizes[label]) for label in far if far[label] == near.reached]
    beyond = sum(int(sizes[label]) for label in far if far[label] >= Fraction("0.135"))
    assert near.near_share == pytest.approx(beyond / len(frame))


def test_it_is_in_the_record_and_nowhere_else(release: tclose.Release, tmp_path: Path) -> None:
    release.write(tmp_path / "release.csv", record=tmp_path / "record.json")
    assert release.binding is not None
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["binding"] == json.loads(json.dumps(release.binding.as_dict()))
    published = certificate_path(tmp_path / "release.csv").read_text() + (tmp_path / "release.csv").read_text()
    assert "binding" not in published
    assert "held" not in published


def test_words_name_no_value(release: tclose.Release) -> None:
    assert release.binding is not None
    found = tclose.what_binds(people(), release, method="mondrian")
    told = " ".join(found.sentences()) + json.dumps(found.as_dict())
    cells = {*VALUES, *people()["zip"].to_list()}
    assert not any(cell in told for cell in cells)
    assert "'ill'" in told


def made(k: int, smallest: tuple[str | None, ...], measured: MeasuredGains | None = None) -> Binding:
    held = HeldClasses(1000, 9, 0.03, {"ill": 0.9, "pay": 0.0}, 0.05, 0.02, 0.004, smallest)
    near = {"ill": NearT(Fraction("0.2"), Fraction("0.1998"), 600, 0.41)}
    losses = {"zip": 0.2, "age": 0.1, "sex": 0.05, "job": 0.01}
    demands = {"ill": "t of 'ill'", "pay": "t and l of 'pay'"}
    return Binding(5, k, 0.36, losses, near, held, demands, measured)


def test_the_words_say_what_the_numbers_say() -> None:
    assert made(551, ("ill",)).sentences() == [
        "The smallest class has 551 rows where 5 were asked: t of 'ill' alone keeps it from being cut in two.",
        "What alone keeps classes from being cut in two, by share of rows (one class may be kept by several): "
        "t of 'ill' 90%, k 3%.",
        "Of 1,000 rows looked at, 5% in classes that several demands keep only together, 2% in classes that could be "
        "cut, but the method found nothing better by it, below 1% in classes whose rows are all alike.",
        "'ill': the farthest class has 600 rows and is at 0.1998, asked is 0.2; 41% of the rows are in classes at nine "
        "tenths of that or beyond.",
        "Of the loss of 0.360, 'zip' 0.200, 'age' 0.100, 'sex' 0.050, 1 other the rest.",
    ]
    assert made(5, (None,)).sentences()[0] == "The smallest class has 5 rows, as asked."
    assert "t of 'ill' and t and l of 'pay' each keep it" in made(9, ("ill", "pay")).sentences()[0]
    assert "no demand alone keeps it" in made(9, ()).sentences()[0]


def test_gains_are_told_with_where_they_were_measured() -> None:
    gains = (Gain("without 'zip'", 0.3, 0.1, 9, 90, 551, 7), Gain("k = 3 instead of 5", 0.3, 0.3, 9, 9, 551, 551))
    told = made(551, ("ill",), MeasuredGains(5000, 101_766, "tight effort=fast", gains, ("without 'age'",))).sentences()
    assert told[-4:] == [
        "What a change would gain, measured on 5,000 of 101,766 rows with 'tight effort=fast':",
        "without 'zip': loss 0.100 instead of 0.300, 90 classes instead of 9, the smallest of 7 rows instead of 551.",
        "k = 3 instead of 5: loss 0.300 instead of 0.300, 9 classes instead of 9, the smallest of 551 rows instead of "
        "551.",
        "There was no time for 1 of the changes.",
    ]
    assert "on all rows" in " ".join(made(9, (), MeasuredGains(50, 50, "m", gains, ())).sentences())
