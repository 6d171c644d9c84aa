"""What takes longer of the tests in `test_run_explorer_states.py`."""

from __future__ import annotations

import json
from random import Random

import pytest
from explorer_pages import CAUSAL, effect, space_of, violated_by

import crownless as cr
from crownless.impl import own_protocols
from crownless.impl.registry import PROTOCOLS
from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.conforming import conform
from crownless.oracle.conformance.in_process import InProcess
from crownless.run_explorer.subjects import of_nodes
from crownless.spec.orders import ORDERS


@pytest.mark.parametrize(("protocol", "m"), [("unordered", 2), ("rst-column", 3), ("fifo-sequence", 3), ("isis", 2)])
def test_a_shortest_path_that_breaks_a_property_is_as_long_as_the_engines_run(protocol: str, m: int) -> None:
    space = space_of(protocol, 3, m)
    data = space.as_data()
    result = cr.check(protocol, 3, m, orders=[name for name, _ in data["properties"] if name in ORDERS])
    depth = {0: 0}
    first: dict[str, int] = {}
    for node, flat in enumerate(data["moves"]):
        for k in range(0, len(flat), 3):
            _, after, violated = flat[k : k + 3]
            depth.setdefault(after, depth[node] + 1)
            for name in effect(data, violated):
                first.setdefault(name, depth[node] + 1)
    wanted = {name: len(line.run) for name, line in result.violations.items() if line.run is not None}
    assert first == wanted
    assert wanted or protocol == "rst"


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_every_protocol_has_a_page(protocol: str) -> None:
    space = space_of(protocol, 3, 2)
    data = space.as_data(400)
    json.dumps(data)
    assert len(data["moves"]) > 10
    assert all(after < len(data["moves"]) for flat in data["moves"] for after in flat[1::3])


@pytest.mark.parametrize(("name", "breaks"), [("BroadcastClocks", "delivers-all"), ("OwnColumn", "causal")])
def test_the_schedule_of_a_violation_is_where_the_page_of_its_nodes_begins(name: str, breaks: str) -> None:
    nodes = InProcess(own_protocols.load_node(f"{CAUSAL}:{name}"), 3)
    found = conform(nodes, Request(orders=(breaks,) if breaks in ORDERS else ()))
    schedule = found.schedule(breaks)
    assert schedule is not None
    explored = of_nodes(nodes, schedule.request, schedule)
    data = explored.space.as_data()
    assert breaks in violated_by(data, explored.start)
    right = of_nodes(InProcess(own_protocols.load_node(f"{CAUSAL}:Matrix"), 3), schedule.request, schedule)
    assert len(right.start) == len(schedule.steps)


@pytest.mark.parametrize("protocol", ["fifo-ack", "buffer", "murty-garg", "rst"])
def test_choices_mean_the_same_in_every_space_of_a_check(protocol: str) -> None:
    """Also where other states were looked at before."""
    random = Random(0)
    fresh, searched = space_of(protocol, 3, 3), space_of(protocol, 3, 3)
    searched.as_data(800)
    for _ in range(30):
        one = other = 0
        for _ in range(12):
            flat, _ = fresh.moves(one)
            again, _ = searched.moves(other)
            labels = [
                [str(space.step(node, k).action) for k in range(len(flat) // 3)]
                for space, node in ((fresh, one), (searched, other))
            ]
            assert labels[0] == labels[1]
            if not flat:
                break
            choice = random.randrange(len(flat) // 3)
            one, other = flat[3 * choice + 1], again[3 * choice + 1]
