"""What takes long of the tests in `test_realizing.py`."""

from __future__ import annotations

from crownless.model_check.search.realizing import realize
from crownless.model_check.system.request import Check
from crownless.spec.orders import decide


def test_four_messages_among_four_processes_distinguish_mailbox_from_causal_order() -> None:
    answer = realize(Check("buffer", 4, 4))
    assert (answer.equals, answer.equal_orders) == ("mailbox", ["mailbox", "one-n"])
    c = answer.orders["causal"].missing
    assert c is not None
    assert len(c.messages) == 4
    assert not decide(c, "mailbox").kept
    assert realize(Check("rst", 4, 4)).equal_orders == ["causal"]
