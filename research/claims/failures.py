"""The claims of [SES] on liveness and on the failure of a site, with shortest runs as witnesses."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.protocols.isis import Isis
from crownless.impl.protocols.ses import Ses
from crownless.impl.protocols.ses_rollback import Failure, SesRollback
from crownless.impl.workloads import Free, Workload
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.search.reachable import Reached, shortest_path
from crownless.model_check.system.monitors import History
from crownless.model_check.system.system import AGREED, LocalStep, System
from crownless.research.theorems.evidence import Evidence, fact, found, none_found
from crownless.research.theorems.impossible_protocols import m2_tells_of_m1
from crownless.research.variants.for_mattern_fuenfrocken import GivesUpTheDead
from crownless.research.variants.for_schiper_eggli_sandoz import AgreesOnlyOnce
from crownless.spec.computation import Message

from .claim import ambiguity, claim, error, slip_of_print
from .gathering import breaks, ended, explored, in_every_state, keep, program, proved, searched, system_of
from .programs import in_flight

# -- machines in no registry -------------------------------------------------------------------------------------------


def remembering(kind: type[ProtocolMachine], workload: Workload, crash: str | None = None) -> System:
    """The system, with a monitor that records the computation."""
    machine = kind(len(workload.processes))
    return system_of(machine, workload, crash=crash, monitors=(History(machine.n, "causal"),))


def events(now: Reached, p: int) -> Sequence[tuple[str, Message]]:
    """The events of a process so far, as (`send` or `receive`, message), in a `remembering` system."""
    line: Sequence[tuple[str, Message]] = now.monitor_state[1][p]
    return line


def sends_in_past(now: Reached, p: int) -> set[Message]:
    """The messages whose sends are in the causal past of a process, its own events included."""
    seen = [0] * now.system.n
    reached = [(p, len(events(now, p)))]
    while reached:
        q, upto = reached.pop()
        received = [message for kind, message in events(now, q)[seen[q] : upto] if kind == "receive"]
        reached += [(m.sender, list(events(now, m.sender)).index(("send", m)) + 1) for m in received]
        seen[q] = max(seen[q], upto)
    return {message for q, upto in enumerate(seen) for kind, message in events(now, q)[:upto] if kind == "send"}


def first_run(
    system: System,
    there: Callable[[Reached], bool],
    *,
    only: Mapping[str, Callable[[Reached], bool]] | None = None,
    then: str | None = None,
) -> Run | None:
    """A shortest run to such a state; None if there is none.

    `only`: maps some actions to the states in which alone they are allowed. `then`: an action appended to the run, with
    what all survivors learn from it.
    """
    ends: list[Reached] = []

    def wanted(now: Reached) -> bool:
        if there(now):
            ends.append(now)
        return bool(ends)

    def allowed(now: Reached, step: LocalStep) -> bool:
        happens = (only or {}).get(step.action.name)
        return happens is None or happens(now)

    steps = shortest_path(system, wanted, monitored=True, allowed=allowed)
    if steps is None:
        return None
    shown = [*steps, *([] if then is None else _with_what_is_learnt(ends[0], then))]
    return run_of(system, shown)


def _with_what_is_learnt(now: Reached, then: str) -> list[LocalStep]:
    step, state = next(move for move in now.moves if move[0].action.name == then)
    steps = [step]
    while (moves := now.system.moves(state)) and moves[0][0].action.name == f"receive {AGREED}":
        step, state = moves[0]
        steps.append(step)
    return steps


# -- states ------------------------------------------------------------------------------------------------------------


def missing(now: Reached) -> Iterator[tuple[list[int], int, Packet]]:
    """For each waiting message: the sites i with VT(S)[i] < VT[i] in its pair, S, and the packet."""
    for packet in now.system.refused(now.state):
        s = packet.destination
        time = now.locals[s].time
        yield [i for i, event in enumerate(packet.stamp.buffer[s]) if event > time[i]], s, packet


def numbers_a_message_for(now: Reached, s: int, packet: Packet, i: int) -> bool:
    """True if event VT[i] of site i, where VT is the pair for S, is the emission of a message for S."""
    kind, message = events(now, i)[packet.stamp.buffer[s][i] - 1]
    return kind == "send" and s in message.receivers


def all_of_the_first_is_delivered(now: Reached) -> bool:
    """True if P1 has crashed and the others have delivered everything it sent to them."""
    flight = [packet for packet in now.in_flight if packet.destination]
    waiting = [packet for local in now.locals[1:] for packet in local.waiting]
    return all(packet.source for packet in (*flight, *waiting))


def never(now: Reached) -> bool:
    """False in every state."""
    return False


def somebody_waits_for_ever(now: Reached) -> bool:
    """True if no action is enabled and a message waits at a survivor of P1."""
    return not now.moves and any(local.waiting for local in now.locals[1:])


def is_at_rest(now: Reached) -> bool:
    """True if nothing is in flight to a survivor of P1, and no survivor holds a deliverable message."""
    deliverable = [now.system.machine.receive(i, local, None) for i, local in enumerate(now.locals) if i]
    return not any(deliverable) and not any(packet.destination for packet in now.in_flight)


def waiting(now: Reached) -> set[str]:
    """The names of the messages that have arrived at survivors of P1 and are not delivered."""
    return {packet.message.name for local in now.locals[1:] for packet in local.waiting}


def agreed_event(now: Reached) -> int:
    """The number that the survivors of P1 would agree on now."""
    survivors = {i: local for i, local in enumerate(now.locals) if i}
    failure = now.system.machine.agree(survivors, 0)
    assert isinstance(failure, Failure)
    return failure.event


def oldest_undelivered(now: Reached) -> int | None:
    """The number of P1's first event that is the emission of a message not yet delivered to its receiver."""
    return next(
        (
            number
            for number, (kind, message) in enumerate(events(now, 0), 1)
            if kind == "send" and ("receive", message) not in events(now, message.receiver)
        ),
        None,
    )


