"""A recorder of sends and deliveries, for the tests of any implementation.

recorder = Recorder()
recorder.send("A", "m1", to="B")
recorder.deliver("B", "m1")
assert recorder.verdict("causal")
"""

from collections.abc import Iterable
from threading import Lock

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name

from .computation import Computation, Event, Kind, Message
from .orders import UnreceivedPolicy, Verdict, decide, earned, telling


class Recorder:
    """The events of each process, in the order in which that process recorded them.

    Names of processes and messages are free; each message needs its own name. Several threads may record.
    """

    def __init__(self, processes: Iterable[str] = ()) -> None:
        """`processes`: in display order; others are added when they are first named."""
        given = processes if isinstance(processes, Iterable) and not isinstance(processes, str) else (processes,)
        self._lines: dict[str, list[tuple[Kind, str | None]]] = {_name("process", name): [] for name in given}
        self._sent: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._delivered: set[tuple[str, str]] = set()
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<recorder: {len(self._sent)} sends, {len(self._delivered)} deliveries>"

    def __str__(self) -> str:
        """A drawing of the recorded events; or why they are not a computation."""
        try:
            return str(self.computation)
        except BadInput as problem:
            return f"{self!r}: {problem}"

    def send(self, process: str, message: str, *, to: str | Iterable[str]) -> None:
        """`process` sends the message to one receiver, or to several. Raises `BadInput` if it was sent before."""
        process, message = _name("process", process), _name("message", message)
        given = to if isinstance(to, Iterable) and not isinstance(to, str) else (to,)
        receivers = tuple(dict.fromkeys(_name("process", receiver) for receiver in given))
        if not receivers:
            raise BadInput(f"{process} sends {message} without a receiver", hint="name a receiver")
        with self._lock:
            if message in self._sent:
                hint = "give each message its own name"
                raise BadInput(f"{process} sends {message}, which {self._sent[message][0]} has sent", hint=hint)
            self._sent[message] = (process, receivers)
            for name in (process, *receivers):
                self._lines.setdefault(name, [])
            self._lines[process].append(("send", message))

    def deliver(self, process: str, message: str) -> None:
        """`process` delivers the message. Raises `BadInput` if it did so before.

        A delivery may be recorded before its send, as happens with threads; a verdict needs both.
        """
        process, message = _name("process", process), _name("message", message)
        with self._lock:
            if (process, message) in self._delivered:
                raise BadInput(f"{process} delivers {message} twice", hint="record each delivery once")
            self._delivered.add((process, message))
            self._lines.setdefault(process, []).append(("receive", message))

    def internal(self, process: str) -> None:
        """`process` has an event that is neither a send nor a delivery."""
        with self._lock:
            self._lines.setdefault(_name("process", process), []).append(("internal", None))

    @property
    def computation(self) -> Computation:
        """The computation recorded so far. Raises `BadInput` if a delivered message was never sent, or was sent to
        others.
        """
        with self._lock:
            lines = {process: tuple(line) for process, line in self._lines.items()}
            sent = dict(self._sent)
        number = {process: p for p, process in enumerate(lines)}
        index: dict[str | None, int] = {message: m for m, message in enumerate(sent)}
        for process, line in lines.items():
            for kind, message in line:
                if kind == "receive" and message not in sent:
                    raise BadInput(f"{process} delivers {message}, which was never sent", hint="record its send")
        messages = tuple(
            Message(message, number[sender], tuple(sorted(number[q] for q in receivers)))
            for message, (sender, receivers) in sent.items()
        )
        events = tuple(tuple(Event(kind, index.get(message)) for kind, message in line) for line in lines.values())
        return Computation(tuple(lines), messages, events)

    def verdict(self, order: str, unreceived: UnreceivedPolicy = "lost") -> Verdict:
        """The verdict on the events so far; unreceived messages are `lost` or `pending`. Without a message there
        is nothing to judge. Raises `BadInput` for an unknown order, or if there is no computation.
        """
        return self._earned(order, unreceived)

    def verdicts(self, unreceived: UnreceivedPolicy = "lost") -> dict[str, Verdict]:
        """The same for all orders, weakest first; for total order only if a message has several receivers."""
        return {order: self._earned(order, unreceived) for order in telling(unicasts=self.computation.unicasts)}

    def _earned(self, order: str, unreceived: UnreceivedPolicy) -> Verdict:
        c = self.computation
        return earned(decide(c, order, unreceived), len(c.messages), unicasts=c.unicasts)


def _name(of: str, given: object) -> str:
    if not isinstance(given, str):
        raise BadInput(f"the {of} name {printable_name(repr(given))} is not a string", hint="give str(…)")
    return given
