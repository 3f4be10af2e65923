"""Is this class close enough, diverse enough and within its caps? Decided exactly, in integers.

A class is a run of rows, or the side of a cut of one. Each sensitive attribute asks O(s) to
count s rows, and O(s log m) (a line of m values) or O(s depth) (a tree) for the distance. A matrix and a
joint of several ask for a transport problem to be solved, of s and m places at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from tclose.kernels.compile import by_types, inner, kernel, once
from tclose.kernels.sorting import sort_codes
from tclose.kernels.transport import NEAR, carry, match_near

NO, YES, ASK = 0, 1, 2
NONE, LINE, TREE, OTHER, TRANSPORT = 0, 1, 2, 3, 4  # FORM; OTHER the caller decides: very long fractions
VALUES, NODES, PERSONS = 1, 2, 3  # CAPPED: what has a largest share; 0 is nothing

# Columns of the table of rules. t is T_OVER / T_UNDER; l asked is 0 where it is not.
FORM, SIZE, T_OVER, T_UNDER, DENOMINATOR, DEPTH, TOTAL = range(7)
DISTINCT, FREQUENCY_OVER, FREQUENCY_UNDER, RECURSIVE_OVER, RECURSIVE_UNDER, RECURSIVE_L = range(7, 13)
# Where in `data` begin, for a line: the positions of its values, the rows of the reference up to
# each, and the sum over earlier values of (next position - position) rows; and for a tree: the
# weight of each node, the rows of the reference below it, and for each value its leaf and the nodes
# above it, filled up with -1. TOTAL is the sum of weight times rows.
# For transport WEIGHT are the costs from each value to each, MASS the rows of the reference, and
# POSITION pairs of values that lie together.
# CAPS is where the largest share of each value or node begins, its numerator and its denominator, both at most 2^31.
# Where these are shares of persons, codes are persons with a value: PATH are the holders of each, the person by himself
# first, MASS what each holder has (`Holders`), DEPTH how many there are at most, and TOTAL their number.
POSITION, BELOW, AREA, WEIGHT, MASS, PATH, CAPPED, CAPS = range(13, 21)
N_COLUMNS = 21

Integers = NDArray[np.int64]


class Rules(NamedTuple):
    """A requirement as few arrays: what is long is laid end to end, and `table` says where it begins.

    Few, because the compiler takes its time over every array that is handed from kernel to kernel.
    """

    n: int  # rows of the reference
    table: Integers  # one row an attribute, its columns named above
    entropy: NDArray[np.float64]  # log l, negative where not asked
    data: Integers
    carried: Integers | None  # the places of matrices and joints; None: then their transport is not compiled


class Scratch(NamedTuple):
    """Room to count in: a tree's nodes come after its values. Counts are zero between calls."""

    counts: Integers
    touched: NDArray[np.int32]


@once
def count_side(
    rows: NDArray[np.int32], axis: int, cut: int, left: bool, column: int, scratch: Scratch
) -> tuple[int, int]:
    """Count a column over the rows on one side of a cut (axis -1: all); returns distinct values and rows."""
    distinct, size = 0, 0
    for row in range(len(rows)):
        if axis >= 0 and (rows[row, axis] <= cut) != left:
            continue
        code = rows[row, column]
        if scratch.counts[code] == 0:
            scratch.touched[distinct] = code
            distinct += 1
        scratch.counts[code] += 1
        size += 1
    return distinct, size


@once
def line_terms(rules: Rules, attribute: int, scratch: Scratch, distinct: int, size: int) -> tuple[int, int]:
    """a and b with sum over edges e of width(e) |n c(e) - s N(e)| = n a - s b.

    c(e) and N(e) count the class and the reference up to e. Between two values that occur in
    the class c is constant and N grows, so the sign changes once: a search finds where, and the
    sums on both sides come from prefix sums (`position` of widths, `area` of width N).
    """
    table, data, counts, touched = rules.table[attribute], rules.data, scratch.counts, scratch.touched
    size_of_domain, position, below, area = table[SIZE], table[POSITION], table[BELOW], table[AREA]
    if size_of_domain <= 8 * distinct:
        found = 0
        for code in range(size_of_domain):
            if counts[code]:
                touched[found] = code
                found += 1
    else:
        sort_codes(touched, distinct)
    a, b, count, low = 0, 0, 0, 0
    for place in range(distinct + 1):
        high = touched[place] if place < distinct else size_of_domain - 1
        if high > low:
            # The first edge in [low, high) where s N(e) > n c(e).
            limit = rules.n * count // size
            turn, above = low, high
            while turn < above:
                middle = (turn + above) // 2
                if data[below + middle] > limit:
                    above = middle
                else:
                    turn = middle + 1
            a += count * (2 * data[position + turn] - data[position + low] - data[position + high])
            b += 2 * data[area + turn] - data[area + low] - data[area + high]
            low = high
        if place < distinct:
            count += counts[high]
    return a, b


