"""Simulations agree with theory and with the specification; stamps and packets have the bytes that the papers say."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

import pytest
from cost_experiments import mean
from hypothesis import given
from hypothesis import strategies as st

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step, promised_orders
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.rst import Rst
from crownless.impl.registry import PROTOCOLS
from crownless.research.costs.encoding import HEADER, numbers_in, size_of, varint_bytes
from crownless.research.costs.experiment import Experiment
from crownless.research.costs.figures import estimate
from crownless.research.costs.latencies import LATENCIES, output_wait
from crownless.research.costs.simulation import Simulation, simulate, simulate_machine
from crownless.research.costs.traffic import TRAFFIC, Applications
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.orders import decide

UNICAST = [
    name
    for name, kind in PROTOCOLS.items()
    if kind.sends != "broadcast" and not kind.rolls_back and name != "rst-column"
]


def promising(order: str, name: str, n: int) -> ProtocolMachine:
    """A protocol that promises an order which it does not keep."""
    return type("Promising", (PROTOCOLS[name],), {"promises": order})(n)  # type: ignore[no-any-return]


class Recorded(Simulation):
    """A simulation that keeps the lines of events."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.lines: list[list[tuple[str, Message]]] = [[] for _ in range(self.n)]

    def _observe(self, kind: Any, process: int, message: Message) -> None:
        super()._observe(kind, process, message)
        if kind != "hand":
            self.lines[process].append(("send" if kind == "send" else "receive", message))

    def computation(self) -> Computation:
        messages = sorted({message for line in self.lines for _, message in line}, key=lambda each: int(each.name))
        number = {message: k for k, message in enumerate(messages)}
        lines = [[Event(kind, number[message]) for kind, message in line] for line in self.lines]  # type: ignore[arg-type]
        return Computation.of_lines(self.n, messages, lines)


@pytest.mark.parametrize("name", UNICAST)
def test_every_run_has_a_computation_of_the_promised_order(name: str) -> None:
    kind = PROTOCOLS[name]
    workload = "client-server" if name == "rendezvous" else "uniform"
    for seed in range(2):
        run = Recorded(kind(4), Experiment(name, workload=workload, load=0.15, messages=120, seed=seed))
        measured = run.run()
        assert measured.undelivered == 0
        assert measured.kept
        if kind.ordered_at is None or name == "kearns":
            continue
        assert decide(run.computation(), promised_orders(kind)[-1]).kept


@pytest.mark.parametrize("name", ["rst-column", "unordered"])
def test_a_run_that_breaks_the_order_is_reported(name: str) -> None:
    runs = [
        simulate_machine(
            promising("causal", name, 3), Experiment(name, 3, load=2, latency="pareto", messages=600, seed=seed)
        )
        for seed in range(3)
    ]
    assert not all(run.kept for run in runs)


def test_a_message_delivered_twice_is_reported() -> None:
    class Twice(Rst):
        def on_packet(self, i: int, state: Any, packet: Packet) -> list[Step]:
            (step,) = super().on_packet(i, state, packet)
            return [step._replace(events=[*step.events, *step.events])]

    assert not simulate_machine(Twice(3), Experiment("rst", 3, messages=50)).kept


def test_a_simulation_is_a_function_of_its_experiment() -> None:
    one = Experiment("extra-messages", latency="lognormal", workload="bursts", messages=200, seed=7)
    assert simulate(one) == simulate(one)
    assert simulate(one) != simulate(replace(one, seed=8))


@given(
    name=st.sampled_from(UNICAST),
    workload=st.sampled_from(sorted(TRAFFIC)),
    latency=st.sampled_from(sorted(LATENCIES)),
    n=st.integers(2, 5),
    bandwidth=st.sampled_from([0.0, 1000.0]),
    seed=st.integers(0, 10**6),
)
def test_delays_add_up_and_nothing_is_lost(
    name: str, workload: str, latency: str, n: int, bandwidth: float, seed: int
) -> None:
    experiment = Experiment(name, n, workload, 0.2, latency, messages=40, seed=seed, bandwidth=bandwidth)
    run = simulate(experiment)
    assert run.kept
    assert run.undelivered == 0 or name == "rendezvous"
    if run.added is not None and run.before is not None and run.room is not None and run.after is not None:
        assert run.added == pytest.approx(run.before + run.room + run.after, abs=1e-9)
        assert run.before >= 0
        assert run.room >= -1e-9
        assert "isis" in name or run.after >= 0


def test_without_a_protocol_nothing_is_added() -> None:
    run = simulate(Experiment("unordered", messages=300))
    assert run.added == run.control == run.bytes == 0


