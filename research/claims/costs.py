"""The claims about the costs of protocols, measured in repeated simulations of their machines under a clock."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from crownless.impl.protocol import Setting
from crownless.impl.protocols.buffer import State as BufferState
from crownless.impl.workloads import Free
from crownless.research.costs.experiment import Experiment
from crownless.research.costs.figures import Estimate, estimate
from crownless.research.costs.latencies import output_wait
from crownless.research.costs.simulation import Measured, simulate
from crownless.research.theorems.evidence import Evidence, fact, measured
from crownless.research.variants.for_mattern_fuenfrocken import NeverAsked

from . import fig_8
from .claim import claim
from .gathering import breaks, generates, in_every_state, keep, searched, system_of
from .monitored_machines import MonitoredBlocking, monitored

# -- simulations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runs:
    """Repetitions of one experiment with seeds 0, 1, …: the same messages and latencies for every protocol."""

    experiment: Experiment
    runs: tuple[Measured, ...]

    def __getitem__(self, figure: str) -> Estimate:
        """The mean of a metric, with its confidence interval."""
        return _estimated(getattr(run, figure) for run in self.runs)

    def most(self, figure: str) -> float:
        """The maximum of a metric over all runs."""
        return float(max(getattr(run, figure) or 0.0 for run in self.runs))

    @property
    def kept(self) -> bool:
        """True if every run kept the promised order."""
        return all(run.kept for run in self.runs)

    @property
    def stuck(self) -> int:
        """The number of runs in which some message was never delivered."""
        return sum(run.undelivered > 0 for run in self.runs)

    def more(self, other: "Runs", figure: str) -> Estimate:
        """How much greater a metric is than in the other runs, paired by run on the same messages and latencies."""
        pairs = zip(self.runs, other.runs, strict=True)
        figures = [(getattr(run, figure), getattr(beside, figure)) for run, beside in pairs]
        return _estimated(one - another for one, another in figures if None not in (one, another))


def _estimated(values: Iterable[float | None]) -> Estimate:
    mean = estimate(values)
    assert mean is not None, "no such figure"
    return mean


def simulated(protocol: str, n: int, load: float, runs: int, **settings: Any) -> Runs:
    """Simulates a protocol this many times, with these settings of an `Experiment`; see `crownless cost`."""
    experiment = Experiment(protocol, n, load=load, **settings)
    return Runs(experiment, tuple(simulate(replace(experiment, seed=seed)) for seed in range(runs)))


def both(names: tuple[str, str], n: int, load: float, runs: int, **settings: Any) -> tuple[Runs, Runs]:
    """The same simulations of two protocols."""
    one, other = (simulated(name, n, load, runs, **settings) for name in names)
    return one, other


def surely_above(found: Estimate, value: float) -> bool:
    """True if the whole confidence interval is above the value."""
    return found.mean - found.error > value


def surely_below(found: Estimate, value: float) -> bool:
    """True if the whole confidence interval is below the value."""
    return found.mean + found.error < value


def describe(runs: Iterable[Runs]) -> str:
    """The numbers of simulations and messages, as text."""
    every = list(runs)
    count = sum(len(each.runs) for each in every)
    return f"{count} simulations of {sum(len(each.runs) * each.experiment.messages for each in every):,} messages"


# -- [MF] --------------------------------------------------------------------------------------------------------------

#: Messages per process and mean latency. In theory the extra delay, in mean latencies, is `FELT` at `CROSSING`.
TRIED_LOADS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.3)
FELT, CROSSING = 0.1, 1 / 32


@claim(
    "MF24",
    "[MF] §4.3",
    "The buffer protocol costs an acknowledgement a message, and no more; its delays are felt only where a process "
    "sends in quick succession, or bandwidth is nearly used up.",
    {"a message is handed over before the last one is acknowledged": "measured"},
    not_said={"a process hands over 0.1 messages or more in a mean latency, at random times": "refuted"},
    reading="felt: more than a tenth of a mean latency beyond the matrix protocol, in the mean over all messages. In "
    "quick succession ('directly follow each other'): a message is handed over before the last one of its process is "
    "acknowledged. The text names no load; from which load on that is felt is measured. Where bandwidth is nearly used "
    "up it is the matrix protocol that is felt",
)
def mf24(quick: bool) -> list[Evidence]:
    system = system_of(NeverAsked(3), Free(3, 3))

    def waits_for_the_one_before(i: int, local: BufferState) -> bool:
        return not local.output or local.awaits is not None or bool(system.machine.internal(i, local))

    prompt = in_every_state(
        "no packet carries anything, and a message waits only for the acknowledgement of the one before it",
        system,
        lambda now: (
            all(packet.stamp is None for packet in now.in_flight)
            and all(waits_for_the_one_before(i, local) for i, local in enumerate(now.locals))
        ),
    )
    # Each message is submitted, posted, got and acknowledged: four steps, one of which receives an acknowledgement.
    two_packets = in_every_state(
        "each message takes one packet and one acknowledgement",
        system,
        lambda now: now.depth == 4 * sum(system.position(now.state)),
        where=lambda now: system.may_end(now.moves),
    )
    packets = prompt & two_packets & fact(True, "", "costs: every interleaving, 3 processes, up to 3 messages")

    runs, messages = (10, 300) if quick else (20, 600)
    pair = ("buffer", "rst")
    by_load = {load: both(pair, 4, load, runs, messages=messages) for load in TRIED_LOADS}
    bursts = both(pair, 4, 0.01, runs, messages=messages, workload="bursts")
    narrow, wide = (both(pair, 16, 0.05, 4, messages=300, bandwidth=width) for width in (120.0, 3200.0))
    every = [run for each in (*by_load.values(), bursts, narrow, wide) for run in each]
    later = {load: buffer.more(rst, "added") for load, (buffer, rst) in by_load.items()}
    in_bursts = bursts[0].more(bursts[1], "added")
    felt = [load for load, more in later.items() if surely_above(more, FELT)]
    unfelt = [load for load, more in later.items() if surely_below(more, FELT)]
    by_theory = all(
        abs(buffer["added"].mean - output_wait(load, "exponential")) <= 3 * buffer["added"].error
        and buffer["added"] == buffer["before"]
        for load, (buffer, _) in by_load.items()
    )
    differences = ", ".join(f"{more} at load {load:g}" for load, more in later.items())
    delays = (
        measured(
            all(each.kept for each in every),
            f"a message is delivered later than under the matrix protocol by {differences} (mean latencies, 95% "
            "confidence)",
            f"4 processes, uniform traffic, exponential latencies: {describe(every)}",
        )
        & measured(
            bool(felt and unfelt)
            and max(unfelt) < CROSSING < min(felt)
            and felt == [load for load in TRIED_LOADS if load >= min(felt)],
            f"felt from load {min(felt, default=0):g} on, and not up to {max(unfelt, default=0):g}",
        )
        & measured(surely_above(in_bursts, FELT), f"in bursts of five by {in_bursts} at load 0.01")
        & measured(
            by_theory,
            "the output buffer is a queue whose service is a round trip: 3λ/(1 − 2λ) at load λ, a tenth of a latency "
            "at 1/32, and no bound from 1/2 on",
        )
        & measured(
            surely_below(narrow[0].more(narrow[1], "delay"), -5) and surely_above(wide[0].more(wide[1], "delay"), -1),
            "on narrow lines it is the other way round: 16 processes, 100 bytes of payload, 120 bytes in a mean "
            f"latency: {narrow[0]['delay']} in all, and {narrow[1]['delay']} with matrices",
        )
    )
    return [packets & delays, fact(min(felt, default=1) < 0.1, "", "").refutes()]


@claim(
    "MF28",
    "[MF] §5",
    "The buffer protocol scales much better than the matrix protocol.",
    {"as the number of processes grows, at the same load of each": "measured"},
    not_said={"as the load of each process grows": "refuted"},
    reading="'instead of piggybacking huge matrices on messages'. A number takes four bytes, an acknowledgement 20. "
    "Load: messages that a process hands over in a mean latency. From load 1/2 on the buffers' delay has no "
    "bound (MF24)",
)
def mf28(quick: bool) -> list[Evidence]:
    sizes, runs = (4, 8, 16, 32), 3 if quick else 8
    by_size = {n: both(("buffer", "rst"), n, 0.02, runs, messages=300, bandwidth=3200.0) for n in sizes}
    every = [run for pair in by_size.values() for run in pair]
    (few, *_), (*_, many) = by_size.values(), by_size.values()
    bytes_added = all(
        run["bytes"].error == 0 and run["bytes"].mean == expected
        for n, pair in by_size.items()
        for run, expected in zip(pair, (20, 4 * n * n), strict=True)
    )
    figures = "; ".join(f"n = {n}: {buffer['added']} and {rst['added']}" for n, (buffer, rst) in by_size.items())
    loaded, matrices = both(("buffer", "rst"), 4, 0.3, runs, messages=300, bandwidth=3200.0)
    by_size_of_system = measured(
        bytes_added and all(run.kept for run in every),
        "a message costs 20 bytes more, its acknowledgement, at every n, and 4n² under matrices, 4,096 at n = 32, in "
        "every run",
        f"uniform traffic, exponential latencies, load 0.02, 3,200 bytes in a mean latency: {describe(every)}",
    ) & measured(
        surely_below(few[0].more(few[1], "added"), 0.5)
        and surely_above(many[1].more(many[0], "added"), 1)
        and surely_below(many[0]["added"], 0.3),
        f"delay added by buffers and by matrices, in mean latencies with 95% confidence: {figures}",
    )
    longer = surely_above(loaded.more(matrices, "added"), 0.5)
    by_load = measured(longer, f"at load 0.3 and n = 4: {loaded['added']} and {matrices['added']}")
    return [by_size_of_system, by_load.refutes()]


# -- [MG] --------------------------------------------------------------------------------------------------------------


@claim(
    "MG19",
    "[MG] §6",
    "A message costs 1.5 control messages.",
    "measured",
    reading="on the average, where as many go to bigger as to smaller processes",
)
def mg19(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    costs = fig_8.costs(n, m)
    even = {cost.control / 2 for cost in fig_8.costs(n, 2) if cost.up == cost.down}
    runs, messages = (6, 300) if quick else (20, 600)
    uniform, downward, upward = (
        simulated("murty-garg", 4, 0.02, runs, messages=messages, workload=name)
        for name in ("uniform", "downward", "upward")
    )
    control = uniform["control"]
    return fact(
        bool(costs) and all(cost.control == 2 * cost.up + cost.down for cost in costs) and even == {1.5},
        "2 control messages for each message up, a request and an acknowledgement, and 1 for each down: 1.5 where as "
        "many go up as down",
        f"every run to its end, {n} processes, {m} messages, unordered channel",
    ) & measured(
        abs(control.mean - 1.5) <= control.error
        and abs(downward["control"].mean - 1) <= 1e-9
        and abs(upward["control"].mean - 2) <= 1e-9,
        f"under uniform traffic {control} (95% confidence), or {uniform['bytes']} bytes where a message has 100 and a "
        "header 20, since a request carries the message",
        f"4 processes: {describe([uniform, downward, upward])}",
    )


@claim(
    "MG21",
    "[MG] §6",
    "The algorithm is more concurrent than the blocking one, whose every run satisfies both conditions.",
    "measured",
    reading="the send and receive conditions, with the send where its packet goes out; the priority rule it does not "
    "satisfy. More concurrent: in its runs, not in the computations that can come about; measured by the delay added "
    "where the blocking one does not get stuck. That both conditions hold is checked",
)
def mg21(quick: bool) -> Evidence:
    m = 3 if quick else 4
    blocking, ours = monitored(MonitoredBlocking, 3, m), searched("murty-garg", 3, m)
    passive = {"a-send-waits-for-an-acknowledgement", "an-acknowledgement-is-withheld"}
    names = ("rendezvous", "murty-garg")
    runs, messages = (6, 300) if quick else (20, 600)
    stuck = [each.stuck for each in both(names, 6, 0.05, runs, messages=messages)]
    served, up = (
        both(names, 6, 0.2, runs, messages=messages, workload=workload) for workload in ("client-server", "upward")
    )
    less, more = (surely_above(one.more(other, "added"), 0) for one, other in (served, reversed(up)))
    return (
        keep(blocking, "SC", "RC")
        & fact(
            passive <= ours.exploration.reached and "PR" in blocking.violations,
            "where the blocking algorithm waits, Fig. 8 takes in messages and requests",
        )
        & breaks(searched("rendezvous", 3, m), "never-blocks", "the blocking algorithm deadlocks")
        & generates("rendezvous", "synchronous", (3, 3))
        & generates("murty-garg", "synchronous", (3, 3))
        & measured(
            stuck == [runs, 0],
            f"six processes, uniform traffic: the blocking algorithm got stuck in {stuck[0]} of {runs} runs, Fig. 8 in "
            f"{stuck[1]}",
        )
        & measured(
            less and more and all(each.kept for each in (*served, *up)),
            f"clients of one server, where nothing gets stuck: a message is delayed by {served[1]['added']} mean "
            f"latencies against {served[0]['added']}, and {served[1]['throughput']} messages are delivered at a "
            f"process in a mean latency against {served[0]['throughput']}. But the biggest process sends one after the "
            f"other whatever it sends or receives: where all send to bigger processes, {up[1]['added']} against "
            f"{up[0]['added']}",
            f"times: {describe([*served, *up])}, load 0.2",
        )
    )


# -- [SA] --------------------------------------------------------------------------------------------------------------


@claim(
    "SA13",
    "[SA] §5",
    "Asked: how many extra messages, how large beside the optimal algorithm, thresholds that differ, time lost.",
    "measured",
    reading="that each process may have its own threshold is also checked: safe and live (SA10, SA12). A number takes "
    "four bytes: n² numbers a matrix, three a tuple, in the optimal algorithm (sender, clock) and destinations; a "
    "list or set one more. An extra message is a packet of its own, with a header of 20 bytes. Time lost: beyond what "
    "the optimal algorithm makes the same messages wait. Load: messages that a process hands over in a mean latency",
)
def sa13(quick: bool) -> Evidence:
    n, runs, messages = 6, 4 if quick else 12, 150 if quick else 600

    def extra_messages(n: int, k: Setting) -> Runs:
        return simulated("extra-messages", n, 0.3, runs, messages=messages, parameters={"k": k})

    never = (n - 1) ** 2 + 1  # no matrix has this many entries
    thresholds: dict[str, Setting] = {
        "k=n+1": n + 1,
        "k=2n": 2 * n,
        "k=n+1 at half, none at the others": (n + 1, never) * (n // 2),
        "no extra messages": never,
    }
    ours = {label: extra_messages(n, k) for label, k in thresholds.items()}
    least, none = ours["k=n+1"], ours["no extra messages"]
    optimal, matrix = (simulated(name, n, 0.3, runs, messages=messages) for name in ("optimal", "rst"))
    lost = {label: each.more(optimal, "added") for label, each in ours.items()}
    larger = {size: extra_messages(size, size + 1)["control"] for size in (4, 8)}
    every = [*ours.values(), optimal, matrix]
    # Causal order itself delays messages equally, however the information travels; only extra messages add to that.
    waits = [some.more(optimal, "added") for some in (none, matrix)]
    same_waits = all(abs(more.mean) + more.error < 1e-9 for more in waits)
    costs_more = surely_above(least["control"], 1) and none.most("control") == 0
    costs_more &= surely_above(least.more(optimal, "bytes"), 0) and surely_above(lost["k=n+1"], 0)
    figures = ", ".join(
        f"{label}: {each['control']} extra messages, {each['bytes']} bytes, {lost[label]} lost"
        for label, each in ours.items()
    )
    return (
        measured(
            same_waits and costs_more and all(each.kept for each in every),
            f"a message of the application costs, mean with 95% confidence, {n} processes: {figures} mean latencies",
            f"uniform traffic, load 0.3, exponential latencies: {describe(every)}",
        )
        & fact(True, f"the optimal algorithm takes {optimal['bytes']} bytes, a matrix {matrix['bytes'].mean:g}")
        & measured(
            larger[4].mean < least["control"].mean < larger[8].mean,
            f"more processes send more extra messages: {larger[4]} with 4, {larger[8]} with 8 (k=n+1)",
        )
    )
