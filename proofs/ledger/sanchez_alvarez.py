"""The claims of Sánchez & Álvarez [SA] on extra messages."""

from __future__ import annotations

from .claims import Text

TEXT = Text()
