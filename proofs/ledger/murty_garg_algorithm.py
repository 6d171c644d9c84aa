"""The claims of [MG] Fig. 8, §5.2 and §6: the algorithm, its liveness, and its costs."""

from __future__ import annotations

from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.workloads import Free
from crownless.model_check.reachable import reachable
from crownless.model_check.realizing import realize
from crownless.model_check.request import Check

from . import cost_evidence as simulations
from . import fig_8_variants as found
from . import smallest_delay as delays
from .claims import Evidence, Reading, Text, unless
from .evidence import (
    BY_FAIRNESS_IN_WORDS,
    broken_by,
    explored,
    holds,
    is_proved,
    ran,
    refinement_scope,
    searched,
    states,
    system_of,
    within,
)
from .monitored_machines import MonitoredBlocking, NeverAcknowledges, monitored
from .murty_garg_shared import ANY_NUMBER, CHANNELS, FOR_EVERY_N, free_bounds, length, shown

TEXT = Text()


NO_CROWN_IN_WORDS = "z3 shows that each line is in the order of the points; that there is then no crown is in words"


# -- the algorithm -----------------------------------------------------------------------------------------------------


@TEXT.claim(
    "MG16",
    "[MG] §5.2, Theorem 8",
    "Every process that wants to send a message is able to in the end.",
    "proved",
    reading="of Fig. 8, which implements SP, RP and PR: by RP's words a process acknowledges what it received when it "
    "is active, which their formulas alone do not ask for. Applications take what comes",
)
def mg16(quick: bool) -> Evidence:
    results = [searched("murty-garg", n, m, channel=channel) for n, m in free_bounds(quick) for channel in CHANNELS]
    fails = not all(holds(result, "never-blocks", "delivers-all") for result in results)
    fails = fails or not is_proved("murty-garg", "live") or not all_states_have_the_smallest_active(3, 3)
    because = (
        "z3: a passive process waits for what is in flight, or for a smaller passive one, which on going on "
        f"acknowledges all that it owes; shown of the stages of a message, {refinement_scope('murty-garg')}. Every "
        f"send happens and every message is delivered, in {states(*results)}; the smallest process, on which the "
        "induction rests, is active in all"
    )
    silent = broken_by(explored(NeverAcknowledges(2), Free(2, 2), orders=("asynchronous",)), "never-blocks")
    readings = [
        Reading("by the words of RP, as Fig. 8 has them", unless(fails, "proved")),
        Reading(
            "by the formulas of SP, RP and PR alone: nothing need ever be acknowledged",
            unless(silent is None, "refuted"),
        ),
    ]
    figures = shown("SP, RP and PR hold by their formulas, nothing is acknowledged, and P2 may not send again", silent)
    return Evidence(readings, f"{FOR_EVERY_N}; {BY_FAIRNESS_IN_WORDS}", because, figures)


def all_states_have_the_smallest_active(n: int, m: int) -> bool:
    return all(now.locals[0].active for now in reachable(system_of(MurtyGarg(n), Free(n, m))))


