"""Options are declared once: the commands and the Python functions have those of their requests, with their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import getdoc, signature
from typing import Any

import click
import pytest
from click.testing import CliRunner

import crownless as cr
from crownless.arguments import answers
from crownless.command_line import crownless as commands
from crownless.command_line.request_options import with_request
from crownless.model_check.check.check_request import CheckRequest
from crownless.model_check.search.counting import CountRequest
from crownless.oracle.conformance.conformance_request import ConformRequest
from crownless.proofs.language.proof_request import ProofRequest
from crownless.research.knobs.knobs_request import KnobsRequest
from crownless.runtime.requests import declared, option

REQUESTS: dict[str, type] = {
    "check": CheckRequest,
    "conform": ConformRequest,
    "count": CountRequest,
    "knobs": KnobsRequest,
    "prove": ProofRequest,
}


@pytest.mark.parametrize("name", REQUESTS)
def test_command_line_and_python_have_the_options_of_the_request(name: str) -> None:
    command = commands.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    on_command_line = {each.name: each for each in command.params if isinstance(each, click.Option)}
    function = getattr(cr, name)
    arguments, page = signature(function).parameters, getdoc(function) or ""
    for one in declared(REQUESTS[name]):
        assert one.name in arguments
        assert f"{one.name}: {one.option.means}" in page
        if one.option.flags:
            assert set(one.option.flags) <= set(on_command_line[one.name].opts)
            first_words = one.option.means.partition(".")[0]
            assert (on_command_line[one.name].help or "").startswith(first_words)


@dataclass(frozen=True)
class Greeting:
    whom: str = field(metadata=option("Whom to greet.", "name", "--whom"))
    times: int = field(default=1, metadata=option("How often.", "number", "-t", "--times", most=3))
    also: Sequence[str] = field(default=(), metadata=option("Others.", "names", "--also", metavar="NAME"))
    how: Any = field(default=None, metadata=option("Is called with the name."))


@answers(Greeting)
def greeted(request: Greeting) -> Greeting:
    """The request."""
    return request


@click.command()
@with_request(Greeting, "request", made=Greeting)
def greet(request: Greeting) -> None:
    """Prints the request."""
    click.echo(repr(request))


def test_one_declaration_is_an_option_and_an_argument() -> None:
    said = CliRunner().invoke(greet, ["--whom", "a", "-t", "2", "--also", "b", "--also", "c"]).output
    assert said.strip() == repr(greeted("a", 2, also=["b", "c"])) == repr(Greeting("a", 2, ("b", "c")))
    assert greeted("a", None, also="b") == Greeting("a", 1, ("b",))  # type: ignore[arg-type]
    text = CliRunner().invoke(greet, ["--help"]).output
    assert "Whom to greet.  [required]" in text
    assert "How often.  [default: 1]" in text
    assert "Others (repeatable)." in text
    assert "--how" not in text
    assert (getdoc(greeted) or "").splitlines()[-2:] == [
        "    also: Others. One, or a list of several.",
        "    how: Is called with the name.",
    ]


@pytest.mark.parametrize(
    ("given", "named", "error", "line"),
    [
        ((), {}, TypeError, "greeted() missing a required argument: 'whom'"),
        (("a",), {"time": 1}, TypeError, "greeted() got an unexpected keyword argument 'time'"),
        (("a", 4), {}, cr.BadInput, "`times` 4: too large; give 1 to 3"),
        (("a", "b"), {}, cr.BadInput, "`times` 'b': not a whole number; give 1 to 3"),
        (
            ("a",),
            {"also": [1]},
            cr.BadInput,
            '`also` [1]: not a list of names; give strings, such as also=["…"], or one',
        ),
    ],
)
def test_a_mistaken_argument_is_named(
    given: tuple[Any, ...], named: dict[str, Any], error: type[Exception], line: str
) -> None:
    with pytest.raises(error) as problem:
        greeted(*given, **named)
    assert str(problem.value) == line
