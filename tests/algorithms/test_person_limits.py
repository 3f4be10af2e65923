"""Caps in persons: kernels and slow check against plain counting, at and next to thresholds."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms import REGISTRY, find
from tclose.algorithms.alike_classes import settle_alike
from tclose.algorithms.capable import check_capable, is_capable
from tclose.algorithms.packing import rules_of, scratch_of
from tclose.algorithms.requirement import Requirement
from tclose.errors import InfeasibleError, SchemaError
from tclose.kernels import closeness
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.oracles import persons as oracle
from tests.seeds import for_seeds

TREE = {"lung": ["flu", "cold"], "skin": ["rash", "acne"]}
Rows = list[tuple[int, str]]


def schema(k: int, **asked: Any) -> Schema:
    ill = {"distance": "hierarchical", "hierarchy": TREE, **asked}
    keys = {"k": k, "unit": "who", "unit_rows": "all", "quasi": {"age": {"kind": "numeric"}}}
    return Schema.from_dict({**keys, "sensitive": {"ill": ill}})


def encoded(rows: Rows, ages: list[int], asked: Schema) -> tuple[EncodedTable, Requirement]:
    frame = pl.DataFrame({"who": [who for who, _ in rows], "age": ages, "ill": [ill for _, ill in rows]})
    table = encode(read(frame), asked)
    return table, Requirement.of(asked, table)


def random_rows(random: Random) -> tuple[Rows, list[int]]:
    n = random.randint(4, 30)
    rows = [(random.randint(0, n // 2), random.choice(["flu", "cold", "rash", "acne"])) for _ in range(n)]
    return rows, [random.randint(20, 22) for _ in range(n)]


def by_python(table: EncodedTable, requirement: Requirement, labels: np.ndarray[Any, Any]) -> bool:
    """The kernel without the compiler, and the slow check: which must agree."""
    rules, scratch = rules_of(requirement), scratch_of(requirement)
    slow = True
    for each in range(int(labels.max()) + 1):
        members = np.stack([codes[labels == each] for codes in table.codes], axis=1)
        verdict = closeness.holds.py_func(  # type: ignore[attr-defined]
            members, 0, -1, 0, True, rules, scratch
        )
        assert not scratch.counts.any()
        held = requirement.holds(list(members.T))
        assert verdict == (closeness.YES if held else closeness.NO)
        slow = slow and held
    return slow


@for_seeds(60)
def test_at_and_just_below_what_is_reached(seed: int) -> None:
    random = Random(seed)
    rows, ages = random_rows(random)
    tree = TREE if seed % 2 else None
    labels = np.unique(ages, return_inverse=True)[1]
    k = min(oracle.persons(one) for one in oracle.grouped(rows, ages))
    rise, beta = oracle.largest_rise(rows, ages, tree), oracle.largest_beta(rows, ages, tree)
    for less in (Fraction(0), Fraction(1, 10**9)):
        for key, most in (("rise", rise), ("beta", beta)):
            if most > less:
                table, requirement = encoded(rows, ages, schema(k, **{key: str(most - less), "levels": bool(tree)}))
                assert requirement.holds_in_all(table, labels) == (less == 0)
                if seed < 10:
                    assert by_python(table, requirement, labels) == (less == 0)
    table, requirement = encoded(rows, ages, schema(k + 1, rise=1))
    assert not requirement.holds_in_all(table, labels)
    assert requirement.with_k(k).holds_in_all(table, labels)


def test_caps_in_persons_are_not_kept_by_unions() -> None:
    """Each class has flu in 1 of 2 persons, and both together in 2 of 3."""
    rows = [(1, "flu"), (2, "cold"), (3, "flu"), (2, "cold"), (4, "cold")]
    table, requirement = encoded(rows, [1, 1, 2, 2, 3], schema(1, rise=0))
    assert table.domains[-1].holders is not None
    two, flu = np.array([0, 0, 1, 1, 2]), requirement.attributes[-1].person_limits
    assert flu is not None
    codes = table.codes[-1]
    assert flu.keep(codes[two == 0])
    assert flu.keep(codes[two == 1])
    assert not flu.keep(codes[two < 2])


def test_classes_that_are_shown_alike_are_joined_until_their_union_holds() -> None:
    rows = [(1, "flu"), (2, "cold"), (3, "flu"), (2, "cold"), (4, "cold")]
    table, requirement = encoded(rows, [1, 1, 2, 2, 3], schema(1, rise="1/10"))
    start = Partition(np.array([0, 0, 1, 1, 2]))

    def shown(found: Partition) -> Any:
        """The first four rows look alike as long as the last is not with them."""
        alone = int((found.labels == found.labels[4]).sum()) == 1
        return np.array([0, 0, 0, 0, 1]) if alone else found.labels

    joined = settle_alike(table, requirement, start, shown)
    assert joined.labels.tolist() == [0] * 5
    apart = settle_alike(table, requirement, start, lambda found: found.labels)
    assert apart is start
    table, requirement = encoded(rows, [1, 1, 2, 2, 3], schema(1, t=1))
    assert settle_alike(table, requirement, start, shown) is start


@pytest.mark.parametrize("name", ["tight", "mondrian"])
@for_seeds(12)
def test_methods_keep_what_is_asked_in_persons(name: str, seed: int) -> None:
    random = Random(seed)
    n = random.randint(40, 120)
    rows = [(random.randint(0, n // 3), random.choice(["flu", "flu", "cold", "rash", "acne"])) for _ in range(n)]
    ages = [random.randint(20, 60) for _ in range(n)]
    asked = schema(4, rise="1/5", beta=1, levels=bool(seed % 2), t="9/10")
    table, requirement = encoded(rows, ages, asked)
    labels = run(find(name), table, requirement).labels.tolist()
    tree = TREE if seed % 2 else None
    assert min(oracle.persons(one) for one in oracle.grouped(rows, labels)) >= 4
    assert oracle.largest_rise(rows, labels, tree) <= Fraction(1, 5)
    assert oracle.largest_beta(rows, labels, tree) <= 1
    assert max(labels) > 0


def test_who_guarantees_what() -> None:
    """Methods that look at rows alone, or rely on unions, refuse before a row is read."""
    plain, capped = schema(2, t=0.5), schema(2, rise=0.5)
    assert [name for name in REGISTRY if is_capable(find(name), capped)] == ["tight", "mondrian"]
    assert [name for name in REGISTRY if is_capable(find(name), plain)] == ["tight", "mondrian"]
    with pytest.raises(SchemaError, match=r"'sabre-ak' does not guarantee k in persons.*Use 'tight'"):
        check_capable(find("sabre-ak"), plain)
    with pytest.raises(SchemaError, match=r"'incognito' does not guarantee rise in persons.*Use 'tight'"):
        check_capable(find("incognito"), capped)


def test_too_few_persons() -> None:
    table, requirement = encoded([(1, "flu"), (1, "cold"), (2, "flu")], [1, 2, 3], schema(3, t=1))
    with pytest.raises(InfeasibleError, match="The rows are those of 2 units of 'who', and k = 3 asks for more"):
        run(find("mondrian"), table, requirement)
