"""The claims of Murty & Garg [MG] on synchronous order."""

from __future__ import annotations

from .claims import Text

TEXT = Text()
