"""The claims of Mattern & Fünfrocken [MF] on the buffer protocol."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from crownless.impl.workloads import Free
from crownless.model_check.explorer import explore
from crownless.model_check.generating import computation_of
from crownless.model_check.reachable import Reached, reachable, shortest_run_to
from crownless.model_check.simulation.latencies import output_wait
from crownless.spec.by_search import keeps
from crownless.spec.computation import Computation
from crownless.spec.enumeration import computations
from crownless.spec.orders import decide

from . import buffer_evidence as buffers
from . import cost_evidence as simulations
from . import proof_evidence as put_to_z3
from .buffer_evidence import lemmas, on, outcomes, realized
from .claim import Evidence, claim, drawn
from .evidence import (
    BY_FAIRNESS_IN_WORDS,
    broken_by,
    explored,
    figure,
    holds,
    is_proved,
    length,
    proof_of,
    ran,
    refinement_scope,
    searched,
    states,
    system_of,
    up_to,
    within,
)
from .synchronous_theorems import theorem_1_is_proved

FOR_EVERY_N = (
    "any number of processes and messages, any reliable channel; of the stages of a message, of which each step of the "
    "machine is shown to be one"
)

# -- §1: the orders ----------------------------------------------------------------------------------------------------


@claim(
    "MF1",
    "[MF] §1",
    "A computation that is causally ordered is FIFO.",
    "proved",
    reading="the same where messages are unreceived, read as lost or as still to come, and where some are to oneself",
)
def mf1(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    of_some = [*computations(n, 3, complete=False), *computations(2, 3, complete=False, self_sends=True)]
    looked_at, outside = 0, None
    for c in [*up_to(n, m), *of_some]:
        looked_at += 1
        for reading in ("lost", "pending"):
            if decide(c, "causal", reading).kept and not decide(c, "fifo", reading).kept:
                outside = c
    because = (
        "z3: it follows from the two definitions, whatever ≺ is, and not conversely; and of "
        f"{looked_at:,} computations every one that is found to keep causal order is found to keep FIFO (up to {n} "
        f"processes and {m} messages, incomplete ones of 3 messages)"
    )
    scope = "any number of processes, messages and receivers; of the definitions"
    shows = outside is None and put_to_z3.fifo_follows_from_causal()
    return Evidence(shows, scope, because, drawn("causal, not FIFO", outside))


@claim(
    "MF2",
    "[MF] §1",
    "Synchronous computations are causal, causal ones FIFO, FIFO ones asynchronous; none of it holds conversely.",
    "proved",
    reading="synchronous, of which the text gives no formula: messages can be numbered so that numbers grow along "
    "every line ([MG] §2.2). Asynchronous is every computation",
)
def mf2(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    chain = ("synchronous", "causal", "fifo", "asynchronous")
    steps = list(pairwise(chain))
    smallest: dict[tuple[str, str], Computation] = {}
    looked_at, outside = 0, None
    for c in [*up_to(n, m), *computations(4, 2)]:
        looked_at += 1
        kept = [decide(c, order).kept for order in chain]
        outside = c if kept != sorted(kept) else outside
        for step, (stronger, weaker) in zip(steps, pairwise(kept), strict=True):
            if weaker and not stronger:
                smallest[step] = min(smallest.get(step, c), c, key=lambda c: (len(c.messages), len(c.lines)))
    witnesses = {step: smallest[step] for step in steps if step in smallest}
    by_search = [keeps(c, weaker) and not keeps(c, stronger) for (stronger, weaker), c in witnesses.items()]
    strict = by_search == [True] * len(steps)
    shows = outside is None and strict and theorem_1_is_proved() and put_to_z3.fifo_follows_from_causal()
    shown = drawn("outside the chain", outside)
    for (narrower, wider), c in witnesses.items():
        shown += drawn(f"smallest that is {wider} and not {narrower}", c)
    because = (
        "z3 shows the inclusions from the definitions (MG1, MF1). None holds conversely: smallest witnesses of "
        f"{', '.join(str(len(c.messages)) for c in witnesses.values())} messages, each decided by search, as the "
        f"orders are defined, and by graph. All {looked_at:,} computations looked at are in the chain"
    )
    scope = (
        f"any number of processes and messages, none to oneself (z3); every complete computation of up to {n} "
        f"processes and {m} messages, or of 4 processes and 2"
    )
    return Evidence(shows, scope, because, shown)


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
    reading="a blocked process receives nothing either (`rendezvous`); the claim is of the order of deliveries, since "
    "it may deadlock (MF7). Where a blocked sender goes on receiving (`fifo-ack`) FIFO and causal order are kept, "
    "and synchronous order is not",
)
def mf3(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    orders = ("fifo", "causal", "synchronous")
    result = searched("rendezvous", n, m, orders=orders)
    exact = realized("rendezvous", 3, 3)
    sends_alone = searched("fifo-ack", n, m, orders=orders)
    crossing = broken_by(sends_alone, "synchronous")
    fails = not holds(result, *orders) or exact.equals != "synchronous"
    fails |= crossing is None or not holds(sends_alone, "fifo", "causal", "delivers-all")
    because = (
        f"all three orders kept in {states(result)}; it generates all {exact.computations} synchronous computations of "
        f"3 processes and 3 messages, and no others"
    )
    title = "the other reading, sends alone blocked: crossing messages, FIFO and not synchronous"
    shown = drawn(title, crossing)
    return Evidence(
        (not fails, holds(sends_alone, "fifo"), crossing is not None), within(result, sends_alone), because, shown
    )


@claim(
    "MF4",
    "[MF] §2",
    "Numbering the messages of each channel, and delivering them by number, gives FIFO order but not causal order.",
    "checked",
)
def mf4(quick: bool) -> Evidence:
    result = searched("fifo-sequence", 3, 3 if quick else 4, orders=("fifo", "causal"))
    exact = realized("fifo-sequence", 3, 3)
    overtaking = broken_by(result, "causal")
    fails = not holds(result, "fifo", "delivers-all", "never-blocks") or overtaking is None or exact.equals != "fifo"
    because = (
        f"FIFO and live in {states(result)}; it generates all {exact.computations} FIFO computations of 3 processes "
        "and 3 messages, and no others"
    )
    shown = drawn("a chain of two messages overtakes one", overtaking)
    return Evidence(not fails, within(result), because, shown)


@claim(
    "MF5",
    "[MF] §2",
    "With message-count vectors the single server hears all its clients' messages in causal order.",
    {
        "by the letter, over channels that reorder": "refuted",
        "over FIFO channels": "checked",
        "over any channel, if the sender's next message is asked for": "checked",
    },
    reading="no channel is named, and messages may overtake each other, as for the other protocols of §2. The server's "
    "condition leaves the sender out; it holds over FIFO channels, or if the server asks for the sender's next message",
)
def mf5(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 5)
    fifo = [searched("kearns", n, m), searched("kearns", 4, 3 if quick else 4)]
    printed = searched("kearns", 2, 2, channel="unordered")
    in_turn = explored(buffers.KearnsInTurn(3), Free(3, 3), channel="unordered")
    run = broken_by(printed, "causal")
    over_fifo = all(holds(result, "causal", "delivers-all", "never-blocks") for result in fifo)
    summary = "" if run is None else f"over channels that reorder, broken in {len(run.actions)} actions; "
    because = (
        f"{summary}causal at the server and live over FIFO channels, in {states(*fifo)}; likewise over any channel if "
        f"the sender is asked about too, in {states(in_turn)}"
    )
    shown = drawn("two messages of one client overtake each other", run, "counterexample-mf5")
    shows = (run is not None, over_fifo, holds(in_turn))
    scope = f"{within(*fifo, printed)}; the sender's next message asked for: 3 processes, up to 3 messages, unordered"
    return Evidence(shows, scope, because, shown)


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
    "accepted; and nobody sends to himself, since such a message is never delivered",
)
def mf6(quick: bool) -> Evidence:
    to_oneself = broken_by(searched("rst-before", 2, 2, self_sends=True), "delivers-all")
    fails = not is_proved("rst-before", "safe", "live") or to_oneself is None or buffers.accepted_once_merged()
    because = f"z3 shows {len(proof_of('rst-before').claims)} claims, of the protocol's own code"
    shown = drawn("left out: a message to oneself is never delivered", to_oneself)
    shows = (not fails, not buffers.accepted_once_merged(), to_oneself is not None)
    scope = f"any number of processes and messages, no self-sends; {BY_FAIRNESS_IN_WORDS}"
    return Evidence(shows, scope, because, shown)


@claim(
    "MF7",
    "[MF] §2, Fig. 1",
    "Synchronous communication by waiting keeps causal order, but two processes that send to each other deadlock.",
    "checked",
)
def mf7(quick: bool) -> Evidence:
    free = searched("rendezvous", 3, 3 if quick else 4, orders=("causal",))
    program = ran("rendezvous", "mf-fig1")
    deadlock = broken_by(program, "completes")
    fails = not holds(free, "causal") or deadlock is None or program.completes != "never"
    shown = drawn("the deadlock on Fig. 1's program", deadlock)
    because = f"causal in {states(free)}; no run of Fig. 1's program comes to its end"
    return Evidence(not fails, within(free, program), because, shown)


# -- §3: the buffer protocol -------------------------------------------------------------------------------------------


@claim("MF8", "[MF] §3.1, Fig. 3", "With buffers, two processes that send to each other do not deadlock.", "checked")
def mf8(quick: bool) -> Evidence:
    result = ran("buffer", "mf-fig1")
    fig3 = figure("mf-fig3")
    fails = result.completes != "always" or outcomes("buffer", "mf-fig1") != {buffers.form(fig3)}
    because = f"every run comes to its end, in {states(result)}; each is the computation of Fig. 3"
    return Evidence(not fails, within(result), because, drawn("Fig. 3: the messages cross", fig3))


#: How the lemmas are read.
IN_EVERY_RUN = "one event is causally before another if it comes first in every interleaving in which the other happens"


LEMMAS = {
    "MF9": ("Lemma 2", "If one output buffer posts x before y, then x is got before y, wherever that is."),
    "MF10": ("Lemma 3", "If one process sends x before y, then x is got before y, wherever that is."),
    "MF11": ("Lemma 4", "If one input buffer gets x before y, then its process receives x before y."),
}


def _lemma(name: str, quick: bool) -> Evidence:
    n, m = 3, 3 if quick else 4
    found = [lemmas("buffer", n, m), lemmas("buffer", 2, 3, self_sends=True)]
    asked = sum(each.asked.get(name, 0) for each in found)
    nodes = sum(each.nodes for each in found)
    runs = [each.broken[name] for each in found if name in each.broken]
    shown_by_z3 = put_to_z3.buffer_lemma(name)
    fails = bool(runs) or not asked or not shown_by_z3 or not is_proved("buffer", "safe")
    because = (
        f"z3 shows it of the stages that messages go through ({shown_by_z3} claims), {refinement_scope('buffer')}; the "
        f"machine keeps it at each of {asked:,} steps that it is about, in {nodes:,} states ({n} processes, up to {m} "
        "messages; 2 processes, up to 3, also to oneself)"
    )
    shown = drawn(f"breaks {name}", next(iter(runs), None))
    if name == "Lemma 4":
        out_of_order = lemmas(buffers.TakesTheYoungest, 2, 2).broken.get(name)
        title, summary = (
            "it falls where an input buffer hands over its youngest",
            "if the youngest is handed over, it falls",
        )
    else:
        out_of_order = lemmas("buffer-pipelined", 2, 2, "unordered").broken.get(name)
        title = "it falls where an output buffer does not wait"
        summary = "where an output buffer does not wait and the channel reorders, it falls"
    fails |= out_of_order is None
    because += f"; {summary}"
    shown += drawn(title, out_of_order)
    return Evidence(not fails, FOR_EVERY_N, because, shown)


for each, (lemma, statement) in LEMMAS.items():
    claim(each, f"[MF] §3.3, {lemma}", statement, "proved", reading=IN_EVERY_RUN)(partial(_lemma, lemma))


@claim(
    "MF12",
    "[MF] §3.3, Proposition 1",
    "The buffer protocol is safe: it generates causally ordered computations only.",
    "proved",
    reading="messages to oneself are allowed too",
)
def mf12(quick: bool) -> Evidence:
    results = [searched("buffer", 3, 4 if quick else 6), searched("buffer", 4, 3 if quick else 4)]
    results.append(searched("buffer", 2 if quick else 3, 4, self_sends=True))
    fails = not (
        is_proved("buffer", "safe") and all(holds(result, "causal", "fifo", "delivers-once") for result in results)
    )
    shown = drawn("not causally ordered", next(filter(None, (broken_by(result, "causal") for result in results)), None))
    because = (
        f"z3 shows it of the stages that messages go through, {refinement_scope('buffer')}; and no delivery overtakes, "
        f"in {states(*results)}, the last of them with messages to oneself"
    )
    return Evidence(not fails, FOR_EVERY_N, because, shown)


@claim(
    "MF13",
    "[MF] §3.3",
    "Under fair scheduling every message handed to an output buffer comes into its input buffer.",
    "proved",
    reading="fair: no run stops while a post, a get or an acknowledgement is possible; asked also where no application "
    "ever receives, since the claim does not rest on that. The channel loses nothing, buffers are unlimited",
)
def mf13(quick: bool) -> Evidence:
    n, m = 3, 3 if quick else 4
    system = system_of(buffers.NeverAsked(n), Free(n, m))
    space = explore(system, [])
    ends = sum(system.may_end(now.moves) for now in reachable(system))
    stuck = shortest_run_to(system, _ends_with_a_message_not_got)
    shown = drawn("a message is not got", stuck)
    result = searched("buffer", n, m)
    walked = stuck is None and bool(ends) and space.graded and holds(result, "delivers-all", "never-blocks")
    shows = walked and is_proved("buffer", "live")
    because = (
        "z3: the oldest in an output buffer is posted or an acknowledgement is awaited, and what is awaited is "
        f"in flight or its acknowledgement is, {refinement_scope('buffer')}. No run comes back to a state or takes "
        f"more than {space.depth} steps for {m} messages, and in each of the {ends:,} states where it may end all is "
        f"got and acknowledged ({space.states:,} states); if applications receive, all is delivered ({states(result)})"
    )
    return Evidence(shows, f"{FOR_EVERY_N}; {BY_FAIRNESS_IN_WORDS}", because, shown)


@claim(
    "MF14",
    "[MF] §3.2, footnote 2",
    "If buffers are bounded, and block when they are full, processes can deadlock.",
    "checked",
    reading="a full output buffer blocks the send, a full input buffer keeps a posted message waiting; what is posted "
    "and not acknowledged has a place of its own. Deadlock: processes wait in a circle for each other's places, in a "
    "program that ends with unlimited buffers; not merely for one that never receives",
)
def mf14(quick: bool) -> Evidence:
    capacities = [(1, 1), (1, 2), (2, 1)] if quick else [(o, i) for o in (1, 2, 3) for i in (1, 2, 3)]
    exact = all(
        [_completes(o, i, o + i + 1), _completes(o, i, o + i + 2)] == ["always", "never"] for o, i in capacities
    )
    unlimited = ran("buffer", "mf-footnote-2").completes == "always"
    deadlock = broken_by(ran("buffer-bounded", "mf-footnote-2"), "completes")
    alone = broken_by(on("buffer-bounded", buffers.sends_first(4, ["P1"]), "four to oneself"), "completes")
    among_two, of_two = buffers.circular_wait(2, 6)
    among_three, of_three = buffers.circular_wait(3, 4 if quick else 5)
    fails = not exact or not unlimited or deadlock is None or alone is None
    fails |= among_two != 8 or among_three is not None
    because = (
        f"with one place in each buffer two processes that each send 4 before they receive deadlock; no two or three "
        f"wait in a circle with fewer than {among_two} messages in all ({of_two + of_three:,} states); with o and i "
        f"places two deadlock at o + i + 2 sends each, and not at one less: {len(capacities)} capacities"
    )
    shown = drawn("smallest deadlock, one place in each buffer", deadlock)
    shown += drawn("smaller still: one process that sends to itself", alone)
    scope = f"two processes that send first; capacities {', '.join(f'{o}/{i}' for o, i in capacities)} (output/input)"
    return Evidence(not fails, scope, because, shown)


def _completes(output: int, held: int, sends: int) -> str | None:
    settings = (("output", output), ("input", held))
    return on("buffer-bounded", buffers.sends_first(sends), f"{sends} sends each", settings).completes


@claim(
    "MF15",
    "[MF] §4.3, footnote 4",
    "Over a FIFO transport an output buffer need not wait before it posts to the same receiver again.",
    "checked",
)
def mf15(quick: bool) -> Evidence:
    fifo = searched("buffer-pipelined", 3, 4 if quick else 5)
    reordered = searched("buffer-pipelined", 3, 3, channel="unordered")
    run = broken_by(reordered, "causal")
    fails = not holds(fifo) or run is None or not holds(reordered, "delivers-all", "never-blocks")
    because = (
        f"causal and live over FIFO channels in {states(fifo)}; where the transport reorders, FIFO and causal order "
        f"break in {length(run)} actions, and all is still delivered"
    )
    shown = drawn("the transport reorders: the second is got first", run)
    return Evidence(not fails, within(fifo, reordered), because, shown)


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
    fig4, fig5, fig6 = (buffers.form(figure(f"mf-fig{k}")) for k in (4, 5, 6))
    plain, matrix, buffer = (ran(protocol, "mf-program-1") for protocol in ("unordered", "rst", "buffer"))
    fails = fig4 not in outcomes("unordered", "mf-program-1") or decide(figure("mf-fig4"), "causal").kept
    fails |= outcomes("rst", "mf-program-1") != {fig5} or outcomes("buffer", "mf-program-1") != {fig6}
    fails |= matrix.completes != "always" or buffer.completes != "always"
    fails |= not buffers.delays_z_at_its_receiver() or not buffers.delays_y_at_its_sender()
    because = (
        f"{states(plain, matrix, buffer)}: under the matrix protocol z waits at P3 exactly while x is in flight, and y "
        "need not wait; under the buffer protocol y is never in flight before x is got, and nothing that arrives waits"
    )
    shown = drawn("Fig. 4: x is overtaken by y and z", figure("mf-fig4")) + drawn("Figs 5 and 6", figure("mf-fig5"))
    return Evidence(not fails, within(plain, matrix, buffer), because, shown)


@claim(
    "MF17",
    "[MF] §4.1",
    "If P3 asks for z before x, neither protocol lets it go beyond that receive.",
    "checked",
)
def mf17(quick: bool) -> Evidence:
    name = "mf-program-1-selective"
    results = [ran(protocol, name) for protocol in ("rst", "buffer")]
    there = {("P3 at its statement 1, receive from P2",)}
    fails = not all(result.completes == "never" and result.exploration.blocked == there for result in results)
    fails |= ran("unordered", name).completes == "never"
    because = f"every run ends with P3 at its first receive ({states(*results)}); without a protocol it can be served"
    shown = drawn("the matrix protocol holds z back", broken_by(results[0], "completes"))
    shown += drawn("the buffer protocol has x first in P3's input buffer", broken_by(results[1], "completes"))
    return Evidence(not fails, within(*results), because, shown)


# -- §4.2: crowns, and selective receives ------------------------------------------------------------------------------


@claim("MF18", "[MF] §4.2", "Whatever computation the second program has, it is causally ordered.", "checked")
def mf18(quick: bool) -> Evidence:
    result = ran("unordered", "mf-program-2", orders=("causal",))
    all_there_are = outcomes("unordered", "mf-program-2")
    each = all(decide(computation_of(form), "causal").kept for form in all_there_are)
    fails = not holds(result, "causal") or not each or result.completes != "always"
    because = f"each of its {len(all_there_are)} computations over a channel that reorders, {states(result)}"
    return Evidence(not fails, within(result), because)


#: How the two figures are read.
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
    fig7 = figure("mf-fig7")
    result = ran("buffer", "mf-program-2")
    fails = buffers.three_crowns(fig7) != "overlapping" or buffers.form(fig7) not in outcomes("buffer", "mf-program-2")
    fails |= result.completes != "always"
    enforced = ran("buffer", "mf-program-2-fig7")
    because = (
        f"Fig. 7 is one of its {len(outcomes('buffer', 'mf-program-2'))} computations of the second program "
        f"({states(result)}); where selective receives enforce it, the program completes {enforced.completes}"
    )
    shown = drawn("Fig. 7: the crowns a c e and b d f overlap", fig7)
    return Evidence(not fails, within(result, enforced), because, shown)


@claim(
    "MF20",
    "[MF] §4.2, Fig. 8",
    "The nested crowns of Fig. 8 are within the matrix protocol's reach, and not within the buffer protocol's.",
    "checked",
    reading=CROWNS,
)
def mf20(quick: bool) -> Evidence:
    fig8 = figure("mf-fig8")
    program = "mf-program-2"
    everything = outcomes("unordered", program)
    fails = buffers.three_crowns(fig8) != "nested" or outcomes("rst", program) != everything
    fails |= outcomes("buffer", program) != everything - {buffers.form(fig8)}
    matrix, buffer = (ran(protocol, "mf-program-2-fig8") for protocol in ("rst", "buffer"))
    fails |= (matrix.completes, buffer.completes) != ("always", "never")
    because = (
        f"of the {len(everything)} computations of the second program the matrix protocol generates all, the buffer "
        "protocol all but Fig. 8; where selective receives enforce that, the one always ends and the other never"
    )
    shown = drawn("Fig. 8: the crown b d f lies within a c e", fig8)
    return Evidence(not fails, within(ran("buffer", program), matrix, buffer), because, shown)


@claim(
    "MF21",
    "[MF] §4.2",
    "There are causally ordered computations that the buffer protocol never generates.",
    "checked",
    reading="asked also: which it does generate; mailbox order, we find. Smallest: fewest messages, then processes",
)
def mf21(quick: bool) -> Evidence:
    smallest = _smallest("causal", "mailbox")
    answers = [realized("buffer", 3, 3 if quick else 4), realized("buffer", 2, 4)]
    answers += [realized("buffer", 2 if quick else 3, 3, self_sends=True)]
    answers += [] if quick else [realized("buffer", 4, 4)]
    fails = not all("mailbox" in answer.equal_orders for answer in answers)
    program = buffers.plain_program(smallest)
    reached, reached_by_buffers = (buffers.outcomes_of(protocol, program) for protocol in ("rst", "buffer"))
    fails |= reached - reached_by_buffers != {buffers.form(smallest)}
    fails |= decide(figure("mf-fig8"), "mailbox").kept
    because = (
        f"the smallest has {len(smallest.messages)} messages among {len(smallest.processes)} processes, and the matrix "
        f"protocol generates it; what the buffer protocol generates is mailbox order exactly, in "
        f"{sum(answer.computations for answer in answers):,} computations"
    )
    bounds = "; ".join(f"{answer.processes} processes, {answer.messages} messages" for answer in answers)
    shown = drawn("smallest that is causal and out of reach", smallest)
    return Evidence(not fails, f"every complete computation up to {bounds}", because, shown)


@claim(
    "MF22",
    "[MF] §4.2",
    "Whether the third program blocks under the buffer protocol depends on what arrives first; not so under matrices.",
    "checked",
)
def mf22(quick: bool) -> Evidence:
    system = buffers.bundled_system("buffer", "mf-program-3")
    reached = reachable(system, history=buffers.ARRIVALS)
    ends = {(now.history, system.finished(now.state)) for now in reached if not now.moves}
    buffer, matrix = (ran(protocol, "mf-program-3") for protocol in ("buffer", "rst"))
    fails = ends != {(("x", "y"), True), (("y", "x"), False)}
    fails |= (buffer.completes, matrix.completes) != ("sometimes", "always")
    blocks = broken_by(buffer, "completes")
    because = (
        f"every run in which x arrives first ends, every run in which y does blocks ({states(buffer)}); under the "
        f"matrix protocol every run ends ({states(matrix)})"
    )
    shown = drawn("y arrives first, and P2 blocks", blocks)
    return Evidence(not fails, within(buffer, matrix), because, shown)


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
    programs = [text for n, m in bounds for text in buffers.plain_programs(n, m)]
    programs += buffers.plain_programs(2, 3, self_sends=True)
    programs += buffers.plain_programs(3, 2 if quick else 3, complete=False)
    for text in programs:
        result = on("buffer", text, "with plain receives")
        for name in ("completes", "causal"):
            run = broken_by(result, name)
            if run is not None or result.exploration.stopped:
                shown = drawn(f"breaks {name}", run)
                return Evidence(False, "a program with plain receives", text.replace("\n", " | "), shown)
    because = f"{len(programs):,} programs: every interleaving of each comes to the end and is causally ordered"
    summary = "; ".join(f"{n} processes, {m} messages" for n, m in bounds)
    return Evidence(True, f"every such program of {summary}; smaller ones with self-sends or unreceived", because)


# -- §4.3, §5: costs, and what is left open ----------------------------------------------------------------------------


#: Messages of a process in a mean latency. By theory the extra delay is `FELT`, in mean latencies, at `CROSSING`.
TRIED_LOADS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.3)
FELT, CROSSING = 0.1, 1 / 32


@claim(
    "MF24",
    "[MF] §4.3",
    "The buffer protocol costs an acknowledgement a message, and no more; its delays are felt only where a process "
    "sends in quick succession, or bandwidth is nearly used up.",
    {"a message is handed over before the last one is acknowledged": "measured"},
    not_said={"a process hands over 0.1 messages or more in a mean latency, at random times": "refuted"},
    reading="felt: more than a tenth of a mean latency beyond the matrix protocol, in the mean over all messages. In "
    "quick succession ('directly follow each other'): a message is handed over before the last one of its process is "
    "acknowledged. The text names no load; from which load on that is felt is measured. Where bandwidth is nearly used "
    "up it is the matrix protocol that is felt",
)
def mf24(quick: bool) -> Evidence:
    n, m = 3, 3
    system = system_of(buffers.NeverAsked(n), Free(n, m))
    bare, prompt, looked_at = True, True, 0
    ratios = set()
    for now in reachable(system):
        looked_at += 1
        bare &= all(packet.stamp is None for packet in now.in_flight)
        prompt &= all(
            not at.output or at.awaits is not None or bool(system.machine.internal(i, at))
            for i, at in enumerate(now.locals)
        )
        if system.may_end(now.moves):
            ratios.add((sum(system.position(now.state)), now.depth))
    # Each message is handed over, posted, got and acknowledged: four steps, one of which takes in an acknowledgement.
    fails = not (bare and prompt) or ratios != {(sent, 4 * sent) for sent in range(m + 1)}
    runs, messages = (10, 300) if quick else (20, 600)
    buffer, matrix = (
        {load: simulations.simulated(protocol, 4, load, runs, messages=messages) for load in TRIED_LOADS}
        for protocol in ("buffer", "rst")
    )
    later = {load: simulations.more(buffer[load], matrix[load], "added") for load in buffer}
    felt = [load for load, more in later.items() if simulations.surely_above(more, FELT)]
    unfelt = [load for load, more in later.items() if simulations.surely_below(more, FELT)]
    bursts = [
        simulations.simulated(protocol, 4, 0.01, runs, messages=messages, workload="bursts")
        for protocol in ("buffer", "rst")
    ]
    in_bursts = simulations.more(bursts[0], bursts[1], "added")
    narrow, wide = (
        [simulations.simulated(protocol, 16, 0.05, 4, messages=300, bandwidth=width) for protocol in ("buffer", "rst")]
        for width in (120.0, 3200.0)
    )
    fails |= not felt or not unfelt or not max(unfelt) < CROSSING < min(felt)
    fails |= felt != [load for load in TRIED_LOADS if felt and load >= min(felt)]
    fails |= not simulations.surely_above(in_bursts, FELT)
    fails |= any(
        abs(each["added"].mean - output_wait(load, "exponential")) > 3 * each["added"].error
        for load, each in buffer.items()
    )
    fails |= any(each["added"] != each["before"] for each in buffer.values())
    fails |= not simulations.surely_below(simulations.more(narrow[0], narrow[1], "delay"), -5)
    fails |= not simulations.surely_above(simulations.more(wide[0], wide[1], "delay"), -1)
    every = [*buffer.values(), *matrix.values(), *bursts, *narrow, *wide]
    fails |= not all(each.kept for each in every)
    shows = (not fails, min(felt, default=1) < 0.1)
    because = (
        f"the costs hold, in {looked_at:,} states: no packet carries anything, each message takes one packet and one "
        "acknowledgement, and waits only for the acknowledgement of one before it. A message is delivered later than "
        "under the matrix protocol by "
        + ", ".join(f"{more} at load {load:g}" for load, more in later.items())
        + f", and by {in_bursts} at load 0.01 in bursts of five (mean latencies, 95% confidence). So it is felt from "
        f"load {min(felt, default=0):g} on, and not up to {max(unfelt, default=0):g}. The output buffer is a queue "
        "whose service is a round trip: 3λ/(1 − 2λ) at load λ, a tenth of a latency at 1/32, where one message in 16 "
        "is handed over before the last one is acknowledged, and no bound from 1/2 on, where a process sends one "
        "message a round trip. On narrow lines it is the other way round: 16 processes, 100 bytes of payload, 120 "
        f"bytes in a mean latency: {narrow[0]['delay']} in all, and {narrow[1]['delay']} with matrices"
    )
    scope = (
        f"costs: every interleaving, {n} processes, up to {m} messages; delay: 4 processes, uniform traffic, "
        f"exponential latencies, loads from {TRIED_LOADS[0]:g} to {TRIED_LOADS[-1]:g}: {simulations.describe(every)}; "
        "crownless cost has more"
    )
    return Evidence(shows, scope, because)


@claim(
    "MF25",
    "[MF] §5",
    "Open: a combination of both protocols; what faults do to each; buffers for causal broadcast.",
    "open",
    reading="questions, not statements; parts are answered",
)
def mf25(quick: bool) -> Evidence:
    m = 2 if quick else 3
    copies = explored(buffers.CopyByCopy(3), Free(3, 2, sends="broadcast"))
    together = explored(buffers.ReleasedTogether(3), Free(3, m, sends="broadcast"))
    matrix, buffer = (buffers.after_a_loss(protocol, 3, 3) for protocol in ("rst", "buffer"))
    fails = not buffer or not all(stuck.same_sender for stuck in buffer)
    fails |= not matrix or not all(stuck.same_receiver for stuck in matrix)
    run = broken_by(copies, "causal")
    fails |= run is None or not holds(together)
    because = (
        f"broadcast copy by copy is not causal ({length(run)} actions), and is if delivery waits until all input "
        f"buffers have the message ({states(together)}, three packets a copy); after one loss what is stuck is all "
        "of the same sender under the buffer protocol, all for the same receiver under the matrix protocol; whether "
        "the two can be combined is not examined yet"
    )
    scope = f"3 processes; up to {m} broadcasts; up to 3 messages and one loss"
    shown = drawn("copy by copy: the answer is delivered first", run)
    return Evidence(not fails, scope, because, shown)


# -- helpers -----------------------------------------------------------------------------------------------------------


def _smallest(kept: str, broken: str) -> Computation:
    """A computation of fewest messages, then processes, that keeps one order and breaks the other: m messages are among
    2m processes at most, so that none is left out.
    """
    return next(
        c
        for m in range(1, 6)
        for n in range(2, 2 * m + 1)
        for c in computations(n, m)
        if all(c.lines)  # else it is one of fewer processes
        and not decide(c, broken).kept
        and decide(c, kept).kept
    )


def _ends_with_a_message_not_got(now: Reached) -> bool:
    """True if a run may end here with a message that was handed over and is not got, or not acknowledged."""
    got = sum(len(at.input) for at in now.locals)
    all_got = got == sum(now.system.position(now.state))
    return now.system.may_end(now.moves) and not (
        all_got and all(not at.output and at.awaits is None for at in now.locals)
    )
