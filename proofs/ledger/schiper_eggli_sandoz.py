"""The claims of Schiper, Eggli & Sandoz [SES] on vector pairs."""

from __future__ import annotations

from .claims import Text

TEXT = Text()
