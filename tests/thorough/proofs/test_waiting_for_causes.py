"""What the proofs say of waiting: a message waits only for its causes. That is no comparison with other protocols."""

from __future__ import annotations

import re
from typing import Any

import pytest
from command_line_runner import Crownless

import crownless as cr
from crownless.impl.protocol import Packet
from crownless.impl.protocols.rst import Rst, State
from crownless.impl.registry import PROTOCOLS
from crownless.proofs.induction.causal_order import CausalOrder
from crownless.proofs.induction.proved_properties import OF_CAUSAL_ORDER, SHOWN, WAITS
from crownless.proofs.proving import PROOFS
from crownless.research.costs.experiment import Experiment
from crownless.research.costs.simulation import simulate

MEANS = (
    "a message that has arrived waits only while one that was sent causally before it to the same receiver is not "
    "delivered"
)
ISIS = "a protocol that also carries messages in other packets, such as isis, can deliver it sooner"


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_prove_prints_that_a_message_waits_only_for_its_causes_and_what_follows(crownless: Crownless) -> None:
    printed = one_line(crownless("prove", "rst").out)
    assert f"waits only for causes: {MEANS}" in printed
    assert "hence (argued in words): delivered as soon as it is accepted" in printed
    for hypothesis in (
        "no later than by any protocol that keeps causal order and delivers each message from its own packet",
        "in a run with the same sends, happened-before and arrivals",
    ):
        assert hypothesis in printed
    assert ISIS in printed
    for claimed in ("optimal", "no protocol"):
        assert claimed not in printed


def test_the_json_says_the_same(crownless: Crownless) -> None:
    (fact,) = crownless("prove", "rst", "--json").json["proofs"]
    assert {shown: fact[shown] for shown in SHOWN} == dict.fromkeys(SHOWN, "proved")
    assert fact["means"][WAITS] == MEANS
    assert fact["follows"][WAITS].endswith(ISIS)
    assert "optimal" not in str(fact)


def test_no_property_of_a_proof_is_called_optimal() -> None:
    for proof in PROOFS.values():
        for name, known in proof.shown.items():
            assert name in SHOWN
            assert "optimal" not in f"{name} {known.means} {known.follows}"
    with pytest.raises(cr.BadInput, match="unknown property 'optimal'"):
        cr.prove("rst", effort=1).outcome("optimal")


def test_isis_is_sooner_and_extra_messages_are_later_than_a_protocol_that_waits_only_for_causes() -> None:
    """In simulations: so the property compares no protocols that send other messages, or carry them otherwise."""

    def later(protocol: str) -> float:
        runs = [simulate(Experiment(protocol, load=1, messages=400, seed=seed)) for seed in range(5)]
        return sum(run.added for run in runs if run.added is not None)

    assert later("isis") < later("rst") < later("extra-messages")


def test_the_proof_of_extra_messages_counts_them_as_messages_and_says_so() -> None:
    proof = PROOFS["extra-messages"]
    assert isinstance(proof, CausalOrder)
    assert "of the application or an extra one" in proof.shown[WAITS].means
    assert "a message of the application may wait for an extra message" in proof.shown[WAITS].follows
    assert {name for name, each in PROOFS.items() if WAITS in each.shown and each.shown != OF_CAUSAL_ORDER} == {
        "extra-messages"
    }
    assert proof.protocol is PROTOCOLS["extra-messages"]


class OneFromEach(Rst):
    """Delivers only the first message of each process: safe, and not live."""

    def deliverable(self, i: Any, state: State, packet: Packet) -> Any:
        return self.ops.all_of(Rst.deliverable(self, i, state, packet), state.deliv[packet.source] < 1)


def test_only_the_assumptions_that_are_used_are_printed() -> None:
    proved = cr.prove(OneFromEach)
    assert {shown: proved.outcome(shown) for shown in SHOWN} == {
        "safe": "proved",
        WAITS: "not proved",
        "live": "refuted",
    }
    assert proved.assumed == [each for each in proved.proof.assumed if not each.startswith("live: ")]
    assert len(proved.assumed) == len(proved.proof.assumed) - 1
    assert cr.prove("rst").assumed == list(PROOFS["rst"].assumed)
    assert proved.json()["assumptions"] == proved.assumed
