"""Compilation of the kernels by Numba, and their cache on disk.

With ``NUMBA_DISABLE_JIT=1`` they run as plain Python, about a hundred times slower: for debuggers and coverage.
"""

# Numba's own parts are not typed.
# mypy: disable-error-code="import-untyped, no-untyped-call"

import hashlib
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import config, njit
from numba.core import cgutils, event, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import intrinsic, register_jitable

#: True if Numba is configured to compile nothing.
NOT_COMPILED = bool(vars(config)["DISABLE_JIT"])
if NOT_COMPILED:  # the hash functions overflow on purpose, which NumPy's scalars warn of
    warnings.filterwarnings("ignore", "overflow encountered in scalar", RuntimeWarning, "crownless")

#: The folders and files of the package that have kernels.
KERNELS = ("model_check/native", "model_check/system/open_points.py", "oracle/logs", "oracle/log_orders")

#: Options of Numba: no reference counts, which would dominate the cost, for kernels allocate no array; and no code to
#: call kernels from C.
OPTIONS: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True}


class _Loaded(FunctionCache):
    """The cache of a function without reference counts: loading it does not import the compiler.

    Numba by itself imports the compiler first, which takes ten times as long.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _Index(IndexDataCacheFile):
    """The cache index of a function. One that refers to a class that no longer exists is ignored."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except AttributeError:
            return {}


@cache
def sources() -> str:
    """A digest of all files with kernels: compiled code includes the kernels that it calls, even from other files.

    Numba by itself compiles a kernel again only if its own file has changed.
    """
    package, digest = Path(__file__).parents[2], hashlib.sha256()
    for folder in KERNELS:
        where = package / folder
        for file in [where] if where.is_file() else sorted(where.glob("*.py")):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def compiled(function: Any) -> Any:
    """A kernel that Python calls, compiled by Numba."""
    if NOT_COMPILED:
        return function
    dispatcher = njit(nogil=True, **OPTIONS)(function)
    try:
        saved = _Loaded(function)
    except RuntimeError:  # there is nowhere to keep it: it is compiled in every process
        return dispatcher
    file = saved._cache_file
    saved._cache_file = _Index(file._cache_path, file._index_name.removesuffix(".nbi"), (file._source_stamp, sources()))
    dispatcher._cache = saved
    return dispatcher


#: Decorates a function that kernels call: it is compiled with each of them. For Python it remains a plain function.
called_by_kernels: Callable[[Any], Any] = register_jitable(**OPTIONS, no_cpython_wrapper=True)


def _fetch(typingctx: Any, array: Any, place: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        (step, *_) = cgutils.unpack_tuple(builder, view.strides)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        where = builder.bitcast(cgutils.pointer_add(builder, view.data, builder.mul(arguments[1], step)), byte)
        takes = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, takes, "llvm.prefetch.p0i8")
        # To be read, and kept as long as can be; it is data.
        builder.call(prefetch, [where, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), code


def _ignore(array: Any, place: Any) -> None:
    pass


#: ``fetch(array, place)`` prefetches that place of an array into the cache, to be read a little later.
fetch: Any = _ignore if NOT_COMPILED else intrinsic(_fetch)


class _Compiling(event.Listener):
    """Measures the time that Numba takes to compile."""

    depth, since, seconds = 0, 0.0, 0.0

    def on_start(self, event: event.Event) -> None:
        if self.depth == 0:
            self.since = time.monotonic()
        self.depth += 1

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.monotonic() - self.since

    def so_far(self, now: float) -> float:
        return self.seconds + (now - self.since if self.depth else 0.0)


_compiling = _Compiling()
event.register("numba:compile", _compiling)


def searching_time() -> float:
    """A clock in seconds that stands still while Numba compiles; loading counts."""
    now = time.monotonic()
    return now - _compiling.so_far(now)
