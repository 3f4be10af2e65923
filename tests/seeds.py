"""Many seeds a test: which of them run every day, which in `make test`, and which in `make campaign NAME=seeds` alone.

Seeds come in blocks: pytest takes longer over a test than most take over a seed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import pytest

MOST_TESTED = 12  # seeds that `make test` takes of any test, and of those with many an eighth


def one_in(step: int, values: Iterable[Any]) -> list[Any]:
    """All values, of which one in `step` runs every day and the others are slow."""
    given = [value if hasattr(value, "marks") else pytest.param(value) for value in values]
    return [
        value if place % step == 0 else pytest.param(*value.values, marks=[*value.marks, pytest.mark.slow], id=value.id)
        for place, value in enumerate(given)
    ]


def for_seeds(
    n: int, at_a_time: int = 20, everyday: int = 2, tested: int | None = None
) -> Callable[[Callable[..., None]], Any]:
    """Call a test that takes `seed` with 0 to n - 1, a block of seeds an item; a failure names its seed.

    The first `everyday` seeds run every day, the others are slow; those from `tested` on (if that is not said, of many
    seeds seven eighths) are left to the campaign.
    """
    tested = max(MOST_TESTED, n // 8) if tested is None else tested
    tested = min(tested, n)
    ends = sorted({0, everyday, tested, n, *range(0, n, at_a_time)})
    blocks = [
        pytest.param(
            range(start, stop),
            id=f"{start}-{stop - 1}",
            marks=[pytest.mark.slow] * (start >= everyday) + [pytest.mark.campaign] * (start >= tested),
        )
        for start, stop in pairwise(end for end in ends if end <= n)
    ]

    def decorate(test: Callable[..., None]) -> Any:
        def in_block(seeds: range, **rest: Any) -> None:
            for seed in seeds:
                try:
                    test(seed=seed, **rest)
                except BaseException as error:  # pytest's own failures too
                    error.add_note(f"seed {seed}")
                    raise

        asked = inspect.signature(test)
        taken = [each.replace(name="seeds") if name == "seed" else each for name, each in asked.parameters.items()]
        in_block.__signature__ = asked.replace(parameters=taken)  # type: ignore[attr-defined]
        in_block.__name__, in_block.__doc__, in_block.__module__ = test.__name__, test.__doc__, test.__module__
        return pytest.mark.parametrize("seeds", blocks)(in_block)

    return decorate