def test_mean_latencies_are_1() -> None:
    for latency in LATENCIES:
        runs = [simulate(Experiment("unordered", 8, latency=latency, messages=500, seed=seed)) for seed in range(6)]
        assert mean("delay", runs) == pytest.approx(1, abs=0.1), latency


def test_the_load_is_what_processes_deliver() -> None:
    for workload in ("uniform", "bursts", "pairs", "broadcast"):
        runs = [simulate(Experiment("unordered", 4, workload, 0.5, messages=1500, seed=seed)) for seed in range(3)]
        assert mean("throughput", runs) == pytest.approx(0.5, rel=0.15), workload


@pytest.mark.parametrize(("latency", "squared"), [("constant", 4.0), ("exponential", 6.0)])
@pytest.mark.parametrize("load", [0.1, 0.25])
def test_an_output_buffer_is_the_queue_that_theory_says(latency: str, squared: float, load: float) -> None:
    runs = [simulate(Experiment("buffer", 4, "uniform", load, latency, messages=1500, seed=s)) for s in range(5)]
    found = estimate(run.before for run in runs)
    assert found is not None
    assert abs(found.mean - load * squared / (2 * (1 - 2 * load))) < 2 * found.error
    assert output_wait(load, latency) == pytest.approx(load * squared / (2 * (1 - 2 * load)))


def test_a_deadlock_of_blocking_senders_is_reported() -> None:
    assert simulate(Experiment("rendezvous", 6, load=0.3, messages=300)).undelivered > 0
    assert simulate(Experiment("murty-garg", 6, load=0.05, messages=300)).undelivered == 0


@pytest.mark.parametrize(
    ("name", "n", "workload", "load", "control"),
    [
        ("murty-garg", 4, "client-server", 0.02, 1.5),
        ("murty-garg", 6, "upward", 0.3, 2),
        ("murty-garg", 4, "downward", 0.1, 1),
        ("rendezvous", 4, "client-server", 0.1, 1),
        ("buffer", 6, "uniform", 0.45, 1),
        ("buffer", 6, "bursts", 0.05, 1),
        ("buffer-pipelined", 6, "pairs", 0.2, 1),
        ("fifo-ack", 4, "uniform", 0.2, 1),
    ],
)
def test_what_a_message_costs_is_exact_where_each_costs_the_same(
    name: str, n: int, workload: str, load: float, control: float
) -> None:
    for seed in range(2):
        run = simulate(Experiment(name, n, workload, load, messages=400, seed=seed))
        assert run.control == control
        assert run.bytes == control * HEADER + (control - 1) * 100 * (name == "murty-garg")


class Notifying(ProtocolMachine):
    """Every process transmits each submitted message at once, and after each delivery notifies P1 in a packet of its
    own.
    """

    promises = "asynchronous"

    def initial(self, i: int) -> int:
        return 0

    def send(self, i: int, state: int, message: Message) -> list[Step]:
        return [Step(state, [Packet(i, message.receiver, "message", message)], [AppEvent("send", message)])]

    def deliverable(self, i: int, state: int, packet: Packet) -> bool:
        return True

    def on_packet(self, i: int, state: int, packet: Packet) -> list[Step]:
        if packet.message is None:
            return [Step(state)]
        return [Step(state, [Packet(i, (i + 1) % self.n, "notice")], [AppEvent("deliver", packet.message)])]


def test_a_packet_without_a_message_counts_with_the_message_that_made_it() -> None:
    run = Simulation(Notifying(3), Experiment("notifying", 3, load=1, latency="pareto", messages=100))
    assert run.run().control == 1
    assert sorted(each.about for each in run.sent) == sorted([*range(100), *range(100)])


def test_an_acknowledgement_is_for_the_oldest_message_from_there() -> None:
    class OneLate(Notifying):
        """The second message from a process acknowledges the first, and so on."""

        def initial(self, i: int) -> tuple[int, ...]:  # type: ignore[override]
            return ()

        def on_packet(self, i: int, state: Any, packet: Packet) -> list[Step]:
            if packet.message is None:
                return [Step(state)]
            acknowledges = [Packet(i, packet.source, "ack")] if packet.source in state else []
            return [Step((*state, packet.source), acknowledges, [AppEvent("deliver", packet.message)])]

    run = Simulation(OneLate(2), Experiment("late", 2, load=0.1, latency="constant", messages=200))
    measured = run.run()
    assert sorted(each.about for each in run.sent if each.control) == sorted(
        number
        for q in range(2)
        for number in sorted(run.copies[name, q].number for name, at in run.copies if at == q)[:-1]
    )
    assert measured.withheld == pytest.approx(10, rel=0.25), "a process waits for the next message, at load 0.1"


