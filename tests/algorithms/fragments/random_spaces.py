"""Random tables with several sensitive attributes, as the package has them and as the oracle does."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from tclose.algorithms.fragments.space import SensitiveSpace, scale_of
from tclose.distances import Equal, Form, Line, Tree
from tests.algorithms.shared.random_domains import hierarchy_of, random_metric, random_tree
from tests.oracles import fragments as oracle
from tests.oracles import sabre


@dataclass(frozen=True)
class Case:
    """A space, and for the oracle its forms and rows of codes."""

    space: SensitiveSpace
    forms: list[Form]
    codes: Any  # at [attribute, row]

    def distance(self, attribute: int) -> oracle.Distance:
        """The ground distance between places, by moving a unit from one to the other."""
        form, of_code = self.forms[attribute], self.space.scales[attribute].place_of_code
        code = {int(place): value for value, place in enumerate(of_code) if place >= 0}

        def apart(i: int, j: int) -> Fraction:
            one, other = ([Fraction(int(v == code[x])) for v in range(form.size)] for x in (i, j))
            return Fraction(form.emd(one, other)) if i != j else Fraction(0)

        return apart

    @property
    def cells(self) -> dict[oracle.Cell, int]:
        """Rows by places."""
        return {
            tuple(cell): int(count) for cell, count in zip(self.space.places.tolist(), self.space.counts, strict=True)
        }


def random_form(random: Random, m: int, kinds: str) -> Form:
    kind = random.choice(kinds)
    if kind == "o":
        return Line(np.arange(m), max(m - 1, 1))
    if kind == "n":
        positions = sorted(random.sample(range(40), m))
        return Line(np.array(positions), max(positions[-1] - positions[0], 1) + random.choice([0, 7]))
    if kind == "e":
        return Equal().form(m)
    if kind == "m":
        return random_metric(m, random)
    tree: sabre.Tree = random_tree(list(range(m)), random)
    return Tree.of(hierarchy_of((tree,) if isinstance(tree, int) else tree))


def random_space(seed: int, kinds: str = "onet", most: int = 40) -> Case:
    """`kinds` are o(rdered), n(umeric), e(qual), t(ree), m(atrix)."""
    random = Random(seed)
    n_attributes, n = random.randint(1, 3), random.randint(1, most)
    sizes = [random.randint(1, 7) for _ in range(n_attributes)]
    forms = [random_form(random, m, kinds) for m in sizes]
    hidden = [random.random() for _ in range(n)]  # so that attributes depend on each other
    codes = [[min(int(m * (h if random.random() < 0.6 else random.random())), m - 1) for h in hidden] for m in sizes]
    columns = [np.array(column, np.int32) for column in codes]
    counts = [np.bincount(column, minlength=m) for column, m in zip(columns, sizes, strict=True)]
    scales = [scale_of(form, rows) for form, rows in zip(forms, counts, strict=True)]
    limits = [Fraction(random.randint(0, 30), 40) for _ in sizes]
    return Case(SensitiveSpace.of(scales, columns, limits), forms, np.array(codes))
