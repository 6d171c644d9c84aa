"""Results as pandas data frames; pandas is imported at first use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from crownless.runtime.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd


def data_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A data frame of these rows; raises `BadInput` if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise BadInput("a data frame needs pandas, which is not installed", hint="pip install pandas") from None
    return pd.DataFrame(list(rows))
