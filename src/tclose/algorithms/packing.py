"""Requirements and tables as arrays that kernels can take."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.person_limits import PersonLimits
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.distances import Line, Transport, Tree
from tclose.schema.columns import Diversity
from tclose.table.axes import TOO_WIDE, SpanAxis, TreeAxis
from tclose.table.encode import Domain, EncodedTable

if TYPE_CHECKING:  # kernels load the compiler, which whoever only asks about methods does not need
    from tclose.kernels.closeness import Rules, Scratch
    from tclose.kernels.costs import Costs

Integers = NDArray[np.int64]
LARGEST = 2**31  # kernels multiply numerators and denominators with row counts; larger ones they leave to us


def form_of(attribute: Attribute) -> int:
    """How the kernels see an attribute: some they leave to `Attribute.holds`."""
    from tclose.kernels import closeness as columns

    asked = attribute.l or Diversity()
    fractions = [attribute.t, asked.frequency, asked.recursive[0] if asked.recursive else None]
    sizes = [max(number.as_integer_ratio()) for number in fractions if number is not None]
    if max(sizes, default=0) > LARGEST:
        return columns.OTHER
    forms = {Line: columns.LINE, Tree: columns.TREE, Transport: columns.TRANSPORT}
    return columns.NONE if attribute.t is None else forms[type(attribute.domain.form)]


def pace_of(requirement: Requirement) -> int:
    """What a kernel's budget of row visits is to be divided by, so that it comes back in time.

    A class of a matrix or a joint takes as long as about a thousand visits.
    """
    from tclose.kernels import closeness as columns

    return 1000 if any(form_of(attribute) == columns.TRANSPORT for attribute in requirement.attributes) else 1


def rules_of(requirement: Requirement) -> Rules:
    """What every class must meet."""
    from tclose.kernels import closeness as columns

    table = np.zeros((len(requirement.attributes), columns.N_COLUMNS), np.int64)
    entropy = np.full(len(requirement.attributes), -1.0)
    data = [np.zeros(0, np.int64)]
    for place, attribute in enumerate(requirement.attributes):
        row, form = table[place], form_of(attribute)
        row[columns.FORM], row[columns.SIZE] = form, attribute.domain.size
        t = attribute.t if attribute.t is not None else Fraction(1)
        row[columns.T_OVER], row[columns.T_UNDER] = t.limit_denominator(LARGEST).as_integer_ratio()
        if form != columns.OTHER:
            entropy[place] = _put_diversity(row, attribute.l or Diversity())
        for column, part in (*_parts(attribute, row), *_cap_parts(attribute, row)):
            row[column] = sum(map(len, data))
            data.append(part)
    carried = np.flatnonzero(table[:, columns.FORM] == columns.TRANSPORT)
    return columns.Rules(
        requirement.n, table, entropy, np.concatenate(data, dtype=np.int64), carried if len(carried) else None
    )


def scratch_of(requirement: Requirement) -> Scratch:
    """Room for the kernels to count in."""
    from tclose.kernels.closeness import Scratch

    domains = [attribute.domain for attribute in requirement.attributes]
    most = max((domain.size + _beside_codes(domain) for domain in domains), default=0)
    return Scratch(np.zeros(most, np.int64), np.zeros(most, np.int32))


def _beside_codes(domain: Domain) -> int:
    """What is counted beside the codes of an attribute: nodes, or holders and what they have."""
    if domain.holders is not None:
        return len(domain.holders.nodes) + domain.holders.n_nodes + 1
    return len(domain.form.parents) if isinstance(domain.form, Tree) and not domain.of_persons else 0


def _put_diversity(row: Integers, asked: Diversity) -> float:
    """Fill in what is asked of l, and return the logarithm of what is asked of entropy."""
    from tclose.kernels import closeness as columns

    row[columns.DISTINCT] = min(asked.distinct or 0, LARGEST)
    row[columns.FREQUENCY_OVER], row[columns.FREQUENCY_UNDER] = (asked.frequency or Fraction(0)).as_integer_ratio()
    factor, place = asked.recursive or (Fraction(0), 0)
    row[columns.RECURSIVE_L] = min(place, LARGEST)  # no class has so many values: it fails either way
    row[columns.RECURSIVE_OVER], row[columns.RECURSIVE_UNDER] = factor.as_integer_ratio()
    return -1.0 if asked.entropy is None else math.log(asked.entropy)


def _parts(attribute: Attribute, row: Integers) -> list[tuple[int, NDArray[Any]]]:
    """The long arrays of an attribute, by the column that says where each begins."""
    from tclose.kernels import closeness as columns

    form, reference = attribute.domain.form, attribute.reference
    if attribute.domain.of_persons:  # nothing is asked of their distance
        return []
    if isinstance(form, Line):
        below = np.cumsum(reference)
        area = np.concatenate([[0], np.cumsum(np.diff(form.positions) * below[:-1])])
        row[columns.DENOMINATOR] = form.span
        return [(columns.POSITION, form.positions), (columns.BELOW, below), (columns.AREA, area)]
    if isinstance(form, Transport):
        row[columns.DENOMINATOR] = form.denominator
        return [(columns.WEIGHT, form.costs.ravel()), (columns.MASS, reference), (columns.POSITION, form.pairs.ravel())]
    mass = np.zeros(len(form.parents), np.int64)
    for level in range(form.paths.shape[1]):
        known = form.paths[:, level] >= 0
        np.add.at(mass, form.paths[known, level], reference[known])
    row[columns.DENOMINATOR], row[columns.DEPTH] = form.denominator, form.paths.shape[1]
    row[columns.TOTAL] = int((form.weights * mass).sum())
    return [(columns.WEIGHT, form.weights), (columns.MASS, mass), (columns.PATH, form.paths.ravel())]


def _cap_parts(attribute: Attribute, row: Integers) -> list[tuple[int, Integers]]:
    """The largest share of each value or node, numerator and denominator in turn, by the column of where they begin."""
    from tclose.kernels import closeness as columns

    limits = attribute.limits
    if attribute.person_limits is not None:
        return _person_parts(attribute.person_limits, row)
    if limits is None:
        return []
    row[columns.CAPPED] = columns.VALUES if limits.paths is None else columns.NODES
    return [(columns.CAPS, np.stack([limits.over, limits.under], axis=1).ravel())]


def _person_parts(limits: PersonLimits, row: Integers) -> list[tuple[int, Integers]]:
    """The same for persons with a value; a person by himself has no cap: at most all of the persons are he."""
    from tclose.kernels import closeness as columns

    holders = limits.holders
    row[columns.CAPPED], row[columns.DEPTH], row[columns.TOTAL] = (
        columns.PERSONS,
        holders.paths.shape[1],
        len(holders.nodes),
    )
    caps = np.append(np.stack([limits.over, limits.under], axis=1).ravel(), [1, 1])
    return [
        (columns.CAPS, caps),
        (columns.PATH, holders.paths.ravel().astype(np.int64)),
        (columns.MASS, holders.nodes.astype(np.int64)),
    ]


def costs_of(table: EncodedTable) -> Costs:
    """What a span of places costs on each axis."""
    from tclose.kernels import costs as columns

    rows = np.zeros((len(table.axes), columns.N_COLUMNS), np.int64)
    data = [np.zeros(0)]
    for row, axis in zip(rows, table.axes, strict=True):
        row[columns.IS_TREE], row[columns.LAST] = isinstance(axis, TreeAxis), axis.size - axis.missing
        row[columns.OWN] = row[columns.REACH] = -1
        if isinstance(axis, SpanAxis):
            parts = {columns.LOWS: axis.lows, columns.HIGHS: axis.highs}
            parts |= {} if axis.reach is None else {columns.REACH: np.append(axis.reach, TOO_WIDE / axis.weight)}
        else:
            row[columns.WIDTH] = len(axis.gap_costs)
            parts = {columns.LEVELS: _range_maxima(axis.gap_costs)}
            parts |= {} if axis.own_costs is None else {columns.OWN: axis.own_costs}
        for column, part in parts.items():
            row[column] = sum(map(len, data))
            data.append(part.ravel())
    return columns.Costs(rows, np.concatenate(data))


def _range_maxima(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row j holds, at i, the largest of the 2^j values from i on."""
    rows = [values]
    while 2 ** len(rows) <= len(values):
        half = 2 ** (len(rows) - 1)
        row = rows[-1].copy()
        row[:-half] = np.maximum(row[:-half], row[half:])
        rows.append(row)
    return np.stack(rows)
