"""`crownless new`: a template for a new protocol."""

import keyword
from importlib.resources import files
from pathlib import Path

import click

from crownless.command_line.file_options import OutputFile, cannot_be_written
from crownless.command_line.options import with_ascii
from crownless.command_line.output import print_json, print_line
from crownless.runtime.errors import BadInput


@click.command()
@click.argument("name", metavar="FILE", type=OutputFile())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with every fact.")
@with_ascii
def new(name: str, as_json: bool) -> None:
    """Write FILE, a commented protocol of your own that can be checked as it stands.

    \b
    Example:
      crownless new hub.py; crownless check hub.py:Hub

    It numbers the messages of each channel, so that it keeps FIFO order, and promises causal order, which it breaks:
    `crownless check` shows how.
    """
    file = Path(name)
    if file.suffix != ".py":
        raise BadInput(f"{file}: not the name of a Python file", hint=f"name it {file.name}.py")
    kind = "".join(part.capitalize() for part in file.stem.replace("-", "_").split("_"))
    if not kind.isidentifier() or keyword.iskeyword(kind):
        raise BadInput(f"{file}: no class can be called '{kind}'", hint="begin with a letter, such as my_protocol.py")
    template = files("crownless.command_line.verbs").joinpath("template.py.txt").read_text(encoding="utf-8")
    try:
        with file.open("x", encoding="utf-8") as new_file:
            new_file.write(template.replace("MyProtocol", kind).replace("my_protocol.py", str(file)))
    except FileExistsError:
        raise BadInput(f"{file} is there already", hint="name another file, or remove it") from None
    except OSError as error:
        raise cannot_be_written("FILE", name, error) from None
    if as_json:
        print_json({"file": str(file), "protocol": f"{file}:{kind}"})
        return
    print_line(f"{file}: a protocol to begin with. Check it: crownless check {file}:{kind}")