@once
def climb(rules: Rules, attribute: int, scratch: Scratch, distinct: int) -> int:
    """Count the nodes above the values of the class, listed after these; returns where the list ends."""
    table, data, counts, touched = rules.table[attribute], rules.data, scratch.counts, scratch.touched
    depth, n_values = table[DEPTH], table[SIZE]
    found = distinct
    for place in range(distinct):
        code = touched[place]
        for level in range(depth):
            node = data[table[PATH] + code * depth + level]
            if node < 0:
                break
            if counts[n_values + node] == 0:
                touched[found] = node
                found += 1
            counts[n_values + node] += counts[code]
    return found


@once
def below_caps(rules: Rules, attribute: int, scratch: Scratch, distinct: int, size: int) -> bool:
    """Is count / size <= over / under for every value of the class, or for every node above one?

    Counts, numerators and denominators are at most 2^31, so both products fit.
    """
    table, data, counts, touched = rules.table[attribute], rules.data, scratch.counts, scratch.touched
    caps, n_values, kept = table[CAPS], table[SIZE], True
    if table[CAPPED] == VALUES:
        for place in range(distinct):
            code = touched[place]
            kept = kept and counts[code] * data[caps + 2 * code + 1] <= data[caps + 2 * code] * size
    elif table[CAPPED] == NODES:
        found = climb(rules, attribute, scratch, distinct)
        for place in range(distinct, found):
            node = touched[place]
            kept = kept and counts[n_values + node] * data[caps + 2 * node + 1] <= data[caps + 2 * node] * size
            counts[n_values + node] = 0
    return kept


@once
def below_person_caps(rules: Rules, attribute: int, scratch: Scratch, distinct: int) -> bool:
    """Is c / P <= over / under for every value, of P persons of the class c having a row of it?

    A holder counts once, however many rows of the class he has. Holders are listed after the codes; behind the
    counts of codes stand marks of holders, then the persons with each value, and at the end all persons.
    """
    table, data, counts, touched = rules.table[attribute], rules.data, scratch.counts, scratch.touched
    depth, caps, marks = table[DEPTH], table[CAPS], table[SIZE]
    persons, found, kept, everyone = marks + table[TOTAL], distinct, True, 0
    for place in range(distinct):
        path = table[PATH] + touched[place] * depth
        for level in range(depth):
            holder = data[path + level]
            if holder >= 0 and counts[marks + holder] == 0:
                counts[marks + holder] = 1
                counts[persons + data[table[MASS] + holder]] += 1
                touched[found] = holder
                found += 1
                everyone += level == 0
    for place in range(distinct, found):
        node = data[table[MASS] + touched[place]]
        over, under = data[caps + 2 * node], data[caps + 2 * node + 1]
        kept = kept and counts[persons + node] * under <= over * everyone
    for place in range(distinct, found):
        counts[marks + touched[place]] = 0
        counts[persons + data[table[MASS] + touched[place]]] = 0
    return kept


@once
def tree_terms(rules: Rules, attribute: int, scratch: Scratch, distinct: int, size: int) -> tuple[int, int]:
    """a and b with sum over nodes of weight |n c(node) - s N(node)| = n a - s b.

    Only nodes above values of the class have c > 0; all others add s weight N.
    """
    table, data, counts, touched = rules.table[attribute], rules.data, scratch.counts, scratch.touched
    n_values, found = table[SIZE], climb(rules, attribute, scratch, distinct)
    a, b = 0, -table[TOTAL]
    for place in range(distinct, found):
        node = touched[place]
        count, weight, mass = counts[n_values + node], data[table[WEIGHT] + node], data[table[MASS] + node]
        b += weight * mass
        if rules.n * count > size * mass:
            a += weight * count
            b += weight * mass
        else:
            a -= weight * count
            b -= weight * mass
        counts[n_values + node] = 0
    return a, b


