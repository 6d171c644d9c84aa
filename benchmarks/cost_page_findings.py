"""The answers of the simulations to the questions that the texts leave open: sentences made of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from cost_page_studies import BANDWIDTHS, LOADS, mixed, thresholds

from crownless.model_check.simulation.estimates import Estimate
from crownless.model_check.simulation.experiment_rows import Row, said
from crownless.model_check.simulation.figures import Point, chosen, difference, one, points
from crownless.model_check.simulation.latencies import ROUND_TRIP, output_wait

#: The rows of each study, by its name.
Studies = Mapping[str, Sequence[Row]]


class Finding(NamedTuple):
    """The answer to one open question."""

    claim: str
    question: str
    answer: Sequence[str]


def findings(studies: Studies) -> list[Finding]:
    """All answers, claim by claim."""
    return [
        Finding("MF24", "How long does the buffer protocol delay beside the matrix protocol, where does it matter?", (
            *_buffer_or_matrix(studies["delay"]), *_not_uniform(studies["delay"]), *_narrow(studies["bandwidth"]))),
        Finding("MG19", "Does a message cost 1.5 control messages?", _control(studies["control"])),
        Finding("MG20", "How long do priority rule and receive condition delay?", _withheld(studies["withheld"])),
        Finding("MG21", "Is it more concurrent than the algorithm that blocks?", _concurrency(studies["synchronous"])),
        Finding("SA13", "How many extra messages are there, and of what size?", _extra(studies["thresholds"])),
        Finding("SA13", "What if processes have thresholds of their own?", _own_thresholds(studies["thresholds"])),
        Finding("SA13", "How much time is lost by waiting for extra messages?", _time_lost(studies["thresholds"])),
    ]  # fmt: skip


# -- MF24 --------------------------------------------------------------------------------------------------------------


def _buffer_or_matrix(rows: Sequence[Row]) -> list[str]:
    found = chosen(points(rows), workload="uniform")
    n = found[0]["processes"]
    at = {
        (protocol, load): one(found, protocol=protocol, latency="exponential", load=load)["added"]
        for protocol in ("rst", "buffer", "buffer-pipelined")
        for load in LOADS
    }
    rendered = "; ".join(
        f"{at['buffer', load]} against {at['rst', load]} at load {load:g}" for load in (0.01, 0.05, 0.1, 0.2, 0.4, 0.45)
    )
    return [
        (
            f"{n} processes, uniform traffic, exponential latencies; what the buffer protocol adds to the channel's "
            f"own delay, against what the matrix protocol adds: {rendered} (in mean latencies)."
        ),
        (
            "The output buffer is a queue with the round trip as its service: at load λ a message waits "
            "λE[S²]/2(1−λE[S]), that is 3λ/(1−2λ) for exponential latencies and 2λ/(1−2λ) for constant ones. "
            + _held_to_theory(found)
            + " So it waits a tenth of a latency from one message in 32 latencies on, a whole latency from one in 5, "
            "and without bound from one message a round trip (load 1/2), which the matrix protocol does not feel."
        ),
        _matters(rows, n),
        (
            f"Posting on to the same receiver (footnote 4) helps little among {n} processes: "
            f"{at['buffer-pipelined', 0.2]} at load 0.2."
        ),
    ]


def _held_to_theory(found: Sequence[Point]) -> str:
    """The distance of the measured waits from the formula's."""
    every = [
        (point["before"], output_wait(point["load"], latency))
        for latency in ROUND_TRIP
        for point in chosen(found, protocol="buffer", latency=latency)
    ]
    judged = [(measured, theory) for measured, theory in every if isfinite(measured.error)]
    within = sum(abs(measured.mean - theory) <= measured.error for measured, theory in judged)
    furthest = max(abs(measured.mean / theory - 1) for measured, theory in every)
    return (
        f"For all three latencies and up to load {max(LOADS):g} the formula lies within the confidence interval of "
        f"{within} of {len(judged)} measured waits, and none is more than {furthest:.0%} from it. (For Pareto "
        "latencies of this shape the wait itself has no finite variance: there the intervals show less.)"
    )


