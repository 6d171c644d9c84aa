"""The claims of [MG] on its definitions: SYNC, bounded delays, and the relations of §4.2."""

from functools import cache

from crownless.impl.protocols.fifo_sequence import FifoSequence
from crownless.impl.workloads import Free
from crownless.model_check.search.reachable import Reached
from crownless.research.theorems import conditions
from crownless.research.theorems.evidence import Evidence, found
from crownless.research.theorems.synchronous import linearizations, theorem_2
from crownless.spec.computation import Computation
from crownless.spec.orders import decide

from .claim import claim
from .gathering import enumerated, in_every_state, in_some_state, keep, searched, system_of
from .splits import Split, splits_up_to

# -- §2.2 and §3 -------------------------------------------------------------------------------------------------------


@claim(
    "MG22",
    "[MG] §2.2",
    "The definition of synchronous by times, SYNC, is equivalent to that of Charron-Bost, Mattern and Tel.",
    "proved",
    reading="theirs is that of a report of 1991 (TR91.55), which is not at hand, so it is taken as in [CMT96]: some "
    "linearization has each send followed at once by its receive; internal events aside, which SYNC leaves out",
)
def mg22(quick: bool) -> Evidence:
    return linearizations()


@claim(
    "MG23",
    "[MG] §3",
    "Between two processes, the usual protocol for FIFO order completes a send in bounded time, but not a receive.",
    "checked",
    reading="the usual protocol is that of sequence numbers (`fifo-sequence`); a receive begins where the message "
    "arrives",
)
def mg23(quick: bool) -> Evidence:
    m = 4 if quick else 6
    system = system_of(FifoSequence(2), Free(2, m))

    def sends_at_once(now: Reached) -> bool:
        return all(
            [seen.kind for seen in step.observations][-1:] == ["send"] for step, _ in now.moves if step.hands_over
        )

    def waits_on(now: Reached) -> bool:
        """What waits at a process is refused until that process receives something else."""
        return all(
            packet in now.system.refused(target)
            for packet in now.system.refused(now.state)
            for step, target in now.moves
            if step.action.packet is None or step.action.packet.destination != packet.destination
        )

    return (
        keep(searched("fifo-sequence", 2, m), "fifo", "delivers-all")
        & in_every_state("each message is sent in the step in which it is wanted", system, sends_at_once)
        & in_every_state(
            "what waits goes on waiting, whatever happens, until an earlier message arrives",
            system,
            waits_on,
            where=lambda now: bool(now.system.refused(now.state)),
        )
        & in_some_state(
            "P2 refuses m2 and m3, which stay in flight, until m1 arrives, however long that takes",
            system,
            lambda now: len(now.system.refused(now.state)) == 2,
        )
    )


# -- §4.2: the relations -----------------------------------------------------------------------------------------------

OF_SPLITS = "every computation of 2 or 3 processes and up to 3 messages, each part as control messages"


@cache
def _splits() -> list[Split]:
    return splits_up_to((2, 3), (3, 3))


@claim(
    "MG24",
    "[MG] §4.2",
    "A computation is synchronous if and only if it has no crown by →_ℰ.",
    {
        (
            "with →_ℰ by the words beside its formula, 'the causality chain is formed by the events in ℰ', a "
            "computation is synchronous if and only if it has no crown by →_ℰ"
        ): "checked",
        "→_ℰ is taken by its formula, by which two messages that overtake each other are no crown": "refuted",
    },
    reading="of the computation restricted to ℰ, as the sentence before has it. By the words →_ℰ is its → (checked), "
    "and the claim is Theorem 2; the formula says the same with 'before or the same' for ≺ s1 and for r1 →. Where they "
    "differ, the proofs need the words",
    kind="ambiguity",
)
def mg24(quick: bool) -> list[Evidence]:
    crowns = enumerated(
        "a computation of the application is synchronous if and only if it has no crown by →_ℰ",
        _splits(),
        lambda split: decide(split.application, "synchronous").kept == (not split.crown_sizes(split.leads_within_own)),
        scope=OF_SPLITS,
    )
    title = "not synchronous, and without a crown by the formula of →_ℰ"
    return [crowns & theorem_2().beside(), found(title, _crownless(), "counterexample-mg24", OF_SPLITS).refutes()]


@claim(
    "MG25",
    "[MG] §4.2, 'easy to see'",
    "If there is a crown of size k restricted to ℰ, there is one of size k by ↦.",
    {
        "a crown of the computation of ℰ alone gives one by ↦ as printed": "refuted",
        "a crown by the formula of →_ℰ gives one by ↦ as printed": "proved",
        "a crown of the computation of ℰ alone gives one by ↦ with 'before or the same'": "proved",
    },
    reading="a crown restricted to ℰ is one of the computation of ℰ alone, as →_ℰ is repaired (MG24); or it is taken "
    "by the formula of →_ℰ. ↦ is taken as printed: this is the first claim for which it makes a difference that its "
    "formula is too narrow. That →_ℰ lies within →, and that → of ℰ lies within every transitive relation that has ≺ "
    "and ⇝, is argued, not put to z3",
    kind="ambiguity",
)
def mg25(quick: bool) -> list[Evidence]:
    title = "a crown of ℰ alone, and none by ↦ as printed"
    return [
        found(title, _crownless(), "counterexample-mg25", OF_SPLITS).refutes(),
        conditions.maps_to_holds_what_is_printed(),
        conditions.maps_to_holds_happened_before(),
    ]


@cache
def _crownless() -> Computation | None:
    """A smallest computation that is not synchronous, and has no crown by either printed relation."""

    def is_crownless(split: Split) -> bool:
        crowns = map(split.crown_sizes, (split.maps_to_as_printed, split.leads_within_own_as_printed))
        return not decide(split.application, "synchronous").kept and not any(crowns)

    return next((split.whole for split in _splits() if is_crownless(split)), None)
