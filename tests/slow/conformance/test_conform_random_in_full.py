"""What takes long of the tests in `test_conform_random.py`."""

from __future__ import annotations

import sys

import pytest
from command_line_runner import Crownless
from example_nodes import EXAMPLES
from relays import Relay

import crownless as cr


class AnswersTheSecond(Relay):
    """Packets follow each other without end once there are two messages."""

    def on_packet(self, source: int, packet: str) -> None:
        if packet in ("1-2.1", "2-1.2"):
            self.deliver(packet)
        else:
            self.transmit(source, packet)


def test_a_run_without_end_is_not_drawn(crownless: Crownless) -> None:
    node = f"{__file__}:AnswersTheSecond"
    answer = crownless("conform", node, "-n", "2", "-m", "2", "--random", "3", "--replies", "0")
    assert answer.code == 1
    assert "too long to draw; --json has them" in " ".join(answer.out.split())
    assert len(answer.out.splitlines()) < 60


@pytest.mark.parametrize(("options", "verdict"), [([], "holds"), (["--wrong"], "violated")])
def test_a_program_that_owns_its_socket_is_driven_through_an_adapter(options: list[str], verdict: str) -> None:
    found = cr.conform([sys.executable, str(EXAMPLES / "udp" / "adapter.py"), *options], 2, 2, orders=["fifo"])
    assert (found.failures, found.verdict) == ([], verdict)