def _matters(rows: Sequence[Row], n: int) -> str:
    """From which load on the buffer is felt, and up to which it is not."""
    common = {"workload": "uniform", "latency": "exponential", "processes": n}
    felt, unfelt = [], []
    for load in LOADS:
        settings = {**common, "load": load}
        more = difference(rows, "added", {**settings, "protocol": "buffer"}, {**settings, "protocol": "rst"})
        felt += [load] * (more.mean - more.error > 0.1)
        unfelt += [load] * (more.mean + more.error < 0.1)
    exceeds = "At none of the loads looked at does the delay surely exceed the matrix protocol's by a tenth."
    if felt:
        exceeds = (
            "Of the loads looked at the delay surely exceeds the matrix protocol's by a tenth of a latency from "
            f"{min(felt):g} on."
        )
    return exceeds + (f" Up to {max(unfelt):g} it surely does not." if unfelt else "")


def _not_uniform(rows: Sequence[Row]) -> list[str]:
    found = chosen(points(rows), latency="exponential", load=0.05)
    rendered = "; ".join(
        f"{workload}: {one(found, workload=workload, protocol='buffer')['added']} against "
        f"{one(found, workload=workload, protocol='rst')['added']}"
        for workload in ("bursts", "pairs")
    )
    pipelined = one(found, workload="pairs", protocol="buffer-pipelined")["added"]
    served, matrix = (one(found, workload="client-server", protocol=protocol) for protocol in ("buffer", "rst"))
    clients, load = served["processes"] - 1, served["load"]
    answers = served.mean("throughput") * served["processes"] / 2  # half of all messages are answers
    return [
        (
            "What matters is that sends follow each other closely, as the text says: at the same mean load of 0.05 it "
            f"is {rendered}. Where nearly all goes to one partner, footnote 4 makes it {pipelined}."
        ),
        (
            f"A server sends more than its clients: where each of {clients} thinks for {1 / load:g} latencies on the "
            f"average (load {load:g}) it answers {answers:.3f} requests in a mean latency, and a client sends "
            f"{answers / clients:.3f}. There the delay is {served['added']} against {matrix['added']}."
        ),
    ]


def _narrow(rows: Sequence[Row]) -> list[str]:
    answers = []
    for n in sorted({row["processes"] for row in rows}):
        found = chosen(points(rows), processes=n)
        faster = [
            width
            for width in BANDWIDTHS
            if _upper(one(found, protocol="buffer", bandwidth=float(width))["delay"])
            < _lower(one(found, protocol="rst", bandwidth=float(width))["delay"])
        ]
        if not faster:
            answers.append(
                f"With {n} processes the matrix protocol is at no bandwidth looked at surely the slower one."
            )
            continue
        width = float(max(faster))
        buffer, matrix = (one(found, protocol=protocol, bandwidth=width) for protocol in ("buffer", "rst"))
        answers.append(
            f"On narrow lines it is the other way round, since matrices take time too (footnote 5): with {n} "
            f"processes, 100 bytes of payload and load {buffer['load']:g} the buffer protocol is faster up to "
            f"{width:g} bytes a mean latency, where a message takes {buffer['delay']} in all, and {matrix['delay']} "
            f"with its matrix of {matrix.mean('numbers') * 4:.0f} bytes."
        )
    return answers


def _upper(estimate: Estimate) -> float:
    return estimate.mean + estimate.error


def _lower(estimate: Estimate) -> float:
    return estimate.mean - estimate.error


# -- MG19 to MG21 ------------------------------------------------------------------------------------------------------


def _growing(point: Point) -> str:
    """The delay added; if it is surely greater in the later half of the runs, that is said too."""
    return point.said("added") + (" and growing" if point.growing else "")


