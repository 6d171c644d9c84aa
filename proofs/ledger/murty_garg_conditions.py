"""The claims of [MG] §4: the priority rule, the send and receive conditions, and what implements them."""

from __future__ import annotations

from crownless.model_check.runs import Run

from . import any_split, bundled
from . import monitored_machines as found
from . import proof_evidence as put_to_z3
from . import smallest_synchronous as search
from .claims import Evidence, Reading, Text, unless
from .evidence import broken_by, holds, is_proved, refinement_scope, states
from .fig_8_variants import commits
from .murty_garg_shared import ANY_NUMBER, FOR_EVERY_N, LEFT_TO_THE_FULL_RUN, SILENCE, length, shown

TEXT = Text()


# -- the conditions, and what implements them --------------------------------------------------------------------------


@TEXT.claim(
    "MG7",
    "[MG] §4.2.1",
    "Under the priority rule every message is committed as one from a bigger to a smaller process.",
    "proved",
    reading="of Fig. 8, which implements the rule, and of the packets with which the two processes commit a message; "
    "what the application asked for may go either way",
)
def mg7(quick: bool) -> Evidence:
    bounds = [(3, 3)] if quick else [(3, 4), (4, 3)]
    counts = [commits(n, m) for n, m in bounds]
    asked, sent = (sum(getattr(each, kind) for each in counts) for kind in ("asked", "sent"))
    fails = any(each.wrong for each in counts) or not asked or not sent
    fails = fails or not put_to_z3.commits_go_downhill() or not is_proved("murty-garg", "safe")
    summary = ", ".join(f"{n} processes and {m} messages" for n, m in bounds)
    because = (
        f"z3, of the stages that messages go through, {refinement_scope('murty-garg')}: in each event what a process "
        "commits is just what it transmits to a smaller process, or receives from a bigger one; not so without "
        f"priorities. In every step of every state, up to {summary}, all {asked + sent:,} commits, {asked:,} of them "
        "of messages that the application sends to a bigger process, are made so; and no such packet goes without"
    )
    return Evidence(unless(fails, "proved"), FOR_EVERY_N, because)


@TEXT.claim("MG8", "[MG] §4.3.1, Theorem 4", "The send protocol implies the send condition.", "proved")
def mg8(quick: bool) -> Evidence:
    watch = found.monitored(found.MonitoredMurtyGarg, 3, 3)
    fails = not any_split.theorem_4_is_proved() or not holds(watch, "SC")
    because = f"z3 shows it of the formulas; the condition holds at every receive of Fig. 8, in {states(watch)}"
    return Evidence(unless(fails, "proved"), f"{ANY_NUMBER}, each message acknowledged; Fig. 8: (3, 3)", because)


@TEXT.claim(
    "MG9",
    "[MG] §4.3.2, Theorem 5",
    "Given the send protocol, the receive protocol implies the receive condition.",
    "repaired",
    reading="RP is its words and its formula together. By its words a process acknowledges only while it is active, "
    "by the formula alone the claim is false too. → goes through control messages (§4.2.3), and §6 counts requests "
    f"among them. True if {SILENCE}",
)
def mg9(quick: bool) -> Evidence:
    by_formula = found.monitored(found.MonitoredByTheLetter, 4, 4)
    request = breaks_rc_by_asking(quick)
    without = found.monitored(found.MonitoredAcknowledgements, 3 if quick else 4, 3)
    formula = broken_by(by_formula, "RC")
    smaller = [] if quick else [found.monitored(found.MonitoredByTheLetter, n, m) for n, m in BELOW_FOUR_AND_FOUR]
    as_small = formula is not None and all(holds(each, "RC") for each in smaller)
    repaired = any_split.theorem_5_is_proved() and holds(without, "SC", "RC", "RC+")
    readings = [
        Reading(
            "RP by its words and its formula, as Fig. 8 has it, where → goes through requests too",
            unless(request is None, "refuted"),
        ),
        Reading(
            "by the formula of RP alone, s1 ≺ r2 ⇒ s1.ack ≺ r2.ack, and not by its words",
            unless(not as_small, "refuted"),
        ),
        Reading(f"RP by its words, as the printed proof needs it: {SILENCE}", unless(not repaired, "proved")),
    ]
    because = (
        f"Fig. 8 sends requests while passive ({length(request)} actions). The formula of RP alone also lets a passive "
        "process acknowledge what it received before its send, which its words exclude "
        f"({length(formula)} actions of 4 processes and 4 messages). z3 shows the condition where {SILENCE}, of "
        f"any number of either; so does Fig. 8 without its requests, in {states(without)}"
    )
    figures = shown("Fig. 8: s(m1) ≺ r(m3), and r(m3) → r(m1)", request, "counterexample-mg9")
    title = "SP and the formula of RP hold: s(m3) ≺ r(m2), and r(m2) → r(m3)"
    figures += shown(title, formula, "counterexample-mg9-formula")
    smallest = (
        LEFT_TO_THE_FULL_RUN
        if quick
        else (
            f"by requests none has fewer packets (of five, among up to {search.FIVE_AMONG} processes), or as many "
            "among fewer processes; by the formula none has fewer messages, or as many among fewer processes"
        )
    )
    return Evidence(readings, f"{ANY_NUMBER}; {smallest}", because, figures)


#: Processes and messages of every smaller system: with fewer messages than four, or not among four processes.
BELOW_FOUR_AND_FOUR = ((2, 1), (4, 2), (6, 3), (3, 4))


def breaks_rc_by_asking(quick: bool) -> Run | None:
    """A shortest run of Fig. 8 that breaks RC, of the smallest program that z3 finds; if quick, of the bundled one."""
    if quick:
        program = bundled.program_of(bundled.run("counterexample-mg9"))
    else:
        packets = search.against_theorem_5_by_requests()
        if packets is None:
            return None
        program = search.program_of_fig_8(packets.computation)
    return broken_by(found.monitored(found.MonitoredMurtyGarg, 4, 5, program), "RC")
