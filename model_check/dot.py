"""The state graph of a check in DOT, the language of Graphviz: for small state spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crownless.spec.errors import BadInput
from crownless.spec.printable import printable

from .local_variables import variables_of

if TYPE_CHECKING:
    from .check_result import CheckResult

#: The most states of a graph that anybody can look at.
STATES = 2_000


def dot(result: CheckResult) -> str:
    """The states with their local variables, and the moves between them; raises `BadInput` if there are too many, or
    not all are known.
    """
    if result.exploration.stopped:
        raise BadInput(f"not all states are known: {result.exploration.stopped}", hint="let the search come to its end")
    if result.exploration.states > STATES:
        said = f"a graph of {result.exploration.states:,} states cannot be drawn"
        raise BadInput(said, hint=f"choose fewer processes or messages: up to {STATES:,} states")
    graph, processes = result.to_networkx(), result.workload.processes
    lines = [f"digraph {_quoted(result.protocol)} {{", '  node [shape=box, fontname="monospace"];']
    for node, facts in graph.nodes(data=True):
        variables = [
            f"{process}: {'; '.join(map(str, variables_of(local, lambda message: message.name)))}"
            for process, local in zip(processes, facts["locals"], strict=True)
        ]
        lines.append(f"  {node} [label={_quoted(*variables)}];")
    for node, target, facts in graph.edges(data=True):
        action = f"{facts['process']}: {facts['action']}"
        lines.append(f"  {node} -> {target} [label={_quoted(action)}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(*lines: str) -> str:
    r"""A string of DOT, its lines set to the left; what a name has of DOT's own escapes is text."""
    escaped = [printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    text = escaped[0] if len(escaped) == 1 else "".join(f"{line}\\l" for line in escaped)
    return f'"{text}"'