def _control(rows: Sequence[Row]) -> list[str]:
    found = points(rows)
    sizes = sorted({point["processes"] for point in found})
    rendered = "; ".join(
        f"{workload}: " + ", ".join(f"{one(found, workload=workload, processes=n)['control']}" for n in sizes)
        for workload in dict.fromkeys(point["workload"] for point in found)
    )
    mean = one(found, workload="uniform", processes=sizes[-1])
    return [
        (
            f"Yes where as many messages go to bigger as to smaller processes: with {' and '.join(map(str, sizes))} "
            f"processes {rendered}. It is 1 for each message to a smaller process and 2 for each to a bigger one."
        ),
        f"In bytes that is {mean['bytes']} a message, since a request carries the message, which so travels twice.",
    ]


def _withheld(rows: Sequence[Row]) -> list[str]:
    found = points(rows)
    most: dict[int, float] = {}
    for point in chosen(found, workload="uniform"):
        t = _slowest(point)
        worst = max(row["withheld_most"] or 0.0 for row in rows if _same(row, point)) / t
        n = point["processes"]
        most[n] = max(most.get(n, 0.0), worst)
    over = [n for n, worst in most.items() if worst > n]
    above = [n for n, worst in most.items() if worst > 2 * (n - 2) + 1e-9]
    rendered = ", ".join(f"{worst:.2f} t with {n} processes" for n, worst in sorted(most.items()))
    mean = one(found, workload="uniform", latency="constant", processes=6, load=0.05)
    up = one(found, workload="upward", latency="constant")
    commits = max(row["committed_most"] for row in rows if _same(row, up))
    return [
        f"The receive condition withholds an acknowledgement by {mean['withheld']} on the average (6 processes, load "
        f"0.05, constant latencies); the longest in all runs: {rendered}. "
        + (f"More than nt for n = {', '.join(map(str, over))}. " if over else "Nowhere more than the text's nt. ")
        + ("None is above the 2(n − 2) t that is proved." if not above else f"ABOVE the proved bound for {above}."),
        (
            f"The priority rule: with little else in flight (load {up['load']:g}) a message to a bigger process is "
            f"committed by its sender after {up['committed']} t on the average (a request and the way back take 2 t). "
            f"The longest took {commits:.2f} t: whatever a message waits for on the way, until the bigger process is "
            "active too, is in that."
        ),
    ]


def _slowest(point: Point) -> float:
    """t: the longest that a packet takes."""
    return {"constant": 1.0, "uniform": 2.0}[point["latency"]]


def _same(row: Row, point: Point) -> bool:
    return all(row[name] == value for name, value in point.settings.items())


def _concurrency(rows: Sequence[Row]) -> list[str]:
    found = points(rows)
    answers, rendered = [], []
    stuck = chosen(found, protocol="rendezvous", workload="uniform")
    ours = chosen(found, protocol="murty-garg", workload="uniform")
    answers.append(
        f"The blocking algorithm deadlocks: under uniform traffic of {stuck[0]['processes']} processes "
        f"{sum(point.stuck for point in stuck)} of {sum(point.repetitions for point in stuck)} runs got stuck, at "
        f"loads from {min(point['load'] for point in stuck):g}; {sum(point.stuck for point in ours)} of "
        f"{sum(point.repetitions for point in ours)} of Fig. 8's."
    )
    for workload in ("client-server", "downward", "upward"):
        for load in (0.05, 0.2):
            pair = [
                _growing(one(found, protocol=name, workload=workload, load=load))
                for name in ("murty-garg", "rendezvous")
            ]
            rendered.append(f"{workload} traffic, load {load:g}: {pair[0]} against {pair[1]}")
    others = [point for point in chosen(found, protocol="rendezvous") if point["workload"] != "uniform"]
    answers.append(
        f"Under {', '.join(dict.fromkeys(point['workload'] for point in others))} traffic "
        f"{sum(point.stuck for point in others)} of {sum(point.repetitions for point in others)} of its runs got "
        f"stuck. The delay that Fig. 8 adds, against what the blocking algorithm adds: {'; '.join(rendered)}."
    )
    gains = [
        one(found, protocol=name, workload="client-server", load=0.3)["throughput"]
        for name in ("murty-garg", "rendezvous")
    ]
    answers.append(
        f"So more concurrent for clients of a server (at load 0.3 it delivers {gains[0]} messages a process in a mean "
        f"latency, against {gains[1]}), and wherever a waiting process has messages to take in. But the biggest "
        "process sends every message that it sends or receives, one after the other, a round trip each: where many "
        "send to it, it is a bottleneck that the blocking algorithm does not have."
    )
    return answers


