"""The claims of [MF] on the buffer protocol: its lemmas, safety and liveness, and bounded buffers."""

from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise

from crownless.impl.protocols.buffer_bounded import BufferBounded
from crownless.impl.protocols.buffer_pipelined import BufferPipelined
from crownless.impl.workloads import Free
from crownless.model_check.search.explorer import explore
from crownless.model_check.search.reachable import Reached, reachable
from crownless.proofs.induction.queue_abstraction import StageEvent
from crownless.proofs.protocols import buffer_lemmas
from crownless.research.theorems.evidence import Evidence, by_z3, each_alone, fact, found
from crownless.research.variants.for_mattern_fuenfrocken import NeverAsked

from . import programs
from .claim import ambiguity, claim
from .failures import events, first_run, remembering
from .gathering import breaks, ends, figure, in_every_state, keep, proved, ran, searched, system_of
from .programs import becomes, form, on

# -- the lemmas of §3.3 ------------------------------------------------------------------------------------------------


class PostsWithoutWaiting(buffer_lemmas.BuffersInTime):
    """An output buffer does not wait for acknowledgements."""

    def posting(self) -> StageEvent:
        return super().posting()._replace(given={"m is the oldest in i's output buffer": self.first_out()})


class DeliversInAnyOrder(buffer_lemmas.BuffersInTime):
    """An input buffer is a set."""

    def delivering(self) -> StageEvent:
        in_buffer = self.in_input(self.before, self.i, self.m)
        return super().delivering()._replace(given={"m is in i's input buffer": in_buffer})


@cache
def invariants_in_time() -> Evidence:
    """The invariants that the lemmas rest on."""
    proof = buffer_lemmas.in_time()
    claims = proof.claims()["invariants"]
    because = f"{len(claims)} claims that invariants of the stages of a message are kept"
    return by_z3(because, claims, refuted=each_alone(proof.vacuity()))


@cache
def lemma_by_z3(name: str) -> Evidence:
    """A lemma of [MF] §3.3 follows from those invariants; without the rule it rests on, some invariant is not
    preserved.
    """
    variant, changed = (DeliversInAnyOrder, "deliver") if name == "Lemma 4" else (PostsWithoutWaiting, "post")
    weaker = [claim for claim in buffer_lemmas.in_time(variant).claims()["invariants"] if claim.name.endswith(changed)]
    lemma = buffer_lemmas.in_time().claims()[name]
    return by_z3(f"{name} follows from them", lemma, refuted=[weaker]) & invariants_in_time()


# -- bounded buffers ---------------------------------------------------------------------------------------------------


def sends_first(each: int, names: Sequence[str] = ("P1", "P2")) -> str:
    """Each process sends that many messages to the next one before it receives as many."""
    lines = []
    for p, name in enumerate(names):
        sends = [f"send m{p + 1}.{k + 1} to {names[(p + 1) % len(names)]}" for k in range(each)]
        lines.append(f"{name}: " + "; ".join(sends + ["receive"] * each))
    return "\n".join(lines)


def circular_wait(n: int, m: int) -> tuple[int | None, int]:
    """The least number of messages with which processes can wait in a cycle for space in each other's one-place
    buffers; and the number of states examined.

    The search covers the states after at most m sends, for processes with a full output buffer whose message is kept
    out by the full input buffer of another of them. If each of them wants to send one more message, none can proceed.
    """
    system = system_of(BufferBounded(n, parameters={"output": 1, "input": 1}), Free(n, m))
    least: int | None = None
    states = 0
    for now in reachable(system):
        states += 1
        kept_out = {packet.source: packet.destination for packet in system.refused(now.state)}
        circle = {i for i, at in enumerate(now.locals) if len(at.output) == 1 and i in kept_out}
        while any(kept_out[i] not in circle for i in circle):
            circle = {i for i in circle if kept_out[i] in circle}
        if circle:
            messages = sum(system.position(now.state)) + len(circle)
            least = messages if least is None else min(least, messages)
    return least, states


# -- §3: the buffer protocol -------------------------------------------------------------------------------------------


@claim("MF8", "[MF] §3.1, Fig. 3", "With buffers, two processes that send to each other do not deadlock.", "checked")
def mf8(quick: bool) -> Evidence:
    fig3 = figure("mf-fig3")
    only = becomes("buffer", "mf-fig1", "each run is the computation of Fig. 3", {form(fig3)})
    return ends(ran("buffer", "mf-fig1"), "always") & only & found("Fig. 3: the messages cross", fig3)


#: The reading of the lemmas.
IN_EVERY_RUN = "one event is causally before another if it comes first in every interleaving in which the other happens"


LEMMAS = {
    "MF9": ("Lemma 2", "If one output buffer posts x before y, then x is got before y, wherever that is."),
    "MF10": ("Lemma 3", "If one process sends x before y, then x is got before y, wherever that is."),
    "MF11": ("Lemma 4", "If one input buffer gets x before y, then its process receives x before y."),
}


def _lemma(name: str, quick: bool) -> Evidence:
    return lemma_by_z3(name) & proved("buffer", "safe")


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
    return proved("buffer", "safe")


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
    system = system_of(NeverAsked(n), Free(n, m))
    space = explore(system, [])
    ends_got = in_every_state(
        "all is got and acknowledged where a run may end, though no application receives",
        system,
        lambda now: all(not at.output and at.awaits is None for at in now.locals) and _all_got(now),
        where=lambda now: now.system.may_end(now.moves),
        title="a message is not got",
    )
    finite = fact(
        space.graded, f"no run comes back to a state, or takes more than {space.depth} steps for {m} messages"
    )
    delivered = keep(searched("buffer", n, m), "delivers-all", "never-blocks")
    return proved("buffer", "live") & ends_got & finite & delivered


