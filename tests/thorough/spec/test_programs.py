"""Every bundled program under every protocol that admits it: it comes to its end always, sometimes or never, and where
it blocks.

A computation is a program too: its receives name the messages, so it can be completed only as drawn.
"""

from __future__ import annotations

import pytest

from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.check import run_check
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.system.request import Check, load_program
from crownless.runtime.errors import BadInput
from crownless.spec import library

CAUSAL = (
    "isis isis-gc-waits cbcast rst rst-before rst-sent-alone ses ses-delete ses-multicast ses-rollback buffer "
    "buffer-pipelined buffer-bounded extra-messages optimal"
)
BUFFERS = "buffer buffer-pipelined buffer-bounded"
BLOCKING = "fifo-ack rendezvous"

#: Not causally ordered, as drawn or as the receives select: nobody who keeps causal order completes it. Murty & Garg's
#: P1 does, since it commits its two sends in the other order; and ISIS, if it forgets.
NOT_CAUSAL = {"never": f"{BLOCKING} {CAUSAL}", "sometimes": "isis-gc"}
#: Causal broadcast waits for messages to others; nobody else minds.
CHAIN = {"never": "cbcast"}
CROSSING = {"never": "rendezvous"}
#: As `CHAIN`, and two concurrent messages come to one input buffer in either order.
RACE = {"never": "cbcast", "sometimes": BUFFERS}

#: Where not `always`.
COMPLETES = {
    "kuper-alice-bob-carol": NOT_CAUSAL,
    "kuper-alice-bob-carol-causal": CHAIN,
    "kuper-program": CHAIN,
    "mf-fig1": CROSSING,
    "mf-fig3": CROSSING,
    "mf-fig4": NOT_CAUSAL,
    "mf-fig5": CHAIN,
    "mf-fig6": CHAIN,
    "mf-fig7": {"never": f"{BLOCKING} cbcast", "sometimes": f"{BUFFERS} murty-garg"},
    "mf-fig8": {"never": f"{BLOCKING} cbcast {BUFFERS}", "sometimes": "murty-garg"},
    "mf-footnote-2": {"never": f"{BLOCKING} buffer-bounded"},
    "mf-program-1": CHAIN,
    "mf-program-1-selective": NOT_CAUSAL,
    "mf-program-2": {"never": f"{BLOCKING} cbcast"},
    "mf-program-2-fig7": {"never": f"{BLOCKING} cbcast", "sometimes": f"{BUFFERS} murty-garg"},
    "mf-program-2-fig8": {"never": f"{BLOCKING} cbcast {BUFFERS}", "sometimes": "murty-garg"},
    "mf-program-3": {"sometimes": BUFFERS},
    "mg-fig1": {},
    "mg-fig3a": {"never": "rendezvous cbcast", "sometimes": BUFFERS},
    "mg-fig3b": CROSSING,
    "mg-fig4a": CROSSING,
    "mg-fig4b": {"never": "rendezvous cbcast", "sometimes": BUFFERS},
    "ses-fig1": NOT_CAUSAL,
    "ses-fig2": {"never": "cbcast"},
    "ses-fig2-two-tokens": {"never": "cbcast"},
    "ses-fig3": {"sometimes": BUFFERS},
    "ses-fig5": RACE,
    "ses-fig6": CHAIN,
    "ses-program-1": CHAIN,
}

#: What has more states than a test should search: there no site collects garbage.
HEAVY = {"ses-fig2-two-tokens", "mf-program-2", "mf-program-2-fig7", "mf-program-2-fig8", "mf-fig7", "mf-fig8"}


def run(protocol: str, program: str) -> CheckResult | None:
    """None: the protocol does not admit the program."""
    script = load_program(program)
    light = protocol.startswith("isis-gc") and program in HEAVY
    check = Check(protocol, program=script, parameters={"rounds": 0} if light else {})
    try:
        check.resolve()
    except BadInput:
        return None
    return run_check(check)


def test_the_table_has_every_program() -> None:
    assert set(COMPLETES) == set(library.names())


@pytest.mark.parametrize("program", COMPLETES)
def test_a_program_completes_always_sometimes_or_never(program: str) -> None:
    expected = {name: often for often, names in COMPLETES[program].items() for name in names.split()}
    multicast = program.startswith("ses-fig2")
    for protocol, kind in PROTOCOLS.items():
        result = run(protocol, program)
        assert (result is None) == (multicast and not kind.admits_multicast)
        if result is not None:
            assert result.completes == expected.get(protocol, "always"), protocol
            assert bool(result.exploration.blocked) == (result.completes != "always")


@pytest.mark.parametrize(
    ("protocol", "program", "blocks"),
    [
        ("rst", "mf-program-1-selective", {("P3 at its statement 1, receive from P2",)}),
        ("buffer", "mf-program-1-selective", {("P3 at its statement 1, receive from P2",)}),
        ("buffer", "mf-program-3", {("P2 at its statement 1, receive from P1",)}),
        ("rendezvous", "mf-fig1", {("P1 at its statement 2, receive", "P2 at its statement 2, receive")}),
        (
            "fifo-ack",
            "mf-program-2",
            {tuple(f"P{p} at its statement 2, send {m}" for p, m in ((1, "d"), (2, "b"), (3, "f")))},
        ),
        ("buffer-bounded", "mf-footnote-2", {("P1 at its statement 4, send x4", "P2 at its statement 4, send y4")}),
    ],
)
def test_a_program_that_blocks_says_where(protocol: str, program: str, blocks: set[tuple[str, ...]]) -> None:
    result = run(protocol, program)
    assert result is not None
    assert result.exploration.blocked == blocks
