"""The inner loops of the native engine: compiled by Numba where that is installed, or else on whole arrays."""

from .compiled import HAVE_NUMBA

if HAVE_NUMBA:
    from .full_kernels import expand
    from .kernels import enter, hash_of, pack, unpack
    from .reduced_kernels import expand_reduced
    from .shelf_kernels import insert, owners_of, rehash, repack, which_are_there
else:
    from .vectorized import enter, expand, hash_of, insert, owners_of, pack, rehash, repack, unpack, which_are_there
    from .vectorized import expand as expand_reduced  # which has none of them

__all__ = [
    "enter",
    "expand",
    "expand_reduced",
    "hash_of",
    "insert",
    "owners_of",
    "pack",
    "rehash",
    "repack",
    "unpack",
    "which_are_there",
]
