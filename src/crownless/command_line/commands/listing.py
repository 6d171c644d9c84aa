"""`crownless list`: protocols, orders, channels, bundled files and other names."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

from crownless.command_line.file_options import InputFile, OutputFile
from crownless.command_line.options import Command, complete_protocol, with_ascii
from crownless.command_line.output import print_json, print_line
from crownless.command_line.pictures import write_file
from crownless.command_line.tables import Rows
from crownless.drawing.between_orders import orders_in_svg
from crownless.impl.channels import CHANNELS
from crownless.impl.own_protocols import is_own
from crownless.impl.protocol import ProtocolMachine, promised_orders
from crownless.impl.protocol_validation import check_class
from crownless.impl.registry import PROTOCOLS, protocol_named
from crownless.model_check.system.properties import DELIVERS_ONCE, default_orders, properties_of
from crownless.model_check.system.request import default_of
from crownless.runtime import research_parts
from crownless.runtime.errors import BadInput
from crownless.spec import library, notation
from crownless.spec.bibliography import BIBLIOGRAPHY, references
from crownless.spec.clocks import CLOCKS
from crownless.spec.orders import ORDERS

#: The sections, in the order in which they are listed.
SECTIONS = (
    "protocols",
    "orders",
    "properties",
    "channels",
    "clocks",
    "programs",
    "computations",
    "counterexamples",
    "logs",
    "sources",
)
#: Long sections, listed only if they are named.
LONG_SECTIONS = ("claims", "errors")
#: The columns shown of a section, if not all; `--json` has the rest.
SHOWN = {
    "protocols": ("name", "promises", "needs_channel", "sends", "parameters", "source"),
    "properties": ("name", "kind", "meaning"),
    "errors": ("claim", "kind", "wrong", "instead"),
}


def complete_section(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The sections and the protocols whose names have this prefix."""
    sections = [CompletionItem(name) for name in (*SECTIONS, *LONG_SECTIONS) if name.startswith(incomplete)]
    return [*sections, *complete_protocol(context, parameter, incomplete)]


