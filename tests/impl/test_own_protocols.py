"""Protocols from outside the package: by file, by module, by entry point, by class; and the template to begin with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless

import crownless as cr
from crownless.impl import own_protocols
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.registry import is_bundled, name_of, protocol_named, qualified_name_of

HUB = """
import crownless as cr

class Hub(cr.Protocol):
    promises = "causal"

    def initial(self, i):
        return ()

    def send(self, i, state, message):
        packets = [cr.Packet(i, q, "message", message) for q in message.receivers]
        return [cr.Step(state, packets, [cr.sent(message)])]

    def on_packet(self, i, state, packet):
        return [cr.Step(state, [], [cr.delivered(packet.message)])]
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own with `hub.py` in it, in which commands are run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "hub", raising=False)
    own_protocols.registered.cache_clear()
    file = tmp_path / "hub.py"
    file.write_text(HUB)
    yield file
    own_protocols.registered.cache_clear()


@pytest.mark.parametrize("spelled", ["hub.py:Hub", "./hub.py:Hub", "hub:Hub", "hub.py"])
def test_a_class_is_checked_by_its_file_or_module(hub: Path, crownless: Crownless, spelled: str) -> None:
    code, out, _ = crownless("check", spelled, "-n", "2", "-m", "2", "--json")
    assert code == 1
    assert '"violated"' in out
    assert ":Hub" in out


def test_every_verb_takes_it(hub: Path, crownless: Crownless) -> None:
    code, out, _ = crownless("realize", "hub.py:Hub", "-n", "2", "-m", "2")
    assert code == 1
    assert "within 2 processes and 2 messages: exactly asynchronous" in out
    code, out, _ = crownless("cost", "hub.py:Hub", "-n", "3", "-m", "50", "--seeds", "2")
    assert code == 1
    assert "hub.py:Hub" in out
    code, out, _ = crownless("check", "rst", "hub.py:Hub", "-n", "2", "-m", "2", "--quiet")
    assert code == 1
    assert "hub.py:Hub" in out
    code, _, err = crownless("prove", "hub.py:Hub")
    assert code == 2
    assert "hub.py:Hub: neither it nor any of its base classes has a proof" in err


def test_a_search_of_it_is_saved_but_a_saved_file_names_no_code_to_run(hub: Path, crownless: Crownless) -> None:
    code, *_ = crownless("check", "hub.py:Hub", "--engine", "native", "--max-states", "500", "--checkpoint", "saved")
    assert code in (1, 3)
    code, _, err = crownless("check", "--resume", "saved")
    assert code == 2
    assert err == (
        "crownless: --resume saved: the saved search checks hub.py:Hub, and a saved file cannot name code to run; name "
        "the protocol again, with the options of that check: crownless check hub.py:Hub --resume saved\n"
    )
    code, out, _ = crownless("check", "hub.py:Hub", "--resume", "saved", "--json", "--engine", "native")
    assert code == 1
    assert '"states": 2561' in out


def test_what_is_derived_from_a_proved_protocol_is_put_to_its_proof(hub: Path, crownless: Crownless) -> None:
    Path("mine.py").write_text(
        "from crownless.impl.protocols.rst import Rst\n\nclass Same(Rst):\n    'As it is.'\n\nclass Deaf(Rst):\n"
        "    def deliverable(self, i, state, packet):\n        return self.ops.zero == self.ops.zero\n"
    )
    code, out, _ = crownless("prove", "mine.py:Same")
    assert code == 0
    assert out.splitlines()[1].split()[:4] == ["mine.py:Same", "proved", "proved", "proved"]
    assert crownless("prove", "mine.py:Deaf")[0] != 0


# -- broadcasts --------------------------------------------------------------------------------------------------------

TO_ALL = "any process to all, itself included"


def test_a_class_says_that_senders_deliver_their_own_broadcasts(hub: Path, crownless: Crownless) -> None:
    hub.write_text(HUB + '    sends = "broadcast-to-all"\n')
    code, out, _ = crownless("check", "hub.py:Hub", "-n", "2", "-m", "1")
    assert code == 0
    assert TO_ALL in " ".join(out.split())
    _, out, _ = crownless("check", "hub.py:Hub", "-n", "2", "-m", "1", "--sends", "broadcast")
    assert "any process to all others;" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            "--sends broadcast-to-all",
            'excludes messages to oneself; leave out --sends broadcast-to-all, or declare in the class: sends = "broad',
        ),
        (
            "--self-sends",
            'excludes messages to oneself; leave out --self-sends, or declare in the class: sends = "broad',
        ),
        (
            "--sends broadcast",
            "has no messages to several processes; leave out --sends, or declare in the class: sends",
        ),
    ],
)
def test_a_class_that_does_not_admit_such_messages_is_told_what_to_declare(
    hub: Path, crownless: Crownless, options: str, line: str
) -> None:
    code, _, err = crownless("check", "hub.py:Hub", *options.split())
    assert code == 2
    assert f"crownless: hub.py:Hub {line}" in err