# -- SA13 --------------------------------------------------------------------------------------------------------------


def _extra(rows: Sequence[Row]) -> list[str]:
    answers, beside = [], []
    for n in sorted({row["processes"] for row in rows}):
        found = chosen(points(rows), processes=n, load=0.1)
        ours = {k: one(found, protocol="extra-messages", parameters=f"k={k}") for k in thresholds(n)}
        rendered = "; ".join(
            f"k = {k}: {point['control']} extra messages, {point['bytes']} bytes" for k, point in ours.items()
        )
        optimal, matrix = one(found, protocol="optimal")["bytes"], one(found, protocol="rst")["bytes"]
        best = min(ours, key=lambda k: ours[k].mean("bytes"))
        least = ours[best].mean("bytes")
        beside.append(
            f"{least / optimal.mean:.2f} times the bytes of the optimal algorithm and {least / matrix.mean:.2f} times "
            f"those of the matrix with {n} processes (k = {best})"
        )
        answers.append(
            f"{n} processes, load 0.1, a message of the application: {rendered}. The optimal algorithm takes {optimal} "
            f"bytes, the matrix {matrix}."
        )
    summary = (
        "Many, and more with each process: at the least k that the text allows there are more extra messages than "
        "messages. Counting their headers of 20 bytes, a message takes, at the k that is best, "
        + "; ".join(beside)
        + "."
    )
    return [summary, *answers]


def _own_thresholds(rows: Sequence[Row]) -> list[str]:
    answers, shares = [], []
    for n in sorted({row["processes"] for row in rows}):
        found = chosen(points(rows), processes=n, load=0.1, protocol="extra-messages")
        half, all_, none = (one(found, parameters=said({"k": k})) for k in (mixed(n), n + 1, n * n))
        shares.append(f"{half.mean('bytes') / none.mean('bytes'):.2f} with {n} processes")
        answers.append(
            f"{n} processes, half with k = {n + 1}, half without extra messages: {half['control']} extra messages and "
            f"{half['bytes']} bytes a message; all with k = {n + 1}: {all_['control']} and {all_['bytes']}; none: "
            f"{none['bytes']} bytes."
        )
    summary = (
        "Where half of the processes clear their matrices there are about half of the extra messages, and little is "
        "saved: whoever does not clear passes its large matrix on to all. Bytes beside those of a system that never "
        f"clears: {', '.join(shares)}."
    )
    return [summary, *answers]


def _time_lost(rows: Sequence[Row]) -> list[str]:
    n = 8
    rendered, little = [], 0.0
    for load in (0.03, 0.1, 0.3, 1.0, 3.0):
        common = {"processes": n, "load": load}
        optimal = {**common, "protocol": "optimal"}
        lost = [
            difference(rows, "added", {**common, "protocol": "extra-messages", "parameters": f"k={k}"}, optimal)
            for k in (n + 1, 2 * n)
        ]
        if max(_upper(each) for each in lost) < 0.2:
            little = load
        least = one(points(rows), **optimal)["added"]
        rendered.append(f"load {load:g}: {lost[0]} (k = {n + 1}), {lost[1]} (k = {2 * n}), over {least}")
    summary = f"Less than a fifth of a mean latency up to load {little:g}, yet more than causal order itself takes."
    lost_at = (
        f"{n} processes, exponential latencies; what a message waits beyond what causal order itself makes it wait "
        f"(the optimal algorithm, same messages and latencies): {'; '.join(rendered)} mean latencies."
    )
    return [summary, lost_at]
