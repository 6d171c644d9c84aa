"""The output of `crownless conform`: runs that show violations, a verdict on each order, and facts about the nodes."""

from collections.abc import Sequence

from rich.text import Text

from crownless.command_line.output import STYLES, print_line, print_run
from crownless.command_line.tables import Rows
from crownless.impl.channels import channel_named
from crownless.model_check.check.check_result import PropertyResult
from crownless.model_check.runs.runs import Run
from crownless.model_check.system.properties import DELIVERS_ALL, DELIVERS_SOMETHING
from crownless.oracle.conformance.conformance_request import DELIVERY, JUDGED, WITH_REPLIES
from crownless.oracle.conformance.conformance_result import Conformance, verdict_on_order
from crownless.oracle.conformance.node import FAILURES
from crownless.oracle.conformance.replays import Replay
from crownless.runtime.printable import listed, printable, some
from crownless.spec.orders import ORDERS

#: Longer runs are not drawn: one that does not end may have thousands of actions.
LONGEST_DRAWN = 200


def print_conformance(result: Conformance, *, drawings: bool) -> None:
    """The result; the conclusion comes last."""
    if drawings:
        for line in shown(result):
            _print_run(result, line)
    print_line(f"{result.protocol}: {result.scope}")
    rows = Rows("order", "verdict", "shown by")
    for name in result.request.judged:
        rows.add_row(name, _verdict(result, result[name]), _shown_by(result, result[name]))
    rows.print()
    print_line()
    rows = Rows("property", "verdict", "note")
    for name in (*FAILURES, *DELIVERY, DELIVERS_SOMETHING.name):
        if name in result and (name not in FAILURES or result[name].verdict == "violated"):
            line = result[name]
            silent = result.runs is not None and line.verdict == "unknown"
            parts = [] if silent else [_shown_by(result, line), line.note]
            rows.add_row(name, _verdict(result, line), printable("; ".join(filter(None, parts))))
    rows.print()
    print_line()
    for fact in _facts(result):
        print_line(fact)
    print_line(conclusion(result))


def _verdict(result: Conformance, line: PropertyResult) -> Text:
    verdict = verdict_on_order(line) if line.property.name in ORDERS else line.verdict
    not_violated = result.runs is not None and line.property.kind != "sometimes" and verdict == "unknown"
    said = "not violated" if not_violated else verdict
    if not line.property.promised:
        return Text(f"{said}, not promised")
    return Text(said, style=STYLES.get(said, ""))


def shown(result: Conformance) -> list[PropertyResult]:
    """The violations that are drawn: of what is promised; if no order is, of the weakest violated one, unless one
    about several receivers is kept.
    """
    found = [line for line in result.violations.values() if line.run is not None and line.property.promised]
    violated = [line for line in found if line.property.name in ORDERS]
    wanted = [line for line in violated if line.property.name in result.request.orders]
    chosen = [line for line in found if line.property.name not in ORDERS]
    of_several = any(ORDERS[name].of_several for name in result.kept)
    chosen += wanted if result.request.orders or of_several else violated[:1]
    return [line for k, line in enumerate(chosen) if line.run not in [other.run for other in chosen[:k]]]


def _print_run(result: Conformance, line: PropertyResult) -> None:
    assert line.run is not None
    breaks = "violates" if result.unconfirmed is None else "seemed to violate"
    print_line(f"{result.protocol} {breaks} {line.property.name}: {line.property.meaning}")
    if line.note:
        print_line(f"  {line.note}")
    print_line()
    _print_actions(line.run)


def _print_actions(run: Run) -> None:
    if len(run) > LONGEST_DRAWN:
        print_line(f"  (a run of {some(len(run), 'action')}, too long to draw; --json has them)")
        print_line()
        return
    print_run(run)
    if any(action.action == "send" and not action.happened for action in run.actions):
        print_line("     (not sent yet: the application sends it inside its next delivery)")
    print_line()


def print_replay(name: str, found: Replay, *, drawings: bool) -> None:
    """The outcome of a schedule; the conclusion comes last."""
    if drawings:
        _print_actions(found.run)
    if found.differs is not None:
        print_line(f"differs from {found.schedule.implementation} at {found.differs}")
    if found.violated:
        print_line(f"this run violates {listed(found.violated)}")
    if found.best_effort is not None:
        print_line(found.best_effort)
    if found.verdict == "unknown":
        print_line(f"{name}: {found.conclusion}")
    else:
        print_line(f"{name} {found.conclusion} by this schedule")


def _shown_by(result: Conformance, line: PropertyResult) -> str:
    name = line.property.name
    if line.run is None or (name in ORDERS and line.note):
        return line.note if name in ORDERS and line.verdict == "violated" else ""
    if result.runs is not None:
        return f"{some(len(line.run), 'action')}, of random run {result.found_by[name]:,}"
    within = f", {WITH_REPLIES}" if name in result.violated_by_replies() else ""
    return f"shortest run: {some(len(line.run), 'action')}{within}"


