"""The vector-pair protocol with deletion of obsolete pairs ([SES] §4.2.4).

When a message M of S1 is delivered to S2, the pair (S1, VT) of ORD_BUFF_S2 is deleted if VT ≤ VT(M): "the local time on
S1 is already greater than VT".

Modelling choice: the comparison is made with the buffer as merged. The buffer that M carries has no pair for S1, its
own site, so that comparing before the merge is the same.
"""

from crownless.impl.ops import Value

from .ses import Ses, Stamp, State


class SesDelete(Ses):
    source = "[SES] §4.2.4"
    rules = {
        **Ses.rules,
        "an-obsolete-pair-is-deleted": lambda machine, t: (
            t.received and any(t.before.buffer[t.packet.source]) and not any(t.after.buffer[t.packet.source])
        ),
        "a-pair-not-obsolete-is-kept": lambda machine, t: t.received and any(t.after.buffer[t.packet.source]),
    }

    def after_delivering(self, i: Value, state: State, j: Value, stamp: Stamp) -> State:
        merged = super().after_delivering(i, state, j, stamp)
        obsolete = self.ops.every(lambda k: merged.buffer[j][k] <= stamp.time[k])
        kept = self.ops.matrix(lambda l, k: merged.buffer[l][k] * (1 - self.ops.one_if(l == j, obsolete)))
        return State(merged.time, kept)