NOTHING_FOR_ONESELF = "self-sends are excluded: the text has pairs for every other site"

# -- the claims --------------------------------------------------------------------------------------------------------


@claim(
    "SES16",
    "[SES] §4.2.5, liveness",
    "Without failures the vector-pair protocol delivers every message.",
    "proved",
    reading="what can be delivered for ever is delivered at last",
)
@error(
    "the proof takes the event that a missing entry numbers for a message to the waiting site",
    "it need not be one; the claim holds, by another proof, for every n",
)
@slip_of_print(
    "the proof has VT(S)[i] > VT(M')[i] > VT[i], where M' is the message of event n = VT[i] of site i",
    "VT(S)[i] ≥ VT(M')[i] = VT[i]",
)
def ses16(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)

    def numbers(now: Reached, s: int, packet: Packet, sites: list[int]) -> list[bool]:
        return [numbers_a_message_for(now, s, packet, i) for i in sites]

    any_entry = first_run(
        remembering(Ses, Free(3, 3)),
        lambda now: any(not all(numbers(now, s, packet, sites)) for sites, s, packet in missing(now)),
    )
    no_entry = first_run(
        remembering(Ses, Free(n, m)),
        lambda now: any(not any(numbers(now, s, packet, sites)) for sites, s, packet in missing(now)),
    )
    title = "m3's pair for P3 is (1,2,0), P3's time (0,0,0): m3 must wait for m2; event 1 of P1 is a message to P2"
    some_entry = f"the printed step holds of some entry of every message that waits, with {n} sites and {m} messages"
    return (
        proved("ses", "live")
        & found(title, any_entry, "counterexample-ses16")
        & none_found("a message waits, and no entry numbers a message for its site", no_entry, some_entry)
    )


#: Fig. 6, except that S3 goes on and another site hears from it.
FIG_6_AND_ON = """
S1: send M1 to S2; send M2 to S3
S2: receive; receive; receive; receive
S3: receive; send M3 to S2; send M4 to S2; send M5 to S4
S4: receive; send M6 to S2
"""


@claim(
    "SES17",
    "[SES] §4.3, Fig. 6",
    "If S1 dies and M1 is lost, nothing that S3 sends after M2, nor any site that then heard from it, ever reaches S2; "
    "under ISIS all of it does.",
    "checked",
    reading="of what is sent after the delivery of M2; what was sent before it still arrives",
)
def ses17(quick: bool) -> Evidence:
    bounds = [(3, 3)] if quick else [(3, 4), (4, 3)]
    vector_pairs = [searched("ses", n, m, crash="P1") for n, m in bounds]
    isis = [searched("isis", n, m, crash="P1") for n, m in bounds]
    isis.append(searched("isis", 3, 2 if quick else 3, crash="P1", sends="multicast"))
    fig_6 = program(FIG_6_AND_ON, "Fig. 6 with a fourth site")
    passed, whole = (ended(kind(4), fig_6, crash="S1") for kind in (Ses, Isis))
    stuck = first_run(remembering(Ses, fig_6, "S1"), _all_wait_for_m1)
    only_cut_off = passed.violations.keys() == {"delivers-all"} and all(
        result["delivers-all"].run is not None for result in vector_pairs
    )
    cut_off = proved("ses", "safe").saying(
        "z3: never, since what depends on a message waits for it, lost or not", "P1 may crash, and its packets be lost"
    )
    return (
        cut_off.beside()
        & keep(vector_pairs, "causal")
        & fact(only_cut_off, "something stays undelivered, in each of these checks")
        & found("M3 and M4 of S3, and M6 of S4, wait at S2 for M1, for ever", stuck)
        & keep([*isis, whole])
    )


