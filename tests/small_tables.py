"""Random tables of a few rows with a schema: every kind, distance, recoding and demand comes up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import polars as pl

from tclose.schema.changes import with_k, with_t
from tclose.schema.columns import Quasi
from tclose.schema.schema import Schema
from tests.oracles.optimal_partition import Domain, read_columns
from tests.oracles.sabre import exact_transport

TREE = {"u": ["a", "b"], "v": {"w": ["c", "d"], "e": []}, "f": []}
ILLS = {"lung": ["flu", "cold"], "skin": {"mild": ["rash"], "bad": ["burn", "sore"]}}
LEAVES = ["flu", "cold", "rash", "burn", "sore"]
KINDS = ("numeric", "stepped", "flat", "tree", "date", "text", "digits")
DISTANCES = ("equal", "ordered", "ranks", "numeric", "hierarchical", "matrix")
DEMANDS = ("k", "t", "t", "two", "three", "joint", "l", "frequency", "t and l")
CAPPED = ("caps", "caps and t", "two caps")  # demands that others leave out
RECODES = ("suppress", "generalize")


def starred_table(seed: int) -> tuple[pl.DataFrame, Schema]:
    """The same where cells are suppressed and no l is asked: what `exact` and `milp` both take."""
    return small_table(seed, recodes=RECODES[:1], demands=("k", "t", "t", "t", "two", "three", "joint"))


def capped_table(seed: int, recodes: Sequence[str] = RECODES) -> tuple[pl.DataFrame, Schema]:
    """A small table that asks caps on belief, now and then beside a t."""
    return small_table(seed, 7, recodes, CAPPED)


def limited_table(seed: int) -> tuple[pl.DataFrame, Schema]:
    """A small table whose quasi-identifiers have weights, `coarsest` or `finest`, or all of them."""
    frame, schema = small_table(seed, 7, RECODES[1:], ("k", "t", "t", "l", "caps"))
    random = Random(f"{seed} limits")
    quasi = tuple(_limited(each, frame[each.column].drop_nulls().to_list(), random) for each in schema.quasi)
    return frame, replace(schema, quasi=quasi)


def _limited(quasi: Quasi, values: Sequence[Any], random: Random) -> Quasi:
    """With a weight and limits that often matter: widths and levels between nothing and all."""
    found: dict[str, Any] = {"weight": random.choice([Fraction(1), Fraction(2), Fraction(1, 3)])}
    asked = random.random() < 0.6
    if quasi.kind == "numeric" and asked and values:
        gap = abs(Fraction(str(random.choice(values))) - Fraction(str(random.choice(values))))
        found["coarsest"] = max(float(gap), float(quasi.step or 0))
    elif quasi.kind == "date" and asked:
        found["coarsest"] = random.choice(["day", "month", "year"])
    elif quasi.kind == "text":
        found |= {"coarsest": random.randint(1, 2)} if asked else {}
        found |= {"finest": 2} if random.random() < 0.5 else {}
    elif quasi.kind == "categorical" and quasi.hierarchy is not None:
        finest = random.randint(0, 2)
        found |= {"finest": finest} if random.random() < 0.6 else {"finest": None}
        found |= {"coarsest": random.choice([finest, 2, 3])} if asked else {}
        if found["finest"] is None and random.random() < 0.4:
            found["coarsest"] = random.choice(["u", "w", "v", "f", "c"])
    return replace(quasi, **found)


def weighted_table(table: tuple[pl.DataFrame, Schema], seed: int) -> tuple[pl.DataFrame, Schema]:
    """The same with weights of all quasi-identifiers."""
    random = Random(f"{seed} weights")
    weights = [Fraction(text) for text in ("2", "1/3", "5/2", "1")]
    quasi = tuple(replace(each, weight=random.choice(weights)) for each in table[1].quasi)
    return table[0], replace(table[1], quasi=quasi)


def small_table(
    seed: int,
    most: int = 8,
    recodes: Sequence[str] = RECODES,
    demands: Sequence[str] = DEMANDS,
    distances: Sequence[str] = DISTANCES,
) -> tuple[pl.DataFrame, Schema]:
    """A table of 2 to `most` rows, and a schema; the same for the same seed."""
    random = Random(seed)
    n = random.randint(2, most)
    recode = random.choice(recodes)
    missing = random.choice([None, None, "category", "category", "drop"])
    columns: dict[str, list[Any]] = {}
    quasi, sensitive = {}, {}
    for place in range(random.randint(1, 3)):
        kind = random.choice(KINDS)
        values, keys = _quasi(kind, n, recode, random)
        columns[f"q{place}"], quasi[f"q{place}"] = _with_gaps(values, missing, random), keys
    demand = random.choice(demands)
    for place in range({"k": 0, "two": 2, "three": 3, "joint": 2, "two caps": 2}.get(demand, 1)):
        distance = random.choice(distances)
        values, keys = _sensitive(distance, n, random)
        gaps = missing if missing == "drop" or distance not in ("numeric", "matrix") else None
        columns[f"s{place}"] = _with_gaps(values, gaps, random)
        sensitive[f"s{place}"] = keys | _asked(demand, n, random)
        if demand in CAPPED and distance == "hierarchical" and random.random() < 0.6:
            sensitive[f"s{place}"]["levels"] = True
    joint = {"both": {"columns": ["s0", "s1"], "t": _threshold(n, random)}} if demand == "joint" else {}
    keys = {"k": random.choice([1, 1, 2, 2, 3]), "recode": recode, "quasi": quasi, "sensitive": sensitive}
    keys |= {"joint": joint} | ({"missing": missing} if missing else {})
    return pl.DataFrame(columns), Schema.from_dict(keys)


def reached_table(seed: int, distance: str, recode: str, demand: str = "t") -> tuple[pl.DataFrame, Schema]:
    """A table whose every t is exactly what some partition into classes of k rows reaches."""
    frame, schema = small_table(seed, 7, (recode,), (demand,), (distance,) if demand == "t" else DISTANCES)
    random = Random(seed)
    columns = read_columns(frame, schema)
    domains = {each.column: Domain.of(each, columns[each.column]) for each in schema.sensitive}
    n = len(next(iter(columns.values())))
    rows = random.sample(range(n), n)
    cuts = [0, *sorted(random.sample(range(1, n), random.randint(0, n - 1))), n] if n > 1 else [0, n]
    classes = [rows[first:last] for first, last in pairwise(cuts)]
    for joint in schema.joint:
        domains[joint.name] = Domain.joined([domains[column] for column in joint.columns])
    for name in (*(each.column for each in schema.sensitive if each.t is not None), *(j.name for j in schema.joint)):
        reference = domains[name].counts(range(n))
        reached = max(domains[name].emd(domains[name].counts(members), reference) for members in classes)
        schema = with_t(schema, str(reached), name)
    return frame, with_k(schema, min(map(len, classes)))


def paired_table(seed: int, recode: str, diverse: bool) -> tuple[pl.DataFrame, Schema]:
    """What `two-diversity` takes: k = 2 alone, or 2-diversity; often at equality, with gaps and rows that repeat."""
    random = Random(seed)
    n, missing = random.randint(2, 8), random.choice([None, "category", "drop"])
    columns: dict[str, list[Any]] = {}
    quasi = {}
    for place in range(random.randint(1, 3)):
        values, quasi[f"q{place}"] = _quasi(random.choice(KINDS), n, recode, random)
        columns[f"q{place}"] = _with_gaps(values, missing, random)
    keys: dict[str, Any] = {"k": 2, "recode": recode, "quasi": quasi} | ({"missing": missing} if missing else {})
    if diverse:
        if random.random() < 0.5:  # one value has half of the rows, and a row is over if they are odd
            columns["s"] = ["flu"] * (n // 2) + random.choices(LEAVES[1:], k=n - n // 2)
            random.shuffle(columns["s"])
        else:
            columns["s"] = _with_gaps(random.choices(LEAVES[: random.randint(2, 5)], k=n), missing, random)
        keys |= {"k": random.choice([1, 2]), "sensitive": {"s": {"distance": "equal", "l": {"frequency": 2}}}}
    frame = pl.DataFrame(columns)
    if random.random() < 0.4:
        few = random.randint(1, n)
        frame = frame[[0, *(random.randrange(few) for _ in range(n - 1))]]  # the first row has no gap
    return frame, Schema.from_dict(keys)


def tiny_steps(seed: int) -> tuple[pl.DataFrame, Schema]:
    """Numbers so far from each other that losses differ in the thirteenth digit, or after it."""
    random = Random(seed)
    n = random.randint(4, 8)
    far = 10 ** random.randint(6, 14)
    numbers = [random.randint(0, 9) + far * random.choice([0, 0, 1]) for _ in range(n)]
    other = [random.randint(0, 10 ** random.randint(1, 7)) for _ in range(n)]
    columns: dict[str, list[Any]] = {"a": numbers} | ({"b": other} if random.random() < 0.5 else {})
    quasi = {name: {"kind": "numeric"} for name in columns}
    columns["s"] = random.choices(LEAVES, k=n)
    sensitive = {"s": {"distance": "equal", "l": {"frequency": 2}}}
    return pl.DataFrame(columns), Schema.from_dict({"k": 2, "quasi": quasi, "sensitive": sensitive})


def matrix_table(seed: int, joint: bool = False) -> tuple[pl.DataFrame, Schema]:
    """A table of 3 to 7 rows with a matrix, alone or in a joint, and a t at which some class lies exactly."""
    random = Random(seed)
    n, m = random.randint(3, 7), random.randint(2, 4)
    quasi = {f"q{place}": random.choices("abcd"[: random.randint(2, 4)], k=n) for place in range(random.randint(1, 2))}
    under = random.choice([10, 12, 7])
    costs = [[Fraction(0)] * m for _ in range(m)]
    for i in range(m):
        for j in range(i):
            costs[i][j] = costs[j][i] = Fraction(random.randint(-(-under // 2), under), under)
    costs[0][1] = costs[1][0] = Fraction(1)
    values, others = ([random.randrange(m) for _ in range(n)] for _ in range(2))
    # A joint binds the matrix to a column whose values are all 1 apart.
    rows: list[tuple[int, ...]] = list(zip(values, others, strict=True)) if joint else [(value,) for value in values]
    grounds: list[list[list[Fraction]]] = [costs, [[Fraction(int(i != j)) for j in range(m)] for i in range(m)]]
    cells = sorted(set(rows))
    ground = [
        [sum((grounds[p][a[p]][b[p]] for p in range(len(a))), Fraction(0)) / len(a) for b in cells] for a in cells
    ]
    members = random.sample(range(n), random.randint(1, n - 1))
    counts = [[[rows[row] for row in some].count(cell) for cell in cells] for some in (members, range(n))]
    t = exact_transport(counts[0], counts[1], ground)
    names = [LEAVES[value] for value in range(m)]
    matrix = {"values": names, "costs": costs}
    sensitive: dict[str, Any] = {"s": {"distance": "matrix", "matrix": matrix} | ({} if joint else {"t": t})}
    columns = quasi | {"s": [names[value] for value in values]}
    if joint:
        sensitive["o"], columns["o"] = {"distance": "equal"}, [names[value] for value in others]
    keys = {
        "k": random.choice([1, 1, 2]),
        "recode": "suppress",
        "quasi": {name: {"kind": "categorical"} for name in quasi},
    }
    keys |= {"sensitive": sensitive, "joint": {"both": {"columns": ["s", "o"], "t": t}} if joint else {}}
    return pl.DataFrame(columns), Schema.from_dict(keys)


def _quasi(kind: str, n: int, recode: str, random: Random) -> tuple[list[Any], dict[str, Any]]:
    if kind in ("numeric", "stepped"):
        scale = random.choice([Fraction(1), Fraction(1), Fraction(1, 4)])
        keys: dict[str, Any] = {"kind": "numeric"}
        if recode == "generalize":
            keys |= {"step": random.choice([2, 5])} if kind == "stepped" else {}
            keys |= {"range": [-2, 20]} if random.random() < 0.3 else {}
        numbers = [scale * random.randint(0, 8) for _ in range(n)]
        return [int(x) if scale == 1 else float(x) for x in numbers], keys
    if kind == "date":
        return [str(date(2021, 3, 1) + timedelta(random.randint(0, 9))) for _ in range(n)], {"kind": "date"}
    if kind == "tree":
        return random.choices("abcdef", k=n), {"kind": "categorical", "hierarchy": TREE}
    if kind == "flat":
        return random.choices("pqr", k=n), {"kind": "categorical"}
    return ["".join(random.choices("12", k=3)) for _ in range(n)], {"kind": kind}


def _sensitive(distance: str, n: int, random: Random) -> tuple[list[Any], dict[str, Any]]:
    if distance == "numeric":
        keys = {"range": [0, 10]} if random.random() < 0.3 else {}
        return [random.choice([0.0, 1.0, 1.0, 4.0, 7.5]) for _ in range(n)], {"distance": distance, **keys}
    if distance == "ranks":
        return [random.choice([3, 10, 11, 40]) for _ in range(n)], {"distance": "ordered"}
    values = random.choices(LEAVES[: random.randint(2, 5)], k=n)
    if distance == "ordered":
        return values, {"distance": distance, "order": random.sample(LEAVES, 5)}
    if distance == "hierarchical":
        return values, {"distance": distance, "hierarchy": ILLS}
    if distance == "matrix":
        return values, {"distance": distance, "matrix": {"values": LEAVES, "costs": _metric(random)}}
    return values, {"distance": distance}


def _metric(random: Random) -> list[list[float]]:
    """Eighths from a half up obey the triangle inequality whatever they are."""
    costs = [[0.0] * 5 for _ in range(5)]
    for i in range(5):
        for j in range(i):
            costs[i][j] = costs[j][i] = random.randint(4, 8) / 8
    costs[0][1] = costs[1][0] = 1.0
    return costs


def _asked(demand: str, n: int, random: Random) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if demand in ("t", "two", "three", "t and l"):
        asked["t"] = _threshold(n, random)
    if demand in ("l", "t and l"):
        asked["l"] = random.choice(
            [{"distinct": 2}, {"entropy": "3/2"}, {"frequency": "3/2"}, {"recursive": {"c": 2, "l": 2}}]
        )
    if demand == "frequency":
        asked["l"] = {"frequency": 2}
    if demand in CAPPED:
        asked |= random.choice(
            [{"rise": _threshold(n, random)}, {"beta": _growth(n, random)}, {"rise": "1/2", "beta": _growth(n, random)}]
        )
        asked |= {"enhanced": True} if "beta" in asked and random.random() < 0.5 else {}
    if demand == "caps and t":
        asked["t"] = _threshold(n, random)
    return asked


def _growth(n: int, random: Random) -> Fraction:
    """Often such that classes lie exactly at it."""
    return random.choice([Fraction(random.randint(1, 3 * n), random.randint(1, n)), Fraction(1), Fraction(1, 2)])


def _threshold(n: int, random: Random) -> Fraction:
    """Often such that classes lie exactly at it."""
    return random.choice([Fraction(random.randint(0, 10), 10), 1 - Fraction(random.randint(1, n), n), Fraction(1, 3)])


def _with_gaps(values: list[Any], missing: str | None, random: Random) -> list[Any]:
    """Some set to missing; the first stays, so that a row is left."""
    share = random.choice([0, 0.2, 0.5]) if missing else 0
    return [values[0], *(None if random.random() < share else value for value in values[1:])]
