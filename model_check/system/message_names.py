"""Names of messages carry no order: a sample of calls is repeated with the messages renamed, and the outcomes compared.

A machine may read a message's sender and receivers, and whether two messages are the same; it may keep a name, also
within a longer text, where it could keep the message. Its name is no sequence number, and no text to sort by: outside
the explorer messages have other names. So the outcomes of a call on renamed messages must be those of the original
call, renamed, in any order. They may be listed in the order of names, which decides nothing.

Names of the free workload are renamed wherever they occur. In a program names are any words, and a text of the machine
may be one of them: there an outcome may have texts renamed or not.

Two renamings are tried: one reverses the order of all names in the arguments, the other gives names of other messages.
Calls are told apart by their method, the kind of the packet, and the number of messages in the arguments; of each sort
the first calls are repeated, and then one in `EVERY`.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.runtime.printable import shown, shown_error
from crownless.spec.computation import Message

from .values import LIST, MAPPING, PLAIN, NotRebuilt, Refused, Structure, key_of, structure_of

#: The methods whose calls are repeated; predicates such as invariants decide no step, and may read names.
METHODS = frozenset({"send", "deliverable", "on_packet", "receive", "internal", "agree"})
#: Of each method the first calls are examined, and then one in `EVERY`; likewise of each sort of calls examined.
FIRST_EXAMINED, FIRST_REPEATED, EVERY = 1_000, 64, 16
#: Names of other messages have numbers that are multiples of `STEP`, modulo `NUMBERS`: in no order.
STEP, NUMBERS = 617, 1_000
#: The name of a message of the free workload.
FREE = re.compile(r"\d+→\d+#\d+")
#: The number of renamed messages that are listed.
LISTED = 4

HINT = (
    "a machine may read a message's sender and receivers, and compare messages with ==; what it orders by it numbers "
    "itself, in its local state and stamps"
)

#: New names of messages.
Names = Mapping[str, str]


class Sample:
    """The calls of one machine that are repeated; `in_order`: the order of packets on a link counts."""

    def __init__(self, *, in_order: bool) -> None:
        self._in_order = in_order
        self._examined, self._repeated = Counter[str](), Counter[Hashable]()

    def compare(self, method: str, function: Callable[..., Any], arguments: Sequence[Any], answer: Any) -> None:
        """Repeats a call of the method, if it is in the sample; raises `Refused` if its outcomes depend on names."""
        if not _is_sampled(self._examined, method, FIRST_EXAMINED):
            return
        if method == "deliverable":
            function = _truth_of(function)
        found = sorted(set(_names_in(arguments)))
        kinds = tuple(given.kind for given in arguments if isinstance(given, Packet))
        if found and _is_sampled(self._repeated, (method, kinds, len(found)), FIRST_REPEATED):
            for names in renamings(found):
                self._compare(function, arguments, answer, names)

    def _compare(self, function: Callable[..., Any], arguments: Sequence[Any], answer: Any, names: Names) -> None:
        again = expected = None
        for in_texts in (True,) if all(map(FREE.fullmatch, names)) else (False, True):
            try:
                given, expected = (renamed(value, names, in_texts=in_texts) for value in (tuple(arguments), answer))
            except NotRebuilt:
                return
            again, outcomes = self._again(function, given)
            if outcomes == self._outcomes(expected):
                return
        right, wrong = _in_words(expected), _in_words(again)
        right, wrong = _difference(expected, again) if right == wrong else (right, wrong)
        problem = f"depends on the names of messages: {_names_in_words(names)} it gives {wrong}, not {right}"
        raise Refused(problem, HINT)

    def _again(self, function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, Hashable]:
        """The answer to these arguments, or the exception, and a key of the outcomes."""
        try:
            answer = function(*arguments)
            return answer, self._outcomes(answer)
        except (Exception, SystemExit, GeneratorExit) as error:
            if isinstance(error, MemoryError):
                raise
            return error, type(error).__name__

    def _outcomes(self, answer: Any) -> Hashable:
        """A key of the outcomes, the same in any order."""
        if not _is_steps(answer):
            return key_of(answer)
        named = [("", one) if isinstance(one, Step) else one for one in answer]
        return frozenset(Counter((name, self._outcome(step)) for name, step in named).items())

    def _outcome(self, step: Step) -> Hashable:
        packets = [(*packet[:-1], key_of(packet.stamp)) for packet in step.packets]
        return key_of(step.state), self._transmitted(packets), tuple(step.events)

    def _transmitted(self, packets: list[tuple[Any, ...]]) -> Hashable:
        """A key of packets: the order on different links has no effect."""
        if self._in_order:
            return tuple(sorted(packets, key=lambda packet: packet[:2]))
        return frozenset(Counter(packets).items())


def renamings(names: Sequence[str]) -> Iterator[Names]:
    """New names for messages of these names, which are sorted."""
    if len(names) > 1:
        yield dict(zip(names, reversed(names), strict=True))
    yield {name: f"{name.rpartition('#')[0] or 'm'}#{STEP * k % NUMBERS}" for k, name in enumerate(names, 1)}


def renamed(value: Any, names: Names, *, in_texts: bool) -> Any:
    """A value with other names of messages, also where they are kept as texts if `in_texts`; or an answer.

    Raises `NotRebuilt` if it has a part that cannot be built from others.
    """
    if isinstance(value, Message):
        return value._replace(name=names.get(value.name, value.name))
    if type(value) is str and in_texts:
        return _renamed_within(value, names)
    if isinstance(value, Packet | AppEvent):
        parts = {name: renamed(part, names, in_texts=in_texts) for name, part in value._asdict().items()}
        is_name = value.kind in names and not FREE.fullmatch(value.kind)  # a kind that happens to be the same word
        return type(value)(**{**parts, **({"kind": value.kind} if is_name else {})})
    if _has_no_parts(value):
        return value
    structure = _structure_of(value)
    return structure.rebuilt(value, [renamed(part, names, in_texts=in_texts) for part in structure.parts(value)])


def _renamed_within(text: str, names: Names) -> str:
    """A text with other names within it."""
    return _words(tuple(names)).sub(lambda name: names[name[0]], text)


@lru_cache
def _words(names: Sequence[str]) -> re.Pattern[str]:
    """Any of these names as a word."""
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")


def _names_in(value: Any) -> Iterator[str]:
    """The names of messages in a value, and those of the free workload in its texts."""
    if isinstance(value, Message):
        yield value.name
    elif type(value) is str:
        yield from FREE.findall(value)
    elif not _has_no_parts(value):
        for part in _structure_of(value).parts(value):
            yield from _names_in(part)


def _difference(expected: Any, given: Any) -> tuple[str, str]:
    """The first parts in which two answers differ, in words."""
    while type(expected) is type(given) and not _has_no_parts(expected) and not isinstance(expected, Message):
        parts = [_structure_of(value).parts(value) for value in (expected, given)]
        differing = [pair for pair in zip(*parts, strict=False) if pair[0] != pair[1]]
        if not differing or len(parts[0]) != len(parts[1]) or isinstance(expected, frozenset):
            break
        expected, given = differing[0]
    return shown(expected), shown(given)


def _has_no_parts(value: Any) -> bool:
    return type(value) in PLAIN or isinstance(value, bool | float | Enum)


def _structure_of(value: Any) -> Structure:
    """The structure of a value, or of a list or dictionary, which only arguments and answers have."""
    if isinstance(value, list):
        return LIST
    return MAPPING if isinstance(value, dict) else structure_of(value)


def _truth_of(function: Callable[..., Any]) -> Callable[..., bool]:
    """The guard, whose answer may be anything with a truth value."""
    return lambda *arguments: bool(function(*arguments))


def _is_steps(answer: Any) -> bool:
    """True if an answer lists steps, or pairs of a name and a step."""
    return isinstance(answer, list | tuple) and all(
        isinstance(one, Step) or (isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], Step))
        for one in answer
    )


def _is_sampled(count: Counter[Any], sort: Hashable, first: int) -> bool:
    """Counts one more of this sort; true of the first, and then of one in `EVERY`."""
    count[sort] += 1
    return count[sort] <= first or not count[sort] % EVERY


def _names_in_words(names: Names) -> str:
    """New names, in words: ``with a and b exchanged``."""
    changed = {old: new for old, new in names.items() if old != new}
    if len(changed) == 2 and set(changed) == set(changed.values()):
        return f"with {' and '.join(changed)} exchanged"
    some = [f"{old} called {new}" for old, new in changed.items()]
    return f"with {', '.join(some[:LISTED])}{', …' if len(some) > LISTED else ''}"


def _in_words(answer: Any) -> str:
    """The events and packets of an answer, or the exception, in words."""
    if isinstance(answer, BaseException):
        return shown_error(answer)
    if not _is_steps(answer):
        return shown(answer)
    return shown(" or ".join(map(_step_in_words, answer)) or "no step", str)


def _step_in_words(step: Any) -> str:
    if not isinstance(step, Step):
        return f"'{step[0]}': {_step_in_words(step[1])}" if isinstance(step, tuple) and len(step) == 2 else shown(step)
    deeds = [f"{event.kind} {event.message.name}" for event in step.events]
    for packet in step.packets:
        carried = f" of {packet.message.name}" if isinstance(packet.message, Message) else ""
        deeds.append(f"packet '{packet.kind}'{carried} to P{packet.destination + 1}")
    return f"a step with {', '.join(deeds) or 'no event'}"
