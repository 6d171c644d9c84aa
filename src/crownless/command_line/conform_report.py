"""The output of `crownless conform`: runs that show violations, a verdict on each order, and what the nodes need."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from crownless.impl.channels import channel_named
from crownless.model_check.conformance.conformance_request import JUDGED, WITH_REPLIES
from crownless.model_check.conformance.conformance_result import Conformance
from crownless.model_check.conformance.findings import Finding
from crownless.model_check.conformance.node import FAILURES
from crownless.model_check.conformance.random_runs import NOT_BROKEN, RANDOM_RUN, RandomConformance
from crownless.model_check.conformance.schedules import Replay
from crownless.model_check.runs import Run
from crownless.spec.printable import printable, some

from .output import STYLES, print_line, print_run
from .tables import Rows

Answer = Conformance | RandomConformance

#: A run of more actions is not drawn: one that does not end may have thousands.
LONGEST_DRAWN = 200

#: What the verdict on an order is called.
_OF_ORDERS = {"holds": "kept", "violated": "broken", "unknown": "unknown"}


def print_conformance(answer: Answer, *, drawings: bool) -> None:
    """The answer; the conclusion comes last."""
    if drawings:
        for one in shown(answer):
            _print_run(answer, one)
    print_line(f"{answer.name}: {answer.scope}")
    at_random = isinstance(answer, RandomConformance)
    of_orders = {**_OF_ORDERS, "unknown": NOT_BROKEN} if at_random else _OF_ORDERS
    rows = Rows("order", "verdict", "shown by")
    for name in JUDGED:
        one = answer[name]
        rows.add_row(name, Text(of_orders[one.verdict], style=_style(of_orders[one.verdict])), _shown_by(one))
    rows.print()
    print_line()
    rows = Rows("property", "verdict", "note")
    for name in (*FAILURES, *answer.delivery):
        one = answer[name]
        if name in answer.delivery or one.verdict == "violated":
            verdict = NOT_BROKEN if at_random and one.verdict == "unknown" else one.verdict
            note = "" if verdict == NOT_BROKEN else "; ".join(part for part in (_shown_by(one), one.note) if part)
            rows.add_row(name, Text(verdict, style=_style(verdict)), printable(note))
    rows.print()
    print_line()
    for line in _facts_of_random(answer) if isinstance(answer, RandomConformance) else _facts(answer):
        print_line(line)
    print_line(conclusion(answer))


def _style(verdict: str) -> str:
    return STYLES.get(verdict, "")


def shown(answer: Answer) -> list[Finding]:
    """The violations that are drawn: of orders those that are requested, or else the weakest that is broken."""
    found = [one for one in answer.violations if one.run is not None]
    broken = [one for one in found if one.name in JUDGED]
    wanted = [one for one in broken if one.name in answer.request.orders] if answer.request.orders else broken[:1]
    chosen = [one for one in found if one.name not in JUDGED] + wanted
    return [one for k, one in enumerate(chosen) if one.run not in [other.run for other in chosen[:k]]]


def _print_run(answer: Answer, one: Finding) -> None:
    assert one.run is not None
    breaks = "breaks" if answer.unconfirmed is None else "seemed to break"
    print_line(f"{answer.name} {breaks} {one.name}: {one.meaning}")
    if one.note:
        print_line(f"  {one.note}")
    print_line()
    _print_actions(one.run)


def _print_actions(run: Run) -> None:
    if len(run) > LONGEST_DRAWN:
        print_line(f"  (a run of {some(len(run), 'action')}, too many to be drawn; --json has them)")
        print_line()
        return
    print_run(run)
    if any(action.action == "send" and not action.happened for action in run.actions):
        print_line("     (not sent yet: the application sends it from inside its next delivery)")
    print_line()


def print_replay(name: str, found: Replay, *, drawings: bool) -> None:
    """What came of a schedule; the conclusion comes last."""
    if drawings:
        _print_actions(found.run)
    if found.differs is not None:
        print_line(f"differs from {found.schedule.implementation} at {found.differs}")
    if found.broken:
        print_line(f"this run breaks {' and '.join(found.broken)}")
    if found.best_effort is not None:
        print_line(found.best_effort)
    print_line(f"{name} {'no longer' if found else 'still'} breaks {found.schedule.breaks} by this schedule")


def _shown_by(one: Finding) -> str:
    if one.run is None:
        return one.search if one.verdict == "violated" else ""
    if one.name in JUDGED and one.note:
        return one.note
    if one.search.startswith(RANDOM_RUN):
        return f"{some(len(one.run), 'action')}, of {one.search}"
    within = "" if one.search.startswith("free sends") else f", {one.search}"
    return f"shortest run: {some(len(one.run), 'action')}{within}"


def _facts(answer: Conformance) -> list[str]:
    facts = []
    found = answer.realization
    if found is not None and not found.stopped:
        computations = some(found.computations, "complete computation")
        at = f"{computations} ({some(answer.request.messages, 'message')}, all delivered)"
        first, *others = found.equal_orders or [""]
        have = "has" if len(others) == 1 else "have"
        also = f"; {' and '.join(others)} order {have} the same" if others else ""
        exactly = f"exactly those of {first} order{also}" if first else "which are those of no order exactly"
        facts.append(f"within {found.bound}: generates {at}, {exactly}")
        facts += _broken_by_others(answer, found.equal_orders)
    for same in answer.same_orders:
        names, bound = " and ".join(same.weaker), f"-n {same.processes} -m {same.messages}"
        facts.append(f"within this bound {same.order} is the same as {names} order; {bound} distinguishes them")
    facts += _of_replies(answer)
    if (over := answer.kept_over_fifo) is not None:
        more = [name for name in over if name not in answer.kept]
        said = f"it keeps {' and '.join(more)} order too" if more else "it keeps no further order"
        facts.append(f"over a FIFO channel, up to {some(answer.request.messages, 'message')}, {said}")
    for search in answer.with_duplicates if not answer.failures else ():
        result = search.result
        bound = some(result.check.workload.messages, "message")
        harm = " and ".join(result.violations)
        unknown = f"unknown: {result.exploration.stopped}"
        said = f"break {harm}" if harm else "do no harm" if result.verdict == "holds" else unknown
        facts.append(f"duplicates of packets, which are no part of the verdict, up to {bound}: {said}")
    free = answer.searches[0].result.exploration
    counts = f"{some(free.states, 'state')}; {some(answer.queries, 'different input')} to nodes"
    facts.append(f"{counts}, {answer.seconds:.1f} s")
    facts += _facts_of_nodes(answer)
    if answer.unconfirmed is not None:
        facts.append(f"not confirmed: {answer.unconfirmed}")
    return facts


def _facts_of_nodes(answer: Answer) -> list[str]:
    facts = [str(answer.repeats)] if answer.repeats.all else []
    if not answer.takes_replies:
        facts.append(f"{WITH_REPLIES}: not offered, the node does not say `ok replies`")
    return facts


def _broken_by_others(answer: Conformance, orders: Sequence[str]) -> list[str]:
    """The runs that break these orders, though no complete computation of free sends does."""
    broken = [answer[name] for name in orders if name in JUDGED and answer[name].verdict == "violated"]
    replies = [one.name for one in broken if one.search.startswith(WITH_REPLIES)]
    others = [one.name for one in broken if one.name not in replies]
    facts = [f"runs that cannot be completed, which are not counted, break {' and '.join(others)}"] if others else []
    return [*facts, *([f"{WITH_REPLIES}, which are not counted, break {' and '.join(replies)}"] if replies else [])]


def _of_replies(answer: Conformance) -> list[str]:
    """The verdict of the search with replies, or why it was not made."""
    few = answer.request.messages_with_replies
    if answer.failures:
        return []
    for search in answer.searches:
        if search.name == WITH_REPLIES:
            broken = [one.name for one in answer.violations if one.search.startswith(WITH_REPLIES)]
            said = f"break {' and '.join(broken)}, which free sends do not" if broken else "break nothing else"
            states = some(search.result.exploration.states, "state")
            return [f"{WITH_REPLIES}, up to {some(few, 'message')}: {said}; {states}"]
    if few and answer.verdict == "violated":
        broken = [one.name for one in answer.wanted if one.verdict == "violated"]
        return [f"{WITH_REPLIES} were not searched: free sends break {' and '.join(broken)}"]
    return []


def _facts_of_random(answer: RandomConformance) -> list[str]:
    facts = [f"{some(answer.queries, 'different input')} to nodes, {answer.seconds:.1f} s", *_facts_of_nodes(answer)]
    if any(one.run is not None for one in answer.violations):
        facts.append("runs were made shorter before they are shown; there may be shorter ones yet")
    if answer.unconfirmed is not None:
        facts.append(f"not confirmed: {answer.unconfirmed}")
    return facts


def conclusion(answer: Answer) -> str:
    """The verdict in a sentence; it says no more than the search has shown."""
    return _conclusion(answer) + (" (best effort)" if answer.best_effort else "")


def _conclusion(answer: Answer) -> str:
    name, orders = answer.name, answer.request.orders
    if answer.unconfirmed is not None:
        return f"{name}: unknown: what it seemed to break is not confirmed"
    broken = [one.name for one in answer.wanted if one.verdict == "violated"]
    if broken:
        return f"{name} breaks {' and '.join(broken)}"
    if answer.verdict == "unknown":
        return f"{name}: unknown: {answer.ended_early or 'not every property was decided'}"
    if isinstance(answer, RandomConformance):
        also = " and delivers everything" if channel_named(answer.request.channel).reliable else ""
        does = f"keeps {' and '.join(orders)} order{also}" if orders else "fails in nothing"
        return f"{name} {does} in all of {some(answer.made, 'random run')}: a sample of all runs"
    kept = orders or answer.named
    return f"{name} keeps {' and '.join(kept)} order within the bound, and delivers everything"
