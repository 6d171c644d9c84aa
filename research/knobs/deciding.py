"""One combination decided: refuted by a shortest run, or explored at growing bounds, proved, compared and priced."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from crownless.impl.protocol import ProtocolMachine, promised_orders
from crownless.model_check.check.check import run_check
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.search.engines import REDUCTIONS
from crownless.model_check.search.explorer import explore
from crownless.model_check.search.generating import generate
from crownless.model_check.system.request import Check
from crownless.proofs import proving
from crownless.proofs.induction.proved_properties import WAITS
from crownless.proofs.induction.replay import ASSUMED_BY_PROOFS
from crownless.proofs.language.refusals import Refused
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import with_article

from .combinations import Combination, class_with_knobs, knobs_of
from .prices import price_of
from .same_behavior import behavior_of
from .same_functions import functions_of

#: Up to this bound a combination is explored before its duplicates are left out.
SMALL = (3, 3)
#: Beyond this sum of processes and messages, symmetry reduction saves more than it takes.
LARGE = 8
#: Combinations are compared within this bound, by the number of processes: a comparison lists every computation.
COMPARED = {1: 5, 2: 5, 3: 3}
#: Channels in the order of what they guarantee; a protocol that holds over one holds over those after it.
CHANNELS = ("duplicating", "unordered", "fifo")
#: The bounds over channels that are not the protocol's own.
ELSEWHERE = {"duplicating": (3, 3), "unordered": (3, 3), "fifo": (3, 4)}
LIVENESS = ("delivers-all", "never-blocks")
#: Violated by a combination whose code raises an error; its `run` is the message.
FAILS = "fails"


@dataclass(frozen=True)
class Explored:
    """What the exploration at growing bounds says of a combination over one channel."""

    processes: int  #: the largest bound, or that at which it is refuted
    messages: int
    violated: str | None = None  #: the property that a shortest run violates; None: all hold
    run: tuple[str, ...] = ()  #: its actions
    unknown: str | None = None  #: why a bound was not explored to its end

    @property
    def holds(self) -> bool:
        return self.violated is None and self.unknown is None


def growing(bound: tuple[int, int]) -> list[tuple[int, int]]:
    """The bounds up to this one: two processes and messages, then one message and one process more in turn.

    >>> growing((3, 4))
    [(2, 2), (2, 3), (3, 3), (3, 4)]
    """
    bounds = [(min(2, bound[0]), min(2, bound[1]))]
    while bounds[-1] != bound:
        n, m = bounds[-1]
        more_messages = m < bound[1] and (m <= n or n == bound[0])
        bounds.append((n, m + 1) if more_messages else (n + 1, m))
    return bounds


def explored(of: Combination, bounds: list[tuple[int, int]], channel: str) -> Explored:
    """The combination explored at these bounds, up to the first that refutes it."""
    said = Explored(*bounds[0])
    for n, m in bounds:
        how: dict[str, Any] = {"engine": "plain"} if _is_small(n, m) else {"workers": 1}
        if n + m > LARGE and of.of.symmetric:
            how["reductions"] = REDUCTIONS
        result = run_check(Check(of.protocol, n, m, channel=channel), first=True, **how)
        said = _explored(result, n, m)
        if not said.holds:
            break
    return said


def _explored(result: CheckResult, n: int, m: int) -> Explored:
    owed = [each for each in result.properties if each.property.kind != "sometimes" and each.property.promised]
    violated = [each for each in owed if each.verdict == "violated"]
    if violated:
        shortest = min(violated, key=lambda each: len(each.run or ()))
        actions = () if shortest.run is None else tuple(action.say() for action in shortest.run.actions)
        return Explored(n, m, shortest.property.name, actions)
    if any(each.verdict == "unknown" for each in owed):
        return Explored(n, m, unknown=result.exploration.stopped or "not decided")
    return Explored(n, m)


def compared_at(bound: tuple[int, int]) -> tuple[int, int]:
    """The bound within which combinations are compared, up to this one."""
    n = min(bound[0], max(COMPARED))
    return n, min(bound[1], COMPARED[n])


def elsewhere(of: Combination, channel: str, bound: tuple[int, int]) -> tuple[int, int]:
    """The bound over a channel that is not its own, up to this one."""
    most = ELSEWHERE[channel] if of.of.sends == "unicast" else SMALL
    return min(most[0], bound[0]), min(most[1], bound[1])


def weakest_channel(of: Combination, channel: str, own: Explored, bound: tuple[int, int]) -> str | None:
    """The channel that guarantees least over which the combination holds, up to the bound `elsewhere`.

    None: there is none.

    `own`: what was found over this channel. A stronger channel is tried only where an order is violated.
    """
    if channel not in CHANNELS:
        return channel if own.holds else None
    place = CHANNELS.index(channel)
    if own.holds:
        weaker = [each for each in CHANNELS[:place] if _holds_over(of, each, bound)]
        return (weaker or [channel])[0]
    stronger = CHANNELS[place + 1 :] if own.violated not in LIVENESS else ()
    return next((each for each in stronger if _holds_over(of, each, bound)), None)


def _holds_over(of: Combination, channel: str, bound: tuple[int, int]) -> bool:
    *smaller, last = growing(elsewhere(of, channel, bound))
    for n, m in smaller:
        check = Check(of.protocol, n, m, channel=channel).resolve()
        promised = [each for each in check.properties if each.promised]
        if explore(check.system(), promised, first=True).violated:  # without a run to show
            return False
    return explored(of, [last], channel).holds


# -- rows of a sweep ---------------------------------------------------------------------------------------------------

#: A combination that is to be decided, or its decision.
Row = dict[str, Any]

REQUEST = {
    "key": "string", "protocol": "string", "places": "string", "processes": "int64", "messages": "int64",
    "channel": "string",
}  # fmt: skip
EXPLORED = {
    "violated": "string", "at_processes": "int64", "at_messages": "int64", "run": "string", "unknown": "string",
}  # fmt: skip
#: The columns of combinations explored up to `SMALL`, and of the survivors explored up to the bound.
FIRST = {**REQUEST, **EXPLORED, "weakest_channel": "string", "functions": "string"}
SECOND = {
    **REQUEST, **EXPLORED, "generates": "string", "computations": "int64", "behavior": "string",
    "safe": "string", WAITS: "string",
    "live": "string", "unproved": "string", "stamp": "double", "state": "double", "work": "double", "control": "double",
}  # fmt: skip

#: Classes that are no other process's to import, by the name in their rows.
GIVEN: dict[str, type[ProtocolMachine]] = {}


def combination_of(row: Row) -> Combination:
    """The combination of a row."""
    name = row["protocol"]
    kind = GIVEN[name] if name in GIVEN else class_with_knobs(name)
    return Combination(kind, knobs_of(kind), tuple(map(int, row["places"].split("."))))


def decided(row: Row, decide: Callable[[Combination, Row], Row], columns: Iterable[str]) -> Row:
    """The decision. A combination whose code fails is violated, unless it is the first one."""
    of = combination_of(row)
    try:
        return decide(of, row)
    except BadInput as error:
        if not any(of.places):
            raise
        return {**dict.fromkeys(columns), **row, "violated": FAILS, "run": error.message}


def first_row(row: Row) -> Row:
    """The combination explored up to `SMALL`, over its own channel and others; survivors with their functions."""
    return decided(row, _first, FIRST)


def second_row(row: Row) -> Row:
    """A survivor put to the proof, and explored up to the bound; if it survives again, what it generates and its price.

    The two are independent: what is proved and refuted shows a fault of this tool.
    """
    return decided(row, _second, SECOND)


def _first(of: Combination, row: Row) -> Row:
    small = (min(row["processes"], SMALL[0]), min(row["messages"], SMALL[1]))
    own = explored(of, growing(small), row["channel"])
    functions = functions_of(of.protocol) if own.holds else None
    digest = None if functions is None else hashlib.sha256(functions.encode()).hexdigest()[:16]
    weakest = weakest_channel(of, row["channel"], own, (row["processes"], row["messages"]))
    return {**row, **_columns(own), "weakest_channel": weakest, "functions": digest}


def _second(of: Combination, row: Row) -> Row:
    bound = (row["processes"], row["messages"])
    own = explored(of, [each for each in growing(bound) if not _is_small(*each)] or [bound], row["channel"])
    known: Row = dict.fromkeys(SECOND) | row | _columns(own) | proved(of, row["channel"])
    if not own.holds:
        return known
    check = Check(of.protocol, *compared_at(bound), channel=row["channel"]).resolve()
    forms = generate(check.machine, check.workload, check.channel).forms
    known |= {"generates": hashlib.sha256(repr(sorted(forms)).encode()).hexdigest()[:16], "computations": len(forms)}
    known["behavior"] = behavior_of(check.system())
    return known | price_of(of, row["channel"])._asdict()


def _is_small(n: int, m: int) -> bool:
    return n <= SMALL[0] and m <= SMALL[1]


def _columns(said: Explored) -> Row:
    where = {"at_processes": said.processes, "at_messages": said.messages}
    return {"violated": said.violated, **where, "run": "\n".join(said.run), "unknown": said.unknown}


#: Said of a class that is not derived from a protocol with a proof.
NO_PROOF = "no proof for every n covers this class"
#: Said of a class whose steps are not those of the abstraction that is proved.
NOT_REFINED = "the proof is of an abstraction that this code is not shown to refine"


def proved(of: Combination, channel: str) -> Row:
    """The outcome for each property, or why there is no proof."""
    if channel not in ASSUMED_BY_PROOFS:
        return {"unproved": f"the proofs are not about {with_article(channel)} channel"}
    if not promises_what_is_proved(of.of):
        return {"unproved": "the proof is not of all that this class promises"}
    try:
        return _outcomes(of, proving.proof_of(of.protocol), channel)
    except Refused as error:
        return {"unproved": error.message}
    except BadInput:
        return {"unproved": NO_PROOF}


def promises_what_is_proved(kind: type[ProtocolMachine]) -> bool:
    """True if the class promises what the protocol with a proof does from which it is derived, and no more."""
    proof_of = {proof.protocol for proof in proving.PROOFS.values()}
    base = next((each for each in kind.__mro__ if each in proof_of), kind)
    same = promised_orders(kind) == promised_orders(base) and isinstance(kind.promises, str)
    return same and all(base.invariants.get(name) is known for name, known in kind.invariants.items())


def _outcomes(of: Combination, proof: proving.Proof, channel: str) -> Row:
    report = proving.prove(of.name, proof, attempts=1, channel=channel)
    said: Row = {shown: report.outcome(shown) for shown in proof.shown}
    if all(outcome == "proved" for outcome in said.values()):
        return said
    if report.differs is not None:
        return {**said, "unproved": NOT_REFINED}
    if report.failures:
        failed = report.failures[0]
        why = "z3 gave up" if failed.verdict.outcome == "unknown" else "z3 has a state in which it fails"
        return {**said, "unproved": f"{failed.claim.name}: {why}"}
    return {**said, "unproved": "the proof may be vacuous: no satisfying state found"}