#: Z, which waits for M1, may still be in flight when Q informs S3 of P; the agreed number is then 3.
ONCE_MORE = """
S1: send M1 to S2; send M2 to S3; send P to S3; send Q to S3
S2: receive; receive
S3: receive; send Z to S2; receive; receive; receive; receive
"""


@claim(
    "SES18",
    "[SES] §4.3",
    "Once the survivors have agreed on N, the first send event of S1 whose message is missing, and every site that "
    "knows of it has rewound, no site is blocked and causal order holds.",
    {"as printed, they agree once": "refuted", "they agree again whenever a waiting message shows evidence": "checked"},
    reading="nothing else happens while they agree; what depends on event N is dropped",
    kind="ambiguity",
    defense="§4.3 sketches the treatment, and does not say that the survivors agree only once",
)
def ses18(quick: bool) -> list[Evidence]:
    once_more = program(ONCE_MORE, "agreeing once leaves a message blocked")
    once, again = (ended(kind(3), once_more, crash="S1") for kind in (AgreesOnlyOnce, SesRollback))
    at_rest = first_run(
        remembering(AgreesOnlyOnce, once_more, "S1"),
        somebody_waits_for_ever,
        only={"agree": is_at_rest},
    )
    results = [searched("ses-rollback", n, m, crash="P1") for n, m in ([(3, 3)] if quick else [(3, 4), (4, 2)])]
    not_oldest = first_run(
        remembering(SesRollback, Free(2, 3), "P1"),
        lambda now: now.may("agree") and is_at_rest(now) and agreed_event(now) != oldest_undelivered(now),
        only={"agree": never},
        then="agree",
    )
    needless = first_run(
        remembering(SesRollback, Free(3, 3), "P1"),
        lambda now: now.may("agree") and all_of_the_first_is_delivered(now),
        only={"lose": never, "agree": never},
        then="agree",
    )
    as_printed = (
        breaks(once, "delivers-all", "agreeing once leaves a message blocked")
        & found(
            "agreeing once: the number is 3, that of P; S3 keeps M2, and Z waits for M1",
            at_rest,
            "counterexample-ses18",
        )
        & keep(explored(AgreesOnlyOnce(3), Free(3, 2 if quick else 4), crash="P1"))
        & found(
            "m1 and m2 are lost, and the number is 2: the pair tells of the younger",
            not_oldest,
            "counterexample-ses18-number",
        )
        & found(
            "nothing is lost; m3 waits for m2 alone, and P2 undoes the delivery of m1",
            needless,
            "counterexample-ses18-needless",
        )
    )
    return [as_printed.refutes(), keep([*results, again])]


@claim(
    "SES24",
    "[SES] §4.3",
    "The vector-pair protocol keeps causal order where sites and communication fail, too.",
    "proved",
    reading="a site that fails takes no more steps, and any packet may be lost; none is changed",
)
def ses24(quick: bool) -> Evidence:
    results = [searched("ses", n, m, crash="P1") for n, m in ([(3, 3)] if quick else [(3, 4), (4, 3)])]
    return proved("ses", "safe") & keep([*results, searched("ses", 3, 3, channel="lossy")], "causal")


#: As Fig. 6, with a message of S3 to the site that dies.
FIG_6_TO_THE_DEAD = """
S1: send M1 to S2; send M2 to S3
S2: receive
S3: send M to S1; send M3 to S2
"""


