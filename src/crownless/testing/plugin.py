"""The pytest plugin: prints the violating run if an assertion about a check or a verdict fails.

It looks for answers of crownless among the values of the failed assertion, and the variables of its test. It imports
nothing from crownless: a test suite that does not use it pays nothing.
"""

from collections.abc import Generator, Iterator
from typing import Any

import pytest

#: The answers with `shows_violation`, which gives what to print: (module, class).
ANSWERS = {
    ("crownless.model_check.check.check_result", "CheckResult"),
    ("crownless.oracle.conformance.conformance_result", "Conformance"),
    ("crownless.oracle.conformance.replays", "Replay"),
    ("crownless.oracle.log_orders.classification", "Classification"),
    ("crownless.spec.orders", "Verdict"),
}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds a section to the report of a failed test, for each answer that shows a violation."""
    report = yield
    if report.when == "call" and call.excinfo is not None and call.excinfo.errisinstance(AssertionError):
        for shown in dict.fromkeys(_shown(call.excinfo.tb)):
            report.sections.append(("crownless", shown))
    return report


def _shown(traceback: Any) -> Iterator[str]:
    """The explanations from answers in the innermost frame, the values of the assertion itself first."""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    values = traceback.tb_frame.f_locals
    for name in sorted(values, key=lambda name: not name.startswith("@py_assert")):
        kind = type(values[name])
        if (kind.__module__, kind.__name__) in ANSWERS and values[name].shows_violation:
            yield str(values[name])
