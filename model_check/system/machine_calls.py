"""All calls of a protocol machine go through here: its answers are checked, and at first each call is made twice.

Every engine calls a machine once for a local state and an input, and then reuses the answer. That is correct only for
a pure function of values that the contract allows (`values`). So the first calls of each input are made twice and
their answers compared. This misses memory outside the local state that shows only later, and clocks or random numbers
that agree twice: the tool trusts that a machine has none. A sample of calls is also repeated with the messages renamed
(`message_names`), since their names carry no order.

An exception in a user's method, and an answer that cannot be used, are raised as `WrongMachine`: one line with class,
method, process, input, local state, and the user's file and line.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, get_args, get_type_hints

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Rule, Step, Transition, WrongAnswer
from crownless.impl.protocol_validation import WrongMachine, wrong_answer
from crownless.impl.registry import is_bundled
from crownless.impl.renaming import Renaming
from crownless.impl.user_frames import place_of_definition, place_of_error
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable, shown, shown_error, with_article
from crownless.spec.computation import Message

from .message_names import METHODS, Sample
from .values import Refused, key_of, same_values

#: The first calls of each input are made twice.
FIRST_CALLS = 256
#: Internal steps of a process that reach more local states than this, with nothing received, count as endless.
MAX_INTERNAL = 1_000

#: The kinds of events, and the first words of the engine's own actions, which internal steps may not use.
EVENTS: tuple[str, ...] = get_args(get_type_hints(AppEvent)["kind"])
ACTIONS = ("send", "deliver", "receive", "lose", "duplicate", "crash", "agree")

#: The arguments of a machine's methods and predicates.
ARGUMENTS = {
    "initial": ("process",),
    "internal": ("process", "state"),
    "agree": ("states", "crashed"),
    "renamed": ("state", "given"),
    "renamed_stamp": ("given", "renaming"),
    "invariant": ("machine", "process", "state"),
    "witness": ("machine", "process", "state"),
    "rule": ("machine", "given"),
}
WITH_INPUT = ("process", "state", "given")
NOT_GIVEN: Any = object()

PURE = "an input must depend on its arguments alone, and change nothing: keep what it remembers in the local state"
ANSWERS_EVERYWHERE = "a method must have an answer in every local state that can occur"
HOLDS_EVERYWHERE = "it must have an answer everywhere; a class with states of another shape has its own: {} = {{}}"
RENAMES_STAMPS = "write renamed_stamp(self, kind, stamp, renaming), which renames the processes in a stamp"
A_LIST = "return a list of Step(state, packets, events), or [] for nothing"
A_NAMED_LIST = 'return a list of pairs ("name", Step(state, packets, events)), or [] for nothing'
A_PACKET = "transmit Packet(i, destination, kind, message, stamp)"
AN_EVENT = "give sent(message) or delivered(message), of the message that send was given or that a packet carries"


class Call(NamedTuple):
    """A call of a machine's method or predicate, as error messages describe it."""

    kind: type
    method: str
    process: int | None = None
    state: Any = NOT_GIVEN
    #: The message, packet, renaming or transition, or the sender from which a message is requested.
    given: Any = NOT_GIVEN

    @classmethod
    def of(cls, kind: type, method: str, arguments: Sequence[Any]) -> "Call":
        """The call of that method with these arguments."""
        known = dict(zip(ARGUMENTS.get(method.partition(" ")[0], WITH_INPUT), arguments, strict=False))
        given = known.get("given", NOT_GIVEN)
        process = known.get("process", given.process if isinstance(given, Transition) else None)
        return cls(kind, method, process, known.get("state", NOT_GIVEN), given)

    @property
    def named(self) -> str:
        """The method or predicate: ``Hub.send``, ``rule 'waits' of Hub``."""
        name = self.kind.__name__
        return f"{name}.{self.method}" if self.method.isidentifier() else f"{self.method} of {name}"

    @property
    def subject(self) -> str:
        """The method, its file and line, and the process: ``Hub.send (hub.py:12) at P1``."""
        where = place_of_definition(getattr(self.kind, self.method, None))
        return f"{self.named}{'' if where is None else f' ({where})'}{self._at}"

    @property
    def _at(self) -> str:
        return "" if self.process is None else f" at P{self.process + 1}"

    @property
    def arguments(self) -> str:
        """The arguments of the call: ``, given the message 1→2#1 in the local state (0, 0)``."""
        given = "" if self.given is NOT_GIVEN else f" given {_described(self.given)}"
        state = "" if self.state is NOT_GIVEN else f" in the local state {shown(self.state)}"
        return f",{given}{state}" if given or state else ""

    def wrong(self, problem: str, hint: str) -> WrongMachine:
        """The error for an answer that cannot be used."""
        return WrongMachine(f"{self.subject} {problem}{self.arguments}", hint=hint)

    def failed(self, error: BaseException) -> WrongMachine:
        """The error for an exception in the call."""
        if isinstance(error, WrongAnswer):
            return wrong_answer(self.kind, error)
        at, hint = place_of_error(error), ANSWERS_EVERYWHERE
        for fact, called in {"invariants": "invariant", "witnesses": "witness", "rules": "rule"}.items():
            if self.method.startswith(f"{called} '"):
                hint = HOLDS_EVERYWHERE.format(fact)
        where = "" if at is None else f" ({at})"
        return WrongMachine(f"{self.named} fails{self._at}: {shown_error(error)}{where}{self.arguments}", hint=hint)