def _facts(result: Conformance) -> list[str]:
    facts = [*_of_computations(result), *_of_replies(result)]
    if result["fifo"].verdict == "violated" and result.request.channel == "unordered" and not result.failures:
        facts.append("if the real channel keeps the order of packets, like TCP: --channel fifo")
    for name in () if result.request.orders else result.request.judged:
        if ORDERS[name].of_several and result[name].verdict == "violated":
            facts.append(f'to require {name} order: --order {name}, or promises = "{name}" in the class')
    states = "" if result.runs is not None else f"{some(result.exploration.states, 'state')}, "
    facts.append(f"{states}{result.seconds:.1f} s")
    facts += [str(result.repeats)] if result.repeats.all else []
    if not result.takes_replies:
        facts.append(f"{WITH_REPLIES}: not offered, since the node does not answer `ok replies`")
    if result.runs is not None and any(line.run is not None for line in result.violations.values()):
        facts.append("the runs shown were shortened; shorter ones may exist")
    if result.unconfirmed is not None:
        facts.append(f"not confirmed: {result.unconfirmed}")
    return facts


def _of_computations(result: Conformance) -> list[str]:
    """The computations that nodes generate with free sends, and the orders that the bound does not distinguish."""
    facts = []
    found = result.realization
    if found is not None and not found.stopped:
        computations = some(found.computations, "complete computation")
        at = f"{computations} ({some(result.request.messages, 'message')}, all delivered)"
        first, *others = found.equal_orders or [""]
        also = f"; {listed(others)} order {'has' if len(others) == 1 else 'have'} the same" if others else ""
        within = next(name for name in (*result.named, "asynchronous") if name in found.orders)
        some_of = f"some of the {found.orders[within].computations:,} of {within} order"
        exactly = f"exactly those of {first} order{also}" if first else some_of
        facts.append(f"within {found.bound}: generates {at}, {exactly}")
        replies = result.violated_by_replies()
        violated = [name for name in found.equal_orders if name in result and result[name].verdict == "violated"]
        for why, names in (
            (
                "runs that cannot be completed, which are not counted,",
                [name for name in violated if name not in replies],
            ),
            (f"{WITH_REPLIES}, which are not counted,", [name for name in violated if name in replies]),
        ):
            facts += [f"{why} violate {listed(names)}"] if names else []
    for same in result.same_orders:
        bound = f"-n {same['processes']} -m {same['messages']}"
        said = f"within this bound {same['order']} is the same as {listed(same['weaker'])} order"
        facts.append(f"{said}; {bound} distinguishes them")
    return facts


def _of_replies(result: Conformance) -> list[str]:
    """The verdict of the search with replies, or why there was none."""
    few = result.request.messages_with_replies
    if result.failures or result.runs is not None or not few:
        return []
    if result.replied:
        violated = result.violated_by_replies()
        said = f"violate {listed(violated)}, which free sends do not" if violated else "violate nothing else"
        states = some(result.searches[-1].results[0].exploration.states, "state")
        return [f"{WITH_REPLIES}, up to {some(few, 'message')}: {said}; {states}"]
    if result.verdict == "violated":
        return [f"{WITH_REPLIES} were not searched: free sends violate {listed(result.violated)}"]
    return []


def conclusion(result: Conformance) -> str:
    """The verdict in a sentence, which claims no more than the search has shown."""
    return _conclusion(result) + (" (best effort)" if result.best_effort else "")


def _conclusion(result: Conformance) -> str:
    name, orders = result.protocol, result.request.orders
    all_is_promised = DELIVERS_ALL.name in result.request.delivery
    if result.unconfirmed is not None:
        return f"{name}: unknown: an apparent violation was not confirmed"
    if result.violated:
        return f"{name} violates {listed(result.violated)}"
    if result.verdict == "unknown":
        return f"{name}: unknown: {result.undecided}{_before_replies(result)}"
    if result.runs is not None:
        also = " and delivers everything" if channel_named(result.request.channel).reliable and all_is_promised else ""
        does = f"keeps {listed(orders)} order{also}" if orders else "violates nothing"
        return f"{name} {does} in all of {some(result.made, 'random run')}{result.one_at_a_time}: a sample of all runs"
    kept = orders or result.named
    violated = [] if orders else [order for order in _weaker(kept) if order in result.violations]
    violates = f"; it violates {listed(violated)} order" if violated else ""  # multicasts may keep a stronger order
    also = ", and delivers everything" if all_is_promised else ""
    return f"{name} keeps {listed(kept)} order within the bound{result.one_at_a_time}{also}{violates}"


def _before_replies(result: Conformance) -> str:
    """The claimed orders that free sends keep, if only the search with replies ended early."""
    if not result.replied or result.ended_by is None:
        return ""
    free = result.searches[0]
    kept = [order for order in result.request.orders if {line.verdict for line in free.lines(order)} == {"holds"}]
    return f"; free sends keep {listed(kept)} order; with replies it is undecided" if kept else ""


def _weaker(orders: Sequence[str]) -> list[str]:
    """The orders that conform judges and that are listed before one of these, as far as they are about any messages."""
    of_any = [name for name in JUDGED if not ORDERS[name].of_several]
    last = max((of_any.index(order) for order in orders if order in of_any), default=0)
    return of_any[:last]
