"""An extension of griffe, for docs/reference.md: a function that answers a request has the arguments of its request.

Griffe reads the source, in which such a function has the request alone.
"""

import inspect
from importlib import import_module
from typing import Any

import griffe


class ArgumentsOfRequests(griffe.Extension):
    """Parameters and documentation of functions under `@answers(Request)`, as Python has them."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        if any(str(one.value).startswith("answers(") for one in func.decorators):
            function = getattr(import_module(func.module.path), func.name)
            func.parameters = griffe.Parameters(*map(_parameter, inspect.signature(function).parameters.values()))
            func.docstring = griffe.Docstring(function.__doc__, parent=func, parser="google")


def _parameter(one: inspect.Parameter) -> griffe.Parameter:
    kind = griffe.ParameterKind(one.kind.description)
    default = None if one.default is one.empty else repr(one.default)
    return griffe.Parameter(one.name, annotation=inspect.formatannotation(one.annotation), kind=kind, default=default)