@TEXT.claim(
    "MG17",
    "[MG] §4.3, Fig. 8",
    "The algorithm of Fig. 8 is safe and live.",
    "proved",
    reading="the third box, printed for an acknowledgement <ack, i, j> at i, is for one from j. A message is sent and "
    "received where Fig. 8 commits it; the text is silent on the order in which a process wanted its sends",
)
def mg17(quick: bool) -> Evidence:
    results = [searched("murty-garg", n, m, channel=channel) for n, m in free_bounds(quick) for channel in CHANNELS]
    good = all(holds(result) for result in results) and is_proved("murty-garg", "safe", "live")
    at_ack = found.first_run_that_breaks("synchronous", found.CommitsAtAcknowledgement, 3, 3)
    wanted = [
        found.first_run_that_breaks("fifo", found.SendsWhenWanted, 2, 2),
        found.first_run_that_breaks("causal", found.SendsWhenWanted, 3, 3, "fifo"),
    ]
    any_order = [found.first_run_that_breaks("in-order", MurtyGarg, 3, 2, channel) for channel in CHANNELS]
    to_one = found.first_run_that_breaks("in-order-to-one", MurtyGarg, 2, 2)
    bound = (3, 3 if quick else 4)
    fifo = found.first_run_that_breaks("in-order-to-one", MurtyGarg, *bound, "fifo")
    readings = [
        Reading("Fig. 8 as drawn", unless(not good, "proved")),
        Reading("§4.1: likewise if a send is committed at its acknowledgement", unless(at_ack is None, "refuted")),
        Reading(
            "likewise if a send is where the application wants it: not even FIFO, and over FIFO channels not even "
            "causal",
            unless(None in wanted, "refuted"),
            said=False,
        ),
        Reading(
            "a process's sends keep the order in which it wanted them",
            unless(None in any_order or to_one is None, "refuted"),
            said=False,
        ),
        Reading(
            f"its sends to one receiver do, over FIFO channels ({bound[0]} processes, {bound[1]} messages)",
            unless(fifo is not None, "checked"),
            said=False,
        ),
    ]
    because = (
        "z3 shows it safe and live for every n, of the stages of a message; it keeps synchronous order and delivers "
        f"everything in {states(*results)}. Commits at acknowledgements break the order after {length(at_ack)} actions "
        f"of 3 messages. With sends where they are wanted FIFO order is broken after {length(wanted[0])} actions of 2 "
        f"processes and 2 messages, and over FIFO channels causal order after {length(wanted[1])} of 3 and 3. Intents "
        f"are overtaken after {length(any_order[0])} actions, over FIFO channels after {length(any_order[1])}, to one "
        f"receiver after {length(to_one)}, to one receiver over FIFO channels never"
    )
    figures = shown("P2 wants m1 before m2, and sends m2 first", any_order[0], "counterexample-mg17")
    figures += shown(
        "two sends to one receiver overtake each other; a send happens when the bigger process's copy is back",
        to_one,
        "counterexample-mg17-one-receiver",
    )
    figures += shown(
        "not synchronous, if sends are committed at the acknowledgement", at_ack, "counterexample-mg17-commit"
    )
    figures += shown(
        "over FIFO channels, not causally ordered, if sends are where they are wanted: P1 wants m1 before m2",
        wanted[1],
        "counterexample-mg17-wanted",
    )
    scope = f"{FOR_EVERY_N}; {NO_CROWN_IN_WORDS}; {BY_FAIRNESS_IN_WORDS}; {within(*results)}"
    return Evidence(readings, scope, because, figures)


@TEXT.claim(
    "MG18",
    "[MG] §1",
    "The algorithm that blocks its sender until the acknowledgement can deadlock; this one does not.",
    "proved",
    reading="the blocking algorithm accepts no message while it waits (`rendezvous`). That it can deadlock is shown by "
    "a run, that Fig. 8 does not is proved",
)
def mg18(quick: bool) -> Evidence:
    blocking, programmed = searched("rendezvous", 2, 2), ran("rendezvous", "mg-fig4a")
    ours = [searched("murty-garg", n, m) for n, m in free_bounds(quick)]
    ours_programmed = ran("murty-garg", "mg-fig4a")
    deadlock = broken_by(blocking, "delivers-all")
    fails = (
        deadlock is None
        or programmed.completes != "never"
        or ours_programmed.completes != "always"
        or not all(holds(result, "never-blocks", "delivers-all") for result in ours)
        or not is_proved("murty-garg", "live")
    )
    because = (
        f"blocking: a deadlock after {length(deadlock)} actions of 2 processes, so of any larger number, and no run of "
        "Fig. 4(a)'s program ends. Fig. 8: z3 shows it live for every n, of the stages of a message, "
        f"{refinement_scope('murty-garg')}; all runs of that program end, and nothing is left undelivered in "
        f"{states(*ours)}"
    )
    of_ours = f"{BY_FAIRNESS_IN_WORDS}; besides, {within(*ours, ours_programmed)}"
    scope = f"Fig. 8: {FOR_EVERY_N}; {of_ours}; blocking: {within(blocking)}"
    return Evidence(unless(fails, "proved"), scope, because, shown("the deadlock of the blocking algorithm", deadlock))


