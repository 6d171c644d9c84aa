"""The claims of [MG] on Fig. 8; shortest runs that violate an order, including that of intents; and costs of runs."""

from functools import cache
from typing import Any, NamedTuple

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.workloads import Free
from crownless.model_check.runs.runs import Run
from crownless.model_check.search.reachable import HistoryVariable, reachable
from crownless.model_check.system.monitors import Monitor, Observation
from crownless.model_check.system.properties import Property
from crownless.model_check.system.system import LocalStep, System
from crownless.proofs.induction.queue_abstraction import StageEvent, fixed_by
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.protocols.murty_garg import MURTY_GARG, Priorities
from crownless.research.theorems.evidence import Evidence, by_z3, fact, found
from crownless.research.variants.for_murty_garg import CommitsAtAcknowledgement, NeverAcknowledges, SendsWhenWanted
from crownless.spec.computation import Message

from .claim import claim, slip_of_print
from .gathering import OF_STAGES, breaks, ends, explored, proved, ran, searched, system_of

CHANNELS = ("unordered", "fifo")


class IntendedOrder(Monitor):
    """The order in which a process submitted messages is that of its sends; or of its sends to one receiver."""

    watches = ("in-order",)

    def __init__(self, *, to_one_receiver: bool) -> None:
        self.to_one_receiver = to_one_receiver

    def initial(self) -> tuple[Message, ...]:
        return ()

    def observe(self, monitor_state: Any, code: Observation) -> tuple[Any, tuple[str, ...]]:
        message = code.message
        if code.kind == "hand":
            return (*monitor_state, message), ()
        if code.kind != "send":
            return monitor_state, ()
        rivals = [
            other
            for other in monitor_state
            if other.sender == message.sender and (not self.to_one_receiver or other.receivers == message.receivers)
        ]
        after = tuple(other for other in monitor_state if other != message)
        return after, ("in-order",) if rivals[0] != message else ()


@cache
def first_run_that_breaks(
    name: str, kind: type[ProtocolMachine], n: int, m: int, channel: str = "unordered"
) -> Run | None:
    """A shortest run of the free workload that violates `synchronous`, `causal`, `fifo`, `in-order` (of intents) or
    `in-order-to-one` (receiver).
    """
    of_intents = name.startswith("in-order")
    monitors = (IntendedOrder(to_one_receiver=name == "in-order-to-one"),) if of_intents else ()
    known = Property(name.removesuffix("-to-one"), "always", name)
    orders = ("asynchronous",) if of_intents else (name,)
    found = explored(kind(n), Free(n, m), channel=channel, orders=orders, monitors=monitors, properties=(known,))
    return found[known.name].run


class Cost(NamedTuple):
    """The cost of a run: messages to bigger and to smaller processes, and transmitted control packets."""

    up: int
    down: int
    control: int


def costs(n: int, m: int) -> set[Cost]:
    """The costs of the runs of Fig. 8 with m messages that end with nothing in flight or waiting."""
    workload = Free(n, m)
    ends = set()
    for now in reachable(system_of(MurtyGarg(n), workload), history=CONTROL_PACKETS):
        if not now.moves:
            position = now.system.position(now.state)
            up = sum(k for k, (p, (q,)) in zip(position, workload.channels, strict=True) if p < q)
            ends.add(Cost(up, m - up, now.history))
    return ends


def _counted(system: System, control: int, step: LocalStep) -> int:
    return control + sum(packet.kind != "message" for packet in system.transmitted(step))


#: How many control packets have been transmitted.
CONTROL_PACKETS = HistoryVariable(0, _counted)


# -- commits -----------------------------------------------------------------------------------------------------------


class SendsToAnybody(Priorities):
    """No priorities: an active process sends every message itself, even to a bigger process."""

    def taking(self, *, passive: bool) -> StageEvent:
        event, now, l = super().taking(passive=passive), self.before, self.logic
        mine = l.both(self.sender(self.m) == self.i, l.no(now.wanted(self.m)))
        return event._replace(given={**event.given, "i wants to send m, or is asked to": mine})


class CommitsWhenItAsks(Priorities):
    """The sender commits a message to a bigger process when it transmits the request."""

    def asking(self) -> StageEvent:
        return super().asking()._replace(happens=lambda: [self.commit(self.m)])


class CommitsOnAcknowledgement(Priorities):
    """The bigger process commits its message when it receives the acknowledgement."""

    def going_on(self) -> StageEvent:
        return super().going_on()._replace(happens=lambda: [self.commit(self.m)])


def commit_claims(abstraction: type[Priorities] = Priorities) -> list[Claim]:
    """[MG] §4.2.1, for each event of Fig. 8: i commits exactly the message packets that it transmits or receives, and
    these go from a bigger to a smaller process.
    """
    run = abstraction()
    now, i, l = run.before, run.i, run.logic
    packet = MURTY_GARG.view.packets["message"]
    claims = []
    for event in run.events():
        commits = [happened.message for happened in event.happens()]

        def rule(x: Any, event: StageEvent = event, commits: list[Any] = commits) -> Any:
            before, after = packet.in_flight(run, now, x), packet.in_flight(run, event.after, x)
            source, destination = packet.source(run, x), packet.destination(run, x)
            transmitted, received = l.both(l.no(before), after), l.both(before, l.no(after))
            here = l.either(l.both(transmitted, source == i), l.both(received, destination == i))
            downhill = run.rank(source) > run.rank(destination)
            return l.both(
                l.either(*(x == each for each in commits)) == here,
                l.implies(l.either(transmitted, received), l.both(here, downhill)),
            )

        given = {**MURTY_GARG.now(run), **event.given, **fixed_by(run, event)}
        claims.append(Claim(f"{event.name}: commits from bigger to smaller", given, l.messages(rule)))
    return claims