@claim(
    "SES25",
    "[SES] §4.3",
    "The problem of failures is solved completely only by rolling back, or by a scheme like ISIS, whose messages carry "
    "those before them.",
    {
        "whatever the protocol": "refuted",
        "as in Fig. 6: M1 is lost, nothing but M2 comes from S1, and M1 reaches S2": "proved",
    },
    reading="two sentences: solutions 'need some sort of rollback mechanism', and 'the only way to completely solve "
    "the problem of failures without rollback is an implementation like the one of ISIS'. Solved completely: whatever "
    "a survivor sends to a survivor is delivered, and what it depends on. Survivors agree on who died, as in §4.3",
)
@ambiguity(
    "buffers that await acknowledgements, and give up the dead, undo and carry nothing: M2 goes when M1 has arrived",
    "if M1 is lost, S1 dies, and nothing but M2 ever comes from S1, then M1 reaches S2 only if M2 tells of it",
    "the text says only that its example, Fig. 6, suggests it; there M2 is sent before M1 has arrived",
)
def ses25(quick: bool) -> list[Evidence]:
    free, n = Free(3, 3), 3
    to_the_dead = remembering(GivesUpTheDead, program(FIG_6_TO_THE_DEAD), "S1")

    def m3_comes_without_m1(now: Reached) -> bool:
        m1_is_lost = "M1" not in in_flight(now) and not now.locals[1].input
        s1_is_dead = now.system.crashed(now.state) == 0 and len(events(now, 0)) == 2
        return s1_is_dead and m1_is_lost and [message.name for _, message in events(now, 1)] == ["M3"]

    run = first_run(to_the_dead, m3_comes_without_m1, only={"crash": lambda now: in_flight(now) == {"M1", "M"}})
    title = "buffers: M2 waits until M1 has arrived. S1 dies, M1 is lost, S3 gives S1 up, and M3 comes to S2"

    def depends_on_nothing_lost(now: Reached) -> bool:
        """True if what survivors have delivered of P1's messages to them comes first among these."""
        sent = [message for kind, message in events(now, 0) if kind == "send"]
        there = [("receive", message) in events(now, message.receiver) for message in sent]
        return there == sorted(there, reverse=True)

    kept = explored(GivesUpTheDead(n), free, crash="P1")
    whole = in_every_state(
        "where a run may end, nothing that a survivor has delivered depends on a message to one that was lost",
        remembering(GivesUpTheDead, free, "P1"),
        depends_on_nothing_lost,
        where=lambda now: now.system.may_end(now.moves),
        monitored=True,
    )
    return [
        (
            found(title, run, "counterexample-ses25") & keep(kept, "causal", "delivers-all", "never-blocks") & whole
        ).refutes(),
        m2_tells_of_m1(),
    ]


@claim(
    "SES26",
    "[SES] §4.3",
    "Where S_i died, MIN(S) is the number of the oldest event SEND(M) of S_i such that M was never delivered to S.",
    {
        "M is a message to S": "refuted",
        "M is a message to any site": "refuted",
        "MIN(S) is the number of a send of S_i, to S or another site, that S does not know of": "checked",
    },
    reading="the pairs are said to 'carry evidence of some message, emitted by the broken down site S_i, and not yet "
    "delivered to S'; a message to another site is never delivered to S anyway",
)
@error(
    "the number may be that of a send to another site that S has merely not heard of yet; nor is it always the oldest",
    "it is the number of a send of S_i, to some site, that S does not know of",
)
def ses26(quick: bool) -> list[Evidence]:
    system = remembering(SesRollback, Free(3, 3 if quick else 4), "P1")

    def minima(now: Reached) -> list[tuple[int, int]]:
        """Each survivor that has a MIN(S), with that number."""
        machine = now.system.machine
        assert isinstance(machine, SesRollback)
        found = {s: machine.minimum(s, local, 0) for s, local in enumerate(now.locals) if s}
        return [(s, number) for s, number in found.items() if number is not None]

    def nothing_for_it(now: Reached) -> bool:
        return now.may("agree") and any(s not in events(now, 0)[k - 1][1].receivers for s, k in minima(now))

    def not_the_oldest(now: Reached) -> bool:
        earlier = [(s, event) for s, k in minima(now) for event in events(now, 0)[: k - 1]]
        undelivered = {m.name for s, (kind, m) in earlier if kind == "send" and ("receive", m) not in events(now, s)}
        return now.may("agree") and not undelivered <= in_flight(now) | waiting(now)

    elsewhere, younger = (first_run(system, there, only={"agree": never}) for there in (nothing_for_it, not_the_oldest))
    sends = in_every_state(
        "MIN(S) numbers a send of P1, before the survivors agree",
        system,
        lambda now: all(events(now, 0)[k - 1][0] == "send" and now.locals[s].time[0] < k for s, k in minima(now)),
        where=lambda now: now.may("agree"),
        monitored=True,
        allowed=lambda now, step: step.action.name != "agree",
    )
    title = "m3 waits for m2 with the pair (1,2,0): MIN(P3) is 1, the number of m1, which is to P2 and delivered"
    return [
        found(title, elsewhere, "counterexample-ses26").refutes(),
        found("m1 is lost, and MIN(P2) is 2, the number of m2", younger).refutes(),
        sends & fact(True, "", f"every interleaving of 3 sites and {3 if quick else 4} messages, P1 may crash"),
    ]


def _all_wait_for_m1(now: Reached) -> bool:
    """True if all is sent, S2 has received nothing, and no action is enabled."""
    sent = {message.name for p in range(4) for kind, message in events(now, p) if kind == "send"}
    return not now.moves and len(sent) == 6 and not events(now, 1)
