"""Faults planted in what the evidence for a claim rests on, and the evidence recomputed with them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from crownless.proofs.claims.ledger import CLAIMS, Finding, recompute

Plant = Callable[[pytest.MonkeyPatch], None]


def in_place_of(owner: Any, name: str, fault: Any) -> Plant:
    """The fault takes the place of an attribute."""
    return lambda monkeypatch: monkeypatch.setattr(owner, name, fault)


def forget(*modules: Any) -> None:
    """Empties the caches of these modules; by default of all evidence and proofs."""
    chosen = modules or [module for name, module in sys.modules.items() if name.startswith("crownless.proofs")]
    for module in chosen:
        for value in list(vars(module).values()):
            cached = getattr(value, "__module__", None) == module.__name__ and hasattr(value, "cache_clear")
            if cached and value.__name__ != "three":
                value.cache_clear()


def finding_of(name: str) -> Finding:
    """The claim, recomputed at its smaller bounds."""
    (finding,) = recompute([CLAIMS[name]], quick=True)
    return finding


def finding_with(fault: Plant, name: str, monkeypatch: pytest.MonkeyPatch) -> Finding:
    """The same, where the fault is planted."""
    fault(monkeypatch)
    finding = finding_of(name)
    monkeypatch.undo()
    return finding
