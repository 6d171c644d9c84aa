"""The bundled figures, programs and log: each is read, and is what its comments say."""

from __future__ import annotations

import json

import pytest

from crownless.spec import library
from crownless.spec.computation import Computation
from crownless.spec.crowns import crowns
from crownless.spec.errors import BadInput
from crownless.spec.notation import ReceiveStatement, Script, SendStatement, load, to_computation
from crownless.spec.orders import causal, n_n, synchronous

PROGRAMS = ("mf-program-1", "mf-program-1-selective", "mf-program-2", "mf-program-3")
COMPUTATIONS = tuple(name for name in library.names() if name not in PROGRAMS)


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


def test_the_library_holds_the_papers_figures_and_programs() -> None:
    assert library.names() == (
        "kuper-alice-bob-carol",
        "kuper-alice-bob-carol-causal",
        "mf-fig4",
        "mf-fig5",
        "mf-fig7",
        "mf-fig8",
        "mf-program-1",
        "mf-program-1-selective",
        "mf-program-2",
        "mf-program-3",
        "mg-fig4a",
    )
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
    comments = text[: text.index("\nP1:" if "\nP1:" in text else "\nAlice:")]
    assert all(line.startswith("# ") for line in comments.splitlines())
    assert any(
        source in comments for source in ("[MF] §4", "[MG] §3", "[Kup]", "[MF] (§4.2)", "[MF] (the end of §4.2)")
    )
    assert "ecovered" in comments or "printed anew" in comments
    assert script(name).print() == text


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_every_figure_is_a_complete_computation(name: str) -> None:
    assert script(name).is_computation
    assert computation(name).complete


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_program_is_a_computation(name: str) -> None:
    assert not script(name).is_computation


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
