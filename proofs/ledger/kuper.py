"""The claims of Kuper [Kup] on the matrix protocol of Raynal, Schiper & Toueg."""

from __future__ import annotations

from .claims import Text

TEXT = Text()
