"""The claims of Mattern & Fünfrocken [MF] on the buffer protocol."""

from itertools import pairwise

from crownless.impl.protocols.rst_before import RstBefore
from crownless.impl.workloads import Free
from crownless.model_check.search.generating import computation_of
from crownless.model_check.search.reachable import reachable
from crownless.research.theorems import buffer_reach
from crownless.research.theorems.evidence import Evidence, fact, found, together
from crownless.research.theorems.synchronous import fifo_follows_from_causal, theorem_1
from crownless.research.variants.for_mattern_fuenfrocken import CopyByCopy, KearnsInTurn, ReleasedTogether
from crownless.spec.computation import Computation
from crownless.spec.enumeration import computations
from crownless.spec.orders import decide, keeps

from . import programs
from .buffers import invariants_in_time
from .claim import claim
from .gathering import breaks, ends, enumerated, explored, figure, generates, keep, proved, ran, searched
from .programs import becomes, form, on, outcomes

# -- §1: the orders ----------------------------------------------------------------------------------------------------


@claim(
    "MF1",
    "[MF] §1",
    "A computation that is causally ordered is FIFO.",
    "proved",
    reading="the same where messages are unreceived, read as lost or as still to come, and where some are to oneself",
)
def mf1(quick: bool) -> Evidence:
    return fifo_follows_from_causal()


CHAIN = ("synchronous", "causal", "fifo", "asynchronous")


@claim(
    "MF2",
    "[MF] §1",
    "Synchronous computations are causal, causal ones FIFO, FIFO ones asynchronous; none of it holds conversely.",
    "proved",
    reading="synchronous: the text gives no formula; messages can be numbered so that numbers grow along "
    "every line ([MG] §2.2). Asynchronous is every computation",
)
def mf2(quick: bool) -> Evidence:
    strict = together(
        found(f"smallest that is {wider} and not {narrower}", _smallest(wider, narrower))
        for narrower, wider in pairwise(CHAIN)
    )
    both_ways = fact(strict.shows, "each of them decided by search, as the orders are defined, and by graph")
    return theorem_1() & fifo_follows_from_causal() & strict & both_ways


# -- §2: earlier realizations ------------------------------------------------------------------------------------------


@claim(
    "MF3",
    "[MF] §2",
    "A sender that is blocked until its message is acknowledged keeps FIFO order, and even synchronous order.",
    {
        "a blocked process does nothing, as in Fig. 1": "checked",
        "only its sends are blocked, FIFO order": "checked",
        "only its sends are blocked, synchronous order": "refuted",
    },
    reading="a blocked process receives nothing either (`rendezvous`), or goes on receiving (`fifo-ack`); of the order "
    "of deliveries, since the first may deadlock (MF7)",
    kind="ambiguity",
)
def mf3(quick: bool) -> list[Evidence]:
    n, m = (3, 3) if quick else (3, 4)
    orders = ("fifo", "causal", "synchronous")
    sends_alone = searched("fifo-ack", n, m, orders=orders)
    title = "the other reading, sends alone blocked: crossing messages, FIFO and not synchronous"
    return [
        keep(searched("rendezvous", n, m, orders=orders), *orders) & generates("rendezvous", "synchronous", (3, 3)),
        keep(sends_alone, "fifo", "causal", "delivers-all"),
        breaks(sends_alone, "synchronous", title).refutes(),
    ]


@claim(
    "MF4",
    "[MF] §2",
    "Numbering the messages of each channel, and delivering them by number, gives FIFO order but not causal order.",
    "checked",
)
def mf4(quick: bool) -> Evidence:
    result = searched("fifo-sequence", 3, 3 if quick else 4, orders=("fifo", "causal"))
    return (
        keep(result, "fifo", "delivers-all", "never-blocks")
        & breaks(result, "causal", "a chain of two messages overtakes one")
        & generates("fifo-sequence", "fifo", (3, 3))
    )


