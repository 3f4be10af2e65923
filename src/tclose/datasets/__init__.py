"""Tables the package makes itself: people of any number, and instances that are hard to solve."""

from __future__ import annotations

from tclose.datasets import hard as hard
from tclose.datasets.people import census as census
from tclose.datasets.people import hospital as hospital
