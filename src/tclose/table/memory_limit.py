"""How much memory this process may take: the least of what the machine has and what it is allowed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

UNKNOWN = 1 << 40  # where the system does not say, as on Windows
CONTROL_GROUPS = (  # of the container, in either version
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def most_memory() -> int:
    """The bytes that this process may take, as far as the system says.

    Examples
    --------
    >>> 0 < most_memory() <= UNKNOWN
    True
    """
    return min(_limits())


def _limits() -> Iterator[int]:
    yield UNKNOWN
    with contextlib.suppress(AttributeError, OSError, ValueError):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in CONTROL_GROUPS:
        with contextlib.suppress(OSError, ValueError):  # `max` is no number: there is no limit
            yield int(path.read_text(encoding="ascii"))
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
        if allowed != resource.RLIM_INFINITY:
            yield allowed