@claim(
    "MF5",
    "[MF] §2",
    "With message-count vectors the single server hears all its clients' messages in causal order.",
    {
        "by the letter, over channels that reorder: messages of one client overtake": "refuted",
        "over FIFO channels": "checked",
        "over any channel, if the sender's next message is asked for": "checked",
    },
    reading="no channel is named, and messages may overtake each other, as for the other protocols of §2. The "
    "server's condition leaves the sender out",
    kind="ambiguity",
    defense="the text calls the delay an extension of sequence numbers, and may take FIFO channels for granted",
)
def mf5(quick: bool) -> list[Evidence]:
    n, m = (3, 3) if quick else (3, 5)
    printed = searched("kearns", 2, 2, channel="unordered")
    over_fifo = [searched("kearns", n, m), searched("kearns", 4, 3 if quick else 4)]
    in_turn = explored(KearnsInTurn(3), Free(3, 3), channel="unordered")
    title = "two messages of one client overtake each other"
    return [
        breaks(printed, "causal", title, "counterexample-mf5").refutes(),
        keep(over_fifo, "causal", "delivers-all", "never-blocks"),
        keep(in_turn),
    ]


@claim(
    "MF6",
    "[MF] §2",
    "The matrix protocol that increments before it sends is causally ordered and delivers everything.",
    {
        "the matrix is merged when the message is received, which is after its delay": "proved",
        "merged when it arrives": "refuted",
    },
    not_said={"messages to oneself are delivered, too": "refuted"},
    reading="the matrix is merged on delivery: merged on arrival, as the words may be taken, no message is ever "
    "accepted; and self-sends are excluded, since such a message is never delivered",
    kind="ambiguity",
)
def mf6(quick: bool) -> list[Evidence]:
    to_oneself = searched("rst-before", 2, 2, self_sends=True)
    title = "left out: a message to oneself is never delivered"
    return [
        proved("rst-before", "safe", "live"),
        fact(not _accepted_once_merged(), "merged on arrival, a first message is not accepted").refutes(),
        breaks(to_oneself, "delivers-all", title).refutes(),
    ]


def _accepted_once_merged() -> bool:
    """True if a first message is accepted where its matrix has already been merged."""
    machine = RstBefore(2)
    (message,) = next(computations(2, 1)).messages
    ((_, (packet,), _),) = machine.send(message.sender, machine.initial(message.sender), message)
    merged = machine.after_delivering(machine.initial(message.receiver), packet.stamp)
    return bool(machine.deliverable(message.receiver, merged, packet))


@claim(
    "MF7",
    "[MF] §2, Fig. 1",
    "Synchronous communication by waiting keeps causal order, but two processes that send to each other deadlock.",
    "checked",
)
def mf7(quick: bool) -> Evidence:
    free = searched("rendezvous", 3, 3 if quick else 4, orders=("causal",))
    return keep(free, "causal") & ends(ran("rendezvous", "mf-fig1"), "never", "the deadlock on Fig. 1's program")


# -- §4.1: the first program -------------------------------------------------------------------------------------------


@claim(
    "MF16",
    "[MF] §4.1, Figs 4–6",
    "The first program can run as in Fig. 4 if nothing orders its messages. The matrix protocol has it run as in "
    "Fig. 5, where z waits at its receiver; the buffer protocol as in Fig. 6, where y waits at its sender.",
    "checked",
    reading="the drawings are lost; Figs 5 and 6 are one computation, and differ in what is delayed",
)
def mf16(quick: bool) -> Evidence:
    name = "mf-program-1"
    forms = {k: form(figure(f"mf-fig{k}")) for k in (4, 5, 6)}
    fig4 = form(figure("mf-fig4")) in outcomes("unordered", name) and not decide(figure("mf-fig4"), "causal").kept
    return (
        fact(fig4, "without a protocol Fig. 4 is possible, and not causally ordered")
        & becomes("rst", name, "the matrix protocol has it run as in Fig. 5", {forms[5]})
        & becomes("buffer", name, "the buffer protocol as in Fig. 6", {forms[6]})
        & ends([ran(protocol, name) for protocol in ("rst", "buffer")], "always")
        & programs.delays_z_at_its_receiver()
        & programs.delays_y_at_its_sender()
        & found("Fig. 4: x is overtaken by y and z", figure("mf-fig4"))
        & found("Figs 5 and 6", figure("mf-fig5"))
    )


