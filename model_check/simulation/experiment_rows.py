"""Experiments and their results as rows: the columns of every table of costs.

A row is an experiment (the fields of `Experiment`, parameters as text such as ``k=5``), a `key` that stands for that
and for the code that was run, and, once it is done, what was `Measured`. Rows of the same key are the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

from crownless import impl
from crownless.impl.protocol import Setting
from crownless.model_check import simulation
from crownless.model_check.simulation.simulation import Experiment, Measured
from crownless.model_check.system import monitors

#: The fields of an experiment, in the order of the columns.
EXPERIMENT_FIELDS = tuple(each.name for each in fields(Experiment))

_TYPES = {
    "str": "string", "str | None": "string", "Mapping[str, Setting]": "string", "int": "int64", "float": "float64",
    "float | None": "float64", "bool": "bool",
}  # fmt: skip

#: The columns of a row, and the names of their types in Arrow.
COLUMNS = {"key": "string"} | {
    each.name: _TYPES[str(each.type)] for kind in (Experiment, Measured) for each in fields(kind)
}

Row = dict[str, Any]


def row_of(experiment: Experiment) -> Row:
    """The experiment as a row with its key."""
    row = {name: getattr(experiment, name) for name in EXPERIMENT_FIELDS} | {"parameters": said(experiment.parameters)}
    known = json.dumps([code(), *row.values()])
    return {"key": hashlib.sha256(known.encode()).hexdigest()[:32], **row}


def with_figures(row: Mapping[str, Any], measured: Measured) -> Row:
    """The row once it is done."""
    return {**row, **asdict(measured)}


def experiment_of(row: Mapping[str, Any]) -> Experiment:
    """The experiment of a row."""
    return Experiment(
        **{name: row[name] for name in EXPERIMENT_FIELDS} | {"parameters": parameters_in(row["parameters"])}
    )


def said(parameters: Mapping[str, Setting]) -> str:
    """Parameters as `--set` has them: ``k=5``, or ``k=4,4,5``."""
    return " ".join(
        f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in sorted(parameters.items())
    )


def parameters_in(text: str) -> dict[str, Setting]:
    """The inverse of `said`."""
    parameters: dict[str, Setting] = {}
    for setting in text.split():
        name, _, value = setting.partition("=")
        numbers = tuple(int(number) for number in value.split(","))
        parameters[name] = numbers if len(numbers) > 1 else numbers[0]
    return parameters


@cache
def code() -> str:
    """A digest of the code that figures depend on: with other code they are simulated again."""
    files = [file for package in (impl, simulation) for file in sorted(Path(package.__path__[0]).glob("*.py"))]
    files.append(Path(monitors.__file__))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
