"""The one decorator of all kernels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

import numba
from numba import extending
from numba.core import event, types

Function = TypeVar("Function", bound=Callable[..., Any])


def _stamp() -> tuple[tuple[str, str], ...]:
    package = Path(__file__).parent.parent
    files = sorted([*package.glob("kernels/*.py"), *package.glob("**/*_loops.py")])
    checked = bool(getattr(numba.config, "BOUNDSCHECK", None))  # that is other machine code, of the same source
    return ("bounds are checked", str(checked)), *(
        (file.relative_to(package).as_posix(), hashlib.sha256(file.read_bytes()).hexdigest()) for file in files
    )


STAMP = _stamp()


def _call_template(original: Callable[..., Any], args: Any, kws: Any) -> Any:
    """What a kernel is called with by another, a constant counting as any number.

    Otherwise it is compiled once more for every constant, and for every variable that is one at
    first (`found = 0`), which takes longer than all else.
    """
    any_number: Any = types.unliteral
    return original(tuple(map(any_number, args)), {name: any_number(kind) for name, kind in kws.items()})


def kernel(function: Function) -> Function:
    """Compile on first use, without the interpreter's lock, and keep the machine code on disk.

    The compiler's cache only notices changes to the file a kernel stands in, by its date. Kernels call each
    other across files, so the stamp is made of what all of them say: a new date alone compiles nothing anew.
    """
    return _compiled(function)


def inner(function: Function) -> Function:
    """The same for what only kernels call: no way in from Python is compiled, which for tuples of arrays takes long."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def once(function: Function) -> Function:
    """A part of one kernel that stands by itself to be read: compiled where it is called, not once more by itself.

    Whatever a function calls is compiled again within it. For what is long and called in one place
    only, that doubles the time, at every level of calls.
    """
    return _compiled(function, inline="always")


def by_types(choose: Callable[..., Callable[..., Any]]) -> Callable[[Function], Function]:
    """Kernels that call this function are compiled with the one that `choose` gives for the types of its arguments.

    So what one type does not need is not compiled for it. Called from Python it stays as it is.
    """

    def mark(function: Function) -> Function:
        overload: Any = extending.overload
        overload(function, strict=False)(choose)
        return function

    return mark


def _index_or_none(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """What is kept on disk of a kernel, or nothing where it cannot be read.

    An index names the classes of its arguments. One made by an earlier version may name some
    that are gone, and is read before its stamp is looked at.
    """
    try:
        return load()
    except Exception:
        return {}


class CompileClock:
    """What was compiled while it ran; a loop whose machine code is on disk is not compiled.

    The compiler works for one thread at a time, and compiles what a loop calls within it: so only the
    outermost start and end count, and the sum is what a clock on the wall shows.

    Attributes
    ----------
    seconds
        Time spent.
    n_loops
        Loops compiled, those within others included.
    """

    def __init__(self, tell: Callable[[bool, int], None] | None = None) -> None:
        self.seconds = 0.0
        self.n_loops = 0
        self._depth = 0
        self._began = 0.0
        self._tell = tell or (lambda compiling, n_loops: None)

    @property
    def elapsed(self) -> float:
        """Time spent until now, that of a loop which is being compiled included."""
        return self.seconds + (perf_counter() - self._began if self._depth else 0.0)

    def start(self) -> None:
        """A loop begins to be compiled."""
        if not self._depth:
            self._began = perf_counter()
        self._depth += 1
        self._tell(True, self.n_loops)

    def end(self) -> None:
        """It is done; an end without a start is of one that began before the clock did."""
        if not self._depth:
            return
        self._depth -= 1
        self.n_loops += 1
        if not self._depth:
            self.seconds += perf_counter() - self._began
        self._tell(bool(self._depth), self.n_loops)


@contextmanager
def compiling_timed(tell: Callable[[bool, int], None] | None = None) -> Iterator[CompileClock]:
    """Measure how long loops are compiled, which can take longer than all else.

    Parameters
    ----------
    tell
        Called whenever a loop begins or ends to be compiled: with whether one is being compiled, and how many are done.

    Examples
    --------
    >>> with compiling_timed() as clock:
    ...     pass
    >>> clock.seconds, clock.n_loops
    (0.0, 0)
    """
    clock = CompileClock(tell)

    class Heard(event.Listener):
        def on_start(self, _event: Any) -> None:
            clock.start()

        def on_end(self, _event: Any) -> None:
            clock.end()

    installed: Any = event.install_listener
    with installed("numba:compile", Heard()):
        yield clock


def _compiled(function: Function, **options: bool | str) -> Function:
    compile_: Any = numba.njit
    compiled = compile_(cache=True, nogil=True, error_model="numpy", **options)(function)
    if hasattr(compiled, "_cache"):  # it has none where NUMBA_DISABLE_JIT is set
        index = compiled._cache._cache_file
        index._source_stamp = STAMP
        index._load_index = partial(_index_or_none, index._load_index)
        compiled.get_call_template = partial(_call_template, compiled.get_call_template)
    return cast(Function, compiled)
