"""The bundled figures, programs and log: each is read, and is what its comments say."""

from __future__ import annotations

import json
import re

import pytest
from replay import Lines, computation_of, endings

from crownless.impl.buffer import Buffer
from crownless.impl.buffer_bounded import BufferBounded
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.rst import Rst
from crownless.impl.unordered import Unordered
from crownless.impl.workloads import Program
from crownless.model_check.oracle import classify, of_computation
from crownless.spec import enumeration, library
from crownless.spec.computation import Computation
from crownless.spec.crowns import crowns, smallest_crown
from crownless.spec.errors import BadInput
from crownless.spec.notation import ReceiveStatement, Script, SendStatement, load, parse, to_computation
from crownless.spec.orders import causal, fifo, n_n, synchronous

#: Each computation, with the strongest order that it keeps.
STRONGEST = {
    "kuper-alice-bob-carol": "fifo",
    "kuper-alice-bob-carol-causal": "synchronous",
    "mf-fig3": "n-n",
    "mf-fig4": "fifo",
    "mf-fig5": "synchronous",
    "mf-fig6": "synchronous",
    "mf-fig7": "n-n",
    "mf-fig8": "causal",
    "mg-fig1": "synchronous",
    "mg-fig3a": "n-n",
    "mg-fig3b": "n-n",
    "mg-fig4a": "n-n",
    "mg-fig4b": "n-n",
    "ses-fig1": "fifo",
    "ses-fig2": "synchronous",
    "ses-fig2-two-tokens": "causal",
    "ses-fig3": "synchronous",
    "ses-fig5": "synchronous",
}
#: Each program, with its processes.
PROGRAMS = {
    "kuper-program": "Alice Bob Carol",
    "mf-fig1": "P1 P2",
    "mf-footnote-2": "P1 P2",
    "mf-program-1": "P1 P2 P3",
    "mf-program-1-selective": "P1 P2 P3",
    "mf-program-2": "P1 P2 P3",
    "mf-program-2-fig7": "P1 P2 P3",
    "mf-program-2-fig8": "P1 P2 P3",
    "mf-program-3": "P1 P2 P3",
    "ses-fig6": "S1 S2 S3",
    "ses-program-1": "S1 S2 S3",
}


def script(name: str) -> Script:
    return load(library.path(name))


def computation(name: str) -> Computation:
    return to_computation(script(name))


def receives(name: str) -> dict[str, str]:
    """For each process the messages that it receives, in order."""
    c = script(name)
    return {
        process: "".join(part.message or "?" for part in parts if isinstance(part, ReceiveStatement))
        for process, parts in zip(c.processes, c.statements, strict=True)
    }


def sends(name: str) -> list[list[SendStatement]]:
    return [[part for part in parts if isinstance(part, SendStatement)] for parts in script(name).statements]


def lines(name: str) -> Lines:
    return computation_of(script(name))


def runs(kind: type[ProtocolMachine], program: str) -> set[Lines]:
    """Every computation that the program can be when it has come to its end."""
    return {ending.computation for ending in endings(kind, Program(script(program))) if ending.finished}


def always_ends(kind: type[ProtocolMachine], program: str) -> bool:
    return all(ending.finished for ending in endings(kind, Program(script(program))))


def named(c: Computation, messages: tuple[int, ...]) -> list[str]:
    return [c.messages[m].name for m in messages]


def send(c: Computation, message: str) -> int:
    """The event SEND(message)."""
    return c.send_event[[known.name for known in c.messages].index(message)]


def receive(c: Computation, message: str, process: str) -> int:
    (m,) = (m for m, known in enumerate(c.messages) if known.name == message)
    return c.receive_events[m][c.processes.index(process)]


def vector_time(c: Computation, event: int) -> list[int]:
    """The time vector just after an event: of each process, its events so far as they are known there."""
    known = [e for e in range(c.event_count) if e == event or c.happened_before(e, event)]
    return [sum(c.process_of[e] == p for e in known) for p in range(len(c.processes))]


def lamport_time(c: Computation, event: int) -> int:
    """The Lamport time just after an event."""
    return 1 + max((lamport_time(c, e) for e in range(c.event_count) if c.happened_before(e, event)), default=0)


def renamed(text: str, theirs: str, ours: str) -> Lines:
    """The computation in a text, with other names: those in `theirs` become those in `ours`."""
    names = dict(zip(theirs.split(), ours.split(), strict=True))
    return computation_of(parse(re.sub(r"[\w-]+", lambda word: names.get(word[0], word[0]), text)))


def statements(name: str) -> str:
    """A bundled text without its comments."""
    return "\n".join(line for line in script(name).print().splitlines() if not line.startswith("#"))


def test_the_library_holds_the_papers_figures_and_programs() -> None:
    assert set(library.names()) == STRONGEST.keys() | PROGRAMS.keys()
    assert library.names(".jsonl") == ("kuper-alice-bob-carol",)


def test_an_unknown_figure_is_reported_with_the_nearest_name() -> None:
    with pytest.raises(BadInput) as caught:
        library.path("mf-fig9")
    assert str(caught.value) == (
        f"unknown figure 'mf-fig9'; did you mean 'mf-fig8'? known: {', '.join(library.names())}"
    )
    with pytest.raises(BadInput, match=r"unknown figure 'mf-fig4'; known: kuper-alice-bob-carol$"):
        library.path("mf-fig4", ".jsonl")