@cache
def commits_go_downhill() -> Evidence:
    """This holds for Fig. 8; not without its priorities, nor if commits happened elsewhere."""
    variants = (SendsToAnybody, CommitsWhenItAsks, CommitsOnAcknowledgement)
    return by_z3(
        "in each event of the stages of a message what a process commits is just what it transmits to a smaller "
        "process, or receives from a bigger one; not so without priorities",
        commit_claims(),
        refuted=[commit_claims(variant) for variant in variants],
        scope=OF_STAGES,
    )


# -- the claims --------------------------------------------------------------------------------------------------------

NO_CROWN_IN_WORDS = "z3 shows that each line is in the order of the points; that there is then no crown is in words"


@claim(
    "MG16",
    "[MG] §5.2, Theorem 8",
    "Every process that wants to send a message is able to in the end.",
    {
        "by the words of RP, as Fig. 8 has them": "proved",
        "by the formulas of SP, RP and PR alone: nothing need ever be acknowledged": "refuted",
    },
    reading="of Fig. 8, which implements SP, RP and PR: by RP's words a process acknowledges what it received when it "
    "is active, which their formulas alone do not ask for. Applications take what comes",
    kind="ambiguity",
)
def mg16(quick: bool) -> list[Evidence]:
    silent = explored(NeverAcknowledges(2), Free(2, 2), orders=("asynchronous",))
    title = "SP, RP and PR hold by their formulas, nothing is acknowledged, and P2 may not send again"
    return [proved("murty-garg", "live"), breaks(silent, "never-blocks", title).refutes()]


@claim(
    "MG17",
    "[MG] §4.1, §4.3, Fig. 8",
    "The algorithm of Fig. 8 is safe and live.",
    {
        "each send is committed where Fig. 8 has it": "proved",
        "a process may commit every send at its acknowledgement instead, if that is the flexibility of §4.1": "refuted",
    },
    not_said={
        (
            "likewise if a send is where the application wants it: not even FIFO, and over FIFO channels not even "
            "causal"
        ): "refuted",
        "a process's sends keep the order in which it wanted them": "refuted",
        "its sends to one receiver do, over FIFO channels": "checked",
    },
    reading="a message is sent and received where Fig. 8 commits it; in which order a process wanted its sends, the "
    "text does not say",
    kind="ambiguity",
    defense="§4.1 says it of one message in Fig. 5; Fig. 8 uses both points, each for one direction",
)
@slip_of_print("the third box receives <ack, i, j> at P_i", "<ack, j, i>, which P_j sends")
def mg17(quick: bool) -> list[Evidence]:
    m = 3 if quick else 4
    at_ack = first_run_that_breaks("synchronous", CommitsAtAcknowledgement, 3, 3)
    overtaken = first_run_that_breaks("fifo", SendsWhenWanted, 2, 2)
    over_fifo = first_run_that_breaks("causal", SendsWhenWanted, 3, 3, "fifo")
    any_order = [first_run_that_breaks("in-order", MurtyGarg, 3, 2, channel) for channel in CHANNELS]
    to_one = first_run_that_breaks("in-order-to-one", MurtyGarg, 2, 2)
    kept = first_run_that_breaks("in-order-to-one", MurtyGarg, 3, m, "fifo")
    return [
        proved("murty-garg", "safe", "live") & fact(True, "", NO_CROWN_IN_WORDS),
        found(
            "not synchronous, if sends are committed at the acknowledgement", at_ack, "counterexample-mg17-commit"
        ).refutes(),
        (
            found("not FIFO, if sends are where they are wanted", overtaken)
            & found(
                "over FIFO channels, not causally ordered, if sends are where they are wanted: P1 wants m1 before m2",
                over_fifo,
                "counterexample-mg17-wanted",
            )
        ).refutes(),
        (
            found("P2 wants m1 before m2, and sends m2 first", any_order[0], "counterexample-mg17")
            & found("over FIFO channels intents are overtaken, too", any_order[1])
            & found(
                "two sends to one receiver overtake each other; a send happens when the bigger process's copy is back",
                to_one,
                "counterexample-mg17-one-receiver",
            )
        ).refutes(),
        fact(
            kept is None,
            "intents to one receiver are not overtaken over FIFO channels",
            f"every interleaving of 3 processes, up to {m} messages, fifo channel",
        ),
    ]


@claim(
    "MG18",
    "[MG] §1",
    "The algorithm that blocks its sender until the acknowledgement can deadlock; this one does not.",
    "proved",
    reading="the blocking algorithm accepts no message while it waits (`rendezvous`). That it can deadlock is shown by "
    "a run, that Fig. 8 does not is proved",
)
def mg18(quick: bool) -> Evidence:
    return (
        breaks(searched("rendezvous", 2, 2), "delivers-all", "the deadlock of the blocking algorithm")
        & ends(ran("rendezvous", "mg-fig4a"), "never")
        & ends(ran("murty-garg", "mg-fig4a"), "always")
        & proved("murty-garg", "live")
    )
