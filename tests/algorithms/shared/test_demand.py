"""What is asked as the search sees it, against the distances themselves."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from tclose.algorithms.packing import form_of
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.algorithms.shared.demand import MOST_VALUES, Softened, _joined, decidable, soften
from tclose.distances import Equal, Form, Line, Transport, Tree
from tclose.kernels import soft as kernels
from tclose.kernels.closeness import OTHER, TRANSPORT
from tclose.schema.belief_caps import BeliefCaps
from tclose.schema.columns import Diversity
from tclose.schema.hierarchy import Hierarchy
from tclose.table.encode import Domain
from tests.algorithms.shared.random_domains import hierarchy_of, random_metric, random_tree
from tests.algorithms.tight.small_pieces import stop_compiling

Counts = NDArray[np.int64]
LONG = Fraction(10**12 + 39, 3 * 10**12)


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_compiling(monkeypatch)


def random_form(random: Random) -> Form:
    m = random.randint(1, 9)
    if random.random() < 0.4:
        positions = sorted(random.sample(range(40), m))
        return Line(np.array(positions), max(positions[-1] - positions[0], 1))
    tree = random_tree(list(range(m)), random)
    form = Tree.of(hierarchy_of(tree if isinstance(tree, tuple) else (tree,)))
    return form.with_missing() if random.random() < 0.3 else form


def asked(form: Form, reference: list[int], t: Fraction | None, diversity: Diversity | None = None) -> Attribute:
    return Attribute(Domain("any", form, False), np.array(reference, np.int64), t, diversity)


def random_requirement(seed: int, unused_on_lines: bool = False) -> Requirement:
    """Up to three attributes, some without t, and trees with leaves that no row has."""
    random, attributes = Random(seed), []
    n = random.randint(3, 40)
    for _ in range(random.randint(1, 3)):
        form = random_form(random)
        every = list(range(form.size)) if isinstance(form, Line) and not unused_on_lines else []
        rows = [*every, *(random.choice(range(form.size)) for _ in range(n - len(every)))]
        t = Fraction(random.randint(1, 20), 20) if random.random() < 0.9 else None
        attributes.append(asked(form, [rows.count(value) for value in range(form.size)], t))
    n = max(int(attribute.reference.sum()) for attribute in attributes)
    for attribute in attributes:
        attribute.reference[int(attribute.reference.argmax())] += n - int(attribute.reference.sum())
    return Requirement(1, tuple(attributes), n)


def random_class(requirement: Requirement, random: Random) -> tuple[list[Counts], int]:
    """How often each value occurs in some rows, for each attribute."""
    size, drawn = random.randint(1, requirement.n), []
    for attribute in requirement.attributes:
        values = np.repeat(np.arange(len(attribute.reference)), attribute.reference).tolist()
        rows = random.sample(values, size) if random.random() < 0.5 else sorted(values)[:size]
        drawn.append(np.bincount(rows, minlength=len(attribute.reference)))
    return drawn, size


def measured(softened: Softened, drawn: list[Counts], size: int) -> tuple[float, kernels.Gauge]:
    n_values = softened.soft.n_values
    counts = np.zeros(n_values, np.int64)
    for of_code, own in zip(softened.values, drawn, strict=True):
        np.add.at(counts, of_code, own)
    gauge = kernels.Gauge(np.zeros(n_values + 1, np.int64), np.full(n_values + 1, 7.0), np.full(len(drawn), 7.0))
    return kernels.measure(softened.soft, counts, size, gauge), gauge


def check_ratios(requirement: Requirement, random: Random) -> None:
    drawn, size = random_class(requirement, random)
    worst, gauge = measured(soften(requirement), drawn, size)
    expected = [
        float(attribute.distance(own) / attribute.t) if attribute.t is not None else 0.0
        for attribute, own in zip(requirement.attributes, drawn, strict=True)
    ]
    assert gauge.ratios.tolist() == pytest.approx(expected, abs=1e-9)
    assert worst == pytest.approx(max(expected), abs=1e-9)


def test_ratios_are_distances_over_t() -> None:
    for seed in range(200):
        check_ratios(random_requirement(seed), Random(seed))


def test_ratios_where_a_line_has_values_that_no_row_has() -> None:
    for seed in range(100):
        check_ratios(random_requirement(seed, unused_on_lines=True), Random(seed))


def test_a_t_of_zero_is_only_met_by_the_reference_itself() -> None:
    requirement = Requirement(1, (asked(Line(np.arange(3), 2), [2, 4, 2], Fraction(0)),), 8)
    assert measured(soften(requirement), [np.array([1, 2, 1])], 4)[0] <= 1e-6
    assert measured(soften(requirement), [np.array([1, 3, 1])], 5)[0] > 1e6


def test_potentials_are_the_gradient() -> None:
    """Of the distance over t, by differences that are exact as long as no edge changes its sign."""
    step, n_checked = Fraction(1, 10**9), 0
    for seed in range(120):
        random, requirement = Random(seed), random_requirement(seed)
        softened = soften(requirement)
        drawn, size = random_class(requirement, random)
        potentials = measured(softened, drawn, size)[1].potentials
        for attribute, own, of_code in zip(requirement.attributes, drawn, softened.values, strict=True):
            if attribute.t is None:
                continue
            p = [Fraction(int(count), size) for count in own]
            q = [Fraction(int(count), requirement.n) for count in attribute.reference]
            u, v = random.randrange(len(p)), random.randrange(len(p))
            slopes = []
            for mass in (step, -step):
                moved = list(p)
                moved[u] -= mass
                moved[v] += mass
                slopes.append((attribute.domain.form.emd(moved, q) - attribute.domain.form.emd(p, q)) / mass)
            if slopes[0] == slopes[1]:
                n_checked += u != v
                found = potentials[of_code[v]] - potentials[of_code[u]]
                assert found == pytest.approx(float(slopes[0] / attribute.t), abs=1e-9)
    assert n_checked > 80


def check_values(requirement: Requirement, softened: Softened) -> None:
    """Values are numbered through, and each edge has the share of the reference that lies behind it."""
    soft, shares = softened.soft, np.zeros(softened.soft.n_values)
    for attribute, values in zip(requirement.attributes, softened.values, strict=True):
        np.add.at(shares, values, attribute.reference / requirement.n)
    used = np.unique(np.concatenate(softened.values))
    assert used.tolist() == list(range(soft.n_values))
    below = np.concatenate([[0.0], np.cumsum(shares)])
    for (low, high, number), share in zip(soft.edges.tolist(), soft.shares.tolist(), strict=True):
        own = softened.values[number]
        assert own.min() <= low < high <= own.max() + 1
        assert share == pytest.approx(below[high] - below[low])


@pytest.mark.parametrize("kind", ["ordered", "numeric", "few at one end"])
def test_a_long_line_is_taken_together(kind: str) -> None:
    rng, m = np.random.default_rng(3), 1500
    widths = rng.integers(1, 9, m) if kind == "numeric" else np.full(m, 3 if kind == "ordered" else 1)
    positions = np.cumsum(widths)
    reference = rng.integers(1, 6, m) if kind != "few at one end" else np.sort(rng.geometric(0.1, m))
    t = Fraction(1, 5)
    form = Line(positions, int(positions[-1] - positions[0]))
    attributes = (asked(form, reference.tolist(), t), asked(Line(np.arange(2), 1), [1, reference.sum() - 1], t))
    requirement = Requirement(5, attributes, int(reference.sum()))
    softened = soften(requirement)
    assert softened.soft.n_values <= MOST_VALUES + 2
    assert (np.diff(softened.values[0]) >= 0).all()
    check_values(requirement, softened)
    rows = np.repeat(np.arange(m), reference)
    for start, size in ((0, 30), (200, 500), (1000, 1000), (0, len(rows))):
        for chosen in (rng.permutation(rows)[:size], rows[start : start + size]):
            drawn = [np.bincount(chosen, minlength=m), np.array([0, len(chosen)])]
            ratio = measured(softened, drawn, len(chosen))[1].ratios[0]
            assert ratio == pytest.approx(float(attributes[0].distance(drawn[0]) / t), abs=0.02 / float(t))


def large_tree(shape: tuple[int, ...]) -> Requirement:
    """Nodes with so many children at each level."""
    paths: list[tuple[str, ...]] = [("*",)]
    for width in shape:
        paths = [(f"{path[0]}.{place}", *path) for path in paths for place in range(width)]
    form = Tree.of(Hierarchy.from_paths(paths))
    reference = np.random.default_rng(1).integers(0, 20, form.size)
    return Requirement(5, (asked(form, reference.tolist(), Fraction(3, 10)),), int(reference.sum()))


def classes_of_tree(requirement: Requirement) -> list[Counts]:
    rng, reference = np.random.default_rng(2), requirement.attributes[0].reference
    rows = np.repeat(np.arange(len(reference)), reference)
    chosen = (rng.permutation(rows)[:40], rows[:700], rng.permutation(rows)[:3000], rows)
    return [np.bincount(each, minlength=len(reference)) for each in chosen]


@pytest.mark.parametrize("shape", [(20, 50), (4, 5, 30), (600,), (2, 2, 70), (300, 2)])
def test_a_large_tree_is_cut_off_at_a_level(shape: tuple[int, ...]) -> None:
    """What is left of it is never farther than the tree itself."""
    requirement = large_tree(shape)
    (attribute,), softened = requirement.attributes, soften(requirement)
    assert softened.soft.n_values <= MOST_VALUES
    check_values(requirement, softened)
    for drawn in classes_of_tree(requirement):
        exact = float(attribute.distance(drawn) / Fraction(3, 10))
        assert measured(softened, [drawn], int(drawn.sum()))[0] <= exact + 1e-9


@pytest.mark.parametrize("shape", [(600,), (20, 50), (300, 2)])
def test_what_is_taken_together_is_as_far_as_if_spread_like_the_reference(shape: tuple[int, ...]) -> None:
    requirement = large_tree(shape)
    (attribute,), softened = requirement.attributes, soften(requirement)
    (of_code,) = softened.values
    q = [Fraction(int(count), requirement.n) for count in attribute.reference]
    together = [sum((q[code] for code in np.flatnonzero(of_code == value)), Fraction()) for value in range(MOST_VALUES)]
    for drawn in classes_of_tree(requirement):
        own, size = np.bincount(of_code, weights=drawn).astype(int), int(drawn.sum())
        p = [Fraction(int(own[value]), size) * q[code] / together[value] for code, value in enumerate(of_code.tolist())]
        expected = float(attribute.domain.form.emd(p, q) / Fraction(3, 10))
        assert measured(softened, [drawn], size)[0] == pytest.approx(expected, abs=1e-9)


def test_a_matrix_stays_itself_and_its_tree_is_never_nearer() -> None:
    for seed in range(60):
        random = Random(seed)
        matrix = random_metric(random.randint(1, 7), random)
        reference = [random.choice([0, 1, 3, 8]) for _ in range(matrix.size)]
        reference[random.randrange(matrix.size)] += 2
        t = Fraction(random.randint(0, 20), 20)
        requirement = Requirement(1, (asked(matrix, reference, t),), sum(reference))
        strict = decidable(requirement)
        (attribute,) = strict.attributes
        assert attribute.domain.form is matrix
        assert form_of(attribute) == TRANSPORT
        assert attribute.t == t
        tree = _joined(matrix)
        q = [Fraction(count, sum(reference)) for count in reference]
        for _ in range(5):
            drawn = random_class(requirement, random)[0][0]
            p = [Fraction(int(count), int(drawn.sum())) for count in drawn]
            assert tree.emd(p, q) >= matrix.emd(p, q)
            assert requirement.attributes[0].holds(drawn) == attribute.holds(drawn)


def random_product(random: Random) -> Transport:
    forms = [random_form(random), random_form(random)]
    cells = np.argwhere(np.ones([form.size for form in forms]))
    chosen = random.sample(range(len(cells)), min(len(cells), random.randint(1, 12)))
    return Transport.of(forms, cells[chosen])


def test_a_joint_stays_itself_and_is_steered_by_a_tree() -> None:
    for seed in range(60):
        random = Random(seed)
        form = random_product(random)
        reference = [random.choice([1, 3, 8]) for _ in range(form.size)]
        requirement = Requirement(1, (asked(form, reference, Fraction(1, 4)),), sum(reference))
        strict = decidable(requirement)
        assert form_of(strict.attributes[0]) == TRANSPORT
        assert strict.attributes[0].domain.form is form
        softened = soften(strict)
        check_values(strict, softened)
        assert softened.soft.n_values == form.size
        assert measured(softened, [np.array(reference)], sum(reference))[0] <= 1e-9
        ratios = [
            measured(softened, [drawn], size)[0] / max(float(4 * form.distance(drawn, np.array(reference))), 1e-9)
            for (drawn,), size in (random_class(requirement, random) for _ in range(20))
            if size < sum(reference)
        ]
        assert 0.25 < np.median(ratios) < 4 or form.size == 1


def test_a_joint_too_fine_for_the_kernels_becomes_stricter() -> None:
    fine = 2**40
    line = Line(np.array([0, fine // 3, fine]), fine)
    form = Transport.of([line, Line(np.arange(2), 1)], np.array([[0, 0], [1, 1], [2, 0], [1, 0]]))
    reference = [40_000, 30_000, 20_000, 10_000]
    requirement = Requirement(1, (asked(form, reference, Fraction(1, 5)),), 100_000)
    (attribute,) = decidable(requirement).attributes
    strict = attribute.domain.form
    assert isinstance(strict, Transport)
    assert requirement.n**2 * strict.denominator < 2**62
    for counts in ([5, 1, 1, 1], [1, 5, 2, 1], [400, 300, 200, 101]):
        near, far = (each.distance(np.array(counts), np.array(reference)) for each in (form, strict))
        assert near <= far < near + Fraction(1, 10**6)


def test_a_matrix_with_values_that_only_the_reference_lacks() -> None:
    for seed in range(40):
        random = Random(seed)
        matrix = random_metric(random.randint(2, 6), random)
        reference = [random.choice([0, 1, 3, 8]) for _ in range(matrix.size)]
        reference[random.randrange(matrix.size)] += 2
        requirement = Requirement(1, (asked(matrix, reference, Fraction(random.randint(1, 19), 20)),), sum(reference))
        (attribute,) = decidable(requirement).attributes
        for _ in range(5):
            drawn = np.array([random.randint(0, 3) for _ in range(matrix.size - 1)] + [1])
            assert requirement.attributes[0].holds(drawn) or not attribute.holds(drawn)


def test_a_matrix_that_only_asks_for_l() -> None:
    matrix = random_metric(4, Random(1))
    requirement = decidable(Requirement(1, (asked(matrix, [3, 2, 1, 1], None, Diversity(distinct=2)),), 7))
    assert soften(requirement).soft.n_values == 4


def test_long_fractions_become_stricter() -> None:
    forms: list[Form] = [Line(np.arange(4), 3), Tree.of(Hierarchy.flat(["a", "b", "c", "d"]))]
    for form in forms:
        for t in (LONG, Fraction(1, 3 * 10**11), Fraction(1, 2), None):
            for whole in (None, LONG + 1, Fraction(3, 2)):
                recursive = None if whole is None else (whole, 2)
                loose = asked(form, [4, 3, 2, 3], t, Diversity(2, None, whole, recursive))
                (strict,) = decidable(Requirement(2, (loose,), 12)).attributes
                assert form_of(strict) != OTHER
                assert strict.l is not None
                assert strict.l.distinct == 2
                for ours, given, sign in (
                    (strict.t, t, 1),
                    (strict.l.frequency, whole, -1),
                    (strict.l.recursive and strict.l.recursive[0], whole, 1),
                ):
                    assert (ours is None) == (given is None)
                    if ours is not None and given is not None:
                        assert 0 <= sign * (given - ours) < Fraction(1, 10**6)
                        assert ours == given or given.denominator > 10**9


def test_short_fractions_stay() -> None:
    loose = asked(Line(np.arange(3), 2), [1, 1, 1], Fraction(1, 3), Diversity(2, Fraction(3), Fraction(5, 4), None))
    (strict,) = decidable(Requirement(2, (loose,), 3)).attributes
    assert (strict.t, strict.l) == (loose.t, loose.l)


# Caps on belief, and diversity


def random_caps(random: Random, form: Form) -> BeliefCaps:
    rise, beta = Fraction(random.randint(1, 8), 10), Fraction(random.randint(1, 12), 4)
    levels = isinstance(form, Tree) and random.random() < 0.5
    return random.choice(
        [BeliefCaps(rise, levels=levels), BeliefCaps(None, beta, True, levels), BeliefCaps(rise, beta)]
    )


def random_capped(seed: int) -> Requirement:
    """One attribute with caps alone, some values of a tree in no row."""
    random = Random(seed)
    form = random_form(random)
    rows = [random.randrange(form.size) for _ in range(random.randint(4, 40))]
    reference = np.array([rows.count(value) for value in range(form.size)], np.int64)
    attribute = Attribute(Domain("any", form, False), reference, None, None, random_caps(random, form))
    return Requirement(1, (attribute,), len(rows))


def used_of_caps(attribute: Attribute, counts: Counts, size: int) -> float:
    """The largest (q - p) / (c - p) over all that is capped below 1."""
    limits, n = attribute.limits, int(attribute.reference.sum())
    assert limits is not None
    worst = 0.0
    for inside, cap in limits.sets():
        p, q = Fraction(int(attribute.reference[inside].sum()), n), Fraction(int(counts[inside].sum()), size)
        if p:
            worst = max(worst, float((q - p) / max(cap - p, Fraction(1, 10**9))))
    return worst


def test_ratios_are_the_part_of_a_cap_that_is_used() -> None:
    above = 0
    for seed in range(200):
        requirement, random = random_capped(seed), Random(seed)
        (attribute,), (drawn, size) = requirement.attributes, random_class(requirement, random)
        worst, _ = measured(soften(requirement), drawn, size)
        assert worst == pytest.approx(used_of_caps(attribute, drawn[0], size), rel=1e-6, abs=1e-9)
        assert (worst <= 1 + 1e-9) == attribute.holds(drawn[0])
        above += worst > 1
    assert 30 < above < 170


def test_a_value_above_its_cap_is_pushed_away() -> None:
    """A row of it, taken out for any other, brings the class nearer; and others dilute it."""
    form, caps = Equal().form(3), BeliefCaps(Fraction(1, 10))
    attribute = Attribute(Domain("any", form, False), np.array([10, 10, 10]), None, None, caps)
    _, gauge = measured(soften(Requirement(1, (attribute,), 30)), [np.array([6, 2, 2])], 10)
    assert gauge.potentials[0] > 0 > gauge.potentials[1] == gauge.potentials[2]


def test_diversity_is_steered_towards() -> None:
    reference = np.array([8, 8, 2])

    def of(counts: list[int], diversity: Diversity) -> tuple[float, list[float]]:
        requirement = Requirement(1, (asked(Equal().form(3), reference.tolist(), None, diversity),), 18)
        worst, gauge = measured(soften(requirement), [np.array(counts)], sum(counts))
        return worst, gauge.potentials[:3].tolist()

    worst, potentials = of([4, 0, 1], Diversity(distinct=3))
    assert worst > 1
    assert potentials[1] == potentials[2] < potentials[0]  # one is missing, the other would be
    assert of([4, 1, 1], Diversity(distinct=3))[0] == 0
    assert of([3, 3, 0], Diversity(frequency=Fraction(2)))[0] == pytest.approx(1)
    assert of([4, 2, 0], Diversity(frequency=Fraction(2)))[0] > 1
    assert of([4, 2, 0], Diversity(recursive=(Fraction(2), 2)))[0] == pytest.approx(1)
    assert of([3, 3, 0], Diversity(entropy=Fraction(2)))[0] == pytest.approx(1)
    worst, potentials = of([4, 2, 0], Diversity(entropy=Fraction(2)))
    assert worst > 1
    assert potentials[0] > potentials[1] > potentials[2]
