"""Which engine explores a check, which reductions it admits, and what it reports of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from numba.core import event
from replay import check

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import ProtocolMachine, Step
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.registry import PROTOCOLS
from crownless.impl.variant import variant
from crownless.model_check.check.check import run_check
from crownless.model_check.native import compiled, expansion, kernels
from crownless.model_check.search.engines import LONG_TO_COMPILE, Engine, admitted, compiling, cpus, engine_for
from crownless.model_check.system.monitors import Monitor
from crownless.model_check.system.properties import default_orders
from crownless.model_check.system.request import Check, NotApplicable, ResolvedCheck, load_program
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput

PROGRAM = load_program("mf-program-3")


def engine_of(
    requested: Check, engine: str | None = None, reductions: Sequence[str] = (), monitors: Sequence[Monitor] = ()
) -> Engine:
    check = replace(requested, monitors=tuple(monitors))
    workers = None if engine == "plain" else 2
    return engine_for(check.resolve(), engine=engine, reductions=reductions, workers=workers)


# -- engines -----------------------------------------------------------------------------------------------------------


def test_the_native_engine_explores_what_it_can_and_the_plain_explorer_the_rest() -> None:
    assert engine_of(Check("rst")) == Engine("native", workers=2, shared=True)
    assert engine_of(Check("rst"), "plain") == Engine("plain")
    assert engine_of(Check("ses", crash="P1")) == Engine("native", workers=2)
    reason = "the native engine does not support agreement of survivors"
    assert engine_of(Check("ses-rollback", crash="P1")) == Engine("plain", because=reason)
    assert run_check(Check("rst", messages=1), engine="native").engine.workers == cpus() >= 1


def test_a_channel_that_the_native_engine_does_not_number_is_the_plain_explorers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(CHANNELS, "another", type("Another", (CHANNELS["unordered"],), {}))
    reason = "the native engine does not support the another channel"
    assert engine_of(Check("rst", 2, 2, channel="another")) == Engine("plain", because=reason)


def test_what_is_checked_by_default_is_promised_or_implied() -> None:
    for promises, orders in {
        "asynchronous": ("fifo", "causal"),
        "fifo": ("fifo",),
        "causal": ("fifo", "causal"),
        "one-n": ("fifo", "causal", "one-n"),
        "synchronous": ("fifo", "causal", "synchronous"),
    }.items():
        assert default_orders(type("Promises", (ProtocolMachine,), {"promises": promises})) == orders
    crosswise = type("Promises", (ProtocolMachine,), {"promises": "one-n", "sends": "multicast"})
    assert default_orders(crosswise) == ("fifo", "one-n")


def test_what_a_verdict_rests_on_is_said() -> None:
    native = run_check(Check("rst", messages=2), workers=1)
    assert native.scope.endswith("; native engine, 1 worker, no reductions")
    reduced = run_check(Check("rst", messages=2), reductions=["symmetry"], workers=2)
    assert reduced.scope.endswith("; native engine, 2 workers; counts are after symmetry reduction")
    crash = run_check(Check("ses-rollback", messages=2, crash="P1"))
    assert crash.scope.endswith(
        "; plain explorer (the native engine does not support agreement of survivors), no reductions"
    )
    plain = run_check(Check("rst", messages=2), engine="plain")
    assert plain.scope.endswith("; plain explorer, no reductions")
    assert [result.engine.name for result in (native, reduced, crash, plain)] == ["native", "native", "plain", "plain"]
    assert [result.json()["workers"] for result in (native, reduced, crash, plain)] == [1, 2, 1, 1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_processes_share_their_tables_where_only_their_names_distinguish_them(protocol: str) -> None:
    assert engine_of(Check(protocol)).shared == PROTOCOLS[protocol].symmetric
    if not PROTOCOLS[protocol].admits_multicast:
        program = Check(protocol, program=PROGRAM)
        assert not engine_of(program).shared


def test_parameters_of_single_processes_distinguish_them() -> None:
    assert engine_of(Check("extra-messages", parameters={"k": (4, 4, 4)})).shared
    assert not engine_of(Check("extra-messages", parameters={"k": (4, 4, 5)})).shared


@pytest.mark.parametrize(("each", "example"), [((3, 4), 3), ((), 1)])
def test_a_parameter_of_all_processes_has_one_value(each: tuple[int, ...], example: int) -> None:
    with pytest.raises(BadInput, match=f"output={','.join(map(str, each))}: it is one for all .* output={example}$"):
        run_check(Check("buffer-bounded", parameters={"output": each}))


def test_compiling_the_engine_is_reported_and_loading_it_is_not() -> None:
    notices = []
    with compiling(lambda: notices.append("compiling")):
        run_check(Check("rst", messages=1))  # compiled now at the latest
        del notices[:]
        run_check(Check("rst", messages=1))
        with event.trigger_event("numba:compile", {"dispatcher": kernels.look_up}):
            assert notices == []
        for kernel in LONG_TO_COMPILE:
            with event.trigger_event("numba:compile", {"dispatcher": getattr(expansion, kernel)}):
                assert notices.pop() == "compiling"
    assert notices == []


def test_the_clock_of_a_search_stands_still_while_kernels_are_compiled() -> None:
    with patch("time.monotonic", return_value=1000.0) as now:
        before = compiled.searching_time()
        with event.trigger_event("numba:compile"):
            now.return_value += 60
            with event.trigger_event("numba:compile"):
                now.return_value += 5
            assert compiled.searching_time() == before
        now.return_value += 7
        assert compiled.searching_time() == before + 7


def test_the_cache_index_of_a_version_with_other_classes_is_empty(tmp_path: Path) -> None:
    def index() -> Any:
        return compiled._Index(tmp_path, "kernel", "stamp")  # type: ignore[no-untyped-call]

    gone = type("Gone", (), {"__module__": kernels.__name__})
    with patch.object(kernels, "Gone", gone, create=True):
        index().save(gone, b"compiled")
        assert index().load(gone) == b"compiled"
    assert index().load(gone) is None


# -- reductions --------------------------------------------------------------------------------------------------------


def test_reductions_are_requested_by_name() -> None:
    assert engine_of(Check("rst")).reductions == ()
    assert engine_of(Check("rst"), "native", ["symmetry", "all"]).reductions == ("symmetry",)
    with pytest.raises(BadInput, match="unknown reduction 'symetry'; did you mean 'symmetry'"):
        engine_of(Check("rst"), None, ["symetry"])
    with pytest.raises(BadInput, match="--engine plain: the plain engine has no reductions"):
        engine_of(Check("rst"), "plain", ["symmetry"])
    with pytest.raises(BadInput, match="--engine plain: the plain engine has no workers"):
        engine_for(Check("rst").resolve(), engine="plain", workers=2)


class Unrenamed(Monitor):
    """Does not say what a renaming makes of its monitor states."""

    watches = ()


REFUSED = [
    (Check("kearns"), "it does not treat all processes alike"),
    (Check("murty-garg"), "it does not treat all processes alike"),
    (Check("rst", program=PROGRAM), "a program assigns its actions to named processes"),
    (Check("extra-messages", parameters={"k": (4, 4, 5)}), "processes have a k of their own"),
    (Check("isis", crash="P1"), "one process may crash, and others may not"),
    (Check("rst", processes=8), "symmetry reduction supports at most 7 processes"),
]


@pytest.mark.parametrize(("requested", "why"), REFUSED, ids=lambda value: str(value)[:60])
def test_symmetry_reduction_that_is_not_valid_is_refused_and_says_why(requested: Check, why: str) -> None:
    line = f"{requested.protocol} does not admit --reduce symmetry: {why}"
    with pytest.raises(BadInput) as error:
        run_check(requested, reductions=["symmetry"])
    assert str(error.value).startswith(line)
    refused = admitted(requested, reductions=["symmetry"])
    assert isinstance(refused, NotApplicable)
    assert refused.reason.startswith(line.removeprefix(f"{requested.protocol} "))
    assert isinstance(admitted(requested), ResolvedCheck)


def test_symmetry_is_refused_where_a_monitor_cannot_rename() -> None:
    with pytest.raises(BadInput, match="what is remembered of its runs cannot be renamed"):
        engine_of(Check("rst"), reductions=["symmetry"], monitors=[Unrenamed()])


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["native", "plain"])
@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (Limits(states=1), "state limit of 1 reached"),
        (Limits(seconds=0), "time limit of 0 s reached"),
        (Limits(memory=1 << 20), "memory limit of 1 MiB reached"),
    ],
    ids=["states", "seconds", "memory"],
)
def test_every_limit_ends_a_search_with_nothing_claimed(engine: str, limits: Limits, why: str) -> None:
    result = run_check(Check("rst"), limits, engine=engine)
    if engine == "native" and limits.memory:
        why += ", even with the levels on disk"
    assert result.exploration.stopped == why
    assert result.verdict == "unknown"
    assert f"search ended early: {why}" in result.scope
    assert {known.verdict for known in result.properties if known.property.kind != "sometimes"} == {"unknown"}


# -- coverage ----------------------------------------------------------------------------------------------------------


#: Takes no message.
Mute = variant(Unordered, send=lambda self, i, state, message: [], internal=lambda self, i, state: [])
#: Keeps nothing for the application, and has it try in vain.
NeverTakesIn = variant(
    Unordered, on_packet=lambda self, i, state, packet: [Step(state)], receive=lambda self, i, state, sender: []
)
#: Accepts no packet.
Deaf = variant(Unordered, deliverable=lambda self, i, state, packet: False)


@pytest.mark.parametrize(
    ("kind", "actions", "never"),
    [
        (Mute, {}, ("send", "arrival", "internal step")),
        (NeverTakesIn, {"send", "receive message"}, ("receive by the application",)),
        (Deaf, {"send"}, ("arrival",)),
        (PROTOCOLS["buffer"], {"send", "deliver", "post", "receive message", "receive ack"}, ()),
        (PROTOCOLS["rst"], {"send", "deliver"}, ()),
    ],
)
def test_how_often_each_action_was_possible_and_what_never_was_is_reported(
    kind: type[ProtocolMachine], actions: set[str], never: tuple[str, ...]
) -> None:
    result = check(kind, 2, 2)
    assert set(result.actions) == set(actions)
    assert list(result.actions)[:2] == [name for name in ("send", "deliver") if name in actions] or len(actions) > 1
    assert sum(result.actions.values()) == result.exploration.transitions
    assert result.never == never
    assert result.json()["never"] == list(never)
