"""Random numbers that depend on nothing but their state, whatever thread asks for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import inner

Random = NDArray[np.uint64]


@inner
def draw(random: Random, size: int) -> int:
    """A number from 0 to size - 1 (SplitMix64, its 53 highest bits)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = random[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return int((mixed >> np.uint64(11)) * 2.0**-53 * size)
