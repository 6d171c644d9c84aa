"""Murty & Garg's algorithm taken apart: as published it is the bundled one, and changes are right or wrong."""

from __future__ import annotations

import pytest
from replay import check, violations

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.research.knobs.combinations import combination_named, combinations, knobs_of, size
from crownless.research.knobs.knobs_of_murty_garg import MurtyGargByKnobs


def taking(**choices: str) -> type[ProtocolMachine]:
    """The combination with these alternatives, the others as published; `choices`: by method."""
    name = ", ".join(f"{method}: {alternative}" for method, alternative in choices.items())
    return combination_named(MurtyGargByKnobs, name).protocol


def test_as_published_it_has_the_states_and_the_verdicts_of_the_bundled_protocol() -> None:
    published = next(combinations(MurtyGargByKnobs))
    assert published.name == "as published"
    one, other = check(published.protocol, 3, 3), check(MurtyGarg, 3, 3)
    assert one.verdict == other.verdict == "holds"
    assert one.exploration.states == other.exploration.states


def test_there_are_as_many_combinations_as_documented() -> None:
    assert size(knobs_of(MurtyGargByKnobs)) == 2_560


WRONG = [
    ({"must_request": "never"}, "unordered", (2, 2), 2),
    ({"must_request": "always"}, "unordered", (2, 2), 4),
    # A ring is no order of the processes.
    ({"must_request": "to the next in a ring"}, "unordered", (3, 3), 3),
    ({"may_be_sent": "while active, or to the process awaited"}, "unordered", (2, 2), 3),
    ({"may_be_sent": "while active, or if requested"}, "unordered", (2, 2), 4),
    ({"message_is": "acknowledged at once"}, "unordered", (3, 3), 6),
    ({"is_acknowledged": "only what was not requested"}, "unordered", (2, 2), 4),
    ({"is_acknowledged": "only what was not requested"}, "fifo", (3, 3), 5),
    ({"sender_commits_on": "acknowledgement"}, "unordered", (3, 3), 7),
    # Several acknowledgements outstanding need a count, not a flag; three messages do not show it.
    ({"may_be_sent": "while active, or to the process awaited"}, "fifo", (3, 4), 7),
]


@pytest.mark.parametrize(("choices", "channel", "bound", "actions"), WRONG)
def test_a_wrong_change_has_a_shortest_run(
    choices: dict[str, str], channel: str, bound: tuple[int, int], actions: int
) -> None:
    result = check(taking(**choices), *bound, channel=channel)
    assert violations(result)["synchronous"] == actions


RIGHT = [
    ({"must_request": "to a smaller process"}, "unordered"),
    ({"message_is": "received when active"}, "unordered"),
    # §4.1: a sender may commit at the acknowledgement, but only if it receives no message until then.
    ({"message_is": "received when active", "sender_commits_on": "acknowledgement"}, "unordered"),
    ({"message_is": "acknowledged when active and no message waits"}, "unordered"),
    ({"queued": "requests before own messages", "leaving": "messages, then acknowledgements"}, "unordered"),
    (
        {
            "may_be_sent": "while active, or to the process awaited",
            "acknowledgement_ends": "one wait for its process",
        },
        "fifo",
    ),
]


@pytest.mark.parametrize(("choices", "channel"), RIGHT)
def test_a_right_change_keeps_synchronous_order(choices: dict[str, str], channel: str) -> None:
    assert check(taking(**choices), 3, 3, channel=channel).verdict == "holds"
