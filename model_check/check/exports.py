"""Verdicts for other tools: JUnit and SARIF for continuous integration, and runs as ITF traces for model checkers."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any
from xml.etree import ElementTree

from crownless.model_check.runs.runs import Run
from crownless.runtime.printable import printable, printable_lines

from .check_result import Suite

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def junit(suites: Sequence[Suite]) -> str:
    """A JUnit report: a suite for each subject, a case for each property; unknown verdicts are errors."""
    root = ElementTree.Element("testsuites", name="crownless")
    for suite in suites:
        counts = {
            "tests": len(suite.lines),
            "failures": sum(line.verdict == "violated" for line in suite.lines),
            "errors": sum(line.verdict == "unknown" for line in suite.lines),
        }
        name = printable(suite.subject)
        facts = {"name": name, "time": f"{suite.seconds:.3f}", **{key: str(count) for key, count in counts.items()}}
        element = ElementTree.SubElement(root, "testsuite", facts)
        if suite.scope:
            properties = ElementTree.SubElement(element, "properties")
            ElementTree.SubElement(properties, "property", name="scope", value=printable(suite.scope))
        for line in suite.lines:
            case = ElementTree.SubElement(element, "testcase", classname=name, name=printable(line.property.name))
            if line.verdict != "holds":
                kind = "failure" if line.verdict == "violated" else "error"
                ElementTree.SubElement(case, kind, message=line.headline()).text = printable_lines(str(line))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def sarif(suites: Sequence[Suite]) -> dict[str, Any]:
    """A SARIF log: a result for each property that does not hold."""
    rules: dict[str, dict[str, Any]] = {}
    results = []
    for suite in suites:
        for line in suite.lines:
            if line.verdict == "holds":
                continue
            rule, meaning = printable(line.property.name), printable(line.property.meaning)
            rules.setdefault(rule, {"id": rule, "shortDescription": {"text": meaning or rule}})
            results.append(
                {
                    "ruleId": rule,
                    "level": "error" if line.verdict == "violated" else "warning",
                    "message": {"text": f"{printable(suite.subject)}: {printable_lines(str(line))}"},
                    "locations": [_location(suite.subject)],
                }
            )
    driver = {"name": "crownless", "version": version("crownless"), "rules": list(rules.values())}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _location(subject: str) -> dict[str, Any]:
    """The file of a user's own class, or else the name."""
    found = re.fullmatch(r"(?P<file>.+\.py)(:[\w.]+)?", subject)
    if found is None:
        return {"logicalLocations": [{"fullyQualifiedName": printable(subject)}]}
    return {"physicalLocation": {"artifactLocation": {"uri": found["file"].replace("\\", "/")}}}


def itf(run: Run, description: str) -> dict[str, Any]:
    """A run as a trace in the Informal Trace Format, which `crownless classify` reads again.

    Each action leads to a state, or to one per event if it has several: `action` has the action in words, `event` the
    application event, of the kind `none` if there was none.
    """
    to = {action.message: action.to for action in run.actions if action.to}
    states: list[dict[str, Any]] = [_state("the beginning", None)]
    for action in run.actions:
        events: list[dict[str, Any] | None] = []
        for kind, message in action.happened:
            peers = list(to.get(message, ()))
            peer: Any = {"#set": peers} if len(peers) != 1 else peers[0]
            if kind != "send":
                peer = next((one.process for one in run.actions if one.message == message and one.to), "")
            events.append({"process": action.process, "kind": kind, "message": message, "peer": peer})
        for event in events or [None]:
            states.append(_state(action.say(), event))
    for k, state in enumerate(states):
        state["#meta"] = {"index": k}
    meta = {"format": "ITF", "description": description, "crownless": version("crownless")}
    return {"#meta": meta, "vars": ["action", "event"], "states": states}


def _state(action: str, event: dict[str, Any] | None) -> dict[str, Any]:
    return {"action": action, "event": event or {"process": "", "kind": "none", "message": "", "peer": ""}}
