"""What takes long of the tests in `test_knobs.py`."""

from __future__ import annotations

import pytest
from rst_knobs import map_of_rst, named

import crownless as cr
from crownless.proofs.induction.proved_properties import WAITS
from crownless.research.knobs.knob_map import KnobMap
from crownless.research.knobs.knobs_of_rst import RstByKnobs

BEFORE = "sender counts: before sending, delivered: the own column of SENT, guard: exactly one less from the sender"


@pytest.fixture(scope="module")
def of_rst() -> KnobMap:
    return map_of_rst()


def test_increment_before_sending_is_found_to_be_the_same_protocol(of_rst: KnobMap) -> None:
    """[Kup] Discussion: the form of [MF] §2 is right, and any step towards it alone is wrong."""
    before = named(of_rst, f"{BEFORE}, receiver counts: no")
    assert before.proved
    assert before.row[WAITS] == "proved", "what is safe and waits for nothing else is one protocol"
    assert before.row["generates"] == of_rst.published.row["generates"]
    assert before.row["behavior"] == of_rst.published.row["behavior"]
    assert of_rst.alike.startswith("to the application they are one protocol, for every n")
    for name in ("sender counts: before sending", "guard: exactly one less from the sender"):
        assert named(of_rst, name).outcome == "violated"


def test_the_row_and_the_column_are_refuted_only_among_four() -> None:
    both = "the sender's row and the receiver's column"
    alternatives = {name: RstByKnobs.knobs["attached"][name] for name in ("SENT", both)}
    kind, row_and_column = type("Row", (RstByKnobs,), {"knobs": {"attached": alternatives}}), f"attached: {both}"
    assert named(cr.knobs(kind, 3, 4), row_and_column).outcome == "holds"
    four = named(cr.knobs(kind, 4, 4), row_and_column)
    assert (four.violated, len(four.run)) == ("causal", 7)
