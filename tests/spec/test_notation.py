"""The papers' notation: what it accepts and prints back, what it refuses and in which words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.notation import (
    KEYWORDS,
    Activity,
    ReceiveStatement,
    Script,
    SendStatement,
    of_computation,
    parse,
    to_computation,
)
from crownless.testing import strategies

#: [MF] §4.1; the receives of P3 are selective.
PROGRAM = """\
P1: send x to P3; ... send y to P2; ...
P2: receive; ... send z to P3; ...
P3: receive from P2; ... receive from P1;..."""


# -- what it accepts ---------------------------------------------------------------------------------------------------


def test_a_program_is_read_and_printed_back_unchanged() -> None:
    script = parse(PROGRAM)
    assert script.processes == ("P1", "P2", "P3")
    assert script.statements == (
        (SendStatement("x", ("P3",)), Activity(), SendStatement("y", ("P2",)), Activity()),
        (ReceiveStatement(), Activity(), SendStatement("z", ("P3",)), Activity()),
        (ReceiveStatement(sender="P2"), Activity(), ReceiveStatement(sender="P1"), Activity()),
    )
    assert script.print() == PROGRAM
    assert not script.names_receives


def test_a_message_may_have_several_receivers_and_the_sender_may_be_among_them() -> None:
    script = parse("P1: send x to P2, P1; receive x\nP2: receive x from P1")
    assert script.statements[0] == (SendStatement("x", ("P2", "P1")), ReceiveStatement("x"))
    assert to_computation(script).messages == (Message("x", 0, (0, 1)),)


def test_names_may_have_letters_digits_underscores_hyphens_and_dots() -> None:
    script = parse("Zoë-1: send m_1.a to b.2;...receive\nb.2: receive m_1.a;...")
    assert script.processes == ("Zoë-1", "b.2")
    assert script.statements[0] == (SendStatement("m_1.a", ("b.2",)), Activity(), ReceiveStatement())
    assert script.statements[1] == (ReceiveStatement("m_1.a"), Activity())


def test_white_space_is_free_and_printed_as_single_spaces() -> None:
    text = "  P1 :send\tx  to P2,P3 ;receive   from P2  # so\r\nP2:receive;send y to P1;\r\nP3 :"
    assert parse(text).print() == "P1: send x to P2, P3;receive from P2 # so\nP2: receive;send y to P1;\nP3:"


# -- what it refuses ---------------------------------------------------------------------------------------------------

REFUSALS = {
    "send x to P2": "1:1: expected a process name, found the keyword 'send'; "
    "a line is for one process: 'P1: send x to P2; receive'",
    "P1 receive": "1:4: expected ':' after 'P1', found the keyword 'receive'; write 'P1:' and then its statements",
    "P1: recieve": "1:5: expected 'send', 'receive' or '...', found 'recieve'; did you mean 'receive'?",
    "P1: →": "1:5: expected 'send', 'receive' or '...', found '→'; write 'send x to P2', 'receive' or '...'",
    "P1: send to P2": "1:10: expected a message name, found the keyword 'to'; write 'send x to P2'",
    "P1: send x": "1:11: x has no receiver; name a receiver: 'send x to P2'",
    "P1: send x to ;": "1:15: x has no receiver; name a receiver: 'send x to P2'",
    "P1: send y P2": "1:12: expected 'to' after 'send y', found 'P2'; write 'send y to P2'",
    "P1: send y to P2,": "1:18: expected a process name after ',', found the end of the line; write 'send y to P2, P3'",
    "P1: send y to P2 P3": "1:18: expected ';' or the end of the line, found 'P3'; "
    "put ';' between statements, and ',' between receivers",
    "P1: receive x from; receive": "1:19: expected a process name after 'from', found ';'; write 'receive from P1'",
    "Alice: send x to Bop\nBob: receive": "1:8: unknown process 'Bop'; did you mean 'Bob'? known: Alice, Bob; "
    "a process that does nothing has a line, too: 'Bop:'",
    "P1: receive\n\n P1: receive": "3:2: P1 has two lines; line 1 is the first: join them",
    "P1: send x to P2\nP2: ...; send x to P1": "2:10: x is sent twice; the first is in line 1: "
    "give each message its own name",
    "P1: send x to P2, P2\nP2:": "1:5: 'send x to P2, P2' names P2 twice; name each receiver once",
    "P1: send x to P2\nP2: receive x; receive x from P1": "2:16: P2 receives x twice; drop one of the two receives",
    "P1: receive\nP2: receive x": "2:5: P2 receives x, which is never sent; "
    "add 'send x to P2' to its sender's line, or drop this receive",
    "P1: receive x\nP2: send x to P3, P2\nP3:": "1:5: P1 receives x, which is not sent to it; "
    "line 2 says 'send x to P3, P2'",
    "P1: send x to P2\nP2: receive x from P3\nP3:": "2:5: P2 receives x from P3, but P1 sends it; "
    "write 'receive x from P1'",
    **dict.fromkeys(
        ["", "\n\n", "# P1: receive"], "the text names no process; write one line a process: 'P1: send x to P2'"
    ),
}


@pytest.mark.parametrize("text", REFUSALS)
def test_what_is_refused_is_reported_with_line_column_and_hint(text: str) -> None:
    assert refusal(text) == REFUSALS[text]


def test_an_error_begins_with_the_file() -> None:
    with pytest.raises(BadInput) as caught:
        parse("P1: receive\nP2: receive x", "figure.txt")
    assert str(caught.value).startswith("figure.txt:2:5: P2 receives x")


@given(st.text(alphabet=st.sampled_from(" \nPx12:;,.#…@sendtorcivfm"), max_size=60) | st.text())
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        script = parse(text)
    except BadInput as error:
        refused = error
    else:
        assert parse(script.print()) == script
        return
    assert len(str(refused).splitlines()) == 1
    assert refused.hint


# -- computations ------------------------------------------------------------------------------------------------------


def test_a_text_whose_receives_name_their_messages_is_a_computation() -> None:
    script = parse("P1: send x to P3; ... send y to P2, P3\nP2: receive y from P1\nP3: receive y; receive x")
    assert script.names_receives
    assert to_computation(script) == Computation(
        ("P1", "P2", "P3"),
        (Message("x", 0, (2,)), Message("y", 0, (1, 2))),
        (
            (Event("send", 0), Event("internal", None), Event("send", 1)),
            (Event("receive", 1),),
            (Event("receive", 1), Event("receive", 0)),
        ),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "P1: send x to P2\nP2: ... receive from P1",
            "2:9: P2 does not say which message it receives; name the message: 'receive x'",
        ),
        (
            "P1: ...; send z to P3; receive x; send y to P2\nP2: receive y; ...; send x to P1\nP3: receive z",
            (
                "1:24: the computation is cyclic: "
                "P1 receives x → P1 sends y → P2 receives y → P2 sends x → P1 receives x; "
                "no message can be received before it is sent"
            ),
        ),
    ],
)
def test_a_program_is_no_computation_and_says_why(text: str, words: str) -> None:
    assert refusal(parse(text)) == words


def test_a_computation_is_printed_in_the_papers_style() -> None:
    text = "P1: send x to P3; ... send y to P2, P3; ...\nP2: receive y\nP3:"
    assert of_computation(to_computation(parse(text))).print() == text


@pytest.mark.parametrize("name", ["", "two words", "send", "m'", "a...b", "-x", "x.", "x\n", "#"])
def test_a_name_that_the_notation_cannot_write_is_refused(name: str) -> None:
    hint = "a name is letters, digits, '_', '-' and '.', and none of send, to, receive, from"
    for c in (Computation((name,), (), ((),)), Computation(("P1",), (Message(name, 0, (0,)),), ((Event("send", 0),),))):
        with pytest.raises(BadInput) as caught:
            of_computation(c)
        assert str(caught.value) == f"the notation cannot write the name {name!r}; {hint}"


# -- the round trip ----------------------------------------------------------------------------------------------------

NAMES = st.from_regex(r"[^\W_](?:[\w-]|\.(?=\w)){0,4}", fullmatch=True).filter(lambda name: name not in KEYWORDS)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A text written with single spaces, comments, blank lines, and `;` wherever it may be or may be left out."""
    processes = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    lines: dict[str, list[str]] = {process: [] for process in processes}
    for message in draw(st.lists(NAMES, max_size=4, unique=True)):
        sender = draw(st.sampled_from(processes))
        receivers = draw(st.lists(st.sampled_from(processes), min_size=1, unique=True))
        lines[sender].append(f"send {message} to {', '.join(receivers)}")
        for receiver in receivers:
            what, whose = draw(st.sampled_from(["", f" {message}"])), draw(st.sampled_from(["", f" from {sender}"]))
            lines[receiver].append(f"receive{what}{whose}")
    printed = []
    for process, line in lines.items():
        statements = draw(st.permutations([*line, *draw(st.lists(st.sampled_from(["...", "…"]), max_size=3))]))
        body = ""
        for k, statement in enumerate(statements):
            is_last = k == len(statements) - 1
            semicolons = ["", ";"] if statement in ("...", "…") or is_last else [";"]
            body += (
                statement + draw(st.sampled_from(semicolons)) + draw(st.sampled_from([""] if is_last else ["", " "]))
            )
        printed += [draw(COMMENTS), " ".join(part for part in (f"{process}:", body, draw(COMMENTS)) if part)]
    return "\n".join(printed)