@pytest.mark.parametrize("name", library.names())
def test_every_file_opens_with_its_source_and_what_was_recovered_and_is_printed_back_unchanged(name: str) -> None:
    text = library.path(name).read_text(encoding="utf-8")
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert text.startswith("\n".join(comments) + "\n")
    assert all(re.match(r"# \S", line) for line in comments)
    source = {"mf": "[MF]", "ses": "[SES]", "mg": "[MG]", "kuper": "[Kup]"}[name.partition("-")[0]]
    assert source in comments[0]
    assert "§" in " ".join(comments) or source == "[Kup]"
    assert "ecovered" in " ".join(comments) or "printed anew" in " ".join(comments)
    assert script(name).print() == text


@pytest.mark.parametrize("name", STRONGEST)
def test_every_figure_is_a_complete_computation(name: str) -> None:
    assert script(name).is_computation
    assert computation(name).complete


@pytest.mark.parametrize(("name", "processes"), PROGRAMS.items())
def test_a_program_has_its_processes_and_is_no_computation(name: str, processes: str) -> None:
    assert script(name).processes == tuple(processes.split())
    assert not script(name).is_computation
    for parts in script(name).statements:
        assert all(part.message is None for part in parts if isinstance(part, ReceiveStatement))


@pytest.mark.parametrize(("name", "order"), STRONGEST.items())
def test_the_oracle_tells_of_each_figure_the_strongest_order_that_it_keeps(name: str, order: str) -> None:
    assert classify(of_computation(computation(name))).strongest() == [order]


@pytest.mark.parametrize(
    ("figure", "program"),
    [
        ("mf-fig4", "mf-program-1"),
        ("mf-fig5", "mf-program-1"),
        ("mf-fig7", "mf-program-2"),
        ("mf-fig8", "mf-program-2"),
    ],
)
def test_a_figure_has_the_sends_of_its_program_and_as_many_receives(figure: str, program: str) -> None:
    assert sends(figure) == sends(program)
    assert [len(r) for r in receives(figure).values()] == [len(r) for r in receives(program).values()]


def test_figure_4_is_not_causal_and_figure_5_is() -> None:
    assert not causal(computation("mf-fig4")).kept
    assert causal(computation("mf-fig5")).kept


def test_the_selective_program_asks_for_the_messages_as_figure_4_receives_them() -> None:
    senders = [
        part.sender for part in script("mf-program-1-selective").statements[2] if isinstance(part, ReceiveStatement)
    ]
    c = computation("mf-fig4")
    received = [c.messages[event.message].sender for event in c.lines[2] if event.message is not None]
    assert senders == [c.processes[p] for p in received]


def test_figures_7_and_8_are_causal_and_have_crowns() -> None:
    for name in ("mf-fig7", "mf-fig8"):
        assert causal(computation(name)).kept
        assert not synchronous(computation(name)).kept
        assert next(crowns(computation(name)), None) is not None


def test_figure_7_receives_messages_as_they_were_inserted_and_figure_8_the_other_way_round() -> None:
    assert receives("mf-fig7") == {"P1": "ab", "P2": "ef", "P3": "cd"}
    assert receives("mf-fig8") == {"P1": "ba", "P2": "fe", "P3": "dc"}


def test_figure_7_and_not_figure_8_fits_one_queue_for_all() -> None:
    # The get events of [MF]'s buffers are in one order that both sends and receives follow: in Fig. 8 it is a cycle.
    assert n_n(computation("mf-fig7")).kept
    assert not n_n(computation("mf-fig8")).kept


def test_murty_and_gargs_figure_4a_is_causal_and_the_smallest_crown() -> None:
    c = computation("mg-fig4a")
    assert causal(c).kept
    assert [crown.messages for crown in crowns(c)] == [(0, 1)]


@pytest.mark.parametrize(
    ("kuper", "figure"), [("kuper-alice-bob-carol", "mf-fig4"), ("kuper-alice-bob-carol-causal", "mf-fig5")]
)
def test_alice_bob_and_carol_run_the_first_program_of_mattern_and_fuenfrocken(kuper: str, figure: str) -> None:
    text = "\n".join(line for line in script(kuper).print().splitlines() if not line.startswith("#"))
    for theirs, ours in zip(
        ("Alice", "Bob", "Carol", "m1", "m2", "m3"), ("P1", "P2", "P3", "x", "y", "z"), strict=True
    ):
        text = text.replace(theirs, ours)
    assert script(figure).print().rstrip().endswith(text)


def test_the_event_log_is_the_violating_run() -> None:
    c = computation("kuper-alice-bob-carol")
    lines = library.path("kuper-alice-bob-carol", ".jsonl").read_text(encoding="utf-8").splitlines()
    expected = []
    for process, events in zip(c.processes, c.lines, strict=True):
        for index, event in enumerate(events):
            assert event.message is not None
            message = c.messages[event.message]
            peer = message.receiver if event.kind == "send" else message.sender
            expected.append(
                {
                    "run": "alice-bob-carol",
                    "process": process,
                    "index": index,
                    "kind": "send" if event.kind == "send" else "deliver",
                    "message": message.name,
                    "peer": c.processes[peer],
                }
            )
    assert [json.loads(line) for line in lines] == expected
    assert [list(json.loads(line)) for line in lines] == [list(record) for record in expected]
