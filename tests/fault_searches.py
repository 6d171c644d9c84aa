"""Where planted faults are looked for beyond the default bound: larger bounds, settings, programs, crashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from fault_programs import programs

from crownless.impl.protocol import ProtocolMachine, Setting
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check import run_check
from crownless.model_check.check_result import CheckResult
from crownless.model_check.engines import why_not_applicable
from crownless.model_check.request import Check, load_program
from crownless.runtime.ending import Limits
from crownless.spec import library
from crownless.spec.enumeration import Sends

#: No more is explored in one search; the same on every machine.
ENOUGH = Limits(states=150_000)
ENOUGH_OF_A_PROGRAM = Limits(states=30_000)
ENOUGH_OF_A_PROGRAM_WITH_A_CRASH = Limits(states=5_000)

#: Bounds beyond the default one, in the order in which they are tried: processes, messages.
FURTHER = ((2, 5), (3, 5), (4, 3), (2, 6))


class Variant(NamedTuple):
    """Other values of a protocol's parameters: the bounds at which they are tried, and whether programs are run too."""

    settings: Mapping[str, Setting]
    bounds: Sequence[tuple[int, int]]
    in_programs: bool


_COLLECTIONS = (
    Variant({"rounds": 0}, ((2, 5), (3, 3)), in_programs=False),
    Variant({"rounds": 2}, ((2, 2), (2, 3)), in_programs=False),
)
VARIANTS: Mapping[str, Sequence[Variant]] = {
    "isis-gc": _COLLECTIONS,
    "isis-gc-waits": _COLLECTIONS,
    "kearns": (
        Variant({"server": 2}, ((2, 5), (3, 4)), in_programs=True),
        Variant({"server": 3}, ((3, 4), (3, 5)), in_programs=True),
    ),
    "buffer-bounded": (Variant({"output": 4, "input": 4}, ((2, 5), (2, 6)), in_programs=True),),
}

#: Where messages may go to several, they are sent to several too.
MULTICAST = ((3, 2), (3, 3))

#: Where survivors of a crash roll back, P1 may crash.
CRASHES = ((2, 3), (3, 2), (3, 3))
WITH_A_CRASH = ("triangle", "rewinding")


class Search(NamedTuple):
    """A check with its name."""

    name: str
    check: Check

    @property
    def is_program(self) -> bool:
        return self.check.program is not None


def check_of(
    machine: type[ProtocolMachine], check: Check, engine: str | None = None, limits: Limits | None = None
) -> CheckResult:
    """One check of a machine; by the native engine, but for crashes, which it does not take."""
    engine = engine or ("plain" if check.crash else "native")
    limits = limits or _limits_of(check)
    return run_check(replace(check, protocol=machine), limits, engine=engine, workers=1)


def _limits_of(check: Check) -> Limits:
    if check.program is None:
        return ENOUGH
    return ENOUGH_OF_A_PROGRAM if check.crash is None else ENOUGH_OF_A_PROGRAM_WITH_A_CRASH


@cache
def searches_of(protocol: str) -> tuple[Search, ...]:
    """Every search beyond the default bound, in the order in which they are tried."""
    kind = PROTOCOLS[protocol]
    found = [_at(protocol, bound) for bound in FURTHER]
    for variant in VARIANTS.get(protocol, ()):
        found += [_at(protocol, bound, parameters=variant.settings) for bound in variant.bounds]
    if kind.admits_multicast and kind.sends == "unicast":
        found += [_at(protocol, bound, sends="multicast") for bound in MULTICAST]
    if kind.rolls_back:
        found += [_at(protocol, bound, crash="P1") for bound in CRASHES]
    return (*found, *_programs_of(protocol, kind))


def _at(
    protocol: str,
    bound: tuple[int, int],
    *,
    parameters: Mapping[str, Setting] | None = None,
    sends: Sends | None = None,
    crash: str | None = None,
) -> Search:
    n, m = bound
    check = Check(protocol, n, m, sends=sends, parameters=parameters or {}, crash=crash)
    return Search(_named(f"({n}, {m})", check), check)


def _programs_of(protocol: str, kind: type[ProtocolMachine]) -> list[Search]:
    scripts = {} if kind.sends == "broadcast" else dict(programs())
    if kind.sends != "unicast":
        scripts |= programs(broadcast=True)
    for name in (*library.names(), *library.exercises(), *library.counterexamples()):
        script = load_program(name)
        if not script.is_computation:
            scripts[name] = script
    if kind.admits_multicast and kind.sends != "broadcast":
        scripts |= programs("of several")
    if kind.sends != "broadcast":
        scripts |= programs("by sender")
    found = []
    for name, script in scripts.items():
        for settings in ({}, *(variant.settings for variant in VARIANTS.get(protocol, ()) if variant.in_programs)):
            for crash in (None, "P1") if kind.rolls_back and name.startswith(WITH_A_CRASH) else (None,):
                check = Check(protocol, program=script, parameters=settings, crash=crash)
                if why_not_applicable(check) is None:
                    found.append(Search(_named(name, check), check))
    return found


def _named(bound: str, check: Check) -> str:
    """The bound or program, with what is set besides."""
    return " with ".join([bound, " and ".join(_besides(check))] if _besides(check) else [bound])


def _besides(check: Check) -> list[str]:
    """What a check names besides its bound or program, in words."""
    words = [f"{key}={value}" for key, value in check.parameters.items()]
    words += [f"{check.sends}s"] if check.sends else []
    return words + ([f"a crash of {check.crash}"] if check.crash else [])


@cache
def of_the_right_machine(protocol: str, number: int | None) -> CheckResult:
    """What the protocol itself keeps and breaks in the search of that number; None: at the default bound."""
    check = Check(protocol) if number is None else searches_of(protocol)[number].check
    return check_of(PROTOCOLS[protocol], check)
