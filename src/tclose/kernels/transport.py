"""The least work between two distributions over few places, in integers: for distances that no tree has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import inner, kernel

FAR, NEAR, SOLVED = 0, 1, 2
ENDLESS = 2**62

Integers = NDArray[np.int64]


@kernel
def carry(
    costs: Integers, supply: Integers, need: Integers, widest: int, limit: int, flows: Integers, rises: Integers,
    falls: Integers,
) -> int:  # fmt: skip
    """The least sum of costs[j, i] flows[i, j], where flows leave i with supply[i] and reach j with need[j].

    Every j first takes all it needs from its nearest i, which costs least but loads some i too much
    and others too little. Then mass goes over from one i to another, j by j, along the shortest way
    from any that has too much to any that has too little. With `rises` of i and `falls` of j,

        costs[j, i] >= rises[i] + falls[j],  and equal where flows[i, j] > 0,

    no way has a negative length, and when all loads are right this proves that the work is least:
    it is the sum of supply rises + need falls.

    All i with too much have the same rise. What the way costs is how much higher the other end is,
    and later ways cost no less, so the work is at least what is spent plus what is left times that;
    and at most plus what is left times `widest`, the largest distance. As soon as this says whether
    the work is within a `limit` (-1: none) it is told, as NEAR or FAR; else SOLVED at the end.
    """
    n_few, n_many = len(supply), len(need)
    load, before, via = -supply, np.empty(n_few, np.int64), np.empty(n_few, np.int64)
    length, settled = np.empty(n_few, np.int64), np.empty(n_few, np.bool_)
    spent, left = 0, 0
    for j in range(n_many):
        nearest = 0
        for i in range(1, n_few):
            if costs[j, i] < costs[j, nearest]:
                nearest = i
        flows[nearest, j] = need[j]
        falls[j] = costs[j, nearest]
        load[nearest] += need[j]
        spent += need[j] * costs[j, nearest]
    for i in range(n_few):
        left += max(load[i], 0)
    while left > 0:
        if limit >= 0 and spent > limit:
            return FAR
        if limit >= 0 and spent + left * widest <= limit:
            return NEAR
        for i in range(n_few):
            length[i], settled[i], before[i] = 0 if load[i] > 0 else ENDLESS, False, -1
        while True:
            nearest = -1
            for i in range(n_few):
                if not settled[i] and (nearest < 0 or length[i] < length[nearest]):
                    nearest = i
            if load[nearest] < 0:
                break
            settled[nearest] = True
            for j in range(n_many):
                if flows[nearest, j] == 0:
                    continue
                start = length[nearest] - falls[j]
                for i in range(n_few):
                    longer = start + costs[j, i] - rises[i]
                    if longer < length[i] and not settled[i]:
                        length[i], before[i], via[i] = longer, nearest, j
        end = nearest
        for i in range(n_few):
            if settled[i] and length[i] < length[end]:
                rises[i] -= length[end] - length[i]
                for j in range(n_many):
                    if flows[i, j] > 0:
                        falls[j] = costs[j, i] - rises[i]
        first, amount = end, -load[end]
        while before[first] >= 0:
            amount = min(amount, flows[before[first], via[first]])
            first = before[first]
        amount = min(amount, load[first])
        price = rises[end] - rises[first]
        if limit >= 0:
            if spent + left * price > limit:
                return FAR
            spent += amount * price
        left -= amount
        load[first] -= amount
        load[end] += amount
        place = end
        while before[place] >= 0:
            flows[before[place], via[place]] -= amount
            flows[place, via[place]] += amount
            place = before[place]
    if limit >= 0:
        return FAR if spent > limit else NEAR
    return SOLVED


@inner
def match_near(data: Integers, costs: int, pairs: int, surplus: Integers) -> int:
    """The work of a plan that is quick to find, and so an upper bound of the least.

    Groups of values are joined, pair by pair; what one has too much goes where another lacks. What
    is left of a group has one sign, and waits in a list. `data` has the costs and the pairs.
    """
    m, work = len(surplus), 0
    rest, following = surplus.copy(), np.full(m, -1, np.int64)
    group, head, tail = np.arange(m), np.arange(m), np.arange(m)
    for value in range(m):
        if rest[value] == 0:
            head[value] = -1
    for pair in range(m - 1):
        left, right = data[pairs + 2 * pair], data[pairs + 2 * pair + 1]
        while group[left] != left:
            left = group[left]
        while group[right] != right:
            right = group[right]
        group[right] = left
        while head[left] >= 0 and head[right] >= 0 and (rest[head[left]] > 0) != (rest[head[right]] > 0):
            one, other = head[left], head[right]
            mass = min(abs(rest[one]), abs(rest[other]))
            work += mass * data[costs + one * m + other]
            sign = 1 if rest[one] > 0 else -1
            rest[one] -= sign * mass
            rest[other] += sign * mass
            if rest[one] == 0:
                head[left] = following[one]
            if rest[other] == 0:
                head[right] = following[other]
        if head[left] < 0:
            head[left], tail[left] = head[right], tail[right]
        elif head[right] >= 0:
            following[tail[left]] = head[right]
            tail[left] = tail[right]
    return work
