"""Whether a machine is broken by a run, and what a proof says of it."""

from __future__ import annotations

import warnings

from click.testing import CliRunner

from crownless.command_line.commands.prove import prove_
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Free
from crownless.model_check.search.explorer import explore
from crownless.model_check.system.request import Check
from crownless.runtime.ending import Limits


def broken(kind: type[ProtocolMachine], n: int, messages: int) -> set[str]:
    workload = Free(n, messages, sends=kind.sends)
    check = Check(kind(n), workload=workload, channel="unordered", orders=("fifo", "causal")).resolve()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return set(explore(check.system(), check.properties, Limits(states=50_000)).violated)


def run(machine: type[ProtocolMachine]) -> tuple[int, str]:
    name = f"{machine.__module__}:{machine.__name__}"
    result = CliRunner().invoke(prove_, [name, "--effort", "200000"], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.output
