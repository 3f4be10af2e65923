"""Several sensitive attributes taken as one, from the definitions: combinations, their distance, all ways to move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tests.oracles.sabre import exact_transport

Value = tuple[str, ...]
Ground = list[list[Fraction]]


def value_distance(left: str, right: str, spec: Mapping[str, Any]) -> Fraction:
    """Between two values of a column; missing is the empty text."""
    if left == right:
        return Fraction(0)
    if spec["distance"] == "equal":
        return Fraction(1)
    if spec["distance"] == "matrix":
        return Fraction(spec["costs"][left, right])
    if spec["distance"] == "numeric":
        low, high = map(Fraction, spec["range"])
        return abs(Fraction(left) - Fraction(right)) / (high - low)
    if spec["distance"] == "ordered":
        order = [*spec["order"], ""] if spec.get("missing") else list(spec["order"])
        return Fraction(abs(order.index(left) - order.index(right)), len(order) - 1)
    if "" in (left, right):
        return Fraction(1)
    paths = {path[0]: path for path in spec["paths"]}
    tallest = max(map(len, spec["paths"])) - 1
    meeting = next(node for node in paths[left] if node in paths[right])
    height = max(path.index(meeting) for path in spec["paths"] if meeting in path)
    return Fraction(height, tallest)


def combination_distance(left: Value, right: Value, specs: Sequence[Mapping[str, Any]]) -> Fraction:
    """The mean over the columns."""
    parts = [value_distance(a, b, spec) for a, b, spec in zip(left, right, specs, strict=True)]
    return sum(parts, Fraction(0)) / len(parts)


def joint_distance(members: Sequence[Value], table: Sequence[Value], specs: Sequence[Mapping[str, Any]]) -> Fraction:
    """Of a class, given by the combinations of its rows, from the table."""
    values = sorted(set(table))
    ground = [[combination_distance(a, b, specs) for b in values] for a in values]
    counted = [[sum(row == value for row in rows) for value in values] for rows in (members, table)]
    return exact_transport(counted[0], counted[1], ground)


def by_all_ways(members: Sequence[Value], table: Sequence[Value], specs: Sequence[Mapping[str, Any]]) -> Fraction:
    """The same by trying which row of the class goes where; the table must be as long, or a multiple."""
    repeated = list(members) * (len(table) // len(members))
    assert len(repeated) == len(table)
    total = min(
        sum((combination_distance(a, b, specs) for a, b in zip(repeated, order, strict=True)), Fraction(0))
        for order in permutations(table)
    )
    return total / len(table)


def by_linear_program(p: Sequence[float], q: Sequence[float], ground: Any) -> float:
    """The least work by a general solver, in floats."""
    m = len(p)
    leave, arrive = np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))
    found = linprog(
        np.asarray(ground, float).ravel(), A_eq=np.vstack([leave, arrive]), b_eq=np.concatenate([p, q]), method="highs"
    )
    assert found.success
    return float(found.fun)
