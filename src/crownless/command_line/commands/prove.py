"""`crownless prove`: z3's proofs for every number of processes and messages."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import click
from rich.text import Text

from crownless.command_line.endings import exit_code, say
from crownless.command_line.options import Command, complete_protocol, with_output, with_research_flags
from crownless.command_line.output import STYLES, print_json, print_line, print_run, status
from crownless.command_line.request_options import with_limits, with_request
from crownless.command_line.tables import Rows
from crownless.impl.registry import protocol_named
from crownless.model_check.search.engines import admitted
from crownless.model_check.system.request import Check, ResolvedCheck, load_program
from crownless.proofs import proving
from crownless.proofs.induction import second_solver
from crownless.proofs.induction.causal_order import CODE
from crownless.proofs.induction.proved_properties import SHOWN, in_words
from crownless.proofs.induction.replay import Search
from crownless.proofs.language.proof_request import EFFORT, EFFORT_OF_PROGRAM, ProofRequest
from crownless.proofs.programs.every_interleaving import ProgramVerdict, judge
from crownless.proofs.programs.symbolic_run import protocols_on_terms
from crownless.runtime import research_parts
from crownless.runtime.ending import Limits, Stopped, stoppable
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import some

What = TypeVar("What", bound=Hashable)


class Requests(NamedTuple):
    """What is requested, under its key of `--json`: functions that answer, by name, and one that prints the answers.

    Each answers with a result that has `json()` and a `verdict`; its argument `progress` is called with what it does.
    """

    key: str
    answers: Mapping[str, Callable[..., Any]]
    print_all: Callable[[Any], None]


@click.command("prove", cls=Command, everyday="why recheck discover program max_seconds as_json")
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]...", shell_complete=complete_protocol)
@with_request(ProofRequest, "effort", made=lambda effort=None: effort)
@click.option("--why", is_flag=True, help="Report which hypotheses are necessary: drop each in turn, for each claim.")
@click.option("--recheck", is_flag=True, help="Recheck with a second solver, cvc5 (extra cvc5).")
@with_research_flags("prove")
@click.option("--program", help="Check this program (file or bundled name) with z3 instead.")
@click.option("--channel", help="With --program: unordered or fifo.  [default: the one the protocol needs]")
@with_limits
@with_output
def prove_(
    protocols: tuple[str, ...],
    effort: int | None,
    why: bool,
    recheck: bool,
    research: research_parts.Flag | None,
    program: str | None,
    channel: str | None,
    limits: Limits,
    as_json: bool,
    quiet: bool,
) -> int:
    """Prove that protocols keep their order, for any number of processes and messages. Without PROTOCOL: all proofs.

    \b
    Examples:
      crownless prove rst ses                    for every number of processes
      crownless prove rst --why                  which hypotheses are necessary
      crownless prove rst --program mf-fig1      one program, for all interleavings

    Exit codes: 0 everything is proved; 1 refuted by a run of the protocol; 2 bad usage, or a protocol that no proof
    covers; 3 something is not proved, or a limit was reached. What is proved, and how: proofs/README.md,
    docs/command_line.md.
    """
    protocols = tuple(dict.fromkeys(protocols))
    if (why or recheck) and (research or program is not None):
        hint = f"leave them out, or {f'--{research.name}' if research else '--program'}"
        raise BadInput("--why and --recheck work only with the written proofs", hint=hint)
    if research and program is not None:
        raise BadInput(f"--{research.name} is about every run, not about a program", hint="leave out --program")
    if program is not None:
        judged = _judge_program(protocols, program, channel, effort)
        return _answered(judged, limits, as_json=as_json, quiet=quiet)
    if channel:
        raise BadInput("--channel requires --program", hint="name a program")
    if research:
        return _answered(research_parts.part(research.answers)(protocols, effort), limits, as_json=as_json, quiet=quiet)
    effort = effort or EFFORT
    proofs = {name: proving.proof_of(protocol_named(name)) for name in protocols or proving.PROOFS}
    if recheck:
        second_solver.required()
    found: list[proving.ProofReport] = []
    needed: dict[str, dict[str, list[str]]] = {}
    with status(quiet or as_json) as line, stoppable(limits) as part:
        for name, proof in proofs.items():

            def report(claim: str, name: str = name) -> None:
                line.update(f"{name}: {claim}")

            found.append(proving.prove(name, proof, effort, report, recheck=recheck))
            if found[-1].stopped is not None:
                break
            if why:  # if this is interrupted, the answer lacks it
                differs = found[-1].differs is not None
                needed[name] = {} if differs else proving.necessary_hypotheses(proof, effort, report)
    if part.reason is not None and not found:
        raise Stopped(part.reason)
    if as_json:
        facts = [proved.json() for proved in found]
        facts = [{**fact, "needs": needed.get(fact["protocol"])} for fact in facts] if why else facts
        print_json({"proofs": facts})
    else:
        _print(found, needed, drawings=not quiet)
    outcomes = {proved.outcome(shown) for proved in found for shown in SHOWN}
    left_out = [name for name in proofs if name not in {proved.protocol for proved in found}]
    unfinished = bool(left_out) or any(proved.stopped for proved in found) or (why and len(needed) < len(found))
    if part.reason is not None and unfinished:
        outcomes.add("unknown")
        say(part.reason + f"; not proved: {', '.join(left_out)}" * bool(left_out))
    return exit_code(outcomes)


def _print(found: list[proving.ProofReport], needed: dict[str, dict[str, list[str]]], *, drawings: bool) -> None:
    explained = [proved for proved in found if not proved.refuted or proved.proved]
    by_z3 = [proved for proved in found if proved.proved]
    for proved in found:
        _print_refutation(proved, drawings=drawings)
    asked_again = any(proved.confirmed is not None for proved in found)
    of = ["of"] if any(proved.of != CODE for proved in by_z3) else []
    rows = Rows("protocol", *map(in_words, SHOWN), *of, right=("claims", *(["cvc5"] if asked_again else []), "seconds"))
    for proved in found:
        outcomes: list[str] = [proved.outcome(shown) for shown in SHOWN]
        if of:
            outcomes.append(proved.of if proved.proved else "")
        again = [str(proved.confirmed)] if asked_again else []
        counted = [str(len(proved.claims)), *again, f"{proved.seconds:.1f}"]
        rows.add_row(proved.protocol, *outcomes, *counted)
    rows.print()
    for proved in found:
        _print_doubts(proved, needed.get(proved.protocol, {}))
    undecided = [proved for proved in found if not proved.stopped and not proved.refuted]
    if any(put.verdict.outcome == "unknown" for proved in undecided for put in proved.claims):
        print_line("Where z3 gave up: raise --effort.")
    if any(needed.values()):
        print_line(
            "Needed: with all other hypotheses but without this one, z3 does not prove the claim: it refutes it, or "
            "gives up (?). This is not a derivation: where either of two suffices, neither is named."
        )
    if explained:
        print_line()
        _print_meanings(explained)
    if by_z3:
        _print_reach(by_z3, of=bool(of))


def _print_meanings(found: list[proving.ProofReport]) -> None:
    """The meaning of each property, and what follows from those that are proved."""
    for shown in SHOWN:
        of_it = [proved for proved in found if shown in proved.proof.shown]
        for known, names in _together((proved.proof.shown[shown], proved.protocol) for proved in of_it):
            print_line(f"{in_words(shown)}{names}: {known.means}")
        proved_of = [proved for proved in of_it if shown in proved.proved and proved.proof.shown[shown].follows]
        for known, names in _together((proved.proof.shown[shown], proved.protocol) for proved in proved_of):
            print_line(f"{in_words(shown)}{names}, hence (argued in words): {known.follows}")


def _print_reach(by_z3: list[proving.ProofReport], *, of: bool) -> None:
    """How far what is proved reaches, the assumptions that it uses, and what is trusted."""
    for proved in by_z3:
        if proved.proof.remark:
            print_line(f"{proved.protocol}: {proved.proof.remark}")
        _print_machine(proved)
    print_line(f"For any number of processes and messages{', of what the column `of` names' if of else ''}.")
    for assumed, names in _together((tuple(proved.assumed), proved.protocol) for proved in by_z3):
        print_line(f"Assumed{names}:")
        for assumption in assumed:
            print_line(f"- {assumption}")
    for rests_on, names in _together((proved.trusted, proved.protocol) for proved in by_z3):
        print_line(f"Trusted{names}:")
        for thing in rests_on:
            print_line(f"- {thing}")


def _print_refutation(proved: proving.ProofReport, *, drawings: bool) -> None:
    """Prints the refuting run; claims that z3 gave up make no difference then."""
    if proved.search is None or proved.refutation is None:
        return
    for shown in proved.refuted:
        print_line(f"{proved.protocol}: {in_words(shown)} is refuted: {proved.proof.shown[shown].means}")
    print_line(f"by this run of its code alone, over the {proved.search.channel} channel; nothing else is assumed:")
    print_run(proved.refutation.run, drawn=drawings)
    print_line()


def _print_machine(proved: proving.ProofReport) -> None:
    """The extent to which the implementation matches the proved abstraction, or another form of it."""
    steps = [put for put in proved.claims if put.part == proving.STEPS]
    if steps:
        print_line(
            f"{proved.protocol}: each step of its code is shown to be one of the abstraction, and each of the "
            f"abstraction one of its code ({some(len(steps), 'claim')}; queues of any content)"
        )
    for each in proved.compared:
        scope = f"up to {each.processes} processes and any number of messages"
        print_line(f"{proved.protocol}: the machine matches what is proved ({scope}, {each.states:,} states)")


def _print_doubts(proved: proving.ProofReport, needed: dict[str, list[str]]) -> None:
    """The unproved claims, and the necessary hypotheses of the others."""
    claims = some(len(proved.claims), "claim")
    given_up = sum(put.verdict.outcome == "unknown" for put in proved.claims)
    if proved.differs is not None:
        print_line(f"{proved.protocol}: not proved: {proved.differs}")
    if proved.stopped is not None:
        left = (
            f"{given_up} of its {claims} not put to z3" if given_up else "the search for a refuting run is not finished"
        )
        print_line(f"{proved.protocol}: {proved.stopped}: {left}")
        return
    if given_up == len(proved.failures) > 0 and not proved.refuted and not needed:
        print_line(f"{proved.protocol}: z3 gave up on {given_up} of its {claims}")
        return
    for put in proved.failures:
        if proved.refuted and put.verdict.outcome == "unknown":
            continue  # the run has decided
        because = f": {put.verdict.reason}" if put.verdict.reason else ""
        of_step = "a step of its code: " if put.part == proving.STEPS else ""
        outcome = "not proved" if put.verdict.outcome == "refuted" else put.verdict.outcome
        print_line(f"{proved.protocol}: {of_step}{outcome}: {put.verdict.name}{because}")
    if not proved.refuted:
        if proved.search is not None:
            _print_search(proved.protocol, proved.search)
        if proved.claims and not proved.not_vacuous:
            print_line(f"{proved.protocol}: the proof may be vacuous: no satisfying state found")
    for put in proved.claims:
        if put.again not in (None, "proved"):
            print_line(f"{proved.protocol}: cvc5 says {put.again}: {put.verdict.name}")
    for name, hypotheses in needed.items():
        print_line(f"{proved.protocol}: {name}: needed: {'; '.join(hypotheses) or 'none'}")


def _print_search(protocol: str, search: Search) -> None:
    """The search for a refuting run, which found none."""
    if search.incomplete is not None:
        why = f"not every run was explored: {search.incomplete} ({search.scope})"
        print_line(f"{protocol}: nothing is refuted, but {why}")
        return
    print_line(
        f"{protocol}: nothing is refuted: every run keeps the order and delivers everything ({search.scope}); perhaps "
        "the protocol is correct and the proof does not fit it (crownless check tries larger bounds)"
    )


def _together(notes: Iterable[tuple[What, str]]) -> list[tuple[What, str]]:
    """Prints notes on several protocols, each once: the most frequent without names, the others with names."""
    names: dict[What, list[str]] = {}
    for what, name in notes:
        names.setdefault(what, []).append(name)
    usual = max(names, key=lambda what: len(names[what]), default=None)
    return [(what, "" if what == usual else f" of {', '.join(of_it)}") for what, of_it in names.items()]


# -- --program, and what research adds ---------------------------------------------------------------------------------


def _judge_program(protocols: tuple[str, ...], program: str, channel: str | None, effort: int | None) -> Requests:
    """The requests to judge the program under each protocol; without one: under all that admit it."""
    script = load_program(program)

    def check(protocol: str) -> Check:
        return Check(protocol, program=script, channel=channel)

    every = [check(protocol) for protocol in protocols_on_terms()]
    admitting = [one for one in every if isinstance(admitted(one), ResolvedCheck)]
    checks = [check(protocol) for protocol in protocols] or admitting
    answers = {one.name: partial(judge, one, effort or EFFORT_OF_PROGRAM) for one in checks}
    return Requests("programs", answers, _print_programs)


def _answered(requested: Requests, limits: Limits, *, as_json: bool, quiet: bool) -> int:
    """Answers the requests in turn, and prints the answers; returns the exit code of the worst."""
    found: list[Any] = []
    with status(quiet or as_json) as line, stoppable(limits) as part:
        for name, answer in requested.answers.items():
            found.append(answer(progress=lambda what, name=name: line.update(f"{name}: {what}")))
    if part.reason is not None and not found:
        raise Stopped(part.reason)
    if as_json:
        print_json({requested.key: [each.json() for each in found]})
    else:
        requested.print_all(found)
    verdicts = {each.verdict for each in found}
    if part.reason is not None:
        verdicts.add("unknown")
        say(f"{part.reason}; not all requests are answered")
    return exit_code(verdicts)


def _print_programs(judgements: list[ProgramVerdict]) -> None:
    rows = Rows("protocol", "property", "kind", "verdict", right=("seconds",))
    for judged in judgements:
        for found in judged.properties:
            if found.verdict == "violated" and found.run is not None:
                print_line(f"{judged.protocol} violates {found.property.name}: {found.property.meaning}")
                print_line()
                print_run(found.run)
                print_line()
    for judged in judgements:
        name = judged.protocol
        for found in judged.properties:
            verdict = Text(found.verdict, style=STYLES[found.verdict])
            if found.run is not None and found.verdict == "violated":
                length = len(found.run.actions)
                shortest = "shortest run" if found.shortest else "by a run"
                verdict.append(f" ({shortest}: {some(length, 'action')})", style="")
            if found.note:
                verdict.append(f" ({found.note})", style="")
            rows.add_row(name, found.property.name, found.property.kind, verdict, f"{found.seconds:.1f}")
            name = ""
    for judged in judgements:
        print_line(f"{judged.protocol}: {judged.scope}")
    rows.print()
    for judged in judgements:
        print_line(f"{judged.protocol}: completes: {judged.completes}")
        if judged.not_asked:
            print_line(f"{judged.protocol}: not checked here: {', '.join(judged.not_asked)}")
    if any(found.gave_up for judged in judgements for found in judged.properties):
        print_line("where z3 gave up: raise --effort")