def _all_got(now: Reached) -> bool:
    got = sum(len(at.input) for at in now.locals)
    return bool(got == sum(now.system.position(now.state)))


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
    among_two, of_two = circular_wait(2, 6)
    among_three, of_three = circular_wait(3, 4 if quick else 5)
    alone = on("buffer-bounded", sends_first(4, ["P1"]), "four to oneself")
    smallest = fact(
        among_two == 8 and among_three is None,
        f"one place in each buffer: no two or three wait in a circle with fewer than 8 messages in all "
        f"({of_two + of_three:,} states)",
    )
    tight = fact(
        exact,
        "with o and i places two deadlock at o + i + 2 sends each, and not at one less",
        "two processes that send first; capacities (output/input) " + ", ".join(f"{o}/{i}" for o, i in capacities),
    )
    return (
        ends(ran("buffer", "mf-footnote-2"), "always")
        & breaks(ran("buffer-bounded", "mf-footnote-2"), "completes", "smallest deadlock, one place in each buffer")
        & breaks(alone, "completes", "smaller still: one process that sends to itself")
        & smallest
        & tight
    )


def _completes(output: int, held: int, sends: int) -> str | None:
    settings = (("output", output), ("input", held))
    return on("buffer-bounded", sends_first(sends), f"{sends} sends each", settings).completes


@claim(
    "MF15",
    "[MF] §4.3, footnote 4",
    "Over a FIFO transport an output buffer need not wait before it posts to the same receiver again.",
    "checked",
)
def mf15(quick: bool) -> Evidence:
    reordered = searched("buffer-pipelined", 3, 3, channel="unordered")
    return (
        keep(searched("buffer-pipelined", 3, 4 if quick else 5))
        & breaks(reordered, "causal", "the transport reorders: the second is got first")
        & keep(reordered, "delivers-all", "never-blocks")
    )


@claim(
    "MF26",
    "[MF] §4.3, footnote 4, second sentence",
    "Over a FIFO transport, the buffer protocol delays a message only where two successive messages of a process go to "
    "different receivers.",
    {
        "a delay begins with a message to another receiver than the one before it": "checked",
        "every message that is delayed goes to another receiver than the one before it": "refuted",
    },
    reading="of the output buffer of footnote 4, which posts on to the same receiver",
)
@ambiguity(
    "a message behind one that waits is delayed, too, even if it goes to the same receiver",
    "a delay begins only where two successive messages go to different receivers",
    "m3 waits only since two successive messages, m1 and m2, do go to different receivers",
)
def mf26(quick: bool) -> list[Evidence]:
    n, m = 3, 3 if quick else 4
    system = remembering(BufferPipelined, Free(n, m))

    def delayed(now: Reached) -> list[list[bool]]:
        """For each output buffer that may not post: of each message in it, whether the one before goes elsewhere."""
        posting = {step.action.process for step, _ in now.moves if step.action.name == "post"}
        found = []
        for i, local in enumerate(now.locals):
            if local.output and i not in posting:
                sent = [message for kind, message in events(now, i) if kind == "send"]
                last = sent[-len(local.output) - 1 :]
                found.append([one.receiver != other.receiver for one, other in pairwise(last)])
        return found

    first_of_them = in_every_state(
        "the first message that waits goes to another receiver than the one before it",
        system,
        lambda now: all(elsewhere and elsewhere[0] for elsewhere in delayed(now)),
        where=lambda now: bool(delayed(now)),
        monitored=True,
    )
    behind = first_run(system, lambda now: any(not all(elsewhere) for elsewhere in delayed(now)))
    return [
        first_of_them & fact(True, "", f"every interleaving of {n} processes and {m} messages, fifo channel"),
        found("m3 goes where m2 goes, and waits behind it for m1", behind, "counterexample-mf26").refutes(),
    ]


@claim(
    "MF27",
    "[MF] §3.1",
    "If input buffers are large enough, no deadlock is possible under the buffer protocol.",
    {"with the receives of §3.2, which take the first message": "checked"},
    not_said={"a process may ask for a certain message, as from §4.1 on": "refuted"},
    reading="in a program that some asynchronous computation brings to its end (not one where all receive first). "
    "Large enough: a place for each message (too small ones can deadlock: MF14). One place in output buffers does",
)
def mf27(quick: bool) -> list[Evidence]:
    bounds = [(2, 3)] if quick else [(2, 3), (2, 4), (3, 3)]
    results = [
        on("buffer-bounded", text, "with plain receives", (("input", m), ("output", 1)))
        for n, m in bounds
        for text in programs.plain_programs(n, m)
    ]
    each = "; ".join(f"every such program of {n} processes, {m} messages" for n, m in bounds)
    return [
        keep(results, "completes").saying(
            f"{len(results)} programs end in every interleaving, with one place in each output buffer, and one in "
            "input buffers for each message",
            each,
        )
        & fact(
            all((_completes(1, k - 2, k), _completes(1, k - 3, k)) == ("always", "never") for k in (4, 5, 6)),
            "two that send k messages each before they receive: k − 2 places suffice, k − 3 do not (k = 4, 5, 6)",
        )
        & proved("buffer", "live").beside(),
        ends(ran("buffer", "mf-program-3"), "sometimes", "y arrives first, and P2 asks for x").refutes(),
    ]
