"""Random tables that live, with any key that a history takes: distances, l, caps, limits, missing values and more."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

TREE: dict[str, Any] = {"bad": {"flu": [], "cold": []}, "good": {"none": [], "well": []}}
ORDER = ["low", "mid", "high"]
COSTS = [[0, 0.5, 1], [0.5, 0, 0.7], [1, 0.7, 0]]
VALUES: dict[str, list[Any]] = {
    "equal": ["x", "y", "z"],
    "ordered": ORDER,
    "numeric": [1.0, 2.0, 4.5, 7.0],
    "hierarchical": ["flu", "cold", "none", "well"],
    "matrix": ["a", "b", "c"],
}
MAY_BE_MISSING = ("equal", "ordered", "hierarchical")
NEEDED: dict[str, dict[str, Any]] = {
    "ordered": {"order": ORDER},
    "hierarchical": {"hierarchy": TREE},
    "matrix": {"matrix": {"values": ["a", "b", "c"], "costs": COSTS}},
}
Row = dict[str, Any]


@dataclass
class AnyTable:
    """A table that changes, and how each of its states is to be released.

    Attributes
    ----------
    keys
        The schema; it may become stricter.
    table
        Person to row.
    deletions, least_batch, method
        As `republish` takes them.
    """

    rng: random.Random
    keys: dict[str, Any]
    deletions: Any
    least_batch: float
    method: str
    table: dict[str, Row] = field(default_factory=dict)
    gone: dict[str, Row] = field(default_factory=dict)
    shares: dict[str, list[float]] = field(default_factory=dict)
    n_persons: int = 0

    @classmethod
    def of(cls, seed: int) -> AnyTable:
        rng = random.Random(seed)
        sensitive = {f"s{place}": _sensitive(rng) for place in range(rng.choice([1, 1, 2, 3]))}
        keys: dict[str, Any] = {"k": rng.choice([2, 2, 3]), "unit": "who", "identifiers": ["name"]}
        keys |= {"quasi": _quasi(rng), "sensitive": sensitive}
        if rng.random() < 0.35:
            keys["missing"] = rng.choice(["category", "drop"])
        plain = set(keys["quasi"]["age"]) == {"kind"}
        if plain and rng.random() < 0.2:
            keys["recode"] = "suppress"
        if len(sensitive) > 1 and all(each["distance"] in ("equal", "ordered") for each in sensitive.values()):
            keys["joint"] = {"both": {"columns": list(sensitive), "t": 0.8}}
        if rng.random() < 0.15:
            keys |= {"unit_rows": "one", "unit_pick": rng.choice(["first", "last"]), "unit_order": "day"}
        method = rng.choice(["mondrian", "mondrian", "tight", "sabre-ak"] if plain else ["mondrian", "tight"])
        found = cls(rng, keys, rng.choice(["hold", "hold", "withdraw"]), rng.choice([0.0, 0.0, 0.3]), method)
        found._drift()
        found._arrive(rng.randint(6, 14))
        return found

    def states(self) -> Iterator[pl.DataFrame]:
        """The table as it is, and after each change."""
        yield self._frame()
        for _ in range(self.rng.randint(1, 4)):
            self._change()
            if self.table:
                yield self._frame()

    def present(self) -> dict[str, Row]:
        """Persons whose rows are not left out for missing values."""
        if self.keys.get("missing") != "drop":
            return dict(self.table)
        return {person: row for person, row in self.table.items() if None not in row.values()}

    def _drift(self) -> None:
        self.shares = {name: [self.rng.random() ** 2 + 0.15 for _ in range(4)] for name in self.keys["sensitive"]}

    def _drawn(self) -> Row:
        rng, may_miss = self.rng, "missing" in self.keys
        row: Row = {"age": None if may_miss and rng.random() < 0.08 else rng.randint(0, 12)}
        if "town" in self.keys["quasi"]:
            row["town"] = rng.choice("abc")
        for name, keys in self.keys["sensitive"].items():
            values = VALUES[keys["distance"]]
            row[name] = rng.choices(values, weights=self.shares[name][: len(values)])[0]
            if may_miss and keys["distance"] in MAY_BE_MISSING and rng.random() < 0.12:
                row[name] = None
        return row

    def _arrive(self, n: int) -> None:
        for _ in range(n):
            self.table[f"p{self.n_persons}"] = self._drawn()
            self.n_persons += 1

    def _change(self) -> None:
        rng = self.rng
        if rng.random() < 0.3:
            self._drift()
        low, together, fate = rng.randint(0, 9), rng.random() < 0.7, rng.choice([0.05, 0.2])
        all_of_them = rng.choice([0.85, 1.0, 1.0])
        for person, row in list(self.table.items()):
            chance = rng.random()
            if together:  # else hardly anybody could leave
                is_near = row["age"] is not None and low <= row["age"] <= low + 5
                chance = fate if is_near and chance < all_of_them else 1.0
            if chance < 0.12:
                self.gone[person] = self.table.pop(person)
            elif chance < 0.28:
                kept = {name: row[name] for name in self.keys["sensitive"]} if rng.random() < 0.3 else {}
                self.table[person] = self._drawn() | kept
        returning = rng.choice([0.0, 0.4, 1.0])
        for person in [each for each in self.gone if rng.random() < returning]:
            row = self.gone.pop(person)
            self.table[person] = row if rng.random() < 0.5 else self._drawn()
        self._arrive(rng.choice([0, 0, 1, 2, 3, 5]))
        if rng.random() < 0.15:
            self._ask_more()
        if rng.random() < 0.1:
            self.deletions = "hold" if self.deletions == "withdraw" else "withdraw"

    def _ask_more(self) -> None:
        stricter = {
            name: keys | ({"t": round(keys["t"] * 0.9, 4)} if "t" in keys else {})
            for name, keys in self.keys["sensitive"].items()
        }
        self.keys = self.keys | {"sensitive": stricter, "k": self.keys["k"] + (self.rng.random() < 0.3)}

    def _frame(self) -> pl.DataFrame:
        persons = list(self.table)
        self.rng.shuffle(persons)
        rows = [{"who": person, "name": "Ann", **self.table[person]} for person in persons]
        types = {name: _type(keys["distance"]) for name, keys in self.keys["sensitive"].items()}
        frame = pl.DataFrame(rows, schema_overrides={"age": pl.Int64, **types}, infer_schema_length=None)
        if "unit_rows" not in self.keys:
            return frame
        more = frame.head(3).with_columns(pl.lit(frame["s0"][0], dtype=frame["s0"].dtype).alias("s0"))
        other = 9 if self.keys["unit_pick"] == "first" else 1
        return pl.concat([frame.with_columns(day=pl.lit(5)), more.with_columns(day=pl.lit(other))])


def _type(distance: str) -> Any:
    return pl.Float64 if distance == "numeric" else pl.String


def _quasi(rng: random.Random) -> dict[str, Any]:
    age: dict[str, Any] = {"kind": "numeric"}
    for key, values, share in (("weight", [3], 0.15), ("step", [2], 0.2), ("coarsest", [4, 6, 20], 0.2)):
        if rng.random() < share:
            age[key] = rng.choice(values)
    return {"age": age, **({"town": {"kind": "categorical"}} if rng.random() < 0.6 else {})}


def _sensitive(rng: random.Random) -> dict[str, Any]:
    distance = rng.choice(list(VALUES))
    keys: dict[str, Any] = {
        "distance": distance,
        "t": rng.choice([0.3, 0.4, 0.5, 0.6, 0.8]),
        **NEEDED.get(distance, {}),
    }
    if rng.random() < 0.2:
        keys["rise"] = rng.choice([0.4, 0.5])
    if rng.random() < 0.15:
        keys |= {"beta": rng.choice([1.0, 2.0]), "enhanced": rng.random() < 0.4}
    if rng.random() < 0.2:
        keys["l"] = rng.choice([2, {"entropy": 1.5}, {"frequency": 1.5}])
    return keys
