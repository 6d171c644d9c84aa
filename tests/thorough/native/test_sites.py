"""Sites: packets that arrivals put on the channel, and the listing of moves, in whatever order it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from asymmetric_machines import ASYMMETRIC
from native_engine_setup import Question, question, reported

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.model_check.native import kernels, sites
from crownless.model_check.native.checkpoints import checkpoint_in
from crownless.runtime.ending import Limits


class Chatting(ProtocolMachine):
    """Delivers messages as they come; some arrivals are answered by notes, to anybody, at most two after each other."""

    promises = "asynchronous"
    seed = 0

    def initial(self, i: int) -> int:
        return 0

    def send(self, i: int, state: int, message: Any) -> Sequence[Step]:
        return [Step(state, [Packet(i, message.receiver, "message", message, 2)], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: int, packet: Packet) -> Sequence[Step]:
        chance = Random(repr((self.seed, i, state, packet.source, packet.kind, packet.stamp)))
        notes = [chance.randrange(self.n) for _ in range(chance.choice((0, 1, 1, 2)))] if packet.stamp else []
        events = [AppEvent("deliver", packet.message)] if packet.message else []
        return [Step(chance.randrange(2), [Packet(i, j, "note", None, packet.stamp - 1) for j in notes], events)]


class Forwarding(ProtocolMachine):
    """P1 sends to P2 until it gets a message of P3, which it then reports to P2."""

    promises = "asynchronous"

    def initial(self, i: int) -> bool:
        return False

    def send(self, i: int, state: bool, message: Any) -> Sequence[Step]:
        if state or (i, message.receiver) not in {(0, 1), (2, 0)}:
            return []
        return [Step(state, [Packet(i, message.receiver, "message", message)], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: bool, packet: Packet) -> Sequence[Step]:
        if packet.message is None:
            return [Step(True)]
        notes = [Packet(0, 1, "note", None)] if i == 0 and not state else []
        return [Step(state or i == 0, notes, [AppEvent("deliver", packet.message)])]


def test_a_packet_in_the_place_of_one_whose_arrival_sleeps_does_not_sleep() -> None:
    both = question(Forwarding, 3, 5)
    assert reported(both.native()) == reported(both.plain())


@pytest.mark.parametrize("seed", range(20))
def test_what_arrivals_put_on_the_channel_arrives(seed: int) -> None:
    both = question(type(f"Chatting{seed}", (Chatting,), {"seed": seed}), 3, 2)
    assert reported(both.native(1 + seed % 2)) == reported(both.plain())


def asks(site: int, *, with_sends: bool) -> Any:
    return np.array([kernels.MISS_MOVES << 62 | site << 32 | with_sends], np.uint64)


def test_the_moves_of_a_site_stay_listed_with_its_sends() -> None:
    tables = question("rst", 3, 3).search().tables
    (site, *_) = tables.initial_sites
    tables.fill(asks(site, with_sends=True))
    tables.fill(asks(site, with_sends=False))
    assert tables.arrays().sites[site, kernels.SENDS] == 2


@pytest.mark.parametrize("order", [(False, True), (True, False), (True, True)])
def test_tables_do_not_depend_on_when_they_were_read(order: tuple[bool, ...]) -> None:
    """A resumed search computes its entries anew, and reads them only then."""

    def filled(*, reads: bool) -> list[int]:
        tables = question("murty-garg", 3, 3).search().tables
        for with_sends in order:
            tables.fill(asks(tables.initial_sites[0], with_sends=with_sends))
            if reads:
                tables.arrays()
        return [*tables.sizes(), len(tables.sites._moves)]

    assert filled(reads=True) == filled(reads=False)


def stopped_and_resumed(both: Question, directory: Any, stop: int, *, symmetry: bool) -> dict[str, Any]:
    with checkpoint_in(directory, {}, resume=False) as saving:
        assert both.native(2, symmetry=symmetry, limits=Limits(states=stop), checkpoint=saving).stopped
    with checkpoint_in(directory, {}, resume=True) as saving:
        return reported(both.search(1, symmetry=symmetry).explore(checkpoint=saving))


@pytest.mark.parametrize("stop", [100, 500, 1500, 2400])
def test_a_resumed_search_lists_the_same_moves(stop: int, tmp_path: Any) -> None:
    both = question("murty-garg", 3, 3)
    with patch.object(sites, "BATCH", 2):
        assert stopped_and_resumed(both, tmp_path / "saved", stop, symmetry=False) == reported(both.plain())


@pytest.mark.parametrize("name", ["the-last-accepts-all", "one-message-of-the-second-is-let-through"])
def test_a_resumed_search_of_processes_falsely_declared_alike_loses_nothing(name: str, tmp_path: Any) -> None:
    machine, m = ASYMMETRIC[name]
    both = question(machine, 3, m)
    expected = reported(both.plain())
    for stop in (expected["states"] // 4, expected["states"] // 2):
        assert stopped_and_resumed(both, tmp_path / str(stop), stop, symmetry=True) == expected


def test_two_processes_with_symmetry_may_have_many_sites() -> None:
    """They have one renaming that leaves process 0 in place, which does nothing."""
    both = question("rst", 2, 9)
    found = both.native(symmetry=True)
    assert (found.states, both.native().states) == (4624, 9217)


def test_a_search_ends_where_there_are_more_sites_than_fit_into_a_key() -> None:
    with patch.object(kernels, "MAX_NUMBERS", 100):
        found = question("rst", 3, 4).native()
    assert str(found.stopped).endswith("sites or monitor states, which is the limit of the native engine")
    assert 0 < found.states < 7_370


@pytest.mark.slow
def test_seven_processes_have_more_renamings_than_fit_into_a_byte() -> None:
    both = question("unordered", 7, 1)
    found = both.native(symmetry=True)
    assert (found.states, found.violated) == (3, both.native().violated)
