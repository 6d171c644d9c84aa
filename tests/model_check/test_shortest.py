"""The run that is shown is a shortest one and, of these, one with the fewest switches between processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from broken_buffer import PostsWithoutWaiting
from broken_rst import ChecksOnlyTheSender, DeliversWhatArrives, NeverMerges
from native_engine_setup import monitors_for

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.workloads import Free
from crownless.model_check.runs.runs import run_of
from crownless.model_check.search.explorer import LocalProperties, explore, live_properties_violated
from crownless.model_check.search.shortest import shortest_run
from crownless.model_check.system.properties import Property, properties_of
from crownless.model_check.system.system import LocalStep, MonitorState, System
from crownless.model_check.system.system import State as Global


class Case(NamedTuple):
    kind: type[ProtocolMachine]
    violated: str
    n: int
    messages: int
    channel: str = "unordered"
    self_sends: bool = False

    def system(self) -> System:
        orders = [order for order in ("fifo", "causal", "synchronous") if order == self.violated]
        machine = self.kind(self.n)
        monitors = monitors_for(self.n, orders)
        return System(
            machine, Free(self.n, self.messages, self_sends=self.self_sends), CHANNELS[self.channel], monitors
        )

    def property(self) -> Property:
        machine = self.kind(self.n)
        known = properties_of(machine, ("fifo", "causal", "synchronous"), program=False)
        return next(one for one in known if one.name == self.violated)


CASES = [
    Case(Unordered, "fifo", 2, 2),
    Case(Unordered, "fifo", 2, 2, self_sends=True),
    Case(Unordered, "fifo", 3, 3),
    Case(Unordered, "causal", 3, 2),
    Case(Unordered, "causal", 3, 3, "fifo"),
    Case(Unordered, "synchronous", 2, 2, "fifo"),
    Case(Unordered, "synchronous", 3, 3, "fifo"),
    Case(Unordered, "delivers-all", 3, 2, "lossy"),
    Case(Unordered, "delivers-once", 3, 2, "duplicating"),
    Case(Rst, "deliv-equals-sent-column", 2, 2, self_sends=True),
    Case(Rst, "delivers-all", 2, 2, self_sends=True),
    Case(Rst, "delivers-all", 2, 3, "lossy"),
    Case(Rst, "fifo", 2, 3, "duplicating"),
    Case(DeliversWhatArrives, "fifo", 2, 3),
    Case(DeliversWhatArrives, "causal", 3, 3),
    Case(ChecksOnlyTheSender, "causal", 3, 3),
    Case(NeverMerges, "causal", 3, 3),
    Case(Buffer, "delivers-all", 2, 2, "lossy"),
    Case(PostsWithoutWaiting, "fifo", 2, 2),
    Case(MurtyGarg, "delivers-all", 2, 2, "lossy"),
]

cases = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind.__name__} breaks {case.violated}")


def breaks(
    system: System,
    violated: Property,
    step: LocalStep,
    target: Global,
    monitor_state: MonitorState,
    names: Sequence[str],
) -> bool:
    """Is the property violated by this step, or by a run that ends with it?"""
    if violated.kind == "live":
        left = system.moves(target)
        nobody_must = all(step.action.name == "send" or step.action.by_channel for step, _ in left)
        return nobody_must and violated.name in live_properties_violated(system, target, monitor_state, left)
    return violated.name in names or violated.name in LocalProperties(system).of(step.action.process, step.local)[0]


def by_trying_all_runs(case: Case) -> tuple[int, int]:
    """The length of a shortest run that breaks the property, and the fewest switches among those of that length."""
    system, violated = case.system(), case.property()
    runs = [(system.initial(), system.initial_monitor_state(), -1, 0)]
    length = 0
    while True:
        length += 1
        longer, ends = [], []
        for state, monitor_state, last, switches in runs:
            for step, target in system.moves(state):
                after, names = system.evaluate(monitor_state, step)
                process = last if step.action.by_channel else step.action.process
                cost = switches + (last not in (-1, process))
                longer.append((target, after, process, cost))
                if breaks(system, violated, step, target, after, names):
                    ends.append(cost)
        if ends:
            return length, min(ends)
        runs = longer


def shown(case: Case) -> tuple[System, list[LocalStep]]:
    system = case.system()
    found = explore(system, [case.property()])
    steps, *_ = shortest_run(system, case.property(), found.violated[case.violated])
    return system, steps


@cases
def test_of_all_runs_none_is_shorter_and_of_those_as_short_none_has_fewer_switches(case: Case) -> None:
    system, steps = shown(case)
    run = run_of(system, steps)
    assert (len(steps), run.switches) == by_trying_all_runs(case)


@cases
def test_replayed_from_the_initial_state_the_run_breaks_the_property_with_its_last_step_and_ends_where_it_says(
    case: Case,
) -> None:
    searched = case.system()
    found = explore(searched, [case.property()])
    steps, end, end_monitor_state = shortest_run(searched, case.property(), found.violated[case.violated])
    state, monitor_state = searched.initial(), searched.initial_monitor_state()
    violated_by = []
    for number, step in enumerate(steps, 1):
        (state,) = [target for known, target in searched.moves(state) if known is step]
        monitor_state, names = searched.evaluate(monitor_state, step)
        if breaks(searched, case.property(), step, state, monitor_state, names):
            violated_by.append(number)
    assert violated_by == [len(steps)]
    assert (state, monitor_state) == (end, end_monitor_state)


CHECK = """
import json
from crownless.model_check.check.check import Check, run_check

result = run_check(Check("unordered", 2, 3, channel="lossy", orders=("fifo", "causal", "n-n", "synchronous")))
print(json.dumps([known.json() for known in result.properties]))
"""


def test_the_run_does_not_depend_on_how_python_hashes() -> None:
    printed = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        printed.append(
            subprocess.run([sys.executable, "-c", CHECK], env=environment, capture_output=True, check=True).stdout
        )
    assert printed[0] == printed[1]
    runs = {known["name"]: known["run"] for known in json.loads(printed[0])}
    assert all(runs[name] for name in ("fifo", "causal", "n-n", "synchronous", "delivers-all"))