@claim(
    "MF17",
    "[MF] §4.1",
    "If P3 asks for z before x, neither protocol lets it go beyond that receive.",
    "checked",
)
def mf17(quick: bool) -> Evidence:
    name = "mf-program-1-selective"
    titles = {
        "rst": "the matrix protocol holds z back",
        "buffer": "the buffer protocol has x first in P3's input buffer",
    }
    there = {("P3 at its statement 1, receive from P2",)}
    blocked = all(ran(protocol, name).exploration.blocked == there for protocol in titles)
    served = ran("unordered", name).completes != "never"
    return together(ends(ran(protocol, name), "never", title) for protocol, title in titles.items()) & fact(
        blocked and served, "every run ends with P3 at its first receive; without a protocol it can be served"
    )


# -- §4.2: crowns, and selective receives ------------------------------------------------------------------------------


@claim("MF18", "[MF] §4.2", "Whatever computation the second program has, it is causally ordered.", "checked")
def mf18(quick: bool) -> Evidence:
    result = ran("unordered", "mf-program-2", orders=("causal",))
    each = enumerated(
        "its computations over a channel that reorders are causally ordered",
        outcomes("unordered", "mf-program-2"),
        lambda form: decide(computation_of(form), "causal").kept,
    )
    return keep(result, "causal") & each & ends(result, "always")


#: The reading of the two figures.
CROWNS = (
    "a crown has two messages or more. Overlapping, nested: of two crowns of three messages, with none in common, each "
    "process sends in one, sends in the other, and receives in the first first, or in the second"
)


@claim(
    "MF19",
    "[MF] §4.2, Fig. 7",
    "The overlapping crowns of Fig. 7 are within the buffer protocol's reach.",
    "checked",
    reading=CROWNS,
)
def mf19(quick: bool) -> Evidence:
    fig7, program = figure("mf-fig7"), "mf-program-2"
    generated = outcomes("buffer", program)
    enforced = ran("buffer", "mf-program-2-fig7")
    return (
        fact(programs.three_crowns("mf-fig7") == "overlapping", "the crowns of Fig. 7 overlap")
        & fact(form(fig7) in generated, f"Fig. 7 is one of its {len(generated)} computations of the second program")
        & ends(ran("buffer", program), "always")
        & ends(enforced, enforced.completes or "").saying(
            f"where selective receives enforce it, the program completes {enforced.completes}"
        )
        & found("Fig. 7: the crowns a c e and b d f overlap", fig7)
    )


@claim(
    "MF20",
    "[MF] §4.2, Fig. 8",
    "The nested crowns of Fig. 8 are within the matrix protocol's reach, and not within the buffer protocol's.",
    "checked",
    reading=CROWNS,
)
def mf20(quick: bool) -> Evidence:
    fig8, name = figure("mf-fig8"), "mf-program-2"
    everything = outcomes("unordered", name)
    return (
        fact(programs.three_crowns("mf-fig8") == "nested", "the crowns of Fig. 8 are nested")
        & becomes("rst", name, f"the matrix protocol generates all {len(everything)} of the second program", everything)
        & becomes("buffer", name, "the buffer protocol all but Fig. 8", everything - {form(fig8)})
        & ends(ran("rst", "mf-program-2-fig8"), "always")
        & ends(ran("buffer", "mf-program-2-fig8"), "never")
        & found("Fig. 8: the crown b d f lies within a c e", fig8)
    )


@claim(
    "MF21",
    "[MF] §4.2",
    "There are causally ordered computations that the buffer protocol never generates.",
    {"among any number of processes from three on": "proved"},
    not_said={
        "every computation that it generates is in mailbox order": "proved",
        "it generates every computation in mailbox order": "checked",
    },
    reading="Fig. 8 among three processes, and a smallest one (fewest messages, then processes) among four; in larger "
    "systems the others do what they like. Among two processes causal order is FIFO order. The text asks, too, which "
    "computations it does generate",
)
def mf21(quick: bool) -> list[Evidence]:
    smallest, fig_8 = _smallest("causal", "mailbox"), figure("mf-fig8")
    if smallest is None:
        return [fact(False, "no computation is causal and not mailbox")] * 3
    text = programs.plain_program(smallest)
    out_of_reach = outcomes("rst", "", text) - outcomes("buffer", "", text) == {form(smallest)}
    bounds = [(3, 3), (2, 4)] if quick else [(3, 4), (2, 4), (4, 4)]
    causal = all(decide(c, "causal").kept for c in (smallest, fig_8))
    connected = proved("buffer", "safe")
    return [
        found("smallest that is causal and out of reach", smallest)
        & buffer_reach.out_of_reach(smallest, "the smallest one")
        & buffer_reach.out_of_reach(fig_8, "Fig. 8")
        & invariants_in_time()
        & connected
        & fact(causal, "both are causally ordered")
        & fact(out_of_reach, "of its program the matrix protocol generates it, and the buffer protocol all but it"),
        buffer_reach.within_mailbox_order()
        & invariants_in_time()
        & connected
        & fact(not decide(fig_8, "mailbox").kept, "Fig. 8 is not in mailbox order"),
        generates("buffer", "mailbox", *bounds)
        & generates("buffer", "mailbox", (2 if quick else 3, 3), self_sends=True),
    ]


