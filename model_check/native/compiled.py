"""Numba, where it is installed. Where not, what it would compile stays plain Python, and `vectorized` runs instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from numba import njit
except ImportError:
    HAVE_NUMBA = False
else:
    HAVE_NUMBA = True

#: How Numba is to compile a function; types are lost on the way.
Decorator = Callable[[Any], Any]


def _by_numba(**options: Any) -> Decorator:
    if not HAVE_NUMBA:
        return lambda function: function
    decorator: Decorator = njit(cache=True, nogil=True, **options)
    return decorator


#: Without Numba's reference counts, which would be most of the work: nothing here allocates an array.
compiled = _by_numba(_nrt=False)
inlined = _by_numba(inline="always")
