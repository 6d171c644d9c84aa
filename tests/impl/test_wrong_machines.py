"""A wrong machine gets one line: class, method, process, input, local state, and the user's file and line."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count, cycle
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command_line_runner import Crownless
from overrides import restamped

from crownless.impl.protocol import AppEvent, Packet, Parameter, ProtocolMachine, Step
from crownless.impl.protocol_validation import WrongMachine, check_class
from crownless.impl.protocols.rst import Rst
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.check import run_check
from crownless.model_check.search.reachable import reachable
from crownless.model_check.search.realizing import realize
from crownless.model_check.system.request import Check
from crownless.proofs.programs.every_interleaving import judge
from crownless.proofs.proving import proof_of, prove
from crownless.research.costs.experiment import Experiment
from crownless.research.costs.simulation import simulate_machine
from crownless.spec.computation import Message
from crownless.spec.notation import parse


class State(NamedTuple):
    sent: int
    seen: tuple[str, ...]


class Right(ProtocolMachine):
    """It counts what it sends, and remembers what it has delivered."""

    promises = "asynchronous"

    def initial(self, i: int) -> Any:
        return State(0, ())

    def send(self, i: int, state: Any, message: Message) -> Any:
        packet = Packet(i, message.receiver, "message", message, state.sent)
        return [Step(state._replace(sent=state.sent + 1), [packet], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        after = state._replace(seen=(*state.seen, packet.message.name))
        return [Step(after, (), [AppEvent("deliver", packet.message)])]


def wrong(base: type[ProtocolMachine] = Right, **attributes: Any) -> type[ProtocolMachine]:
    """The protocol with other methods or facts."""
    return type("Mine", (base,), attributes)


def send(change: Callable[[Any], Any]) -> type[ProtocolMachine]:
    """The right machine, whose `send` makes something else of its step."""
    return wrong(send=lambda self, i, state, message: change(Right.send(self, i, state, message)[0]))


def on_packet(**changed: Any) -> type[ProtocolMachine]:
    """The right machine with something else in the step of `on_packet`."""
    right = Right.on_packet
    return wrong(on_packet=lambda self, i, state, packet: [right(self, i, state, packet)[0]._replace(**changed)])


def readdressed(**changed: Any) -> type[ProtocolMachine]:
    """The right machine with something else in its packets."""
    return send(lambda step: [step._replace(packets=[p._replace(**changed) for p in step.packets])])


def raises(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def nested(depth: int) -> Any:
    value: Any = ()
    for _ in range(depth):
        value = (value,)
    return value


class HasNoText(Exception):
    def __str__(self) -> str:
        raise ValueError


class HasNoTruth:
    def __bool__(self) -> bool:
        raise TypeError


NOT_SENT = Message("2→1#7", 1, (0,))
IN_STATE = r"in the local state State\(sent=\d, seen=\(.*\)\)"
PACKET = rf"given the packet 'message' of \d→\d#\d from P\d with stamp \d {IN_STATE}"
EVERYWHERE = "; a method must have an answer in every local state that can occur"
#: A machine, and what is said of it.
WRONG: dict[str, tuple[type[ProtocolMachine], str]] = {
    # exceptions
    "initial-fails": (wrong(initial=raises(LookupError("no\n state"))),
     rf"Mine\.initial fails at P1: LookupError: no state \(HERE\){EVERYWHERE}"),
    "send-fails": (wrong(send=raises(KeyError(2))),
     rf"Mine\.send fails at P\d: KeyError: 2 \(HERE\), given the message \S+ {IN_STATE}{EVERYWHERE}"),
    "guard-fails": (wrong(deliverable=lambda self, i, state, packet: packet.stamp[i]),
     rf"Mine\.deliverable fails at P\d: TypeError: .* \(HERE\), {PACKET}{EVERYWHERE}"),
    "on-packet-fails": (wrong(on_packet=lambda self, i, state, packet: state.nothing),
     rf"Mine\.on_packet fails at P\d: AttributeError: .* \(HERE\), {PACKET}{EVERYWHERE}"),
    "receive-fails": (wrong(receive=lambda self, i, state, sender: sender + 1),
     rf"Mine\.receive fails at P1: .* \(HERE\), given a request for any message {IN_STATE}.*"),
    "internal-fails": (wrong(internal=lambda self, i, state: 1 // 0),
     rf"Mine\.internal fails at P1: ZeroDivisionError: .* \(HERE\), {IN_STATE}.*"),
    "renamed-fails": (wrong(symmetric=True, renamed=lambda self, state, renaming: renaming[0]),
     rf"Mine\.renamed fails: TypeError: .* \(HERE\), given the renaming P1→P1, P2→P3, P3→P2 {IN_STATE}.*"),
    "ends-the-process": (wrong(on_packet=raises(SystemExit(0))),
     rf"Mine\.on_packet fails at P\d: SystemExit: 0 \(HERE\), {PACKET}.*"),
    "takes-no-message": (wrong(send=lambda self, i, state: []),
     r"Mine\.send fails at P\d: TypeError: .* takes 3 positional arguments but 4 were given, given the message .*"),
    "recursion": (wrong(deliverable=lambda self, *given: self.deliverable(*given)),
     r"Mine\.deliverable fails at P\d: RecursionError: .*"),
    "error-without-a-text": (wrong(on_packet=raises(HasNoText())),
     rf"Mine\.on_packet fails at P\d: HasNoText \(HERE\), {PACKET}.*"),
    "invariant-fails": (wrong(invariants={"few": lambda machine, i, state: 1 // (1 - state.sent)}),
     r"invariant 'few' of Mine fails at P1: ZeroDivisionError: .* \(HERE\), in the local .* its own: invariants = {}"),
    "witness-fails": (wrong(witnesses={"two": lambda machine, i, state: state.seen[1]}),
     r"witness 'two' of Mine fails at P1: IndexError: .*"),
    "rule-fails": (wrong(rules={"first": lambda machine, step: step.before["sent"]}),
     r"rule 'first' of Mine fails at P\d: TypeError: .* \(HERE\), given the step 'send' from the local state State.*"),
    # answers that are none
    "guard-says-nothing": (wrong(deliverable=lambda self, *_: None),
     rf"Mine\.deliverable \(HERE\) at P\d returns None, which is neither True nor False, {PACKET}; return .*"),
    "guard-says-a-word": (wrong(deliverable=lambda self, *_: "True"),
     r"Mine\.deliverable .* returns 'True', which is neither.*"),
    "guard-says-an-array": (wrong(deliverable=lambda self, *_: HasNoTruth()),
     r"Mine\.deliverable .* returns <HasNoTruth>, which is neither.*"),
    "a-step-alone": (send(lambda step: step),
     r"Mine\.send \(HERE\) at P\d returns a Step, not a list of steps, given the message .*; return a list of .*"),
    "no-list": (send(lambda step: None), r"Mine\.send .* returns None, not a list of steps.*"),
    "a-generator": (send(lambda step: (each for each in [step])),
     r"Mine\.send .* returns a generator, not a list of steps.*"),
    "a-state": (send(lambda step: [step.state]),
     r"Mine\.send .* returns State\(sent=1, seen=\(\)\) in its list, not a Step.*"),
    "one-packet": (send(lambda step: [step._replace(packets=step.packets[0])]),
     r"Mine\.send .* returns a Step whose packets are Packet\(.*, not a list.*"),
    "no-events": (on_packet(events=None), r"Mine\.on_packet .* returns a Step whose events are None, not a list.*"),
    "an-internal-step-without-a-name": (wrong(internal=lambda self, i, state: [Step(state)]),
     r"Mine\.internal .* returns Step\(.* in its list, not a pair of a name and a Step.*"),
    "a-pair-for-a-packet": (send(lambda step: [step._replace(packets=[(1, "x")])]),
     r"Mine\.send .* transmits \(1, 'x'\): it is not a Packet, given .*; transmit Packet\(i, destination, .*"),
    # values that are not in the contract
    "a-list-at-the-start": (wrong(initial=lambda self, i: (i, [i])),
     r"Mine\.initial \(HERE\) at P1 gives a value that is not allowed: state\[1\] is a list; use a tuple"),
    "a-set-in-a-state": (on_packet(state=("x", {1})),
     rf"Mine\.on_packet \(HERE\) at P\d gives a value .*: state\[1\] is a set, {PACKET}; use a frozenset"),
    "a-list-in-a-stamp": (readdressed(stamp=[1]),
     r"Mine\.send \(HERE\) at P\d gives .*: stamp is a list, given the message .*; use a tuple"),
    "a-value-without-equality": (wrong(initial=lambda self, i: object()),
     r"Mine\.initial .*: state is an object; build local states and packets of .*"),
    "a-deep-value": (readdressed(stamp=nested(10_000)),
     r"Mine\.send .*: stamp is nested too deeply, given .*; keep what can grow in one tuple.*"),
    "not-a-number": (wrong(initial=lambda self, i: (0, float("nan"))),
     r"Mine\.initial .*: state\[1\] is nan, which is not equal to itself; use None"),
    # internal steps without an end
    "ticks": (wrong(internal=lambda self, i, state: [("tick", Step(state._replace(sent=state.sent + 1)))]),
     r"Mine\.internal \(HERE\) at P1 can run .*: after 1,000 steps, the last of them 'tick', .* State\(sent=1000.*"),
    "beats": (wrong(internal=lambda self, i, state: [("beat", Step(state, [Packet(i, (i + 1) % 3, "beat")]))]),
     r"Mine\.internal .* can run forever: 'beat' transmits a packet each time round.*"),
    # facts
    "no-promise": (type("Mine", (ProtocolMachine,), {}), r"Mine does not say what it promises; promises = .*"),
    "a-misspelt-promise": (wrong(promises="casual"),
     r"Mine\.promises = 'casual' is not an order; did you mean 'causal'\?.*"),
    "a-misspelt-channel": (wrong(needs_channel="lossless"), r"Mine\.needs_channel = 'lossless' is not a channel; .*"),
    "sends-is-a-number": (wrong(sends=7), r"Mine\.sends = 7 is not a kind of sends; known: .*"),
    "symmetric-is-a-word": (wrong(symmetric="yes"), r"Mine\.symmetric = 'yes' is neither True nor False; .*"),
    "one-bound": (wrong(bound=3), r"Mine\.bound = 3 is not two positive numbers, of processes and messages; .*"),
    "no-processes": (wrong(bound=(0, 4)), r"Mine\.bound = \(0, 4\) is not two positive numbers.*"),
    "no-messages": (wrong(bound=(1, 0)), r"Mine\.bound = \(1, 0\) is not two positive numbers.*"),
    "parameters-are-numbers": (wrong(parameters={"k": 4}), r"Mine\.parameters\['k'\] = 4 is not a Parameter; .*"),
    "an-invariant-is-a-truth": (wrong(invariants={"few": True}),
     r"Mine\.invariants\['few'\] = True is not a function; such as invariants = .*"),
    "witnesses-without-names": (wrong(witnesses=[len]), r"Mine\.witnesses = \[.*\] is not a dictionary by name; .*"),
    "a-guard-is-a-truth": (wrong(deliverable=True), r"Mine\.deliverable = True is not a method; .*"),
    "no-on-packet": (wrong(on_packet=ProtocolMachine.on_packet),
     r"Mine has no method on_packet; write on_packet\(self, i, state, packet\), .*"),
    "not-renamed": (wrong(symmetric=True), r"Mine has no method renamed; write .*, or leave out symmetric"),
    "stamps-not-renamed": (wrong(symmetric=True, renamed=lambda self, state, renaming: state),
     r"Mine has no method renamed_stamp; write renamed_stamp\(self, kind, stamp, renaming\), .*"),
    "a-misspelt-guard": (wrong(deliverabel=lambda self, *_: True),
     r"Mine\.deliverabel is not read by anything; did you mean 'deliverable'\?.*"),
    "a-misspelt-fact": (wrong(promise="causal"), r"Mine\.promise is not read by anything; did you mean 'promises'\?.*"),
    # how it is made
    "made-otherwise": (wrong(__init__=lambda self, n, capacity: None),
     r"Mine\(n, parameters={…}\) fails: TypeError: .* unexpected keyword argument 'parameters'; correct it"),
    "fails-when-made": (wrong(__init__=raises(IndexError("x"))), r"Mine\(n, parameters={…}\) fails: TypeError: .*"),
    "forgets-its-base": (wrong(__init__=lambda self, n, ops=None, parameters=None: None),
     r"Mine\.__init__ does not set n, ops and settings; call super\(\)\.__init__\(n, ops, parameters\) first"),
    "a-default-fails": (wrong(parameters={"k": Parameter("how many", lambda n: 4 // (n - 3), 1, "one")}),
     r"Mine fails: ZeroDivisionError: .* \(HERE\); correct it"),
}  # fmt: skip

for name in (" Deliver m1", "receive x", "agree", " ", "po\nst", "post\x1b[2J"):
    WRONG[f"a-step-named-{name!r}"] = (
        wrong(internal=lambda self, i, state, name=name: [(name, Step(state))]),
        r"Mine\.internal .* names a step '.*', which cannot be the name of a step.*",
    )
for part, value, why in [
    ("destination", 3, r"its destination is none of the processes 0 to 2"),
    ("source", -1, r"its source is not \d, the process that transmits it"),
    ("kind", 1, "its kind is not a string"),
    ("message", "x", "its message is neither the Message that send was given nor None"),
]:
    WRONG[f"a-packet-with-another-{part}"] = (
        readdressed(**{part: value}),
        rf"Mine\.send .* transmits Packet\(.*: {why}, given the message .*; transmit Packet\(i, .*",
    )
for event in ("deliver", ("delivered", NOT_SENT), ("deliver", NOT_SENT), ("deliver", "1→2#1"), ("deliver", ["1→2#1"])):
    WRONG[f"reports-{event}"] = (
        on_packet(events=[AppEvent(*event) if isinstance(event, tuple) else event]),
        r"Mine\.on_packet .* reports .*, which is not an event that can happen.*; give sent\(message\).*",
    )

ANSWERS, NUMBERS = cycle([True, False]), count()
IMPURE: dict[str, Any] = {
    "deliverable": lambda self, *given: next(ANSWERS),
    "initial": lambda self, i: next(NUMBERS),
    "send": lambda self, *given: restamped(Right.send(self, *given), lambda packet: next(NUMBERS)),
    "on_packet": lambda self, *given: self.heard.append(given) or [Step(State(len(self.heard), ()))],
    "internal": lambda self, i, state: [(f"post {next(NUMBERS)}", Step(state))],
}
for method, impure in IMPURE.items():
    WRONG[f"impure-{method}"] = (
        wrong(Right, **{"heard": [], method: impure}),
        rf"Mine\.{method} .* is not a pure function: it gave .* and then .*; an input must depend on its .* alone.*",
    )
WRONG["impure-invariant"] = (
    wrong(invariants={"in-turns": lambda machine, i, state: next(ANSWERS)}),
    r"invariant 'in-turns' of Mine .* is not a pure function: it gave .*",
)


def said(error: pytest.ExceptionInfo[WrongMachine]) -> str:
    line = str(error.value)
    assert "\n" not in line
    return re.sub(r"[^\s(]*test_wrong_machines\.py:\d+", "HERE", line)


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_wrong_machine_gets_one_line(name: str, engine: str) -> None:
    if name in ("renamed-fails", "stamps-not-renamed") and engine == "plain":
        pytest.skip("the plain explorer renames nothing")
    machine, expected = WRONG[name]
    with pytest.raises(WrongMachine) as error:
        run_check(Check(machine, 3, 2), engine=engine, workers=1)
    assert re.fullmatch(expected, said(error)), said(error)


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_nothing_is_said_of_a_right_machine(engine: str) -> None:
    assert run_check(Check(Right, 3, 2), engine=engine)["delivers-all"].verdict == "holds"


def test_nothing_is_said_of_the_bundled_protocols() -> None:
    for kind in PROTOCOLS.values():
        check_class(kind)


def test_a_class_that_is_no_protocol_is_refused() -> None:
    with pytest.raises(WrongMachine, match=r"State is not a protocol; derive its class from crownless\.Protocol"):
        check_class(State)


# -- elsewhere ---------------------------------------------------------------------------------------------------------


def test_other_searches_say_the_same() -> None:
    machine, expected = WRONG["send-fails"]
    check = Check(machine, 3, 2)
    for search in (
        lambda: realize(check),
        lambda: list(reachable(check.resolve().system())),
        lambda: simulate_machine(machine(3), Experiment("", 3, messages=10)),
    ):
        with pytest.raises(WrongMachine) as error:
            search()
        assert re.fullmatch(expected, said(error))


def test_a_simulation_comes_to_an_end_where_internal_steps_do_not() -> None:
    with pytest.raises(WrongMachine, match=r"Mine\.internal .* can run forever: after 1,000 steps"):
        simulate_machine(WRONG["beats"][0](3), Experiment("", 3, messages=10))


def test_proofs_say_what_is_wrong_with_a_class() -> None:
    guard = wrong(Rst, deliverable=lambda self, i, state, packet: state.nothing)
    with pytest.raises(WrongMachine, match=r"Mine fails: AttributeError: .*test_wrong_machines\.py:\d+\)"):
        judge(Check(guard, program=parse("P1: send x to P2\nP2: receive")))
    with pytest.raises(WrongMachine, match=r"Mine\.promises = 'casual' is not an order"):
        prove("misspelt", proof_of(wrong(Rst, promises="casual")))


def test_the_command_line_prints_the_line_alone(
    crownless: Crownless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from crownless.impl.protocols.unordered import Unordered\n"
        "def first(names):\n"
        "    return names[0]\n"
        "class Mine(Unordered):\n"
        "    def deliverable(self, i, state, packet):\n"
        "        return max((packet,), key=lambda each: first(state))\n"
    )
    code, out, err = crownless("check", "mine.py:Mine", "-n", "2", "-m", "1")
    assert (code, out) == (2, "")
    assert re.fullmatch(
        r"crownless: Mine\.deliverable fails at P\d: IndexError: tuple index out of range \(mine\.py:3\), given the "
        r"packet 'message' of \d→\d#1 from P\d in the local state \(\); a method must have an answer .*\n",
        err,
    )


def test_an_error_in_a_callback_is_not_the_machines() -> None:
    def progress(*_: Any) -> None:
        raise LookupError("of the callback")

    with pytest.raises(LookupError):
        run_check(Check(Right, 3, 2), progress=progress, engine="plain")
