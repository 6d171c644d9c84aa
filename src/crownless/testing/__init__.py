"""Support for test suites of implementations: Hypothesis strategies, state machines, and a pytest plugin.

    from . import stateful

    TestMyNode = stateful(MyNode, orders="causal", channel="unordered").TestCase

`stateful` drives a class through random schedules, and shrinks a failure to a short run; `computations`, `programs`
and `schedules` are strategies for your own tests. The pytest plugin needs no import: if an assertion about a check or
a verdict fails, it prints the shortest violating run.
"""

from typing import TYPE_CHECKING, Any

from crownless.runtime.errors import BadInput, install_hint

if TYPE_CHECKING:
    from .state_machine import stateful as stateful
    from .strategies import computations as computations
    from .strategies import programs as programs
    from .strategies import schedules as schedules

__all__ = ["computations", "programs", "schedules", "stateful"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise BadInput("crownless.testing needs hypothesis", hint=install_hint("testing")) from None
    from . import state_machine, strategies

    value = getattr(state_machine if name == "stateful" else strategies, name)
    globals()[name] = value
    return value