@once
def within(a: int, b: int, n: int, s: int, over: int, under: int, denominator: int) -> int:
    """Is (n a - s b) / (n s denominator) <= over / under?

    x = under n a - under s b - over n s denominator must not be positive. In floats each
    product of at most four factors is off by less than 8 ulp, so x by less than `error`; if |x| is
    larger, its sign is sure. Otherwise |x| <= 2 error, and while that is below 2^62 integer
    arithmetic modulo 2^64 gives x itself. What is left is not decided here.
    """
    first = float(under) * float(n) * float(a)
    second = float(under) * float(s) * float(b)
    third = float(over) * float(n) * float(s) * float(denominator)
    near = first - second - third
    error = 4e-15 * (abs(first) + abs(second) + abs(third))
    if near > error:
        return NO
    if near < -error:
        return YES
    if error > 1e18:
        return ASK
    exact = under * n * a - under * s * b - over * n * s * denominator
    return YES if exact <= 0 else NO


@inner
def transport_within(rules: Rules, attribute: int, scratch: Scratch, size: int) -> int:
    """Is the least work that turns n c(value) into s N(value) at most t n s denominator?

    What both have at a value stays there, for the distance is a metric. n s denominator bounds all
    sums, and if it is too long for 64 bits nothing is decided here.
    """
    n, m, denominator = rules.n, rules.table[attribute, SIZE], rules.table[attribute, DENOMINATOR]
    if float(n) * float(size) * float(denominator) > 4e18:
        return ASK
    weight, mass = rules.table[attribute, WEIGHT], rules.table[attribute, MASS]
    over, under = rules.table[attribute, T_OVER], rules.table[attribute, T_UNDER]
    work = n * size * denominator
    limit = over * (work // under) + over * (work % under) // under
    n_over, n_lacking = 0, 0
    surplus = np.empty(m, np.int64)
    for value in range(m):
        surplus[value] = n * scratch.counts[value] - size * rules.data[mass + value]
        n_over += surplus[value] > 0
        n_lacking += surplus[value] < 0
    if n_over == 0 or match_near(rules.data, weight, rules.table[attribute, POSITION], surplus) <= limit:
        return YES
    sign = 1 if n_over <= n_lacking else -1
    few, many = np.empty(min(n_over, n_lacking), np.int64), np.empty(max(n_over, n_lacking), np.int64)
    supply, need = np.empty(len(few), np.int64), np.empty(len(many), np.int64)
    n_few, n_many = 0, 0
    for value in range(m):
        if sign * surplus[value] > 0:
            few[n_few], supply[n_few] = value, sign * surplus[value]
            n_few += 1
        elif surplus[value] != 0:
            many[n_many], need[n_many] = value, -sign * surplus[value]
            n_many += 1
    costs = np.empty((n_many, n_few), np.int64)
    for j in range(n_many):
        for i in range(n_few):
            costs[j, i] = rules.data[weight + many[j] * m + few[i]]
    flows = np.zeros((n_few, n_many), np.int64)
    rises, falls = np.zeros(n_few, np.int64), np.empty(n_many, np.int64)
    return YES if carry(costs, supply, need, denominator, limit, flows, rises, falls) == NEAR else NO


def _transport_close(rules: Any, attribute: Any, scratch: Any, size: Any) -> Callable[..., int]:
    if isinstance(rules.types[rules.fields.index("carried")], types.NoneType):
        return lambda rules, attribute, scratch, size: ASK
    return lambda rules, attribute, scratch, size: transport_within(rules, attribute, scratch, size)


@by_types(_transport_close)
def transport_close(rules: Rules, attribute: int, scratch: Scratch, size: int) -> int:
    """The same, where there are matrices or joints: transport takes long to compile, and few tables have any."""
    return transport_within(rules, attribute, scratch, size)


@once
def largest_sum(scratch: Scratch, distinct: int, places: int) -> int:
    """The sum of the `places` largest counts, the next largest found in each pass."""
    total, before, before_at = 0, 2**62, -1
    for _ in range(min(places, distinct)):
        best, best_at = 0, -1
        for place in range(distinct):
            count = scratch.counts[scratch.touched[place]]
            if count > best and (count < before or (count == before and place > before_at)):
                best, best_at = count, place
        total += best
        before, before_at = best, best_at
    return total


@once
def diverse(rules: Rules, attribute: int, scratch: Scratch, distinct: int, size: int) -> int:
    """Is the counted class as diverse as asked? An entropy too near its bound is not decided here."""
    table, counts, touched = rules.table[attribute], scratch.counts, scratch.touched
    if distinct < table[DISTINCT]:
        return NO
    most = 0
    for place in range(distinct):
        most = max(most, counts[touched[place]])
    over, under = table[FREQUENCY_OVER], table[FREQUENCY_UNDER]
    if over and most * over > size * under:
        return NO
    if table[RECURSIVE_L]:
        rest = size - largest_sum(scratch, distinct, table[RECURSIVE_L] - 1)
        if most * table[RECURSIVE_UNDER] >= rest * table[RECURSIVE_OVER]:
            return NO
    if rules.entropy[attribute] >= 0:
        spread = 0.0
        for place in range(distinct):
            count = counts[touched[place]]
            spread += count * math.log(count)
        surplus = math.log(size) - spread / size - rules.entropy[attribute]
        if surplus < -1e-9:
            return NO
        if surplus < 1e-9:
            return ASK
    return YES


@kernel
def judge(rules: Rules, attribute: int, scratch: Scratch, distinct: int, size: int) -> int:
    """NO, YES or ASK: does the counted class meet what is asked of this attribute? Its counts are zero again after."""
    table, counts, touched = rules.table[attribute], scratch.counts, scratch.touched
    answer = diverse(rules, attribute, scratch, distinct, size)
    if answer != NO and not below_caps(rules, attribute, scratch, distinct, size):
        answer = NO
    if answer != NO and table[CAPPED] == PERSONS and not below_person_caps(rules, attribute, scratch, distinct):
        answer = NO
    if answer != NO and table[FORM] == OTHER:
        answer = ASK
    elif answer != NO and table[FORM] == TRANSPORT:
        close = transport_close(rules, attribute, scratch, size)
        answer = NO if close == NO else max(answer, close)
    elif answer != NO and table[FORM] != NONE:
        if table[FORM] == LINE:
            a, b = line_terms(rules, attribute, scratch, distinct, size)
        else:
            a, b = tree_terms(rules, attribute, scratch, distinct, size)
        over, under = table[T_OVER], table[T_UNDER]
        close = within(a, b, rules.n, size, over, under, table[DENOMINATOR])
        answer = NO if close == NO else max(answer, close)
    for place in range(distinct):
        counts[touched[place]] = 0
    return answer


@kernel
def holds(
    rows: NDArray[np.int32],
    first_code: int,
    axis: int,
    cut: int,
    left: bool,
    rules: Rules,
    scratch: Scratch,
) -> int:
    """NO, YES or ASK: does the class, or one side of its cut, meet all that is asked but k? (That the caller sees.)

    Columns of `rows` from `first_code` on hold the codes of the attributes.
    """
    verdict = YES
    for attribute in range(len(rules.table)):
        distinct, size = count_side(rows, axis, cut, left, first_code + attribute, scratch)
        answer = judge(rules, attribute, scratch, distinct, size)
        if answer == NO:
            return NO
        verdict = max(verdict, answer)
    return verdict


@kernel
def judge_classes(
    rows: NDArray[np.int32], starts: Integers, rules: Rules, scratch: Scratch, verdicts: NDArray[np.int8]
) -> None:
    """The verdict on every class; `rows` are the codes of one after the other, and `starts` where each begins."""
    for each in range(len(verdicts)):
        verdicts[each] = holds(rows[starts[each] : starts[each + 1]], 0, -1, 0, True, rules, scratch)
