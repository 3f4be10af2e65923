"""The integer kernels against fractions, also where 64 bits overflow."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tclose
from tclose.algorithms.packing import form_of, rules_of, scratch_of
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.distances import Equal, Form, Hierarchical, Line, Numeric, Ordered, Transport, Tree
from tclose.kernels import closeness
from tclose.kernels.closeness import ASK, NO, OTHER, TRANSPORT, YES
from tclose.schema.belief_caps import BeliefCaps
from tclose.schema.columns import Diversity
from tclose.schema.hierarchy import Hierarchy
from tclose.table.encode import Domain

UNEVEN = Hierarchy.from_nested({"a": ["b", "c"], "d": {"e": {"f": ["g", "h"], "i": []}, "j": []}, "k": []})


def random_form(rng: np.random.Generator) -> Form:
    size = int(rng.integers(1, 12))
    pick = int(rng.integers(5))
    if pick == 0:
        return Equal().form(size)
    if pick == 1:
        return Ordered().form(size)
    if pick == 2:
        values = np.sort(rng.choice(1000, size, replace=False)) / 10
        return Numeric(values.tolist(), (0, 100) if rng.random() < 0.5 else None).form(size)
    tree = Hierarchical(UNEVEN).form(0)
    return tree.with_missing() if pick == 4 else tree


def random_requirement(rng: np.random.Generator) -> tuple[Requirement, np.ndarray[Any, Any]]:
    form = random_form(rng)
    n = int(rng.integers(1, 40))
    codes = rng.integers(0, form.size, n).astype(np.int32)
    reference = np.bincount(codes, minlength=form.size).astype(np.int64)
    t = Fraction(int(rng.integers(0, 21)), 20)
    asked = [None, Diversity(2), Diversity(entropy=Fraction(2)), Diversity(frequency=Fraction(3, 2))]
    asked.append(Diversity(recursive=(Fraction(3, 2), 2)))
    attribute = Attribute(Domain("x", form, False), reference, t, asked[int(rng.integers(5))], random_caps(rng, form))
    return Requirement(1, (attribute,), n), codes


def random_caps(rng: np.random.Generator, form: Form) -> BeliefCaps | None:
    rise = Fraction(int(rng.integers(0, 11)), 10) if rng.random() < 0.5 else None
    beta = Fraction(int(rng.integers(1, 9)), 3) if rng.random() < 0.5 else None
    enhanced = beta is not None and rng.random() < 0.5
    levels = isinstance(form, Tree) and rng.random() < 0.5
    return None if rise is None and beta is None else BeliefCaps(rise, beta, enhanced, levels)


@pytest.mark.parametrize("compiled", [True, False])
def test_agrees_with_fractions(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    names = ("count_side", "line_terms", "tree_terms", "within", "diverse", "climb", "below_caps", "judge", "holds")
    functions = {name: getattr(closeness, name) for name in names}
    if not compiled:
        for name in names:
            monkeypatch.setattr(closeness, name, functions[name].py_func)
    verdicts = set()
    for _ in range(2_000 if compiled else 300):
        requirement, codes = random_requirement(rng)
        chosen = np.sort(rng.choice(codes, int(rng.integers(1, len(codes) + 1)), replace=False))
        cut = int(rng.integers(-1, 12))
        rows = np.stack([np.arange(len(chosen), dtype=np.int32), chosen], axis=1)
        sides = [(-1, True, chosen)]
        if 0 <= cut < len(chosen) - 1:
            sides += [(0, True, chosen[: cut + 1]), (0, False, chosen[cut + 1 :])]
        scratch = scratch_of(requirement)
        for axis, left, members in sides:
            verdict = closeness.holds(rows, 1, axis, cut, left, rules_of(requirement), scratch)
            expected = requirement.holds([members])
            if verdict == ASK:
                asked = requirement.attributes[0].l
                assert asked is not None
                assert asked.entropy is not None
            else:
                assert verdict == (YES if expected else NO)
            verdicts.add(verdict)
            assert not scratch.counts.any()
    assert verdicts == {YES, NO, ASK}


def terms(form: Line | Tree, reference: list[int], counts: list[int]) -> tuple[int, int]:
    attribute = Attribute(Domain("x", form, False), np.array(reference, np.int64), Fraction(1, 2), None)
    requirement = Requirement(1, (attribute,), sum(reference))
    scratch = scratch_of(requirement)
    found = [code for code, count in enumerate(counts) if count]
    scratch.counts[: len(counts)] = counts
    scratch.touched[: len(found)] = found
    function = closeness.line_terms if isinstance(form, Line) else closeness.tree_terms
    a, b = function(rules_of(requirement), 0, scratch, len(found), sum(counts))
    return int(a), int(b)


@pytest.mark.parametrize("form", [Ordered().form(9), Equal().form(9)], ids=["line", "tree"])
def test_terms_give_the_distance(form: Line | Tree) -> None:
    reference, counts = [1] * 9, [1, 1, 1, 0, 0, 0, 0, 0, 0]
    a, b = terms(form, reference, counts)
    denominator = form.span if isinstance(form, Line) else form.denominator
    expected = form.emd([Fraction(c, 3) for c in counts], [Fraction(1, 9)] * 9)
    assert Fraction(9 * a - 3 * b, 9 * 3 * denominator) == expected


@pytest.mark.parametrize("compiled", [True, False])
def test_transport_agrees_with_fractions(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also right at t and a hair beside it."""
    rng = np.random.default_rng(5)
    if not compiled:
        for name in ("count_side", "diverse", "transport_within", "carry", "match_near", "judge", "holds"):
            monkeypatch.setattr(closeness, name, getattr(closeness, name).py_func)
    verdicts = []
    for _ in range(600 if compiled else 120):
        forms = [random_form(rng), random_form(rng)]
        cells = np.argwhere(np.ones([form.size for form in forms]))
        form = Transport.of(forms, rng.permutation(cells)[: int(rng.integers(1, 15))])
        codes = rng.integers(0, form.size, int(rng.integers(1, 40))).astype(np.int32)
        chosen = rng.choice(codes, int(rng.integers(1, len(codes) + 1)), replace=False)
        reference = np.bincount(codes, minlength=form.size).astype(np.int64)
        distance = form.distance(np.bincount(chosen, minlength=form.size), reference)
        for t in (Fraction(int(rng.integers(0, 21)), 20), distance, max(distance - Fraction(1, 10**6), Fraction(0))):
            attribute = Attribute(Domain("x", form, False), reference, t, None)
            requirement = Requirement(1, (attribute,), len(codes))
            assert form_of(attribute) == (TRANSPORT if t.denominator <= 2**31 else OTHER)
            scratch = scratch_of(requirement)
            verdict = closeness.holds(chosen[:, None], 0, -1, 0, True, rules_of(requirement), scratch)
            if form_of(attribute) == TRANSPORT:
                assert verdict == (YES if distance <= t else NO)
                verdicts.append(verdict)
            assert not scratch.counts.any()
            assert attribute.holds(np.bincount(chosen, minlength=form.size)) == (distance <= t)
    assert min(verdicts.count(NO), verdicts.count(YES)) > 30


