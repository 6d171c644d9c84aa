"""The functions of `import crownless as cr` on external implementations."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from crownless.oracle.conformance import conforming, replays
from crownless.oracle.conformance.bodies import to_ignore
from crownless.oracle.conformance.conformance_request import (
    ConformRequest,
    HowToDrive,
    RandomRequest,
    ReplayRequest,
    Request,
)
from crownless.oracle.conformance.conformance_result import Conformance
from crownless.oracle.conformance.in_process import InProcess
from crownless.oracle.conformance.node import Implementation, NodeLimits
from crownless.oracle.conformance.out_of_process import OutOfProcess
from crownless.oracle.conformance.replays import Replay
from crownless.oracle.conformance.schedules import read_schedule
from crownless.runtime.printable import as_json
from crownless.runtime.reading import read_bytes

from .api_of_protocols import logger
from .arguments import answers, names
from .impl import own_protocols

#: A class with `on_send` and `on_packet`, its name, or the command of a program with a line-based interface.
Nodes = type | str | Sequence[str]


@answers(ConformRequest)
def conform(node: Nodes, request: ConformRequest) -> Conformance:
    """The orders that an implementation keeps, over every schedule within a bound: the explorer drives its nodes.

    `node`: a class with `on_send` and `on_packet` (see `crownless.oracle.conformance.in_process`), its name
    (`node.py:MyNode`), or the command of a program with a line-based stdin/stdout interface, as a list. Without
    `orders`, see `.kept` and `.strongest`. Inputs are given one at a time, when the node is idle: races between its own
    tasks are not tried. Timers of asyncio do not fire: if one is pending, only violations are certain, and all else is
    unknown (`.undecided`). A violated property has a shortest run: `conform(MyNode)["causal"].run`.
    """
    with _implementation(node, request, request) as implementation:
        return conforming.conform(implementation, request, request.limits, report=logger().warning)


@answers(RandomRequest)
def conform_at_random(node: Nodes, request: RandomRequest) -> Conformance:
    """Takes an implementation through random runs, for more processes and messages than `conform` can try.

    A verdict `holds` is about these runs alone; others may violate the property. A violation has a run without
    unnecessary steps: `conform_at_random(MyNode)["causal"].run`. `node`: as for `conform`.
    """
    with _implementation(node, request, request) as implementation:
        return conforming.conform_at_random(implementation, request, request.runs, request.seed, request.limits)


@answers(ReplayRequest)
def replay(node: Nodes, request: ReplayRequest) -> Replay:
    """Takes an implementation through one schedule: a file that `crownless conform --save` wrote, or its content.

    True if its run no longer violates the property that the schedule violates; `.violated` has all violated ones,
    `.run` the run, `.differs` the first step with a different outcome than before. If the nodes do not follow the
    schedule to its end, the verdict is unknown, `.undecided` says where they diverge, and the truth value raises
    `Undecided`. `node`: as for `conform`.
    """
    schedule = request.schedule
    if isinstance(schedule, Mapping):
        given = read_schedule(as_json(dict(schedule)).encode(), "schedule")
    else:
        given = read_schedule(read_bytes(Path(schedule), str(schedule)), str(schedule))
    with _implementation(node, given.request, request) as implementation:
        return replays.replay(implementation, given)


@contextmanager
def _implementation(node: Nodes, request: Request, how: HowToDrive) -> Iterator[Implementation]:
    """The nodes of a class, of a class by its name, or of a command."""
    n, sends, ignored, limits = request.processes, request.sends, to_ignore(how.ignore), NodeLimits(seconds=how.timeout)
    implementation: Implementation
    if isinstance(node, type):
        implementation = InProcess(node, n, limits, ignored=ignored, sends=sends)
    elif isinstance(node, str):
        kind = own_protocols.load_node(node)
        implementation = InProcess(kind, n, limits, name=node, ignored=ignored, sends=sends)
    else:
        implementation = OutOfProcess(names("node", node), n, limits, ignored=ignored, sends=sends)
    with closing(implementation):
        yield implementation
