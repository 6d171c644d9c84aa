"""The functions of `import crownless as cr` on external implementations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

from crownless.model_check.system.request import MAX_MESSAGES, MAX_PROCESSES
from crownless.oracle.conformance import conforming, replays
from crownless.oracle.conformance.bodies import to_ignore
from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.conformance_result import Conformance
from crownless.oracle.conformance.in_process import InProcess, sends_of
from crownless.oracle.conformance.node import Implementation, NodeLimits
from crownless.oracle.conformance.out_of_process import OutOfProcess
from crownless.oracle.conformance.replays import Replay
from crownless.oracle.conformance.schedules import read_schedule
from crownless.runtime.printable import as_json
from crownless.runtime.reading import read_bytes
from crownless.spec.enumeration import Sends, known_sends

from . import arguments
from .api import limits_of, logger
from .impl import own_protocols


class Scope(TypedDict, total=False):
    """The bound of the schedules, as in `conform`."""

    orders: Iterable[str]
    channel: str
    sends: Sends | None
    self_sends: bool
    replies: int | None
    ticks: int
    restarts: int


def conform(
    node: type | str | Sequence[str],
    processes: int = 3,
    messages: int = 3,
    *,
    orders: Iterable[str] = (),
    channel: str = "unordered",
    sends: Sends | None = None,
    self_sends: bool = False,
    replies: int | None = None,
    ticks: int = 0,
    restarts: int = 0,
    timeout: float = 5.0,
    ignore: str | None = None,
    max_seconds: float | None = None,
) -> Conformance:
    """The orders that an implementation keeps, over every schedule within a bound: the explorer drives its nodes.

    `node`: a class with `on_send` and `on_packet` (see `crownless.oracle.conformance.in_process`), its name
    (`node.py:MyNode`), or the command of a program with a line-based stdin/stdout interface, as a list. `orders`: the
    orders that it claims to keep; with none, see `.kept` and `.strongest`. `sends`: `unicast`, `multicast`,
    `broadcast`, or `broadcast-to-all`, which is `broadcast` with `self_sends`: senders deliver their own messages, too;
    default: what the class says by its attribute `sends`, or else unicast. `replies`: applications also send up to
    this many messages from inside deliveries (default: 3, or `messages` if fewer). `ticks`: how often time passes at
    each process; `restarts`: how often each may crash and start again. `timeout`: seconds for an answer. `ignore`: a
    regular expression for parts of packets to ignore, such as timestamps. Inputs are given one at a time, when the
    node is idle: races between its own tasks are not tried. Timers of asyncio do not fire: if one is pending, only
    violations are certain, and all else is unknown (`.undecided`). A violated property has a shortest run:
    `conform(MyNode)["causal"].run`.
    """
    request = _request(
        node,
        processes,
        messages,
        orders=orders,
        channel=channel,
        sends=sends,
        self_sends=self_sends,
        replies=replies,
        ticks=ticks,
        restarts=restarts,
    )
    with _implementation(node, request.processes, request.sends, timeout, ignore) as implementation:
        return conforming.conform(implementation, request, limits_of(None, max_seconds, None), report=logger().warning)


def conform_at_random(
    node: type | str | Sequence[str],
    processes: int = 5,
    messages: int = 20,
    *,
    runs: int = 1000,
    seed: int = 0,
    timeout: float = 5.0,
    ignore: str | None = None,
    max_seconds: float | None = None,
    **scope: Unpack[Scope],
) -> Conformance:
    """Takes an implementation through random runs, for more processes and messages than `conform` can try.

    `seed`: determines the runs; all else as for `conform`. A verdict `holds` is about these runs alone; others may
    violate the property. A violation has a run without unnecessary steps: `conform_at_random(MyNode)["causal"].run`.
    """
    request = _request(node, processes, messages, **scope)
    runs = arguments.whole_number("runs", runs)
    seed = arguments.whole_number("seed", seed, least=0)
    with _implementation(node, request.processes, request.sends, timeout, ignore) as implementation:
        return conforming.conform_at_random(implementation, request, runs, seed, limits_of(None, max_seconds, None))


def replay(
    node: type | str | Sequence[str],
    schedule: str | Path | Mapping[str, Any],
    *,
    timeout: float = 5.0,
    ignore: str | None = None,
) -> Replay:
    """Takes an implementation through one schedule: a file that `crownless conform --save` wrote, or its content.

    True if its run no longer violates the property that the schedule violates; `.violated` has all violated ones,
    `.run` the run, `.differs` the first step with a different outcome than before. If the nodes do not follow the
    schedule to its end, the verdict is unknown, `.undecided` says where they diverge, and the truth value raises
    `Undecided`. `node`: as for `conform`.
    """
    if isinstance(schedule, Mapping):
        given = read_schedule(as_json(dict(schedule)).encode(), "schedule")
    else:
        given = read_schedule(read_bytes(Path(schedule), str(schedule)), str(schedule))
    with _implementation(node, given.request.processes, given.request.sends, timeout, ignore) as implementation:
        return replays.replay(implementation, given)


def _request(node: object, processes: int, messages: int, **scope: Unpack[Scope]) -> Request:
    """The request, after its numbers and names are validated."""
    return Request(
        processes=arguments.whole_number("processes", processes, most=MAX_PROCESSES),
        messages=arguments.whole_number("messages", messages, most=MAX_MESSAGES),
        channel=scope.get("channel", "unordered"),
        orders=arguments.names("orders", scope.get("orders", ())),
        sends=known_sends(scope.get("sends") or sends_of(node)),
        self_sends=bool(scope.get("self_sends")),
        replies=arguments.optional_number("replies", scope.get("replies"), least=0),
        ticks=arguments.whole_number("ticks", scope.get("ticks", 0), least=0),
        restarts=arguments.whole_number("restarts", scope.get("restarts", 0), least=0),
    )


@contextmanager
def _implementation(
    node: type | str | Sequence[str], n: int, sends: Sends, timeout: float, ignore: str | None
) -> Iterator[Implementation]:
    """The nodes of a class, of a class by its name, or of a command."""
    ignored = to_ignore(ignore)
    limits = NodeLimits(seconds=arguments.seconds("timeout", timeout))
    implementation: Implementation
    if isinstance(node, type):
        implementation = InProcess(node, n, limits, ignored=ignored, sends=sends)
    elif isinstance(node, str):
        kind = own_protocols.load_node(node)
        implementation = InProcess(kind, n, limits, name=node, ignored=ignored, sends=sends)
    else:
        implementation = OutOfProcess(arguments.names("node", node), n, limits, ignored=ignored, sends=sends)
    with closing(implementation):
        yield implementation