def test_transport_beyond_64_bits_is_asked_about() -> None:
    form = Transport(np.array([[0, 2**45], [2**45, 0]]), 2**45)
    attribute = Attribute(Domain("x", form, False), np.array([2**9, 2**9]), Fraction(1, 2), None)
    requirement = Requirement(1, (attribute,), 2**10)
    for size, verdict in ((2**6, YES), (2**8, ASK)):
        rows = np.repeat(np.array([[0], [1]], np.int32), size // 2, axis=0)
        rows[0] = 1
        scratch = scratch_of(requirement)
        assert closeness.holds(rows[:size], 0, -1, 0, True, rules_of(requirement), scratch) == verdict
        assert attribute.holds(np.bincount(rows[:, 0]))


def test_right_at_and_next_to_equality_at_size() -> None:
    """n = s = 5e7, m = 1e6, t in millionths: products reach 2.5e27, far above 2^63."""
    n = s = 50_000_000
    denominator = 1_000_000 - 1
    under = 1_000_000
    rng = np.random.default_rng(8)
    for _ in range(2_000):
        over = int(rng.integers(1, under))
        # Choose a and b such that under (n a - s b) is exactly, or one unit beside, over n s denominator.
        b = int(rng.integers(0, s * 100))
        a = b + over * s * denominator // under
        if (over * s * denominator) % under:
            continue
        for beside in (-1, 0, 1):
            exact = under * (n * (a + beside) - s * b) <= over * n * s * denominator
            assert closeness.within(a + beside, b, n, s, over, under, denominator) == (YES if exact else NO)


def test_the_whole_path_at_size() -> None:
    """The same through the prefix sums of a million values, for a class that has one row elsewhere."""
    m, n = 1_000_000, 50_000_000
    reference = np.full(m, n // m, np.int64)
    form = Ordered().form(m)
    counts = reference.copy()
    counts[0] += 1
    counts[-1] -= 1  # one row moves across the whole line: the distance is exactly 1 / n
    for t, verdict in ((Fraction(1, n), YES), (Fraction(1, n + 1), NO), (Fraction(1, n - 1), YES), (Fraction(0), NO)):
        attribute = Attribute(Domain("x", form, False), reference, t, None)
        rules = rules_of(Requirement(1, (attribute,), n))
        scratch = scratch_of(Requirement(1, (attribute,), n))
        scratch.counts[:] = counts
        scratch.touched[:] = np.arange(m)
        a, b = closeness.line_terms(rules, 0, scratch, m, n)
        assert closeness.within(a, b, n, n, t.numerator, t.denominator, m - 1) == verdict


def test_the_cache_notices_every_kernel_file() -> None:
    from tclose.kernels.compile import STAMP

    package = Path(tclose.__file__).parent
    using = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if re.search(r"^@(kernel|inner|once)$", file.read_text(encoding="utf-8"), re.M)
    }
    assert len(using) > 20
    assert {name for name, _ in STAMP} >= using | {"kernels/compile.py"}
    dispatcher: Any = closeness.judge
    assert dispatcher._cache._cache_file._source_stamp == STAMP


def test_what_an_earlier_version_kept_on_disk_is_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise AttributeError("Can't get attribute 'Renamed'")

    dispatcher: Any = closeness.judge
    monkeypatch.setattr("numba.core.caching.pickle.loads", gone)
    assert dispatcher._cache._cache_file._load_index() == {}


@pytest.mark.parametrize("step", [-1, 0, 1])
def test_caps_at_the_edge_of_64_bits(step: int) -> None:
    """A class of 2^31 rows whose share is just at its cap, or one row beside it."""
    n, half = 2**31, 2**30
    form, caps = Equal().form(2), BeliefCaps(rise=Fraction(1, 4))
    attribute = Attribute(Domain("x", form, False), np.array([half // 2, n - half // 2]), None, None, caps)
    requirement = Requirement(1, (attribute,), n)
    scratch = scratch_of(requirement)
    scratch.counts[:2], scratch.touched[:2] = [half + step, n - half - step], [0, 1]
    verdict = closeness.judge(rules_of(requirement), 0, scratch, 2, n)
    assert verdict == (NO if step > 0 else YES)
    assert attribute.holds(np.array([half + step, n - half - step])) == (step <= 0)
