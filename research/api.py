"""The Python functions of research, which are names of `crownless` itself."""

from pathlib import Path

from crownless.arguments import answers
from crownless.research.costs.sweeps import Where
from crownless.research.knobs.knob_map import KnobMap
from crownless.research.knobs.knobs_request import KnobsRequest
from crownless.research.knobs.sweeping import knob_map
from crownless.runtime.ending import stoppable


@answers(KnobsRequest)
def knobs(request: KnobsRequest) -> KnobMap:
    """The map of a protocol's design space: every combination of its choices refuted by a shortest run, or explored up
    to the bound, proved where that succeeds, compared, and priced.

    `.decisions` has all of them, `.families` the right ones by what they generate, `.to_pandas()` a table. Raises
    `BadInput` for a class without knobs.
    """
    maps: list[KnobMap] = []
    with stoppable(request.limits):
        knob_map(
            request.protocol,
            processes=request.processes,
            messages=request.messages,
            channel=request.channel,
            where=Where(workers=request.workers),
            out=None if request.out is None else Path(request.out),
            progress=request.progress,
            found=maps,
        )
    return maps[0]
