"""The claims of [MG] on its definitions: SYNC, bounded delays, and the relations and conditions of §4.2."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from crownless.impl.protocols.fifo_sequence import FifoSequence
from crownless.impl.workloads import Free
from crownless.model_check.search.reachable import Reached
from crownless.proofs.induction.evidence import Evidence, by_z3, found
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.theorems import conditions
from crownless.proofs.theorems.sync_equivalent import linearizations
from crownless.proofs.theorems.synchronous import theorem_2
from crownless.spec.computation import Computation
from crownless.spec.orders import decide

from .claim import claim
from .evidence import enumerated, in_every_state, in_some_state, keep, searched, system_of
from .splits import Split, splits_up_to

# -- §2.2 and §3 -------------------------------------------------------------------------------------------------------


@claim(
    "MG22",
    "[MG] §2.2",
    "The definition of synchronous by times, SYNC, is equivalent to that of Charron-Bost, Mattern and Tel.",
    "proved",
    reading="theirs, as in [CMT96]: some linearization has each send followed at once by its receive; internal events "
    "aside, which SYNC leaves out",
)
def mg22(quick: bool) -> Evidence:
    return linearizations()


@claim(
    "MG23",
    "[MG] §3",
    "Between two processes, the usual protocol for FIFO order is done with a send in bounded time, and not with a "
    "receive.",
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
            "m2 and m3 wait for m1, however long that takes",
            system,
            lambda now: len(now.system.refused(now.state)) == 2,
        )
    )


# -- §4.2: the relations -----------------------------------------------------------------------------------------------

OF_SPLITS = "every computation of 2 or 3 processes and up to 3 messages, each part as control messages"


@cache
def _splits() -> list[Split]:
    return splits_up_to((2, 3), (3, 3))


def _first_where(holds: Callable[[Split], bool]) -> Computation | None:
    """A smallest computation for which this holds."""
    return next((split.whole for split in _splits() if holds(split)), None)


@claim(
    "MG24",
    "[MG] §4.2",
    "A computation is synchronous if and only if it has no crown by →_ℰ.",
    {
        "→_ℰ as printed, by which two messages that overtake each other are no crown": "refuted",
        "→_ℰ with 'before or the same' for ≺ s1 and for r1 →": "checked",
    },
    reading="of the computation restricted to ℰ, as the sentence before has it. →_ℰ is then its → (checked), and the "
    "claim is Theorem 2",
    kind="error",
)
def mg24(quick: bool) -> list[Evidence]:
    crowns = enumerated(
        "a computation of the application is synchronous if and only if it has no crown by →_ℰ",
        _splits(),
        lambda split: decide(split.application, "synchronous").kept == (not split.crown_sizes(split.leads_within_own)),
        scope=OF_SPLITS,
    )
    title = "not synchronous, and without a crown by →_ℰ as printed"
    return [found(title, _crownless(), "counterexample-mg24", OF_SPLITS).refutes(), crowns & theorem_2().beside()]


@claim(
    "MG25",
    "[MG] §4.2, 'easy to see'",
    "Who has a crown restricted to ℰ has one by ↦.",
    {
        "a crown by →_ℰ as printed, and ↦ as printed": "proved",
        "a crown of the computation of ℰ alone, and ↦ as printed": "refuted",
        "a crown of the computation of ℰ alone, and ↦ with 'before or the same'": "proved",
    },
    reading="'restricted to ℰ' is taken by the formula of →_ℰ, or by the words beside it: 'the causality chain is "
    "formed by the events in ℰ'",
    kind="ambiguity",
)
def mg25(quick: bool) -> list[Evidence]:
    no_crown = found("a crown of ℰ alone, and none by ↦ as printed", _crownless(), scope=OF_SPLITS)
    return [
        conditions.maps_to_holds_what_is_printed(),
        no_crown.refutes(),
        conditions.maps_to_holds_happened_before(),
    ]


@cache
def _crownless() -> Computation | None:
    """A smallest computation that is not synchronous, and has no crown by either printed relation."""
    return _first_where(
        lambda split: (
            not decide(split.application, "synchronous").kept
            and not any(map(split.crown_sizes, (split.maps_to_as_printed, split.leads_within_own_as_printed)))
        )
    )


# -- §4.2.2 and §5.1: what the conditions say --------------------------------------------------------------------------


@claim(
    "MG26",
    "[MG] §4.2.2",
    "The send condition keeps a process from sending until it knows that all it sent before is received.",
    {
        "by the formula of SC, which holds of messages in a row that one process receives in order": "refuted",
        "by that of SP, which Fig. 8 has": "proved",
    },
    reading="it knows what happened before: r1 → s2",
    kind="error",
    defense="it is an informal sentence beside the formula",
)
def mg26(quick: bool) -> list[Evidence]:
    unknowing = _first_where(lambda split: split.send_condition() and not _knows_receives(split))
    return [
        found("m2 is sent before m1 is received, and SC holds", unknowing, "counterexample-mg26", OF_SPLITS).refutes(),
        _sp_knows_receives(),
    ]


def _knows_receives(split: Split) -> bool:
    """s1 ≺ s2 ⇒ r1 → s2."""
    return split.messages(
        lambda m, k: not split.precedes(split.send(m), split.send(k)) or split.leads(split.receive(m), split.send(k))
    )


@cache
def _sp_knows_receives() -> Evidence:
    c = conditions.AnySplit()
    given = {
        **c.computation(),
        **c.acknowledged(),
        "SP": c.send_protocol(),
        "s1 ≺ s2": c.precedes(c.send(c.first), c.send(c.second)),
    }
    claim = Claim("r1 → s2", given, c.leads(c.receive(c.first), c.send(c.second)))
    return by_z3("SP implies r1 → s2", [claim], possible=[given], refuted=[[claim.without("SP")]])


@claim(
    "MG27",
    "[MG] §5.1",
    "A computation that satisfies the send and receive conditions has no crown formed by the events in ℰ.",
    {
        "as announced, without priorities: two crossing messages satisfy both": "refuted",
        "with PR, and with more than RC, as in MG14": "proved",
    },
    reading="AC is RC (MG13)",
    kind="error",
    defense="it announces the strategy of the proof; Theorem 6 names PR",
)
def mg27(quick: bool) -> list[Evidence]:
    def is_crown(split: Split) -> bool:
        conditions_hold = split.send_condition() and split.receive_condition()
        return conditions_hold and not decide(split.application, "synchronous").kept

    title = "SC and RC hold, and the messages are a crown"
    return [found(title, _first_where(is_crown), "counterexample-mg27", OF_SPLITS).refutes(), conditions.theorem_6()]