@click.command(name="list", cls=Command)
@click.argument(
    "names", nargs=-1, metavar="[SECTION | PROTOCOL | WORDS]...", type=InputFile(), shell_complete=complete_section
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with every fact.")
@click.option(
    "--svg", type=OutputFile(), help="With 'orders': also draw them to FILE, with computations that separate them."
)
@with_ascii
def list_(names: tuple[str, ...], as_json: bool, svg: str | None) -> None:
    """List protocols, orders, properties, channels, clocks, programs, computations, counterexamples, logs and sources.
    With SECTION, only those; with PROTOCOL (which may be your own), only the facts about it.

    Two more sections: claims (what the papers say) and errors (mistakes in the papers). Words after 'claims' select the
    claims that contain them in id, sentence, place or readings.

    \b
    Examples:
      crownless list protocols
      crownless list claims
      crownless list claims "priority rule"
      crownless list orders channels
      crownless list orders --svg orders.svg
      crownless list rst hub.py:Hub
    """
    if svg is not None:
        if "orders" not in names:
            raise BadInput("--svg draws only the section 'orders'", hint="crownless list orders --svg FILE")
        write_file("--svg", svg, orders_in_svg())
    facts = {name: of_section() for name, of_section in _FACTS.items() if name in (names or SECTIONS)}
    others = [name for name in names if name not in _FACTS]
    if words := [name for name in others if "claims" in names and name not in PROTOCOLS and not is_own(name)]:
        facts["claims"] = research_parts.section("claims", words)
    if protocols := [name for name in others if name not in words]:
        facts["protocols"] = protocol_facts({name: _protocol(name) for name in protocols})
    if as_json:
        print_json(facts)
        return
    for place, (heading, rows) in enumerate(facts.items()):
        if place:
            print_line()
        if len(facts) > 1:
            print_line(f"{heading}:")
        shown = SHOWN.get(heading, tuple(rows[0]))
        table = Rows(*(name.replace("_", " ") for name in shown))
        for row in rows:
            table.add_row(*(_cell(row[key]) for key in shown))
        table.print(sentences=heading in LONG_SECTIONS)
        if heading == "protocols":
            _print_parameters(rows)
    if "sources" not in facts:
        _print_sources(str(facts))


def _protocol(name: str) -> type[ProtocolMachine]:
    kind = protocol_named(name, "section or protocol", _FACTS)
    check_class(kind)
    return kind


def protocol_facts(protocols: Mapping[str, type[ProtocolMachine]] = PROTOCOLS) -> list[dict[str, Any]]:
    """Every protocol with the facts of its class, as in the page of protocols and in `list`."""
    return [
        {
            "name": name,
            "source": kind.source,
            "promises": ", ".join(promised_orders(kind))
            + (" (at the server)" if kind(3).ordered_at is not None else ""),
            "needs_channel": kind.needs_channel,
            "sends": kind.sends,
            "admits": [
                what
                for what, admitted in (
                    ("self-sends", kind.admits_self_sends),
                    ("multicast", kind.admits_multicast and kind.sends == "unicast"),
                    ("unicast", kind.sends != "unicast"),
                )
                if admitted
            ],
            "parameters": [
                {
                    "name": key,
                    "default": default_of(kind, key, kind.bound[0]),
                    "least": known.least,
                    "per_process": known.per_process,
                    "meaning": known.meaning,
                }
                for key, known in kind.parameters.items()
            ],
            "bound": "×".join(map(str, kind.bound)),
            "held_to": list(default_orders(kind)),
            "properties": [known.name for known in properties_of(kind(3), default_orders(kind), program=False)],
            "text": _summary(kind.__doc__ or sys.modules[kind.__module__].__doc__ or ""),
        }
        for name, kind in protocols.items()
    ]


def _orders() -> list[dict[str, Any]]:
    return [{"name": order.name, "demands": order.demands, "source": order.source} for order in ORDERS.values()]


def _figures(kind: str) -> list[dict[str, Any]]:
    """The bundled texts of a kind: programs, or computations."""
    return [facts for name in (*library.names(), *library.exercises()) if (facts := _figure(name))["kind"] == kind]


def _properties() -> list[dict[str, Any]]:
    """Every property, orders apart, with the protocols that it is checked for."""
    found: dict[str, dict[str, Any]] = {}
    for name, kind in PROTOCOLS.items():
        for program in (False, True):
            for known in properties_of(kind(3), (), program=program):
                row = {"name": known.name, "kind": known.kind, "meaning": known.meaning, "protocols": []}
                protocols = found.setdefault(known.name, row)["protocols"]
                if name not in protocols:
                    protocols.append(name)
    early = [name for name, kind in PROTOCOLS.items() if not kind.sends_before_delivery]
    found[DELIVERS_ONCE.name]["meaning"] += f" (of {', '.join(early)}: before an application has handed it over)"
    for row in found.values():
        if len(row["protocols"]) == len(PROTOCOLS):
            row["protocols"] = ["all"]
    return list(found.values())


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(f"{one['name']}={one['default']}" if isinstance(one, dict) else str(one) for one in value)
    return str(value)


def _print_parameters(protocols: list[dict[str, Any]]) -> None:
    """The meanings of the parameters, each once."""
    said: dict[str, list[str]] = {}
    for protocol in protocols:
        for parameter in protocol["parameters"]:
            said.setdefault(parameter_said(parameter), []).append(protocol["name"])
    if said:
        print_line("parameters, for --set:")
    for meaning, names in said.items():
        print_line(f"  {', '.join(names)}: {meaning}")


def _print_sources(text: str) -> None:
    """The sources that a text cites, one a line."""
    if cited := references(text):
        print_line("sources:")
    for source in cited:
        print_line(f"  {source}")


def parameter_said(facts: dict[str, Any]) -> str:
    """A parameter in a line of text; the default is for the protocol's own bound."""
    each = ", or one per process" if facts["per_process"] else ""
    return f"{facts['name']}={facts['default']} ({facts['meaning']}{each})"


def _summary(doc: str) -> str:
    """The first sentence of a docstring."""
    return library.SENTENCE.split(" ".join(doc.split("\n\n")[0].split()))[0].rstrip(".")


def _figure(name: str) -> dict[str, Any]:
    """A bundled text: its kind, and the first sentence of its comment."""
    script = notation.load(library.path(name))
    return {
        "name": name,
        "kind": "computation" if script.names_receives else "program",
        "processes": len(script.processes),
        "text": library.comment(name),
    }


#: The facts of each section.
_KNOWN: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "protocols": protocol_facts,
    "orders": _orders,
    "properties": _properties,
    "channels": lambda: [{"name": name, "meaning": channel.meaning} for name, channel in CHANNELS.items()],
    "clocks": lambda: [{"name": clock.name, "source": clock.source} for clock in CLOCKS.values()],
    "programs": lambda: _figures("program"),
    "computations": lambda: _figures("computation"),
    "logs": lambda: [{"name": f"{name}.jsonl"} for name in library.names(".jsonl")],
    "sources": lambda: [{"key": f"[{key}]", "source": source} for key, source in BIBLIOGRAPHY.items()],
    **{name: partial(research_parts.section, name) for name in research_parts.sections()},
}
_FACTS = {name: _KNOWN[name] for name in (*SECTIONS, *LONG_SECTIONS) if name in _KNOWN}
