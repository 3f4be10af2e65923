"""The one decorator of all kernels."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

import numba
from numba import extending
from numba.core import errors, event, sigutils, types
from numba.core.compiler_lock import global_compiler_lock

from tclose.kernels.ahead import AWAITED
from tclose.kernels.linking import NOT_COUNTED, KernelCompiler, LinkedCompiler
from tclose.kernels.machine_code import MachineCode

Function = TypeVar("Function", bound=Callable[..., Any])
MAKES_ARRAYS = frozenset({"arange", "argsort", "copy", "empty", "empty_like", "full", "ones", "zeros", "zeros_like"})


def _stamp() -> tuple[tuple[str, str], ...]:
    package = Path(__file__).parent.parent
    files = sorted([*package.glob("kernels/*.py"), *package.glob("**/*_loops.py")])
    checked = bool(getattr(numba.config, "BOUNDSCHECK", None))  # that is other machine code, of the same source
    return ("bounds are checked", str(checked)), *(
        (file.relative_to(package).as_posix(), hashlib.sha256(file.read_bytes()).hexdigest()) for file in files
    )


STAMP = _stamp()


def _load_without_blas() -> None:
    """Load the compiler without scipy's linear algebra, whose import takes as long as all the rest of it.

    The compiler only asks whether it is there. No kernel uses it; whoever compiles `np.dot` loads it then.
    """
    if "numba.np.arraymath" in sys.modules or find_spec("scipy") is None:
        return
    linalg: Any = import_module("numba.np.linalg")
    ensure_blas = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        arraymath: Any = import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = ensure_blas
    arraymath.ensure_blas = ensure_blas


_load_without_blas()


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
    return _compiled(function, linked=False)


def inner(function: Function) -> Function:
    """The same for what only kernels call: it is translated once, linked into them, and optimized there."""
    return _compiled(function, linked=True)


def once(function: Function) -> Function:
    """A part of one kernel that stands by itself to be read: it becomes a part of what calls it."""
    return _compiled(function, linked=True)


def by_types(choose: Callable[..., Callable[..., Any]]) -> Callable[[Function], Function]:
    """Kernels that call this function are compiled with the one that `choose` gives for the types of its arguments.

    So what one type does not need is not compiled for it. Called from Python it stays as it is.
    """

    def mark(function: Function) -> Function:
        overload: Any = extending.overload
        linked = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": LinkedCompiler}
        overload(function, strict=False, jit_options=linked)(choose)
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


def _save(index: Any, key: Any, data: Any) -> None:
    """Keep machine code under a name of its own, and then name it in the index.

    The compiler numbers files, and writes the index first. Of two processes at once, or of one that is ended in
    between, an index could name machine code for other types, or of another version.

    Where nothing can be written, or no more, nothing is kept, and all else goes on.
    """
    name = f"{index._index_name}.{hashlib.sha256(repr((STAMP, key)).encode()).hexdigest()[:24]}.nbc"
    with suppress(OSError):
        index._save_data(name, data)
        index._save_index(index._load_index() | {key: name})


def _beside_package(index: Any, function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Loads what is kept in the folder of the package itself, even where only its owner can write.

    The compiler keeps machine code elsewhere then, for each user. What the owner compiled, with `tclose warmup`, is for
    all: whoever could put machine code there could change the package as well. No other shared folder is looked at.
    """
    folder = str(Path(function.__code__.co_filename).parent / "__pycache__")
    config: Any = numba.config
    if config.CACHE_DIR or index._cache_path == folder:
        return lambda key: None
    shared = type(index)(folder, index._index_name.removesuffix(".nbi"), STAMP)

    def load(key: Any) -> Any:
        try:
            return shared.load(key)
        except Exception:  # it cannot be read, or was made by something else
            return None

    return load


def _load_first(own: Callable[[Any], Any], shared: Callable[[Any], Any], key: Any) -> Any:
    found = own(key)
    return shared(key) if found is None else found


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
    with installed("numba:compile", Heard()), installed(AWAITED, Heard()):
        yield clock


def _compiled(function: Function, *, linked: bool) -> Function:
    """The function for kernels to call if it is `linked`, else for Python too."""
    compile_: Any = numba.njit
    compiled = compile_(
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=linked,
        pipeline_class=LinkedCompiler if linked else KernelCompiler,
        _nrt=_counts_references(function),
    )(function)
    if not hasattr(compiled, "_cache"):  # where NUMBA_DISABLE_JIT is set
        return cast(Function, compiled)

    @cache
    def other() -> Any:
        return _compiled(function, linked=not linked)

    if linked:
        compiled.compile = partial(_counting_if_needed, partial(_translated, compiled), compiled)
        compiled.get_call_template = partial(_call_template, compiled.get_call_template)
        compiled._compile_for_args = lambda *args, **kws: other()  # Python calls it, as tests do
        return cast(Function, compiled)
    compiled._cache = MachineCode(function)
    index = compiled._cache._cache_file
    index._source_stamp = STAMP
    index._load_index = partial(_index_or_none, index._load_index)
    index.save = partial(_save, index)
    index.load = partial(_load_first, index.load, _beside_package(index, function))
    compiled.compile = partial(_counting_if_needed, compiled.compile, compiled)
    compiled.get_call_template = lambda args, kws: other().get_call_template(args, kws)
    compiled.get_overload = lambda signature: other().get_overload(signature)
    return cast(Function, compiled)


def _translated(compiled: Any, signature: Any) -> Any:
    """What the compiler does for each set of types, but without clocks of its own, one more for each level of calls."""
    normalized: Any = sigutils.normalize_signature
    with global_compiler_lock, compiled._compiling_counter:
        args, return_type = normalized(signature)
        known = compiled.overloads.get(tuple(args))
        if known is not None:
            return known.entry_point
        with event.trigger_event("numba:compile", {"dispatcher": compiled, "args": args, "return_type": return_type}):
            result = compiled._compiler.compile(args, return_type)
        compiled.overloads[tuple(result.signature.args)] = result
        return result.entry_point


def _counting_if_needed(compile_: Callable[[Any], Any], compiled: Any, signature: Any) -> Any:
    """Compile; once more, with references counted, where `_counts_references` did not see that they have to be."""
    try:
        return compile_(signature)
    except errors.NumbaError as error:
        if compiled.targetoptions["_nrt"] or NOT_COUNTED not in str(error):
            raise
    compiled.targetoptions["_nrt"] = True
    return compile_(signature)


def _counts_references(function: Callable[..., Any]) -> bool:
    """Whether arrays are made in a function, or come back from one that it calls.

    Only then must the compiler count references to arrays, for which it adds instructions wherever a tuple of some is
    named: that takes long to compile, and to run. Whatever else needs it is compiled twice.
    """
    code = function.__code__
    called = (getattr(function.__globals__.get(name), "py_func", None) for name in code.co_names)
    given = [function, *(each for each in called if each is not None)]
    return not MAKES_ARRAYS.isdisjoint(code.co_names) or not all(map(_returns_numbers, given))


def _returns_numbers(function: Callable[..., Any]) -> bool:
    words = re.findall(r"\w+", str(function.__annotations__.get("return", "?")))
    return set(words) <= {"int", "float", "bool", "None", "tuple"}