def test_a_sender_that_delivers_its_own_broadcast_is_pointed_to_the_attribute(hub: Path, crownless: Crownless) -> None:
    own = HUB.replace("[cr.sent(message)]", "[cr.sent(message), cr.delivered(message)]")
    hub.write_text(own + '    sends = "broadcast"\n')
    code, out, _ = crownless("check", "hub.py:Hub", "-n", "2", "-m", "1")
    assert code == 1
    assert 'if senders deliver their own broadcasts: sends = "broadcast-to-all"' in " ".join(out.split())


# -- what cannot be loaded ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelled", "line"),
    [
        ("nohub.py:Hub", "nohub.py: no such file; give a Python file and the class in it, such as hub.py:Hub"),
        ("hub.py:Hib", "hub.py has no class 'Hib'; did you mean 'Hub'? its protocols: hub.py:Hub"),
        ("nohub:Hub", "there is no module nohub; run it where the module can be imported, or give a file"),
        ("hub.py:cr", "hub.py:cr is a module, which is not a protocol; derive a class from crownless.Protocol"),
        ("hub.py:cr.Packet", "hub.py:cr.Packet is the class Packet, which is not a protocol; derive a class from"),
        ("a b:Hub", "'a b' is not a module; name a protocol as file.py:Class or package.module:Class"),
        ("hubb", "unknown protocol 'hubb'; known: unordered"),
        ("Hub", "unknown protocol 'Hub'; did you mean hub.py:Hub?"),
    ],
)
def test_a_wrong_name_is_one_line(hub: Path, crownless: Crownless, spelled: str, line: str) -> None:
    code, out, err = crownless("check", spelled)
    assert (code, out) == (2, "")
    assert err.startswith(f"crownless: {line}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import crownless as cr\nx = (1,\n", "hub.py:2:5: '(' was never closed; correct it"),
        ("def f():\n    return 1 // 0\n\nf()\n", "hub.py:2: it cannot be imported: ZeroDivisionError"),
        ("import sys\nsys.exit()\n", "hub.py:2: it cannot be imported: SystemExit"),
        ("import nothing_of_that_name\n", "hub.py:1: it cannot be imported: ModuleNotFoundError"),
        (
            "import crownless as cr\n",
            "hub.py has no class 'Hub'; its protocols: none; begin with: crownless new hub.py",
        ),
        (HUB + "\nclass Other(Hub):\n    pass\n", "hub.py has 2 protocols; name one: hub.py:Hub, hub.py:Other"),
        ("import crownless as cr\n\nclass Other: ...\n", "hub.py has no protocol; begin with: crownless new hub.py"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_with_its_place(
    hub: Path, crownless: Crownless, text: str, line: str
) -> None:
    hub.write_text(text)
    code, _, err = crownless("check", "hub.py" if "class Other" in text else "hub.py:Hub")
    assert code == 2
    assert line in err
    assert err.count("\n") == 1


NODE = "class Peer:\n    def on_send(self, to, message): ...\n    def on_packet(self, source, packet): ...\n"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (
            "check peer_of_hub.py",
            "peer_of_hub.py has no protocol; peer_of_hub.py:Peer is a node: crownless conform peer_of_hub.py:Peer",
        ),
        (
            "check peer_of_hub.py:Peer",
            "which is not a protocol; peer_of_hub.py:Peer is a node: crownless conform peer_of_hub.py:Peer",
        ),
        ("conform hub.py", "hub.py has no node; hub.py:Hub is a protocol: crownless check hub.py:Hub"),
        ("conform hub.py:Hub", "which is not a node; hub.py:Hub is a protocol: crownless check hub.py:Hub"),
        ("conform rst", "'rst'; it is a protocol: crownless check rst"),
        (
            "check ./node",
            "./node is a file, not a protocol; crownless conform drives a program, crownless classify",
        ),
    ],
)
def test_check_and_conform_name_each_other(hub: Path, crownless: Crownless, command: str, line: str) -> None:
    hub.with_name("peer_of_hub.py").write_text(NODE)
    hub.with_name("node").touch()
    code, _, err = crownless(*command.split())
    assert (code, err.count("\n")) == (2, 1)
    assert line in err


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_lead_back_to_the_class(hub: Path) -> None:
    kind = protocol_named("hub.py:Hub")
    assert name_of(kind) == qualified_name_of(kind) == "hub.py:Hub"
    assert protocol_named("hub.py:Hub") is kind
    mine = type("Mine", (Rst,), {})
    assert name_of(mine) == "Mine"
    assert qualified_name_of(mine) == f"{__name__}:Mine"
    assert name_of(Rst) == qualified_name_of(Rst) == "rst"


