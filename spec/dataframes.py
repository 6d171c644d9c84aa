"""Results as pandas data frames and networkx graphs; both libraries are imported at first use."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from crownless.runtime.errors import BadInput

if TYPE_CHECKING:
    import networkx as nx
    from pandas import DataFrame as DataFrame

    Graph = nx.DiGraph[int]
    StateGraph = nx.MultiDiGraph[int]
else:
    DataFrame = Graph = StateGraph = Any


def data_frame(rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """A data frame of these rows; raises `BadInput` if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise BadInput("a data frame needs pandas, which is not installed", hint="pip install pandas") from None
    return pd.DataFrame(list(rows))