# -- costs -------------------------------------------------------------------------------------------------------------


@TEXT.claim(
    "MG19",
    "[MG] §6",
    "A message costs 1.5 control messages.",
    "measured",
    reading="on the average, where as many go to bigger as to smaller processes",
)
def mg19(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    costs = found.costs(n, m)
    exact = bool(costs) and all(cost.control == 2 * cost.up + cost.down for cost in costs)
    each = sorted({cost.control / m for cost in costs})
    even = [cost.control / m for cost in found.costs(n, 2) if cost.up == cost.down for m in [2]]
    fails = not exact or even != [1.5] or (each[0], each[-1]) != (1.0, 2.0)
    traffic = {
        name: simulations.simulated(
            "murty-garg", 4, 0.02, 6 if quick else 20, messages=300 if quick else 600, workload=name
        )
        for name in ("uniform", "downward", "upward")
    }
    uniform = traffic["uniform"]["control"]
    fails |= abs(uniform.mean - 1.5) > uniform.error
    fails |= any(
        abs(traffic[name]["control"].mean - exactly) > 1e-9 for name, exactly in (("downward", 1), ("upward", 2))
    )
    because = (
        f"1.5 where as many go up as down; {each[0]:g} if all go to smaller processes (an acknowledgement), "
        f"{each[-1]:g} if all go to bigger ones (a request too): always 2 for each up and 1 for each down. Under "
        f"uniform traffic {uniform} (95% confidence), or {traffic['uniform']['bytes']} bytes where a message has 100 "
        "and a header 20, since a request carries the message"
    )
    scope = (
        f"every run to its end, {n} processes, {m} messages, unordered channel; 4 processes: "
        f"{simulations.describe(list(traffic.values()))}"
    )
    return Evidence(unless(fails, "measured"), scope, because)


@TEXT.claim(
    "MG20",
    "[MG] §6",
    "Packets that take at most t, the priority rule delays a message by less than 2t, the receive condition an "
    "acknowledgement by at most nt.",
    "repaired",
    reading="n processes; the priority rule alone, without the wait until the bigger process is active; the receive "
    "condition from the receive to its acknowledgement, while other messages are in flight. What is true: at most 2t, "
    "and at most 2(n − 2) t, which is more than nt from five processes on",
)
def mg20(quick: bool) -> Evidence:
    t = delays.T
    slowest = delays.slowest(5, 4)
    less = [delays.slowest(5, 3), *(delays.slowest(n, m) for n in (2, 3, 4) for m in range(1, 5))]
    longest = [delays.longest(n, m) for n, m in ([(3, 3)] if quick else [(3, 4), (4, 3)])]
    tight = all(each.withheld == delays.bound(each.n) for each in longest)
    asked = found.timed("P1: send m to P2\nP2: receive", {"m": 0}, {}, t)
    priority = asked.when("P1", "receive message", "m") - asked.when("P1", "send", "m")
    if slowest is None:
        return Evidence("open", ANY_NUMBER, "none of five processes and four messages is withheld for more than nt")
    exceeds = slowest.withheld == slowest.by_z3 > 5 * t and less == [None] * len(less)
    repaired = delays.bound_is_proved() and tight and priority == 2 * t
    random = simulations.simulated("murty-garg", 5, 0.1, 6 if quick else 20, latency="constant")
    repaired &= random.most("withheld_most") <= 2 * (5 - 2)
    readings = [
        Reading("the receive condition withholds an acknowledgement for at most nt", unless(not exceeds, "refuted")),
        Reading("for at most 2(n − 2) t, and the priority rule delays by at most 2t", unless(not repaired, "proved")),
    ]
    because = (
        f"with n = 5 an acknowledgement is withheld for {slowest.withheld / t:g} t, more than 5 t: each process of the "
        "chain may have sent just before the next message came, so that each adds a message and an acknowledgement; z3 "
        "shows 2(n − 2) t for every n by that induction, and finds the run: of four messages, none of three or of "
        "fewer processes. The bound is reached, and not exceeded, in all runs of Fig. 8 in "
        f"{sum(each.states for each in longest):,} states of the system and of time. The priority rule adds a request "
        f"and the way back, {priority / t:g} t if both take t. In random runs of five processes "
        f"({simulations.describe([random])}, constant latencies, load 0.1) it is withheld for {random['withheld']} t "
        f"on the average, at most {random.most('withheld_most'):.2f} t"
    )
    summary = ", ".join(f"({each.n}, {each.messages})" for each in longest)
    scope = (
        f"{ANY_NUMBER}, where an acknowledgement waits for the open send alone; Fig. 8's own code: every run up to "
        f"(processes, messages) {summary}"
    )
    title = "P4 may acknowledge m1 only when the chain m2, m3, m4 is acknowledged"
    return Evidence(readings, scope, because, shown(title, slowest.run.run, "counterexample-mg20"))


@TEXT.claim(
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
    blocking = monitored(MonitoredBlocking, 3, m)
    ours = searched("murty-garg", 3, m)
    passive = {"a-send-waits-for-an-acknowledgement", "an-acknowledgement-is-withheld"}
    goes_on = passive <= ours.exploration.reached
    generated = [realize(Check(name, 3, 3)).equals for name in ("rendezvous", "murty-garg")]
    blocks = broken_by(searched("rendezvous", 3, m), "never-blocks") is not None
    fails = not holds(blocking, "SC", "RC") or not goes_on or not blocks or "PR" not in blocking.violations
    because = (
        f"both conditions hold at every receive in {states(blocking)} of the blocking algorithm; where it "
        "waits, Fig. 8 takes in messages and requests, and it finishes where the other deadlocks. Both can generate "
        f"every {generated[0]} computation, so in these there is no difference"
    )
    fails |= generated != ["synchronous", "synchronous"]
    runs, messages = (6, 300) if quick else (20, 600)
    stuck = [
        simulations.simulated(name, 6, 0.05, runs, messages=messages).stuck for name in ("rendezvous", "murty-garg")
    ]
    served, up = (
        [
            simulations.simulated(name, 6, 0.2, runs, messages=messages, workload=workload)
            for name in ("murty-garg", "rendezvous")
        ]
        for workload in ("client-server", "upward")
    )
    fails |= stuck != [runs, 0] or not all(each.kept for each in (*served, *up))
    fails |= not simulations.surely_below(simulations.more(served[0], served[1], "added"), 0)
    fails |= not simulations.surely_above(simulations.more(up[0], up[1], "added"), 0)
    because += (
        f". Six processes, uniform traffic: the blocking algorithm got stuck in {stuck[0]} of {runs} runs, Fig. 8 in "
        f"{stuck[1]}. Clients of one server, where nothing gets stuck: a message is delayed by {served[0]['added']} "
        f"mean latencies against {served[1]['added']}, and {served[0]['throughput']} messages are delivered at a "
        f"process in a mean latency against {served[1]['throughput']}. But the biggest process sends one after the "
        f"other whatever it sends or receives: where all send to bigger processes, {up[0]['added']} against "
        f"{up[1]['added']}"
    )
    times = simulations.describe([*served, *up])
    scope = f"{within(ours)}; computations: 3 processes, 3 messages; times: {times}, load 0.2"
    return Evidence(unless(fails, "measured"), scope, because)
