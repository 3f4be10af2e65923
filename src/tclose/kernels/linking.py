"""Each kernel is one module of machine code: what it calls is translated once, and optimized only within kernels.

The compiler's own way is to optimize every function by itself, to make machine code of it, and to optimize it again
within each function that calls it, at every level of calls. What only kernels call needs none of that: it is linked
into them as it is.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numba.core import (
    codegen,
    compiler,
    compiler_machinery,
    environment,
    errors,
    ir,
    typed_passes,
    types,
    untyped_passes,
)

PASSES: tuple[Any, ...] = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.NoPythonSupportedFeatureValidation,
    typed_passes.IRLegalization,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)
llvm: Any = import_module("llvmlite.binding")
_environment_of: Any = environment.lookup_environment
_Library: Any = codegen.JITCodeLibrary  # the compiler has no types of its own
_CompilerBase: Any = compiler.CompilerBase
_PassManager: Any = compiler_machinery.PassManager
NOT_COUNTED = "NRT required but not enabled"  # what the compiler says where references have to be counted
STUB = 'define void @"{name}"() {{ ret void }}\n'


class _WithoutEnvironments:
    """The code generator, but that it sets no environment: a function without machine code has no place for one."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def set_env(self, name: str, found: Any) -> None:
        """Nothing: the kernel that the function is linked into does it."""


class LinkedLibrary(_Library):  # type: ignore[misc]
    """A function of which no machine code is made; what it calls is not yet in it."""

    @property
    def codegen(self) -> Any:
        """What makes machine code of kernels."""
        return _WithoutEnvironments(self._codegen)

    @property
    def calls(self) -> list[Any]:
        """The libraries of what it calls."""
        return list(self._linking_libraries)

    def finalize(self) -> None:
        """Nothing is left to be done: kernels link it."""
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: it cannot be called from Python."""
        self._ensure_finalized()
        return 0

    def _get_module_for_linking(self) -> Any:
        """The function as others may have it too: the linker keeps one of them."""
        self._ensure_finalized()
        for each in self._final_module.functions:
            if not each.is_declaration and each.linkage == llvm.Linkage.external:
                each.linkage = "linkonce_odr"
        return self._final_module


class KernelLibrary(_Library):  # type: ignore[misc]
    """A kernel with all that is linked into it."""

    def finalize(self) -> None:
        """Link all that is called, however deep, then optimize it and make machine code of it."""
        libraries: dict[Any, None] = dict.fromkeys(vars(self)["_linking_libraries"])
        waiting = list(libraries)
        while waiting:
            for each in getattr(waiting.pop(), "calls", []):
                if each not in libraries:
                    libraries[each] = None
                    waiting.append(each)
        self._linking_libraries = list(libraries)
        super().finalize()

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """The machine code and the names in it. Nothing links a kernel, so its code for the optimizer is not kept."""
        self._ensure_finalized()
        module = self._codegen._create_empty_module(self.name)
        defined = [each.name for each in self._final_module.functions if not each.is_declaration]
        stubs = llvm.parse_assembly(str(module) + "".join(STUB.format(name=name) for name in defined))
        return self.name, "object", (self._get_compiled_object(), stubs.as_bitcode())

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        for variable in self._final_module.global_variables:
            found = _environment_of(variable.name)
            if found is not None:
                self._codegen.set_env(variable.name, found)


class _Compiler(_CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        """The passes that loops need: kernels have no closures, no comprehensions and nothing to be inlined."""
        passes = _PassManager("kernel")
        for each in PASSES:
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]

    def _compile_core(self) -> Any:
        result = super()._compile_core()
        if not self.state.flags.nrt:
            _check_no_array_comes_back(self.state)
        return result


class LinkedCompiler(_Compiler):
    """Translates a function that only kernels call."""

    def _compile_core(self) -> Any:
        library: Any = LinkedLibrary
        self.state.library = library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super()._compile_core()


class KernelCompiler(_Compiler):
    """Compiles a kernel."""

    def _compile_core(self) -> Any:
        library: Any = KernelLibrary
        self.state.library = library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super()._compile_core()


def _check_no_array_comes_back(state: Any) -> None:
    """A function that does not count references would never free an array that another made."""
    for each, signature in state.calltypes.items():
        if not isinstance(each, ir.Expr) or each.op != "call" or not _has_array(signature.return_type):
            continue
        if isinstance(state.typemap[each.func.name], types.Dispatcher):
            raise errors.NumbaRuntimeError(f"{NOT_COUNTED}: {state.func_id.func_qualname} is given an array by a call")


def _has_array(kind: Any) -> bool:
    return isinstance(kind, types.Array) or any(map(_has_array, getattr(kind, "types", ())))
