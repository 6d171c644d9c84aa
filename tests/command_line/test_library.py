"""The bundled figures, programs and log: each is read, and is what its comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line_runner import Crownless
from replay import computation_of, computations, endings, figure, script

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.workloads import Program
from crownless.oracle.log_orders.classification import classify
from crownless.oracle.logs.reader import subjects
from crownless.runtime.errors import BadInput
from crownless.spec import library
from crownless.spec.computation import Computation
from crownless.spec.crowns import crowns, smallest_crown
from crownless.spec.notation import ReceiveStatement, SendStatement, parse, to_computation
from crownless.spec.orders import synchronous

#: Each computation, with the strongest order that it keeps.
STRONGEST = {
    "kuper-alice-bob-carol": "fifo",
    "kuper-alice-bob-carol-causal": "synchronous",
    "mf-fig3": "n-n",
    "mf-fig4": "fifo",
    "mf-fig5": "synchronous",
    "mf-fig6": "synchronous",
    # The get events of the buffers are in one order that both sends and receives follow; in Fig. 8 it is a cycle.
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


def always_ends(kind: type[ProtocolMachine], program: str) -> bool:
    ends = list(endings(kind, Program(script(program))))
    return bool(ends) and all(ending.finished for ending in ends)


def named(c: Computation, messages: tuple[int, ...]) -> list[str]:
    return [c.messages[m].name for m in messages]


def send(c: Computation, message: str) -> int:
    """The event SEND(message)."""
    return c.send_event[[known.name for known in c.messages].index(message)]


def receive(c: Computation, message: str, process: str) -> int:
    (m,) = (m for m, known in enumerate(c.messages) if known.name == message)
    return c.receive_events[m][c.processes.index(process)]


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
    assert script(name).names_receives
    assert computation(name).complete


@pytest.mark.parametrize(("name", "processes"), PROGRAMS.items())
def test_a_program_has_its_processes_and_is_no_computation(name: str, processes: str) -> None:
    assert script(name).processes == tuple(processes.split())
    assert not script(name).names_receives
    for parts in script(name).statements:
        assert all(part.message is None for part in parts if isinstance(part, ReceiveStatement))


@pytest.mark.parametrize(("name", "order"), STRONGEST.items())
def test_the_oracle_names_the_strongest_order_that_each_figure_keeps(name: str, order: str) -> None:
    (subject,) = subjects(name)
    assert classify(subject).strongest == [order]


@pytest.mark.parametrize(
    ("figure", "program"),
    [
        ("mf-fig4", "mf-program-1"),
        ("mf-fig5", "mf-program-1"),
        ("mf-fig7", "mf-program-2"),
        ("mf-fig8", "mf-program-2"),
        ("mf-fig3", "mf-fig1"),
        ("ses-fig1", "ses-program-1"),
        ("kuper-alice-bob-carol", "kuper-program"),
    ],
)
def test_a_figure_has_the_sends_of_its_program_and_as_many_receives(figure: str, program: str) -> None:
    assert sends(figure) == sends(program)
    kinds = [
        [[type(part) for part in parts if isinstance(part, SendStatement | ReceiveStatement)] for parts in whole]
        for whole in (script(figure).statements, script(program).statements)
    ]
    assert kinds[0] == kinds[1]


def test_figure_7_receives_messages_as_they_were_inserted_and_figure_8_the_other_way_round() -> None:
    assert receives("mf-fig7") == {"P1": "ab", "P2": "ef", "P3": "cd"}
    assert receives("mf-fig8") == {"P1": "ba", "P2": "fe", "P3": "dc"}


@pytest.mark.parametrize(
    ("name", "other", "theirs", "ours"),
    [
        ("kuper-alice-bob-carol", "mf-fig4", "Alice Bob Carol m1 m2 m3", "P1 P2 P3 x y z"),
        ("kuper-alice-bob-carol-causal", "mf-fig5", "Alice Bob Carol m1 m2 m3", "P1 P2 P3 x y z"),
        ("kuper-program", "mf-program-1", "Alice Bob Carol m1 m2 m3", "P1 P2 P3 x y z"),
        ("ses-fig1", "mf-fig4", "S1 S2 S3 M1 Mx M2", "P1 P2 P3 x y z"),
        ("ses-program-1", "mf-program-1", "S1 S2 S3 M1 Mx M2", "P1 P2 P3 x y z"),
        ("mf-fig6", "mf-fig5", "", ""),
        ("mf-fig3", "mg-fig4a", "x y", "m1 m2"),
    ],
)
def test_texts_describe_the_same_under_other_names(name: str, other: str, theirs: str, ours: str) -> None:
    names = dict(zip(theirs.split(), ours.split(), strict=True))
    text = re.sub(r"[\w-]+", lambda word: names.get(word[0], word[0]), statements(name))
    assert script(other).processes == parse(text).processes
    assert computation_of(parse(text)) == figure(other)


# -- programs and what they do -----------------------------------------------------------------------------------------


def test_figure_3_is_what_the_program_of_figure_1_does_and_all_it_can_do() -> None:
    assert computations(Unordered, "mf-fig1") == computations(Buffer, "mf-fig1") == {figure("mf-fig3")}
    assert not synchronous(computation("mf-fig3")).kept


@pytest.mark.parametrize("name", ["fig7", "fig8"])
def test_selective_receives_enforce_the_figure(name: str) -> None:
    program = f"mf-program-2-{name}"
    assert sends(program) == sends("mf-program-2")
    assert computations(Unordered, program) == computations(Rst, program) == {figure(f"mf-{name}")}
    assert always_ends(Rst, program)


@pytest.mark.parametrize(
    ("program", "confused", "kept"),
    [
        ("ses-program-1", "ses-fig1", "S3: receive M1; receive M2"),
        ("kuper-program", "kuper-alice-bob-carol", "Carol: receive m1; receive m3"),
    ],
)
def test_a_program_may_break_causal_order_without_a_protocol_and_not_with_one(
    program: str, confused: str, kept: str
) -> None:
    ordered = computation_of(parse("\n".join([*statements(confused).splitlines()[:2], kept])))
    assert computations(Unordered, program) == {figure(confused), ordered}
    assert computations(Rst, program) == {ordered}


# -- what the papers say of figures ------------------------------------------------------------------------------------

#: Of sends, or of receives such as W1@S3: `<` happened before, `|` concurrent; `>` says to whom a message goes.
SAID = {
    "ses-fig2": "W1 < W2; W2 < W3; W3 < W4; W2 < token; token@S2 < W3; token > S2; W1 > S2,S3; W3 > S1,S3",
    "ses-fig2-two-tokens": "W1@S3 < X1@S3; X1@S4 < W1@S4; W1 | X1; W1 | X2; W2 | X1; W2 | X2",
    "ses-fig5": "M1 < M4; M4 < M6; M3 | M5; M1 > S3; M4 > S3; M6 > S3; M3 > S4; M5 > S4; M1@S3 < M4@S3; M4@S3 < M6@S3",
    "mg-fig4b": "m3 < m2@P3; m2 < m1@P2; m1 < m3@P4; m4@P4 < m3@P4; m1 | m2; m2 | m3; m3 | m1",
}


@pytest.mark.parametrize(
    ("name", "statement"), [(name, one) for name, said in SAID.items() for one in said.split("; ")]
)
def test_a_figure_fits_its_description(name: str, statement: str) -> None:
    c = computation(name)
    first, relation, second = statement.split()

    def event(named: str) -> int:
        message, _, process = named.partition("@")
        return receive(c, message, process) if process else send(c, message)

    if relation == ">":
        (to,) = (message.receivers for message in c.messages if message.name == first)
        assert [c.processes[q] for q in to] == second.split(",")
    elif relation == "<":
        assert c.happened_before(event(first), event(second))
    else:
        assert c.concurrent(event(first), event(second))


@pytest.mark.parametrize(
    ("name", "messages"),
    [("ses-fig2", "W1 W2 W3 W4"), ("ses-fig2-two-tokens", "W1 W2"), ("ses-fig2-two-tokens", "X1 X2")],
)
def test_every_process_has_the_writes_in_one_order(name: str, messages: str) -> None:
    c, writes = computation(name), messages.split()
    for events in c.lines:
        seen = [c.messages[event.message].name for event in events if event.message is not None]
        assert [name for name in seen if name in writes] == writes


# -- [MG] --------------------------------------------------------------------------------------------------------------


def test_figure_3_has_a_crown_of_size_2_that_is_not_strong_and_a_strong_one_of_size_3() -> None:
    two, three = computation("mg-fig3a"), computation("mg-fig3b")
    crown = smallest_crown(two)
    assert crown is not None
    assert named(two, crown.messages) == ["m0", "m1"]
    assert next(crowns(two, strong=True), None) is None
    assert [named(three, crown.messages) for crown in crowns(three)] == [["m0", "m1", "m2"]]
    assert [named(three, crown.messages) for crown in crowns(three, strong=True)] == [["m0", "m1", "m2"]]


def test_figure_4b_has_one_crown_of_three_messages_by_way_of_the_fourth() -> None:
    c = computation("mg-fig4b")
    smallest = smallest_crown(c)
    assert smallest is not None
    assert set(named(c, smallest.messages)) == {"m1", "m2", "m3"}
    assert next(crowns(c, strong=True), None) is None


def test_the_event_log_is_the_violating_run() -> None:
    (logged,) = subjects("kuper-alice-bob-carol.jsonl")
    assert logged.computation == computation("kuper-alice-bob-carol")


def test_a_file_of_the_user_comes_before_what_is_bundled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crownless: Crownless
) -> None:
    monkeypatch.chdir(tmp_path)
    assert library.located("mf-fig10") is None
    assert library.located("rewinding") == library.path("rewinding")
    assert library.located("kuper-alice-bob-carol.jsonl") == library.path("kuper-alice-bob-carol", ".jsonl")
    for name in ("mf-fig8", "counterexample-mg17", "rewinding"):
        Path(name).write_text("P1: send m to P2\nP2: receive m\n", "utf-8")
        assert library.located(name) == Path(name)
        assert crownless("show", name).out.split()[:2] == ["P1", "P2"]
