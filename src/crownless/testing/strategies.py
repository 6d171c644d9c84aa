"""Hypothesis strategies for random computations, programs and schedules."""

from hypothesis import strategies as st

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Workload
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.system.request import Check
from crownless.model_check.system.system import LocalStep
from crownless.spec import notation
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.notation import Script


@st.composite
def computations(
    draw: st.DrawFn,
    *,
    processes: tuple[int, int] = (2, 4),
    messages: int = 6,
    receivers: int = 1,
    self_sends: bool = False,
    complete: bool | None = None,
    internal: bool = False,
) -> Computation:
    """A computation of P1, P2, … and m1, m2, …: events in an order that happened-before allows, on their lines.

    `processes`: at least and at most so many; `messages`: at most so many, each to at most so many `receivers`.
    `complete`: whether every message is received; None: either. `internal`: internal events too.
    """
    n = draw(st.integers(*processes))
    lines: list[list[Event]] = [[] for _ in range(n)]
    sent: list[Message] = []
    on_the_way: list[tuple[int, int]] = []
    kinds = ["send", "receive", *(["internal"] if internal else [])]
    can_send = n > 1 or self_sends
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=messages * (2 + receivers))):
        if kind == "send" and len(sent) < messages and can_send:
            p = draw(st.integers(0, n - 1))
            others = [q for q in range(n) if q != p or self_sends]
            to = draw(st.sets(st.sampled_from(others), min_size=1, max_size=min(receivers, len(others))))
            lines[p].append(Event("send", len(sent)))
            on_the_way += [(len(sent), q) for q in sorted(to)]
            sent.append(Message(f"m{len(sent) + 1}", p, tuple(sorted(to))))
        elif kind == "receive" and on_the_way:
            m, q = on_the_way.pop(draw(st.integers(0, len(on_the_way) - 1)))
            lines[q].append(Event("receive", m))
        elif kind == "internal":
            lines[draw(st.integers(0, n - 1))].append(Event("internal", None))
    if complete or (complete is None and draw(st.booleans())):
        for m, q in draw(st.permutations(on_the_way)):
            lines[q].append(Event("receive", m))
    return Computation.of_lines(n, sent, lines)


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    processes: tuple[int, int] = (2, 3),
    messages: int = 5,
    receivers: int = 1,
    selective: bool = True,
) -> Script:
    """A program: each message is sent somewhere, and mostly received somewhere; it need not come to its end.

    `selective`: some receives name the message or its sender. The rest is as for `computations`.
    """
    n = draw(st.integers(*processes))
    lines: list[list[str]] = [[] for _ in range(n)]

    def insert(p: int, statement: str) -> None:
        lines[p].insert(draw(st.integers(0, len(lines[p]))), statement)

    for m in range(1, draw(st.integers(1, messages)) + 1):
        p = draw(st.integers(0, n - 1))
        others = [q for q in range(n) if q != p]
        to = sorted(draw(st.sets(st.sampled_from(others), min_size=1, max_size=min(receivers, len(others)))))
        insert(p, f"send m{m} to {', '.join(f'P{q + 1}' for q in to)}")
        for q in to:
            by_name = [f"receive from P{p + 1}", f"receive m{m}"] if selective else []
            which = draw(st.sampled_from([*["receive"] * 3, *by_name, ""]))
            if which:
                insert(q, which)
    return notation.parse("\n".join(f"P{p + 1}: {'; '.join(line)}" for p, line in enumerate(lines)))


@st.composite
def schedules(
    draw: st.DrawFn,
    protocol: str | type[ProtocolMachine] | ProtocolMachine,
    *,
    processes: tuple[int, int] = (2, 3),
    messages: int = 4,
    steps: int = 25,
    channel: str | None = None,
    workload: Workload | None = None,
) -> Run:
    """A run of a protocol from its beginning to anywhere, one of those that `cr.check` explores.

    `steps`: at most so many. Raises `BadInput` for what cannot be checked.
    """
    n = None if workload is not None else draw(st.integers(*processes))
    check = Check(protocol, n, None if n is None else messages, channel=channel, workload=workload).resolve()
    system = check.system()
    state, taken = system.initial(), list[LocalStep]()
    for pick in draw(st.lists(st.integers(0, 40), max_size=steps)):
        moves = system.moves(state)
        if not moves:
            break
        step, state = moves[pick % len(moves)]
        taken.append(step)
    return run_of(system, taken)
