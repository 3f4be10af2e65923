"""What a column tells of a target, and who is told by a release, from the definitions: loops over raw rows."""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import log

Value = Hashable


def information(values: Sequence[Value], labels: Sequence[Value]) -> float:
    """Mutual information in nats, less (r - 1)(c - 1) / 2n; never below 0."""
    n = len(values)
    pairs, by_value, by_label = Counter(zip(values, labels, strict=True)), Counter(values), Counter(labels)
    total = sum(
        count / n * log(count * n / (by_value[value] * by_label[label])) for (value, label), count in pairs.items()
    )
    return max(total - (len(by_value) - 1) * (len(by_label) - 1) / (2 * n), 0.0)


def share_told(
    rows: Sequence[Sequence[int]],
    labels: Sequence[int],
    shown: Sequence[Sequence[tuple[int, int]]],
    sizes: Sequence[int],
) -> float:
    """Naive Bayes: `shown` has for every row what its class covers of each column, of so many places each.

    A label of c rows has at a place the rows that lie there, each evenly over what it covers, and one more spread over
    all places, over c + 1. Of labels that are as likely the first is taken.
    """
    kinds = sorted(set(labels))
    right = 0
    for row, truth in zip(rows, labels, strict=True):
        beliefs = []
        for label in kinds:
            own = [spans for spans, of in zip(shown, labels, strict=True) if of == label]
            belief = log(len(own))
            for column, place in enumerate(row):
                there = sum(
                    1 / (high - low + 1) for low, high in (spans[column] for spans in own) if low <= place <= high
                )
                belief += log((there + 1 / sizes[column]) / (len(own) + 1))
            beliefs.append(belief)
        best = max(range(len(kinds)), key=lambda each: (round(beliefs[each], 9), -each))
        right += kinds[best] == truth
    return right / len(rows)
