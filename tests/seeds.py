"""Many seeds a test, and which of many cases run every day; `make test` runs all of them.

Seeds come in blocks: pytest takes longer over a test than most take over a seed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def one_in(step: int, values: Iterable[Any]) -> list[Any]:
    """All values, of which one in `step` runs every day and the others are slow."""
    given = [value if hasattr(value, "marks") else pytest.param(value) for value in values]
    return [
        value if place % step == 0 else pytest.param(*value.values, marks=[*value.marks, pytest.mark.slow], id=value.id)
        for place, value in enumerate(given)
    ]


def for_seeds(n: int, at_a_time: int = 20, everyday: int = 1) -> Callable[[Callable[..., None]], Any]:
    """Call a test that takes `seed` with 0 to n - 1, a block of seeds an item; a failure names its seed.

    Blocks after the first `everyday` ones are slow.
    """
    ranges = [range(first, min(first + at_a_time, n)) for first in range(0, n, at_a_time)]
    blocks = [
        pytest.param(block, id=f"{block.start}-{block.stop - 1}", marks=[pytest.mark.slow] if place >= everyday else [])
        for place, block in enumerate(ranges)
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
