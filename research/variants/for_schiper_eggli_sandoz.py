"""Variants of the vector-pair protocol and of ISIS, which claims of [SES] are about."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import Packet, Step
from crownless.impl.protocols.isis_gc import IsisGc
from crownless.impl.protocols.isis_gc import State as GcState
from crownless.impl.protocols.ses import Ses, State
from crownless.impl.protocols.ses_delete import SesDelete
from crownless.impl.protocols.ses_multicast import SesMulticast
from crownless.impl.protocols.ses_rollback import Failure, SesRollback
from crownless.impl.protocols.ses_rollback import State as SiteState
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.variant import variant
from crownless.spec.computation import Message

#: [SES] excludes self-sends; admitted here, to see their effect.
SesToOneself = variant(Ses, "SesToOneself", admits_self_sends=True)
#: A clock that counts sends and local events alone.
DeliveriesDoNotTick = variant(
    Ses, "DeliveriesDoNotTick", time_after=lambda self, i, time, of_message: self.ops.maximum(time, of_message)
)
#: A clock that sends do not advance, nor local events.
NothingTicks = variant(Ses, "NothingTicks", after_event=lambda self, i, time: time)


class TokenHolder(Unordered):
    """[SES] §2: one token, first at P1; its holder may write, to all others, or send it on, to one other."""

    symmetric = False

    def initial(self, i: int) -> Any:
        return i == 0

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        if not state:
            return []
        writes = len(message.receivers) == self.n - 1
        return [step._replace(state=writes) for step in super().send(i, state, message)]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        is_token = packet.message is not None and len(packet.message.receivers) == 1
        return [step._replace(state=state or is_token) for step in super().on_packet(i, state, packet)]


class TheAskedSiteDeletesToo(IsisGc):
    """[SES] §3 forbids it: a site that gets a request deletes the messages that it names."""

    def on_deletion_request(self, state: GcState, j: int, ids: frozenset[Message]) -> GcState:
        after = super().on_deletion_request(state, j, ids)
        return after._replace(buffer=tuple(message for message in after.buffer if message not in ids))


class LearnsTheTimeOnArrival(SesRollback):
    """§4.1 to the letter: the clock advances when a message arrives, whether delivered or not."""

    rolls_back = False

    def on_packet(self, i: int, state: SiteState, packet: Packet) -> Sequence[Step]:  # type: ignore[override]
        (step,) = super().on_packet(i, state, packet)
        site = state.site._replace(time=self.time_after(i, state.time, packet.stamp.time))
        return [step._replace(state=step.state._replace(site=site))]


class CountsPairs(Ses):
    """The vector-pair protocol, monitored for the number of pairs in a buffer."""

    invariants = {"fewer-pairs-than-sites": lambda machine, i, state: sum(map(any, state.buffer)) < machine.n}
    witnesses = {"a-pair-for-every-other": lambda machine, i, state: sum(map(any, state.buffer)) == machine.n - 1}


class SesDeleteMulticast(SesDelete, SesMulticast):
    """Deletion of obsolete pairs, and multicasts."""


class AgreesOnlyOnce(SesRollback):
    """§4.3 as printed: the survivors agree on the time of the failure, and that is that."""

    def agree(self, states: Mapping[int, SiteState], crashed: int) -> Failure | None:
        return None if any(state.failure for state in states.values()) else super().agree(states, crashed)


# -- the pairs that accompany a multicast ------------------------------------------------------------------------------
#
# By the letter of [SES] §4.2.1 these are the pairs of the sender's buffer, and besides them those of the other
# destinations. The text discards an older pair where one is inserted in a site's buffer. Of the buffer that accompanies
# a multicast it says only that the pairs (S', VT(M)) are sent in it. So an older pair for S' stays beside the new one,
# until a site that delivers the message merges them (§4.2.2). `impl.protocols.ses_multicast` discards it when the
# message is sent.


class Accompanying(NamedTuple):
    """The pairs that accompany a copy of a message."""

    buffer: Value  #: those of the sender's buffer, one a site at most
    besides: Value  #: those of the other destinations, likewise


class PairsBesides(SesMulticast):
    """The pairs of the other destinations go besides those of the sender's buffer, which all stay."""

    symmetric = False
    rules = {}  # those of the protocol read stamps of another shape

    def accompanying(self, buffer: Value, j: int, dest: Collection[int], time: Value) -> Accompanying:
        among, one_if = self.ops.indicator, self.ops.one_if
        return Accompanying(buffer, self.ops.matrix(lambda l, k: time[k] * among(l, dest) * one_if(l != j)))

    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        """No pair for this site among either, or VT ≤ VT(S)."""
        pairs: Accompanying = packet.stamp.buffer
        return self.ops.every(
            lambda k: self.ops.all_of(pairs.buffer[i][k] <= state.time[k], pairs.besides[i][k] <= state.time[k])
        )

    def merged(self, i: Value, buffer: Value, carried: Accompanying) -> Value:
        """Pair by pair: new ones are introduced, and of two for one site the supremum is kept."""
        return super().merged(i, super().merged(i, buffer, carried.buffer), carried.besides)


class DropsPairsBesides(PairsBesides):
    """A site that delivers the message does not merge the pairs of the other destinations."""

    def merged(self, i: Value, buffer: Value, carried: Accompanying) -> Value:
        return SesMulticast.merged(self, i, buffer, carried.buffer)


class EntersNoPairs(SesMulticast):
    """The sender's own buffer gets no pair of a message to several sites, since of that the sentence says nothing."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        if len(message.receivers) == 1:
            return [step]
        return [step._replace(state=step.state._replace(buffer=state.buffer))]