@claim(
    "MF22",
    "[MF] §4.2",
    "Whether the third program blocks under the buffer protocol depends on what arrives first; not so under matrices.",
    "checked",
)
def mf22(quick: bool) -> Evidence:
    system = programs.bundled_system("buffer", "mf-program-3")
    reached = reachable(system, history=programs.ARRIVALS)
    ended = {(now.history, system.finished(now.state)) for now in reached if not now.moves}
    return (
        fact(
            ended == {(("x", "y"), True), (("y", "x"), False)},
            "under buffers every run in which x arrives first ends, every run in which y does blocks",
        )
        & ends(ran("buffer", "mf-program-3"), "sometimes", "y arrives first, and P2 blocks")
        & ends(ran("rst", "mf-program-3"), "always")
    )


@claim(
    "MF23",
    "[MF] §4.2",
    "A program of plain receives runs to its end under the buffer protocol, and causally ordered.",
    "checked",
    reading="a program is a fixed line of sends and receives for each process, which some asynchronous computation "
    "brings to its end (not one where all receive first). Messages may be left unreceived",
)
def mf23(quick: bool) -> Evidence:
    bounds = [(2, 3), (3, 3)] if quick else [(2, 4), (3, 3), (4, 3), (3, 4)]
    texts = [text for n, m in bounds for text in programs.plain_programs(n, m)]
    texts += programs.plain_programs(2, 3, self_sends=True)
    texts += programs.plain_programs(3, 2 if quick else 3, complete=False)
    each = "; ".join(f"every such program of {n} processes, {m} messages" for n, m in bounds)
    return keep([on("buffer", text, "with plain receives") for text in texts], "completes", "causal").saying(
        f"{len(texts):,} programs: every interleaving of each comes to the end and is causally ordered",
        f"{each}; smaller ones with self-sends or unreceived",
    )


# -- §5: what is left open ---------------------------------------------------------------------------------------------


@claim(
    "MF25",
    "[MF] §5",
    "Open: a combination of both protocols; what faults do to each; buffers for causal broadcast.",
    "open",
    reading="questions, not statements; parts are answered",
)
def mf25(quick: bool) -> Evidence:
    m = 2 if quick else 3
    copies = explored(CopyByCopy(3), Free(3, 2, sends="broadcast"))
    parts = (
        breaks(copies, "causal", "copy by copy: the answer is delivered first")
        & keep(explored(ReleasedTogether(3), Free(3, m, sends="broadcast")))
        & programs.stuck_after_a_loss("buffer", "sender", 3, 3)
        & programs.stuck_after_a_loss("rst", "receiver", 3, 3)
    )
    unexamined = Evidence(True, f"up to {m} broadcasts", "whether the two can be combined is not examined", (), "open")
    return parts & unexamined


# -- helpers -----------------------------------------------------------------------------------------------------------


def _smallest(kept: str, broken: str) -> Computation | None:
    """A computation with the fewest messages, then processes, that keeps one order and violates the other, by graph and
    by search: m messages involve at most 2m processes, so the search is complete.
    """
    smallest = next(
        c
        for m in range(1, 6)
        for n in range(1, 2 * m + 1)
        for c in computations(n, m)
        if all(c.lines)  # otherwise it is a computation of fewer processes
        and not decide(c, broken).kept
        and decide(c, kept).kept
    )
    return smallest if keeps(smallest, kept) and not keeps(smallest, broken) else None