def test_the_first_and_the_last_messages_are_not_measured() -> None:
    """Four times what an output buffer can transmit: the k-th message of a process, of 1500, waits for 3k/2 latencies,
    and of every four messages three wait then.
    """
    run = simulate(Experiment("buffer", 4, load=2, latency="constant", messages=6000))
    assert run.before == pytest.approx((0.2 + 0.9) / 2 * 2250, rel=0.02)
    assert run.drift == pytest.approx(0.35 * 2250, rel=0.03)


def test_all_outcomes_are_as_likely() -> None:
    class Loses(Notifying):
        """Delivers a message, or does not."""

        def on_packet(self, i: int, state: int, packet: Packet) -> list[Step]:
            return [
                Step(state, (), [AppEvent("deliver", packet.message)] if kept and packet.message else ())
                for kept in (0, 1)
            ]

    run = simulate_machine(Loses(3), Experiment("loses", 3, load=0.5, messages=1000))
    assert run.undelivered == pytest.approx(500, abs=60)


def test_protocols_whose_messages_wait_only_for_causes_make_them_wait_alike() -> None:
    waits = {simulate(Experiment(name, load=1, messages=400)).added for name in ("rst", "ses", "optimal", "rst-before")}
    assert len(waits) == 1
    assert simulate(Experiment("extra-messages", load=1, messages=400, parameters={"k": 16})).added in waits
    assert simulate(Experiment("extra-messages", load=1, messages=400)).added not in waits


def test_clearing_one_way_costs_what_any_way_costs() -> None:
    experiments = [Experiment("extra-messages", 4, load=1, messages=300, seed=seed) for seed in range(5)]
    one = estimate(simulate(each).control for each in experiments)
    any_ = estimate(simulate_machine(ExtraMessages(4), each).control for each in experiments)
    assert one is not None
    assert any_ is not None
    assert abs(one.mean - any_.mean) < one.error + any_.error


def test_a_narrow_line_takes_time() -> None:
    wide = simulate(Experiment("unordered", latency="constant", messages=200))
    narrow = simulate(Experiment("unordered", latency="constant", messages=200, bandwidth=120.0, payload=100))
    assert wide.delay == pytest.approx(1)
    assert narrow.delay is not None
    assert narrow.delay >= 2 - 1e-9  # 20 + 100 bytes take a latency more


def test_packets_leave_a_narrow_line_one_after_the_other() -> None:
    experiment = Experiment("unordered", 4, "bursts", 0.001, "constant", messages=200, bandwidth=120.0)
    assert simulate(experiment).before == pytest.approx((1 + 2 + 3 + 4 + 5) / 5, abs=0.05)


def test_each_link_has_a_mean_of_its_own_from_a_tenth_to_nearly_two() -> None:
    n = 24
    means = []
    for seed in range(4):
        draw = LATENCIES["links"].links(n, random.Random(seed))
        own = random.Random(f"{seed} packets")
        means += [sum(draw(own, i, j) for _ in range(100)) / 100 for i in range(n) for j in range(n)]
    assert fmean(means) == pytest.approx(1, abs=0.025)
    assert stdev(means) == pytest.approx(1.8 / math.sqrt(12), rel=0.06)


def test_a_client_thinks_for_a_random_time() -> None:
    clients = Applications(TRAFFIC["client-server"], 2, 0.1, seed=3)
    answer = Message("0", 0, (1,))
    times = [intent.after for _ in range(2000) for intent in clients.delivered(answer, 1)]
    assert fmean(times) == pytest.approx(10, rel=0.1)
    assert stdev(times) == pytest.approx(10, rel=0.1)


# -- bytes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "numbers"), [("fifo-sequence", 1), ("rst", 25), ("rst-column", 5), ("kearns", 5), ("ses", 30)]
)
def test_stamps_have_the_numbers_that_the_texts_say(name: str, numbers: int) -> None:
    run = simulate(Experiment(name, 5, messages=100))
    assert run.numbers == numbers
    assert run.bytes == 4 * numbers


def test_the_encoding_counts_numbers_and_lengths() -> None:
    message = Message("300", 1, (2,))
    assert list(numbers_in(((1, 2), (3, 4)), 2)) == [1, 2, 3, 4]
    assert list(numbers_in(((0, 1, 7), (0, 2, 8)), 4)) == [2, 0, 1, 7, 0, 2, 8]
    assert list(numbers_in(frozenset({5}), 4)) == [1, 5]
    assert list(numbers_in((message,), 4)) == [1, 1, 300, 2]
    assert size_of(Packet(0, 1, "message", None, (127, 128, 16384)), 3) == (3, 12, 1 + 2 + 3, 0)
    assert size_of(Packet(0, 1, "packet", Message("1", 0, (1,)), (message,)), 3).carried == 1
    assert [varint_bytes(each) for each in (0, 127, 128, 16383, 16384)] == [1, 1, 2, 2, 3]
