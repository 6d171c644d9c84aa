"""The counts of explorations, pinned, and derived a second time from the texts alone.

The plain explorer runs the machines of `impl` in the system of `model_check`. `second_derivations` uses neither, and
must find the same counts, and the same lengths of the shortest runs that break FIFO or causal order, deliver twice, or
end with a message undelivered. The pass-through baseline has closed formulas besides.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import pytest
from pinned_counts import PINS, Counts, Pin
from second_derivations import TEXTS, Moves, search

from crownless.impl.registry import PROTOCOLS, protocol_named
from crownless.model_check.check.check import run_check
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.request import Check


def explored(pin: Pin) -> Exploration:
    check = Check(
        pin.protocol,
        pin.n,
        pin.m,
        channel=pin.channel,
        sends=pin.sends,
        parameters=pin.settings,
        crash=pin.crash,
        orders=("fifo", "causal") if protocol_named(pin.protocol).sends_before_delivery else (),
    )
    return run_check(check, engine="plain").exploration


def pins(slow_from: int) -> pytest.MarkDecorator:
    """The pins for pytest: slow where they say so, or from so many states on."""
    parameters = []
    for pin in PINS:
        settings = [f"{key}={value}".replace(" ", "") for key, value in pin.settings.items()]
        crash = [f"crash={pin.crash}"] if pin.crash else []
        name = [pin.protocol, pin.channel, str(pin.n), str(pin.m), *filter(None, [pin.sends]), *settings, *crash]
        slow = [pytest.mark.slow] if pin.slow or pin.counts.states >= slow_from else []
        parameters.append(pytest.param(pin, id="-".join(name), marks=slow))
    return pytest.mark.parametrize("pin", parameters)


@pins(slow_from=8_000)
def test_an_exploration_has_the_pinned_counts_and_shortest_violations(pin: Pin) -> None:
    found = explored(pin)
    assert found.stopped is None
    assert Counts(found.states, found.transitions, found.depth, found.terminal_states) == pin.counts
    assert found.violated == pin.violated


@pins(slow_from=4_000)
def test_the_second_derivations_have_the_pinned_counts_and_shortest_violations(pin: Pin) -> None:
    text = TEXTS[pin.protocol](pin.n, **pin.settings)
    crash = None if pin.crash is None else int(pin.crash[1:]) - 1
    sends = pin.sends or protocol_named(pin.protocol).sends
    found = search(Moves(text, pin.channel, pin.m, sends, crash))
    assert found.counts == pin.counts
    for name in text.judged:
        assert found.violated.get(name) == pin.violated.get(name), name


def test_every_protocol_is_counted_by_both_derivations() -> None:
    assert {pin.protocol for pin in PINS} == set(TEXTS) == set(PROTOCOLS)
    for pins in (
        [pin for pin in PINS if pin.channel == "unordered"],
        [pin for pin in PINS if pin.channel == protocol_named(pin.protocol).needs_channel],
    ):
        assert {pin.protocol for pin in pins} == set(PROTOCOLS)


# -- closed formulas for the pass-through baseline --------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize(
    ("channel", "states_of_k_messages"),
    [
        # Any subset of the messages sent is still in flight; a message lost or delivered is gone.
        ("unordered", lambda k, channels: 2**k * comb(k + channels - 1, channels - 1)),
        ("lossy", lambda k, channels: 2**k * comb(k + channels - 1, channels - 1)),
        # It is in flight, or doubled with two or one copy left, or gone.
        ("duplicating", lambda k, channels: 4**k * comb(k + channels - 1, channels - 1)),
        # Each channel has sent some and delivered some: 2 × channels piles that add up to k.
        ("fifo", lambda k, channels: comb(k + 2 * channels - 1, 2 * channels - 1)),
        # What is lost is lost at the head, as if it were delivered.
        ("lossy-fifo", lambda k, channels: comb(k + 2 * channels - 1, 2 * channels - 1)),
        # The head of j channels is doubled, with two or one copy left; what is behind it is as on any channel.
        (
            "lossy-duplicating-fifo",
            lambda k, channels: sum(
                2**j * comb(channels, j) * comb(k - j + 2 * channels - 1, 2 * channels - 1)
                for j in range(min(k, channels) + 1)
            ),
        ),
    ],
)
def test_the_states_of_no_protocol_are_those_of_its_channels(
    channel: str, states_of_k_messages: Callable[[int, int], int], n: int, m: int
) -> None:
    channels = n * (n - 1)
    found = explored(Pin("unordered", channel, n, m, Counts(0, 0, 0, 0), {}))
    assert found.states == sum(states_of_k_messages(k, channels) for k in range(m + 1))
    assert found.terminal_states == comb(m + channels - 1, channels - 1)
