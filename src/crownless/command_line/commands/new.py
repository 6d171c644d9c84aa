"""`crownless new`: templates for a protocol, and for an adapter to an implementation in one of several languages."""

import keyword
import shlex
from importlib.resources import files
from pathlib import Path

import click

from crownless.command_line.file_options import OutputFile, cannot_be_written
from crownless.command_line.options import Command, with_ascii
from crownless.command_line.output import print_json, print_line
from crownless.runtime.errors import BadInput

#: The languages of adapters, and how their files end; a template is named after the first ending.
LANGUAGES = {
    "c": (".c",),
    "elixir": (".exs", ".ex"),
    "erlang": (".erl", ".escript"),
    "go": (".go",),
    "java": (".java",),
    "js": (".js", ".cjs", ".mjs"),
    "python": (".py",),
    "rust": (".rs",),
}


@click.command(cls=Command)
@click.argument("name", metavar="FILE", type=OutputFile())
@click.option(
    "--node",
    "language",
    type=click.Choice(list(LANGUAGES)),
    help="Write an adapter for an implementation in this language, for crownless conform.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with every fact.")
@with_ascii
def new(name: str, language: str | None, as_json: bool) -> None:
    """Write a template to FILE: a commented protocol, or with --node an adapter for an implementation; both run as is.

    \b
    Examples:
      crownless new hub.py; crownless check hub.py:Hub
      crownless new --node go node.go

    The protocol numbers the messages on each channel, so it keeps FIFO order. It promises causal order, but violates
    it: `crownless check` shows how.

    The adapter delivers each message as it arrives. Call your own code instead, and `crownless conform` reports which
    order it keeps. A FILE that ends in .go, .rs, .java, … needs no --node.
    """
    file = Path(name)
    of_ending = {ending: known for known, endings in LANGUAGES.items() for ending in endings if known != "python"}
    language = language or of_ending.get(file.suffix)
    endings = LANGUAGES[language or "python"]
    if file.suffix not in endings:
        wrong = f"--node {language}: {file} does not end in {endings[0]}"
        problem = wrong if language else f"{file}: not the name of a Python file"
        raise BadInput(problem, hint=f"name it {file.with_suffix(endings[0])}")
    kind = "".join(part.capitalize() for part in file.stem.replace("-", "_").split("_"))
    if not kind.isidentifier() or keyword.iskeyword(kind):
        hint = f"begin with a letter, such as my_{'node' if language else 'protocol'}{endings[0]}"
        raise BadInput(f"{file}: no class can be called '{kind}'", hint=hint)
    if language:
        names = {f"./my_node{endings[0]}": _word(file), "./my_node": _word(file.with_suffix("")), "MyNode": kind}
        text = _template(f"node{endings[0]}", names)
        command = next(line for line in text.splitlines() if "crownless conform " in line).strip(" \t/*%#!")
        facts = {"file": str(file), "node": language, "command": command}
        said = f"an adapter to fill in. Run it: {command}"
    else:
        text = _template("protocol.py", {"my_protocol.py": str(file), "MyProtocol": kind})
        facts = {"file": str(file), "protocol": f"{file}:{kind}"}
        said = f"a protocol to begin with. Check it: crownless check {file}:{kind}"
    try:
        with file.open("x", encoding="utf-8") as new_file:
            new_file.write(text)
    except FileExistsError:
        raise BadInput(f"{file} already exists", hint="name another file, or remove it") from None
    except OSError as error:
        raise cannot_be_written("FILE", name, error) from None
    if as_json:
        print_json(facts)
        return
    print_line(f"{file}: {said}")


def _template(name: str, replaced: dict[str, str]) -> str:
    text = files("crownless.command_line.commands").joinpath("templates", f"{name}.txt").read_text(encoding="utf-8")
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text


def _word(file: Path) -> str:
    """The file as a word of a command."""
    return shlex.quote(str(file) if file.is_absolute() else f"./{file}")