def _described(given: Any) -> str:
    """An input in words."""
    if isinstance(given, Packet):
        name = given.message.name if isinstance(given.message, Message) else given.message
        carried = "" if name is None else f" of {shown(name, str)}"
        stamp = "" if given.stamp is None else f" with stamp {shown(given.stamp)}"
        return f"the packet '{shown(given.kind, str)}'{carried} from {_process(given.source)}{stamp}"
    if isinstance(given, Message):
        return f"the message {shown(given.name, str)}"
    if isinstance(given, Transition):
        return f"the step '{given.action}' from the local state {shown(given.before)}"
    if isinstance(given, Renaming):
        return f"the renaming {', '.join(f'P{i + 1}→P{j + 1}' for i, j in enumerate(given.image))}"
    return "a request for any message" if given is None else f"a request for a message from {_process(given)}"


def _process(i: Any) -> str:
    return f"P{i + 1}" if isinstance(i, int) else shown(i)


class MachineCalls:
    """The calls of one machine; `exists` is true of a message that an application can send.

    A user's machine is checked more closely than a bundled one: that it is pure, its values allowed, and names of
    messages not read. `in_order`: the channel keeps the order of packets on a link.
    """

    def __init__(
        self,
        machine: ProtocolMachine,
        exists: Callable[[Message], bool] = lambda message: True,
        *,
        in_order: bool = True,
    ) -> None:
        self.machine = machine
        self._kind = type(machine)
        self._exists = exists
        self._bundled = is_bundled(self._kind)
        self._trusted = machine.is_known_to_be_pure or self._bundled
        #: The number of double calls of each method.
        self._doubled = Counter[str]()
        #: The calls repeated with renamed messages; None: a trusted machine is called once.
        self._renaming_sample = None if self._trusted else Sample(in_order=in_order)
        #: The processes and local states whose internal steps are known to terminate.
        self._ending: set[tuple[int, Any]] = set()

    # -- the inputs ----------------------------------------------------------------------------------------------------

    def initial(self, i: int) -> Any:
        return self._call("initial", self.machine.initial, self._checked_state, i)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return self._steps("send", i, state, message)

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        return self._truth("deliverable", self.machine.deliverable, i, state, packet)

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return self._steps("on_packet", i, state, packet)

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        return self._steps("receive", i, state, sender)

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return self._call("internal", self.machine.internal, self._checked_internal, i, state)  # type: ignore[no-any-return]

    def internal_that_ends(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        """The same, for a search of all runs; raises `WrongMachine` if internal steps can continue endlessly."""
        steps = self.internal(i, state)
        if any(not step.events for _, step in steps) and (i, state) not in self._ending:
            self._check_end(i, state)
        return steps

    def agree(self, states: Mapping[int, Any], crashed: int) -> Any | None:
        return self._call("agree", self.machine.agree, self._checked_stamp, states, crashed)

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        return self._call("renamed", self.machine.renamed, self._checked_state, state, renaming)

    def renamed_packet(self, packet: Packet, renaming: Renaming) -> Packet:
        if packet.stamp is not None and type(self.machine).renamed_stamp is ProtocolMachine.renamed_stamp:
            raise WrongMachine(f"{type(self.machine).__name__} has no method renamed_stamp", hint=RENAMES_STAMPS)

        def checked(answer: Packet, arguments: Any) -> Packet:
            self._checked_stamp(answer.stamp)
            return answer

        return self._call("renamed_stamp", self.machine.renamed_packet, checked, packet, renaming)  # type: ignore[no-any-return]

    # -- predicates ----------------------------------------------------------------------------------------------------

    def invariants_violated(self, i: int, state: Any) -> tuple[str, ...]:
        """The names of the invariants that this local state violates."""
        return self._predicates("invariant", self.machine.invariants, i, state, holds=False)

    def witnesses_met(self, i: int, state: Any) -> tuple[str, ...]:
        """The names of the witnesses that this local state satisfies."""
        return self._predicates("witness", self.machine.witnesses, i, state, holds=True)

    def exercises(self, name: str, rule: Rule, transition: Transition) -> bool:
        """True if this transition exercises the rule."""
        return self._truth(f"rule '{name}'", rule, self.machine, transition)

    def _predicates(
        self, called: str, predicates: Mapping[str, Any], i: int, state: Any, *, holds: bool
    ) -> tuple[str, ...]:
        return tuple(
            [
                name
                for name, predicate in predicates.items()
                if self._truth(f"{called} '{name}'", predicate, self.machine, i, state) is holds
            ]
        )

    # -- keys of table entries -------------------------------------------------------------------------------------

    def key(self, state: Any) -> Hashable:
        """The key of a local state in tables."""
        return state if self._trusted else key_of(state)

    def same_values(self, one: Any, other: Any) -> bool:
        """True if the machine cannot distinguish the values, both its own."""
        return bool(one == other) if self._bundled else same_values(one, other)

    def key_of_packet(self, packet: Packet) -> Hashable:
        """The key of a packet in tables."""
        return packet if packet.stamp is None or self._trusted else (*packet[:-1], key_of(packet.stamp))

    # -- calls and their answers ---------------------------------------------------------------------------------------

    def _call(
        self, method: str, function: Callable[..., Any], checked: Callable[[Any, Any], Any], *arguments: Any
    ) -> Any:
        """The answer, after `checked` with it and the arguments; the first calls are made twice and must agree."""
        try:
            answer = again = checked(function(*arguments), arguments)
            if not self._trusted and self._doubled[method] < FIRST_CALLS:
                self._doubled[method] += 1
                again = checked(function(*arguments), arguments)
            if self._renaming_sample is not None and again == answer and method in METHODS:
                self._renaming_sample.compare(method, function, arguments, answer)
        except Refused as refused:
            raise Call.of(self._kind, method, arguments).wrong(refused.problem, refused.hint) from None
        except BadInput:
            raise
        except (Exception, SystemExit, GeneratorExit) as error:
            if isinstance(error, MemoryError):
                raise
            raise Call.of(self._kind, method, arguments).failed(error) from error
        if again is not answer and again != answer:
            call = Call.of(self._kind, method, arguments)
            raise call.wrong(f"is not a pure function: it gave {shown(answer)} and then {shown(again)}", PURE)
        return answer

    def _truth(self, method: str, function: Callable[..., Any], *arguments: Any) -> bool:
        return self._call(method, function, _checked_truth, *arguments)  # type: ignore[no-any-return]

    def _steps(self, method: str, i: int, state: Any, given: Any) -> Sequence[Step]:
        function = getattr(self.machine, method)
        return self._call(method, function, self._checked_steps, i, state, given)  # type: ignore[no-any-return]

    def _checked_state(self, state: Any, arguments: Any = None) -> Any:
        if not self._trusted:
            _check_value(state, "state")
        return state

    def _checked_stamp(self, stamp: Any, arguments: Any = None) -> Any:
        if not self._trusted and stamp is not None:
            _check_value(stamp, "stamp")
        return stamp

    def _checked_steps(self, answer: Any, arguments: Any) -> Any:
        if not self._bundled:
            for step in _checked_list(answer, A_LIST):
                self._check_step(arguments[0], step)
        return answer

    def _checked_internal(self, answer: Any, arguments: Any) -> Any:
        for named in _checked_list(answer, A_NAMED_LIST):
            if not isinstance(named, tuple) or len(named) != 2 or not isinstance(named[0], str):
                raise Refused(f"returns {shown(named)} in its list, not a pair of a name and a Step", A_NAMED_LIST)
            name, step = named
            if not name.split() or printable(name) != name or name.split()[0].lower() in ACTIONS:
                hint = f"name it in printable characters, beginning with another word than {', '.join(ACTIONS)}"
                raise Refused(f"names a step {shown(name, ascii)}, which cannot be the name of a step", hint)
            self._check_step(arguments[0], step)
        return answer

    def _check_step(self, i: int, step: Any) -> None:
        if not isinstance(step, Step):
            raise Refused(f"returns {shown(step)} in its list, not a Step", A_LIST)
        state, packets, events = step
        for part, name in ((packets, "packets"), (events, "events")):
            if not isinstance(part, list | tuple) or isinstance(part, Packet | AppEvent):
                raise Refused(f"returns a Step whose {name} are {shown(part)}, not a list", A_LIST)
        for packet in packets:
            why = "it is not a Packet" if not isinstance(packet, Packet) else self._wrong_with_packet(i, packet)
            if why is not None:
                raise Refused(f"transmits {shown(packet)}: {why}", A_PACKET)
            self._checked_stamp(packet.stamp)
        for event in events:
            if not isinstance(event, AppEvent) or event.kind not in EVENTS or not self._can_happen(event.message):
                raise Refused(f"reports {shown(event)}, which is not an event that can happen", AN_EVENT)
        self._checked_state(state)

    def _wrong_with_packet(self, i: int, packet: Packet) -> str | None:
        """The reason why process i cannot transmit it; None if it can."""
        source, destination, kind, message, _ = packet
        if source != i:
            return f"its source is not {i}, the process that transmits it"
        if not isinstance(destination, int) or not 0 <= destination < self.machine.n:
            return f"its destination is none of the processes 0 to {self.machine.n - 1}"
        if type(kind) is not str:
            return "its kind is not a string"
        if message is not None and not isinstance(message, Message):
            return "its message is neither the Message that send was given nor None"
        return None

    def _can_happen(self, message: Any) -> bool:
        return isinstance(message, Message) and self._exists(message)

    # -- endless internal steps ---------------------------------------------------------------------------------

    def _check_end(self, i: int, start: Any) -> None:
        """Follows the internal steps that report no event; raises `WrongMachine` if they reach new local states
        endlessly, or transmit packets in a cycle.
        """
        import networkx as nx  # it takes a while to import

        graph: nx.DiGraph[Any] = nx.DiGraph()
        left, transmitting = [start], []
        graph.add_node(start)
        while left:
            now = left.pop()
            for name, step in self.internal(i, now):
                if step.events:
                    continue
                if step.state not in graph and (i, step.state) not in self._ending:
                    left.append(step.state)
                graph.add_edge(now, step.state)
                if step.packets and name not in self.machine.timers:
                    transmitting.append((now, name, step.state))
                if len(graph) > MAX_INTERNAL:
                    raise without_end(self.machine, i, name, start, step.state)
        component = {state: k for k, part in enumerate(nx.strongly_connected_components(graph)) for state in part}
        for before, name, after in transmitting:
            if component[before] == component[after]:
                timers = self.machine.timers
                named = f"{list(timers)} names no such step: " if timers else "if it is a timer: "
                raise Call(self._kind, "internal", i, before).wrong(
                    f"can run forever: '{name}' transmits a packet each time round",
                    f'transmit it once, or wait for an answer before the next; {named}timers = ("{name}",)',
                )
        self._ending.update((i, state) for state in graph)


def _checked_truth(answer: Any, arguments: Any) -> bool:
    try:
        if answer is not None and not isinstance(answer, str | bytes):
            return bool(answer)
    except Exception:  # of any kind: it is the answer's own code
        pass
    raise Refused(f"returns {shown(answer)}, which is neither True nor False", "return True or False")


def _checked_list(answer: Any, hint: str) -> Any:
    if not isinstance(answer, list | tuple) or isinstance(answer, Step):
        given = "None" if answer is None else with_article(type(answer).__name__)
        raise Refused(f"returns {given}, not a list of steps", hint)
    return answer


def _check_value(value: Any, whole: str) -> None:
    """Raises `Refused` if a local state or a stamp has values that a table may not hold."""
    try:
        key_of(value)
    except Refused as refused:
        raise Refused(f"gives a value that is not allowed: {refused.said(whole)}", refused.hint) from None


def without_end(machine: ProtocolMachine, i: int, name: str, first: Any, last: Any) -> WrongMachine:
    """The error for a process that takes internal steps endlessly, from one local state to the next."""
    return Call(type(machine), "internal", i, first).wrong(
        f"can run forever: after {MAX_INTERNAL:,} steps, the last of them '{name}', with nothing received or "
        f"submitted, its local state is {shown(last)}",
        "bound what grows, or take the step only after something was received or submitted",
    )
