"""The one decorator of all kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def _stamp() -> tuple[tuple[str, int, int], ...]:
    files = sorted(Path(__file__).parent.glob("*.py"))
    return tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files)


STAMP = _stamp()


def kernel(function: Function) -> Function:
    """Compile on first use, without the interpreter's lock, and keep the machine code on disk.

    The compiler's cache only notices changes to the file a kernel stands in. Kernels call each
    other across files, so its stamp is widened to all of them.
    """
    compiled: Any = numba.njit(cache=True, nogil=True)(function)
    if hasattr(compiled, "_cache"):  # it has none where NUMBA_DISABLE_JIT is set
        compiled._cache._cache_file._source_stamp = STAMP
    return cast(Function, compiled)