COMMENTS = st.just("") | st.text(st.characters(exclude_characters="\n"), max_size=8).map(lambda it: f"#{it}".rstrip())


@given(texts())
def test_a_text_is_printed_back_unchanged_and_says_the_same_when_spaces_are_added(text: str) -> None:
    assert parse(text).print() == text
    lines = [line.partition("#") for line in text.split("\n")]
    spaced = "\n".join(code.replace(" ", " \t ") + mark + comment for code, mark, comment in lines)
    assert parse(spaced) == parse(text)


@st.composite
def computations(draw: st.DrawFn) -> Computation:
    """A computation with names of its own."""
    c = draw(strategies.computations(processes=(1, 4), messages=4, receivers=4, self_sends=True, internal=True))
    processes, names = (
        draw(st.lists(NAMES, min_size=size, max_size=size, unique=True)) for size in (len(c.processes), len(c.messages))
    )
    messages = tuple(message._replace(name=name) for message, name in zip(c.messages, names, strict=True))
    return Computation(tuple(processes), messages, c.lines)


@given(computations())
def test_every_computation_is_printed_and_read_back(c: Computation) -> None:
    script = of_computation(c)
    again = to_computation(parse(script.print()))
    assert again.processes == c.processes
    assert sorted(again.messages) == sorted(c.messages)
    assert [again.say(e) for e in range(again.event_count)] == [c.say(e) for e in range(c.event_count)]
    assert of_computation(again) == script


def refusal(text_or_script: str | Script) -> str:
    """The words in which a text is refused, or a script as a computation."""
    with pytest.raises(BadInput) as caught:
        to_computation(text_or_script) if isinstance(text_or_script, Script) else parse(text_or_script)
    return str(caught.value)
