"""`crownless new --node`: each language's adapter, as it is written and filled in, and the names that are refused."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line_runner import Crownless
from tiers import slow_where

import crownless as cr
from crownless.command_line.commands.new import LANGUAGES

MATRIX = Path(__file__).parents[3] / "examples" / "nodes" / "matrix"
LOOP = "---- The lines that crownless reads and writes."
CONFORM = "crownless conform "


def written(language: str, crownless: Crownless, old: str = "", new: str = "") -> str | list[str]:
    """Writes an adapter to the current folder, with `new` in place of `old`, compiles it, and returns its class, or the
    command to run it.
    """
    file = f"written_{language}{LANGUAGES[language][0]}"
    *compiles, runs = crownless("new", "--node", language, file, "--json").json["command"].split(" && ")
    node = shlex.split(runs.removeprefix(CONFORM).removeprefix("-- "))
    programs = [shlex.split(command)[0] for command in compiles] + node[:1]
    if missing := [name for name in programs if "/" not in name and shutil.which(name) is None]:
        pytest.skip(f"{missing[0]} is not installed")
    text = Path(file).read_text("utf-8")
    assert old in text
    Path(file).write_text(text.replace(old, new), "utf-8")
    for command in compiles:
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    return node if len(node) > 1 or LANGUAGES[language] != (".py",) else node[0]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("language", slow_where(lambda language: language in ("elixir", "java"), LANGUAGES))
def test_an_adapter_as_written_keeps_just_the_order_of_its_channel(language: str, crownless: Crownless) -> None:
    node = written(language, crownless)
    found = cr.conform(node, 2, 2)
    assert (found.verdict, found.takes_replies) == ("holds", True)
    assert found["delivers-all"].verdict == "holds"
    assert found.realization is not None
    assert found.realization.equals == "asynchronous"
    assert cr.conform(node, 2, 2, channel="fifo", orders=["fifo"], replies=0).verdict == "holds"


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "python"])
def test_a_program_as_written_reads_every_line(language: str, crownless: Crownless) -> None:
    command = written(language, crownless)

    def said(*lines: str) -> list[str]:
        answers = subprocess.run(command, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True)
        return answers.stdout.splitlines()

    init, *packets, ok = said("init 0 3", "send 1,2 0-1.1")
    assert (init, ok) == ("ok replies", "ok")
    assert [packet.split()[:2] for packet in packets] == [["packet", "1"], ["packet", "2"]]
    body = packets[0].split(maxsplit=2)[2]
    answered = said(
        "init 1 3", "reply 0,2 1-0.1", "init 1 3", "reply 0,2 1-0.1", f"packet 0 {body}", f"packet 0 {body}"
    )
    words = [line.split()[:2] for line in answered]
    replies = [["packet", "0"], ["packet", "2"]]
    begins = [["ok", "replies"]] * 2
    assert words == [*begins, ["deliver", "0-1.1"], *replies, ["ok"], ["deliver", "0-1.1"], ["ok"]]
    assert said("init 0 2", "tick") == ["ok replies"]


#: In place of the delivery, a print before it; in Rust it would be among the answers.
PRINTS = {
    "c": ("deliver(body);", 'printf("noise\\n"); deliver(body);'),
    "elixir": ("deliver(packet, state) #", 'IO.puts("noise"); deliver(packet, state) #'),
    "erlang": ("deliver(Packet, State).", 'io:format("noise~n"), deliver(Packet, State).'),
    "go": ("deliver(body) //", 'fmt.Println("noise"); deliver(body) //'),
    "java": ("deliver(body);", 'System.out.println("noise"); deliver(body);'),
    "js": ("deliver(packet);", "console.log('noise'); deliver(packet);"),
}


@pytest.mark.parametrize("language", PRINTS)
def test_what_a_layer_prints_is_no_answer(language: str, crownless: Crownless) -> None:
    command = written(language, crownless, *PRINTS[language])
    body = subprocess.run(command, input="init 0 2\nsend 1 0-1.1\n", capture_output=True, text=True).stdout.split()[4]
    answers = subprocess.run(command, input=f"init 0 2\npacket 1 {body}\n", capture_output=True, text=True)
    assert answers.stdout == "ok replies\ndeliver 0-1.1\nok\n"
    assert answers.stderr == "noise\n"


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        ("python", "self.deliver(packet)", "self.deliver(packet) if packet.endswith('.1') else None"),
        ("c", "deliver(body);", "if (body[strlen(body) - 1] == '1') deliver(body);"),
    ],
)
def test_an_adapter_filled_in_with_a_bug_is_caught(language: str, old: str, new: str, crownless: Crownless) -> None:
    found = cr.conform(written(language, crownless, old, new), 2, 2)
    assert next(iter(found.violations)) == "delivers-all"


@pytest.mark.parametrize("file", sorted(MATRIX.iterdir()), ids=lambda file: file.name)
def test_the_nodes_of_the_examples_are_adapters_filled_in(file: Path, crownless: Crownless) -> None:
    assert crownless("new", f"node{file.suffix}").code == 0
    new = Path(f"node{file.suffix}").read_text("utf-8")
    assert file.read_text("utf-8").partition(LOOP)[1:] == new.partition(LOOP)[1:]
    assert LOOP in new


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "--node golang node.go",
            "'golang' is not one of 'c', 'elixir', 'erlang', 'go', 'java', ",
        ),
        ("--node go node.rs", "--node go: node.rs does not end in .go; name it node.go"),
        ("--node go node", "--node go: node does not end in .go; name it node.go"),
        ("--node go 1.go", "1.go: no class can be called '1'; begin with a letter, such as my_node.go"),
        ("--node go there.go", "there.go already exists; name another file, or remove it"),
    ],
)
def test_a_wrong_name_is_refused_in_a_line(arguments: str, said: str, crownless: Crownless) -> None:
    Path("there.go").touch()
    answer = crownless("new", *arguments.split())
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert said in answer.err
    assert [file.name for file in Path().iterdir()] == ["there.go"]


def test_a_file_of_another_language_is_an_adapter_and_of_python_a_protocol(crownless: Crownless) -> None:
    said = "sub dir/hub.mjs: an adapter to fill in. Run it: crownless conform -- node './sub dir/hub.mjs'\n"
    Path("sub dir").mkdir()
    assert crownless("new", "sub dir/hub.mjs").out == said
    assert "a protocol to begin with" in crownless("new", "hub.py").out
    assert "crownless conform ./node.py:Node\n" in crownless("new", "node.py", "--node", "python").out
