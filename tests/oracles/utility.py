"""What a release is good for, from the definitions: loops over raw values, nothing shared with the package.

A line is one quasi-identifier (or one position of digits). `before` has a dictionary for every row of
the original, from the line to its value (None if missing). `after` has one for every released row,
from the line to the set of values that what is released covers. Where both are in one order it is said.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import inf, log, log2
from statistics import median

Value = Hashable
Before = Sequence[Mapping[str, Value]]
After = Sequence[Mapping[str, frozenset[Value]]]
Domains = Mapping[str, frozenset[Value]]  # all values of a line, missing among them if some are


def numeric_loss(covered: frozenset[Value], observed: Sequence[int]) -> Fraction:
    """004 section 3.2: the width over that of the range; missing mixed with others loses all."""
    if None in covered:
        return Fraction(len(covered) > 1)
    numbers = [number for number in covered if isinstance(number, int)]
    return Fraction(max(numbers) - min(numbers), max(max(observed) - min(observed), 1))


def leaf_loss(covered: frozenset[Value], n_leaves: int) -> Fraction:
    """004 section 3.2: leaves below the ancestor over all leaves, 0 for one."""
    if None in covered:
        return Fraction(len(covered) > 1)
    return Fraction(len(covered), n_leaves) if len(covered) > 1 else Fraction(0)


def summed_leaf_loss(covered: frozenset[Value], n_leaves: int) -> Fraction:
    """003: (LN_n - 1) / (LN - 1)."""
    if None in covered:
        return Fraction(len(covered) > 1)
    return Fraction(len(covered) - 1, max(n_leaves - 1, 1))


def is_hidden(row: Mapping[str, frozenset[Value]], domains: Domains) -> bool:
    """Whether every line of a released row covers all there is, and there are several."""
    return all(len(domains[line]) > 1 and covered == domains[line] for line, covered in row.items())


def suppressed_cells(after: After, domains: Domains, n: int) -> int:
    """Cells that tell nothing, those of rows left out among them."""
    hidden = sum(len(domains[line]) > 1 and covered == domains[line] for row in after for line, covered in row.items())
    return hidden + (n - len(after)) * len(domains)


def discernibility(shown: Sequence[Hashable], hidden: Sequence[bool], n: int) -> int:
    """Each row counts the rows it looks like; a suppressed one all."""
    total = (n - len(shown)) * n
    for one, suppressed in zip(shown, hidden, strict=True):
        total += n if suppressed else sum(one == other for other in shown)
    return total


def classification_metric(shown: Sequence[Hashable], labels: Sequence[str], hidden: Sequence[bool], n: int) -> Fraction:
    """Rows whose label is not the most frequent of their class, and suppressed ones."""
    wrong = n - len(shown)
    for group in set(shown):
        members = [place for place, one in enumerate(shown) if one == group]
        if hidden[members[0]]:
            wrong += len(members)
        else:
            wrong += len(members) - max(Counter(labels[place] for place in members).values())
    return Fraction(wrong, n)


def entropy(before: Before, after: After) -> float:
    """Sum over cells of -log2 Pr(value | what is released); both in one order, None for a row left out."""
    bits = 0.0
    for row, shown in zip(before, after, strict=True):
        for line, value in row.items():
            same = sum(other[line] == value for other in before)
            among = sum(not shown or other[line] in shown[line] for other in before)
            bits -= log2(same / among)
    return bits


def spread(covered: frozenset[Value], numeric: bool, domain: frozenset[Value]) -> frozenset[Value]:
    """The cells over which rows lie evenly: of numbers all from the least to the largest, not only those that occur."""
    if not numeric or covered == {None}:
        return covered
    numbers = [number for number in (domain if None in covered else covered) if isinstance(number, int)]
    return frozenset(range(min(numbers), max(numbers) + 1)) | ({None} if None in covered else set())


def precise(before: Before, wanted: Mapping[str, frozenset[Value]]) -> int:
    """COUNT(*) WHERE each of these lines has one of these values."""
    return sum(all(row[line] in values for line, values in wanted.items()) for row in before)


def estimate(
    after: After, sensitive: Sequence[Value], wanted: Mapping[str, frozenset[Value]], of_sensitive: frozenset[Value]
) -> Fraction:
    """The same of rows that lie evenly in the cells of each line, with their sensitive values as they are."""
    total = Fraction(0)
    for row, value in zip(after, sensitive, strict=True):
        if value in of_sensitive:
            share = Fraction(1)
            for line, values in wanted.items():
                share *= Fraction(len(row[line] & values), len(row[line]))
            total += share
    return total


def median_error(answers: Sequence[tuple[int, Fraction]]) -> float:
    """The median of |estimate - precise| / precise, without those that are precisely 0."""
    return float(median(abs(told - true) / true for true, told in answers if true))


def cube_divergence(
    before: Before, sensitive: Sequence[Value], after: After, released: Sequence[Value], level: int
) -> float:
    """The mean over cubes of the sum over cells of a ln(a / b), a and b the shares of rows in it."""
    found = []
    for lines in combinations(before[0], level):
        cells = Counter(
            (tuple(row[line] for line in lines), value) for row, value in zip(before, sensitive, strict=True)
        )
        total = 0.0
        for (values, value), count in cells.items():
            wanted = {line: frozenset([one]) for line, one in zip(lines, values, strict=True)}
            b = estimate(after, released, wanted, frozenset([value])) / len(after)
            a = Fraction(count, len(before))
            total += float(a) * log(a / b) if b else inf
        found.append(total)
    return sum(found) / len(found)
