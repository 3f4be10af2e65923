"""The least work that turns one distribution into another, in integers and fractions, by shortest augmenting paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf, lcm


def least_work(have: Sequence[int], want: Sequence[int], distance: Callable[[int, int], Fraction]) -> Fraction:
    """The Earth Mover's Distance of two vectors of counts over the same values, under a metric.

    Mass that both share stays where it is, which a metric allows; what remains is a transport
    problem. Counts are scaled to a common total, so all flows are integers.

    Examples
    --------
    >>> least_work([1, 1, 0], [1, 1, 1], lambda i, j: Fraction(abs(i - j), 2))
    Fraction(1, 4)
    """
    n_have, n_want = sum(have), sum(want)
    over = [one * n_want - other * n_have for one, other in zip(have, want, strict=True)]
    sources = [place for place, rest in enumerate(over) if rest > 0]
    sinks = [place for place, rest in enumerate(over) if rest < 0]
    exact = [[distance(source, sink) for sink in sinks] for source in sources]
    unit = lcm(*(cost.denominator for row in exact for cost in row))
    costs = [[int(cost * unit) for cost in row] for row in exact]
    work = _transport([over[place] for place in sources], [-over[place] for place in sinks], costs)
    return Fraction(work, unit * n_have * n_want)


def _transport(supply: list[int], demand: list[int], costs: list[list[int]]) -> int:
    """The least cost of moving all supply to all demand.

    Nodes are sources, then sinks. Potentials keep reduced costs at 0 or above, so that the next
    path is found by Dijkstra's algorithm without a heap.
    """
    n_sources, n_sinks = len(supply), len(demand)
    flow = [[0] * n_sinks for _ in range(n_sources)]
    potential = [0] * (n_sources + n_sinks)
    while any(supply):
        length: list[float] = [0 if rest else inf for rest in supply] + [inf] * n_sinks
        before = [-1] * (n_sources + n_sinks)
        done = [False] * (n_sources + n_sinks)
        for _ in range(n_sources + n_sinks):
            node = min((length[each], each) for each in range(n_sources + n_sinks) if not done[each])[1]
            if length[node] == inf:
                break
            done[node] = True
            if node < n_sources:
                ways = [(n_sources + sink, costs[node][sink]) for sink in range(n_sinks)]
            else:
                ways = [(s, -costs[s][node - n_sources]) for s in range(n_sources) if flow[s][node - n_sources]]
            for other, cost in ways:
                reached = length[node] + cost + potential[node] - potential[other]
                if reached < length[other]:
                    length[other], before[other] = reached, node
        end = min(
            (length[n_sources + s] + potential[n_sources + s], n_sources + s) for s in range(n_sinks) if demand[s]
        )[1]
        farthest = int(max(each for each in length if each != inf))
        for node, each in enumerate(length):
            potential[node] += int(each) if each != inf else farthest
        path = [end]
        while before[path[-1]] >= 0:
            path.append(before[path[-1]])
        path.reverse()
        steps = list(pairwise(path))
        back = [flow[other][node - n_sources] for node, other in steps if node >= n_sources]
        moved = min([supply[path[0]], demand[end - n_sources], *back])
        for node, other in steps:
            if node < n_sources:
                flow[node][other - n_sources] += moved
            else:
                flow[other][node - n_sources] -= moved
        supply[path[0]] -= moved
        demand[end - n_sources] -= moved
    return sum(flow[i][j] * costs[i][j] for i in range(n_sources) for j in range(n_sinks))
