"""The form of lines by its name."""

from __future__ import annotations

from re import Pattern

from crownless.spec.enumeration import Sends

from .line_forms import Form, FormName, JsonForm, PlainForm
from .maelstrom_form import MaelstromForm


def form_named(name: FormName, ignored: Pattern[str] | None = None, sends: Sends = "unicast") -> Form:
    """`sends`: in which way applications send."""
    if name == "maelstrom":
        return MaelstromForm(ignored, sends)
    return JsonForm(ignored) if name == "json" else PlainForm(ignored)
