"""What is told of compiling, and what tells machine code apart."""

from __future__ import annotations

import types
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numba
import numpy as np
import pytest

from tclose.kernels import ahead, closeness, soft, sorting
from tclose.kernels.compile import STAMP, CompileClock, _beside_package, _save, compiling_timed, inner, kernel


def test_compiling_is_timed_and_told_when_it_happens() -> None:
    compile_: Any = numba.njit
    twice: Any = compile_(lambda number: 2 * number)
    told: list[tuple[bool, int]] = []
    with compiling_timed(lambda compiling, n_loops: told.append((compiling, n_loops))) as clock:
        began = perf_counter()
        assert twice(2) == 4
        spent = perf_counter() - began
        assert twice(3) == 6
    assert twice(2.5) == 5
    assert told == [(True, 0), (False, 1)]
    assert clock.n_loops == 1
    assert 0 < clock.seconds <= spent


def test_a_loop_within_another_is_not_counted_twice() -> None:
    compile_: Any = numba.njit
    inside: Any = compile_(lambda number: 2 * number)
    outside: Any = compile_(lambda number: inside(number) + 1)
    with compiling_timed() as clock:
        began = perf_counter()
        assert outside(2) == 5
        spent = perf_counter() - began
    assert clock.n_loops == 2
    assert clock.seconds <= spent


def test_an_end_without_a_start_counts_nothing() -> None:
    clock = CompileClock()
    clock.end()
    assert (clock.n_loops, clock.seconds) == (0, 0.0)
    clock.start()
    clock.end()
    assert clock.n_loops == 1


def test_the_stamp_says_whether_bounds_are_checked() -> None:
    assert ("bounds are checked", "False") in STAMP


@kernel
def given_an_array(n: int) -> int:
    return int(made(n)[0]) + n


def made(n: int) -> Any:
    return np.full(n, 7)


def test_references_are_counted_where_a_call_gives_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the array would never be freed."""
    monkeypatch.setitem(globals(), "made", inner(made))
    compiled: Any = given_an_array
    assert not compiled.targetoptions["_nrt"], "nothing tells that before it is compiled"
    compiled._cache.disable()
    assert given_an_array(3) == 10
    assert compiled.targetoptions["_nrt"]
    memory: Any = import_module("numba.core.runtime._nrt_python")
    runtime: Any = import_module("numba.core.runtime.nrt")
    memory.memsys_enable_stats()
    try:
        before = runtime.rtsys.get_allocation_stats()
        assert [given_an_array(3) for _ in range(5)] == [10] * 5
        after = runtime.rtsys.get_allocation_stats()
    finally:
        memory.memsys_disable_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free >= 5


def test_references_are_not_counted_where_no_array_is_made() -> None:
    dispatchers: list[Any] = [closeness.judge, closeness.line_terms, soft.measure]
    assert not any(each.targetoptions["_nrt"] for each in dispatchers)
    making: Any = sorting.sort_roughly
    assert making.targetoptions["_nrt"]


def test_an_index_names_no_machine_code_that_is_not_there_yet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A process may be ended at any time, and another may keep code of the same kernel meanwhile."""
    dispatcher: Any = closeness.judge
    index: Any = dispatcher._cache._cache_file
    monkeypatch.setattr(index, "_cache_path", str(tmp_path))
    monkeypatch.setattr(index, "_index_path", str(tmp_path / index._index_name))

    def ended(name: str, data: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(index, "_save_data", ended)
        with pytest.raises(KeyboardInterrupt):
            index.save("some types", b"code")
    assert index._load_index() == {}
    index.save("some types", b"code")
    index.save("other types", b"more")
    assert [index.load(key) for key in ("some types", "other types")] == [b"code", b"more"]
    assert len(set(index._load_index().values())) == 2
    named = index._load_index()["some types"]
    index.save("some types", b"again")
    assert index._load_index()["some types"] == named


def test_machine_code_beside_the_package_is_for_all_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Even where the folder of the package cannot be written to, and code is kept elsewhere."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    module = tmp_path / "package" / "some_loops.py"
    folder = module.parent / "__pycache__"
    folder.mkdir(parents=True)
    dispatcher: Any = closeness.judge
    kind: Any = type(dispatcher._cache._cache_file)
    kept = kind(str(folder), "some", STAMP)
    _save(kept, "types", b"code")
    own = kind(str(tmp_path / "own"), "some", STAMP)
    function: Any = types.FunctionType(compile("0", str(module), "eval"), {})
    assert _beside_package(own, function)("types") == b"code"
    assert _beside_package(own, function)("others") is None
    (folder / "some.nbi").write_bytes(b"no index")
    assert _beside_package(own, function)("types") is None
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "own"))
    assert _beside_package(own, function)("types") is None, "whoever names a folder means that one"


def test_where_nothing_can_be_written_kernels_are_compiled_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As for a user without a home in an image that cannot be changed; the verifier's loop too."""
    place: Any = import_module("numba.core.caching")._CacheLocator

    def refuse(_self: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(place, "ensure_cache_path", refuse)

    def twice(number: int) -> int:
        return 2 * number

    compiled: Any = kernel(twice)
    assert not compiled._cache.can_be_kept
    compiled._cache._cache_file._cache_path = str(tmp_path / "not there")
    assert ahead._is_kept(compiled, (2,)), "nothing is compiled ahead that could not be loaded"
    assert compiled(2) == 4
    judge: Any = import_module("tclose.verification.compiled_transport")
    assert judge._compiled(twice)(3) == 6
