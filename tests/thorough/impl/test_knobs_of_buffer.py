"""The buffer protocol taken apart: as published it is the bundled one, and single changes are right or wrong."""

from __future__ import annotations

import pytest
from replay import check, violations

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.buffer_pipelined import BufferPipelined
from crownless.research.knobs.combinations import combination_named, combinations, knobs_of, size
from crownless.research.knobs.knobs_of_buffer import BufferByKnobs

PIPELINED = "with none outstanding from another receiver"


def taking(**choices: str) -> type[ProtocolMachine]:
    """The combination with these alternatives, the others as published; `choices`: by method."""
    name = ", ".join(f"{method}: {alternative}" for method, alternative in choices.items())
    return combination_named(BufferByKnobs, name).protocol


def test_as_published_it_has_the_states_and_the_verdicts_of_the_bundled_protocol() -> None:
    published = next(combinations(BufferByKnobs))
    assert published.name == "as published"
    one, other = check(published.protocol, 3, 3), check(Buffer, 3, 3)
    assert one.verdict == other.verdict == "holds"
    assert one.exploration.states == other.exploration.states


def test_footnote_4_is_one_change() -> None:
    one = check(taking(next_may_go=PIPELINED), 3, 3, channel="fifo")
    other = check(BufferPipelined, 3, 3, channel="fifo")
    assert one.verdict == other.verdict == "holds"
    assert one.exploration.states == other.exploration.states


def test_there_are_as_many_combinations_as_documented() -> None:
    assert size(knobs_of(BufferByKnobs)) == 2_400


WRONG = [
    # [MF] §3.1 by the letter: a message handed to an empty output buffer is transmitted immediately, also while an
    # acknowledgement is outstanding.
    ({"sent_message_is": "posted at once if the output buffer is empty"}, "unordered", "fifo", (2, 2), 4),
    ({"sent_message_is": "posted at once if the output buffer is empty"}, "fifo", "causal", (3, 3), 7),
    ({"next_out": "the oldest to any receiver"}, "unordered", "causal", (3, 3), 9),
    ({"next_may_go": "with none outstanding from its receiver"}, "unordered", "causal", (3, 3), 10),
    ({"next_may_go": PIPELINED}, "unordered", "fifo", (2, 2), 6),
    ({"next_may_go": "always"}, "fifo", "causal", (3, 3), 10),
    ({"next_delivered": "the oldest of any sender"}, "unordered", "causal", (3, 3), 12),
    ({"acknowledged_on": "request of the sender"}, "unordered", "fifo", (2, 2), 9),
    ({"acknowledged_on": "nothing"}, "unordered", "delivers-all", (2, 2), 5),
    # Several acknowledgements outstanding need a count, not a flag; three messages do not show it.
    ({"next_may_go": PIPELINED, "acknowledgement_ends": "all waits"}, "fifo", "causal", (3, 4), 15),
]


@pytest.mark.parametrize(("choices", "channel", "property_", "bound", "actions"), WRONG)
def test_a_wrong_change_has_a_shortest_run(
    choices: dict[str, str], channel: str, property_: str, bound: tuple[int, int], actions: int
) -> None:
    result = check(taking(**choices), *bound, channel=channel)
    assert violations(result)[property_] == actions


RIGHT = [
    ({"sent_message_is": "posted at once if the output buffer is empty and it may go"}, "unordered"),
    ({"sent_message_is": "posted at once, and the process sends no more until any message may go"}, "unordered"),
    # Once messages are acknowledged on delivery, the input buffer need not be a queue.
    ({"acknowledged_on": "delivery", "next_delivered": "the oldest of any sender"}, "unordered"),
    ({"acknowledged_on": "delivery", "next_delivered": "the newest"}, "unordered"),
    # A flag is enough if the sender asks once before it turns to another receiver.
    (
        {
            "acknowledged_on": "request of the sender",
            "next_may_go": PIPELINED,
            "acknowledgement_ends": "all waits",
        },
        "fifo",
    ),
]


@pytest.mark.parametrize(("choices", "channel"), RIGHT)
def test_a_right_change_keeps_causal_order(choices: dict[str, str], channel: str) -> None:
    assert check(taking(**choices), 3, 3, channel=channel).verdict == "holds"