def test_an_installed_package_registers_protocols_by_name(
    hub: Path, crownless: Crownless, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = hub.parent / "hub-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hub\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[crownless.protocols]\nhub = hub:Hub\n")
    monkeypatch.syspath_prepend(hub.parent)
    code, out, _ = crownless("check", "hub", "-n", "2", "-m", "2")
    assert code == 1
    assert "hub violates fifo, causal:" in out
    assert "did you mean 'hub'?" in crownless("check", "hubb").err


# -- the template ------------------------------------------------------------------------------------------------------


def test_the_template_checks_as_it_stands_and_breaks_what_it_promises(hub: Path, crownless: Crownless) -> None:
    code, out, _ = crownless("new", "my_protocol.py")
    assert (code, out) == (
        0,
        "my_protocol.py: a protocol to begin with. Check it: crownless check my_protocol.py:MyProtocol\n",
    )
    code, out, _ = crownless("check", "my_protocol.py:MyProtocol")
    assert code == 1
    assert "my_protocol.py:MyProtocol violates causal:" in out
    assert crownless("check", "my_protocol.py:MyProtocol", "--order", "fifo", "--quiet")[0] == 0


def test_a_new_file_overwrites_nothing(hub: Path, crownless: Crownless) -> None:
    assert crownless("new", "hub.py")[2] == "crownless: hub.py already exists; name another file, or remove it\n"
    assert hub.read_text() == HUB
    assert crownless("new", "mine")[2] == "crownless: mine: not the name of a Python file; name it mine.py\n"
    assert "no class can be called '1'" in crownless("new", "1.py")[2]


class Broadcasts(Unordered):
    sends = "broadcast"
    admits_multicast = False


class Unicasts(Unordered):
    admits_multicast = False


def test_what_a_protocol_sends_it_admits() -> None:
    assert "any process to all others" in cr.check(Broadcasts, 3, 2).scope
    with pytest.raises(cr.BadInput, match="no messages to several processes"):
        cr.check(Unicasts, 3, 2, sends="broadcast")


def test_what_a_file_prints_is_no_answer(crownless: Crownless, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(HUB + "\nprint('imported')\n", "utf-8")
    answer = crownless("check", f"{tmp_path / 'loud.py'}:Hub", "-n", "2", "-m", "1", "--json")
    assert answer.json["checks"]
    assert "imported" in answer.err


def test_list_takes_protocols_and_show_says_that_a_python_file_is_no_run(crownless: Crownless, hub: Path) -> None:
    listed = crownless("list", "rst", "hub.py:Hub", "--json")
    assert listed.code == 0
    assert [facts["name"] for facts in listed.json["protocols"]] == ["rst", "hub.py:Hub"]
    code, _, err = crownless("show", "hub.py")
    assert code == 2
    assert "a Python file is not a computation, run or log; check the protocol in it" in err


def test_a_class_with_the_name_of_a_bundled_one_is_none() -> None:
    like_it = type(
        "Unordered", (Unordered,), {name: getattr(Unordered, name) for name in ("__module__", "__qualname__")}
    )
    assert is_bundled(Unordered)
    assert not is_bundled(like_it)


def test_of_an_order_nothing_is_said_where_nothing_is_delivered() -> None:
    class Idle(Unordered):
        def on_packet(self, i: int, state: Any, packet: cr.Packet) -> list[cr.Step]:
            return [cr.Step(state)]

    found = cr.check(Idle, 2, 2, orders=["fifo", "causal"])
    for name in ("fifo", "causal", "delivers-once"):
        assert (found[name].verdict, found[name].note) == ("unknown", "no message is ever delivered")
    assert found.verdict == "violated"
