"""The claims of Murty & Garg [MG] on synchronous order, all in one `Text`."""

from __future__ import annotations

from . import murty_garg_algorithm, murty_garg_conditions, murty_garg_orders, murty_garg_safety
from .claims import Text

TEXT = Text.of(murty_garg_orders.TEXT, murty_garg_conditions.TEXT, murty_garg_safety.TEXT, murty_garg_algorithm.TEXT)
