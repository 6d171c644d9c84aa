"""`crownless prove`: what does z3 show for every number of processes and messages?"""

from __future__ import annotations

import click

from crownless.impl.registry import protocol_named
from crownless.proofs.any_run import ASSUMED
from crownless.proofs.proving import PROOFS, SHOWN, Proved, needs, prove
from crownless.proofs.theorem import EFFORT, Claim
from crownless.spec.errors import BadInput

from .output import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED, print_json, print_table, status, table


@click.command("prove")
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]...")
@click.option(
    "--effort",
    type=click.IntRange(min=1),
    default=EFFORT,
    help="Steps of z3 for one attempt at a claim, of which it has five.",
)
@click.option("--why", is_flag=True, help="Drop each hypothesis of each claim in turn: which ones does it need?")
@click.option("--json", "as_json", is_flag=True, help="Print every fact as JSON.")
def prove_(protocols: tuple[str, ...], effort: int, why: bool, as_json: bool) -> int:
    """Prove that protocols realise causal order, for any number of processes and messages.

    Every step is taken by the protocol's own code, run on terms of z3. Without a PROTOCOL: all that have a proof.

    Exit codes: 0 all is proved, 1 z3 refutes a step of a proof, 3 z3 gives up on one.
    """
    for name in protocols:
        protocol_named(name)
        if name not in PROOFS:
            mend = f"crownless check {name} looks at all runs up to a bound; there are proofs of: {', '.join(PROOFS)}"
            raise BadInput(f"{name}: there is no proof of it", mend=mend)
    found, needed = [], {}
    with status(as_json) as line:
        for name in protocols or PROOFS:

            def tell(claim: Claim, name: str = name) -> None:
                if line is not None:
                    line.update(f"{name}: {claim.name}")

            found.append(prove(name, PROOFS[name], effort, tell))
            if why:
                needed[name] = needs(PROOFS[name], effort, tell)
    if as_json:
        facts = [proved.json() for proved in found]
        print_json([{**fact, "needs": needed[fact["protocol"]]} for fact in facts] if why else facts)
    else:
        _print(found, needed)
    outcomes = {proved.outcome(shown) for proved in found for shown in SHOWN}
    return EXIT_VIOLATED if "refuted" in outcomes else EXIT_UNKNOWN if "unknown" in outcomes else EXIT_HOLDS


def _print(found: list[Proved], needed: dict[str, dict[str, list[str]]]) -> None:
    rows = table("protocol", *SHOWN, right=("claims", "seconds"))
    for proved in found:
        outcomes = [proved.outcome(shown) for shown in SHOWN]
        rows.add_row(proved.protocol, *outcomes, str(len(proved.claims)), f"{proved.seconds:.1f}")
    print_table(rows)
    for proved in found:
        for put in proved.failures:
            because = f": {put.verdict.reason}" if put.verdict.reason else ""
            print(f"{proved.protocol}: {put.verdict.outcome}: {put.verdict.name}{because}")
        if not proved.not_vacuous:
            print(f"{proved.protocol}: no situation was found in which a message with something before it is accepted")
        for name, hypotheses in needed.get(proved.protocol, {}).items():
            print(f"{proved.protocol}: {name}, from: {'; '.join(hypotheses) or 'nothing'}")
    print()
    for shown, (meaning, _) in SHOWN.items():
        print(f"{shown}: {meaning}")
    for proved in found:
        if PROOFS[proved.protocol].remark:
            print(f"{proved.protocol}: {PROOFS[proved.protocol].remark}")
    print("For any number of processes and messages. Assumed:")
    for assumption in ASSUMED:
        print(f"- {assumption}")
