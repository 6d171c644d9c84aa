"""The options of a map of a design space, on the command line and in Python."""

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

from crownless.impl.protocol import Protocol
from crownless.model_check.system.request import CHANNEL_NAMES, MAX_MESSAGES, MAX_PROCESSES
from crownless.runtime.requests import Limited, option


@dataclass(frozen=True)
class KnobsRequest(Limited):
    """The arguments of `cr.knobs`; `crownless knobs` shares the bound and the channel."""

    protocol: str | type[Protocol] = field(
        metadata=option(
            "A bundled name that is taken apart (`rst`, `rst-queue`, `ses`, `buffer`, `murty-garg`), or a class with "
            "`knobs`, also by its name."
        )
    )
    processes: int | None = field(
        default=None,
        metadata=option(
            "Maximum number of processes.  [default: its own]",
            "number",
            "-n",
            "--processes",
            least=2,
            most=MAX_PROCESSES,
        ),
    )
    messages: int | None = field(
        default=None,
        metadata=option(
            "Maximum number of messages.  [default: its own]", "number", "-m", "--messages", most=MAX_MESSAGES
        ),
    )
    _: KW_ONLY
    channel: str | None = field(
        default=None, metadata=option(f"{CHANNEL_NAMES}.  [default: the one the protocol needs]", "name", "--channel")
    )
    workers: int = field(
        default=1,
        metadata=option(
            "Number of processes that work, for a protocol that is given by its name; a script then needs "
            '`if __name__ == "__main__"`.',
            "number",
        ),
    )
    out: str | os.PathLike[str] | None = field(
        default=None, metadata=option("A folder in which decisions are saved, to resume.", "folder")
    )
    progress: Callable[[int, int], None] = field(
        default=lambda done, total: None, metadata=option("Is called with the number of decisions, and of all.")
    )
