"""Where machine code is kept: where the compiler finds a place that it can write to, else nowhere.

Then it is only loaded from the folder of the package, if its owner compiled it there, and kernels are compiled anew in
each process if not. That is how a package runs in an image that cannot be changed, for a user without a home.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import caching

_SourceFile: Any = caching._SourceFileBackedLocatorMixin  # the compiler has no types of its own
_Place: Any = caching._CacheLocator
_Implementation: Any = caching.CompileResultCacheImpl
_FunctionCache: Any = caching.FunctionCache


class PackageFolder(_SourceFile, _Place):  # type: ignore[misc]
    """The folder of the package, to load from."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        """The folder."""
        return str(Path(self._py_file).parent / "__pycache__")

    def ensure_cache_path(self) -> None:
        """Nothing: it need not be there."""


class _KernelPlaces(_Implementation):  # type: ignore[misc]
    _locator_classes = (*_Implementation._locator_classes, PackageFolder)


class MachineCode(_FunctionCache):  # type: ignore[misc]
    """What is kept of one kernel."""

    _impl_class = _KernelPlaces

    @property
    def can_be_kept(self) -> bool:
        """Whether there is a place to write to."""
        return not isinstance(self._impl.locator, PackageFolder)
