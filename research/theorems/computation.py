"""Any computation, perhaps with control messages, in z3's terms; and cycles of its messages, of any size."""

from collections.abc import Callable

import z3

from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term

Hypotheses = dict[str, Term]
NEVER = z3.BoolVal(False)


class AnyComputation:
    """Sorts of events and messages, about which only the following is known. Control messages are not among the
    messages.
    """

    def __init__(self) -> None:
        event, message, truth, number = z3.DeclareSort("Event"), z3.DeclareSort("Message"), z3.BoolSort(), z3.IntSort()
        self.event, self.message = event, message
        self.precedes = z3.Function("precedes", event, event, truth)
        self.leads = z3.Function("leads", event, event, truth)
        self.process = z3.Function("process", event, number)
        self.transmits = z3.Function("transmits", event, truth)
        #: A message's events, and those of its acknowledgement: transmitted by the receiver, received by the sender.
        self.send, self.receive, self.ack, self.acked = (
            z3.Function(name, message, event) for name in ("send", "receive", "ack", "acked")
        )
        self.first, self.second = z3.Consts("m1 m2", message)
        #: The messages of a cycle, by place from 0 on, and its size.
        self.at, self.size = z3.Function("at", number, message), z3.Int("size")

    def messages(self, holds: Callable[..., Term], of: int = 2) -> Term:
        """The formula holds for all messages."""
        some = z3.Consts("m k l", self.message)[:of]
        return z3.ForAll(some, holds(*some))

    def events(self, holds: Callable[..., Term], of: int = 2) -> Term:
        """The formula holds for all events."""
        some = z3.Consts("e f g", self.event)[:of]
        return z3.ForAll(some, holds(*some))

    def some_message(self, holds: Callable[[Term], Term]) -> Term:
        message = z3.Const("x", self.message)
        return z3.Exists([message], holds(message))

    # -- the definition of a computation -------------------------------------------------------------------------------

    def transitive(self) -> Hypotheses:
        def path(e: Term, f: Term, g: Term) -> Term:
            return z3.Implies(z3.And(self.leads(e, f), self.leads(f, g)), self.leads(e, g))

        return {"→ is transitive": self.events(path, of=3)}

    def own_events(self) -> Hypotheses:
        def own(m: Term, k: Term) -> Term:
            same = z3.Or(self.send(m) == self.send(k), self.receive(m) == self.receive(k))
            return z3.And(z3.Implies(same, m == k), self.send(m) != self.receive(k))

        return {"each event is of one message": self.messages(own)}

    def computation(self) -> Hypotheses:
        """≺ orders each line; → is transitive and acyclic, and contains ≺ and every message."""
        at = self.process
        return {
            **self.transitive(),
            "→ has no circle": self.events(lambda e: z3.Not(self.leads(e, e)), of=1),
            "≺ is → on one line": self.events(
                lambda e, f: self.precedes(e, f) == z3.And(self.leads(e, f), at(e) == at(f))
            ),
            "a line is in order": self.events(
                lambda e, f: z3.Implies(at(e) == at(f), z3.Or(e == f, self.precedes(e, f), self.precedes(f, e)))
            ),
            "a message is sent, then received elsewhere": self.messages(
                lambda m: z3.And(self.leads(self.send(m), self.receive(m)), at(self.send(m)) != at(self.receive(m))),
                of=1,
            ),
            **self.own_events(),
        }

    def contained(self) -> Hypotheses:
        return {"→ holds ≺": self.events(lambda e, f: z3.Implies(self.precedes(e, f), self.leads(e, f)))}

    def happened_before(self) -> Hypotheses:
        """→ contains ≺ and every message; and there are no self-sends."""
        at, send, receive = self.process, self.send, self.receive
        return {
            **self.contained(),
            "→ holds ⇝": self.messages(lambda m: self.leads(send(m), receive(m)), of=1),
            **self.transitive(),
            "self-sends are excluded": self.messages(lambda m: at(send(m)) != at(receive(m)), of=1),
            "≺ is on one line, without a circle": self.events(
                lambda e, f: z3.Implies(self.precedes(e, f), z3.And(at(e) == at(f), e != f))
            ),
        }

    def acknowledged(self) -> Hypotheses:
        """r ≺ r.ack ⇝ s.ack, at the same two processes."""

        def each(m: Term) -> Term:
            received, sent = self.precedes(self.receive(m), self.ack(m)), self.precedes(self.send(m), self.acked(m))
            return z3.And(received, self.leads(self.ack(m), self.acked(m)), sent)

        return {"each message is acknowledged": self.messages(each, of=1)}

    def send_protocol(self) -> Term:
        """The formula of SP: s1 ≺ s2 ⇒ s1.ack ≺ s2."""
        return self.messages(
            lambda m, k: z3.Implies(
                self.precedes(self.send(m), self.send(k)), self.precedes(self.acked(m), self.send(k))
            )
        )

    def is_message(self, e: Term, f: Term) -> Term:
        """e ⇝ f."""
        return self.some_message(lambda m: z3.And(e == self.send(m), f == self.receive(m)))

    # -- cycles of messages --------------------------------------------------------------------------------------------

    def crown(self, before: Callable[[Term, Term], Term]) -> Hypotheses:
        """The messages form a crown by →, or a strong one, by ≺: each is sent before the next is received."""
        return self.cycle(self.crown_link(before))

    def crown_link(self, before: Callable[[Term, Term], Term]) -> Callable[[Term, Term], Term]:
        return lambda i, j: before(self.send(self.at(i)), self.receive(self.at(j)))

    def cycle(self, link: Callable[[Term, Term], Term], left_out: Term = None) -> Hypotheses:
        """The messages at all places, or all but one, form a cycle: each place is linked to the next, the last to the
        first.
        """
        i, j = z3.Ints("i j")
        size = self.size if left_out is None else self.size - 1

        def place(k: Term) -> Term:
            return k if left_out is None else z3.If(k < left_out, k, k + 1)

        def linked(k: Term, l: Term) -> Term:
            return link(place(k), place(l))

        return {
            "a cycle has two messages or more": size >= 2,
            "each message is linked to the next": z3.ForAll(
                [j], z3.Implies(z3.And(j >= 0, j < size - 1), linked(j, j + 1))
            ),
            "the last message is linked to the first": linked(size - 1, z3.IntVal(0)),
            "the messages of a cycle are distinct": z3.ForAll(
                [i, j], z3.Implies(z3.And(i >= 0, i < j, j < size), self.at(place(i)) != self.at(place(j)))
            ),
        }

    def none_with_one_less(self, link: Callable[[Term, Term], Term]) -> Term:
        """The induction hypothesis: no message may be left out of the cycle."""
        p = z3.Int("p")
        smaller = z3.And(*self.cycle(link, left_out=p).values())
        return z3.ForAll([p], z3.Implies(z3.And(p >= 0, p < self.size), z3.Not(smaller)), patterns=[self.at(p)])

    def never_closed(self, reached: Callable[[Term], Term], given: Hypotheses) -> list[Claim]:
        """By induction along a cycle something is reached at each place from 1 on, and so not at the last: it would
        come round.
        """
        i = z3.Int("i")
        so_far = {"it is reached at i": reached(i), "i is on the cycle": z3.And(i >= 1, i < self.size)}
        return [
            Claim("it is reached by the first link of a cycle", given, reached(z3.IntVal(1))),
            Claim("it is reached by each link", {**given, **so_far}, z3.Implies(i + 1 < self.size, reached(i + 1))),
            Claim("no cycle comes round", {**given, "it is reached at the last": reached(self.size - 1)}, NEVER),
        ]

    def never_grows_round(self, value: Callable[[Term], Term], given: Hypotheses) -> list[Claim]:
        """This value grows along a crown from each send to the next; so there is no crown."""
        return self.never_closed(lambda j: value(self.send(self.at(0))) < value(self.send(self.at(j))), given)
