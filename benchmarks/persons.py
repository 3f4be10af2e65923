"""Persons with several rows: what someone who knows one row of a person, or all of them, guesses of the illness."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console

import tclose
from benchmarks.results import show
from tclose.schema.schema import Schema

N_PERSONS, MOST_VISITS, K, SEED = 2000, 6, 5, 1
ILLS = ("healthy", "asthma", "diabetes", "heart", "cancer", "HIV")
SHARES = (0.4, 0.2, 0.16, 0.12, 0.08, 0.04)
ASKED: dict[str, dict[str, Any]] = {
    "k rows, nobody says whose they are": {"identifiers": ["who"]},
    "one row of each": {"unit": "who", "unit_rows": "one"},
    "k persons": {"unit": "who", "unit_rows": "all"},
    "k persons, rise = 0.1 in persons": {"unit": "who", "unit_rows": "all", "rise": 0.1},
}
Floats = NDArray[np.float64]


def run(console: Console) -> dict[str, Any]:
    frame = visits()
    figures = {words: _measure(frame, dict(asked)) for words, asked in ASKED.items()}
    blind = max(Counter(frame.unique("who")["ill"].to_list()).values()) / N_PERSONS
    rows = [
        [words, f"{each['loss']:.3f}", str(each["persons"]), f"{each['one_row']:.1%}", f"{each['all_rows']:.1%}"]
        for words, each in figures.items()
    ]
    show(
        console,
        f"{len(frame):,} visits of {N_PERSONS:,} persons; {blind:.1%} are guessed right without a release",
        ["asked", "loss", "fewest persons of a class", "one row known", "all rows known"],
        rows,
    )
    return {"rows": len(frame), "persons": N_PERSONS, "blind": blind, "asked": figures}


def visits() -> pl.DataFrame:
    """Visits of people to doctors: age and home are those of the person, day and ward those of the visit.

    A chronic illness is written down at every visit.
    """
    rng = np.random.default_rng(SEED)
    of = np.repeat(np.arange(N_PERSONS), rng.integers(1, MOST_VISITS + 1, N_PERSONS))
    ill = rng.choice(ILLS, N_PERSONS, p=SHARES)
    return pl.DataFrame(
        {
            "who": of,
            "age": rng.integers(18, 90, N_PERSONS)[of],
            "home": rng.integers(0, 40, N_PERSONS)[of],
            "day": rng.integers(0, 365, len(of)),
            "ward": rng.choice(list("abcdef"), len(of)),
            "ill": ill[of],
        }
    )


def _measure(frame: pl.DataFrame, asked: dict[str, Any]) -> dict[str, Any]:
    numeric = {name: {"kind": "numeric"} for name in ("age", "home", "day")}
    ill = {"distance": "equal", "t": 0.3} | ({"rise": asked.pop("rise")} if "rise" in asked else {})
    quasi = {**numeric, "ward": {"kind": "categorical"}}
    schema = Schema.from_dict({"k": K, "quasi": quasi, "sensitive": {"ill": ill}, **asked})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.RepeatedIdentifierWarning)
        release = tclose.anonymize(frame, schema, method="tight", seed=SEED)
    known = frame.with_columns(group=pl.Series(release.classes)).filter(pl.col("group") >= 0)
    fewest = known.group_by("group").agg(pl.col("who").n_unique())["who"].min()
    one, everything = guessed(known)
    return {
        "loss": release.loss,
        "classes": release.measured.classes,
        "persons": fewest,
        "one_row": one,
        "all_rows": everything,
    }


def guessed(known: pl.DataFrame) -> tuple[float, float]:
    """The share of persons whose illness is guessed right from the class of one of their rows, and from those of all.

    A class has a share of each value, q, and the table p. One row gives q. Of several rows the attacker takes the
    product of q / p, as if they told apart from each other, times p.
    """
    places = {value: place for place, value in enumerate(ILLS)}
    ill = known["ill"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
    group, who = known["group"].to_numpy(), known["who"].to_numpy()
    counts = np.zeros((int(group.max()) + 1, len(ILLS)))
    np.add.at(counts, (group, ill), 1)
    shares: Floats = counts / counts.sum(axis=1, keepdims=True)
    table = np.bincount(ill, minlength=len(ILLS)) / len(ill)
    gains = np.log(np.maximum(shares, 1e-9) / table)
    persons, first, of = np.unique(who, return_index=True, return_inverse=True)
    total = np.tile(np.log(table), (len(persons), 1))
    np.add.at(total, of, gains[group])
    alone = np.log(table) + gains[group[first]]
    true = ill[first]
    return float((alone.argmax(axis=1) == true).mean()), float((total.argmax(axis=1) == true).mean())
