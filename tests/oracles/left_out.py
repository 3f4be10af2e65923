"""Rows left out, from the definitions: what is asked of them, beside what is released, and what all of it loses."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import polars as pl

from tclose.schema.schema import Schema
from tests.oracles import belief
from tests.oracles.optimal_partition import Domain, Problem, diverse, optimum_by_subsets, read_columns


def may_be_left_out(frame: pl.DataFrame, schema: Schema, left: Sequence[int]) -> bool:
    """Whether these rows are no more than allowed, and together keep k, t, l and caps against all others."""
    if not left:
        return True
    n, rest = len(frame), [row for row in range(len(frame)) if row not in set(left)]
    assert schema.suppress_rows is not None
    if len(left) > schema.suppress_rows * n or len(left) < schema.k or not rest:
        return False
    columns = read_columns(frame, schema)
    domains = {each.column: Domain.of(each, columns[each.column]) for each in schema.sensitive}
    for each in schema.sensitive:
        domain = domains[each.column]
        if each.t is not None and domain.emd(domain.counts(left), domain.counts(rest)) > each.t:
            return False
        if each.l is not None and not diverse(domain, each.l)(tuple(left)):
            return False
        values = [[domain.places[row] for row in rows] for rows in (rest, left)]
        new = set(values[1]) - set(values[0])
        if each.beta is not None and new:
            return False
        if each.caps is not None and not (
            belief.holds(values[0], [values[1]], each.rise, each.beta, each.enhanced)
            if not new
            else _rises(values, each)
        ):
            return False
    return all(
        joined.emd(joined.counts(left), joined.counts(rest)) <= joint.t
        for joint in schema.joint
        for joined in [Domain.joined([domains[column] for column in joint.columns])]
    )


def _rises(values: list[list[int]], asked: object) -> bool:
    rest, left = values
    rise = getattr(asked, "rise", None)
    shares = [Fraction(left.count(v), len(left)) - Fraction(rest.count(v), len(rest)) for v in set(left)]
    return rise is None or max(shares) <= rise


def is_valid(frame: pl.DataFrame, schema: Schema, labels: Sequence[int]) -> bool:
    """Whether the classes of what is released hold against it, and what is left out is allowed."""
    left = [row for row, label in enumerate(labels) if label < 0]
    kept = [row for row, label in enumerate(labels) if label >= 0]
    if not may_be_left_out(frame, schema, left):
        return False
    return Problem.of(frame[kept], schema).total([labels[row] for row in kept]) is not None


def least_loss(frame: pl.DataFrame, schema: Schema) -> Fraction | None:
    """The least loss over all choices of rows to leave out and all partitions of the others; a row left out loses 1.

    Losses are measured as in the whole table: the schema declares ranges and trees, so that they do not change.
    """
    n, best = len(frame), None
    for size in range(n):
        for left in combinations(range(n), size):
            if not may_be_left_out(frame, schema, left):
                continue
            kept = [row for row in range(n) if row not in left]
            problem = Problem.of(frame[kept], schema)
            cost = optimum_by_subsets(problem)
            if cost is not None:
                loss = (problem.loss(cost) * len(kept) + size) / n
                best = loss if best is None else min(best, loss)
    return best
