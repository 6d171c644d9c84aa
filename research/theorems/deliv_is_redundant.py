"""DELIV is redundant in the protocol of [RST91], for every n: the open question at the end of [Kup].

"So it would seem that for all i, DELIV_i and SENT_i[-, i] will always agree with each other … I'd love for someone to
either confirm that this is the case, or explain why it's not." They agree, by induction over the steps of process i, as
long as i never sends to itself. Every step is taken by the machine of `impl.protocols.rst` itself, run on terms.

A claim assumes its listed hypotheses, and nothing else: nothing about n, the number of messages, the other processes,
or the packet that i delivers, except that i accepts it. So the answer holds over any channel, even if packets are lost,
duplicated or forged. Needed (`without_each`, and the tests): the invariant before the step; for sending, that the
receiver is another process, since a message to itself counts once in DELIV_i[i] and twice in SENT_i[i, i]; for
delivering, the guard, which is [Kup]'s own argument. The invariant does not imply causal order, nor any delivery.
"""

from crownless.impl.protocol import Packet
from crownless.impl.protocols.rst import Rst, State
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.terms import Term, Terms
from crownless.spec.computation import Message

INVARIANT = "DELIV_i is column i of SENT_i"
TO_ANOTHER = "the receiver is not i"
GUARD = "i accepts the packet"


def deliv_equals_sent_column(machine: Rst, i: Term, state: State) -> Term:
    """For all k: DELIV_i[k] = SENT_i[k, i]; `spec.invariants` has it for integers."""
    return machine.ops.every(lambda k: state.deliv[k] == state.sent[k][i])


def claims(protocol: type[Rst] = Rst) -> tuple[Claim, ...]:
    """The invariant holds initially and is kept by every step of process i; so DELIV may be read from SENT.

    Constants: process `i` with its matrix `sent` and vector `deliv`; another or the same process `j`, to which i sends
    or from which it delivers; and the `stamp` on the delivered packet.
    """
    terms = Terms()
    machine = for_every_n(protocol, terms)
    i, j = terms.any_process("i"), terms.any_process("j")
    state = State(terms.any_matrix("sent"), terms.any_vector("deliv"))
    before = deliv_equals_sent_column(machine, i, state)

    (sending,) = machine.send(i, state, Message("m", i, (j,)))
    packet = Packet(j, i, "message", Message("m", j, (i,)), terms.any_matrix("stamp"))
    deliverable = machine.deliverable(i, state, packet)
    (delivering,) = machine.on_packet(i, state, packet)
    assert [*machine.receive(i, state, None), *machine.internal(i, state)] == [], "there are no other steps"

    without_deliv = State(state.sent, terms.vector(lambda k: state.sent[k][i]))
    return (
        Claim("initially", {}, deliv_equals_sent_column(machine, i, machine.initial(i))),
        Claim(
            "kept by sending",
            {INVARIANT: before, TO_ANOTHER: i != j},
            deliv_equals_sent_column(machine, i, sending.state),
        ),
        Claim(
            "kept by delivering",
            {INVARIANT: before, GUARD: deliverable},
            deliv_equals_sent_column(machine, i, delivering.state),
        ),
        Claim(
            "the guard may read column i of SENT_i instead of DELIV_i",
            {INVARIANT: before},
            machine.deliverable(i, without_deliv, packet) == deliverable,
        ),
    )
