"""The Earth Mover's Distance, slowly: by its definition and by the papers' formulas.

Everything is exact (`fractions.Fraction`) except `transport`, which solves the linear
program of the definition. No formula here is arranged for speed.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

Mass = int | Fraction
Number = int | Fraction | Decimal
Ground = list[list[Fraction]]
Move = tuple[int, int, Fraction]
Path = Sequence[str]
Node = tuple[int, str]


def normalise(masses: Sequence[Mass]) -> list[Fraction]:
    """Scale non-negative masses so that they add up to 1."""
    total = sum(masses)
    assert all(mass >= 0 for mass in masses)
    assert total > 0
    return [Fraction(mass) / total for mass in masses]


# Ground distances


def ground_ordered(m: int) -> Ground:
    """|i - j| / (m - 1), equation (4) of 001."""
    return [[Fraction(abs(i - j), max(m - 1, 1)) for j in range(m)] for i in range(m)]


def ground_equal(m: int) -> Ground:
    """1 between any two values."""
    return [[Fraction(i != j) for j in range(m)] for i in range(m)]


def ground_numeric(values: Sequence[Number]) -> Ground:
    """|x - y| over the range of the values; 0 where all are the same."""
    exact = [Fraction(value) for value in values]
    spread = max(exact) - min(exact)
    return [[abs(x - y) / spread if spread else Fraction(0) for y in exact] for x in exact]


def ground_hierarchical(paths: Sequence[Path]) -> Ground:
    """Height of the lowest common ancestor over the height of the root (004, 3.1)."""
    heights = node_heights(paths)
    top = heights[root_of(paths)]
    return [[Fraction(heights[lowest_common(a, b)], max(top, 1)) for b in paths] for a in paths]


# The tree


def nodes_of(path: Path) -> list[Node]:
    """Nodes of a leaf-first path, root first: (depth below the root, label)."""
    return list(enumerate(reversed(path)))


def root_of(paths: Sequence[Path]) -> Node:
    """The one root of all paths."""
    roots = {nodes_of(path)[0] for path in paths}
    assert len(roots) == 1
    return roots.pop()


def node_heights(paths: Sequence[Path]) -> dict[Node, int]:
    """The longest way down from each node, in edges."""
    heights: dict[Node, int] = {}
    for path in paths:
        for node in nodes_of(path):
            way_down = len(path) - 1 - node[0]
            heights[node] = max(heights.get(node, 0), way_down)
    check_tree(paths, heights)
    return heights


def check_tree(paths: Sequence[Path], heights: dict[Node, int]) -> None:
    """Every node has one parent, every leaf is a leaf, and no leaf occurs twice."""
    parents: dict[Node, Node | None] = {}
    for path in paths:
        for node, parent in parent_map(path).items():
            assert parents.setdefault(node, parent) == parent
    leaves = [nodes_of(path)[-1] for path in paths]
    assert len(set(leaves)) == len(leaves)
    assert all(heights[leaf] == 0 for leaf in leaves)


def parent_map(path: Path) -> dict[Node, Node | None]:
    """Each node of one path with its parent."""
    nodes = nodes_of(path)
    return dict(zip(nodes, [None, *nodes], strict=False))


def lowest_common(a: Path, b: Path) -> Node:
    """The deepest node that lies on both paths."""
    return max(set(nodes_of(a)) & set(nodes_of(b)))


# Distances between distributions


def transport(p: Sequence[Mass], q: Sequence[Mass], ground: Ground) -> float:
    """The definition: the cheapest flow that carries p to q, by linear programming."""
    from scipy.optimize import linprog  # type: ignore[import-untyped,unused-ignore]

    m = len(p)
    leaving = [[float(cell // m == i) for cell in range(m * m)] for i in range(m)]
    arriving = [[float(cell % m == j) for cell in range(m * m)] for j in range(m)]
    costs = [float(cost) for row in ground for cost in row]
    masses = [float(mass) for mass in normalise(p) + normalise(q)]
    result = linprog(costs, A_eq=leaving + arriving, b_eq=masses, method="highs")
    assert result.status == 0, result.message
    return float(result.fun)


def emd_ordered(p: Sequence[Mass], q: Sequence[Mass]) -> Fraction:
    """Equation (2) of 001, every inner sum taken anew."""
    p, q = normalise(p), normalise(q)
    m = len(p)
    if m == 1:
        return Fraction(0)
    return sum(
        (abs(sum((p[j] - q[j] for j in range(i + 1)), Fraction(0))) for i in range(m)),
        Fraction(0),
    ) / (m - 1)


def emd_equal(p: Sequence[Mass], q: Sequence[Mass]) -> Fraction:
    """Equation (9) of 001: half the Manhattan distance."""
    pairs = zip(normalise(p), normalise(q), strict=True)
    return sum((abs(a - b) for a, b in pairs), Fraction(0)) / 2


def emd_numeric(p: Sequence[Mass], q: Sequence[Mass], values: Sequence[Number]) -> Fraction:
    """Area between the two distribution functions, over the range of the values."""
    p, q = normalise(p), normalise(q)
    exact = [Fraction(value) for value in values]
    points = sorted(set(exact))
    if len(points) == 1:
        return Fraction(0)
    area = Fraction(0)
    for low, high in pairwise(points):
        below = [i for i, value in enumerate(exact) if value <= low]
        area += abs(sum((p[i] - q[i] for i in below), Fraction(0))) * (high - low)
    return area / (points[-1] - points[0])


def emd_hierarchical(p: Sequence[Mass], q: Sequence[Mass], paths: Sequence[Path]) -> Fraction:
    """Sum of cost(n) over the inner nodes (004, 3.1), over their direct children."""
    leaves = [nodes_of(path)[-1] for path in paths]
    extra_of_leaf = {leaf: a - b for leaf, a, b in zip(leaves, normalise(p), normalise(q), strict=True)}
    heights = node_heights(paths)
    children: dict[Node, set[Node]] = {node: set() for node in heights}
    for path in paths:
        for node, parent in parent_map(path).items():
            if parent is not None:
                children[parent].add(node)

    def extra(node: Node) -> Fraction:
        if node in extra_of_leaf:
            return extra_of_leaf[node]
        return sum((extra(child) for child in children[node]), Fraction(0))

    def cost(node: Node) -> Fraction:
        extras = [extra(child) for child in children[node]]
        positive = sum((e for e in extras if e > 0), Fraction(0))
        negative = sum((-e for e in extras if e < 0), Fraction(0))
        return heights[node] * min(positive, negative)

    top = heights[root_of(paths)]
    inner = (node for node in heights if children[node])
    return sum((cost(node) for node in inner), Fraction(0)) / max(top, 1)


def check_plan(moves: Sequence[Move], p: Sequence[Mass], q: Sequence[Mass], ground: Ground) -> Fraction:
    """Carry out the moves on p, assert that q results, and return what they cost."""
    piles = normalise(p)
    cost = Fraction(0)
    for origin, target, mass in moves:
        assert mass > 0
        assert 0 <= origin < len(piles)
        assert 0 <= target < len(piles)
        piles[origin] -= mass
        piles[target] += mass
        cost += mass * ground[origin][target]
    assert piles == normalise(q)
    return cost
